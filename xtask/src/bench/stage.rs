//! The project in which hooks are measured: a small repository with a plan, and a session that has
//! read files.

use fs_err::os::unix::fs::FileExt;

use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state::{Id, RunDir, SessionDir, StateDir};
use ralph_project::under_way::Attempt;
use serde_json::{Value, json};
use test_support::TestRepo;

use super::program::Program;

/// The id of the session that calls the hooks.
const SESSION: &str = "2f34ec4b-e866-4eb9-9c21-1d11a42caab5";

/// A project, its session and the folder with the programs under test.
pub(crate) struct Stage {
    pub(crate) repo: TestRepo,
    binaries: Utf8PathBuf,
}

impl Stage {
    /// Creates an ordinary project: ten stories, ten files that were read, a short transcript.
    pub(crate) fn new(binaries: &Utf8Path) -> Result<Self> {
        let stage = Self { repo: TestRepo::on_disk(), binaries: binaries.to_owned() };
        stage.state().prepare()?;
        stage.set_plan(10)?;
        stage.set_reads(10)?;
        stage.set_transcript("transcript.jsonl", 0)?;
        stage.repo.commit_all("a plan");
        Ok(stage)
    }

    pub(crate) fn state(&self) -> StateDir {
        StateDir::of_project(self.repo.root())
    }

    pub(crate) fn session(&self) -> Result<SessionDir> {
        Ok(self.state().session(&Id::parse(SESSION)?))
    }

    /// Returns the path of the session's transcript.
    fn transcript(&self) -> Utf8PathBuf {
        self.repo.scratch().path("transcript.jsonl")
    }

    /// Writes a plan of this many stories, all but the last one done.
    fn set_plan(&self, stories: usize) -> Result<()> {
        write(&self.state().plan(1), plan(stories).as_bytes())
    }

    /// Writes a log of this many reads; the file that is edited is the first one.
    pub(crate) fn set_reads(&self, reads: usize) -> Result<()> {
        let mut log = format!("Read: {}\n", self.repo.root().join("src/lib.rs"));
        for number in 1..reads {
            log.push_str(&format!("Read: {}/src/module_{number}.rs\n", self.repo.root()));
        }
        write(&self.session()?.reads(), log.as_bytes())
    }

    /// Writes a journal of this many lines.
    pub(crate) fn set_journal(&self, lines: usize) -> Result<()> {
        let line = json!({
            "v": 1, "at": "2026-01-02T03:04:05.678Z", "source": "ralph-post-tool",
            "session": SESSION, "event": "verdict", "verdict": "passed", "runner": "cargo",
            "passed": 12, "failed": 0, "tests": [],
        });
        write(&self.state().journal(), format!("{line}\n").repeat(lines).as_bytes())
    }

    /// Records an attempt of our loop at the last story of a plan of this many.
    pub(crate) fn set_attempt(&self, stories: usize) -> Result<()> {
        self.set_plan(stories)?;
        let id = format!("US-{stories:03}");
        let attempt = Attempt {
            run: "run-1".into(),
            story: id.clone(),
            title: "The last story".into(),
            iteration: 3,
            number: 1,
            plan: self.state().plan(1),
            progress: self.state().progress(1),
            work: self.repo.root().to_owned(),
            target: "main".into(),
            base: None,
            ..Attempt::now()
        };
        attempt.save(&RunDir::in_git_folder(&self.repo.root().join(".git")))?;
        write(&self.state().current_story(), format!("{id}\n").as_bytes())
    }

    /// Creates and commits this many files.
    pub(crate) fn set_files(&self, files: usize) -> Result<()> {
        for number in 0..files {
            let name = format!("data/{:03}/{number}.txt", number % 200);
            write(&self.repo.root().join(name), format!("file {number}\n").as_bytes())?;
        }
        self.repo.commit_all("files");
        Ok(())
    }

