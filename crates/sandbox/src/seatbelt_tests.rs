//! What a profile says, read by a parser of the language.

use std::collections::BTreeMap;

use test_support::Scratch;

use super::*;
use crate::{Found, Request, Settings};

/// A form of the language: a word, a text, a regular expression, or a list of forms.
#[derive(Debug, Clone, PartialEq)]
enum Form {
    Word(String),
    Text(String),
    Regex(String),
    List(Vec<Form>),
}

/// Parses a profile, as far as profiles of ours go.
fn parse(text: &str) -> Vec<Form> {
    let mut chars = text.chars().peekable();
    let mut open: Vec<Vec<Form>> = vec![Vec::new()];
    while let Some(c) = chars.next() {
        let form = match c {
            '(' => {
                open.push(Vec::new());
                continue;
            }
            ')' => Form::List(open.pop().unwrap()),
            c if c.is_whitespace() => continue,
            '"' => {
                let mut text = String::new();
                loop {
                    match chars.next().expect("the text ends") {
                        '"' => break,
                        '\\' => text.push(chars.next().unwrap()),
                        c => text.push(c),
                    }
                }
                Form::Text(text)
            }
            '#' => {
                assert_eq!(chars.next(), Some('"'));
                let text = chars.by_ref().take_while(|c| *c != '"').collect();
                Form::Regex(text)
            }
            c => {
                let mut word = c.to_string();
                while let Some(c) = chars.next_if(|c| !c.is_whitespace() && !"()".contains(*c)) {
                    word.push(c);
                }
                Form::Word(word)
            }
        };
        open.last_mut().expect("no `)` too many").push(form);
    }
    assert_eq!(open.len(), 1, "no `)` is missing");
    open.remove(0)
}

const OPERATIONS: [&str; 15] = [
    "default",
    "file-write*",
    "file-read-data",
    "file-link",
    "file-mknod",
    "file-mount",
    "job-creation",
    "appleevent-send",
    "lsopen",
    "mach-priv-task-port",
    "authorization-right-obtain",
    "process-exec",
    "mach-lookup",
    "signal",
    "process-info*",
];

const KINDS: [&str; 3] = ["DIRECTORY", "BLOCK-DEVICE", "CHARACTER-DEVICE"];

/// A rule: whether it allows, the operations, and the conditions, of which one has to hold.
type Rule = (bool, Vec<String>, Vec<(String, Form)>);

