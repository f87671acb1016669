//! Merges our registrations into a settings file, and removes them again.
//!
//! Both only insert text and cut it out again, so every byte that is not ours stays. Ours always
//! comes last in a list or an object; one that is made for it has line breaks around it, and one
//! that was there, empty, gets a blank behind it. By that, removing knows what to leave.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::ser::PrettyFormatter;
use serde_json::value::RawValue;

use super::registration::{FOUND, HOOK_NAMES, Registrations, SOUGHT};
use ralph_base::json_members::members;

/// Why a settings file cannot be changed: it is not JSON, or not in the form that clients expect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}; nothing was changed; fix it by hand first")]
pub struct SettingsProblem {
    line: usize,
    column: usize,
    reason: String,
}

impl SettingsProblem {
    pub(super) fn in_toml(text: &str, error: &toml::de::Error) -> Self {
        let at = error.span().map_or(0, |span| span.start);
        let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        Self { line, column: 1, reason: error.message().to_owned() }
    }
}

impl From<serde_json::Error> for SettingsProblem {
    fn from(error: serde_json::Error) -> Self {
        let text = error.to_string();
        let reason = text.split(" at line ").next().unwrap_or_default().to_owned();
        Self { line: error.line(), column: error.column(), reason }
    }
}

/// Returns the text with our registrations after those of others, and nothing else changed.
pub fn merge(text: &str, registrations: &Registrations) -> Result<String, SettingsProblem> {
    let mut text = remove(text)?;
    let events =
        || registrations.groups.iter().map(|(event, group)| ((*event).to_owned(), vec![group]));
    if text.trim().is_empty() {
        let new = Object(vec![("hooks".to_owned(), Object(events().collect()))]);
        return Ok(pretty(&new, "  ", "\n") + "\n");
    }
    let (mark, body) = without_mark(&text);
    let file = Container::of(body, body);
    if file.position("hooks").is_none() {
        return Ok(format!("{mark}{}", file.with(body, "hooks", &Object(events().collect()))));
    }
    for (event, groups) in events() {
        let (mark, body) = without_mark(&text);
        let hooks = hooks_of(body);
        let body = match (hooks.items.iter().find(|item| item.key == event), groups.first()) {
            (Some(theirs), Some(group)) => Container::of(body, theirs.value).with(body, "", group),
            _ => hooks.with(body, &event, &groups),
        };
        text = format!("{mark}{body}");
    }
    Ok(text)
}

/// Returns the text without our registrations, and without anything that was made for them; an
/// empty text if that is everything.
pub fn remove(text: &str) -> Result<String, SettingsProblem> {
    let (mark, body) = without_mark(text);
    check(body)?;
    let mut body = body.to_owned();
    while let Some(less) = without_first(&body) {
        body = less;
    }
    Ok(if body.is_empty() { body } else { format!("{mark}{body}") })
}

/// Returns whether one of our hooks is registered in this text.
pub fn is_registered(text: &str) -> Result<bool, SettingsProblem> {
    Ok(!registered(text)?.is_empty())
}

/// One of our hooks that a file registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// The event.
    pub event: String,
    /// The name of its binary.
    pub hook: &'static str,
    /// Whether it is looked up in `PATH`, so that it may be missing; others have a path.
    pub is_in_path: bool,
}

/// Returns our hooks that are registered in this text.
pub fn registered(text: &str) -> Result<Vec<Registered>, SettingsProblem> {
    let text = without_mark(text).1;
    check(text)?;
    let mut found = Vec::new();
    for event in hooks_of(text).items {
        let groups = Container::of(text, event.value).items;
        let entries = groups.iter().flat_map(|group| entries_of(text, group).items);
        for (command, hook) in entries.filter_map(|entry| our_command(entry.value)) {
            let is_in_path = command.starts_with(&format!("{SOUGHT}{hook}{FOUND} || "));
            // A command that only reports a missing hook runs nothing.
            if !is_in_path || command.ends_with(hook) {
                found.push(Registered { event: event.key.clone(), hook, is_in_path });
            }
        }
    }
    Ok(found)
}

