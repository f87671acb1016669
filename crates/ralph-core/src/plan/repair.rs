//! The agent owns the work, not the plan: undoes what it did to the stories of others.
//!
//! Pure: the plan before the iteration and the bytes after it go in, the bytes to write come out.
//! Three ways are tried, from the one that keeps most of what the agent wrote to the one that keeps
//! nothing, and the first whose result reads as the old plan does is taken.

use super::edit::{self, Edit};
use super::merge::{boxes, new_stories, own_section, rebuilt, reopened};
use super::story::{Format, Plan, State, Story};
use camino::Utf8PathBuf;
use std::collections::HashSet;
use std::fmt;

/// What became of a plan that an agent had its hands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// The bytes that belong on disk.
    pub bytes: Vec<u8>,
    /// What the agent says about its own story by marking it: done or blocked. The mark itself is
    /// undone.
    pub claimed: Option<State>,
    /// What was undone or is worth telling.
    pub findings: Vec<Finding>,
}

impl Repaired {
    /// Whether the agent ticked its own story.
    pub fn claimed_done(&self) -> bool {
        self.claimed == Some(State::Done)
    }
}

/// One thing that the agent did to the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the messages say what each variant and field is")]
pub enum Finding {
    Ticked {
        story: String,
    },
    Blocked {
        story: String,
    },
    Reopened {
        story: String,
    },
    Edited {
        story: String,
    },
    Renamed {
        story: String,
        title: String,
    },
    Removed {
        story: String,
    },
    Moved,
    /// A new story at the end.
    Kept {
        story: String,
        title: String,
    },
    /// A new story before others, or one that would change how they read.
    Dropped {
        story: String,
        title: String,
    },
    OwnSectionReset {
        story: String,
    },
    TextAround,
    Vanished,
    /// A link or a folder is where the plan was.
    NotAFile,
    /// There was a link or a folder in the place of the progress.
    ProgressNotAFile,
    Unreadable {
        reason: String,
    },
    /// A tick that was made while no loop was at work.
    Unchecked {
        story: String,
    },
    /// Text that was written while no loop was at work.
    TextKept,
    /// Where the plan is kept as it was before any of this was undone.
    KeptAsFound {
        path: Utf8PathBuf,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ticked { story } => write!(f, "ticked {story}, which was not its story; undone"),
            Self::Blocked { story } => {
                write!(f, "blocked {story}, which was not its story; undone")
            }
            Self::Reopened { story } => write!(f, "reopened {story}; undone"),
            Self::Edited { story } => write!(f, "edited {story}, which was not its story; undone"),
            Self::Renamed { story, title } => {
                write!(f, "renamed {story} to `{title}`, which was not its story; undone")
            }
            Self::Removed { story } => write!(f, "removed {story}; put back"),
            Self::Moved => f.write_str("changed the order of the stories; undone"),
            Self::Kept { story, title } => write!(f, "added {story} ({title}) at the end; kept"),
            Self::Dropped { story, title } => {
                write!(f, "added {story} ({title}), but not at the end; taken out")
            }
            Self::OwnSectionReset { story } => {
                write!(f, "changed what {story} is about or waits for; undone")
            }
            Self::TextAround => f.write_str("changed text around the stories; undone"),
            Self::Vanished => f.write_str("deleted the plan; put back"),
            Self::NotAFile => {
                f.write_str("put a link or a folder in the place of the plan; taken away and kept")
            }
            Self::ProgressNotAFile => f.write_str(
                "put a link or a folder in the place of the progress; taken away and kept",
            ),
            Self::Unreadable { reason } => {
                write!(f, "left a plan that cannot be read ({reason}); the old one was put back")
            }
            Self::Unchecked { story } => {
                write!(f, "ticked {story}, which no check has passed; undone")
            }
            Self::TextKept => f.write_str("edited the plan since the run was last alive; kept"),
            Self::KeptAsFound { path } => write!(
                f,
                "left the plan as it is kept in {path}; if some of that is yours, write it again \
                 while no loop runs"
            ),
        }
    }
}

/// Undoes what an agent that worked on `own_story` did to the rest of the plan.
///
/// `after` is what it left, `None` when the file is gone. Kept are new stories at the end (open),
/// edits inside the section of its own story except for its boxes, state, id and dependencies, and
/// text outside of all stories.
pub fn repair(before: &Plan, after: Option<&[u8]>, own_story: Option<&str>) -> Repaired {
    let restored =
        |finding| Repaired { bytes: before.bytes.clone(), claimed: None, findings: vec![finding] };
    let Some(bytes) = after else { return restored(Finding::Vanished) };
    if bytes == before.bytes {
        return Repaired { bytes: bytes.to_vec(), claimed: None, findings: Vec::new() };
    }
    let after = match Plan::parse(&before.path, bytes.to_vec(), &before.options) {
        Ok(after) if after.format == before.format => after,
        Ok(_) => return restored(Finding::Unreadable { reason: "another format".to_owned() }),
        Err(error) => return restored(Finding::Unreadable { reason: error.to_string() }),
    };
    let own = own_story.and_then(|id| before.story(id)).map(|story| story.id.as_str());
    let change = Change { before, after: &after, own };
    let mut findings = change.findings();
    let is_whole = change.keeps_layout() && !change.loses_own_boxes();
    let patched = is_whole.then(|| change.patched());
    let bytes = patched
        .filter(|bytes| change.holds(bytes))
        .unwrap_or_else(|| change.settle_for_less(&mut findings));
    Repaired { bytes, claimed: change.claimed(), findings }
}

