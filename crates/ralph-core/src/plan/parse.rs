//! Bytes to plan: which format it is, and the checks that all formats share.
//!
//! A plan that cannot be read is an error with file and line, never an empty plan. The formats
//! themselves are `markdown.rs`, `feature_list.rs` and `prd.rs`.

use super::depends;
use super::draft::{Draft, Reading};
use super::error::{Error, Located, MAX_PLAN_BYTES, Problem};
use super::ids::{self, Register};
use super::lines::{BOM, LineNumbers};
use super::story::{Options, Plan, Story, Warning};
use super::{feature_list, json, markdown, prd};
use camino::Utf8Path;
use std::collections::HashMap;

impl Plan {
    /// Reads a plan; `path` names it in messages and, by its ending, helps to recognise it.
    pub fn parse(path: &Utf8Path, bytes: Vec<u8>, options: &Options) -> Result<Self, Error> {
        parse(path, bytes, options).map_err(|(line, problem)| Error {
            path: path.to_owned(),
            line,
            problem,
        })
    }
}

fn parse(path: &Utf8Path, bytes: Vec<u8>, options: &Options) -> Result<Plan, Located> {
    check_readable(&bytes)?;
    let reading = if is_json(path, &bytes) {
        read_json(&bytes)?
    } else {
        markdown::read(&bytes, options).map_err(|(line, problem)| (Some(line), problem))?
    };
    if reading.drafts.is_empty() {
        return Err((reading.hint_line, Problem::NoStories { hint: reading.hint }));
    }
    let Reading { format, drafts, mut warnings, .. } = reading;
    let (stories, by_key) = settle(drafts, &mut warnings)?;
    warnings.sort_by_key(|warning| warning.line);
    let (path, options) = (path.to_owned(), options.clone());
    Ok(Plan { path, format, bytes, stories, warnings, by_key, options })
}

fn check_readable(bytes: &[u8]) -> Result<(), Located> {
    let text = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let wide = matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, _, ..] | [_, 0, ..]);
    let problem = if bytes.len() > MAX_PLAN_BYTES {
        Problem::TooLarge
    } else if wide {
        Problem::Utf16
    } else if text.trim_ascii().is_empty() {
        Problem::Empty
    } else {
        return Ok(());
    };
    Err((None, problem))
}

/// The name decides if it ends in `.json`; otherwise only what no Markdown begins with is JSON.
fn is_json(path: &Utf8Path, bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(BOM).unwrap_or(bytes).trim_ascii_start();
    let inner = text.get(1..).unwrap_or_default().trim_ascii_start().first();
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
        || (text.starts_with(b"{") && matches!(inner, Some(b'"' | b'}')))
        || (text.starts_with(b"[") && inner == Some(&b'{'))
}

fn read_json(bytes: &[u8]) -> Result<Reading, Located> {
    let base = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let numbers = LineNumbers::new(bytes);
    let text = std::str::from_utf8(bytes.get(base..).unwrap_or_default())
        .map_err(|error| (Some(numbers.at(base + error.valid_up_to())), Problem::NotUtf8))?;
    let source = json::Source { text, base, numbers };
    let root = source.root()?;
    if let Some(stories) = root.member("userStories") {
        return prd::read(&source, stories);
    }
    feature_list::read(&source, &root)
}

/// Gives every draft its id, resolves the dependencies and refuses what cannot be worked on.
fn settle(
    drafts: Vec<Draft>,
    warnings: &mut Vec<Warning>,
) -> Result<(Vec<Story>, HashMap<String, usize>), Located> {
    let ids = assign_ids(&drafts)?;
    let by_key: HashMap<_, _> =
        ids.iter().enumerate().map(|(at, id)| (id.to_ascii_lowercase(), at)).collect();
    let mut stories = Vec::with_capacity(drafts.len());
    for (draft, id) in drafts.into_iter().zip(&ids) {
        let depends = depends::resolve(&draft.wanted, id, &ids, &by_key, warnings)?;
        stories.push(Story {
            id: id.clone(),
            title: draft.title,
            state: draft.state,
            details: draft.details,
            depends,
            priority: draft.priority,
            optional: draft.optional,
            line: draft.line,
            span: draft.span,
            marks: draft.marks,
        });
    }
    depends::check_cycles(&stories, &by_key)?;
    Ok((stories, by_key))
}

fn assign_ids(drafts: &[Draft]) -> Result<Vec<String>, Located> {
    let mut register = Register::default();
    // Written ids go first, so that one made from a title never takes theirs.
    let mut written = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let id = draft.written_id.as_deref().map(ids::safe);
        if let Some(id) = &id {
            register.claim(id, draft.line).map_err(|first_line| {
                (Some(draft.line), Problem::DuplicateId { id: id.clone(), first_line })
            })?;
        }
        written.push(id);
    }
    let ids = drafts.iter().zip(written).map(|(draft, id)| {
        id.unwrap_or_else(|| register.claim_free(ids::from_title(&draft.title), draft.line))
    });
    Ok(ids.collect())
}
