//! Merges our registrations into a settings file, and removes them again.
//!
//! Only the value of `hooks` is rewritten, and in it every group that is not ours keeps its
//! bytes.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::ser::PrettyFormatter;
use serde_json::value::{RawValue, to_raw_value};

use super::registration::{FOUND, Group, HOOK_NAMES, Registrations, SOUGHT};
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
    let (mark, text) = without_mark(text);
    let file = File::read(if text.trim().is_empty() { "{}\n" } else { text })?;
    let mut events = file.without_ours();
    for (name, group) in &registrations.groups {
        let group = Written::Ours(group);
        match events.iter_mut().find(|event| event.name == *name) {
            Some(event) => event.groups.push(group),
            None => events.push(Event {
                name: (*name).to_owned(),
                groups: vec![group],
                held_ours: false,
            }),
        }
    }
    Ok(format!("{mark}{}", file.with(events)))
}

/// Returns the text without our registrations, and without anything that only held them.
pub fn remove(text: &str) -> Result<String, SettingsProblem> {
    if !is_registered(text)? {
        return Ok(text.to_owned());
    }
    let (mark, text) = without_mark(text);
    let file = File::read(text)?;
    Ok(format!("{mark}{}", file.with(file.without_ours())))
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
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for (event, groups) in File::read(text)?.events() {
        for (command, hook) in groups.into_iter().flat_map(entries_of).filter_map(our_command) {
            let is_in_path = command.starts_with(&format!("{SOUGHT}{hook}{FOUND} || "));
            // A command that only reports a missing hook runs nothing.
            if !is_in_path || command.ends_with(hook) {
                found.push(Registered { event: event.clone(), hook, is_in_path });
            }
        }
    }
    Ok(found)
}

/// Returns whether the file disables all hooks, including ours; `None` if it does not set this.
pub fn hooks_are_off(text: &str) -> Option<bool> {
    serde_json::from_str::<Value>(without_mark(text).1).ok()?.get("disableAllHooks")?.as_bool()
}

/// A settings file, parsed as far as hooks are concerned.
struct File<'a> {
    text: &'a str,
    members: Vec<(String, &'a RawValue)>,
    newline: &'static str,
    indent: &'a str,
}

/// An event and its groups, as they will be written.
struct Event<'a> {
    name: String,
    groups: Vec<Written<'a>>,
    /// Whether one of our hooks was registered for it.
    held_ours: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Written<'a> {
    Theirs(Box<RawValue>),
    Ours(&'a Group),
}

/// The form that the client expects.
#[derive(Deserialize)]
struct Shape<'a> {
    #[serde(default, borrow, rename = "hooks")]
    _hooks: BTreeMap<String, Vec<Entries<'a>>>,
}

#[derive(Deserialize)]
struct Entries<'a> {
    #[serde(default, borrow)]
    hooks: Vec<&'a RawValue>,
}

/// An object that keeps the order of its members.
struct Object<V>(Vec<(String, V)>);

impl<V: Serialize> Serialize for Object<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<'a> File<'a> {
    fn read(text: &'a str) -> Result<Self, SettingsProblem> {
        let members = members(text)?;
        // Parsed from the whole file, so that an error has the right line.
        serde_json::from_str::<Shape<'_>>(text)?;
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let blanks = |line: &'a str| line.get(..line.len() - line.trim_start().len());
        let indents = text.lines().filter_map(blanks).filter(|blanks| !blanks.is_empty());
        let indent = indents.min_by_key(|blanks| blanks.len()).unwrap_or("  ");
        Ok(Self { text, members, newline, indent })
    }

    fn events(&self) -> Vec<(String, Vec<&'a RawValue>)> {
        let hooks = self.members.iter().find(|(key, _)| key == "hooks");
        let events = hooks.and_then(|(_, hooks)| members(hooks.get()).ok()).unwrap_or_default();
        let groups = |list: &'a RawValue| serde_json::from_str(list.get()).unwrap_or_default();
        events.into_iter().map(|(event, list)| (event, groups(list))).collect()
    }

