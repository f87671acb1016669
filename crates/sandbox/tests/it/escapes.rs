//! What an attempt must not be able to do. Everything is tried outside as well, where it succeeds: a test that
//! cannot fail shows nothing.

use super::world::{Outsider, SECRET, SECRETS, Side, World, text};

/// The acts and their scripts.
fn acts() -> Vec<(&'static str, &'static str)> {
    let lines = include_str!("acts.txt").lines().filter(|line| !line.starts_with('#'));
    let acts: Vec<_> =
        lines.map(|line| line.split_once(" | ").expect("a name and a script")).collect();
    assert!(acts.len() > 50, "{acts:?}");
    acts
}

/// Does an act, and says whether something protected changed.
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
fn nothing_changes_what_is_protected() {
    for (name, script) in acts() {
        let (changed, said) = changes_something(Side::Inside, script);
        assert!(!changed, "{name}: {said}");
    }
}

#[test]
fn outside_every_act_succeeds() {
    for (name, script) in acts() {
        let (changed, said) = changes_something(Side::Outside, script);
        assert!(changed, "{name}: {said}");
    }
}

#[test]
fn credentials_cannot_be_read() {
    let world = World::new();
    let ways = [
        "cat \"$HOME/{}\"",
        "cat \"/proc/self/root$HOME/{}\"",
        "python3 -c 'import os; print(open(os.environ[\"HOME\"] + \"/{}\").read())'",
        "ln -s \"$HOME/{}\" link; cat link",
        "ln \"$HOME/{}\" same; cat same",
        "mv \"$HOME/{}\" moved; cat moved",
    ];
    for name in SECRETS.into_iter().chain([".claude/.credentials.json"]) {
        for way in ways {
            let script = way.replace("{}", name);
            let said = text(&world.run(Side::Inside, &script));
            assert!(!said.contains(SECRET), "{script}: {said}");
        }
        let said = text(&world.run(Side::Outside, &ways[0].replace("{}", name)));
        assert!(said.contains(SECRET), "{name}: {said}");
    }
}

#[test]
fn processes_outside_are_neither_signalled_nor_traced() {
    let world = World::new();
    let scripts = [
        "kill -KILL $OUTSIDER",
        "python3 -c 'import os; os.kill(int(os.environ[\"OUTSIDER\"]), 9)'",
        "perl -e 'kill 9, $ENV{OUTSIDER} or die'",
        "sh -c 'kill -9 $OUTSIDER' & wait $!",
        "perl -e 'syscall(101, 16, $ENV{OUTSIDER}+0, 0, 0) == 0 or die; kill 9, $ENV{OUTSIDER}'",
    ];
    for script in scripts {
        for side in [Side::Inside, Side::Outside] {
            let mut outsider = Outsider::start();
            let id = outsider.0.id().to_string();
            let output = world.shell(side, script).env("OUTSIDER", id).output().unwrap();
            assert_eq!(output.status.success(), side == Side::Outside, "{script}");
            let mut lives = || outsider.is_alive();
            match side {
                Side::Inside => assert!(lives(), "{script}"),
                Side::Outside => {
                    let ended = (0..200).any(|_| {
                        std::thread::sleep(std::time::Duration::from_millis(10));
                        !lives()
                    });
                    assert!(ended, "{script}");
                }
            }
        }
    }
    let outsider = Outsider::start();
    for (side, is_seen) in [(Side::Inside, false), (Side::Outside, true)] {
        let mut command = world.shell(side, "readlink /proc/$OUTSIDER/cwd");
        let output = command.env("OUTSIDER", outsider.0.id().to_string()).output().unwrap();
        assert_eq!(output.status.success(), is_seen, "{}", text(&output));
    }
}

#[test]
fn abstract_sockets_outside_are_refused() {
    let world = World::new();
    let name = format!("sandbox-test-{}", std::process::id());
    let address =
        <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(
            &name,
        )
        .unwrap();
    let _listener = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    let script =
        format!("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"\\0{name}\")'");
    assert!(!world.run(Side::Inside, &script).status.success());
    let output = world.run(Side::Outside, &script);
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn variables_that_lead_to_credentials_are_gone() {
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
