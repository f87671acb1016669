//! Bytes to plan: which format it is, and the checks that all formats share.
//!
//! A plan that cannot be read is an error with file and line, never an empty plan. The formats
//! themselves are `markdown.rs`, `feature_list.rs` and `prd.rs`.

use super::depends::{self, Wanted};
use super::ids::{self, Register};
use super::lines::{BOM, LineNumbers};
use super::story::{Format, Marks, Options, Plan, State, Story, Warning};
use super::{feature_list, json, markdown, prd};
use camino::{Utf8Path, Utf8PathBuf};
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

/// Larger files are refused; a plan is text that somebody wrote.
pub const MAX_PLAN_BYTES: usize = 16 * 1024 * 1024;

/// Why a plan could not be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// The file.
    pub path: Utf8PathBuf,
    /// Counted from one; `None` when it is about the whole file.
    pub line: Option<usize>,
    /// What is wrong with it.
    pub problem: Problem,
}

impl Error {
    /// Whether nothing is wrong but that no story is there yet, so that planning may write some.
    pub fn is_without_stories(&self) -> bool {
        matches!(self.problem, Problem::Empty | Problem::NoStories { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.path)?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.problem)
    }
}

/// What is wrong with a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what each variant and field is")]
pub enum Problem {
    #[error("the plan is empty; write at least one story such as `- [ ] US-001: title`")]
    Empty,
    #[error(
        "the plan is larger than {} MiB; is this the right file?",
        MAX_PLAN_BYTES / 1024 / 1024
    )]
    TooLarge,
    #[error("the plan is UTF-16 text; save it as UTF-8")]
    Utf16,
    #[error("a JSON plan must be UTF-8, and this line is not; save the file as UTF-8")]
    NotUtf8,
    #[error("no story found; {hint}")]
    NoStories { hint: &'static str },
    #[error("this code fence is never closed, so all below it is hidden; close it")]
    UnclosedFence,
    #[error("this comment is never closed, so all below it is hidden; add `-->`")]
    UnclosedComment,
    #[error("story id {id} is used twice, first on line {first_line}; give one of them another id")]
    DuplicateId { id: String, first_line: usize },
    #[error("story {story} depends on {wanted}, which is not a story of this plan; correct the id")]
    UnknownDependency { story: String, wanted: String },
    #[error("these stories wait for each other: {}; remove one of the dependencies", .ring.join(" -> "))]
    DependencyCycle { ring: Vec<String> },
    #[error("column {column}: not valid JSON: {reason}; correct it by hand or with git")]
    JsonSyntax { column: usize, reason: String },
    #[error("`{key}` must be {expected}, not {found}")]
    WrongType { key: &'static str, expected: &'static str, found: String },
}

/// A story as a format reads it, before ids and dependencies are settled.
pub(super) struct Draft {
    /// The id as it is written, if one is.
    pub(super) written_id: Option<String>,
    pub(super) title: String,
    pub(super) state: State,
    pub(super) details: String,
    pub(super) wanted: Vec<Wanted>,
    pub(super) priority: Option<i64>,
    pub(super) optional: bool,
    pub(super) line: usize,
    pub(super) span: Range<usize>,
    pub(super) marks: Marks,
}

/// What a format makes of a file.
pub(super) struct Reading {
    pub(super) format: Format,
    pub(super) drafts: Vec<Draft>,
    pub(super) warnings: Vec<Warning>,
    /// What to write when there is no story at all.
    pub(super) hint: &'static str,
    /// The line that the hint is about, if it is about one.
    pub(super) hint_line: Option<usize>,
}

/// What went wrong and on which line, before the file's name is known.
pub(super) type Located = (Option<usize>, Problem);

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
    let problem = match () {
        () if bytes.len() > MAX_PLAN_BYTES => Problem::TooLarge,
        () if wide => Problem::Utf16,
        () if text.trim_ascii().is_empty() => Problem::Empty,
        () => return Ok(()),
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
