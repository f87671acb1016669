//! The loop's git over a copy: it obeys nothing that an attempt can still write.

use crate::sandbox::is_missing;
use crate::stage::{ONE, Ran, Stage, TWO};

/// Runs the loop with only the notes additionally writable.
fn run(stage: &Stage, args: &[&str]) -> Ran {
    let mut command = stage.command(args);
    command.env("RALPH_SANDBOX_WRITE", stage.note_path(""));
    command.output().expect("the loop runs").into()
}

const WORK: &str = "cat >/dev/null; echo work >>work.txt";

/// A process that a check leaves behind sets filters in the copy, again and again, for a while.
#[test]
fn a_live_process_cannot_make_the_loop_run_its_filter() {
    if is_missing() {
        return;
    }
    let stage = Stage::new("works", TWO);
    let escaped = stage.repo.scratch().path("escaped");
    let evil = format!("touch {escaped}; cat");
    let plants = format!(
        "cd $(echo $HOME/.cache/ralph/repo-*/1)/.git || exit; i=0\n\
         while [ $i -lt 600 ]; do i=$((i+1)); mkdir -p info\n\
         echo '* filter=evil' >info/attributes\n\
         printf '[filter \"evil\"]\\n clean = \"{evil}\"\\n smudge = \"{evil}\"\\n[core]\\n \
         fsmonitor = \"{evil}\"\\n' >>config\n\
         cd ../.git 2>/dev/null; echo x >>$NOTES/planted; sleep 0.01; done 2>/dev/null\n"
    );
    let file = stage.repo.scratch().file("acts/plants.sh", &plants);
    let check = format!(
        "cd / && setsid env -i HOME=$HOME NOTES=$AGENT_NOTES PATH=$PATH sh {file} >/dev/null 2>&1 \
         </dev/null & sleep 0.1"
    );
    run(&stage, &["--agent", WORK, "--verify", &check]).ended(0).says("2 stories landed");
    assert!(stage.note("planted").contains('x'));
    assert!(!escaped.exists());
    assert_eq!(stage.read("work.txt"), "work\nwork\n");
}

#[test]
fn a_reviewer_sees_the_change_without_a_text_conversion() {
    if is_missing() {
        return;
    }
    let stage = Stage::new("works", ONE);
    let escaped = stage.repo.scratch().path("escaped");
    stage.repo.git(["config", "diff.doc.textconv", "sh tools/tc.sh"]);
    let agent = format!(
        "cat >/dev/null; mkdir tools; echo '*.doc diff=doc' >.gitattributes; echo text >a.doc; \
         echo 'touch {escaped}; cat \"$1\"' >tools/tc.sh"
    );
    let review = "cat >\"$AGENT_NOTES/prompt\"; echo '{\"findings\":[]}'";
    let args = ["--agent", &agent, "--verify", "true", "--review", "--review-agent", review];
    run(&stage, &args).ended(0);
    assert!(stage.note("prompt").contains("+text"), "{}", stage.note("prompt"));
    assert!(!escaped.exists());
}

#[test]
fn refs_of_a_copy_come_out_under_new_names_and_in_bounded_number() {
    let stage = Stage::new("works", ONE);
    stage.repo.git(["update-ref", "refs/ralph/discarded/mine", "HEAD"]);
    let mine = stage.repo.git(["rev-parse", "refs/ralph/discarded/mine"]);
    let agent = format!(
        "{WORK}; git commit -q --allow-empty -m other; o=$(git rev-parse HEAD); git reset -q --soft HEAD~1\n\
         git update-ref refs/ralph/discarded/mine $o; git update-ref refs/ralph/discarded-x/a $o\n\
         for i in $(seq 400); do echo create refs/heads/b$i $o; done | git update-ref --stdin"
    );
    stage.run(&["--agent", &agent]).ended(0).says("not kept: there were too many");
    assert_eq!(stage.repo.git(["rev-parse", "refs/ralph/discarded/mine"]), mine);
    let kept = stage.repo.git(["for-each-ref", "--format=%(refname)", "refs/ralph/"]);
    let kept: Vec<&str> = kept.lines().filter(|name| name.contains("discarded")).collect();
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert!(kept[1].starts_with("refs/ralph/discarded/mine-2"), "{kept:?}");
    assert_eq!(stage.repo.git(["for-each-ref", "refs/heads/b*", "refs/ralph/discarded-x"]), "");
}

#[test]
fn a_file_that_is_swapped_while_the_checks_run_makes_a_story_to_review() {
    for swap in [
        "cp work.txt ../kept; echo broken >work.txt; cat ../kept >work.txt",
        "mv work.txt kept; echo broken >work.txt; mv kept work.txt",
        "mv a.txt kept; echo broken >a.txt; mv kept a.txt",
    ] {
        let stage = Stage::new("works", ONE);
        // By the second, git cannot tell the times of a file that the copy just got.
        let swap = format!("sleep 1.1; {}", swap.replace("../kept", "$TMPDIR/kept"));
        let ran = stage.run(&["--agent", WORK, "--verify", &swap]);
        ran.ended(0).says("written while the checks ran");
        let status = stage.run(&["status"]);
        status.says("review");
        assert_eq!(
            (stage.read("work.txt").as_str(), stage.read("a.txt").as_str()),
            ("work\n", "a\n")
        );
    }
    let stage = Stage::new("works", ONE);
    let ran = stage.run(&["--agent", WORK, "--verify", "cat work.txt a.txt; touch new.txt"]);
    assert!(!ran.ended(0).out.contains("while the checks ran"), "{}", ran.out);
}

#[test]
fn in_place_the_git_folder_and_replaced_objects_are_put_back() {
    for act in ["echo 'gitdir: .real' >.git", "ln -s .real .git", "git init -q"] {
        let stage = Stage::new("works", ONE);
        let agent = format!(
            "{WORK}; git replace -f HEAD $(git commit-tree HEAD^{{tree}} -m replaced)\n\
             printf '#!/bin/sh\\ntouch $AGENT_NOTES/ran\\n' >.git/hooks/pre-commit; \
             chmod +x .git/hooks/pre-commit; mv .git .real; {act}"
        );
        let ran = stage.run(&["--in-place", "--agent", &agent, "--verify", "true"]);
        ran.ended(0).says("which was replaced during the run").says("US-001 done");
        assert!(stage.repo.root().join(".git").symlink_metadata().unwrap().is_dir(), "{act}");
        assert!(!stage.exists(".real") && !stage.exists(".git/hooks/pre-commit"), "{act}");
        assert_eq!(stage.repo.git(["for-each-ref", "refs/replace"]), "", "{act}");
        assert_eq!(stage.note("ran"), "");
    }
}

#[test]
fn a_pipe_in_the_git_folder_or_for_ignore_rules_hangs_nobody() {
    let begun = std::time::Instant::now();
    for name in
        [".git/info/exclude", ".git/info/attributes", ".git/HEAD", ".git/config", ".gitignore"]
    {
        let stage = Stage::new("works", ONE);
        let agent = format!("{WORK}; rm -f {name}; mkdir -p .git/info; mkfifo {name}");
        stage.run(&["--agent", &agent, "--verify", "true"]).ended(0).says("US-001 done");
    }
    assert!(begun.elapsed().as_secs() < 100);
}
