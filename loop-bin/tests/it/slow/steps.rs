//! What a step starts: nothing of it outlives the step, runs while the agent is paused, or has more
//! open files than its standard streams.

use std::time::{Duration, Instant};

use crate::sessions::{STOP, hook};
use crate::stage::{LOOP, ONE, Stage, TWO, is_alive, signal, until};

/// Starts a process that hides: own session, no variables, other folder, reparented. It notes its id,
/// and ignores SIGTERM.
fn hidden(note: &str) -> String {
    format!(
        "(cd / && env -i setsid sh -c 'trap \"\" TERM; echo $$ >>\"$0\"; while :; do sleep 0.1; \
         done' {note} </dev/null >/dev/null 2>&1 &) ; until [ -s {note} ]; do sleep 0.02; done"
    )
}

#[test]
fn nothing_of_a_step_outlives_it() {
    for sandbox in ["auto", "off"] {
        let stage = Stage::new("works", ONE);
        let steps = ["setup", "check", "git-hook", "agent"];
        let note = |step: &str| hidden(stage.note_path(step).as_str());
        stage.install_hook("pre-commit", &note("git-hook"));
        let config = format!("[workspace]\nsetup = [{:?}]\n", note("setup"));
        stage.repo.write(".ralph/config.toml", config);
        let gone = |step: &str| format!("kill -0 $(cat {}) && exit 9", stage.note_path(step));
        let agent = format!(
            "cat >/dev/null; {}; {}; echo x >x.txt",
            gone("setup").replace("exit 9", "echo alive >alive.txt"),
            note("agent")
        );
        let check = format!("{}; {}", gone("agent"), note("check"));
        let args = ["--agent", &agent, "--verify", &check, "--sandbox", sandbox];
        stage.run(&args).ended(0).says("1 story landed");
        for step in steps {
            let pids = stage.note(step);
            assert!(!pids.is_empty(), "{step}");
            assert!(!pids.lines().any(is_alive), "{step}, sandbox {sandbox}");
        }
        assert_eq!(stage.read("alive.txt"), "", "the set-up ended before the agent began");
    }
}

/// It is gone before its id can be read; only a signal for everybody below the keeper meets it.
#[test]
fn a_process_that_forks_without_a_pause_ends_with_its_step() {
    if !::sandbox::support().missing.is_empty() {
        return;
    }
    let stage = Stage::new("works", ONE);
    let (pid, stop) = (stage.note_path("pid"), stage.note_path("stop"));
    let chain = format!("trap '' TERM\necho $$ >{pid}\n[ -e {stop} ] || sh \"$0\" &\n");
    let chain = stage.repo.scratch().file("chain.sh", chain);
    let agent = format!(
        "cat >/dev/null; (cd /; setsid sh {chain} </dev/null >/dev/null 2>&1 &); \
         until [ -s {pid} ]; do sleep 0.01; done; echo x >x.txt"
    );
    stage.run(&["--agent", &agent, "--verify", "true"]).ended(0).says("1 story landed");
    let last = stage.note("pid");
    std::thread::sleep(Duration::from_millis(300));
    let later = stage.note("pid");
    fs_err::write(stop, "").unwrap();
    assert_eq!(last, later, "it goes on");
}

#[test]
fn a_step_moves_files_between_folders() {
    let stage = Stage::new("works", ONE);
    // `mv` would copy what cannot be moved; a hard link has no other way.
    let move_one = "mkdir -p a b && echo x >a/x && ln a/x b/x && rm a/x";
    let agent = format!("cat >/dev/null; {move_one}");
    stage.run(&["--agent", &agent, "--verify", &format!("rm -r b; {move_one}")]).ended(0);
}

#[test]
fn a_state_folder_that_an_attempt_spoils_stops_no_other() {
    let stage = Stage::new("works", ONE);
    let spoil = "cat >/dev/null; cd \"$RALPH_STATE_DIR\"; for name in .checkpoint claim.json; do \
                 rm -f $name; mkdir $name; touch $name/x; chmod 000 $name; done; chmod 000 .";
    let ran = stage.run(&["--agent", spoil, "--verify", "true", "--attempts", "2"]);
    ran.ended(8).says("US-001 is blocked");
    stage.run(&["retry", "US-001"]).ended(0);
    stage.run(&["--agent", "cat >/dev/null; echo x >x.txt", "--verify", "true"]).ended(0);
}

#[test]
fn a_killed_loop_takes_every_step_along() {
    let stage = Stage::new("works", ONE);
    let note = hidden(stage.note_path("check").as_str());
    let check = format!("{note}; sleep 600");
    let agent = "cat >/dev/null; echo x >x.txt";
    let args = ["--agent", agent, "--verify", &check];
    stage.killed_when(&args, "the check runs", || !stage.note("check").is_empty());
    until("the check is gone", || !is_alive(&stage.note("check")));
}

#[test]
fn a_step_inherits_only_its_standard_streams() {
    for sandbox in ["auto", "off"] {
        let stage = Stage::new("works", ONE);
        stage.repo.scratch().file("victim", "");
        let list = |to: &str| format!("echo x >&9; ls -l /dev/fd/ | grep -c '[>]' >>{to}");
        let (by_agent, by_check) = (stage.note_path("agent"), stage.note_path("check"));
        let agent = format!("cat >/dev/null; ({}); echo x >x.txt", list(by_agent.as_str()));
        let check = format!("({}); true", list(by_check.as_str()));
        let run = format!(
            "exec {LOOP} --agent \"$A\" --verify \"$C\" --sandbox {sandbox} 9>>{}",
            stage.repo.scratch().path("victim")
        );
        let mut command = stage.command_of("sh", &["-c", &run]);
        command.env("A", &agent).env("C", &check);
        let ran: crate::stage::Ran = command.output().unwrap().into();
        ran.ended(0);
        // `ls` has the folder open as well.
        for note in ["agent", "check"] {
            assert_eq!(stage.note(note), "4\n", "{note}, sandbox {sandbox}");
        }
        assert_eq!(stage.repo.scratch().read("victim"), "");
    }
}

