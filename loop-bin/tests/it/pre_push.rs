//! The backstop: git itself refuses the agent's pushes.

use test_support::TestRepo;

use crate::ralph_loop;

#[test]
fn the_agent_does_not_push_and_everybody_else_may() {
    let test = TestRepo::new();
    let remote = test.scratch().dir("remote.git");
    test.git_in(remote.as_std_path(), ["init", "-q", "--bare"]);
    test.git(["remote", "add", "origin", remote.as_str()]);
    let (code, out, err) = ralph_loop(test.root(), &["init", "--pre-push"]);
    assert_eq!(code, 0, "{out}{err}");
    let push = || test.try_git(test.root().as_std_path(), ["push", "-q", "origin", "main"]);

    let of_the_agent = test_support::program("git", test.scratch().root())
        .args(["push", "-q", "origin", "main"])
        .env("RALPH_RUN", "run-1")
        .current_dir(test.root())
        .output()
        .unwrap();
    assert!(!of_the_agent.status.success());
    assert_eq!(test.git_in(remote.as_std_path(), ["for-each-ref"]), "");
    assert!(push().status.success());
}

#[test]
fn a_hook_of_the_users_own_stays() {
    let test = TestRepo::new();
    test.write(".git/hooks/pre-push", "mine");
    let (code, out, _) = ralph_loop(test.root(), &["init", "--pre-push"]);
    assert!(code == 0 && out.contains("left as it is"), "{out}");
    let kept = fs_err::read_to_string(test.root().join(".git/hooks/pre-push")).unwrap();
    assert_eq!(kept, "mine");
}
