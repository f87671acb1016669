//! `prd.json`: user stories with priorities, the lowest number first.

use super::draft::{Draft, Reading};
use super::error::Located;
use super::json::{Object, Source};
use super::story::{Format, Marks};
use serde_json::value::RawValue;

/// Reads the array under `userStories`.
pub(super) fn read<'a>(source: &Source<'a>, stories: &'a RawValue) -> Result<Reading, Located> {
    let stories = source.array("userStories", stories)?;
    let drafts = stories.into_iter().map(|raw| draft(source, raw)).collect::<Result<_, _>>()?;
    let hint = "`userStories` is empty; add a story";
    Ok(Reading { format: Format::Prd, drafts, warnings: Vec::new(), hint, hint_line: None })
}

fn draft<'a>(source: &Source<'a>, raw: &'a RawValue) -> Result<Draft, Located> {
    if !raw.get().starts_with('{') {
        return Err(source.wrong_type("userStories", "an array of objects", raw));
    }
    let object = source.object(raw)?;
    let description = object.text("description");
    let title = Some(object.text("title")).filter(|title| !title.is_empty());
    Ok(Draft {
        written_id: source.id(&object)?,
        details: details(&object, title.as_ref().map_or("", |_| &description)),
        title: title.unwrap_or(description),
        state: source.state(&object)?,
        wanted: source.depends(&object)?,
        priority: priority(source, &object)?,
        optional: false,
        line: source.line(raw),
        span: source.span(raw),
        marks: Marks::Object,
    })
}

fn details(object: &Object<'_>, description: &str) -> String {
    let criteria: String = object
        .list("acceptanceCriteria")
        .iter()
        .map(|criterion| format!("\n- {criterion}"))
        .collect();
    let notes = object.text("notes");
    let parts = [
        description.to_owned(),
        if criteria.is_empty() { criteria } else { format!("Acceptance criteria:{criteria}") },
        if notes.is_empty() { notes } else { format!("Notes: {notes}") },
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// A whole number, or one of the words that people write instead.
fn priority<'a>(source: &Source<'a>, object: &Object<'a>) -> Result<Option<i64>, Located> {
    let key = "priority";
    let Some(raw) = object.member(key).filter(|raw| raw.get() != "null") else { return Ok(None) };
    let text = raw.get().trim_matches('"').trim().to_ascii_lowercase();
    let number = match text.as_str() {
        "" => return Ok(None),
        "critical" | "highest" => Some(0),
        "high" => Some(1),
        "medium" => Some(2),
        "low" => Some(3),
        _ => text.strip_prefix('p').unwrap_or(&text).parse().ok(),
    };
    match number {
        Some(number) => Ok(Some(number)),
        None => Err(source.wrong_type(key, "a whole number, or high, medium or low", raw)),
    }
}
