//! What another system than Linux does not have.

use sandbox::{Error, Limits, Policy};

#[test]
fn without_landlock_nothing_is_supported_and_no_program_starts_unrestricted() {
    assert!(!sandbox::support().is_enough());
    assert!(matches!(sandbox::restrict(&Policy::default()), Err(Error::Unsupported(0))));
    let door = env!("CARGO_BIN_EXE_sandbox-door").as_ref();
    let policy = Policy::default();
    let door = sandbox::door(door, Some(&policy), Limits::default());
    let output = door.command("sh").args(["-c", "echo started"]).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(126), 0));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("this system has no Landlock"), "{said}");
}
