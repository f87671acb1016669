//! The commits of a range and all receipts, as read from git.

use std::collections::BTreeMap;

use camino::Utf8Path;
use ralph_base::state;
use ralph_core::git::{Git, GitError};

use crate::exit::Failure;
use crate::receipts::Receipt;
use board::NOTES;

/// A commit to audit.
#[derive(Debug, Clone, Default)]
pub(super) struct Commit {
    pub(super) id: String,
    pub(super) tree: String,
    pub(super) parents: Vec<String>,
    /// When it was committed, in Unix seconds.
    pub(super) at: i64,
    pub(super) is_signed: bool,
    pub(super) subject: String,
    /// The story by its trailer; empty if a person made it.
    pub(super) story: String,
    /// Whether a run made it for its own records.
    pub(super) is_record: bool,
    /// Whether it changes the settings.
    pub(super) changes_settings: bool,
}

#[derive(Debug, Default)]
pub(super) struct History {
    /// The commits, oldest first.
    pub(super) commits: Vec<Commit>,
    /// The receipts by commit; an error says why the note is none.
    pub(super) notes: BTreeMap<String, Result<Receipt, String>>,
    /// The commits with a receipt by tree.
    by_tree: BTreeMap<String, Vec<String>>,
}

impl Commit {
    /// Reads a commit as git stores it, after its id.
    fn parse(text: &str) -> Option<Self> {
        let (id, text) = text.trim_start_matches('\n').split_once('\n')?;
        let (head, message) = text.split_once("\n\n").unwrap_or((text, ""));
        let lines = message.lines().map(|line| line.strip_prefix("    ").unwrap_or(line));
        let message = lines.collect::<Vec<_>>().join("\n");
        let values = |name: &'static str| head.lines().filter_map(move |it| it.strip_prefix(name));
        let (_, last) = message.trim_end().rsplit_once("\n\n").unwrap_or_default();
        let trailer =
            |name| last.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        let time = values("committer ").next().and_then(|who| who.rsplit(' ').nth(1));
        Some(Self {
            id: id.to_owned(),
            tree: values("tree ").next()?.to_owned(),
            parents: values("parent ").map(str::to_owned).collect(),
            at: time.and_then(|time| time.parse().ok()).unwrap_or_default(),
            is_signed: values("gpgsig").next().is_some(),
            subject: message.lines().next().unwrap_or_default().to_owned(),
            story: trailer("Ralph-Story: ").to_owned(),
            is_record: !trailer("Ralph-Run: ").is_empty(),
            changes_settings: false,
        })
    }

    pub(super) fn parent(&self) -> Option<&str> {
        self.parents.first().map(String::as_str)
    }
}

impl History {
    pub(super) fn read(git: &Git, range: &str) -> Result<Self, Failure> {
        let one = format!("{range}^!");
        let range = if range.contains("..") || range == "HEAD" { range } else { &one };
        let list = ["rev-list", "--reverse", "--topo-order", "--end-of-options", range];
        let read = |options: &[&str]| git.run(&[&list[..1], options, &list[1..]].concat());
        let listed = read(&["--header"]).map_err(|error| unknown(range, &error))?;
        let listed = String::from_utf8_lossy(&listed);
        let mut commits: Vec<Commit> = listed.split('\0').filter_map(Commit::parse).collect();
        is_whole(git, &commits)?;
        let args = [&list[..], &["--", ":(top,glob)**/.ralph/config.toml"]].concat();
        let changing = git.with_var("GIT_LITERAL_PATHSPECS", "0").line(&args)?;
        for commit in &mut commits {
            commit.changes_settings = changing.lines().any(|id| id == commit.id);
        }
        let mut history = Self { commits, ..Self::default() };
        history.notes = notes(git)?;
        for (id, receipt) in &history.notes {
            let Ok(Receipt { statement, .. }) = receipt else { continue };
            // A note that was moved to another commit says nothing about any tree.
            if statement.subject("gitCommit") == id {
                let tree = statement.subject("gitTree").to_owned();
                history.by_tree.entry(tree).or_default().push(id.clone());
            }
        }
        Ok(history)
    }

    /// Leaves out what is older than the first commit of ours.
    pub(super) fn begin_with_ours(&mut self) {
        let is_ours =
            |commit: &Commit| !commit.story.is_empty() || self.notes.contains_key(&commit.id);
        let first = self.commits.iter().position(is_ours).unwrap_or(self.commits.len());
        self.commits.drain(..first);
    }

    /// Returns the commit before all others.
    pub(super) fn base(&self) -> Option<&str> {
        self.commits.first()?.parent()
    }

    /// Whether a receipt is about a commit or its tree.
    pub(super) fn has_receipt(&self, id: &str) -> bool {
        let in_range = || self.commits.iter().find(|commit| commit.id == id);
        self.notes.contains_key(id) || in_range().is_some_and(|it| self.with_tree(it).is_some())
    }

    /// Returns the commit whose receipt is about this tree, preferably one at this commit.
    pub(super) fn with_tree(&self, commit: &Commit) -> Option<&str> {
        let all = self.by_tree.get(&commit.tree)?;
        let found = all.iter().find(|id| **id == commit.id).or_else(|| all.last());
        found.map(String::as_str)
    }
}

fn unknown(range: &str, error: &GitError) -> Failure {
    let why = "fetch it first; in a shallow clone `git fetch --unshallow`";
    Failure::because(format!("{range} cannot be read: {why}\n{error}"))
}

/// Refuses a range that a shallow history cuts off.
fn is_whole(git: &Git, commits: &[Commit]) -> Result<(), Failure> {
    let file = git.line(&["rev-parse", "--path-format=absolute", "--git-path", "shallow"])?;
    let cut = state::read_text(Utf8Path::new(&file)).unwrap_or_default();
    let is_cut = |it: &&Commit| !it.parents.is_empty() && cut.lines().any(|id| id == it.id);
    match commits.iter().find(is_cut) {
        None => Ok(()),
        Some(commit) => Err(Failure::because(format!(
            "the history is shallow: what is before {:.8} is not here; run `git fetch --unshallow`",
            commit.id
        ))),
    }
}

/// Reads all receipts.
fn notes(git: &Git) -> Result<BTreeMap<String, Result<Receipt, String>>, GitError> {
    let list = git.line(&["notes", "--ref", NOTES, "list"])?;
    let pairs: Vec<(&str, &str)> = list.lines().filter_map(|line| line.split_once(' ')).collect();
    let wanted: String = pairs.iter().map(|(blob, _)| format!("{blob}\n")).collect();
    let texts = git.feed(&["cat-file", "--batch"], wanted.as_bytes())?;
    let (mut rest, mut found) = (texts.as_slice(), BTreeMap::new());
    for (_, commit) in pairs {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let (head, after) = rest.split_at(end);
        let size = String::from_utf8_lossy(head).rsplit(' ').next().and_then(|it| it.parse().ok());
        let after = after.get(1..).unwrap_or_default();
        let (text, after) = after.split_at(size.unwrap_or(0).min(after.len()));
        rest = after.get(1..).unwrap_or_default();
        found.insert(commit.to_owned(), Receipt::parse(&String::from_utf8_lossy(text)));
    }
    Ok(found)
}
