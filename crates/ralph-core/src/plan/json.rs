//! JSON plans: `prd.json` and `feature_list.json`, read in place.
//!
//! The file is never re-serialised; an edit replaces the bytes of one value, or adds one member in
//! the style of its neighbours.

use super::error::Error;
use super::story::{Draft, Format, Marks, Reading, State, Story, Wanted};
use ralph_base::json_members::members;
use ralph_base::lines::{BOM, LineNumbers};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::ops::Range;

/// The lists that a plan may hold; other members are ignored.
#[derive(Deserialize, Default)]
struct Lists<'a> {
    #[serde(borrow, rename = "userStories")]
    user_stories: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    features: Option<Vec<&'a RawValue>>,
}

/// A story of either list. Values with several allowed forms are parsed later.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Item {
    id: Value,
    title: Value,
    description: Value,
    steps: Value,
    #[serde(rename = "acceptanceCriteria")]
    criteria: Value,
    notes: Value,
    priority: Value,
    passes: Value,
    blocked: Value,
    held: Value,
    #[serde(rename = "dependsOn", alias = "depends_on", alias = "dependencies")]
    depends_on: Value,
    status: Value,
    details: Value,
    #[serde(rename = "testStrategy")]
    test_strategy: Value,
    subtasks: Value,
}

impl Item {
    /// Returns the state for a Task Master status, and whether the task is optional. Tasks in
    /// review count as blocked, and cancelled ones as done, so that no task waits for them.
    fn state(&self) -> Option<(State, bool)> {
        match self.status.as_str()? {
            "done" | "completed" => Some((State::Done, false)),
            "blocked" | "review" => Some((State::Blocked, false)),
            "cancelled" => Some((State::Done, true)),
            "deferred" => Some((State::Open, true)),
            _ => None,
        }
    }
}

/// Reads a JSON plan.
pub(super) fn read(bytes: &[u8], tag: &str) -> Result<Reading, Error> {
    let base = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let numbers = LineNumbers::new(bytes);
    let text = std::str::from_utf8(bytes.get(base..).unwrap_or_default()).map_err(|error| {
        let message = "this line is not UTF-8; save the plan as UTF-8";
        Error::at(numbers.at(base + error.valid_up_to()), message)
    })?;
    let broken = |error: serde_json::Error| {
        let (column, reason) = (error.column(), reason(&error));
        let message =
            format!("column {column}: not a valid JSON plan: {reason}; fix it by hand or with git");
        Error::at(error.line(), message)
    };
    let lists = if text.trim_start().starts_with('[') {
        let features = Some(serde_json::from_str(text).map_err(broken)?);
        Lists { features, ..Lists::default() }
    } else {
        serde_json::from_str(text).map_err(broken)?
    };
    let (format, stories) = match (lists.user_stories, lists.features) {
        (Some(stories), _) => (Format::Prd, stories),
        (None, Some(features)) => (Format::FeatureList, features),
        (None, None) => match tasks(text, tag)? {
            Some(tasks) => (Format::TaskMaster, tasks),
            None => {
                let hint = "a JSON plan needs a `features`, `userStories` or `tasks` array";
                return Err(Error::no_story(None, hint));
            }
        },
    };
    if stories.is_empty() {
        return Err(Error::no_story(None, "the list is empty; add a feature or a story"));
    }
    let draft = |raw: &RawValue| {
        // The value is borrowed from the text, so its address gives its offset.
        let start = base + raw.get().as_ptr().addr().wrapping_sub(text.as_ptr().addr());
        draft(raw.get(), start, numbers.at(start), format)
    };
    let drafts = stories.into_iter().map(draft).collect::<Result<_, _>>()?;
    Ok(Reading { format, drafts, warnings: Vec::new() })
}

/// Returns the parser's message without the position.
fn reason(error: &serde_json::Error) -> String {
    error.to_string().split(" at line ").next().unwrap_or_default().to_owned()
}

