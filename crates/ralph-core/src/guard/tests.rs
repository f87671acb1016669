//! The guard with user settings: enabled and disabled rules, exceptions, custom rules.

use proptest::prelude::*;

use super::{CopyOf, Facts, RULES, Settings, check, commits, reads, writes};

fn facts() -> Facts {
    Facts {
        root: "/w/app".into(),
        cwd: "/w/app".into(),
        temp: "/tmp".into(),
        home: "/home/dev".into(),
        ..Facts::default()
    }
}

fn settings(text: &str) -> Settings {
    toml::from_str(text).unwrap()
}

/// Returns the rule that denies a command under these settings, or an empty text.
fn rule(command: &str, text: &str) -> String {
    check(command, &facts(), &settings(text)).map(|denial| denial.rule).unwrap_or_default()
}

#[test]
fn a_denial_names_the_rule_the_command_and_an_alternative() {
    let command = "npm test && git push origin main 2>&1";
    let denial = check(command, &facts(), &Settings::default()).unwrap();
    assert_eq!((&*denial.rule, &*denial.found), ("git-push", "git push origin main 2>&1"));
    let text = denial.to_string();
    assert!(text.contains("git-push") && text.contains("ralph-loop request-merge"), "{text}");
}

#[test]
fn every_rule_can_be_disabled_and_enabled() {
    let examples = [
        ("git-push", "git push"),
        ("git-merge", "git merge x"),
        ("git-discard", "git reset --hard"),
        ("git-history", "git rebase main"),
        ("rm-outside", "rm -rf /srv"),
        ("ralph-state", "echo > .ralph/config.toml"),
        ("outside-copy", "echo > /home/dev/app/a.rs"),
        ("disk", "mkfs.ext4 /dev/sdb"),
        ("fork-bomb", ":(){ :|:& };:"),
        ("opaque-script", "curl x | sh"),
        ("publish", "npm publish"),
        ("publish-image", "docker push x/y"),
        ("deploy", "terraform apply"),
        ("database", "psql -c 'drop table a'"),
    ];
    assert!(RULES.iter().map(|rule| rule.name).eq(examples.map(|(name, _)| name)));
    for (name, command) in examples {
        let rule = |text: &str| {
            let denial = check(command, &in_copy(), &settings(text));
            denial.map(|denial| denial.rule).unwrap_or_default()
        };
        let by_default = if name == "database" { "" } else { name };
        assert_eq!(rule(""), by_default, "{command}");
        assert_eq!(rule(&format!("enable = ['{name}']")), name, "{command}");
        assert_eq!(rule(&format!("disable = ['{name}']")), "", "{command}");
        let both = format!("disable = ['{name}']\nenable = ['{name}']");
        assert_eq!(rule(&both), name, "{command}");
    }
}

#[test]
fn users_can_allow_commands_and_add_rules() {
    let allow = "allow = ['git push origin docs*']";
    assert_eq!(rule("git push origin docs/a", allow), "");
    assert_eq!(rule("cd x && git push origin docs; git push origin main", allow), "git-push");
    let own = "[[rules]]\nname = 'no-publish'\nprogram = 'npm'\nargs = ['publish']\nreason = 'r'\n\
               [[rules]]\nname = 'no-prod'\nregex = '^kubectl .*--context[= ]prod'\nreason = 'r'";
    let first = format!("disable = ['publish']\n{own}");
    assert_eq!(rule("sudo npm --silent publish .", &first), "no-publish");
    assert_eq!(rule("npm test; echo npm publish", own), "");
    assert_eq!(rule("bash -c 'kubectl get pods --context prod'", own), "no-prod");
    assert_eq!(rule("npm publish", &format!("disable = ['no-publish']\n{own}")), "publish");
    let disable = "disable = ['no-publish', 'publish']";
    assert_eq!(rule("npm publish", &format!("{disable}\n{own}")), "");
    let protect = "protect = ['migrations/**', '*.lock']";
    assert_eq!(rule("echo > migrations/a/1.sql", protect), "ralph-state");
    assert_eq!(rule("cd migrations && rm 1.sql", protect), "ralph-state");
    assert_eq!(rule("cat migrations/1.sql", protect), "");
}

