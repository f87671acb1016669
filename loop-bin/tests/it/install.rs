//! `ralph-loop install` and `uninstall`, for users who have only the binaries.

use camino::Utf8PathBuf;
use test_support::{Scratch, program};

use crate::stage::{Ran, copy_loop_to};

pub(crate) const HOOKS: [&str; 4] =
    ["ralph-pre-prompt", "ralph-pre-tool", "ralph-post-tool", "ralph-on-stop"];

/// An unpacked release with its five binaries, a client and a project.
struct Machine {
    scratch: Scratch,
    project: Utf8PathBuf,
}

impl Machine {
    fn new(client: &str) -> Self {
        let scratch = Scratch::new();
        copy_loop_to(&scratch.path("unpacked"));
        for hook in HOOKS {
            scratch.script(&format!("unpacked/{hook}"), &format!("#!/bin/sh\n# {hook}\n"));
        }
        scratch.script("bin/claude", &format!("#!/bin/sh\n{client}\n"));
        scratch.dir("home");
        let project = scratch.dir("a project");
        Self { scratch, project }
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.command(args).output().unwrap().into()
    }

    fn command(&self, args: &[&str]) -> std::process::Command {
        let path = format!("{}:/usr/bin:/bin", self.scratch.path("bin"));
        let mut command =
            program(self.scratch.path("unpacked/ralph-loop"), &self.scratch.path("home"));
        command.args(args).current_dir(&self.project).env("PATH", path);
        command
    }

    fn settings(&self, path: &str) -> serde_json::Value {
        serde_json::from_str(&self.scratch.read(path)).unwrap()
    }
}

fn events(settings: &serde_json::Value) -> usize {
    settings["hooks"].as_object().unwrap().len()
}

const SHARED: &str = "a project/.claude/settings.json";

#[test]
fn hooks_are_copied_registered_and_uninstalled() {
    let machine = Machine::new("echo '2.1.325 (Claude Code)'");
    let own = "{\n    \"model\": \"opus\"\n}\n";
    machine.scratch.file(SHARED, own);
    let added = "\n-    \"model\": \"opus\"\n+    \"model\": \"opus\",\n+    \"hooks\": {\n";
    machine.run(&["install", "--dry-run"]).ended(0).says(added).says("dry run");
    assert_eq!(machine.scratch.read(SHARED), own);
    assert!(!machine.project.join(".claude/hooks").exists());

    machine.run(&["install"]).ended(0).says("write ").says("/ralph-on-stop\n");
    assert_eq!(events(&machine.settings(SHARED)), 13);
    for hook in HOOKS {
        let copied = machine.scratch.read(&format!("a project/.claude/hooks/{hook}"));
        assert!(copied.contains(hook), "{copied}");
    }
    let elsewhere = machine.scratch.root();
    let mut again = machine.command(&["install", "--project", machine.project.as_str()]);
    Ran::from(again.current_dir(elsewhere).output().unwrap()).ended(0).says("nothing to change");

    machine.run(&["uninstall"]).ended(0).says("remove ");
    assert_eq!(machine.scratch.read(SHARED), own);
    assert!(!machine.project.join(".claude/hooks").exists());
}

#[test]
fn local_and_user_settings_are_written_to_separate_files() {
    let machine = Machine::new("echo 2.1.325");
    machine.run(&["install", "--local"]).ended(0);
    assert!(!machine.project.join(".claude/settings.json").exists());
    let settings = machine.settings("a project/.claude/settings.local.json");
    assert_eq!(settings["hooks"]["Stop"][0]["hooks"][0]["timeout"], 7200);
    machine.run(&["uninstall", "--local"]).ended(0);
    assert!(!machine.project.join(".claude").exists());
    machine.run(&["install", "--user"]).ended(0);
    assert_eq!(events(&machine.settings("home/.claude/settings.json")), 13);
    let folder = machine.scratch.path("other/configuration");
    let mut command = machine.command(&["install", "--user"]);
    Ran::from(command.env("CLAUDE_CONFIG_DIR", &folder).output().unwrap()).ended(0);
    let settings = machine.settings("other/configuration/settings.json");
    let command = settings["hooks"]["Stop"][0]["hooks"][0]["command"].as_str().unwrap();
    assert_eq!(command, format!("'{folder}/hooks'/ralph-on-stop"));
    assert!(folder.join("hooks/ralph-on-stop").is_file());
    machine.run(&["uninstall", "--user"]).ended(0);
    assert!(!machine.scratch.path("home/.claude").exists() && folder.join("hooks").is_dir());
}

