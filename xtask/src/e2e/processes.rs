//! Ends the processes that a session left running. The client's tools have process groups of their
//! own, so they are found by the home folder in their environment.

use camino::Utf8Path;
use test_support::started_with;

use crate::run;

/// Ends every process whose home is this scratch folder, and returns their number.
pub(super) fn end_all_of(home: &Utf8Path) -> usize {
    let wanted = format!("HOME={home}");
    let ours = started_with(&wanted);
    for pid in &ours {
        let _ = run::command("kill").args(["-KILL", &pid.to_string()]).status();
    }
    ours.len()
}

#[cfg(test)]
mod tests {
    use test_support::{Scratch, until};

    use super::*;

    #[test]
    fn only_processes_with_the_given_home_are_ended() {
        let (ours, other) = (Scratch::new(), Scratch::new());
        let start = |home: &Scratch| {
            let child = run::command("sleep").arg("1000").env("HOME", home.root()).spawn().unwrap();
            let variable = format!("HOME={}", home.root());
            until("the new process shows its environment", || !started_with(&variable).is_empty());
            child
        };
        let (mut left_behind, mut stranger) = (start(&ours), start(&other));
        assert_eq!(end_all_of(ours.root()), 1);
        assert!(!left_behind.wait().unwrap().success());
        assert_eq!(end_all_of(other.root()), 1, "the other one was still there");
        assert!(!stranger.wait().unwrap().success());
    }
}
