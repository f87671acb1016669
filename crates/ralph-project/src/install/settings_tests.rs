//! Settings files of every shape, with our hooks merged in and removed.

use proptest::prelude::*;
use serde_json::Value;

use super::{Registrations, hooks_are_off, is_registered, merge, remove};

const FOLDER: &str = r#""$CLAUDE_PROJECT_DIR"/.claude/hooks"#;

fn newest() -> Registrations {
    Registrations::of("2.1.325".parse().unwrap(), FOLDER)
}

/// A client that knows few events, for short expectations.
fn oldest() -> Registrations {
    Registrations::of("1.0.31".parse().unwrap(), "h")
}

const PRE: &str = r#"{
        "matcher": "Bash|Monitor|Edit|MultiEdit|Write|NotebookEdit|mcp__.*",
        "hooks": [
          {
            "type": "command",
            "command": "h/ralph-pre-tool",
            "timeout": 10
          }
        ]
      }"#;

#[test]
fn a_new_file_is_indented_by_two_spaces() {
    let text = merge("", &oldest()).unwrap();
    let start = format!("{{\n  \"hooks\": {{\n    \"PreToolUse\": [\n      {PRE}\n    ],\n");
    assert!(text.starts_with(&start), "{text}");
    assert!(text.ends_with("\n    ]\n  }\n}\n"), "{text}");
    assert_eq!(remove(&text).unwrap(), "");
}

/// Typical files: merging keeps the existing settings, and removing restores every byte.
const FILES: [&str; 18] = [
    "{}\n",
    "{}",
    "{\n  \"model\": \"opus\"\n}\n",
    "{\n\t\"model\": \"opus\",\n\t\"env\": {\n\t\t\"A\": \"1\"\n\t}\n}",
    "{\r\n    \"b\": 1,\r\n    \"a\": 2\r\n}\r\n",
    "\u{feff}{\n  \"a\": 1\n}\n",
    "{\"permissions\":{\"allow\":[\"Bash(ls:*)\"]},\"z\":null}",
    "{ \"a\" : 1 , \"b\" : [ 1,2 ] }\n",
    "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"mine\"}]}]},\"x\":1}",
    "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\n        \"matcher\": \"Bash\",\n        \
     \"hooks\": [{ \"type\": \"command\", \"command\": \"./mine.sh ralph-pre-tool\" }]\n      }\n    \
     ]\n  },\n  \"model\": \"opus\"\n}\n",
    "{\n  \"hooks\": {\n    \"Notification\": [{\"hooks\": []}],\n    \"OfANewerClient\": []\n  }\n}\n",
    // Lists that begin on the line of their key.
    "{\n  \"hooks\": {\n    \"PreToolUse\": [{\n      \"matcher\": \"Bash\",\n      \"hooks\": [{ \
     \"type\": \"command\", \"command\": \"./mine.sh\" }]\n    }],\n    \"Stop\": [{\n      \"hooks\": \
     []\n    }]\n  }\n}\n",
    "{\r\n  \"hooks\": {\r\n    \"Stop\": [{ \"hooks\": [ {\"command\": \"a\"} , {\"command\": \"b\"} ] }]\r\n  \
     }\r\n}\r\n",
    "{ }",
    "{\"hooks\": {}}\n",
    "{\n  \"hooks\": {\n    \"Stop\": [],\n    \"PreToolUse\": []\n  }\n}\n",
    "{\n}\n",
    "{\n  \"text\": \"a { \\\" [ trap, \\u007b\",\n  \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \
     \"prompt\", \"prompt\": \"ralph-on-stop\"}]}]}\n}",
];

#[test]
fn existing_settings_survive_merging_and_removing() {
    for file in FILES {
        let merged = merge(file, &newest()).unwrap();
        let read = |text: &str| -> Value {
            serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap()
        };
        let (value, before) = (read(&merged), read(file));
        for (key, old) in before.as_object().unwrap().iter().filter(|(key, _)| *key != "hooks") {
            assert_eq!(&value[key], old, "{file}");
        }
        for (event, old) in before["hooks"].as_object().into_iter().flatten() {
            let groups = value["hooks"][event].as_array().unwrap();
            assert!(groups.starts_with(old.as_array().unwrap()), "{merged}");
        }
        assert_eq!(merge(&merged, &newest()).unwrap(), merged, "twice changes nothing");
        let removed = remove(&merged).unwrap();
        assert_eq!(read(&removed), before);
        assert_eq!(removed, file);
        assert_eq!(remove(file).unwrap(), file, "nothing of ours, nothing to remove");
        assert!(is_registered(&merged).unwrap() && !is_registered(file).unwrap());
    }
}