/// Returns Task Master's tasks, at the top or of the current tag, `master`, or one with tasks.
fn tasks<'a>(text: &'a str, current: &str) -> Result<Option<Vec<&'a RawValue>>, Error> {
    #[derive(Deserialize)]
    struct Tag<'a> {
        #[serde(borrow)]
        tasks: Vec<&'a RawValue>,
    }
    let below = |text| serde_json::from_str::<Tag<'_>>(text).ok().map(|tag| tag.tasks);
    let Some(tags) = members(text).ok().filter(|_| below(text).is_none()) else {
        return Ok(below(text).filter(|tasks| !tasks.is_empty()));
    };
    let tags = tags.into_iter().filter_map(|(name, tag)| Some((name, below(tag.get())?)));
    let mut tags: Vec<_> = tags.collect();
    if !current.is_empty() && !tags.is_empty() {
        let names: Vec<&str> = tags.iter().map(|(name, _)| &**name).collect();
        let message = format!(
            "Task Master's current tag `{current}` is not in this file; switch to one that is with \
             `task-master use-tag`: {}",
            names.join(", ")
        );
        let found = tags.into_iter().find(|(name, _)| name == current);
        return found.map(|(_, tasks)| Some(tasks)).ok_or_else(|| Error::of_file(message));
    }
    tags.sort_by_key(|(name, tasks)| (tasks.is_empty(), name != "master"));
    Ok(tags.into_iter().next().map(|(_, tasks)| tasks))
}

fn draft(object: &str, start: usize, line: usize, format: Format) -> Result<Draft, Error> {
    if !object.starts_with('{') {
        let found: String = object.chars().take(40).collect();
        return Err(Error::at(line, format!("a story must be an object, not {found}")));
    }
    let item: Item = serde_json::from_str(object)
        .map_err(|error| Error::at(line + error.line().saturating_sub(1), reason(&error)))?;
    let wrong = |key: &str, expected: &str, found: &Value| {
        Error::at(line, format!("`{key}` must be {expected}, not {found}"))
    };
    let flag = |key, value: &Value| match value {
        Value::Bool(is_set) => Ok(*is_set),
        Value::Null => Ok(false),
        Value::String(text) if text == "true" || text == "false" => Ok(text == "true"),
        _ => Err(wrong(key, "true or false", value)),
    };
    let (is_done, is_blocked) = (flag("passes", &item.passes)?, flag("blocked", &item.blocked)?);
    let is_held = flag("held", &item.held)?;
    let state = if is_done {
        State::Done
    } else if is_blocked || is_held {
        State::Blocked
    } else {
        State::Open
    };
    let (state, optional) = match format {
        Format::TaskMaster => item.state().unwrap_or((state, false)),
        _ => (state, false),
    };
    let held = is_held && state == State::Blocked;
    let id = scalar(&item.id).ok_or_else(|| wrong("id", "a string or a number", &item.id))?;
    let priority = priority(&item.priority).ok_or_else(|| {
        wrong("priority", "a whole number, or high, medium or low", &item.priority)
    })?;
    let description = texts(&item.description).join("\n");
    let title = match texts(&item.title).join("\n") {
        title if title.is_empty() => description.lines().next().unwrap_or_default().to_owned(),
        title => title,
    };
    let strict = format != Format::TaskMaster;
    let wanted = texts(&item.depends_on).into_iter().map(|text| {
        // A dependency on a subtask becomes one on its task.
        let task =
            if strict { None } else { text.split_once('.').map(|(task, _)| task.to_owned()) };
        Wanted { text: task.unwrap_or(text), line, strict }
    });
    let wanted = wanted.collect();
    let story = Story {
        id: id.trim().to_owned(),
        details: details(&item, if description == title { "" } else { &description }),
        title,
        state,
        depends: Vec::new(),
        priority,
        optional: optional || held,
        held,
        line,
        span: start..start + object.len(),
        marks: Marks::Object,
    };
    Ok(Draft { story, wanted })
}

