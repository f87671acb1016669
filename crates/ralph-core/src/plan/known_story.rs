//! What a plan said about one story, kept for as long as no file of the plan changes.
//!
//! Only for hooks that ask the same again and again; whoever changes a plan reads it.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::story::{Options, State, Story};
use ralph_base::state;

/// The version of the file's format.
const VERSION: u32 = 1;

/// A file that changed so recently may change once more without its times telling so.
const UNSETTLED: Duration = Duration::from_secs(2);

/// The part of a story that gates ask about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownStory {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// How far it has come.
    pub state: State,
}

impl KnownStory {
    /// What is to be known of a story.
    pub fn of(story: &Story) -> Self {
        Self { id: story.id.clone(), title: story.title.clone(), state: story.state }
    }
}

/// Which story is asked about, in which files, and how those are at this moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    id: String,
    sections: Vec<String>,
    files: Vec<Stamp>,
}

/// A file as it was; `None` where there was none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    path: Utf8PathBuf,
    seen: Option<Seen>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// The answer to a question that was asked before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    version: u32,
    question: Question,
    /// The story; none if the plan has no such one.
    pub story: Option<KnownStory>,
}

impl Question {
    /// Asks about a story in the files that may be the plan.
    pub fn new(id: &str, files: &[Utf8PathBuf], options: &Options) -> Self {
        let sections = options.optional_sections.clone();
        let files = files.iter().map(|path| Stamp { path: path.clone(), seen: Seen::now(path) });
        Self { id: id.to_owned(), sections, files: files.collect() }
    }

    /// The answer that is kept in a file, if it is one to this very question.
    pub fn answer_in(&self, path: &Utf8Path) -> Option<Answer> {
        let answer: Answer = serde_json::from_slice(&fs_err::read(path).ok()?).ok()?;
        (answer.version == VERSION && answer.question == *self).then_some(answer)
    }

    /// Keeps an answer, unless a file of the plan changed a moment ago.
    pub fn keep(&self, story: Option<&KnownStory>, path: &Utf8Path) -> io::Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let settled = |stamp: &Stamp| {
            let changed = stamp.seen.as_ref().map_or(0, |seen| seen.changed.0);
            u64::try_from(changed).is_ok_and(|at| at + UNSETTLED.as_secs() <= now.as_secs())
        };
        if !self.files.iter().all(settled) {
            return Ok(());
        }
        let answer = Answer { version: VERSION, question: self.clone(), story: story.cloned() };
        state::replace_unsynced(path, &serde_json::to_vec(&answer)?)
    }
}

impl Seen {
    fn now(path: &Utf8Path) -> Option<Self> {
        let metadata = fs_err::metadata(path).ok()?;
        Some(Self {
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    fn story(state: State) -> KnownStory {
        KnownStory { id: "US-001".into(), title: "Log in".into(), state }
    }

    /// A question about a file that looks as if it had not changed for long.
    fn about(scratch: &Scratch, content: &str) -> Question {
        let plan = scratch.file("plan.md", content);
        let mut question = Question::new("US-001", &[plan], &Options::default());
        for stamp in &mut question.files {
            stamp.seen = stamp.seen.take().map(|seen| Seen { changed: (1, 1), ..seen });
        }
        question
    }

    #[test]
    fn an_answer_holds_until_the_file_changes() {
        let scratch = Scratch::new();
        let kept = scratch.path("story.json");
        let question = about(&scratch, "- [ ] US-001: Log in\n");
        question.keep(Some(&story(State::Open)), &kept).unwrap();
        assert_eq!(question.answer_in(&kept).unwrap().story, Some(story(State::Open)));
        assert_eq!(about(&scratch, "- [x] US-001: Log in now\n").answer_in(&kept), None);
    }

    #[test]
    fn another_question_is_not_answered() {
        let scratch = Scratch::new();
        let kept = scratch.path("story.json");
        let question = about(&scratch, "- [ ] US-001: Log in\n");
        question.keep(None, &kept).unwrap();
        assert_eq!(question.answer_in(&kept).unwrap().story, None);
        let other = Question { id: "US-002".into(), ..question };
        assert_eq!(other.answer_in(&kept), None);
    }

    #[test]
    fn what_changed_a_moment_ago_is_not_kept() {
        let scratch = Scratch::new();
        let plan = scratch.file("plan.md", "- [ ] US-001: Log in\n");
        let kept = scratch.path("story.json");
        let question = Question::new("US-001", &[plan], &Options::default());
        question.keep(Some(&story(State::Open)), &kept).unwrap();
        assert!(!kept.exists());
    }
}
