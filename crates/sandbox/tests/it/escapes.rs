//! Operations that the sandbox must refuse. Each one is also tried outside, where it must succeed:
//! a test that cannot fail proves nothing.

use std::process::Stdio;

use test_support::until;

use super::world::{Outsider, SECRET, SECRETS, Side, World, text};

/// The lines of a file, without comments.
fn lines(file: &'static str) -> impl Iterator<Item = &'static str> {
    file.lines().filter(|line| !line.starts_with('#'))
}

/// Whether this kernel can refuse signals. If not, a test that needs this prints a note and passes.
fn kernel_knows_scopes() -> bool {
    let missing = sandbox::support().missing;
    if !missing.is_empty() {
        println!("passed over: this kernel does not restrict {}", missing.join(", "));
    }
    missing.is_empty()
}

/// The acts and their scripts.
fn acts() -> Vec<(&'static str, &'static str)> {
    let acts = lines(include_str!("acts.txt")).map(|line| line.split_once(" | "));
    let acts: Vec<_> = acts.map(|act| act.expect("a name and a script")).collect();
    assert!(acts.len() > 50, "{acts:?}");
    acts
}

/// Runs a script; returns whether a protected file changed, and what was printed.
fn changes_something(side: Side, script: &str) -> (bool, String) {
    let (world, mut outsider) = (World::new(), Outsider::start());
    let before = world.protected();
    let output =
        world.shell(side, script).env("OUTSIDER", outsider.0.id().to_string()).output().unwrap();
    assert!(outsider.is_alive());
    assert!(side == Side::Outside || !output.status.success(), "exits with 0: {script}");
    (world.protected() != before, text(&output))
}

#[test]
fn protected_files_cannot_be_changed() {
    for (name, script) in acts() {
        let (changed, said) = changes_something(Side::Inside, script);
        assert!(!changed, "{name}: {said}");
    }
}

#[test]
fn every_act_succeeds_outside_the_sandbox() {
    let is_root = text(&World::new().run(Side::Outside, "id -u")) == "0\n";
    let possible = |(name, _): &(&str, &str)| is_root || !name.starts_with("as root");
    for (name, script) in acts().into_iter().filter(possible) {
        let (changed, said) = changes_something(Side::Outside, script);
        assert!(changed, "{name}: {said}");
    }
}

#[test]
fn credentials_cannot_be_read() {
    let names = [&SECRETS[..], &[".claude/.credentials.json"]].concat();
    for way in lines(include_str!("reads.txt")) {
        let script = format!("for NAME in {}; do export NAME; {way}; done", names.join(" "));
        let world = World::new();
        let said = text(&world.run(Side::Inside, &script));
        assert!(!said.contains(SECRET), "{way}: {said}");
        let said = text(&world.run(Side::Outside, &script));
        assert_eq!(said.matches(SECRET).count(), names.len(), "{way}: {said}");
    }
}

#[test]
fn processes_outside_are_neither_signalled_nor_traced() {
    if !kernel_knows_scopes() {
        return;
    }
    let world = World::new();
    for script in lines(include_str!("signals.txt")) {
        let mut outsider = Outsider::start();
        let id = outsider.0.id().to_string();
        let succeeds =
            |side| world.shell(side, script).env("OUTSIDER", &id).status().unwrap().success();
        assert!(!succeeds(Side::Inside), "{script}");
        assert!(outsider.is_alive(), "{script}");
        assert!(succeeds(Side::Outside), "{script}");
        assert!(!outsider.0.wait().unwrap().success(), "{script}");
    }
}

#[test]
fn abstract_sockets_outside_are_refused() {
    if !kernel_knows_scopes() {
        return;
    }
    let world = World::new();
    let name = format!("sandbox-test-{}", std::process::id());
    let python = |act: &str| {
        format!("exec python3 -c 'import socket, sys; s = socket.socket(socket.AF_UNIX); {act}'")
            .replace("ADDRESS", &format!("\"\\0{name}\""))
    };
    let listen = python("s.bind(ADDRESS); s.listen(); open(\"ready\", \"w\"); sys.stdin.read()");
    let mut listener = world.shell(Side::Outside, &listen);
    let listener = Outsider(listener.stdin(Stdio::piped()).spawn().unwrap());
    until("the listener", || world.path("copies/own/ready").exists());
    let connect = python("s.connect(ADDRESS)");
    assert!(!world.run(Side::Inside, &connect).status.success());
    let output = world.run(Side::Outside, &connect);
    assert!(output.status.success(), "{}", text(&output));
    drop(listener);
}

#[test]
fn terminals_outside_cannot_be_opened() {
    let world = World::new();
    let note = world.path("copies/own/terminal");
    let show = format!("script -qec 'tty >{note}; exec sleep 60' /dev/null");
    let mut terminal = world.shell(Side::Outside, &show);
    let _terminal = Outsider(terminal.stdin(Stdio::piped()).spawn().unwrap());
    until("the terminal", || fs_err::read_to_string(&note).is_ok_and(|it| it.contains("/dev/")));
    for open in ["<", ">"] {
        let script = format!(": {open}$(cat {note})");
        assert!(!world.run(Side::Inside, &script).status.success(), "{script}");
        let output = world.run(Side::Outside, &script);
        assert!(output.status.success(), "{}", text(&output));
    }
}

/// The paths of a list in the home folder, each of them written as a file.
fn written(world: &World, list: &'static str, content: &str) -> Vec<&'static str> {
    let names: Vec<_> = lines(list).collect();
    for name in &names {
        world.scratch.file(&format!("home/{name}"), content);
    }
    names
}

/// A shell script that prints each file that can be read.
fn readable(world: &World, names: &[&str]) -> Vec<String> {
    world.scratch.file("copies/own/names", names.join("\n") + "\n");
    let script = "while read -r NAME; do if read -r _ <\"$HOME/$NAME\"; then echo \"$NAME\"; fi; done <names";
    let said = world.run(Side::Inside, script);
    String::from_utf8_lossy(&said.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn no_place_of_credentials_can_be_read_and_every_toolchain_can() {
    let mut world = World::new();
    let names = written(&world, include_str!("credentials.txt"), "password = hunter2hunter2\n");
    assert!(names.len() >= 200, "{}", names.len());
    assert_eq!(readable(&world, &names), Vec::<String>::new());
    let programs = written(&world, include_str!("toolchains.txt"), "plain\n");
    world.env.insert("JAVA_HOME".to_owned(), world.path("home/.elsewhere/java").into_string());
    let path = format!("{}:{}", world.path("home/.custom-tool/bin"), world.env["PATH"]);
    world.found.shown = sandbox::programs(&world.path("home"), &path);
    assert_eq!(readable(&world, &programs), programs);
    assert_eq!(readable(&world, &names), Vec::<String>::new());
    // What holds a secret is hidden, even where it is usually shown.
    let judged = [".bashrc", ".zshrc", ".gitconfig", ".cargo/config.toml", ".config/go/env"];
    for name in judged {
        world.scratch.file(&format!("home/{name}"), "export GITHUB_TOKEN=hunter2hunter2\n");
    }
    assert_eq!(readable(&world, &judged), Vec::<String>::new());
}

#[test]
fn moved_folders_are_hidden_as_well() {
    let mut world = World::new();
    for name in ["data/config/tool/token", "data/share/tool/token", "data/config/git/ignore"] {
        world.scratch.file(&format!("home/{name}"), "x\n");
    }
    let all = ["data/config/tool/token", "data/share/tool/token", "data/config/git/ignore"];
    assert_eq!(readable(&world, &all).len(), 3);
    for (name, folder) in [("XDG_CONFIG_HOME", "config"), ("XDG_DATA_HOME", "share")] {
        let folder = world.path("home/data").join(folder);
        world.env.insert(name.to_owned(), folder.into_string());
    }
    assert_eq!(readable(&world, &all), ["data/config/git/ignore"]);
}

#[test]
fn git_settings_of_a_project_are_hidden_if_they_hold_credentials() {
    let mut world = World::new();
    world.found.judged = vec![world.path("project/.git/config")];
    let read = "cat \"$PROJECT/.git/config\"";
    assert!(world.run(Side::Inside, read).status.success());
    let token =
        "[http \"https://git.example/\"]\n\textraheader = AUTHORIZATION: basic aHVudGVyMg\n";
    world.scratch.file("project/.git/config", token);
    assert!(!world.run(Side::Inside, read).status.success());
    assert!(world.run(Side::Inside, "cat \"$PROJECT/src/main.c\"").status.success());
}

#[test]
fn credential_variables_are_removed() {
    let mut world = World::new();
    let secret = "GITHUB_TOKEN SSH_AUTH_SOCK AWS_SECRET_ACCESS_KEY ANTHROPIC_API_KEY OPENAI_API_KEY \
                  STRIPE_SECRET_KEY DB_PASSWORD MYSQL_PWD github_pat RAILS_MASTER_KEY";
    let kept = "NPM_TOKEN TOKENIZERS_PARALLELISM MAX_THINKING_TOKENS JAVA_HOME KEYBOARD PUBLIC_KEY";
    for name in secret.split_whitespace().chain(kept.split_whitespace()) {
        world.env.insert(name.to_owned(), format!("{name}-value"));
    }
    world.settings.env = vec!["NPM_*".to_owned()];
    let values = |world: &World| {
        let output = text(&world.run(Side::Inside, "env"));
        assert!(!output.contains("RALPH_INTERNAL"), "{output}");
        let lines = output.lines().filter(|line| line.ends_with("-value"));
        let mut names: Vec<_> =
            lines.filter_map(|line| line.split('=').next()).map(str::to_owned).collect();
        names.sort();
        names
    };
    let mut expected: Vec<&str> = kept.split_whitespace().collect();
    expected.sort_unstable();
    assert_eq!(values(&world), expected);
    // The agent has its own key, and no other one.
    for (agent, key) in [("claude", "ANTHROPIC_API_KEY"), ("codex", "OPENAI_API_KEY")] {
        world.agent = Some(agent);
        let has = values(&world);
        assert!(
            has.contains(&key.to_owned()) && !has.contains(&"DB_PASSWORD".to_owned()),
            "{has:?}"
        );
    }
}
