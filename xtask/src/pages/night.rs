//! A bad night with the agent of `fixtures/night`: its report, and the picture of it in the docs.

use anyhow::{Context, Result, ensure};
use camino::Utf8Path;
use jiff::Timestamp;
use serde_json::{Map, Value};
use test_support::{TestRepo, fixtures};

use crate::run;

/// The factor by which the journal's times are stretched, so that seconds become hours.
const STRETCHED: f64 = 1_200.0;

/// The picture, and the text of the page from which it was made.
const PICTURE: &str = "docs/pictures/report.png";
const SOURCE: &str = "docs/pictures/report.txt";

/// Runs the night, optionally with another title for the blocked story, and returns its page.
pub(super) fn page(program: &Utf8Path, title: Option<&str>) -> Result<String> {
    let (repo, night) = (TestRepo::new(), fixtures().join("night"));
    for folder in ["shop", "tests"] {
        for entry in night.join(folder).read_dir_utf8()? {
            let path = entry?.into_path();
            let name = path.strip_prefix(&night)?;
            repo.write(name.as_str(), fs_err::read_to_string(&path)?);
        }
    }
    let plan = fs_err::read_to_string(night.join("plan.md"))?;
    repo.write(
        ".ralph/PRD-1/plan.md",
        plan.replace("Delete old carts", title.unwrap_or("Delete old carts")),
    );
    repo.write("pytest", fs_err::read_to_string(night.join("pytest.sh"))?);
    repo.chmod("pytest", 0o755);
    let tries = repo.scratch().dir("tries");
    repo.write(".ralph/config.toml", format!("[sandbox]\nwrite = [\"{tries}\"]\n"));
    repo.commit_all("a shop");
    let ralph = |arguments: &[&str]| {
        let mut command = run::command(program.as_str());
        command.args(arguments).current_dir(repo.root()).envs(repo.isolation());
        command.env("XDG_CACHE_HOME", repo.scratch().path("cache")).env("NIGHT", &tries);
        command.env("HOOKS", program.parent().unwrap_or(program)).env("TZ", "UTC");
        command
    };
    let agent = format!("sh '{}'", night.join("agent.sh"));
    let args = ["--agent", &agent, "--verify", "./pytest", "--workers", "3", "--max-cost", "20"];
    let ended = ralph(&args).output()?;
    let said = String::from_utf8_lossy(&ended.stdout);
    ensure!(ended.status.code() == Some(8), "the run failed: {said}");
    let journal = repo.root().join(".ralph/events.jsonl");
    fs_err::write(&journal, stretched(&fs_err::read_to_string(&journal)?)?)?;
    run::output(&mut ralph(&["report", "--output", "page.html"]))?;
    Ok(fs_err::read_to_string(repo.root().join("page.html"))?)
}

/// Stretches the journal's times: each second becomes twenty minutes, from ten in the evening.
fn stretched(journal: &str) -> Result<String> {
    let evening: Timestamp = "2026-01-01T22:00:00Z".parse()?;
    let mut first = None;
    let mut lines = Vec::new();
    for line in journal.lines() {
        let mut event: Map<String, Value> = serde_json::from_str(line)?;
        let at = event.get("at").and_then(Value::as_str).context("an event without a time")?;
        let at: Timestamp = at.parse()?;
        let since = at.duration_since(*first.get_or_insert(at)).as_secs_f64() * STRETCHED;
        let moved = evening + jiff::SignedDuration::from_secs_f64(since);
        event.insert("at".to_owned(), format!("{moved:.3}").into());
        for name in ["duration_s", "seconds"] {
            if let Some(seconds) = event.get(name).and_then(Value::as_f64) {
                event.insert(name.to_owned(), (seconds * STRETCHED).into());
            }
        }
        lines.push(serde_json::to_string(&event)? + "\n");
    }
    Ok(lines.concat())
}

/// Compares the page's text with that of the picture in the documentation, or replaces both.
pub(super) fn keep_picture(folder: &Utf8Path, update: bool) -> Result<()> {
    let text = fs_err::read_to_string(folder.join("bad-1400-light.txt"))?;
    let root = run::root();
    if update {
        fs_err::copy(folder.join("bad-1400-light.png"), root.join(PICTURE))?;
        fs_err::write(root.join(SOURCE), &text)?;
    }
    let kept = fs_err::read_to_string(root.join(SOURCE))?;
    ensure!(kept == text, "{PICTURE} is out of date; run `cargo xtask pages --update`");
    Ok(())
}