#[test]
fn mistakes_in_settings_are_reported() {
    let error = |text: &str| settings(text).validate().unwrap_err().message;
    assert!(error("disable = ['git-pusch']").contains("git-push, git-merge"));
    assert!(error("[[rules]]\nname = 'a'\nregex = '('").contains("`(` of rule `a`"));
    assert!(error("[[rules]]\nname = 'a'").contains("needs `commands`, a `regex` or"));
    assert!(error("protect = ['a[']").contains("protect"));
    assert_eq!(settings("disable = ['git-push']").validate(), Ok(()));
    assert!(toml::from_str::<Settings>("dissable = []").is_err());
}

#[test]
fn the_decision_depends_on_the_given_facts() {
    let own = Facts { head_is_newer: true, ..facts() };
    assert_eq!(check("git commit --amend", &own, &Settings::default()), None);
    let plan = Facts { own_files: vec!["/w/app/.ralph/todo.md".into()], ..facts() };
    assert_eq!(check("echo x >> .ralph/todo.md", &plan, &Settings::default()), None);
    let below = Facts { cwd: "/w/app/sub".into(), ..facts() };
    assert_eq!(check("rm -rf ../build", &below, &Settings::default()), None);
    assert!(check("rm -rf ..", &below, &Settings::default()).is_some());
}

#[test]
fn attempt_state_is_protected_except_files_that_gates_require() {
    let state = "/w/state-1/.ralph";
    let own_files = vec![format!("{state}/state/s1/loop.json").into()];
    let facts = Facts { state: state.into(), own_files, ..facts() };
    let rule = |command: &str| check(command, &facts, &Settings::default()).map(|it| it.rule);
    for command in ["echo x > /w/state-1/.ralph/claim.json", "rm \"$RALPH_STATE_DIR/strikes.json\""]
    {
        assert_eq!(rule(command).as_deref(), Some("ralph-state"), "{command}");
    }
    assert_eq!(rule("echo x > $RALPH_STATE_DIR/state/s1/loop.json"), None);
    assert_eq!(rule("cat $RALPH_STATE_DIR/failure-context.log"), None);
}

/// Returns facts where `/w/app` is a copy of `/home/dev/app`, which is also `/link/app`.
fn in_copy() -> Facts {
    let copy = CopyOf {
        top: "/w/app".into(),
        project: vec!["/home/dev/app".into(), "/link/app".into()],
        below: "".into(),
    };
    let state = "/home/dev/app/.ralph/state/s1";
    let own_files = ["loop.json", "tasks"].map(|name| format!("{state}/{name}").into()).into();
    Facts { copy: Some(copy), own_files, session: "s1".into(), in_loop: true, ..facts() }
}

#[test]
fn commands_in_a_copy_must_not_write_to_the_project() {
    for (command, right) in [
        ("echo x > /home/dev/app/a.rs", "/w/app/a.rs"),
        ("echo x > /link/app/a.rs", "/w/app/a.rs"),
        ("cat <<'E' | tee -a ~/app/src/b.rs\nx\nE", "/w/app/src/b.rs"),
        ("cd /home/dev/app && sed -i s/a/b/ src/a.rs", "/w/app/src/a.rs"),
        ("cp a.rs \"$RALPH_ROOT\"/src/", "/w/app/src/a.rs"),
        ("rm ~/app/src/*.bak", "/w/app/src"),
        ("mv ~/app/a.rs .", "/w/app/a.rs"),
        ("python3 -c \"open('/home/dev/app/x', 'w').write('y')\"", "/w/app/x"),
        ("cd ~/app && git commit -am x", "/w/app"),
        ("cd \"$RALPH_ROOT\" || exit 1; git commit -am x", "/w/app"),
        ("pushd ~/app >/dev/null && git commit -am x && popd", "/w/app"),
        ("git -C /home/dev/app commit -m x", "/w/app"),
        ("git -C /home/dev -C app stash", "/w/app"),
        ("git --git-dir=/home/dev/app/.git --work-tree ~/app add -A", "/w/app/.git"),
        ("GIT_DIR=~/app/.git git tag v1", "/w/app/.git"),
        ("git -C ~/app branch new", "/w/app"),
        ("git -C ~/app config user.name x", "/w/app"),
        ("git -C ~/app fetch /w/app", "/w/app"),
        ("git -C ~/app -c alias.ci=commit ci -m x", "/w/app"),
        ("bash -c 'cd /home/dev/app && git commit -am x'", "/w/app"),
    ] {
        let denial = check(command, &in_copy(), &Settings::default()).expect(command);
        let found = (&*denial.rule, denial.instead);
        assert_eq!(found, ("outside-copy", format!("do it in the copy, at {right}")), "{command}");
    }
}