/// Returns whether the file disables all hooks, including ours; `None` if it does not set this.
pub fn hooks_are_off(text: &str) -> Option<bool> {
    serde_json::from_str::<Value>(without_mark(text).1).ok()?.get("disableAllHooks")?.as_bool()
}

/// An object that keeps the order of its members.
struct Object<V>(Vec<(String, V)>);

impl<V: Serialize> Serialize for Object<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// The form that the client expects.
#[derive(Deserialize)]
struct Shape<'a> {
    #[serde(default, borrow, rename = "hooks")]
    _hooks: BTreeMap<String, Vec<Entries<'a>>>,
}

#[derive(Deserialize)]
struct Entries<'a> {
    #[serde(default, borrow, rename = "hooks")]
    _hooks: Vec<&'a RawValue>,
}

/// Checks that a text is empty or has the form of a settings file.
fn check(text: &str) -> Result<(), SettingsProblem> {
    if !text.trim().is_empty() {
        members(text)?;
        // Parsed from the whole file, so that an error has the right line.
        serde_json::from_str::<Shape<'_>>(text)?;
    }
    Ok(())
}

/// A list or an object somewhere in a text; empty for any other value.
struct Container<'a> {
    /// What is between the brackets.
    inside: Range<usize>,
    items: Vec<Item<'a>>,
}

/// An item of a list, or a member of an object.
struct Item<'a> {
    key: String,
    value: &'a str,
    /// Where the item is, with its key.
    span: Range<usize>,
}

impl<'a> Container<'a> {
    /// Returns the container that `part`, a piece of `text`, consists of.
    fn of(text: &str, part: &'a str) -> Self {
        let at = offset(text, part);
        let open = part.find(['{', '[']).map_or(0, |open| open + 1);
        let inside = at + open..at + part.rfind(['}', ']']).unwrap_or(open);
        let list = || {
            let items: Vec<&RawValue> = serde_json::from_str(part).unwrap_or_default();
            items.into_iter().map(|item| (String::new(), item)).collect()
        };
        let is_list = part.trim_start().starts_with('[');
        let values = if is_list { list() } else { members(part).unwrap_or_default() };
        let (mut items, mut from) = (Vec::new(), inside.start);
        for (key, value) in values {
            let value = value.get();
            let start = offset(text, value);
            let end = start + value.len();
            let key_at = text.get(from..start).and_then(|before| before.find('"'));
            let start = key_at.filter(|_| !is_list).map_or(start, |key_at| from + key_at);
            items.push(Item { key, value, span: start..end });
            from = end;
        }
        Self { inside, items }
    }

    fn position(&self, key: &str) -> Option<usize> {
        self.items.iter().position(|item| item.key == key)
    }

    /// Returns the text with an item after the others.
    fn with(&self, text: &str, key: &str, value: &impl Serialize) -> String {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indents = text.lines().map(indent_of).filter(|blanks| !blanks.is_empty());
        let indent = indents.min_by_key(|blanks| blanks.len()).unwrap_or("  ");
        let before_first =
            self.items.first().and_then(|first| text.get(self.inside.start..first.span.start));
        let lead = before_first.filter(|blanks| blanks.contains('\n')).unwrap_or(" ");
        let at = self.items.last().map_or(self.inside.start, |last| last.span.end);
        let line =
            text.get(..self.items.last().map_or(at, |last| last.span.start)).unwrap_or_default();
        let own_line = text.get(line.rfind('\n').map_or(0, |end| end + 1)..).unwrap_or_default();
        let base = lead.rsplit_once('\n').map_or(indent_of(own_line), |(_, blanks)| blanks);
        let value = pretty(value, indent, &format!("{newline}{base}"));
        let key = if key.is_empty() { String::new() } else { format!("\"{key}\": ") };
        let added = if self.items.is_empty() {
            format!("{key}{value} ")
        } else {
            format!(",{lead}{key}{value}")
        };
        splice(text, at..at, &added)
    }

