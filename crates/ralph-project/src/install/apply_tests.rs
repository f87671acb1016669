//! Installing into scratch folders, and uninstalling.

use std::os::unix::fs::PermissionsExt;

use camino::Utf8PathBuf;
use test_support::Scratch;

use super::{Change, ClientVersion, HOOK_NAMES, HookTarget, plan_install, plan_uninstall};

const NEWEST: ClientVersion = ClientVersion::new(2, 1, 325);

struct Machine {
    scratch: Scratch,
    place: HookTarget,
    binaries: Utf8PathBuf,
}

impl Machine {
    fn new() -> Self {
        let scratch = Scratch::new();
        let place = HookTarget::project(&scratch.dir("a project"));
        let binaries = scratch.dir("built");
        for name in HOOK_NAMES {
            scratch.script(&format!("built/{name}"), "#!/bin/sh\n");
        }
        Self { scratch, place, binaries }
    }

    fn plan(&self) -> Change {
        plan_install(&self.place, &self.binaries, NEWEST).unwrap()
    }

    fn install(&self) {
        self.plan().apply().unwrap();
    }

    fn uninstall(&self) {
        plan_uninstall(&self.place).unwrap().apply().unwrap();
    }

    fn settings(&self) -> String {
        fs_err::read_to_string(&self.place.settings).unwrap()
    }
}

#[test]
fn installing_twice_changes_nothing_and_uninstalling_leaves_nothing() {
    let machine = Machine::new();
    let older = plan_install(&machine.place, &machine.binaries, ClientVersion::new(2, 0, 77));
    older.unwrap().apply().unwrap();
    assert!(!machine.plan().is_empty());
    machine.install();
    assert!(machine.plan().is_empty());
    for name in HOOK_NAMES {
        let mode = fs_err::metadata(machine.place.hooks.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
    }
    machine.uninstall();
    assert!(!machine.scratch.path("a project/.claude").exists());
    assert!(plan_uninstall(&machine.place).unwrap().is_empty());
}

#[test]
fn settings_changed_after_installing_survive_uninstalling() {
    let machine = Machine::new();
    machine.scratch.file("a project/.claude/settings.json", "{\n  \"model\": \"opus\"\n}\n");
    machine.install();
    let changed = machine.settings().replace("opus", "sonnet");
    fs_err::write(&machine.place.settings, &changed).unwrap();
    machine.install();
    assert_eq!(machine.settings(), changed);
    machine.uninstall();
    assert_eq!(machine.settings(), "{\n  \"model\": \"sonnet\"\n}\n");
}

#[test]
fn a_symlink_and_the_mode_of_its_target_are_kept() {
    let machine = Machine::new();
    let real = machine.scratch.file("elsewhere/settings.json", "{}\n");
    fs_err::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
    machine.scratch.dir("a project/.claude");
    fs_err::os::unix::fs::symlink(&real, &machine.place.settings).unwrap();
    machine.install();
    assert!(machine.place.settings.is_symlink());
    assert!(machine.scratch.read("elsewhere/settings.json").contains("ralph-pre-tool"));
    assert_eq!(fs_err::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_symlink_to_a_missing_file_is_refused() {
    let machine = Machine::new();
    machine.scratch.dir("a project/.claude");
    fs_err::os::unix::fs::symlink("../no/such.json", &machine.place.settings).unwrap();
    let error = plan_install(&machine.place, &machine.binaries, NEWEST).unwrap_err();
    assert!(error.to_string().contains("a link to a file that does not exist"), "{error}");
    assert!(machine.place.settings.is_symlink() && !machine.place.hooks.exists());
}

#[test]
fn binaries_stay_while_the_other_settings_file_uses_them() {
    let machine = Machine::new();
    machine.install();
    let local = HookTarget::project_local(&machine.scratch.path("a project"));
    plan_install(&local, &machine.binaries, NEWEST).unwrap().apply().unwrap();
    machine.uninstall();
    assert!(machine.place.hooks.join("ralph-pre-tool").exists());
    plan_uninstall(&local).unwrap().apply().unwrap();
    assert!(!machine.place.hooks.exists());
}
