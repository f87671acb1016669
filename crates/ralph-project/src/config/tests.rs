//! Precedence of sources, errors, and consistency of the key list with the settings.

use std::collections::BTreeSet;

use super::super::tables::keys;
use super::super::values::Mode;
use super::*;

fn load(file: &str, vars: &[(&str, &str)], flags: &[Flag]) -> Result<Config, String> {
    let env = Env::of(vars.iter().copied());
    Config::from_parts(".ralph/config.toml", file, &env, flags).map_err(|error| error.to_string())
}

fn check_error(file: &str, vars: &[(&str, &str)], flags: &[Flag], expected: &str) {
    assert_eq!(load(file, vars, flags).unwrap_err(), expected);
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
    let error = load("[verify]\ncommands = 3\n", &[], &[]).unwrap_err();
    assert!(
        error.ends_with(
            "`commands`: invalid type: integer `3`, expected a string or a list of strings"
        ),
        "{error}"
    );
}

#[test]
fn unknown_keys_are_reported_with_line_and_nearest_key() {
    check_error(
        "[limits]\n\natempts_per_story = 3\n",
        &[],
        &[],
        ".ralph/config.toml:3: unknown field `atempts_per_story`; did you mean \
         `attempts_per_story`?",
    );
    let error = load("[looop]\nx = 1\n", &[], &[]).unwrap_err();
    assert!(error.starts_with(".ralph/config.toml:1: unknown field `looop`"), "{error}");
    assert!(error.ends_with("did you mean `loop`?"), "{error}");
}

#[test]
fn wrong_types_and_invalid_files_are_reported_with_the_line() {
    let typed = load("[loop]\nmax_iterations = \"many\"\n", &[], &[]).unwrap_err();
    assert_eq!(
        typed,
        ".ralph/config.toml:2: `max_iterations`: invalid type: string \"many\", expected a whole number"
    );
    let listed = load("[verify]\ncommands = [\n\"a\",\n3\n]\n", &[], &[]).unwrap_err();
    assert_eq!(listed, ".ralph/config.toml:4: invalid type: integer `3`, expected a string");
    let word = load("[rollback]\non = \"always\"\n", &[], &[]).unwrap_err();
    assert!(word.contains(":2: unknown variant `always`"), "{word}");
    let broken = load("[loop\n", &[], &[]).unwrap_err();
    assert!(broken.starts_with(".ralph/config.toml:1:"), "{broken}");
    let negative = load("[loop]\nmax_iterations = -1\n", &[], &[]).unwrap_err();
    assert!(negative.starts_with(".ralph/config.toml:2:"), "{negative}");
}

#[test]
fn wrong_values_are_reported_with_the_variable_or_flag() {
    check_error(
        "",
        &[("MAX_ITERATIONS", "0x10")],
        &[],
        "MAX_ITERATIONS: `0x10` is not a whole number",
    );
    let flag = [Flag::new("agent.timeout", "soon")];
    check_error("", &[], &flag, "--timeout: `soon` is not a duration such as 3600, 90m or 8h");
    let mode = load("", &[("RALPH_MODE", "bilding")], &[]).unwrap_err();
    assert!(mode.starts_with("RALPH_MODE: unknown variant `bilding`"), "{mode}");
    let zero = load("", &[("RALPH_STORIES_PER_SESSION", "0")], &[]).unwrap_err();
    assert_eq!(zero, "RALPH_STORIES_PER_SESSION: invalid number 0; the minimum is 1");
}

#[test]
fn mistakes_in_guard_settings_are_reported_with_the_line() {
    let file = "[guard]\nallow = []\ndisable = [\"git-pusch\"]\n";
    let error = load(file, &[], &[]).unwrap_err();
    assert!(
        error.starts_with(".ralph/config.toml:3: guard: there is no rule named `git-pusch`"),
        "{error}"
    );
    let file = "[[guard.rules]]\nname = \"mine\"\nregex = \"(\"\n";
    let error = load(file, &[], &[]).unwrap_err();
    assert!(error.starts_with(".ralph/config.toml:3: guard: `(` of rule `mine`"), "{error}");
}

#[test]
fn invalid_globs_are_reported() {
    let error = load("[scope]\npaths = [\"src/[\"]\n", &[], &[]).unwrap_err();
    assert!(error.starts_with(".ralph/config.toml:2: `src/[` is not a valid pattern"), "{error}");
}

#[test]
fn invalid_values_are_reported_with_their_source() {
    let file = "[scope]\npaths = [\"src/**\"]\n";
    let check = |vars: &[(&str, &str)], flag: Option<&str>, origin: &str| {
        let flags: Vec<Flag> =
            flag.map(|glob| Flag::new("scope.paths", glob)).into_iter().collect();
        let error = load(file, vars, &flags).unwrap_err();
        assert!(error.starts_with(&format!("{origin}: ")), "{error}");
    };
    check(&[], Some("["), "--scope");
    check(&[("RALPH_SCOPE", "a\n[")], None, "RALPH_SCOPE");
    check(&[("RALPH_SCOPE", "[")], Some("["), "--scope");
    check(&[("RALPH_STOP_SUBAGENTS", "[")], None, "RALPH_STOP_SUBAGENTS");
    check(&[("RALPH_GUARD_PROTECT", "[")], Some("docs/**"), "RALPH_GUARD_PROTECT");
    check(&[("RALPH_GUARD_DISABLE", "git-pusch")], None, "RALPH_GUARD_DISABLE");
    check(&[("RALPH_GUARD_ENABLE", "nothing")], None, "RALPH_GUARD_ENABLE");
    // A flag replaces the variable, even an invalid one.
    assert!(load("", &[("RALPH_SCOPE", "[")], &[Flag::new("scope.paths", "src")]).is_ok());
}

