//! Parses bytes into a plan: format detection, and the checks that all formats share.
//!
//! A plan that cannot be read is an error with file and line, never an empty plan. The formats are
//! read in `markdown.rs` and `json.rs`.

use std::collections::HashMap;

use camino::Utf8Path;
use ralph_base::lines::BOM;

use super::spec_tools::Tool;
use super::story::{Draft, Reading};
use super::{Error, MAX_PLAN_BYTES, Options, Plan, depends, ids, json, markdown};

impl Plan {
    /// Parses a plan; `path` appears in messages, and its extension helps to detect the format.
    pub fn parse(path: &Utf8Path, bytes: Vec<u8>, options: &Options) -> Result<Self, Error> {
        parse(path, bytes, options).map_err(|error| Error { path: path.to_owned(), ..error })
    }
}

fn parse(path: &Utf8Path, bytes: Vec<u8>, options: &Options) -> Result<Plan, Error> {
    check_readable(&bytes)?;
    let reading = if is_json(path, &bytes) {
        json::read(&bytes, &options.tag)?
    } else {
        markdown::read(&bytes, options, Tool::of(path))?
    };
    let Reading { format, mut drafts, mut warnings } = reading;
    let by_key = assign_ids(&mut drafts)?;
    let ids: Vec<String> = drafts.iter().map(|draft| draft.story.id.clone()).collect();
    let mut stories = Vec::with_capacity(drafts.len());
    for mut draft in drafts {
        draft.story.depends = depends::resolve(&draft, &ids, &by_key, &mut warnings)?;
        stories.push(draft.story);
    }
    warnings.sort_by_key(|warning| warning.line);
    let (path, options) = (path.to_owned(), options.clone());
    let plan = Plan { path, format, bytes, stories, warnings, by_key, options };
    depends::check_rings(&plan)?;
    Ok(plan)
}

fn check_readable(bytes: &[u8]) -> Result<(), Error> {
    let text = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let is_wide = matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, _, ..] | [_, 0, ..]);
    if bytes.len() > MAX_PLAN_BYTES {
        let limit = MAX_PLAN_BYTES / 1024 / 1024;
        let message = format!("the plan is larger than {limit} MiB; is this the right file?");
        return Err(Error::of_file(message));
    }
    if is_wide {
        return Err(Error::of_file("the plan is encoded as UTF-16; save it as UTF-8"));
    }
    if text.trim_ascii().is_empty() {
        let hint = "the plan is empty; add a story such as `- [ ] US-001: title`";
        return Err(Error::no_story(None, hint));
    }
    Ok(())
}

/// Returns whether the plan is JSON: by a `.json` extension, or by how the content begins.
fn is_json(path: &Utf8Path, bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(BOM).unwrap_or(bytes).trim_ascii_start();
    let inner = text.get(1..).unwrap_or_default().trim_ascii_start().first();
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
        || (text.starts_with(b"{") && matches!(inner, Some(b'"' | b'}')))
        || (text.starts_with(b"[") && inner == Some(&b'{'))
}

/// Assigns an id to every story, and returns the position of each id.
fn assign_ids(drafts: &mut [Draft]) -> Result<HashMap<String, usize>, Error> {
    let mut by_key: HashMap<String, usize> = HashMap::new();
    let lines: Vec<usize> = drafts.iter().map(|draft| draft.story.line).collect();
    // Written ids go first, so that an id derived from a title never takes one of them.
    for (at, story) in drafts.iter_mut().map(|draft| &mut draft.story).enumerate() {
        if story.id.is_empty() {
            continue;
        }
        story.id = ids::safe(&story.id);
        if let Some(first) = by_key.insert(story.id.to_ascii_lowercase(), at) {
            let (id, first) = (&story.id, lines.get(first).unwrap_or(&0));
            let message =
                format!("story id {id} is already used on line {first}; change one of the two");
            return Err(Error::at(story.line, message));
        }
    }
    let mut repeated: HashMap<String, usize> = HashMap::new();
    for (at, story) in drafts.iter_mut().map(|draft| &mut draft.story).enumerate() {
        if !story.id.is_empty() {
            continue;
        }
        let made = ids::from_title(&story.title);
        story.id.clone_from(&made);
        // The second story with the same title gets `-2`, and so on.
        let count = repeated.entry(made.clone()).or_insert(1);
        while by_key.contains_key(&story.id.to_ascii_lowercase()) {
            *count += 1;
            story.id = format!("{made}-{count}");
        }
        by_key.insert(story.id.to_ascii_lowercase(), at);
    }
    Ok(by_key)
}