#[test]
fn additions_follow_the_existing_formatting() {
    let tabs = merge(FILES[3], &newest()).unwrap();
    assert!(tabs.contains("\n\t\t\"Stop\": [\n\t\t\t{\n\t\t\t\t\"hooks\": ["), "{tabs}");
    let windows = merge(FILES[4], &newest()).unwrap();
    assert_eq!(windows.matches('\n').count(), windows.matches("\r\n").count(), "{windows}");
    assert!(windows.contains("\r\n        \"Stop\": [\r\n            {"), "{windows}");
}

#[test]
fn other_hook_groups_are_unchanged_and_come_first() {
    let theirs =
        "{\n        \"hooks\": [{\"type\": \"command\", \"command\": \"theirs\"}]\n      }";
    let old =
        r#"{"matcher": "Bash", "hooks": [{"type": "command", "command": "/old/ralph-pre-tool"}]}"#;
    let twice = format!(
        "{{\n  \"hooks\": {{\n    \"PreToolUse\": [\n      {old},\n      {theirs},\n      {old}\n    ]\n  }}\n}}\n"
    );
    let updated = merge(&twice, &oldest()).unwrap();
    let start = format!(
        "{{\n  \"hooks\": {{\n    \"PreToolUse\": [\n      {theirs},\n      {PRE}\n    ],\n"
    );
    assert!(updated.starts_with(&start), "{updated}");
}

#[test]
fn other_hooks_of_a_shared_group_are_kept() {
    let shared = r#"{"hooks": {"Stop": [{"matcher": "x", "hooks": [
        {"type": "command", "command": "theirs"},
        {"type": "command", "command": "/old/ralph-on-stop"}]}]}, "z": 1}"#;
    let theirs = r#"{"hooks": {"Stop": [{"matcher": "x", "hooks": [
        {"type": "command", "command": "theirs"}]}]}, "z": 1}"#;
    assert_eq!(remove(&merge(shared, &oldest()).unwrap()).unwrap(), theirs);
    let ours = r#"{"hooks": {"Stop": [{"hooks": [{"command": "h/ralph-on-stop"}]}]}, "z": 1}"#;
    assert_eq!(remove(ours).unwrap(), r#"{"z": 1}"#);
    let only_ours = r#"{"hooks": {"Stop": [{"hooks": [{"command": "h/ralph-on-stop"}]}]}}"#;
    assert_eq!(remove(only_ours).unwrap(), "");
}

#[test]
fn events_unknown_to_an_older_client_are_removed() {
    let text = merge("{\n  \"a\": 1\n}\n", &newest()).unwrap();
    let older = merge(&text, &Registrations::of("2.0.77".parse().unwrap(), FOLDER)).unwrap();
    assert!(!older.contains("TeammateIdle") && !older.contains("StopFailure"), "{older}");
    assert!(older.contains("PostToolUseFailure"));
    assert!(older.contains(r#""command": "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/ralph-on-stop""#));
}

#[test]
fn invalid_settings_are_refused_with_their_position() {
    for (text, expected) in [
        ("{\n  \"a\": 1,\n  // words\n}", "line 3, column 3: key must be a string"),
        ("{\"a\": 1", "line 1, column 7: EOF while parsing an object"),
        ("[]", "line 1, column 0: invalid type: sequence, expected an object"),
        ("{\n\"hooks\": 1}", "line 2, column 10: invalid type: integer `1`, expected a map"),
        (
            "{\"hooks\": {\n\n\"Stop\": {}}}",
            "line 3, column 8: invalid type: map, expected a sequence",
        ),
    ] {
        for result in [merge(text, &newest()), remove(text)] {
            let expected = format!("{expected}; nothing was changed; fix it by hand first");
            assert_eq!(result.unwrap_err().to_string(), expected);
        }
    }
}

#[test]
fn a_switch_that_disables_all_hooks_is_detected() {
    assert_eq!(hooks_are_off("{\"disableAllHooks\": true}"), Some(true));
    assert_eq!(hooks_are_off("{\"disableAllHooks\": false}"), Some(false));
}

/// Any JSON object as a settings file, in one of two layouts.
fn any_settings() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z\"\\\\{}\\[\\], ]{0,8}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,4}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    let object = prop::collection::btree_map("[a-z\"{ ]{1,6}", value, 0..5);
    (object, any::<bool>()).prop_map(|(map, pretty)| {
        let value = Value::Object(map.into_iter().filter(|(key, _)| key != "hooks").collect());
        if pretty { format!("{value:#}\n") } else { value.to_string() }
    })
}

proptest! {
    #[test]
    fn removing_reverts_merging(text in any_settings()) {
        let merged = merge(&text, &newest()).unwrap();
        prop_assert_eq!(merge(&merged, &newest()).unwrap(), merged.clone());
        prop_assert_eq!(remove(&merged).unwrap(), text);
    }
}
