//! What a commit's receipt is worth.

use serde_json::{Value, json};

use super::history::{Commit, History};
use crate::receipts::{Annotations, Receipt, Signature};
use crate::terminal::counted;

/// Commands that pass whatever the commit contains.
const IDLE: [&str; 4] = ["", "true", ":", "exit 0"];

/// What is known about a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// A receipt is about it.
    Claimed,
    /// Its message or its place changed since it landed, or it was squashed: a receipt is about its tree.
    SameTree,
    /// The checks ran again with the same result.
    Confirmed,
    /// It is the loop's, and no receipt is about its files.
    Altered,
    /// The loop made it, and there is no receipt.
    Missing,
    /// Somebody else made it, or the loop for its own records.
    NotOurs,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::SameTree => "same tree",
            Self::Confirmed => "confirmed",
            Self::Altered => "altered",
            Self::Missing => "no receipt",
            Self::NotOurs => "not ours",
        }
    }
}

/// A commit with what was found out about it.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) commit: Commit,
    pub(super) state: State,
    pub(super) receipt: Option<Receipt>,
    signature: String,
    /// Why it is refused.
    pub(super) problems: Vec<String>,
    /// What a person should know.
    pub(super) remarks: Vec<String>,
}

/// Judges a commit, except for the signature. `wanted` are the checks by the settings at the base.
pub(super) fn judge(commit: &Commit, history: &History, wanted: &[String]) -> Judged {
    let (state, found) = find(commit, history);
    let receipt = match (state, history.with_tree(commit)) {
        (State::Claimed | State::SameTree, Some(id)) => history.notes.get(id),
        _ => None,
    };
    let receipt = receipt.and_then(|found| found.clone().ok());
    let is_refused = matches!(state, State::Altered | State::Missing);
    let (problems, mut remarks) =
        if is_refused { (found, Vec::new()) } else { (Vec::new(), found) };
    if commit.changes_settings {
        remarks.push("it changes the settings of the loop".to_owned());
    }
    let (commit, signature) = (commit.clone(), String::new());
    let mut judged = Judged { commit, state, receipt, signature, problems, remarks };
    if let Some(Receipt { statement, .. }) = judged.receipt.clone() {
        if statement.is_receipt() {
            judged.read(&statement.predicate.annotations, wanted);
        } else {
            judged.problems.push("its note is another kind of statement".to_owned());
        }
    }
    judged
}

/// Which receipt a commit has, with what there is to say about that.
fn find(commit: &Commit, history: &History) -> (State, Vec<String>) {
    let own = history.notes.get(&commit.id);
    let is_ours = !commit.story.is_empty()
        || commit.is_record && commit.parent().is_some_and(|parent| history.has_receipt(parent));
    let (state, text) = match (own, history.with_tree(commit)) {
        (Some(Err(why)), _) => (State::Altered, why.clone()),
        (_, Some(id)) if id == commit.id => return (State::Claimed, Vec::new()),
        (None, Some(id)) => (State::SameTree, format!("its tree landed as {id:.8}")),
        (Some(_), Some(id)) => {
            let text = "and its own note is about another commit";
            (State::SameTree, format!("its tree landed as {id:.8}, {text}"))
        }
        (Some(Ok(other)), None) => match other.statement.subject("gitCommit") {
            id if id == commit.id => {
                (State::Altered, "its receipt is about another tree".to_owned())
            }
            id => {
                let text = "and no receipt is about its tree";
                (State::Altered, format!("its note is about {id:.8}, {text}"))
            }
        },
        (None, None) if is_ours && history.notes.is_empty() => {
            let fetch = "`git fetch origin refs/notes/ralph:refs/notes/ralph`";
            (State::Missing, format!("there are no receipts; fetch them with {fetch}"))
        }
        (None, None) if is_ours => (State::Altered, "no receipt is about its tree".to_owned()),
        (None, None) if commit.is_record => (State::NotOurs, "a run's own records".to_owned()),
        (None, None) => return (State::NotOurs, Vec::new()),
    };
    (state, vec![text])
}