    /// Writes a transcript with real lines at its end, after a hole of this many bytes.
    pub(crate) fn set_transcript(&self, name: &str, hole: u64) -> Result<Utf8PathBuf> {
        let path = self.repo.scratch().path(name);
        let file = fs_err::File::create(&path)?;
        file.set_len(hole)?;
        file.write_all_at(ending().as_bytes(), hole)?;
        Ok(path)
    }

    /// Makes the session's transcript this many megabytes long.
    pub(crate) fn set_megabytes(&self, size: usize) -> Result<()> {
        self.set_transcript("transcript.jsonl", (size as u64) << 20).map(drop)
    }

    /// Returns the environment that the client passes to its hooks.
    fn vars(&self) -> Vec<(String, String)> {
        let mut vars = self.repo.isolation();
        // Where no setting is set, as usual, the hooks need not read the variables' types.
        vars.retain(|(name, _)| name != "RALPH_PROBE");
        vars.push(("CLAUDE_PROJECT_DIR".into(), self.repo.root().to_string()));
        vars.push(("CLAUDECODE".into(), "1".into()));
        vars
    }

    /// Returns the path of one of our programs.
    pub(crate) fn ours(&self, name: &str) -> String {
        self.binaries.join(name).into_string()
    }

    /// Returns a hook with an input.
    pub(crate) fn hook(&self, name: &str, input: Value) -> Program {
        self.program(vec![self.ours(name)], self.input(input))
    }

    /// Returns any program with an input.
    pub(crate) fn program(&self, line: Vec<String>, input: Vec<u8>) -> Program {
        Program { line, vars: self.vars(), folder: None, input }
    }

    /// Formats an input: the members that every input has, and those given.
    pub(crate) fn input(&self, own: Value) -> Vec<u8> {
        let input = json!({
            "session_id": SESSION,
            "transcript_path": self.transcript(),
            "cwd": self.repo.root(),
            "prompt_id": "142e6f05-7dbd-4c5c-83bc-fd6bc0add3e7",
            "permission_mode": "bypassPermissions",
            "effort": {"level": "medium"},
        });
        with(input, own).to_string().into_bytes()
    }
}

/// Adds the members of one object to another, replacing existing ones.
pub(crate) fn with(mut object: Value, more: Value) -> Value {
    if let (Some(all), Value::Object(more)) = (object.as_object_mut(), more) {
        all.extend(more);
    }
    object
}

/// Writes a file, creating its parent folders.
pub(crate) fn write(path: &Utf8Path, content: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs_err::create_dir_all(folder)?;
    }
    Ok(fs_err::write(path, content)?)
}

/// Formats a plan with stories as headings, as people write them.
fn plan(stories: usize) -> String {
    let story = |number: usize| {
        let mark = if number == stories { ' ' } else { 'x' };
        format!(
            "\n### US-{number:03}: Story number {number}\n\n- [{mark}] Make it work\n  \
             - Scope: src/module_{number}.rs\n- [{mark}] Write its tests\n"
        )
    };
    format!("# Plan\n{}", (1..=stories).map(story).collect::<String>())
}

/// Formats a tool call, its result, and the answer that ends the turn.
fn ending() -> String {
    let line = |role: &str, content: Value| {
        json!({
            "isSidechain": false, "type": role, "sessionId": SESSION,
            "message": {"role": role, "content": [content], "usage": {
                "input_tokens": 12, "cache_creation_input_tokens": 900,
                "cache_read_input_tokens": 21_000, "output_tokens": 310,
            }},
        })
    };
    let input = json!({"command": "cargo test"});
    let call = json!({"type": "tool_use", "id": "toolu_01", "name": "Bash", "input": input});
    let said = "test result: ok. 12 passed; 0 failed";
    let result = json!({"type": "tool_result", "tool_use_id": "toolu_01", "content": said});
    let last = json!({"type": "text", "text": "All tests pass."});
    let [call, result, last] =
        [("assistant", call), ("user", result), ("assistant", last)].map(|(r, c)| line(r, c));
    format!("\n{call}\n{result}\n{last}\n")
}