#[test]
fn a_failed_install_is_explained_and_changes_nothing() {
    let silent = Machine::new("exit 1");
    silent.run(&["install"]).ended(1).says("--client-version 2.1.325");
    silent.run(&["install", "--client-version", "new"]).ended(2);
    silent.run(&["install", "--user", "--local"]).ended(2);
    let ran = silent.run(&["install", "--project", "nowhere"]);
    ran.ended(1).says("cannot open the project at nowhere");
    silent.scratch.file(SHARED, "{\n  \"hooks\": [,]\n}\n");
    let ran = silent.run(&["install", "--client-version", "2.1.325"]);
    ran.ended(1).says("settings.json: line 2, column 13");
    assert_eq!(silent.scratch.read(SHARED), "{\n  \"hooks\": [,]\n}\n");

    let machine = Machine::new("echo 2.1.325");
    fs_err::remove_file(machine.scratch.path("unpacked/ralph-on-stop")).unwrap();
    machine.run(&["install"]).ended(1).says("ralph-on-stop does not exist");
    assert!(!machine.project.join(".claude").exists());
}

#[test]
fn hooks_of_every_agent_can_be_installed_and_uninstalled() {
    let codex = "a project/.codex/hooks.json";
    let machine = Machine::new("exit 1");
    for (agent, file, own) in [
        ("codex", codex, "{\n  \"other\": {\"Stop\": []}\n}\n"),
        ("gemini", "a project/.gemini/settings.json", "{\"model\": {}}\n"),
        ("copilot", "a project/.github/hooks/ralph.json", ""),
        ("opencode", "a project/.opencode/plugin/ralph.js", ""),
        ("kimi", "home/.kimi-code/config.toml", "default_model = \"k\"\n[models.k]\n"),
    ] {
        if !own.is_empty() {
            machine.scratch.file(file, own);
        }
        let place: &[&str] = if file.starts_with("home") { &["--user"] } else { &[] };
        let run = |what| machine.run(&[&[what, "--agent", agent], place].concat());
        run("install").ended(0).says("write ").says("may ask you to trust these hooks");
        let text = machine.scratch.read(file);
        assert!(text.contains("ralph-pre-tool") && text.contains(agent), "{agent}: {text}");
        run("install").ended(0).says("nothing to change");
        run("uninstall").ended(0).says("remove ");
        let left = machine.scratch.path(file);
        assert_eq!(fs_err::read_to_string(&left).unwrap_or_default(), own, "{agent}");
    }
    let ran = machine.run(&["install", "--agent", "kimi"]);
    ran.ended(2).says("kimi does not support hooks in a project");
    machine.run(&["install", "--agent", "codex", "--local"]).ended(2);
    machine.run(&["install", "--agent", "cobol"]).ended(2).says("possible values: claude, codex");
}

/// Some agents refuse every call whose hook fails, so a missing hook program must not fail; a run
/// of the loop has its own hooks.
#[test]
fn installed_hooks_of_another_agent_are_silent_in_runs() {
    let machine = Machine::new("exit 1");
    let says = "#!/bin/sh\necho \"$0 $*\"\n";
    for hook in HOOKS {
        machine.scratch.script(&format!("unpacked/{hook}"), says);
    }
    machine.run(&["install", "--agent", "codex"]).ended(0);
    let settings = machine.settings("a project/.codex/hooks.json");
    let command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
    let ask = |vars: &[(&str, &str)]| {
        let mut shell = program("/bin/sh", &machine.scratch.path("home"));
        let path = format!("{}:/usr/bin:/bin", machine.scratch.path("unpacked"));
        let output =
            shell.args(["-c", command]).env("PATH", path).envs(vars.iter().copied()).output();
        let output = output.unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(ask(&[]).ends_with("/ralph-pre-tool --agent codex\n"), "{}", ask(&[]));
    assert_eq!(ask(&[("RALPH_RUN", "r")]), "");
    fs_err::remove_dir_all(machine.project.join(".codex/hooks")).unwrap();
    assert_eq!(ask(&[("PATH", "/usr/bin:/bin")]), "");
}
