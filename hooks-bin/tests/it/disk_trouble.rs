//! Full disks, read-only disks and state files of the wrong kind.

use std::process::Output;

use test_support::{Scratch, own_mounts, program, run_with_input};

use crate::failure_policy::BINARIES;

const STOP: &[u8] = br#"{"hook_event_name":"NoSuchEvent","session_id":"s1"}"#;

fn check_silent(output: &Output, what: &str) {
    assert_eq!(output.status.code(), Some(0), "{what}: {output:?}");
    assert!(output.stdout.is_empty(), "{what}: {output:?}");
}

/// Runs `prepare` and then each hook, in a project on a separate small file system.
fn on_a_small_disk(prepare: &str, afterwards: &str) {
    let Some(way) = own_mounts() else { return };
    for binary in BINARIES {
        let scratch = Scratch::new();
        scratch.dir("disk");
        let script = format!(
            "set -e; mount -t tmpfs -o size=64k tmpfs disk; mkdir disk/.ralph; cd disk; {prepare}; \
             \"$0\"; code=$?; {afterwards}; exit $code"
        );
        let mut command = program(way[0], scratch.root());
        command.args(&way[1..]).args(["sh", "-c", &script, binary]).current_dir(scratch.root());
        check_silent(&run_with_input(&mut command, STOP), prepare);
    }
}

#[test]
fn a_full_disk_causes_no_failure_and_no_torn_line() {
    let fill = "printf '{\"old\":1}\\n' > .ralph/events.jsonl; \
                dd if=/dev/zero of=filler bs=1k 2>/dev/null || true";
    let whole_lines = "test \"$(tail -c1 .ralph/events.jsonl | od -An -tx1)\" = ' 0a' || exit 9";
    on_a_small_disk(fill, whole_lines);
}

#[test]
fn a_read_only_disk_causes_no_failure() {
    on_a_small_disk("mount -o remount,ro .", "test ! -e .ralph/events.jsonl || exit 9");
}

#[test]
fn state_files_of_the_wrong_kind_cause_no_failure() {
    type Prepare = fn(&Scratch);
    let troubles: [(&str, Prepare); 5] = [
        ("the state folder is a file", |p| drop(p.file(".ralph", "x"))),
        ("the journal is a folder", |p| drop(p.dir(".ralph/events.jsonl/x"))),
        ("the record is a folder", |p| drop(p.dir(".ralph/.hook-error.json/x"))),
        ("the configuration is a folder", |p| drop(p.dir(".ralph/config.toml"))),
        ("the configuration is no text", |p| drop(p.file(".ralph/config.toml", [0xff, 0, 1]))),
    ];
    for (what, prepare) in troubles {
        for binary in BINARIES {
            let project = Scratch::new();
            prepare(&project);
            let mut command = program(binary, project.root());
            check_silent(&run_with_input(command.current_dir(project.root()), STOP), what);
        }
    }
}
