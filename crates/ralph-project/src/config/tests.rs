//! Precedence of sources, errors, and consistency of the key list with the settings.

use std::collections::BTreeSet;

use super::super::tables::keys;
use super::super::values::Mode;
use super::*;

fn load(file: &str, vars: &[(&str, &str)], flags: &[Flag]) -> Result<Config, String> {
    let env = Env::of(vars.iter().copied());
    Config::from_parts(".ralph/config.toml", file, &env, flags).map_err(|error| error.to_string())
}

#[test]
fn an_empty_file_means_the_defaults() {
    assert_eq!(load("", &[], &[]), Ok(Config::default()));
    assert_eq!(load("\u{feff}# nothing\r\n", &[], &[]), Ok(Config::default()));
}

#[test]
fn flags_override_variables_and_variables_override_the_file() {
    let file =
        "[loop]\nmax_iterations = 1\n[agent]\ntimeout = \"10m\"\n[verify]\ncommands = [\"a\"]\n";
    let vars = [("MAX_ITERATIONS", "2"), ("RALPH_VERIFY", "b\nc"), ("TIMEOUT_AGENT", "08")];
    let flags = [
        Flag::new("loop.max_iterations", "003"),
        Flag::new("verify.commands", "d, with comma"),
        Flag::new("verify.commands", "e"),
    ];
    let config = load(file, &vars, &flags).unwrap();
    assert_eq!(config.run.max_iterations, 3);
    assert_eq!(config.agent.timeout, Seconds(8));
    assert_eq!(config.verify.commands, ["d, with comma", "e"]);
    let config = load(file, &vars, &[]).unwrap();
    assert_eq!(config.run.max_iterations, 2);
    assert_eq!(config.verify.commands, ["b", "c"]);
    assert_eq!(load(file, &[], &[]).unwrap().agent.timeout, Seconds(600));
}

#[test]
fn a_string_is_accepted_as_a_list_with_one_item() {
    let mut lists = keys().filter(|key| key.kind == Kind::List).peekable();
    assert!(lists.peek().is_some());
    for key in lists {
        let (table, name) = key.name.split_once('.').unwrap();
        let given = match key.name {
            "guard.disable" | "guard.enable" => "disk",
            "agent.fallback" => "codex",
            _ => "a, b",
        };
        let config = load(&format!("[{table}]\n{name} = '{given}'\n"), &[], &[]).unwrap();
        assert_eq!(config.values()(key), Some(vec![given.to_owned()].into()), "{}", key.name);
    }
    let stories = load("[scope.stories]\nUS-1 = 'src/**'\n", &[], &[]).unwrap().scope.stories;
    assert_eq!(stories["US-1"], ["src/**"]);
}

#[test]
fn mistakes_in_the_file_are_reported_with_the_line() {
    for (file, expected) in [
        (
            "[limits]\n\natempts_per_story = 3\n",
            "3: unknown field `atempts_per_story`; did you mean `attempts_per_story`?",
        ),
        ("[looop]\nx = 1\n", "1: unknown field `looop`"),
        (
            "[loop]\nmax_iterations = \"many\"\n",
            "2: `max_iterations`: invalid type: string \"many\", expected a whole number",
        ),
        (
            "[verify]\ncommands = 3\n",
            "2: `commands`: invalid type: integer `3`, expected a string or a list of strings",
        ),
        ("[verify]\ncommands = [\n'a',\n3\n]\n", "4: invalid type: integer `3`, expected a string"),
        ("[rollback]\non = \"always\"\n", "2: unknown variant `always`"),
        ("[loop\n", "1:"),
        ("[loop]\nmax_iterations = -1\n", "2:"),
        (
            "[limits]\nattempts_per_story = 0\n",
            "2: `attempts_per_story`: invalid number 0; the minimum is 1",
        ),
        (
            "[guard]\nallow = []\ndisable = [\"git-pusch\"]\n",
            "3: guard: there is no rule named `git-pusch`",
        ),
        ("[[guard.rules]]\nname = \"mine\"\nregex = \"(\"\n", "3: guard: `(` of rule `mine`"),
        ("[scope]\npaths = [\"src/[\"]\n", "2: `src/[` is not a valid pattern"),
        ("[verify]\ncommands = [\"true\", \"\"]\n", "2: `` does not run anything"),
    ] {
        let error = load(file, &[], &[]).unwrap_err();
        assert!(error.starts_with(&format!(".ralph/config.toml:{expected}")), "{error}");
    }
}

