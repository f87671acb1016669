//! How a settings file is written, so that what we add looks like the rest of it.

use serde::Serialize;

use super::document::Container;

/// How a text is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Style {
    newline: &'static str,
    indent: String,
    one_line: bool,
}

impl Style {
    /// The style of this text, whose root is given. An empty object has none yet.
    pub(super) fn of(text: &str, root: &Container<'_>) -> Self {
        let inside = text.get(root.span.clone()).unwrap_or_default();
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let blank = |line: &&str| !line.trim().is_empty();
        let first = inside.lines().skip(1).find(blank).map(leading_blanks).unwrap_or_default();
        let indent = if first.is_empty() { "  " } else { first };
        let one_line = !root.items.is_empty() && !inside.contains('\n');
        Self { newline, indent: indent.to_owned(), one_line }
    }

    /// The text with one more item at the end of a container.
    pub(super) fn append(&self, text: &str, container: &Container<'_>, item: &str) -> String {
        let base = self.base_of(text, container);
        let inner = format!("{base}{}", self.indent);
        let item = item.replace('\n', &format!("{}{inner}", self.newline));
        let (at, added) = match container.items.last() {
            Some(last) if self.is_on_a_line_of_its_own(text, last.start) => {
                let inner = line_blanks(text, last.start);
                (last.span.end..last.span.end, format!(",{}{inner}{item}", self.newline))
            }
            Some(last) => (last.span.end..last.span.end, format!(", {item}")),
            None => {
                let inside = container.span.start + 1..container.span.end - 1;
                let (before, after) = if self.one_line {
                    (String::new(), String::new())
                } else {
                    (format!("{}{inner}", self.newline), format!("{}{base}", self.newline))
                };
                (inside, format!("{before}{item}{after}"))
            }
        };
        splice(text, at, &added)
    }

    /// The text with another value in place of the one at `span`.
    pub(super) fn put(&self, text: &str, span: std::ops::Range<usize>, value: &str) -> String {
        let base = line_blanks(text, span.start);
        let value = value.replace('\n', &format!("{}{base}", self.newline));
        splice(text, span, &value)
    }

    /// A value as it is written at the outermost level, with plain newlines.
    pub(super) fn write(&self, value: &impl Serialize) -> String {
        let mut bytes = Vec::new();
        let pretty = serde_json::ser::PrettyFormatter::with_indent(self.indent.as_bytes());
        let written = if self.one_line {
            value.serialize(&mut serde_json::Serializer::new(&mut bytes))
        } else {
            value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, pretty))
        };
        // Texts and numbers in memory can always be written.
        written.map(|()| String::from_utf8(bytes).unwrap_or_default()).unwrap_or_default()
    }

    /// A member with this value.
    pub(super) fn member(&self, key: &str, value: &str) -> String {
        let space = if self.one_line { "" } else { " " };
        format!("\"{key}\":{space}{value}")
    }

    /// The indentation of the items' container.
    fn base_of(&self, text: &str, container: &Container<'_>) -> String {
        let own =
            container.items.last().filter(|last| self.is_on_a_line_of_its_own(text, last.start));
        match own {
            Some(last) => {
                let inner = line_blanks(text, last.start);
                inner.strip_suffix(self.indent.as_str()).unwrap_or(inner).to_owned()
            }
            None => line_blanks(text, container.span.start).to_owned(),
        }
    }

    fn is_on_a_line_of_its_own(&self, text: &str, start: usize) -> bool {
        let line = line_before(text, start);
        start > line.len() && line.trim().is_empty()
    }
}

/// The text with other words at `span`.
pub(super) fn splice(text: &str, span: std::ops::Range<usize>, words: &str) -> String {
    let before = text.get(..span.start).unwrap_or_default();
    let after = text.get(span.end..).unwrap_or_default();
    format!("{before}{words}{after}")
}

/// What stands on the line before this position.
fn line_before(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    before.rsplit('\n').next().unwrap_or_default()
}

fn line_blanks(text: &str, at: usize) -> &str {
    leading_blanks(line_before(text, at))
}

fn leading_blanks(line: &str) -> &str {
    let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(..blanks).unwrap_or_default()
}
