//! One session of the real client, alone or under the loop: started with an environment of its
//! own, ended by a deadline.

use std::ffi::OsString;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use scripted_model::{Model, Request, Script};
use wait_timeout::ChildExt;

use super::stage::{SESSION, Stage};
use super::{expect, processes};
use crate::run;

/// Nothing that a scenario starts takes a quarter of this.
const DEADLINE: Duration = Duration::from_secs(90);

/// An address on loopback at which nobody answers.
const NOBODY: &str = "http://127.0.0.1:9";

/// What remains of a session, or of a whole run of the loop.
pub(super) struct Run {
    pub(super) exit_code: Option<i32>,
    /// What the client printed, one JSON object a line, or the loop, for people.
    pub(super) stdout: String,
    /// The requests of the main conversation and of subagents.
    pub(super) requests: Vec<Request>,
    /// All requests, side questions and summaries too.
    pub(super) asked: Vec<Request>,
    /// How many processes were still there afterwards.
    pub(super) left_behind: usize,
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
        self.run_as(variables, &[], prompt, script)
    }

    /// The same with further arguments of the client.
    pub(super) fn run_given(&mut self, args: &[&str], prompt: &str, script: Script) -> Result<Run> {
        self.run_as(&[], args, prompt, script)
    }

    /// The same with both.
    pub(super) fn run_as(
        &mut self,
        variables: &[(&str, &str)],
        args: &[&str],
        prompt: &str,
        script: Script,
    ) -> Result<Run> {
        let mut command = self.client_command(prompt)?;
        command.args(args).envs(variables.iter().copied());
        self.watch(command, script, None)
    }

    /// Goes on with the first session, with further arguments.
    pub(super) fn resume(&mut self, prompt: &str, script: Script, args: &[&str]) -> Result<Run> {
        self.run_given(&[&["--resume", SESSION], args].concat(), prompt, script)
    }

    /// The same, with SIGTERM to the client as soon as this file of the home folder is there.
    pub(super) fn run_until(
        &mut self,
        file: &str,
        prompt: &str,
        script: Script,
        variables: &[(&str, &str)],
    ) -> Result<Run> {
        let (mut command, sign) = (self.client_command(prompt)?, self.home().join(file));
        command.envs(variables.iter().copied());
        self.watch(command, script, Some(&sign))
    }

    fn client_command(&self, prompt: &str) -> Result<Command> {
        let (program, first) = self.client.command.split_first().context("no client")?;
        let mut command = run::command(program);
        command.args(first).env("PATH", self.path_with_client());
        command.args(["-p", prompt, "--dangerously-skip-permissions"]);
        command.args(["--output-format", "stream-json", "--verbose"]);
        if self.sessions == 0 {
            command.args(["--session-id", SESSION]);
        }
        Ok(command)
    }

    /// Runs the loop over the project's plan, with the client as its agent.
    pub(super) fn run_loop(&mut self, script: Script) -> Result<Run> {
        let command = self.loop_command();
        self.watch(command, script, None)
    }

    /// The same, with SIGTERM to the loop as soon as this file of the home folder is there.
    pub(super) fn run_loop_until(&mut self, script: Script, file: &str) -> Result<Run> {
        let (command, sign) = (self.loop_command(), self.home().join(file));
        self.watch(command, script, Some(&sign))
    }

    /// All that the loop prints when it is asked something, with this command for its agent.
    pub(super) fn ask_loop(&self, question: &str, agent: &str) -> Result<String> {
        let mut command = self.loop_command();
        command.arg(question).env("RALPH_AGENT", agent);
        self.surround(&mut command, "");
        let output = command.output()?;
        let texts = [output.stdout, output.stderr];
        Ok(texts.iter().map(|text| String::from_utf8_lossy(text)).collect())
    }

    pub(super) fn home(&self) -> Utf8PathBuf {
        self.repo.scratch().path("home")
    }

    /// The loop.
    fn loop_command(&self) -> Command {
        let mut command = run::command(self.binaries.join("ralph-loop").as_str());
        command.env("PATH", self.path_with_client());
        command
    }

    /// Where programs are looked for: the client is found by its usual name.
    fn path_with_client(&self) -> String {
        let scratch = self.repo.scratch();
        let client: Vec<String> =
            self.client.command.iter().map(|part| format!("'{part}'")).collect();
        let script = format!("#!/bin/sh\nexec {} \"$@\"\n", client.join(" "));
        scratch.script("tools/claude", &script);
        let path = std::env::var("PATH").unwrap_or_default();
        format!("{}:{path}", scratch.path("tools"))
    }

    /// What the client prints when it is asked something that needs no model; it must succeed.
    pub(super) fn ask_client(&self, args: &[&str]) -> Result<String> {
        let (program, first) = self.client.command.split_first().context("no client")?;
        let mut command = run::command(program);
        command.args(first).args(args);
        self.surround(&mut command, NOBODY);
        run::output(&mut command)
    }

    /// Runs a program that talks to the scripted model until it ends by itself.
    pub(super) fn watch(
        &mut self,
        mut command: Command,
        script: Script,
        term_at: Option<&Utf8Path>,
    ) -> Result<Run> {
        self.sessions += 1;
        let model = Model::start(script)?;
        self.surround(&mut command, &model.base_url());
        let ended = to_the_end(&mut command, term_at);
        let left_behind = processes::end_all_of(&self.home());
        let stdout = ended.as_ref().map(|(_, stdout)| stdout.as_str()).unwrap_or_default();
        self.keep(stdout, &model.requests())?;
        let (exit_code, stdout) = ended?;
        let (requests, asked) = (model.conversation(), model.requests());
        Ok(Run { exit_code, stdout, requests, asked, left_behind })
    }

    /// The environment of a machine on which nothing was ever set, but for the model's address and
    /// what the command itself sets.
    fn surround(&self, command: &mut Command, base_url: &str) {
        let own: Vec<(OsString, OsString)> = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        command.current_dir(self.root()).env_clear().envs(self.repo.isolation());
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
        command.envs(own);
    }

    /// Leaves what was said where a person can look it up.
    fn keep(&self, stdout: &str, requests: &[Request]) -> Result<()> {
        let folder = run::root().join("target/e2e/logs");
        fs_err::create_dir_all(&folder)?;
        let name = format!("{}-{}-{}", self.client.version, self.name, self.sessions);
        fs_err::write(folder.join(format!("{name}.stdout.txt")), stdout)?;
        let told: Vec<String> = requests
            .iter()
            .filter(|request| request.is_conversation())
            .enumerate()
            .map(|(turn, request)| format!("=== before turn {turn}\n{}\n", request.told()))
            .collect();
        Ok(fs_err::write(folder.join(format!("{name}.told.txt")), told.concat())?)
    }
}

/// Runs a program until it ends by itself, or fails at the deadline. When the file is there, or
/// does not come, the program is asked to end.
fn to_the_end(command: &mut Command, term_at: Option<&Utf8Path>) -> Result<(Option<i32>, String)> {
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
    if let Some(sign) = term_at {
        while !sign.exists() && child.try_wait()?.is_none() && started.elapsed() < DEADLINE / 3 {
            std::thread::sleep(Duration::from_millis(20));
        }
        if child.try_wait()?.is_none() {
            run::run(run::command("kill").args(["-TERM", &child.id().to_string()]))?;
        }
    }
    let Some(status) = child.wait_timeout(DEADLINE)? else {
        child.kill()?;
        child.wait()?;
        bail!("it did not end within {:?}: {command:?}", started.elapsed());
    };
    let stdout = reading.join().ok().context("the output was not read")?;
    Ok((status.code(), stdout))
}
