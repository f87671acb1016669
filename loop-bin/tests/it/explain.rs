//! `ralph-loop explain`, for people who write rules.

use test_support::Scratch;

use crate::ralph_loop;

fn explain(scratch: &Scratch, args: &[&str]) -> String {
    let (code, out, err) = ralph_loop(scratch.root(), &[&["explain"], args].concat());
    assert_eq!(code, 0, "{err}");
    out
}

#[test]
fn a_compound_command_is_explained() {
    let scratch = Scratch::new();
    scratch.dir(".ralph");
    let out = explain(&scratch, &["cd app && X=push; timeout 5 git $X 2>&1 | tail -1"]);
    assert!(out.contains("runs      git push"), "{out}");
    assert!(out.contains("denied by git-push"), "{out}");
    assert!(out.contains("instead") && out.contains("request-merge"), "{out}");
    assert!(out.contains("test run  no"), "{out}");
}

#[test]
fn a_test_run_is_recognised_and_no_rule_applies() {
    let scratch = Scratch::new();
    let out = explain(&scratch, &["npx jest --ci"]);
    assert!(out.contains("test run  yes") && out.contains("no rule applies"), "{out}");
}

#[test]
fn rules_of_the_project_apply() {
    let scratch = Scratch::new();
    let config = "[[guard.rules]]\nname = \"no-deploy\"\nprogram = \"make\"\nargs = [\"deploy\"]\n";
    scratch.file(".ralph/config.toml", config);
    assert!(explain(&scratch, &["make deploy"]).contains("denied by no-deploy"));
}

#[test]
fn rules_that_apply_only_in_a_run_are_named() {
    let scratch = Scratch::new();
    let out = explain(&scratch, &["terraform apply"]);
    assert!(out.contains("in a run  denied by deploy"), "{out}");
    assert!(out.contains("no rule applies"), "{out}");
    assert!(explain(&scratch, &["npm publish"]).contains("denied by publish"));
}

#[test]
fn an_edit_is_explained() {
    let scratch = Scratch::new();
    scratch.file(".ralph/config.toml", "[scope]\npaths = [\"src/**\"]\n");
    assert!(explain(&scratch, &["--file", ".git/config"]).contains("denied by protected-path"));
    assert!(explain(&scratch, &["--file", "README.md"]).contains("denied by scope"));
    assert!(explain(&scratch, &["--file", "src/a.rs"]).contains("no rule applies"));
}

#[test]
fn a_broken_configuration_is_reported() {
    let scratch = Scratch::new();
    scratch.file(".ralph/config.toml", "[guard]\ndisabel = []\n");
    let (code, _, err) = ralph_loop(scratch.root(), &["explain", "ls"]);
    assert!(code == 2 && err.contains("config.toml:2") && err.contains("`disable`"), "{err}");
}