/// A plan before and after an iteration.
pub(super) struct Change<'a> {
    pub(super) before: &'a Plan,
    pub(super) after: &'a Plan,
    pub(super) own: Option<&'a str>,
}

/// The lines of a section but its first and the blank ones.
fn body_lines(section: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = section.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.skip(1).filter(|line| !line.is_empty())
}

impl Change<'_> {
    pub(super) fn is_own(&self, story: &Story) -> bool {
        self.own == Some(story.id.as_str())
    }

    fn claimed(&self) -> Option<State> {
        let own = self.own?;
        let state = self.after.story(own)?.state;
        (state != State::Open && state != self.before.story(own)?.state).then_some(state)
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for old in &self.before.stories {
            let story = old.id.clone();
            let Some(new) = self.after.story(&old.id) else {
                findings.push(Finding::Removed { story });
                continue;
            };
            if self.is_own(old) {
                continue;
            }
            match new.state {
                state if state == old.state => {}
                State::Done => findings.push(Finding::Ticked { story: story.clone() }),
                State::Blocked => findings.push(Finding::Blocked { story: story.clone() }),
                State::Open => findings.push(Finding::Reopened { story: story.clone() }),
            }
            if old.title != new.title {
                findings.push(Finding::Renamed { story: story.clone(), title: new.title.clone() });
            }
            if !self.same_but_for_title_and_state(old, new) || old.optional != new.optional {
                findings.push(Finding::Edited { story });
            }
        }
        if !self.keeps_order() {
            findings.push(Finding::Moved);
        }
        let (known_end, split_off) = (self.known_end(), self.split_off());
        let added = new_stories(self).filter(|(_, new)| !split_off.contains(&new.line));
        findings.extend(added.map(|(at, new)| {
            let (story, title) = (new.id.clone(), new.title.clone());
            match at > known_end {
                true => Finding::Kept { story, title },
                false => Finding::Dropped { story, title },
            }
        }));
        findings
    }

    /// Place of the last story that was there before.
    pub(super) fn known_end(&self) -> usize {
        let is_known = |story: &Story| self.before.story(&story.id).is_some();
        self.after.stories.iter().rposition(is_known).unwrap_or(0)
    }

    /// The lines of those boxes of the own story that a new story above them made stories of, where
    /// they could not stay as such.
    fn split_off(&self) -> HashSet<usize> {
        let own = self.own.and_then(|own| self.before.story(own));
        let own: HashSet<&[u8]> =
            own.into_iter().flat_map(|own| boxes(self.before, own)).map(|(_, text)| text).collect();
        let known_end = self.known_end();
        let is_one =
            |new: &Story| boxes(self.after, new).iter().any(|(_, text)| own.contains(text));
        let among = new_stories(self).filter(|(at, new)| *at <= known_end && is_one(new));
        among.map(|(_, new)| new.line).collect()
    }

    /// Whether a new story in the middle of the own one has lines of it below itself now, which would
    /// be taken out with it.
    fn takes_own_lines(&self) -> bool {
        let Some(own) = self.own.and_then(|own| self.before.story(own)) else { return false };
        let own: HashSet<&[u8]> = body_lines(self.before.section(own)).collect();
        let known_end = self.known_end();
        let mut among = new_stories(self).filter(|(at, _)| *at <= known_end);
        among.any(|(_, new)| body_lines(self.after.section(new)).any(|line| own.contains(line)))
    }

    /// Whether a box of a story that has several is gone or says something else. What is to be done is
    /// not the agent's to say: without it the story would be ticked with less than was asked for.
    fn loses_own_boxes(&self) -> bool {
        let Some(id) = self.own else { return false };
        let (Some(old), Some(new)) = (self.before.story(id), self.after.story(id)) else {
            return false;
        };
        let (old, new) = (boxes(self.before, old), boxes(self.after, new));
        let is_there = |text: &[u8]| new.iter().any(|(_, other)| *other == text);
        old.len() > 1 && old.iter().any(|(_, text)| !is_there(text))
    }

    fn keeps_order(&self) -> bool {
        let place = |story: &Story| self.after.by_key.get(&story.id.to_ascii_lowercase()).copied();
        self.before.stories.iter().filter_map(place).is_sorted()
    }

    /// Whether the old stories are all there, in order, with nothing new between them.
    fn keeps_layout(&self) -> bool {
        let all = self.before.stories.iter().all(|old| self.after.story(&old.id).is_some());
        let known_end = self.known_end();
        all && self.keeps_order() && new_stories(self).all(|(at, _)| at > known_end)
    }

    fn same_text(&self, old: &Story, new: &Story) -> bool {
        let (old, new) = (self.before.section(old), self.after.section(new));
        if old == new {
            return true;
        }
        if self.before.format == Format::Markdown {
            // An editor that changes line endings changes no story.
            let plain = |text: &[u8]| text.iter().copied().filter(|b| *b != b'\r').collect();
            let (old, new): (Vec<u8>, Vec<u8>) = (plain(old), plain(new));
            return old.trim_ascii_end() == new.trim_ascii_end();
        }
        let value = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).ok();
        value(old).is_some() && value(old) == value(new)
    }

    /// The same, where a title and boxes that somebody ticked are told of by themselves.
    fn same_but_for_title_and_state(&self, old: &Story, new: &Story) -> bool {
        if self.same_text(old, new) {
            return true;
        }
        if self.before.format == Format::Markdown {
            let (before, after) = (self.before.section(old), self.after.section(new));
            let same_boxes = old.state == new.state;
            return plain_lines(before, &old.title, same_boxes)
                == plain_lines(after, &new.title, same_boxes);
        }
        let rest = |text: &[u8]| {
            let mut value: serde_json::Value = serde_json::from_slice(text).ok()?;
            let story = value.as_object_mut()?;
            // A description is the title of a feature that has none.
            for name in ["title", "passes"] {
                story.remove(name);
            }
            story.retain(|_, value| value.as_str() != Some(&old.title));
            story.retain(|_, value| value.as_str() != Some(&new.title));
            Some(value)
        };
        let (old, new) = (rest(self.before.section(old)), rest(self.after.section(new)));
        old.is_some() && old == new
    }

    /// What the agent left, with the sections of others put back.
    fn patched(&self) -> Vec<u8> {
        let mut edits = Vec::new();
        for new in &self.after.stories {
            let Some(old) = self.before.story(&new.id) else {
                edits.extend(reopened(self.after, new));
                continue;
            };
            let text = match self.is_own(old) {
                true => own_section(self, old, new),
                false if self.same_text(old, new) => continue,
                false => self.before.section(old).to_vec(),
            };
            edits.push(Edit { range: new.span.clone(), text });
        }
        edit::apply(&self.after.bytes, edits)
    }

    /// The old plan with as much of the agent's own part as still reads well.
    fn settle_for_less(&self, findings: &mut Vec<Finding>) -> Vec<u8> {
        let told = findings.iter().any(|finding| !matches!(finding, Finding::Kept { .. }));
        let is_whole =
            self.split_off().is_empty() && !self.takes_own_lines() && !self.loses_own_boxes();
        let with_own = is_whole.then(|| rebuilt(self, true)).filter(|bytes| self.holds(bytes));
        if let (None, Some(own)) = (&with_own, self.own) {
            findings.push(Finding::OwnSectionReset { story: own.to_owned() });
        } else if !told {
            findings.push(Finding::TextAround);
        }
        let without_own = || Some(rebuilt(self, false)).filter(|bytes| self.holds(bytes));
        with_own.or_else(without_own).unwrap_or_else(|| {
            for finding in findings {
                if let Finding::Kept { story, title } = finding {
                    let (story, title) = (std::mem::take(story), std::mem::take(title));
                    *finding = Finding::Dropped { story, title };
                }
            }
            self.before.bytes.clone()
        })
    }

    /// Whether `bytes` read as the old plan does, but for details of the own story and new stories
    /// at the end.
    fn holds(&self, bytes: &[u8]) -> bool {
        let Ok(plan) = Plan::parse(&self.before.path, bytes.to_vec(), &self.before.options) else {
            return false;
        };
        let same = |(old, new): (&Story, &Story)| {
            let what = |story: &Story| {
                (story.id.clone(), story.title.clone(), story.depends.clone(), story.optional)
            };
            let details = self.is_own(old) || {
                let change = Change { before: self.before, after: &plan, own: self.own };
                change.same_text(old, new)
            };
            what(old) == what(new)
                && (old.state, old.priority) == (new.state, new.priority)
                && details
        };
        // Putting a part back can turn a detail into a story, which nobody has checked either.
        let is_unchecked = |new: &Story| new.state != State::Done;
        plan.format == self.before.format
            && plan.stories.len() >= self.before.stories.len()
            && self.before.stories.iter().zip(&plan.stories).all(same)
            && plan.stories.iter().skip(self.before.stories.len()).all(is_unchecked)
    }
}

/// The lines of a section without line ends, without its title and, unless `same_boxes`, with every
/// box open.
fn plain_lines(section: &[u8], title: &str, same_boxes: bool) -> Vec<String> {
    let text = String::from_utf8_lossy(section).replacen(title, "", 1);
    let open = |line: &str| match same_boxes {
        true => line.trim_end().to_owned(),
        false => ["[x]", "[X]", "[!]"]
            .iter()
            .fold(line.trim_end().to_owned(), |line, mark| line.replace(mark, "[ ]")),
    };
    let mut lines: Vec<String> = text.lines().map(open).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

#[cfg(test)]
mod tests;
