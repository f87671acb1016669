//! One session of the real client: started with an environment of its own, ended by a deadline.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use scripted_model::{Model, Request, Script};
use wait_timeout::ChildExt;

use super::stage::{SESSION, Stage};
use super::{expect, processes};
use crate::run;

/// No session of a scenario takes a quarter of this.
const DEADLINE: Duration = Duration::from_secs(90);

/// What remains of a session.
pub(super) struct Run {
    pub(super) exit_code: Option<i32>,
    /// What the client printed, one JSON object a line.
    pub(super) stdout: String,
    /// The requests of the main conversation and of subagents.
    pub(super) requests: Vec<Request>,
}

impl Run {
    /// What the model was told before its turn of this number; 0 is the prompt.
    pub(super) fn told(&self, turn: usize) -> Result<String> {
        let request = self.requests.get(turn);
        expect::that(request.is_some(), &format!("the model has a turn {turn}"))?;
        Ok(request.map(Request::told).unwrap_or_default())
    }

    /// The model had this many turns.
    pub(super) fn had_turns(&self, number: usize) -> Result<()> {
        expect::same("the model's turns", &self.requests.len(), &number)
    }

    /// The client ended well.
    pub(super) fn succeeded(&self) -> Result<()> {
        expect::same("the client's exit code", &self.exit_code, &Some(0))?;
        let result = self.stdout.lines().last().unwrap_or_default();
        expect::contains(result, r#""is_error":false"#)
    }
}

impl Stage<'_> {
    /// Runs the client with this prompt to its end.
    pub(super) fn run(&mut self, prompt: &str, script: Script) -> Result<Run> {
        self.run_with(prompt, script, &[])
    }

    /// The same with further variables in the client's environment.
    pub(super) fn run_with(
        &mut self,
        prompt: &str,
        script: Script,
        variables: &[(&str, &str)],
    ) -> Result<Run> {
        let model = Model::start(script)?;
        let mut command = self.command(&model.base_url())?;
        command.args(["-p", prompt, "--dangerously-skip-permissions"]);
        command.args(["--output-format", "stream-json", "--verbose"]);
        if self.sessions == 0 {
            command.args(["--session-id", SESSION]);
        }
        self.sessions += 1;
        command.envs(variables.iter().copied());
        let (exit_code, stdout) = to_the_end(&mut command).inspect_err(|_| {
            processes::end_all_of(&self.repo.scratch().path("home"));
        })?;
        processes::end_all_of(&self.repo.scratch().path("home"));
        self.keep(&stdout, &model.requests())?;
        Ok(Run { exit_code, stdout, requests: model.conversation() })
    }

    fn command(&self, base_url: &str) -> Result<Command> {
        let (program, first) = self.client.command.split_first().context("no client")?;
        let mut command = run::command(program);
        command.args(first).current_dir(self.root()).env_clear().envs(self.repo.isolation());
        command.envs([
            ("ANTHROPIC_BASE_URL", base_url),
            ("ANTHROPIC_API_KEY", "scripted"),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            // Without it the client refuses to skip permissions for root.
            ("IS_SANDBOX", "1"),
        ]);
        Ok(command)
    }

    /// Leaves what was said where a person can look it up.
    fn keep(&self, stdout: &str, requests: &[Request]) -> Result<()> {
        let folder = run::root().join("target/e2e/logs");
        fs_err::create_dir_all(&folder)?;
        let name = format!("{}-{}-{}", self.client.version, self.name, self.sessions);
        fs_err::write(folder.join(format!("{name}.stdout.jsonl")), stdout)?;
        let told: Vec<String> = requests
            .iter()
            .filter(|request| request.is_conversation())
            .enumerate()
            .map(|(turn, request)| format!("=== before turn {turn}\n{}\n", request.told()))
            .collect();
        Ok(fs_err::write(folder.join(format!("{name}.told.txt")), told.concat())?)
    }
}

/// Runs a program until it ends by itself, or fails at the deadline.
fn to_the_end(command: &mut Command) -> Result<(Option<i32>, String)> {
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .with_context(|| format!("could not start {command:?}"))?;
    let mut stdout = child.stdout.take().context("no pipe")?;
    let reading = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stdout.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let Some(status) = child.wait_timeout(DEADLINE)? else {
        child.kill()?;
        child.wait()?;
        bail!("the client did not end within {:?}: {command:?}", started.elapsed());
    };
    let stdout = reading.join().ok().context("the client's output was not read")?;
    Ok((status.code(), stdout))
}