#[test]
fn wrong_values_are_reported_with_the_variable_or_flag() {
    let check = |var: Option<(&str, &str)>, flag: Option<(&'static str, &str)>, expected: &str| {
        let vars: Vec<_> = var.into_iter().collect();
        let flags: Vec<_> = flag.map(|(name, value)| Flag::new(name, value)).into_iter().collect();
        let error = load("[scope]\npaths = [\"src/**\"]\n", &vars, &flags).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    };
    for (name, value, expected) in [
        ("MAX_ITERATIONS", "0x10", "`0x10` is not a whole number"),
        ("RALPH_MODE", "bilding", "unknown variant `bilding`"),
        ("RALPH_STORIES_PER_SESSION", "0", "invalid number 0; the minimum is 1"),
        ("RALPH_SCOPE", "a\n[", ""),
        ("RALPH_STOP_SUBAGENTS", "[", ""),
        ("RALPH_GUARD_DISABLE", "git-pusch", ""),
        ("RALPH_GUARD_ENABLE", "nothing", ""),
        ("RALPH_VERIFY", "true\n# cargo test", "`# cargo test` does not run anything"),
    ] {
        check(Some((name, value)), None, &format!("{name}: {expected}"));
    }
    for (name, value, expected) in [
        ("agent.timeout", "soon", "--timeout: `soon` is not a duration such as 3600, 90m or 8h"),
        ("limits.attempts_per_story", "0", "--attempts: invalid number 0; the minimum is 1"),
        ("scope.paths", "[", "--scope: "),
        ("verify.commands", "", "--verify: `"),
        ("verify.commands", "\n# a\n  # b\n", "--verify: `"),
    ] {
        check(None, Some((name, value)), expected);
    }
    check(Some(("RALPH_SCOPE", "[")), Some(("scope.paths", "[")), "--scope: ");
    let protect = Some(("RALPH_GUARD_PROTECT", "["));
    check(protect, Some(("scope.paths", "docs/**")), "RALPH_GUARD_PROTECT: ");
    // A flag replaces the variable, even an invalid one.
    assert!(load("", &[("RALPH_SCOPE", "[")], &[Flag::new("scope.paths", "src")]).is_ok());
    let fine = [Flag::new("verify.commands", "# unit tests\ncargo test # all")];
    load("", &[], &fine).unwrap();
}

#[test]
fn a_hook_checks_only_the_names_of_tables_it_does_not_use() {
    let scratch = test_support::Scratch::new();
    let load = |text: &str| {
        let path = scratch.file("config.toml", text);
        let env = Env::of([("RALPH_MODEL", "opus"), ("MAX_ITERATIONS", "7")]);
        Config::load_or_default(&path, &env, check::mistake)
    };
    let (config, error) = load("[limits]\nattempts = 2\n\n[stop]\nmax_blocks = 4\n");
    assert_eq!((config.stop.max_blocks, config.run.max_iterations), (4, 7));
    assert!(error.is_none(), "{error:?}");
    for (invalid, expected) in [("[limit]\n[stop]\nmax_blocks = 4\n", "limit"), ("[x", "toml:1")] {
        let (config, error) = load(invalid);
        assert_eq!(config, Config::default());
        assert!(error.unwrap().to_string().contains(expected));
    }
    let all = Table::try_from(Config::default()).unwrap();
    let (_, error) = load(&all.keys().map(|table| format!("[{table}]\n")).collect::<String>());
    assert!(error.is_none(), "{error:?}");
}

#[test]
fn a_file_in_another_encoding_is_reported_with_the_line() {
    let scratch = test_support::Scratch::new();
    let path = scratch.path("config.toml");
    fs_err::write(&path, b"[loop]\n# gr\xfcn\nmax_iterations = 3\n").unwrap();
    let error = Config::load(&path, &Env::of([("", "")]), &[]).unwrap_err().to_string();
    assert!(error.ends_with("config.toml:2: this line is not UTF-8; save the file as UTF-8"));
}

#[test]
fn the_key_list_contains_exactly_the_settings() {
    let table = Table::try_from(Config::default()).unwrap();
    let mut settings = BTreeSet::new();
    for (outer, inner) in &table {
        let Value::Table(inner) = inner else { panic!("{outer} is not a table") };
        settings.extend(inner.keys().map(|key| format!("{outer}.{key}")));
    }
    let names: BTreeSet<String> = keys().map(|key| key.name.to_owned()).collect();
    assert_eq!(settings, names);
    assert_eq!(names.len(), keys().count());
}

#[test]
fn every_default_can_be_written_as_text() {
    let table = Table::try_from(Config::default()).unwrap();
    for key in keys().filter(|key| !matches!(key.kind, Kind::Table | Kind::List)) {
        let (outer, inner) = key.name.split_once('.').unwrap();
        let default = table[outer].as_table().unwrap()[inner].clone();
        let text = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
        if !text.is_empty() {
            let config = load("", &[(key.env.unwrap(), &text)], &[]);
            assert_eq!(config, Ok(Config::default()), "{}", key.name);
        }
    }
}

#[test]
fn variables_are_accepted_with_each_known_prefix() {
    for prefix in ["", "RALPH_", "FRESHER_"] {
        let vars = [("HOOK_TIMEOUT", "7"), ("MAX_ITERATIONS", "3")];
        let vars = vars.map(|(name, value)| (format!("{prefix}{name}"), value));
        let vars: Vec<_> = vars.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let config = load("", &vars, &[]).unwrap();
        assert_eq!((config.hooks.timeout, config.run.max_iterations), (Seconds(7), 3), "{prefix}");
    }
    for name in ["RALPH_MODE", "FRESHER_MODE"] {
        let config = load("", &[(name, "planning")], &[]).unwrap();
        assert_eq!(config.run.mode, Mode::Planning, "{name}");
    }
    let off = load("", &[("FRESHER_HOOK_NEXT_ITERATION_ENABLED", "false")], &[]).unwrap();
    assert!(!off.hooks.next_iteration && off.hooks.started);
}

#[test]
fn variables_and_flags_are_unique_and_each_flag_has_a_known_variable() {
    let variables: BTreeSet<_> = keys().filter_map(|key| key.env).collect();
    let flags: BTreeSet<_> = keys().filter_map(|key| key.flag).collect();
    assert_eq!(variables.len(), keys().filter(|key| key.env.is_some()).count());
    assert_eq!(flags.len(), keys().filter(|key| key.flag.is_some()).count());
    assert!(keys().all(|key| key.flag.is_none() || key.env.is_some()));
    assert!(variables.iter().all(|name| is_ours(name)));
    assert!(is_ours("FRESHER_HOOK_TIMEOUT") && !is_ours("PATH"));
}
