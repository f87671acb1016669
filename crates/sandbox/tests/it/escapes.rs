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
fn credential_variables_are_removed() {
    let mut world = World::new();
    for name in
        ["GITHUB_TOKEN", "SSH_AUTH_SOCK", "AWS_SECRET_ACCESS_KEY", "NPM_TOKEN", "KEPT_TOKEN"]
    {
        world.env.insert(name.to_owned(), format!("{name}-value"));
    }
    world.settings.env = vec!["NPM_*".to_owned()];
    let output = text(&world.run(Side::Inside, "env"));
    let kept: Vec<&str> = output.lines().filter(|line| line.ends_with("-value")).collect();
    assert_eq!(kept.len(), 2, "{output}");
    assert!(output.contains("NPM_TOKEN=") && output.contains("KEPT_TOKEN="), "{output}");
    assert!(!output.contains("RALPH_INTERNAL"), "{output}");
}