fn details(item: &Item, description: &str) -> String {
    let steps: String =
        texts(&item.steps).iter().zip(1..).map(|(step, n)| format!("\n{n}. {step}")).collect();
    let criteria: String = texts(&item.criteria).iter().map(|one| format!("\n- {one}")).collect();
    let [notes, more, tests] =
        [&item.notes, &item.details, &item.test_strategy].map(|value| texts(value).join("\n"));
    let part = |part: &Item| {
        let [title, what] = [&part.title, &part.description].map(|value| texts(value).join(" "));
        match part.state() {
            Some((_, true)) => String::new(),
            Some((State::Done, _)) => format!("\n- {title} (done): {what}"),
            _ => format!("\n- {title}: {what}"),
        }
    };
    let subtasks: Vec<Item> = serde_json::from_value(item.subtasks.clone()).unwrap_or_default();
    let subtasks: String = subtasks.iter().map(part).collect();
    let parts = [
        ("", description),
        ("", &more),
        ("Steps:", &steps),
        ("Sub-tasks:", &subtasks),
        ("Acceptance criteria:", &criteria),
        ("Test strategy: ", &tests),
        ("Notes: ", &notes),
    ];
    let parts = parts.into_iter();
    let parts = parts.filter(|(_, text)| !text.is_empty());
    parts.map(|(head, text)| format!("{head}{text}")).collect::<Vec<_>>().join("\n\n")
}

/// Converts a string or number to text, and null to an empty text; `None` for other values.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the elements of a list as text; a single value counts as a list of one.
fn texts(value: &Value) -> Vec<String> {
    let elements = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let texts = elements.iter().map(|one| scalar(one).unwrap_or_else(|| one.to_string()));
    texts.filter(|text| !text.is_empty()).collect()
}

/// Parses a whole number, or a word such as `high`.
fn priority(value: &Value) -> Option<Option<i64>> {
    let text = scalar(value)?.trim().to_ascii_lowercase();
    match text.as_str() {
        "" => Some(None),
        "critical" | "highest" => Some(Some(0)),
        "high" => Some(Some(1)),
        "medium" => Some(Some(2)),
        "low" => Some(Some(3)),
        _ => text.strip_prefix('p').unwrap_or(&text).parse().ok().map(Some),
    }
}

/// Returns the subtasks that are ticked with their task, with their offsets in its text.
pub(super) fn open_parts(object: &str) -> Vec<(usize, &str)> {
    let parts = || {
        let (_, raw) = members(object).ok()?.into_iter().find(|(name, _)| name == "subtasks")?;
        serde_json::from_str::<Vec<&RawValue>>(raw.get()).ok()
    };
    let is_open = |part: &&RawValue| {
        let item: Result<Item, _> = serde_json::from_str(part.get());
        item.is_ok_and(|item| !matches!(item.state(), Some((State::Done, _) | (_, true))))
    };
    let place = |raw: &RawValue| raw.get().as_ptr().addr().wrapping_sub(object.as_ptr().addr());
    let parts = parts().unwrap_or_default().into_iter().filter(is_open);
    parts.map(|part| (place(part), part.get())).collect()
}

/// Returns the edit that sets `key` to `value` in the text of one object: a range and its
/// replacement. A missing member is added after the last one, in the same style.
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
    fn a_value_is_replaced_and_a_missing_member_is_formatted_like_its_neighbours() {
        check(r#"{"passes" : false, "x":1}"#, r#"{"passes" : true, "x":1}"#);
        check(r#"{"a":{"passes":false},"passes":null}"#, r#"{"a":{"passes":false},"passes":true}"#);
        check("{}", r#"{"passes": true}"#);
        check(r#"{"id":1}"#, r#"{"id":1,"passes":true}"#);
        check(r#"{ "id": 1, "t": "x" }"#, r#"{ "id": 1, "t": "x", "passes": true }"#);
        check("{\r\n\t\"id\" : 1\r\n}", "{\r\n\t\"id\" : 1,\r\n\t\"passes\" : true\r\n}");
        check("{\"a\":1\n  ,\"b\": [1,\n2]\n}", "{\"a\":1\n  ,\"b\": [1,\n2],\"passes\": true\n}");
    }
}
