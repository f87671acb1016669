//! The picture of a report in the documentation. That of a run on a terminal is drawn and kept by a
//! test of the loop, with the same agent.

use anyhow::{Result, ensure};
use camino::Utf8Path;
use test_support::{TestRepo, fixtures};

use crate::run;

/// Makes it.
pub(super) fn make(program: &Utf8Path, chromium: &str, folder: &Utf8Path) -> Result<()> {
    let repo = TestRepo::new();
    let fixture = |name: &str| fs_err::read_to_string(fixtures().join("pictures").join(name));
    repo.write(".ralph/PRD-1/plan.md", fixture("plan.md")?);
    repo.write("src/session.py", "kept = {}\n");
    repo.write("pytest", fixture("pytest.sh")?);
    repo.chmod("pytest", 0o755);
    repo.commit_all("a plan");
    let agent = format!("sh '{}'", fixtures().join("pictures/agent.sh"));
    let tries = repo.scratch().dir("tries");
    let ralph = |arguments: &[&str]| {
        let mut command = run::command(program.as_str());
        command.args(arguments).current_dir(repo.root()).envs(repo.isolation());
        command.env("XDG_CACHE_HOME", repo.scratch().path("cache")).env("TRIES", &tries);
        command
    };
    let args = ["--agent", &agent, "--verify", "./pytest", "--attempts", "2", "--max-cost", "5"];
    let ended = ralph(&args).output()?;
    let said = String::from_utf8_lossy(&ended.stdout);
    ensure!(ended.status.code() == Some(8), "the run failed: {said}");
    run::output(&mut ralph(&["report", "--output", "page.html"]))?;
    fs_err::create_dir_all(folder)?;
    let page = repo.root().join("page.html");
    picture(chromium, &page, (900, 1240), &folder.join("report.png"))
}

fn picture(chromium: &str, page: &Utf8Path, size: (u32, u32), to: &Utf8Path) -> Result<()> {
    let mut command = run::command(chromium);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
    command.arg(format!("--window-size={},{}", size.0, size.1));
    command.arg(format!("--screenshot={}", run::root().join(to)));
    run::output(command.arg(format!("file://{page}")))?;
    Ok(())
}
