//! Merging our registrations into a settings file, and taking them out again.
//!
//! One edit at a time, each on a fresh reading: settings are small, and every step is a valid file.

use std::ops::Range;

use super::document::{Container, Item, SettingsProblem};
use super::registration::{Group, HOOK_NAMES, Registrations};
use super::style::{Style, splice};

/// The text with our registrations in it, and nothing else changed. Ours that are there already
/// are kept if they are right and put right where they stand if not.
pub fn merge(text: &str, registrations: &Registrations) -> Result<String, SettingsProblem> {
    let (mark, text) = without_mark(text);
    let mut text = if text.trim().is_empty() { "{}\n".to_owned() } else { text.to_owned() };
    while let Some(next) = settle_one(&text, registrations)? {
        text = next;
    }
    for (event, group) in &registrations.groups {
        text = with_event(&text, event, group)?;
    }
    Ok(format!("{mark}{text}"))
}

/// The text without any registration of ours, and without what only held them.
pub fn remove(text: &str) -> Result<String, SettingsProblem> {
    let (mark, text) = without_mark(text);
    if text.trim().is_empty() {
        return Ok(format!("{mark}{text}"));
    }
    let mut text = text.to_owned();
    loop {
        let root = Container::root(&text)?;
        let Some(ours) = find_ours(&text, &root)?.into_iter().next() else { break };
        text = ours.without(&text);
    }
    Ok(format!("{mark}{text}"))
}

/// Whether a hook of ours is registered in this text.
pub fn is_registered(text: &str) -> Result<bool, SettingsProblem> {
    Ok(!registered(text)?.is_empty())
}

/// Which hooks of ours are registered in this text, and for which event each.
pub fn registered(text: &str) -> Result<Vec<(String, &'static str)>, SettingsProblem> {
    let text = without_mark(text).1;
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let ours = find_ours(text, &Container::root(text)?)?;
    let pair = |ours: &Ours<'_>| Some((ours.event.key.clone(), our_hook(text, &ours.entry)?));
    Ok(ours.iter().filter_map(pair).collect())
}

/// Whether the file switches every hook off, ours included.
pub fn hooks_are_off(text: &str) -> bool {
    let root = Container::root(without_mark(text).1);
    root.is_ok_and(|root| root.member("disableAllHooks").is_some_and(|item| item.value == "true"))
}

/// One of our entries and everything around it.
struct Ours<'a> {
    event: Item<'a>,
    group: Item<'a>,
    entry: Item<'a>,
    root: Container<'a>,
    hooks: Container<'a>,
    groups: Container<'a>,
    entries: Container<'a>,
}

impl Ours<'_> {
    /// The text without this entry and without what would be left empty.
    fn without(&self, text: &str) -> String {
        let levels = [
            (&self.entries, self.entry.start),
            (&self.groups, self.group.start),
            (&self.hooks, self.event.start),
        ];
        let kept = levels.into_iter().find(|(container, _)| container.items.len() > 1);
        let hooks = self.root.member("hooks").map_or(0, |item| item.start);
        let (container, start) = kept.unwrap_or((&self.root, hooks));
        splice(text, removal(container, start), "")
    }

    /// Whether nobody else's entry is in the same group.
    fn is_alone(&self) -> bool {
        self.entries.items.len() == 1
    }
}

/// The bytes that go when the item that starts here goes.
fn removal(container: &Container<'_>, start: usize) -> Range<usize> {
    let position = container.items.iter().position(|item| item.start == start).unwrap_or(0);
    let end_of = |at: usize| container.items.get(at).map(|item| item.span.end);
    let before = position.checked_sub(1).and_then(end_of);
    let next = container.items.get(position + 1).map(|item| item.start);
    match (before, next) {
        (Some(before), _) => before..end_of(position).unwrap_or(before),
        (None, Some(next)) => start..next,
        (None, None) => container.span.start + 1..container.span.end - 1,
    }
}