    fn without_ours(&self) -> Vec<Event<'a>> {
        let theirs = |(name, groups): (String, Vec<&'a RawValue>)| {
            let held_ours = groups.iter().flat_map(|group| entries_of(group)).any(is_ours);
            let groups = groups.into_iter().filter_map(|group| self.theirs_of(group)).collect();
            Event { name, groups, held_ours }
        };
        self.events().into_iter().map(theirs).collect()
    }

    /// Returns a group without our entries; `None` if nothing is left of it.
    fn theirs_of(&self, group: &'a RawValue) -> Option<Written<'a>> {
        let all = entries_of(group);
        let theirs: Vec<&RawValue> = all.iter().copied().filter(|entry| !is_ours(entry)).collect();
        if theirs.len() == all.len() {
            // It is indented again when the whole file is written.
            let text = group.get().replace("\r\n", "\n");
            let text = text.replace(&format!("\n{}", self.indent), "\n");
            return RawValue::from_string(text).ok().map(Written::Theirs);
        }
        if theirs.is_empty() {
            return None;
        }
        let mut parts = Vec::new();
        for (key, value) in members(group.get()).ok()? {
            let entries = if key == "hooks" { Some(to_raw_value(&theirs).ok()?) } else { None };
            parts.push((key, entries.unwrap_or_else(|| value.to_owned())));
        }
        to_raw_value(&Object(parts)).ok().map(Written::Theirs)
    }

    /// Returns the text with these events instead of its own.
    fn with(&self, mut events: Vec<Event<'_>>) -> String {
        events.retain(|event| !event.groups.is_empty() || !event.held_ours);
        let at = self.members.iter().position(|(key, _)| key == "hooks");
        let is_gone = events.is_empty();
        let value = self.written(events);
        let (open, close) = (self.after(0, '{') + 1, self.text.rfind('}').unwrap_or_default());
        let added = format!("{}{}\"hooks\": {value}", self.newline, self.indent);
        match (at, self.members.last()) {
            (Some(at), _) if is_gone => self.splice(self.removal(at, open..close), ""),
            (Some(at), _) => self.splice(self.span(at), &value),
            (None, Some(_)) => {
                let end = self.span(self.members.len() - 1).end;
                self.splice(end..end, &format!(",{added}"))
            }
            (None, None) => self.splice(open..close, &format!("{added}{}", self.newline)),
        }
    }

    fn written(&self, events: Vec<Event<'_>>) -> String {
        let events = events.into_iter().map(|event| (event.name, event.groups)).collect();
        let mut bytes = Vec::new();
        let pretty = PrettyFormatter::with_indent(self.indent.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, pretty);
        // Strings and numbers in memory can always be serialised.
        let _ = Object(events).serialize(&mut serializer);
        let text = String::from_utf8(bytes).unwrap_or_default();
        text.replace('\n', &format!("{}{}", self.newline, self.indent))
    }

    /// Returns the range to remove together with a member.
    fn removal(&self, at: usize, inside: Range<usize>) -> Range<usize> {
        let value = self.span(at);
        match at.checked_sub(1) {
            Some(before) => self.span(before).end..value.end,
            None if self.members.len() == 1 => inside,
            None => self.after(inside.start, '"')..self.after(value.end, '"'),
        }
    }

    /// Returns the range of a member's value, from its address: it is borrowed from the text.
    fn span(&self, at: usize) -> Range<usize> {
        let value = self.members.get(at).map_or("", |(_, raw)| raw.get());
        let start = value.as_ptr().addr().wrapping_sub(self.text.as_ptr().addr());
        start..start + value.len()
    }

    fn after(&self, from: usize, sign: char) -> usize {
        let rest = self.text.get(from..).unwrap_or_default();
        from + rest.find(sign).unwrap_or_default()
    }

    fn splice(&self, span: Range<usize>, words: &str) -> String {
        let before = self.text.get(..span.start).unwrap_or_default();
        let after = self.text.get(span.end..).unwrap_or_default();
        format!("{before}{words}{after}")
    }
}

fn entries_of(group: &RawValue) -> Vec<&RawValue> {
    serde_json::from_str::<Entries<'_>>(group.get()).map(|group| group.hooks).unwrap_or_default()
}

fn is_ours(entry: &RawValue) -> bool {
    our_command(entry).is_some()
}

/// Returns an entry's command and our binary, if the entry is ours: its command runs one of our
/// binaries, wherever that is, or checks for one in the form that we write.
fn our_command(entry: &RawValue) -> Option<(String, &'static str)> {
    let entry: Value = serde_json::from_str(entry.get()).ok()?;
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
