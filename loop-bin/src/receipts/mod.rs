//! Receipts: what was known about a commit when it landed, as an in-toto Statement that others can check.
//!
//! | file | contents |
//! | --- | --- |
//! | `statement.rs` | the statement, from facts that landing has; pure |
//! | `signature.rs` | signing it and checking its signature, by the user's own programs |

mod signature;
mod statement;

use camino::Utf8Path;
use ralph_core::git::{Git, GitError};

use crate::exit::Failure;
use board::{NOTES, NewCommit, Note};
pub(crate) use signature::{Envelope, Signature};
pub(crate) use statement::{Annotations, PublicText, Sandbox, Statement, sha256};

/// Builds the note for a commit that is about to land, signed if the project signs its commits. A receipt that
/// cannot be signed is written as it is, and the second value says why.
pub(crate) fn note(
    (git, folder): (&Git, &Utf8Path),
    commit: &NewCommit,
    statement: &Statement,
    signs: bool,
) -> Result<(Note, Option<String>), Failure> {
    let text = serde_json::to_string_pretty(&statement)?;
    let signed = if signs { Some(Envelope::sealed(git, folder, &text)) } else { None };
    let (text, why) = match signed {
        None => (text, None),
        Some(Ok(envelope)) => (serde_json::to_string_pretty(&envelope)?, None),
        Some(Err(failure)) => (text, Some(failure.to_string())),
    };
    Ok((Note { commit: commit.commit.clone(), text: text + "\n" }, why))
}

/// What a pull request says about its commits' receipts: which they are, and how to check them.
pub(crate) fn advice(git: &Git, base: &str, tip: &str) -> Result<String, GitError> {
    let noted = board::noted(git, base, tip)?;
    if noted.is_empty() {
        return Ok(String::new());
    }
    let commits: Vec<String> = noted.iter().map(|id| format!("`{id:.8}`")).collect();
    let fetch = format!("git fetch origin {NOTES}:{NOTES}");
    Ok(format!(
        "\n\n### Receipts\n\nOf {}. To check them, run `{fetch}`, then `ralph-loop audit --rerun` on this branch.\n",
        commits.join(", ")
    ))
}

/// A receipt as it was found.
#[derive(Debug, Clone)]
pub(crate) struct Receipt {
    pub(crate) statement: Statement,
    /// The envelope, if it is signed.
    pub(crate) envelope: Option<Envelope>,
}

impl Receipt {
    /// Reads the text of a note, which must hold one receipt; an error says why it does not.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut found = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
        let no_receipt = |error| format!("its note is no receipt ({error})");
        let first = found.next().ok_or("its note is empty")?.map_err(no_receipt)?;
        if found.next().is_some() {
            return Err("its note holds more than one receipt".to_owned());
        }
        if first.get("payload").is_none() {
            let statement = serde_json::from_value(first).map_err(no_receipt)?;
            return Ok(Self { statement, envelope: None });
        }
        let envelope: Envelope = serde_json::from_value(first).map_err(no_receipt)?;
        let statement = serde_json::from_slice(&envelope.content()?).map_err(no_receipt)?;
        Ok(Self { statement, envelope: Some(envelope) })
    }

    /// Returns the receipt of a commit, if it has one that can be read.
    pub(crate) fn of(git: &Git, commit: &str) -> Result<Option<Self>, GitError> {
        Ok(board::note_of(git, commit)?.and_then(|text| Self::parse(&text).ok()))
    }
}
