//! Attempts that are kept as commits in the project: `refs/ralph/attempts/<story>/<n>`.
//!
//! The first parent of such a commit is what the attempt began from, so that its changes are the
//! difference between the two; its message says why it was not landed, and trailers say the rest. A
//! landed attempt is the landed commit itself.

use std::fmt::Write;

use ralph_core::git::{Git, GitError};
use ralph_core::secrets::mask;
use ralph_core::state::Id;

/// Where attempts are kept.
const REFS: &str = "refs/ralph/attempts";

/// The longest first line.
const LONGEST_SUBJECT: usize = 200;

/// How much of the failing output a message holds.
const LONGEST_BODY: usize = 16 * 1024;

/// An attempt that is kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SavedAttempt {
    /// What the user types: `US-001/2`.
    pub(crate) id: String,
    /// The ref.
    pub(crate) name: String,
    pub(crate) commit: String,
    /// What it began from; none in a repository that had no commit.
    pub(crate) base: Option<String>,
    /// When it was kept, as RFC 3339.
    pub(crate) at: String,
    pub(crate) story: String,
    pub(crate) number: u64,
    /// How it ended; none if it was landed.
    pub(crate) outcome: Option<String>,
    /// Why it was not landed, in one line.
    pub(crate) why: String,
    /// The failing lines.
    pub(crate) details: String,
    pub(crate) cost_usd: Option<f64>,
    pub(crate) seconds: Option<f64>,
    pub(crate) run: Option<String>,
    pub(crate) session: Option<String>,
}

/// Why no attempt was found.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotFound {
    #[error("no attempt is called `{id}`; `ralph-loop attempts` lists them")]
    Unknown { id: String },
    #[error("`{id}` could be several attempts: {names}; give the whole id")]
    Ambiguous { id: String, names: String },
}

/// What is written down of an attempt.
#[derive(Debug, Clone, Default)]
pub(crate) struct Account<'a> {
    pub(crate) story: &'a str,
    pub(crate) number: u64,
    pub(crate) outcome: &'a str,
    /// The first line says why, the others what failed.
    pub(crate) why: &'a str,
    pub(crate) cost_usd: Option<f64>,
    pub(crate) seconds: Option<f64>,
    pub(crate) run: &'a str,
    pub(crate) session: Option<&'a str>,
}

impl Account<'_> {
    /// The message of the commit.
    pub(crate) fn message(&self) -> String {
        let masked = mask(self.why);
        let (first, rest) = masked.split_once('\n').unwrap_or((&masked, ""));
        let subject: String = first.replace(|c: char| c.is_control(), " ").trim().to_owned();
        let subject: String = subject.chars().take(LONGEST_SUBJECT).collect();
        let mut text = if subject.is_empty() { self.outcome.to_owned() } else { subject };
        let rest: String =
            rest.trim_end().chars().filter(|c| *c != '\0').take(LONGEST_BODY).collect();
        if !rest.trim().is_empty() {
            // Indented, so that no line of it can pass for a trailer.
            let lines = rest.lines().map(|line| format!("    {line}"));
            text.push_str(&format!("\n\n{}", lines.collect::<Vec<_>>().join("\n")));
        }
        text.push_str("\n\n");
        // Writing into a string cannot fail.
        let _ = writeln!(text, "Ralph-Story: {}", self.story);
        let _ = writeln!(text, "Ralph-Attempt: {}", self.number);
        let _ = writeln!(text, "Ralph-Outcome: {}", self.outcome);
        if let Some(cost) = self.cost_usd {
            let _ = writeln!(text, "Ralph-Cost: ${cost:.4}");
        }
        if let Some(seconds) = self.seconds {
            let _ = writeln!(text, "Ralph-Seconds: {seconds:.0}");
        }
        let _ = writeln!(text, "Ralph-Run: {}", self.run);
        if let Some(session) = self.session {
            let _ = writeln!(text, "Ralph-Session: {session}");
        }
        text
    }
}

/// The ref of an attempt.
pub(crate) fn name_of(story: &str, number: u64) -> String {
    format!("{}/{number}", folder_of(story))
}

/// Where the attempts at a story are. Ids are plain enough for a ref but for dots in some places.
fn folder_of(story: &str) -> String {
    let story = match Id::parse(story) {
        Ok(id) => id.as_str().replace('.', "_"),
        Err(_) => story.replace(|c: char| !c.is_ascii_alphanumeric(), "_"),
    };
    format!("{REFS}/{story}")
}