    /// Returns the text without an item; `None` if the container was made for it.
    fn without(&self, text: &str, at: usize) -> Option<String> {
        let span = self.items.get(at)?.span.clone();
        let between = |range: Range<usize>| text.get(range).unwrap_or_default();
        if let Some(before) = at.checked_sub(1).and_then(|before| self.items.get(before)) {
            return Some(splice(text, before.span.end..span.end, ""));
        }
        if let Some(next) = self.items.get(1) {
            return Some(splice(text, span.start..next.span.start, ""));
        }
        let was_there = between(self.inside.start..span.start).is_empty();
        let rest = between(span.end..self.inside.end).strip_prefix(' ').filter(|_| was_there)?;
        Some(splice(text, self.inside.clone(), rest))
    }
}

/// Returns the text without the first of our registrations; `None` if there is none.
fn without_first(text: &str) -> Option<String> {
    let file = Container::of(text, text);
    let hooks_at = file.position("hooks")?;
    let hooks = Container::of(text, file.items.get(hooks_at)?.value);
    for (event_at, event) in hooks.items.iter().enumerate() {
        let groups = Container::of(text, event.value);
        for (group_at, group) in groups.items.iter().enumerate() {
            let entries = entries_of(text, group);
            let ours = entries.items.iter().position(|entry| our_command(entry.value).is_some());
            let Some(ours) = ours else { continue };
            if entries.items.len() > 1 {
                return entries.without(text, ours);
            }
            // What holds nothing else goes with it.
            let around = [(&groups, group_at), (&hooks, event_at), (&file, hooks_at)];
            let less = around.into_iter().find_map(|(container, at)| container.without(text, at));
            return Some(less.unwrap_or_default());
        }
    }
    None
}

/// Returns the registrations of a file, by event.
fn hooks_of(text: &str) -> Container<'_> {
    let file = Container::of(text, text);
    let hooks = file.items.iter().find(|item| item.key == "hooks");
    Container::of(text, hooks.map_or("", |hooks| hooks.value))
}

/// Returns the entries of a group.
fn entries_of<'a>(text: &str, group: &Item<'a>) -> Container<'a> {
    let group = Container::of(text, group.value);
    let entries = group.items.iter().find(|item| item.key == "hooks");
    Container::of(text, entries.map_or("", |entries| entries.value))
}

/// Returns where a part of the text is, from its address: it is borrowed from the text.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr().addr().wrapping_sub(text.as_ptr().addr())
}

fn indent_of(line: &str) -> &str {
    line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
}

fn splice(text: &str, span: Range<usize>, words: &str) -> String {
    let before = text.get(..span.start).unwrap_or_default();
    let after = text.get(span.end..).unwrap_or_default();
    format!("{before}{words}{after}")
}

fn pretty(value: &impl Serialize, indent: &str, newline: &str) -> String {
    let mut bytes = Vec::new();
    let pretty = PrettyFormatter::with_indent(indent.as_bytes());
    // Strings and numbers in memory can always be serialised.
    let _ = value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, pretty));
    String::from_utf8(bytes).unwrap_or_default().replace('\n', newline)
}

/// Returns an entry's command and our binary, if the entry is ours: its command runs one of our
/// binaries, wherever that is, or checks for one in the form that we write.
fn our_command(entry: &str) -> Option<(String, &'static str)> {
    let entry: Value = serde_json::from_str(entry).ok()?;
    let command = entry.get("command")?.as_str()?;
    let sought = command.strip_prefix(SOUGHT).and_then(|rest| rest.split_once(FOUND));
    let program = sought.map_or(command, |(program, _)| program);
    let name = program.rsplit('/').next()?.trim_matches(['"', '\'', ' ']);
    Some((command.to_owned(), HOOK_NAMES.into_iter().find(|hook| *hook == name)?))
}

/// Splits off a byte order mark, which is kept; JSON itself does not allow it.
fn without_mark(text: &str) -> (&str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    }
}