/// All entries of ours, in the order of the text.
fn find_ours<'a>(text: &'a str, root: &Container<'a>) -> Result<Vec<Ours<'a>>, SettingsProblem> {
    let mut found = Vec::new();
    let Some(hooks) = root.member("hooks") else { return Ok(found) };
    let hooks = hooks.object(text, "`hooks`")?;
    for event in &hooks.items {
        let name = format!("`hooks.{}`", event.key);
        let groups = event.array(text, &name)?;
        for group in &groups.items {
            let members = group.object(text, &format!("an element of {name}"))?;
            let Some(list) = members.member("hooks") else { continue };
            let entries = list.array(text, &format!("`hooks` in {name}"))?;
            let ours = entries.items.iter().filter(|entry| our_hook(text, entry).is_some());
            found.extend(ours.map(|entry| Ours {
                event: event.clone(),
                group: group.clone(),
                entry: entry.clone(),
                root: root.clone(),
                hooks: hooks.clone(),
                groups: groups.clone(),
                entries: entries.clone(),
            }));
        }
    }
    Ok(found)
}

/// An entry is ours if its command runs one of our binaries, wherever it lies; names it.
fn our_hook(text: &str, entry: &Item<'_>) -> Option<&'static str> {
    let members = entry.object(text, "").ok()?;
    let command: String = serde_json::from_str(members.member("command")?.value).ok()?;
    let name = command.rsplit('/').next()?.trim_matches(['"', '\'', ' ']);
    HOOK_NAMES.into_iter().find(|hook| *hook == name)
}

/// Puts right or takes out the first entry of ours that is not as it should be; none if all are.
fn settle_one(
    text: &str,
    registrations: &Registrations,
) -> Result<Option<String>, SettingsProblem> {
    let root = Container::root(text)?;
    let style = Style::of(text, &root);
    let mut settled: Vec<String> = Vec::new();
    for ours in find_ours(text, &root)? {
        let wanted = registrations.groups.iter().find(|(event, _)| *event == ours.event.key);
        let repeated = settled.contains(&ours.event.key);
        let Some((_, group)) = wanted.filter(|_| !repeated) else {
            return Ok(Some(ours.without(text)));
        };
        settled.push(ours.event.key.clone());
        if ours.is_alone() && !same(ours.group.value, group) {
            return Ok(Some(style.put(text, ours.group.span.clone(), &style.write(group))));
        }
        if !ours.is_alone() {
            let [entry] = &group.hooks;
            let matcher = ours.group.object(text, "")?.member("matcher").map(|item| item.value);
            let wanted = group.matcher.map(|matcher| format!("\"{matcher}\""));
            if matcher != wanted.as_deref() {
                return Ok(Some(ours.without(text)));
            }
            if !same(ours.entry.value, entry) {
                return Ok(Some(style.put(text, ours.entry.span.clone(), &style.write(entry))));
            }
        }
    }
    Ok(None)
}

/// Whether the text says the same, however it is laid out.
fn same(written: &str, wanted: &impl serde::Serialize) -> bool {
    let written: Option<serde_json::Value> = serde_json::from_str(written).ok();
    written.is_some() && written == serde_json::to_value(wanted).ok()
}

/// The text with a group of ours for this event, unless there is one.
fn with_event(text: &str, event: &str, group: &Group) -> Result<String, SettingsProblem> {
    let root = Container::root(text)?;
    if find_ours(text, &root)?.iter().any(|ours| ours.event.key == event) {
        return Ok(text.to_owned());
    }
    let style = Style::of(text, &root);
    let Some(hooks) = root.member("hooks") else {
        let text = style.append(text, &root, &style.member("hooks", "{}"));
        return with_event(&text, event, group);
    };
    let hooks = hooks.object(text, "`hooks`")?;
    let Some(groups) = hooks.member(event) else {
        let text = style.append(text, &hooks, &style.member(event, "[]"));
        return with_event(&text, event, group);
    };
    let groups = groups.array(text, event)?;
    Ok(style.append(text, &groups, &style.write(group)))
}

/// A byte order mark stays where it is; JSON itself does not allow it.
fn without_mark(text: &str) -> (&str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    }
}