/// All attempts that are kept, newest first; those at one story, if it is named.
pub(crate) fn all(git: &Git, story: Option<&str>) -> Result<Vec<SavedAttempt>, GitError> {
    let fields = ["refname", "objectname", "parent", "creatordate:iso-strict", "contents"];
    let format: String = fields.map(|field| format!("%({field})%00")).concat();
    let format = format!("--format={format}");
    let folder = story.map_or(REFS.to_owned(), folder_of);
    let listed = git.run(&["for-each-ref", "--sort=-creatordate", &format, &folder])?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let parts: Vec<&str> = listed.split('\0').collect();
    let mut found: Vec<SavedAttempt> = parts.chunks_exact(5).filter_map(parse).collect();
    // Several may be kept within a second.
    found.sort_by(|one, other| (&other.at, other.number).cmp(&(&one.at, one.number)));
    Ok(found)
}

fn parse(fields: &[&str]) -> Option<SavedAttempt> {
    let [name, commit, parents, at, contents] = fields else { return None };
    let name = name.trim();
    let id = name.strip_prefix(REFS)?.trim_start_matches('/').to_owned();
    let number = id.rsplit('/').next()?.parse().ok()?;
    let trailer = |key: &str| {
        let lines = contents.lines().rev();
        let mut found = lines.filter_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        found.next().map(|value| value.trim().to_owned())
    };
    let (subject, body) = contents.split_once('\n').unwrap_or((contents, ""));
    let details = body.lines().filter_map(|line| line.strip_prefix("    "));
    Some(SavedAttempt {
        name: name.to_owned(),
        commit: (*commit).to_owned(),
        base: parents.split_whitespace().next().map(str::to_owned),
        at: (*at).to_owned(),
        story: trailer("Ralph-Story")
            .unwrap_or_else(|| id.split('/').next().unwrap_or_default().to_owned()),
        number,
        outcome: trailer("Ralph-Outcome"),
        why: subject.to_owned(),
        details: details.collect::<Vec<_>>().join("\n"),
        cost_usd: trailer("Ralph-Cost").and_then(|cost| cost.trim_start_matches('$').parse().ok()),
        seconds: trailer("Ralph-Seconds").and_then(|seconds| seconds.parse().ok()),
        run: trailer("Ralph-Run"),
        session: trailer("Ralph-Session"),
        id,
    })
}

/// The number of the next attempt at a story.
pub(crate) fn next_number(git: &Git, story: &str) -> Result<u64, GitError> {
    Ok(number_after(&all(git, Some(story))?))
}

/// The number of the next attempt after these.
pub(crate) fn number_after(attempts: &[SavedAttempt]) -> u64 {
    attempts.iter().map(|attempt| attempt.number).max().unwrap_or(0) + 1
}

/// An attempt by its id; a story's id alone means its newest attempt.
pub(crate) fn find(git: &Git, id: &str) -> Result<SavedAttempt, crate::exit::Failure> {
    let all = all(git, None)?;
    let id = id.trim_start_matches(REFS).trim_start_matches('/');
    if let Some(exact) = all.iter().find(|attempt| attempt.id.eq_ignore_ascii_case(id)) {
        return Ok(exact.clone());
    }
    let close: Vec<&SavedAttempt> = all
        .iter()
        .filter(|attempt| attempt.story.eq_ignore_ascii_case(id) || attempt.commit.starts_with(id))
        .collect();
    let same_story = close.windows(2).all(|pair| match pair {
        [one, other] => one.story == other.story,
        _ => true,
    });
    match close.first() {
        Some(newest) if same_story && !id.is_empty() => Ok((*newest).clone()),
        None => Err(NotFound::Unknown { id: id.to_owned() }.into()),
        Some(_) => {
            let names = close.iter().map(|attempt| attempt.id.clone()).collect::<Vec<_>>();
            Err(NotFound::Ambiguous { id: id.to_owned(), names: names.join(", ") }.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let account = Account {
            story: "US-001",
            number: 2,
            outcome: "failed",
            why: "`sh t.sh` failed\nRalph-Outcome: landed\nnot ok\n",
            cost_usd: Some(0.5),
            seconds: Some(12.0),
            run: "r1",
            session: Some("s1"),
        };
        let message = account.message();
        let fields = ["refs/ralph/attempts/US-001/2", "aa", "bb cc", "2026-01-01", &message];
        let found = parse(&fields).unwrap();
        assert_eq!((found.id.as_str(), found.number), ("US-001/2", 2));
        assert_eq!(found.outcome.as_deref(), Some("failed"));
        assert_eq!((found.why.as_str(), found.base.as_deref()), ("`sh t.sh` failed", Some("bb")));
        assert_eq!(found.details, "Ralph-Outcome: landed\nnot ok");
        assert_eq!((found.cost_usd, found.seconds), (Some(0.5), Some(12.0)));
        assert_eq!(found.session.as_deref(), Some("s1"));
    }

    #[test]
    fn names_are_plain() {
        assert_eq!(name_of("US-001", 3), "refs/ralph/attempts/US-001/3");
        assert_eq!(name_of("a.lock", 1), "refs/ralph/attempts/a_lock/1");
        assert_eq!(name_of("odd id", 1), "refs/ralph/attempts/odd_id/1");
    }
}
