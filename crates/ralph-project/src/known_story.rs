//! What a plan said about one story, kept for as long as no file of the plan changes.
//!
//! Only for hooks that ask the same again and again; whoever changes a plan reads it.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::{SystemTime, UNIX_EPOCH};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use ralph_base::state;
use ralph_core::plan::{Options, State, Story};

/// A file that changed so recently, in seconds, may change once more without its times telling so.
const UNSETTLED: i64 = 2;

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

/// What the plan says about a story: as it is kept in a file, if none of the files that may be the
/// plan has changed since, else as `read` says.
pub fn known_story(
    id: &str,
    files: &[Utf8PathBuf],
    options: &Options,
    kept: Option<&Utf8Path>,
    read: impl FnOnce() -> Option<KnownStory>,
) -> Option<KnownStory> {
    let question = Question::new(id, files, options);
    if let Some(answer) = kept.and_then(|path| question.answer_in(path)) {
        return answer;
    }
    let story = read();
    if let Some(path) = kept {
        // Best effort: what is not kept is read again.
        let _ = question.keep(story.as_ref(), path);
    }
    story
}

/// Which story is asked about, in which files, and how those are at this moment.
struct Question {
    text: String,
    newest: i64,
}

/// The answer to a question that was asked before: none if the plan has no such story.
#[derive(Serialize, Deserialize)]
struct Answer {
    question: String,
    story: Option<KnownStory>,
}

impl Question {
    /// Asks about a story in the files that may be the plan.
    fn new(id: &str, files: &[Utf8PathBuf], options: &Options) -> Self {
        let mut text = format!("{id} {:?}", options.optional_sections);
        let mut newest = 0;
        for path in files {
            let seen = fs_err::metadata(path).ok().map(|file| {
                newest = newest.max(file.ctime());
                let changed = (file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec());
                (file.ino(), file.len(), changed)
            });
            text.push_str(&format!(" {path:?} {seen:?}"));
        }
        Self { text, newest }
    }

    /// The answer that is kept in a file, if it is one to this very question.
    fn answer_in(&self, path: &Utf8Path) -> Option<Option<KnownStory>> {
        let answer: Answer = serde_json::from_slice(&state::read(path).ok()?).ok()?;
        (answer.question == self.text).then_some(answer.story)
    }

    /// Keeps an answer, unless a file of the plan changed a moment ago.
    fn keep(&self, story: Option<&KnownStory>, path: &Utf8Path) -> io::Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(now.as_secs()).unwrap_or_default();
        if self.newest + UNSETTLED > now {
            return Ok(());
        }
        let answer = Answer { question: self.text.clone(), story: story.cloned() };
        state::replace_unsynced(path, &serde_json::to_vec(&answer)?)
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
        question.newest = 1;
        question
    }

    #[test]
    fn an_answer_holds_until_the_file_changes() {
        let scratch = Scratch::new();
        let kept = scratch.path("story.json");
        let question = about(&scratch, "- [ ] US-001: Log in\n");
        question.keep(Some(&story(State::Open)), &kept).unwrap();
        assert_eq!(question.answer_in(&kept).unwrap(), Some(story(State::Open)));
        assert_eq!(about(&scratch, "- [x] US-001: Log in now\n").answer_in(&kept), None);
    }

    #[test]
    fn another_question_is_not_answered() {
        let scratch = Scratch::new();
        let kept = scratch.path("story.json");
        let question = about(&scratch, "- [ ] US-001: Log in\n");
        question.keep(None, &kept).unwrap();
        assert_eq!(question.answer_in(&kept).unwrap(), None);
        let other = Question::new("US-002", &[scratch.path("plan.md")], &Options::default());
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
