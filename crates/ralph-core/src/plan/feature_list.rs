//! `feature_list.json`: features with steps and `passes`, worked on in file order.
//!
//! A bare array of features is read as well; `id` may be missing, then the text gives it.

use super::draft::{Draft, Reading};
use super::error::Located;
use super::json::{Object, Source};
use super::story::{Format, Marks, Warning};
use serde_json::value::RawValue;

/// Reads a feature list from the whole file.
pub(super) fn read<'a>(source: &Source<'a>, root: &Object<'a>) -> Result<Reading, Located> {
    let list = match root.member("features") {
        Some(features) => Some(features),
        None => Some(root.raw).filter(|raw| raw.get().starts_with('[')),
    };
    let features = list.map(|list| source.array("features", list)).transpose()?;
    let hint = match &features {
        Some(_) => "its list is empty; add a feature or a story",
        None => "a JSON plan needs a `features` or a `userStories` array",
    };
    let features = features.unwrap_or_default();
    let mut warnings = Vec::new();
    if let Some(total) = root.member("total_features")
        && total.get().parse().is_ok_and(|total: usize| total > features.len())
    {
        let message = format!(
            "`total_features` is {}, but the list holds {}; is a part of it missing?",
            total.get(),
            features.len()
        );
        warnings.push(Warning { line: source.line(total), message });
    }
    let drafts = features.into_iter().map(|raw| draft(source, raw)).collect::<Result<_, _>>()?;
    Ok(Reading { format: Format::FeatureList, drafts, warnings, hint, hint_line: None })
}

fn draft<'a>(source: &Source<'a>, raw: &'a RawValue) -> Result<Draft, Located> {
    if !raw.get().starts_with('{') {
        return Err(source.wrong_type("features", "an array of objects", raw));
    }
    let object = source.object(raw)?;
    let description = object.text("description");
    let title = Some(object.text("title")).filter(|title| !title.is_empty());
    let title = title.unwrap_or_else(|| description.lines().next().unwrap_or_default().to_owned());
    let mut details = if description == title { String::new() } else { description };
    let steps = object.list("steps");
    if !steps.is_empty() {
        details.push_str(if details.is_empty() { "Steps:" } else { "\n\nSteps:" });
        for (number, step) in steps.iter().enumerate() {
            details.push_str(&format!("\n{}. {step}", number + 1));
        }
    }
    Ok(Draft {
        written_id: source.id(&object)?,
        title,
        state: source.state(&object)?,
        details,
        wanted: source.depends(&object)?,
        priority: None,
        optional: false,
        line: source.line(raw),
        span: source.span(raw),
        marks: Marks::Object,
    })
}