impl Judged {
    /// Judges what a receipt states.
    fn read(&mut self, facts: &Annotations, wanted: &[String]) {
        let (parent, base) = (self.commit.parent(), facts.base.as_deref());
        if parent != base {
            let name =
                |commit: Option<&str>| commit.map_or("none".to_owned(), |id| format!("{id:.8}"));
            let text = format!("its parent is {}, its stated base {}", name(parent), name(base));
            let is_own = self.state == State::Claimed;
            if is_own { &mut self.problems } else { &mut self.remarks }.push(text);
        }
        if facts.checks.is_empty() {
            self.problems.push("no check ran on it".to_owned());
        }
        for check in &facts.checks {
            let command = &check.command;
            if IDLE.contains(&command.trim()) {
                self.problems.push(format!("`{command}` checks nothing"));
            } else if !check.is_fine() {
                let code = check
                    .exit_code
                    .map_or("no exit code".to_owned(), |it| format!("exit code {it}"));
                self.problems.push(format!("`{command}` ended with {code}"));
            } else if check.failed_before {
                self.remarks.push(format!("`{command}` failed as before the run"));
            }
        }
        let is_stated =
            |command: &str| facts.checks.iter().any(|check| check.command.trim() == command.trim());
        // Secrets are masked in receipts.
        let is_masked =
            facts.checks.iter().any(|check| check.command.contains(ralph_base::secrets::MASK));
        for command in wanted.iter().filter(|command| !is_masked && !is_stated(command)) {
            self.problems.push(format!("the settings at the base also want `{command}`"));
        }
        if facts.scale != "checked" && !facts.checks.is_empty() {
            self.remarks.push(facts.scale.clone());
        }
        let of_remarks = facts.findings.iter().filter(|found| found.grade == "remark");
        self.remarks.extend(of_remarks.flat_map(|found| found.lines.clone()));
    }

    /// Takes what its signature is worth. One is required where the commit is signed.
    pub(super) fn sign(&mut self, verified: Option<Signature>, is_required: bool) {
        if self.receipt.is_none() {
            return;
        }
        let (words, problem) = match verified.unwrap_or(Signature::None) {
            Signature::Good(who) => (format!("by {who}"), None),
            Signature::None => (
                "unsigned".to_owned(),
                is_required.then_some("its receipt is not signed".to_owned()),
            ),
            Signature::Unknown(why) => {
                let problem = format!("its receipt is signed by an unknown key: {why}");
                ("unknown key".to_owned(), is_required.then_some(problem))
            }
            Signature::Bad(why) => {
                ("bad".to_owned(), Some(format!("the signature of its receipt is wrong: {why}")))
            }
        };
        self.signature = words;
        self.problems.extend(problem);
    }

    /// Whether its checks can run again.
    pub(super) fn can_run_again(&self) -> bool {
        self.receipt.is_some() && self.problems.is_empty()
    }

    /// What its receipt states.
    pub(super) fn facts(&self) -> Option<&Annotations> {
        self.receipt.as_ref().map(|receipt| &receipt.statement.predicate.annotations)
    }

    /// Why the audit fails, if it does because of this commit.
    pub(super) fn refused(&self) -> Option<String> {
        let why = self.problems.first()?;
        Some(format!("{:.8} {}: {why}", self.commit.id, self.commit.subject))
    }

    /// Commit, story, state, signature, checks, and notes.
    pub(super) fn cells(&self) -> [String; 6] {
        let checks = self.facts().map_or(String::new(), |facts| {
            let commands: Vec<&str> = facts.checks.iter().map(|it| it.command.as_str()).collect();
            let tests: u64 = facts.checks.iter().filter_map(|check| check.passed).sum();
            let tests = if tests == 0 {
                String::new()
            } else {
                format!(" ({})", counted(tests as usize, "test", "tests"))
            };
            commands.join(", ") + &tests
        });
        let state = if self.problems.is_empty() { self.state.word() } else { "refused" };
        let state = if self.receipt.is_none() { self.state.word() } else { state };
        let notes = [&self.problems[..], &self.remarks].concat().join("; ");
        let story =
            if self.commit.story.is_empty() { &self.commit.subject } else { &self.commit.story };
        [
            self.commit.id.chars().take(8).collect(),
            story.clone(),
            state.to_owned(),
            self.signature.clone(),
            checks,
            notes,
        ]
    }

    /// Lines for the terminal.
    pub(super) fn lines(&self) -> Vec<String> {
        let [commit, story, state, signature, checks, _] = self.cells();
        let parts = [story, signature, checks].into_iter().filter(|part| !part.is_empty());
        let first = format!("{commit}  {state:<10}  {}", parts.collect::<Vec<_>>().join("; "));
        let more = self.problems.iter().chain(&self.remarks);
        std::iter::once(first).chain(more.map(|text| format!("          {text}"))).collect()
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "commit": self.commit.id,
            "subject": self.commit.subject,
            "state": self.state.word(),
            "ok": self.problems.is_empty(),
            "signature": self.signature,
            "problems": self.problems,
            "remarks": self.remarks,
            "statement": self.receipt.as_ref().map(|receipt| &receipt.statement),
        })
    }
}
