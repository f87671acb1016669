//! Which paths and variables a policy names.

use super::*;

const HOME: &str = "/home/dev";
const COPY: &str = "/home/dev/.cache/ralph/app/1";

/// A policy for these variables, with default settings.
fn policy(vars: &[(&str, &str)], change: impl Fn(&mut Request<'_>)) -> Policy {
    policy_with(&Settings::default(), vars, change)
}

fn policy_with(
    settings: &Settings,
    vars: &[(&str, &str)],
    change: impl Fn(&mut Request<'_>),
) -> Policy {
    let env = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let read_only = ["/home/dev/app", "/home/dev/.cache/ralph"].map(Utf8PathBuf::from);
    let mut request = Request {
        home: HOME.into(),
        copy: COPY.into(),
        tmp: "/tmp/r1".into(),
        state: "/home/dev/.cache/ralph/state/1".into(),
        read_only: &read_only,
        starts: &[COPY.into()],
        agent: None,
        is_setup: false,
        found: &Found::default(),
        settings,
        env: &env,
    };
    change(&mut request);
    Policy::new(&request)
}

fn has(paths: &[Utf8PathBuf], path: &str) -> bool {
    paths.iter().any(|each| each == path)
}

#[test]
fn credentials_are_removed_from_git_config_variables() {
    let vars = [
        ("GIT_CONFIG_COUNT", "3"),
        ("GIT_CONFIG_KEY_0", "http.https://git.example/.extraHeader"),
        ("GIT_CONFIG_VALUE_0", "Authorization: Basic abc"),
        ("GIT_CONFIG_KEY_1", "safe.directory"),
        ("GIT_CONFIG_VALUE_1", "*"),
        ("GIT_CONFIG_KEY_2", "credential.helper"),
        ("GIT_CONFIG_VALUE_2", "store"),
        ("GIT_SSH_COMMAND", "ssh -i /keys/deploy"),
    ];
    let found = policy(&vars, |_| {});
    let set = |name: &str| found.set.get(name).map(String::as_str);
    assert_eq!(set("GIT_CONFIG_COUNT"), Some("3"));
    assert_eq!(set("GIT_CONFIG_KEY_0"), Some("safe.directory"));
    assert_eq!(set("GIT_CONFIG_VALUE_2"), Some("false"));
    assert!(!found.set.values().any(|value| value.contains("Basic") || value == "store"));
    assert_eq!(found.remove, ["GIT_SSH_COMMAND"]);
    let setup = policy(&vars, |request| request.is_setup = true);
    assert!(setup.set.values().any(|value| value.contains("Basic")));
}

#[test]
fn environment_variables_relocate_caches_and_credentials() {
    let usual = policy(&[], |_| {});
    assert!(has(&usual.write, "/home/dev/.cargo/registry"));
    assert!(has(&usual.write, "/home/dev/.cache/pip"));
    assert!(usual.create.contains(&("npm".to_owned(), "/home/dev/.npm".into())));
    assert!(!usual.create.iter().any(|(_, path)| path.ends_with(".package-cache")));
    let vars = [("CARGO_HOME", "/data/cargo"), ("XDG_CACHE_HOME", "/data/cache"), ("GOPATH", "go")];
    let moved = policy(&vars, |_| {});
    assert!(has(&moved.write, "/data/cargo/registry") && has(&moved.write, "/data/cache/pip"));
    assert!(!has(&moved.write, "/home/dev/.cargo/registry"));
    assert!(has(&moved.write, "/home/dev/go/pkg/mod"));
    for credentials in ["/data/cargo/credentials.toml", "/home/dev/.cargo/credentials.toml"] {
        assert!(has(&moved.hide, credentials), "{credentials}");
    }
}

#[test]
fn a_cache_variable_never_makes_the_project_or_home_writable() {
    let project = policy(&[("npm_config_cache", "/home/dev/app/.npm")], |_| {});
    assert!(!project.write.iter().any(|path| path.starts_with("/home/dev/app")));
    for wide in ["/", "/home/dev", "/home/dev/.cache", COPY] {
        let policy = policy(&[("UV_CACHE_DIR", wide)], |_| {});
        assert_eq!(has(&policy.write, wide), wide == COPY, "{wide}");
    }
    let memory = policy(&[], |request| request.home = "/dev/shm/home".into());
    assert!(!has(&memory.write, "/dev/shm"));
    let hidden = policy(&[("KUBECONFIG", "/home")], |_| {});
    assert!(!has(&hidden.hide, "/home"));
}

#[test]
fn an_agent_can_use_its_own_data_and_its_provider() {
    let check = policy(&[], |_| {});
    let hides = |policy: &Policy, path: &str| policy.hides(path.into()).is_some();
    assert!(hides(&check, "/home/dev/.claude/.credentials.json"));
    assert!(!check.write.iter().any(|path| path.starts_with("/home/dev/.claude")));
    let bedrock = [("CLAUDE_CODE_USE_BEDROCK", "1"), ("AWS_SESSION_TOKEN", "x"), ("GH_TOKEN", "x")];
    let agent = policy(&bedrock, |request| request.agent = Some("claude"));
    // Other projects have a memory there that the user's next session loads.
    let own = "/home/dev/.claude/projects/-home-dev--cache-ralph-app-1";
    let projects: Vec<_> =
        agent.write.iter().filter(|path| path.as_str().contains("projects")).collect();
    assert_eq!(projects, [own]);
    assert!(!hides(&agent, "/home/dev/.claude/.credentials.json"));
    assert!(hides(&agent, "/home/dev/.codex/auth.json"));
    // The client reads its list of servers and cannot change it.
    let list = "/home/dev/.claude.json";
    assert!(hides(&check, list) && !hides(&agent, list) && !has(&agent.write, list));
    assert!(!hides(&agent, "/home/dev/.aws/credentials"));
    assert_eq!(agent.remove, ["GH_TOKEN"]);
    assert!(!agent.set.contains_key("CODEX_SQLITE_HOME"));
    let other = policy(&bedrock, |request| request.agent = Some("codex"));
    assert!(hides(&other, "/home/dev/.aws"));
    assert_eq!(other.set["CODEX_SQLITE_HOME"], "/home/dev/.cache/ralph/state/1/codex");
    assert_eq!(other.remove, ["AWS_SESSION_TOKEN", "GH_TOKEN"]);
    // Its provider is another one.
    let other = policy(&[("ANTHROPIC_API_KEY", "x")], |request| request.agent = Some("codex"));
    assert_eq!(other.remove, ["ANTHROPIC_API_KEY"]);
}

#[test]
fn urls_with_passwords_are_removed_by_their_values() {
    let vars = [
        ("DATABASE_URL", "postgres://ada:hunter2@db/a"),
        ("HTTPS_PROXY", "http://ada:hunter2@proxy:8080"),
        ("HOMEPAGE", "https://example.org/"),
        ("REDIS_URL", "redis://:hunter2@db"),
        ("REMOTE", "ssh://git@git.example/a"),
    ];
    let check = policy(&vars, |_| {});
    assert_eq!(check.remove, ["DATABASE_URL", "HTTPS_PROXY", "REDIS_URL"]);
    // Without it, its service may be out of reach.
    let agent = policy(&vars, |request| request.agent = Some("claude"));
    assert_eq!(agent.remove, ["DATABASE_URL", "REDIS_URL"]);
}

#[test]
fn settings_of_registries_are_judged_except_for_the_setup() {
    for setting in [".config/pip/pip.conf", ".cargo/config.toml"] {
        let path = Utf8Path::new(HOME).join(setting);
        let (check, setup) = (policy(&[], |_| {}), policy(&[], |request| request.is_setup = true));
        assert!(check.judged.contains(&path) && !check.hide.contains(&path), "{setting}");
        assert!(setup.show.contains(&path) && !setup.judged.contains(&path), "{setting}");
    }
}

#[test]
fn the_setup_keeps_only_registry_credentials() {
    let vars =
        [("CARGO_REGISTRIES_OWN_TOKEN", "x"), ("AWS_SECRET_ACCESS_KEY", "x"), ("TOKEN", "x")];
    let check = policy(&vars, |_| {});
    assert_eq!(check.remove, ["AWS_SECRET_ACCESS_KEY", "CARGO_REGISTRIES_OWN_TOKEN", "TOKEN"]);
    let setup = policy(&vars, |request| request.is_setup = true);
    assert_eq!(setup.remove, ["AWS_SECRET_ACCESS_KEY", "TOKEN"]);
    let npm = "/home/dev/.npmrc".into();
    assert!(check.hides(npm).is_some() && setup.hides(npm).is_none());
    assert!(setup.hides("/home/dev/.aws".into()).is_some());
}

#[test]
fn program_folders_are_writable_at_most_by_the_setup() {
    let (check, setup) = (policy(&[], |_| {}), policy(&[], |request| request.is_setup = true));
    for folder in [".mix", ".local/share/uv/python"].map(|name| format!("/home/dev/{name}")) {
        assert!(!has(&check.write, &folder) && has(&setup.write, &folder), "{folder}");
    }
    for folder in [".dotnet", ".pub-cache", ".pub-cache/bin", ".cargo/bin", ".local/bin"] {
        assert!(!has(&setup.write, &format!("/home/dev/{folder}")), "{folder}");
    }
    assert_eq!(check.set["DOTNET_CLI_HOME"], "/tmp/r1");
}

#[test]
fn programs_use_the_private_temporary_folder() {
    let vars = [("XDG_RUNTIME_DIR", "/run/user/1"), ("JAVA_TOOL_OPTIONS", "-Da=b")];
    let usual = policy(&vars, |_| {});
    assert_eq!((&*usual.set["TMPDIR"], &*usual.set["XDG_RUNTIME_DIR"]), ("/tmp/r1", "/tmp/r1"));
    assert_eq!(usual.set["JAVA_TOOL_OPTIONS"], "-Da=b -Djava.io.tmpdir=/tmp/r1");
    let settings = Settings { env: vec!["XDG_RUNTIME_DIR".to_owned()], ..Settings::default() };
    let kept = policy_with(&settings, &vars, |_| {});
    assert!(!kept.set.contains_key("XDG_RUNTIME_DIR") && kept.set.contains_key("TMPDIR"));
}

#[test]
fn settings_change_the_lists() {
    let list = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    let settings = Settings {
        write: list(&["~/.tool", "/srv/data", "out"]),
        hide: list(&[".env", "~/notes"]),
        show: list(&["~/.config", "~/.ssh/known_hosts"]),
        env: list(&["GH_*"]),
    };
    let policy = policy_with(&settings, &[("GH_TOKEN", "x"), ("NPM_TOKEN", "x")], |_| {});
    assert!(has(&policy.write, "/home/dev/.tool") && has(&policy.write, "/srv/data"));
    // An attempt could put a link there and so gain write access to the link's target.
    assert!(!has(&policy.write, "/home/dev/.cache/ralph/app/1/out"));
    assert!(has(&policy.hide, "/home/dev/.cache/ralph/app/1/.env"));
    assert!(has(&policy.hide, "/home/dev/notes") && has(&policy.hide, "/home/dev/.ssh"));
    let hides = |path: &str| policy.hides(path.into());
    assert_eq!(hides("/home/dev/.config/gh/hosts.yml"), None);
    assert_eq!(hides("/home/dev/.ssh/known_hosts"), None);
    // A tool that is not known is shown as a whole, a credential by itself.
    assert_eq!(hides("/home/dev/.ssh/id").as_deref(), Some("/home/dev/.ssh/id".into()));
    assert_eq!(hides("/home/dev/.tool2/lib/a").as_deref(), Some("/home/dev/.tool2".into()));
    assert_eq!(hides("/home/dev/code/a"), None);
    assert_eq!(policy.remove, ["NPM_TOKEN"]);
}

#[test]
fn a_folder_inside_a_writable_folder_needs_no_rule() {
    let settings = Settings { write: vec!["~/.cache".to_owned()], ..Settings::default() };
    let vars = [("PIP_CACHE_DIR", "/home/dev/.npm/pip")];
    let policy = policy_with(&settings, &vars, |_| {});
    assert!(has(&policy.write, "/home/dev/.cache") && has(&policy.write, "/home/dev/.npm"));
    let mut all = policy.write.iter();
    assert!(all.all(|path| !path.as_str().starts_with("/home/dev/.cache/")), "{:?}", policy.write);
    assert!(!has(&policy.write, "/home/dev/.npm/pip"));
}

#[test]
fn a_folder_with_programs_that_others_run_is_not_writable() {
    let vars = [("GEM_HOME", "/home/dev/gems"), ("PIP_CACHE_DIR", "/home/dev/tools")];
    assert!(has(&policy(&vars, |_| {}).write, "/home/dev/tools"));
    let path = ("PATH", "/home/dev/tools/bin:/home/dev/gems/bin:/usr/bin");
    let policy = policy(&[vars[0], vars[1], path], |_| {});
    assert!(!has(&policy.write, "/home/dev/tools"));
    assert!(has(&policy.write, "/home/dev/gems/gems") && !has(&policy.write, "/home/dev/gems/bin"));
}

#[test]
fn a_policy_survives_serialization() {
    let mut policy = policy(&[], |request| request.agent = Some("claude"));
    (policy.create, policy.of_agents, policy.withheld) = Default::default();
    let text = serde_json::to_string(&policy).unwrap();
    assert!(text.len() < 40_000, "{}", text.len());
    assert_eq!(serde_json::from_str::<Policy>(&text).unwrap(), policy);
}

#[test]
fn a_hidden_path_stays_hidden_in_a_shown_folder() {
    let list = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
    let (show, hide) = (list(&["~/.aws"]), list(&["~/.aws/credentials"]));
    let settings = Settings { show, hide, ..Settings::default() };
    let policy = policy_with(&settings, &[], |_| {});
    assert!(has(&policy.hide, "/home/dev/.aws/credentials"));
    assert!(policy.hides("/home/dev/.aws/config".into()).is_none());
}

#[test]
fn a_hidden_name_is_hidden_in_the_copy_and_in_the_project() {
    let hide = ["prod.key", "~/notes", "/srv/key"].map(str::to_owned).into();
    let policy = policy_with(&Settings { hide, ..Settings::default() }, &[], |_| {});
    let in_copy = format!("{COPY}/prod.key");
    for path in [&in_copy, "/home/dev/app/prod.key", "/home/dev/notes", "/srv/key"] {
        assert!(has(&policy.hide, path), "{path}");
    }
    assert!(!has(&policy.hide, "/home/dev/app/srv/key"));
}

#[test]
fn long_names_of_projects_end_in_a_hash() {
    assert_eq!(project_name("/srv/a_b.\u{e9}\u{1f600}".into()), "-srv-a-b----");
    let long = format!("/{}", "ab/".repeat(100));
    let name = project_name(long.as_str().into());
    assert_eq!(name, format!("-{}a-eaqe35", "ab-".repeat(66)));
}
