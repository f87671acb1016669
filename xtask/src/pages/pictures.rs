//! The pictures of the documentation: the report of a run, and its last minute on a terminal.

use anyhow::{Result, ensure};
use camino::Utf8Path;
use test_support::{TestRepo, run_on_columns, screen_with};

use crate::run;

/// How wide the terminal is.
const COLUMNS: u16 = 112;

const PLAN: &str = "- [ ] US-001: Let people sign in with a code that is sent to them
- [ ] US-002: Show who is signed in
- [ ] US-003: Sign out everywhere
- [ ] US-004: Delete an account (depends: US-003)
";

/// Works in three visible steps; the second story goes well at its second attempt, the third never.
const AGENT: &str = r#"cat >/dev/null; story=$(cat "$RALPH_ROOT/.ralph/current-story")
say() { echo '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"'$1'","name":"'$2'","input":{"'$3'":"'"$4"'"}}],"usage":{"input_tokens":48000}}}'; sleep 0.4; }
say a Read file_path "$PWD/src/session.py"
[ $story != US-001 ] || say b Bash command 'git push origin main'
[ $story != US-001 ] || echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"b","is_error":true,"content":"PreToolUse:Bash hook error: git-push: pushing is for the user"}]}}'
say c Edit file_path "$PWD/src/$story.py"
mkdir -p src; seq 40 >"src/$story.py"
tried="$TRIES/$story"
case $story in
US-002) [ -e "$tried" ] || echo bug >>"src/$story.py" ;;
US-003) echo bug >>"src/$story.py" ;;
esac
touch "$tried"
echo '{"type":"result","is_error":false,"result":"I added the story and its tests; sessions are kept in memory for now.","total_cost_usd":0.53,"usage":{"input_tokens":144000}}'"#;

const CHECK: &str = r#"#!/bin/sh
tests=$(($(ls src | wc -l) * 4 + 8))
if grep -q bug src/*; then
    echo "FAILED tests/test_session.py::test_all_sessions_end - AssertionError: 1 is still open"
    echo "== 1 failed, $tests passed in 1.21s =="; exit 1
fi
echo "== $tests passed in 1.18s ==""#;

/// Colours as a dark terminal has them.
const STYLE: &str = "body{margin:0;background:#16181d;color:#d7dae0;font:14px/1.45 'DejaVu Sans \
                     Mono',monospace}pre{margin:0;padding:18px 22px;white-space:pre-wrap}.good{color:#7ec77b}\
                     .warning{color:#e0b352}.bad{color:#f07178;font-weight:bold}.faint{color:#868d99}";

/// Makes them.
pub(super) fn make(program: &Utf8Path, chromium: &str, folder: &Utf8Path) -> Result<()> {
    let repo = TestRepo::new();
    repo.write(".ralph/PRD-1/plan.md", PLAN);
    repo.write("src/session.py", "kept = {}\n");
    repo.write("pytest", CHECK);
    repo.chmod("pytest", 0o755);
    repo.commit_all("a plan");
    let tries = repo.scratch().dir("tries");
    let ralph = |arguments: &[&str]| {
        let mut command = run::command(program.as_str());
        command.args(arguments).current_dir(repo.root()).envs(repo.isolation());
        command.env("XDG_CACHE_HOME", repo.scratch().path("cache")).env("TRIES", &tries);
        command
    };
    let args = ["--agent", AGENT, "--verify", "./pytest", "--attempts", "2", "--max-cost", "5"];
    let (code, shown) = run_on_columns(COLUMNS, &mut ralph(&args));
    ensure!(code == Some(8), "the run failed: {shown}");
    run::output(&mut ralph(&["report", "--output", "page.html"]))?;
    fs_err::create_dir_all(folder)?;
    let page = repo.root().join("page.html");
    picture(chromium, &page, (900, 1240), &folder.join("report.png"))?;
    let screen = screen_with(&shown, COLUMNS.into(), "2 of 2  0:00  Edit: src/US-003.py");
    let terminal = repo.root().join("terminal.html");
    let first = screen.lines().position(|line| line.contains("iteration 1")).unwrap_or(0);
    let lines: Vec<&str> = screen.lines().skip(first).collect();
    fs_err::write(&terminal, as_page(&lines))?;
    let height = u32::try_from(lines.len())? * 20 + 40;
    picture(chromium, &terminal, (1000, height), &folder.join("terminal.png"))
}

/// The screen with the colours of its lines.
fn as_page(lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        let tone = match *line {
            _ if line.contains(" done: commit ") => "good",
            _ if line.contains(" is blocked: ") => "bad",
            _ if line.starts_with("  ") || line.contains(":   ") => "faint",
            _ if line.contains("refused: ") || line.contains(" failed") => "warning",
            _ => "",
        };
        let line = line.replace('&', "&amp;").replace('<', "&lt;");
        text += &format!("<span class=\"{tone}\">{line}</span>\n");
    }
    format!("<!doctype html><meta charset=utf-8><style>{STYLE}</style><pre>{text}</pre>")
}

fn picture(chromium: &str, page: &Utf8Path, size: (u32, u32), to: &Utf8Path) -> Result<()> {
    let mut command = run::command(chromium);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
    command.arg(format!("--window-size={},{}", size.0, size.1));
    command.arg(format!("--screenshot={}", run::root().join(to)));
    run::output(command.arg(format!("file://{page}")))?;
    Ok(())
}
