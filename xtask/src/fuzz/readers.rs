//! The readers besides the guard: plans, verdicts, hook inputs, settings and transcripts.

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;
use ralph_base::secrets;
use ralph_core::hook::Input;
use ralph_core::plan::{Options, Plan, State, agents_plan};
use ralph_core::verdict::{self, Kind, Run};
use ralph_project::config::Config;
use ralph_project::transcript;
use test_support::test_runs;

use super::target::Target;

const JSON: &[(&str, &str)] =
    &[("[", "]"), ("{\"a\":", "}"), ("\"", "\""), ("{\"features\":[", "]}")];

const PLAN_TOKENS: &[&str] = &[
    "- [ ] ",
    "- [x] ",
    "* [!] ",
    "1. [ ] ",
    "# ",
    "### ",
    "US-001",
    "Task 1",
    ": ",
    "\n",
    "\r\n",
    "```",
    "~~~",
    "<!--",
    "-->",
    "> ",
    "    ",
    "\t",
    "(depends: US-001)",
    "{",
    "}",
    "[",
    "]",
    "\"id\"",
    ":",
    ",",
    "1",
    "\"passes\"",
    "true",
    "\"features\"",
    "\"userStories\"",
    "\u{feff}",
    "é",
    "\0",
    "## Optional\n",
    "\\u0000",
    "1e999",
    "-",
];

const PLAN_NESTS: &[(&str, &str)] = &[
    ("> ", ""),
    ("- [ ] ", "\n"),
    ("<!-- ", " -->"),
    ("```\n", "\n```\n"),
    ("{\"a\":", "}"),
    ("[", "]"),
    ("  ", "\n"),
];

/// Plans in every format: what can be read can be ticked, and is done then; no damage by an agent
/// loses a story.
pub(super) fn plan(project: &Utf8Path) -> Result<Target> {
    let names = ["plan.md", "prd.json", "feature_list.json"].map(Utf8PathBuf::from);
    let read =
        move |path: &Utf8Path, bytes: &[u8]| Plan::parse(path, bytes.to_vec(), &Options::default());
    let act = move |input: &[u8]| {
        let mut found = false;
        for path in &names {
            let Ok(plan) = read(path, input) else { continue };
            let Some(story) = plan.stories().first() else { continue };
            found = true;
            let ticked = plan.tick(&story.id).unwrap_or_default();
            let again = read(path, &ticked);
            let state = again.as_ref().ok().and_then(|plan| plan.story(&story.id)).map(|s| s.state);
            assert_eq!(state, Some(State::Done), "ticked, {} is not done", story.id);
            let half = input.get(..input.len() / 2);
            let agents = agents_plan(&plan, half, &story.id);
            let kept = read(path, &plan.with_added(&agents)).map(|plan| plan.stories().len());
            assert!(kept.is_ok_and(|kept| kept >= plan.stories().len()), "a story is lost");
        }
        found
    };
    Ok(Target {
        name: "plan",
        corpus: files(&[project.join("fixtures/plans/ok"), project.join("fixtures/plans/err")])?,
        tokens: PLAN_TOKENS,
        nests: PLAN_NESTS,
        act: Box::new(act),
    })
}

/// Outputs of test runs, under the commands that they belong to and others.
pub(super) fn verdict(_: &Utf8Path) -> Result<Target> {
    let cases = test_runs::load(&test_runs::recorded())?;
    let commands: Vec<String> = cases.iter().map(|case| case.command.clone()).collect();
    let act = move |input: &[u8]| {
        let output = String::from_utf8_lossy(input);
        let at = input.iter().map(|byte| usize::from(*byte)).sum::<usize>();
        let command = commands.get(at % commands.len().max(1)).map_or("pytest", String::as_str);
        let exit_code = [Some(0), Some(1), Some(101), None].get(at % 4).copied().flatten();
        let judged = verdict::judge(&Run { command, exit_code, output: &output, ..Run::default() });
        judged.kind == Kind::Failed
    };
    Ok(Target {
        name: "verdict",
        corpus: cases.iter().map(|case| case.output.clone().into_bytes()).collect(),
        tokens: &[
            "FAILED ",
            "PASS ",
            "ok ",
            "not ok ",
            "1..3",
            "\n",
            " passed",
            " failed",
            "12",
            ", ",
            "Tests: ",
            "test result: ",
            "=== ",
            "--- FAIL: ",
            "\x1b[31m",
            "\x1b[0m",
            "\x1b[",
            "✓",
            "✗",
            "1) ",
            "error: ",
            "0",
            "99999999999999999999",
            "in 0.01s",
            "::",
            "test_a",
            "\r",
            "\t",
            "    ",
            "# TODO",
            "OK",
        ],
        nests: &[
            ("\x1b[31m", "\x1b[0m"),
            ("  ", "\n"),
            ("(", ")"),
            ("[", "]"),
            ("1 ", ", "),
            ("=== ", " ==="),
        ],
        act: Box::new(act),
    })
}