/// Reads the rules, and insists that the language has every word in them.
fn read(profile: &str) -> Vec<Rule> {
    let mut forms = parse(profile).into_iter();
    let version = ["version", "1"].map(|word| Form::Word(word.to_owned()));
    assert_eq!(forms.next(), Some(Form::List(version.to_vec())));
    let rule = |form: Form| {
        let Form::List(parts) = form else { panic!("no rule: {form:?}") };
        let mut parts = parts.into_iter();
        let allows = match parts.next() {
            Some(Form::Word(word)) if word == "allow" => true,
            Some(Form::Word(word)) if word == "deny" => false,
            other => panic!("{other:?}"),
        };
        let (mut operations, mut conditions) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                Form::Word(word) => {
                    assert!(OPERATIONS.contains(&word.as_str()), "{word}");
                    operations.push(word);
                }
                Form::List(parts) => {
                    let [Form::Word(name), value] = &*parts else { panic!("{parts:?}") };
                    let is_known = match (name.as_str(), value) {
                        ("subpath" | "literal", Form::Text(path)) => path.starts_with('/'),
                        ("global-name", Form::Text(_)) => true,
                        ("regex", Form::Regex(text)) => regex_lite::Regex::new(text).is_ok(),
                        ("target", Form::Word(word)) => word == "same-sandbox",
                        ("vnode-type", Form::Word(word)) => KINDS.contains(&word.as_str()),
                        _ => false,
                    };
                    assert!(is_known, "{name} {value:?}");
                    conditions.push((name.clone(), value.clone()));
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(!operations.is_empty());
        (allows, operations, conditions)
    };
    forms.map(rule).collect()
}

/// Whether a program may do something to a file: the last rule that fits decides.
fn allows(rules: &[Rule], operation: &str, path: &str, is_folder: bool) -> bool {
    let fits = |(name, value): &(String, Form)| match (name.as_str(), value) {
        ("literal", Form::Text(text)) => text == path,
        ("subpath", Form::Text(text)) => Path::new(path).starts_with(text),
        ("regex", Form::Regex(text)) => regex_lite::Regex::new(text).unwrap().is_match(path),
        ("vnode-type", Form::Word(kind)) => is_folder && kind == "DIRECTORY",
        _ => false,
    };
    let mut rules = rules.iter().rev().filter(|(_, operations, conditions)| {
        let is_it = operations.iter().any(|it| it == operation || it == "default");
        is_it && (conditions.is_empty() || conditions.iter().any(fits))
    });
    rules.next().expect("the default").0
}

/// The policy of a project in a home folder, as for the checks or for an agent.
fn policy(home: &str, agent: Option<&str>) -> Policy {
    let below = |name: &str| camino::Utf8PathBuf::from(format!("{home}/{name}"));
    let env = BTreeMap::from([("PATH".to_owned(), "/opt/homebrew/bin:/usr/bin".to_owned())]);
    let settings = Settings { hide: vec![".env".to_owned()], ..Settings::default() };
    Policy::new(&Request {
        home: &below(""),
        copy: &below(".cache/ralph/app-1/1"),
        tmp: &below(".cache/ralph/t/1"),
        state: &below(".cache/ralph/app-1/state/1"),
        read_only: &[below("app"), below(".cache/ralph/app-1")],
        starts: &[below(".cache/ralph/app-1/1")],
        agent,
        is_setup: false,
        found: &Found::default(),
        settings: &settings,
        env: &env,
    })
}

#[test]
fn the_profile_of_a_project_is_as_recorded() {
    insta::assert_snapshot!(profile(&policy("/Users/dev", Some("claude"))));
}

#[test]
fn the_profile_says_what_the_policy_says() {
    let scratch = Scratch::new();
    let home = scratch.dir("home").canonicalize_utf8().unwrap();
    for name in [
        "app/src/main.c",
        ".ssh/id",
        ".npmrc",
        ".bashrc",
        ".cargo/config.toml",
        ".cargo/bin/x",
        ".cargo/credentials.toml",
        ".claude/.credentials.json",
        ".claude/settings.json",
        ".codex/auth.json",
        ".config/gh/hosts.yml",
        ".config/git/ignore",
        ".cache/ralph/app-1/1/.env",
        "Documents/letter",
        ".cache/ralph/app-1/1/main.c",
        ".pub-cache/my.credentials.json",
        ".pub-cache/hosted/x",
        "Library/Keychains/login",
        "Library/Developer/x",
        "Library/Caches/pip/x",
        ".cache/ralph/app-1/2/x",
        "a \"name\" (of\\mine)",
        ".a \"name\" (of\\mine)",
        ".cargo/registry/x",
        ".new/x",
    ] {
        scratch.file(&format!("home/{name}"), "x");
    }
    for agent in [None, Some("claude"), Some("codex")] {
        let policy = policy(home.as_str(), agent);
        let rules = read(&profile(&policy));
        let mut count = [0, 0];
        let mut folders = vec![home.clone()];
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir_utf8().unwrap() {
                let path = entry.unwrap().into_path();
                let is_folder = path.is_dir();
                let is_judged = policy.judged.contains(&path);
                let may_read = is_folder || is_judged || policy.hides(&path).is_none();
                let may_write = policy.write.iter().any(|it| path.starts_with(it));
                let says = |operation| allows(&rules, operation, path.as_str(), is_folder);
                assert_eq!(says("file-read-data"), may_read, "{agent:?} reads {path}");
                assert_eq!(says("file-write*"), may_write, "{agent:?} writes {path}");
                assert_eq!(says("file-link"), may_write, "{agent:?} links {path}");
                count[usize::from(may_read)] += 1;
                if is_folder {
                    folders.push(path);
                }
            }
        }
        assert!(count.iter().all(|count| *count > 5), "{count:?}");
    }
}

#[test]
fn only_an_agent_that_keeps_its_login_there_reaches_the_keychain() {
    for (agent, may) in [(None, false), (Some("codex"), false), (Some("claude"), true)] {
        let text = profile(&policy("/Users/dev", agent));
        assert_eq!(!text.contains("com.apple.SecurityServer"), may, "{agent:?}");
    }
}
