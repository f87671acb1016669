//! A JSON text whose values keep their positions, so that an edit touches nothing else.

use std::ops::Range;

use serde_json::value::RawValue;

use ralph_base::json_members::members;

/// Why a settings file cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsProblem {
    /// Not JSON.
    #[error(
        "line {line}, column {column}: {reason}; correct it by hand first, nothing was changed"
    )]
    Syntax {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// JSON, but not what the client expects there.
    #[error("line {line}: {what} is not {expected}; correct it by hand first, nothing was changed")]
    Shape {
        /// From 1.
        line: usize,
        /// The value.
        what: String,
        /// What it should be.
        expected: &'static str,
    },
}

/// An object or array in the text, with the places of its parts.
#[derive(Debug, Clone)]
pub(super) struct Container<'a> {
    /// From the opening to the closing bracket.
    pub(super) span: Range<usize>,
    pub(super) items: Vec<Item<'a>>,
}

/// A member of an object or an element of an array.
#[derive(Debug, Clone)]
pub(super) struct Item<'a> {
    /// Empty in an array.
    pub(super) key: String,
    /// The first byte of the key, or of the value in an array.
    pub(super) start: usize,
    pub(super) value: &'a str,
    /// Where the value is in the text.
    pub(super) span: Range<usize>,
}

impl<'a> Container<'a> {
    /// The whole text, which must be one object.
    pub(super) fn root(text: &'a str) -> Result<Self, SettingsProblem> {
        let raw: &RawValue = serde_json::from_str(text).map_err(|error| {
            let reason = error.to_string();
            let reason = reason.split(" at line ").next().unwrap_or_default().to_owned();
            SettingsProblem::Syntax { line: error.line(), column: error.column(), reason }
        })?;
        let span = span_in(text, raw.get());
        let root = Item { key: String::new(), start: span.start, value: raw.get(), span };
        root.object(text, "the file")
    }

    /// The member of this name; the client, too, takes the last of several.
    pub(super) fn member(&self, key: &str) -> Option<&Item<'a>> {
        self.items.iter().rev().find(|item| item.key == key)
    }
}

impl<'a> Item<'a> {
    /// The value as an object.
    pub(super) fn object(
        &self,
        text: &'a str,
        what: &str,
    ) -> Result<Container<'a>, SettingsProblem> {
        let members = Some(self.value).filter(|value| value.starts_with('{')).map(members);
        let Some(Ok(members)) = members else { return Err(self.is_not("an object", what, text)) };
        Ok(container(text, self.span.clone(), members))
    }

    /// The value as an array.
    pub(super) fn array(
        &self,
        text: &'a str,
        what: &str,
    ) -> Result<Container<'a>, SettingsProblem> {
        let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(self.value) else {
            return Err(self.is_not("an array", what, text));
        };
        let elements = elements.into_iter().map(|raw| (String::new(), raw)).collect();
        Ok(container(text, self.span.clone(), elements))
    }

    fn is_not(&self, expected: &'static str, what: &str, text: &str) -> SettingsProblem {
        let before = text.get(..self.span.start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        SettingsProblem::Shape { line, what: what.to_owned(), expected }
    }
}

fn container<'a>(
    text: &'a str,
    span: Range<usize>,
    parts: Vec<(String, &'a RawValue)>,
) -> Container<'a> {
    let mut end = span.start + 1;
    let mut items = Vec::new();
    for (key, raw) in parts {
        let value = span_in(text, raw.get());
        let between = text.get(end..value.start).unwrap_or_default();
        let gap = between.len() - between.trim_start_matches([',', ' ', '\t', '\r', '\n']).len();
        items.push(Item { key, start: end + gap, value: raw.get(), span: value.clone() });
        end = value.end;
    }
    Container { span, items }
}

/// The value is borrowed from the text, so its address tells where it stands.
fn span_in(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr().wrapping_sub(text.as_ptr().addr());
    start..start + part.len()
}