#[test]
fn reading_the_project_and_writing_elsewhere_is_allowed() {
    for command in [
        "cat ~/app/a.rs > a.rs",
        "cp -r ~/app/vendor .",
        "diff -r ~/app .",
        "cd ~/app && ls && grep -rn x src",
        "cd ~/app && git log --oneline && git status && git diff HEAD~1",
        "git -C ~/app stash list; git -C ~/app branch; git -C ~/app branch --contains HEAD",
        "git -C ~/app config --get user.name; git -C ~/app config user.name; git -C ~/app remote -v",
        "git fetch ~/app main",
        "cd ~/app; cd /w/app && git commit -am x",
        "echo x > ~/.cache/tool; echo 'cd /home/dev/app && git commit'",
        "echo x > ~/application/a; git commit -m 'write > /home/dev/app/a'",
        "echo '{}' > ~/app/.ralph/state/s1/loop.json",
        "cat x > \"$RALPH_ROOT/.ralph/state/$CLAUDE_CODE_SESSION_ID/tasks/1.json\"",
        "docker exec box sh -c 'echo > /home/dev/app/a'",
    ] {
        assert_eq!(check(command, &in_copy(), &Settings::default()), None, "{command}");
    }
}

#[test]
fn state_is_guarded_in_the_project_and_in_its_copy() {
    for command in [
        "echo x > .ralph/config.toml",
        "echo x > ~/app/.ralph/config.toml",
        "rm ~/app/.ralph/.checkpoint",
        "cd ~/app && rm .ralph/state/s1/blocks.json",
        "echo '{}' > ~/app/.ralph/state/s2/loop.json",
        "echo x > ~/app/.git/hooks/pre-commit",
        "echo x > ~/app/.claude/settings.json",
    ] {
        let denial = check(command, &in_copy(), &settings("disable = ['outside-copy']"));
        assert_eq!(denial.map(|denial| denial.rule).as_deref(), Some("ralph-state"), "{command}");
    }
    let plan = "echo x >> ~/app/.ralph/PRD-1/plan.md";
    let denial = check(plan, &in_copy(), &Settings::default()).unwrap();
    assert!(denial.instead.ends_with("/w/app/.ralph/PRD-1/plan.md"), "{denial}");
    assert_eq!(check("echo x >> .ralph/PRD-1/plan.md", &in_copy(), &Settings::default()), None);
}

#[test]
fn a_commit_in_another_folder_does_not_count() {
    let commits = |command: &str| commits(&facts().read(command), &facts());
    assert!(commits("git commit -m x") && commits("git -C src commit -m x"));
    assert!(!commits("git -C /elsewhere commit -m x") && !commits("cd /elsewhere; git commit"));
}

#[test]
fn a_project_or_home_in_the_temp_folder_is_protected() {
    let facts = Facts {
        root: "/tmp/work/proj".into(),
        cwd: "/tmp/work/proj".into(),
        home: "/tmp/home".into(),
        ..facts()
    };
    let denied = |command: &str| check(command, &facts, &Settings::default()).is_some();
    for command in [
        "rm -rf ..",
        "rm -rf ../*",
        "cd .. && rm -rf *",
        "cd /tmp && rm -rf w*",
        "find .. -delete",
        "rm -rf ~",
        "rm -rf ~/*",
        "rm -rf ~/documents",
        "rm -rf /tmp/work",
        "rm -rf /tmp/*",
        "rm -rf /tmp",
        "mv ../../work /tmp/x",
    ] {
        assert!(denied(command), "{command}");
    }
    for command in [
        "rm -rf build",
        "rm -rf ../other",
        "rm -rf /tmp/x",
        "rm -rf /tmp/x*",
        "rm -rf ../other/*",
        "find ../other -delete",
        "mv /tmp/a /tmp/b",
    ] {
        assert!(!denied(command), "{command}");
    }
}

/// Returns the paths, with `./` for the project.
fn listed(paths: &[camino::Utf8PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| path.as_str().replace("/w/app/", "./")).collect();
    paths.join(" ")
}

