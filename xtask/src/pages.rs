//! `cargo xtask pages`: reports of three runs in a headless Chromium, at two widths and in both
//! colour schemes. No error, no request, nothing wider than the screen, no serious finding of axe.

mod pictures;

use anyhow::{Context, Result, bail, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use serde_json::json;
use test_support::TestRepo;

use crate::e2e::npm;
use crate::run;

/// What drives the browser, and what judges the pages.
const PACKAGES: [&str; 2] = ["puppeteer-core@24", "axe-core@4"];

/// What the script is called.
const SCRIPT: &str = include_str!("pages/look.mjs");

/// Which programs make the pages.
#[derive(Debug, Args)]
pub(crate) struct Pages {
    /// The folder of the programs.
    #[arg(long, default_value = "target/debug")]
    binaries: Utf8PathBuf,
    /// Make the picture of a report for the documentation instead, in this folder.
    #[arg(long, value_name = "FOLDER")]
    pictures: Option<Utf8PathBuf>,
}

/// Runs the task.
pub(crate) fn run(wanted: &Pages) -> Result<()> {
    let program = run::root().join(&wanted.binaries).join("ralph-loop");
    ensure!(program.is_file(), "{program} is missing; build it first");
    if let Some(folder) = &wanted.pictures {
        return pictures::make(&program, chromium()?, folder);
    }
    let folder = run::root().join("target/pages");
    fs_err::create_dir_all(&folder)?;
    let browser = npm::packages("browser", &PACKAGES.map(str::to_owned))?;
    let pages =
        [("well", well(&program)?), ("bad", bad_night(&program)?), ("long", long_night(&program)?)];
    let mut arguments = Vec::new();
    for (name, page) in pages {
        let path = folder.join(format!("{name}.html"));
        fs_err::write(&path, page)?;
        arguments.push(path);
    }
    // Beside the packages, where it finds them.
    let script = browser.join("look.mjs");
    fs_err::write(&script, SCRIPT)?;
    run::run(run::command("node").arg(script).arg(chromium()?).args(arguments).current_dir(folder))
}

fn chromium() -> Result<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let is_there = |name: &&str| run::output(run::command(name).arg("--version")).is_ok();
    names.into_iter().find(is_there).context("install chromium (`apt-get install chromium`)")
}

/// A run with a plan and a check, in a repository of its own; then its page.
fn page_of(program: &Utf8Path, plan: &str, check: &str, more: &[String]) -> Result<String> {
    let repo = TestRepo::new();
    repo.write(".ralph/PRD-1/plan.md", plan);
    repo.commit_all("a plan");
    let agent = "cat >/dev/null; echo work >\"$(cat \"$RALPH_ROOT/.ralph/current-story\").txt\"; \
                 echo '{\"type\":\"result\",\"is_error\":false,\"result\":\"I did it.\",\
                 \"total_cost_usd\":0.53}'";
    let ralph = |arguments: &[&str]| {
        let mut command = run::command(program.as_str());
        command.args(arguments).current_dir(repo.root()).envs(repo.isolation());
        command.env("XDG_CACHE_HOME", repo.scratch().path("cache")).env("RALPH_BASELINE", "skip");
        command
    };
    if !check.is_empty() {
        let args = ["--agent", agent, "--verify", check, "--attempts", "2"];
        let ended = ralph(&args).output()?;
        if !matches!(ended.status.code(), Some(0 | 8)) {
            bail!("the run failed: {}", String::from_utf8_lossy(&ended.stderr));
        }
    }
    let journal = repo.root().join(".ralph/events.jsonl");
    let before = fs_err::read_to_string(&journal).unwrap_or_default();
    fs_err::write(journal, before + &more.join("\n"))?;
    run::output(&mut ralph(&["report", "--run", "all", "--output", "page.html"]))?;
    Ok(fs_err::read_to_string(repo.root().join("page.html"))?)
}

fn well(program: &Utf8Path) -> Result<String> {
    let plan = "- [ ] US-001: Log in\n- [ ] US-002: Log out\n- [ ] US-003: Reset\n";
    page_of(program, plan, "echo '== 12 passed in 0.1s =='", &[])
}

/// Blocked stories, refusals, a wait, a weakened test, and texts that mean harm.
fn bad_night(program: &Utf8Path) -> Result<String> {
    let hostile = format!("<script>alert(1)</script> \u{202e}gnp.exe {}", "x".repeat(2000));
    let plan = format!(
        "- [ ] US-001: Log in\n- [ ] US-002: {hostile}\n- [ ] US-003: Later (depends: US-002)\n"
    );
    let check = "if test -e US-002.txt; then printf '\\033[31m</pre><img src=x onerror=alert(1)>\\n\
                 FAILED a.py::test_b - assert 0\\n== 1 failed in 0.1s ==\\n'; exit 1; fi";
    let at = |minute: u32| format!("2030-01-01T01:{minute:02}:00.000Z");
    let line = |minute, event: serde_json::Value| {
        let mut record =
            json!({"v": 1, "at": at(minute), "source": "x", "run": "r2", "session": "s"});
        if let (Some(record), Some(event)) = (record.as_object_mut(), event.as_object()) {
            record.extend(event.clone());
        }
        record.to_string()
    };
    let denied = json!({"event": "denied", "rule": "git-push", "tool": "Bash", "target": hostile});
    let more = [
        line(0, json!({"event": "loop_started", "mode": "building", "plan": "p"})),
        line(1, json!({"event": "iteration_started", "story": "US-009", "iteration": 1})),
        line(2, denied.clone()),
        line(3, denied.clone()),
        line(4, denied),
        line(5, json!({"event": "tests_weakened", "story": "US-009", "what": "a test is skipped"})),
        line(6, json!({"event": "stop_blocked", "reasons": ["TESTS gate failed: x"]})),
        line(7, json!({"event": "stop_allowed", "status": "let_go", "note": "spent"})),
        line(30, json!({"event": "waited", "why": "usage limit reached", "seconds": 1200.0})),
    ];
    page_of(program, &plan, check, &more)
}

/// 300 stories, as a journal tells of them.
fn long_night(program: &Utf8Path) -> Result<String> {
    let plan: String = (1..=300).map(|n| format!("- [x] US-{n:03}: Story {n}\n")).collect();
    let mut more = Vec::new();
    for n in 1..=300_u32 {
        let at = |minute: u32| format!("2030-01-01T{:02}:{minute:02}:30.000Z", n / 30);
        let mark =
            json!({"v": 1, "source": "ralph-loop", "run": "r1", "story": format!("US-{n:03}")});
        let line = |minute, event: serde_json::Value| {
            let mut record = mark.clone();
            if let (Some(record), Some(event)) = (record.as_object_mut(), event.as_object()) {
                record.extend(event.clone());
                record.insert("at".to_owned(), at(minute).into());
            }
            record.to_string()
        };
        let minute = n % 30 * 2;
        let title = format!("Story {n}");
        more.push(line(
            minute,
            json!({"event": "iteration_started", "iteration": n, "title": title}),
        ));
        more.push(line(minute + 1, json!({"event": "committed", "commit": "0".repeat(40)})));
        let end = json!({"event": "iteration_finished", "outcome": "success", "duration_s": 60.0, "cost_usd": 0.2});
        more.push(line(minute + 1, end));
    }
    page_of(program, &plan, "", &more)
}