/// What the client sends to a hook.
pub(super) fn input(project: &Utf8Path) -> Result<Target> {
    let act = |input: &[u8]| {
        let Ok(parsed) = Input::parse(input) else { return false };
        let bash = parsed.bash();
        if let Some(bash) = &bash {
            secrets::mask(&bash.command);
        }
        bash.is_some() | parsed.file().is_some() | parsed.bash_result().is_some()
    };
    Ok(Target {
        name: "input",
        corpus: files(&[project.join("fixtures/payloads")])?,
        tokens: &[
            "{",
            "}",
            "[",
            "]",
            ":",
            ",",
            "\"",
            "\"tool_input\"",
            "\"command\"",
            "\"hook_event_name\"",
            "null",
            "true",
            "-1",
            "1e999",
            "\"Bash\"",
            "\\ud800",
            "\\u0000",
            "\\n",
            "\"session_id\"",
            "\"../..\"",
            "\u{feff}",
            " ",
            "\n",
        ],
        nests: JSON,
        act: Box::new(act),
    })
}

/// The settings.
pub(super) fn config(project: &Utf8Path) -> Result<Target> {
    let page = fs_err::read_to_string(project.join("docs/configuration.md"))?;
    let mut corpus: Vec<Vec<u8>> = page
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| Some(rest.split("```").next()?.as_bytes().to_vec()))
        .collect();
    corpus.push(b"[loop]\nmax_iterations = 8\n[verify]\ncommands = [\"make test\"]\n".to_vec());
    let act = |input: &[u8]| {
        let text = String::from_utf8_lossy(input);
        Config::from_parts("config.toml", &text, &Env::of([("HOME", "/")]), &[]).is_ok()
    };
    Ok(Target {
        name: "config",
        corpus,
        tokens: &[
            "[loop]\n",
            "[verify]\n",
            "[limits]\n",
            "[[guard.rules]]\n",
            "[",
            "]",
            "=",
            "\"",
            "'",
            "\"\"\"",
            "\n",
            "#",
            "max_iterations",
            "commands",
            "timeout",
            "1",
            "-1",
            "1e9",
            "0x",
            "true",
            "\"1h\"",
            "2026-01-01",
            "{",
            "}",
            ",",
            ".",
            "\\u0000",
            "é",
            "inf",
            "nan",
        ],
        nests: &[("[", "]"), ("{a=", "}"), ("a.", "=1"), ("\"", "\"")],
        act: Box::new(act),
    })
}

/// The end of a session's transcript, in a file as the client keeps it.
pub(super) fn transcript(project: &Utf8Path) -> Result<Target> {
    let memory = Utf8Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory } else { Utf8Path::new("/tmp") };
    let path = folder.join(format!("ralph-fuzz-{}.jsonl", std::process::id()));
    let corpus = files(&[project.join("fixtures/streams")])?;
    let act = move |input: &[u8]| {
        // In one call, so that nothing is left however the run ends.
        let ending = fs_err::write(&path, input).and_then(|()| transcript::ending(&path, 0));
        let _ = fs_err::remove_file(&path);
        ending.is_ok_and(|ending| ending.context.is_some())
    };
    let lines = corpus.iter().flat_map(|file| file.split(|byte| *byte == b'\n'));
    let lines: Vec<Vec<u8>> =
        lines.filter(|line| line.len() < 20_000).map(<[u8]>::to_vec).collect();
    Ok(Target {
        name: "transcript",
        corpus: lines,
        tokens: &[
            "{",
            "}",
            "[",
            "]",
            ":",
            ",",
            "\"",
            "\"type\"",
            "\"assistant\"",
            "\"usage\"",
            "\"input_tokens\"",
            "\"isSidechain\"",
            "false",
            "true",
            "null",
            "18446744073709551615",
            "-1",
            "1e999",
            "\n",
            "\\ud800",
            "\0",
            "\"tool_use\"",
        ],
        nests: JSON,
        act: Box::new(act),
    })
}

fn files(folders: &[Utf8PathBuf]) -> Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    for folder in folders {
        for entry in folder.read_dir_utf8().with_context(|| format!("{folder}"))? {
            let path = entry?.into_path();
            if path.is_file() && path.extension() != Some("snap") {
                found.push(fs_err::read(path)?);
            }
        }
    }
    Ok(found)
}