#[test]
fn an_agent_has_its_whole_grace_period() {
    let stage = Stage::new("works", ONE);
    // The shell ends at once; its child needs a while to save.
    let saves = "trap 'sleep 4; echo saved >saved.txt; exit' TERM; touch \"$AGENT_NOTES/begun\"; \
                 while :; do sleep 0.1; done";
    let agent =
        format!("cat >/dev/null; echo x >x.txt; sh -c '{}'; true", saves.replace('\'', "\""));
    let child = || {
        let child = stage.start(&["--agent", &agent, "--grace", "20"]);
        until("the agent works", || stage.note_path("begun").exists());
        fs_err::remove_file(stage.note_path("begun")).unwrap();
        child
    };
    let (mut first, begun) = (child(), Instant::now());
    signal("INT", first.id());
    assert_eq!(first.wait().unwrap().code(), Some(130));
    let took = begun.elapsed();
    assert!(took > Duration::from_secs(4) && took < Duration::from_secs(15), "{took:?}");
    let saved = stage.repo.git(["log", "--all", "--format=", "--name-only"]);
    assert!(saved.contains("saved.txt"), "{saved}");
    let (mut second, begun) = (child(), Instant::now());
    signal("INT", second.id());
    std::thread::sleep(Duration::from_millis(300));
    signal("INT", second.id());
    assert_eq!(second.wait().unwrap().code(), Some(130));
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
}

/// A process of the paused agent shows the check another file than is staged, and puts it back.
#[test]
fn a_paused_agent_changes_nothing() {
    let stage = Stage::new("works", TWO);
    let flips = "cd /; setsid sh -c 'while :; do if [ -e \"$1\" ]; then echo good >\"$0\"; else echo \
                 broken >\"$0\"; fi; echo >>\"$2\"; sleep 0.01; done' \"$F\" \"$S\" \"$T\" \
                 </dev/null >/dev/null 2>&1 &";
    let (during, ticks) = (stage.note_path("during"), stage.note_path("ticks"));
    let check =
        format!("touch {during}; sleep 1; grep good x.txt; r=$?; rm {during}; sleep 0.3; exit $r");
    let agent = format!(
        "cat >/dev/null; echo broken >x.txt; F=$PWD/x.txt S={during} T={ticks}; export F S T; ({flips}) ; \
         until [ -s {ticks} ]; do sleep 0.01; done; {STOP}; sleep 0.3; wc -l <{ticks} >{ticks}.after"
    );
    let stop_hook = hook("ralph-on-stop");
    let args =
        ["--agent", &agent, "--verify", &check, "--attempts", "2", "--stories-per-session", "2"];
    let ran = stage.run_env(&[("STOP_HOOK", stop_hook.as_str())], &args);
    let log = stage.repo.git(["log", "--format=%H", "--", "x.txt"]);
    for commit in log.lines() {
        let shown = stage.repo.git(["show", &format!("{commit}:x.txt")]);
        assert_eq!(shown, "good", "it was committed as checked\n{}{}", ran.out, ran.err);
    }
    assert!(stage.note("answers").contains("not done yet"), "the check failed: {}", ran.out);
    assert!(!stage.note("ticks.after").is_empty(), "the agent went on");
}

/// Beyond a limit, the attempt fails with the reason, and the run goes on.
#[test]
fn limits_end_the_attempt_and_not_the_run() {
    let many = "i=0; while [ $i -lt 100 ]; do sleep 600 & i=$((i+1)); done; wait";
    let much = "head -c 400000000 /dev/zero | tail -c 400000000 | sleep 600";
    let loud = "yes 0123456789012345678901234567890123456789 | head -c 5000000; sleep 600";
    let (total, _) = ralph_base::linux::memory().unwrap();
    let memory = format!("memory = {}", 200_000.0 / total as f64);
    let (processes, output) = ("processes = 60", "output = 1");
    for (limit, excess, words) in [
        (processes, many, "processes (limit 60: [limits] processes)"),
        (&*memory, much, "MB of memory (limit 195 MB: [limits] memory)"),
        (output, loud, "it printed more than 1 MB ([limits] output)"),
    ] {
        let stage = Stage::new("works", TWO);
        stage.repo.write(".ralph/config.toml", format!("[limits]\n{limit}\n"));
        let agent = format!(
            "cat >/dev/null; echo x >>x.txt; s=$(cat $RALPH_ROOT/.ralph/current-story); [ $s = US-002 ] || \
             {{ {excess}; }}"
        );
        let ran = stage.run(&["--agent", &agent, "--attempts", "1"]);
        ran.ended(8).says(words).says("US-002 done");
        let check = format!("[ -e second ] || {{ {excess}; }}");
        if limit != output {
            let stage = Stage::new("works", ONE);
            stage.repo.write(".ralph/config.toml", format!("[limits]\n{limit}\n"));
            let ran = stage.run(&["--verify", &check, "--attempts", "1"]);
            ran.ended(8).says(words);
        }
    }
}