#[test]
fn zero_is_refused_for_settings_with_a_minimum_of_one() {
    let needed = "invalid number 0; the minimum is 1";
    let attempts = Flag::new("limits.attempts_per_story", "0");
    check_error("", &[], &[attempts], &format!("--attempts: {needed}"));
    let vars = [("RALPH_ROLLBACK_AFTER_FAILURES", "00")];
    check_error("", &vars, &[], &format!("RALPH_ROLLBACK_AFTER_FAILURES: {needed}"));
    let file = "[limits]\nattempts_per_story = 0\n";
    let expected = format!(".ralph/config.toml:2: `attempts_per_story`: {needed}");
    check_error(file, &[], &[], &expected);
}

#[test]
fn a_hook_uses_the_defaults_if_the_file_is_invalid() {
    let scratch = test_support::Scratch::new();
    let path = scratch.file("config.toml", "[nonsense");
    let (config, error) = Config::load_or_default(&path, &Env::of([("", "")]));
    assert_eq!(config, Config::default());
    assert!(error.unwrap().to_string().contains("config.toml:1"));
}

#[test]
fn a_hook_checks_only_the_names_of_tables_it_does_not_use() {
    let scratch = test_support::Scratch::new();
    let load = |text: &str| {
        let path = scratch.file("config.toml", text);
        Config::load_or_default(&path, &Env::of([("RALPH_MODEL", "opus"), ("MAX_ITERATIONS", "7")]))
    };
    let (config, error) = load("[limits]\nattempts = 2\n\n[stop]\nmax_blocks = 4\n");
    assert_eq!((config.stop.max_blocks, config.run.max_iterations), (4, 7));
    assert!(error.is_none(), "{error:?}");
    let (config, error) = load("[limit]\n\n[stop]\nmax_blocks = 4\n");
    assert_eq!(config, Config::default());
    assert!(error.unwrap().to_string().contains("limit"));
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
fn every_variable_of_a_setting_is_known() {
    for name in keys().filter_map(|key| key.env) {
        assert!(is_ours(name), "{name}");
    }
    assert!(is_ours("FRESHER_HOOK_TIMEOUT") && !is_ours("PATH"));
}

#[test]
fn variables_are_accepted_with_each_known_prefix() {
    for name in ["HOOK_TIMEOUT", "RALPH_HOOK_TIMEOUT", "FRESHER_HOOK_TIMEOUT"] {
        assert_eq!(load("", &[(name, "7")], &[]).unwrap().hooks.timeout, Seconds(7), "{name}");
    }
    for name in ["MAX_ITERATIONS", "RALPH_MAX_ITERATIONS", "FRESHER_MAX_ITERATIONS"] {
        assert_eq!(load("", &[(name, "3")], &[]).unwrap().run.max_iterations, 3, "{name}");
    }
    for name in ["RALPH_MODE", "FRESHER_MODE"] {
        assert_eq!(
            load("", &[(name, "planning")], &[]).unwrap().run.mode,
            Mode::Planning,
            "{name}"
        );
    }
    let off = load("", &[("FRESHER_HOOK_NEXT_ITERATION_ENABLED", "false")], &[]).unwrap();
    assert!(!off.hooks.next_iteration && off.hooks.started);
}

#[test]
fn variables_and_flags_are_unique_and_each_flag_has_a_variable() {
    let variables: BTreeSet<_> = keys().filter_map(|key| key.env).collect();
    let flags: BTreeSet<_> = keys().filter_map(|key| key.flag).collect();
    assert_eq!(variables.len(), keys().filter(|key| key.env.is_some()).count());
    assert_eq!(flags.len(), keys().filter(|key| key.flag.is_some()).count());
    assert!(keys().all(|key| key.flag.is_none() || key.env.is_some()));
}

#[test]
fn a_check_that_runs_nothing_is_refused_with_its_source() {
    let refused = |text: &str, env: &[(&str, &str)], flag: Option<&str>| {
        let flags: Vec<Flag> =
            flag.map(|value| Flag::new("verify.commands", value)).into_iter().collect();
        let env = Env::of(env.iter().copied());
        Config::from_parts("c.toml", text, &env, &flags).unwrap_err().to_string()
    };
    for nothing in ["", "  ", "# cargo test", "\n# a\n  # b\n"] {
        let error = refused("", &[], Some(nothing));
        assert!(error.starts_with("--verify: `"), "{error}");
    }
    let error = refused("", &[("RALPH_VERIFY", "true\n# cargo test")], None);
    assert!(error.starts_with("RALPH_VERIFY: `# cargo test` does not run anything"), "{error}");
    let error = refused("[verify]\ncommands = [\"true\", \"\"]\n", &[], None);
    assert!(error.starts_with("c.toml:2: `` does not run anything"), "{error}");
    let env = Env::of([("", "")]);
    let fine = [Flag::new("verify.commands", "# unit tests\ncargo test # all")];
    Config::from_parts("c.toml", "", &env, &fine).unwrap();
}
