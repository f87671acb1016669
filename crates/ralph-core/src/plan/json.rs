//! JSON plans read in place: every value keeps its position in the file.
//!
//! Nothing is serialised again; a change replaces the bytes of one value or adds one member in the
//! style of its neighbours.

use super::depends::Wanted;
use super::error::{Located, Problem};
use super::lines::LineNumbers;
use super::story::State;
use ralph_base::json_members::members;
use serde_json::value::RawValue;
use std::ops::Range;

/// A JSON file that is known to be UTF-8.
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    /// Length of what was cut off in front (a byte order mark).
    pub(super) base: usize,
    pub(super) numbers: LineNumbers,
}

impl<'a> Source<'a> {
    /// The whole file as one value; finds every syntax error.
    pub(super) fn root(&self) -> Result<Object<'a>, Located> {
        let root: &RawValue = serde_json::from_str(self.text).map_err(|error| {
            let reason = error.to_string();
            let reason = reason.split(" at line ").next().unwrap_or_default().to_owned();
            (Some(error.line()), Problem::JsonSyntax { column: error.column(), reason })
        })?;
        self.object(root)
    }

    /// The members of an object; anything else has none.
    pub(super) fn object(&self, raw: &'a RawValue) -> Result<Object<'a>, Located> {
        let members = if raw.get().starts_with('{') {
            members(raw.get()).map_err(|error| self.refused(raw, &error))?
        } else {
            Vec::new()
        };
        Ok(Object { raw, members })
    }

    /// The elements of an array, or what is there instead of one.
    pub(super) fn array(
        &self,
        key: &'static str,
        raw: &'a RawValue,
    ) -> Result<Vec<&'a RawValue>, Located> {
        if !raw.get().starts_with('[') {
            return Err(self.wrong_type(key, "an array", raw));
        }
        serde_json::from_str(raw.get()).map_err(|error| self.refused(raw, &error))
    }

    /// Offset range of a value in the file.
    pub(super) fn span(&self, raw: &RawValue) -> Range<usize> {
        // The value is borrowed from the text, so its address tells where it stands.
        let start = raw.get().as_ptr().addr().wrapping_sub(self.text.as_ptr().addr());
        self.base + start..self.base + start + raw.get().len()
    }

    pub(super) fn line(&self, raw: &RawValue) -> usize {
        self.numbers.at(self.span(raw).start)
    }

    pub(super) fn wrong_type(
        &self,
        key: &'static str,
        expected: &'static str,
        raw: &RawValue,
    ) -> Located {
        let found: String = raw.get().chars().take(40).collect();
        (Some(self.line(raw)), Problem::WrongType { key, expected, found })
    }

    fn refused(&self, raw: &RawValue, error: &serde_json::Error) -> Located {
        let reason = error.to_string();
        (Some(self.line(raw)), Problem::JsonSyntax { column: error.column(), reason })
    }

    /// A member that is true or false; missing and `null` count as false.
    pub(super) fn flag(&self, object: &Object<'a>, key: &'static str) -> Result<bool, Located> {
        match object.member(key) {
            None => Ok(false),
            Some(raw) => match raw.get() {
                "true" => Ok(true),
                "false" | "null" => Ok(false),
                _ => Err(self.wrong_type(key, "true or false", raw)),
            },
        }
    }

    /// The state that `passes` and `blocked` tell.
    pub(super) fn state(&self, object: &Object<'a>) -> Result<State, Located> {
        Ok(match (self.flag(object, "passes")?, self.flag(object, "blocked")?) {
            (true, _) => State::Done,
            (false, true) => State::Blocked,
            (false, false) => State::Open,
        })
    }

    /// The id, a text or a number.
    pub(super) fn id(&self, object: &Object<'a>) -> Result<Option<String>, Located> {
        let Some(raw) = object.member("id") else { return Ok(None) };
        match scalar(raw) {
            Some(id) => Ok(Some(id).filter(|id| !id.trim().is_empty())),
            None if raw.get() == "null" => Ok(None),
            None => Err(self.wrong_type("id", "a text or a number", raw)),
        }
    }

    /// The dependencies: one id or an array of them, texts or numbers.
    pub(super) fn depends(&self, object: &Object<'a>) -> Result<Vec<Wanted>, Located> {
        let key = "dependsOn";
        let raw = object.member(key).or_else(|| object.member("depends_on"));
        let Some(raw) = raw.filter(|raw| raw.get() != "null") else { return Ok(Vec::new()) };
        let parts = if raw.get().starts_with('[') { self.array(key, raw)? } else { vec![raw] };
        let wanted = parts.into_iter().map(|part| {
            let text = scalar(part)
                .ok_or_else(|| self.wrong_type(key, "an id or an array of ids", part))?;
            Ok(Wanted { text, line: self.line(part), strict: true })
        });
        wanted
            .filter(|wanted| wanted.as_ref().is_ok_and(|w| !w.text.is_empty()) || wanted.is_err())
            .collect()
    }
}