#[test]
fn files_shown_by_a_command_line_are_found() {
    for (command, expected) in [
        ("cat src/a.rs ~/b", "./src/a.rs /home/dev/b"),
        ("cd src && head -n 20 a.rs | grep x", "./src/a.rs"),
        ("sed -n '1,80p' src/a.rs", "./src/a.rs"),
        ("sed -i s/a/b/ src/a.rs", ""),
        ("tail -5 a; nl -ba b; bat -r 1:9 c; less d", "./a ./b ./c ./d"),
        ("grep -n -A 3 foo a.rs; rg -e foo b.rs; grep -q foo c.rs", "./a.rs ./b.rs"),
        ("awk -F: '{print $1}' a; jq . b.json; diff c d", "./a ./b.json ./c ./d"),
        ("cat < a; wc -l b; cat a > b; x=$(cat c); cat *.rs \"$Y\"", "./a ./*.rs"),
        ("bash -c 'cat a.rs'; timeout 5 cat b.rs", "./a.rs ./b.rs"),
        ("cat $(ls -t src/*.rs | head -1)", "./src/*.rs"),
        ("F=`realpath a.rs`; sed -n 1,9p \"$F\"; wc -l $(ls b.rs)", "./a.rs ./b.rs"),
        ("wc -l $(ls b.rs)", ""),
    ] {
        assert_eq!(listed(&reads(&facts().read(command), &facts())), expected, "{command}");
    }
}

#[test]
fn files_written_by_a_command_line_are_found() {
    for (command, expected) in [
        ("echo x > a; cmd >> sub/b 2>&1", "./a ./sub/b"),
        ("ls > /dev/null 2>&1", ""),
        ("ls > /dev/shm/a", "/dev/shm/a"),
        ("cat <<'E' | tee -a a b\nx\nE", "./a ./b"),
        ("sed -i.bak -e s/a/b/ x.rs y.rs; sed -i 's/a/b/' z.rs", "./x.rs ./y.rs ./z.rs"),
        ("cp a sub/b; mv c /tmp/", "./sub/b/a ./sub/b /tmp/c /tmp"),
        ("touch new; truncate -s 0 t; dd if=a of=d", "./t ./d"),
        ("(cd sub && cat > f <<E\nx\nE\n)", "./sub/f"),
    ] {
        assert_eq!(listed(&writes(&facts().read(command), &facts())), expected, "{command}");
    }
}

#[test]
fn plain_commands_beyond_the_size_limits_are_found() {
    let nested = "for x in 1 2 3 4 5 6 7 8 9 10 11 12; do ".repeat(6);
    for line in [
        format!("echo {}; git push", "a ".repeat(450_000)),
        format!("{}if x; then git push; fi", "echo a; ".repeat(100_000)),
        format!("{nested} echo x; {} git push", "done; ".repeat(6)),
    ] {
        assert_eq!(rule(&line, ""), "git-push");
    }
    let harmless = format!("echo {}; git status", "git push ".repeat(100_000));
    assert_eq!(rule(&harmless, ""), "");
}

proptest! {
    #[test]
    fn any_text_is_checked_without_a_panic(text in "\\PC{0,60}") {
        let _ = check(&text, &facts(), &Settings::default());
    }

    #[test]
    fn a_push_is_denied_behind_any_wrappers(
        before in prop::collection::vec(prop::sample::select(vec![
            "cd x && ", "false || ", "! ", "if ", "(", "{ ", "a | ", "a & ", "\n", "echo $(",
        ]), 0..6),
        wrappers in prop::collection::vec(prop::sample::select(vec![
            "sudo -u x ", "env A=1 ", "timeout 5 ", "nohup ", "nice -n 3 ", "command ", "stdbuf -oL ", "exec ",
            "xargs ", "busybox ", "setsid -w ", "flock /tmp/l ", "uv run ", "npx ", "doas ",
        ]), 0..8),
    ) {
        let command = format!("{}{}git push", before.concat(), wrappers.concat());
        prop_assert!(check(&command, &facts(), &Settings::default()).is_some(), "{}", command);
    }

    #[test]
    fn quoted_text_is_never_denied(text in "[a-z \n;&|$(){}`\"<>-]{0,30}") {
        for command in [format!("echo '{text} git push'"), format!("git commit -m '{text}; git push {text}'")] {
            prop_assert_eq!(check(&command, &facts(), &Settings::default()), None, "{}", command);
        }
    }
}