/// An object with its members in file order.
pub(super) struct Object<'a> {
    pub(super) raw: &'a RawValue,
    members: Vec<(String, &'a RawValue)>,
}

impl<'a> Object<'a> {
    /// The value of `key`; the last one, should it be written twice.
    pub(super) fn member(&self, key: &str) -> Option<&'a RawValue> {
        self.members.iter().rev().find(|(name, _)| name == key).map(|(_, raw)| *raw)
    }

    /// A member as text: a list gives one line an element.
    pub(super) fn text(&self, key: &str) -> String {
        self.member(key).map(|raw| lines_of(raw).join("\n")).unwrap_or_default()
    }

    /// A member as a list of texts; a single text is a list of one.
    pub(super) fn list(&self, key: &str) -> Vec<String> {
        self.member(key).map(lines_of).unwrap_or_default()
    }
}

fn lines_of(raw: &RawValue) -> Vec<String> {
    let elements: Vec<&RawValue> = if raw.get().starts_with('[') {
        serde_json::from_str(raw.get()).unwrap_or_default()
    } else {
        vec![raw]
    };
    let text = |raw: &RawValue| scalar(raw).unwrap_or_else(|| raw.get().to_owned());
    let present = elements.into_iter().filter(|raw| raw.get() != "null");
    present.map(text).filter(|text| !text.is_empty()).collect()
}

/// A text or a number as text.
fn scalar(raw: &RawValue) -> Option<String> {
    let text = raw.get();
    if text.starts_with('"') {
        return serde_json::from_str(text).ok();
    }
    text.starts_with(|c: char| c == '-' || c.is_ascii_digit()).then(|| text.to_owned())
}

/// The change that gives `key` the value `value` in the text of one object: the range to replace
/// and what to put there. A missing member goes behind the last one, written as that one is.
pub(super) fn set_member(object: &str, key: &str, value: &str) -> Option<(Range<usize>, String)> {
    let members = members(object).ok()?;
    let start = |raw: &RawValue| raw.get().as_ptr().addr().wrapping_sub(object.as_ptr().addr());
    let end = |raw: &RawValue| start(raw) + raw.get().len();
    if let Some((_, raw)) = members.iter().rev().find(|(name, _)| name == key) {
        return Some((start(raw)..end(raw), value.to_owned()));
    }
    let Some((_, last)) = members.last() else {
        return Some((1..1, format!("\"{key}\": {value}")));
    };
    let before = match members.len().checked_sub(2).and_then(|at| members.get(at)) {
        Some((_, raw)) => object.get(end(raw)..)?.trim_start().strip_prefix(',')?,
        None => object.get(1..)?,
    };
    let gap = before.get(..before.len() - before.trim_start().len())?;
    let head = object.get(..start(last))?;
    let colon_gap = head.get(head.trim_end().strip_suffix(':')?.trim_end().len()..)?;
    Some((end(last)..end(last), format!(",{gap}\"{key}\"{colon_gap}{value}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(object: &str, expected: &str) {
        let (range, text) = set_member(object, "passes", "true").unwrap();
        let mut changed = object.to_owned();
        changed.replace_range(range, &text);
        assert_eq!(changed, expected);
    }

    #[test]
    fn a_value_is_replaced_where_it_stands() {
        check(r#"{"passes" : false, "x":1}"#, r#"{"passes" : true, "x":1}"#);
        check(r#"{"a":{"passes":false},"passes":null}"#, r#"{"a":{"passes":false},"passes":true}"#);
    }

    #[test]
    fn a_missing_member_is_written_like_its_neighbours() {
        check("{}", r#"{"passes": true}"#);
        check(r#"{"id":1}"#, r#"{"id":1,"passes":true}"#);
        check(r#"{ "id": 1, "t": "x" }"#, r#"{ "id": 1, "t": "x", "passes": true }"#);
        check("{\r\n\t\"id\" : 1\r\n}", "{\r\n\t\"id\" : 1,\r\n\t\"passes\" : true\r\n}");
        check("{\"a\":1\n  ,\"b\": [1,\n2]\n}", "{\"a\":1\n  ,\"b\": [1,\n2],\"passes\": true\n}");
    }
}
