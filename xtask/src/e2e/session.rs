//! One session of the real client, alone or under the loop: started with its own environment, ended
//! at a deadline, and compared with the expectations.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use camino::Utf8Path;
use ralph_project::dialect::Dialect;
use scripted_model::{Model, Request, Step};
use wait_timeout::ChildExt;

use super::client::CLAUDE;
use super::processes;
use super::scenario::Session;
use super::stage::{Lacking, SESSION, Stage, Unmet};
use crate::run;

/// The deadline for anything that a scenario starts; nothing takes half as long.
const DEADLINE: Duration = Duration::from_secs(300);

/// Runs a command on a terminal of this size. There is no keyboard input: standard input is a pipe
/// that is never written to and never closed.
const ON_TERMINAL: &str = r#"mkfifo "$HOME/keys" && exec script -qec "stty cols 120 rows 40 && exec $LINE" /dev/null <>"$HOME/keys""#;

impl Stage<'_> {
    /// Plays a session and compares it with its expectations.
    pub(super) fn play(&mut self, session: &Session) -> Result<()> {
        let retries = self.reach("").retries;
        let script = session.script(&|text| self.fill(text), retries)?;
        let model = Model::start_for(&self.client.name, script)?;
        self.write_settings(&model.base_url())?;
        self.script(&session.setup)?;
        let mut command = self.command(session);
        command.args(session.args.iter().map(|arg| self.fill(arg)));
        command.envs(session.env.iter().map(|(name, value)| (name, self.fill(value))));
        self.sessions += 1;
        self.surround(&mut command, &model.base_url());
        let settings = self.settings();
        let sign = session.until.as_ref().map(|file| self.home().join(self.fill(file)));
        let logs = self.logs();
        if logs.exists() {
            fs_err::remove_dir_all(&logs)?;
        }
        fs_err::create_dir_all(&logs)?;
        let ended = to_the_end(&mut command, &logs.join("out"), sign.as_deref());
        let left = processes::end_all_of(&self.home());
        self.keep(&model.requests(), left)?;
        let code = ended?;
        let stdout = String::from_utf8_lossy(&fs_err::read(logs.join("out"))?).into_owned();
        let after = self.settings();
        let changed = settings.keys().find(|name| after.get(*name) != settings.get(*name));
        // In a session without the loop, some agents write their own settings.
        let changed = if session.prompt.is_none() { changed } else { None };
        ensure!(changed.is_none(), Unmet(format!("the user's {changed:?} was changed")));
        self.judge(session, code, &stdout, &model.conversation())
    }

    fn command(&self, session: &Session) -> Command {
        if let Some(shell) = &session.shell {
            let mut command = run::command("sh");
            command.args(["-c", shell]);
            return command;
        }
        let Some(prompt) = &session.prompt else {
            let mut command = run::command(self.binaries.join("ralph-loop").as_str());
            if self.client.name != CLAUDE {
                command.args(["--agent", &self.client.name]);
            }
            return command;
        };
        let prompt = self.fill(prompt);
        if let Some(agent) = Dialect::find(&self.client.name).filter(|agent| agent.name != CLAUDE) {
            let mut command = run::command("sh");
            command.args(["-c", &format!("printf %s \"$PROMPT\" | {}", agent.start)]);
            command.env("PROMPT", prompt);
            return command;
        }
        if session.terminal {
            let line = format!(
                "'{}' --permission-mode=acceptEdits --allowedTools=Bash '{prompt}'",
                self.claude()
            );
            let mut command = run::command("sh");
            command.args(["-c", ON_TERMINAL]).env("TERM", "xterm-256color").env("LINE", line);
            return command;
        }
        let mut command = run::command(self.claude().as_str());
        command.args(["-p", &prompt, "--dangerously-skip-permissions"]);
        command.args(["--output-format", "stream-json", "--verbose"]);
        if self.sessions == 0 {
            command.args(["--session-id", SESSION]);
        }
        command
    }

    fn judge(
        &self,
        session: &Session,
        code: Option<i32>,
        stdout: &str,
        requests: &[Request],
    ) -> Result<()> {
        if let Some((tool, why)) = &session.tool {
            // Not every tool is offered at once, but the first event of the session lists them all.
            let first = stdout.lines().find(|line| line.contains(r#""subtype":"init""#));
            let listed = first.is_some_and(|line| line.contains(&format!("\"{tool}\"")));
            let has_tool = listed || requests.first().is_some_and(|first| first.offers(tool));
            ensure!(has_tool, Lacking(why.clone()));
        }
        if session.code >= 0 {
            ensure!(code == Some(session.code), Unmet(format!("the exit code is {code:?}")));
        }
        let is_claude = self.client.name == CLAUDE && session.prompt.is_some();
        let is_client = is_claude && session.code == 0 && !session.terminal;
        if is_client {
            let result = stdout.lines().last().unwrap_or_default();
            let is_well = result.contains(r#""is_error":false"#);
            ensure!(is_well, Unmet(format!("the client ended with {result}")));
        }
        let is_about = |request: &Request, about: &str| request.first_message().contains(about);
        let is_main =
            |request: &&Request| !session.other.iter().any(|other| is_about(request, &other.about));
        let main: Vec<&Request> = requests.iter().filter(is_main).collect();
        let prompt = Step::seeing(session.sees.clone());
        self.check_step(&prompt, 0, &main)?;
        self.conversation("the main conversation", &main, &session.turns, session.had)?;
        for other in &session.other {
            let theirs = requests.iter().filter(|request| is_about(request, &other.about));
            let theirs: Vec<&Request> = theirs.collect();
            self.conversation(&other.about, &theirs, &other.turns, other.had)?;
        }
        self.script(&session.check)
    }

    /// Checks what the model received after each turn, and the number of turns.
    fn conversation(
        &self,
        name: &str,
        requests: &[&Request],
        turns: &[Step],
        had: Option<usize>,
    ) -> Result<()> {
        for (number, turn) in turns.iter().enumerate() {
            self.check_step(turn, number + 1, requests)?;
        }
        let count = requests.len();
        let is_right = had.is_none_or(|had| had == count);
        ensure!(is_right, Unmet(format!("{name} had {count} turns, not {had:?}")));
        Ok(())
    }

    /// Checks what the model received before this turn.
    fn check_step(&self, step: &Step, turn: usize, requests: &[&Request]) -> Result<()> {
        if step.sees.is_empty() && step.never_sees.is_empty() {
            return Ok(());
        }
        let Some(request) = requests.get(turn) else {
            bail!(Unmet(format!("there is no turn {turn}")));
        };
        let unmet = step.unmet(request, &|text| self.fill(text));
        unmet.map_or(Ok(()), |what| bail!(Unmet(format!("before turn {turn}, {what}"))))
    }

    /// Saves the requests and other results where checks and people find them.
    fn keep(&self, requests: &[Request], left: usize) -> Result<()> {
        let logs = self.logs();
        fs_err::write(logs.join("left"), format!("{left}\n"))?;
        for (turn, request) in requests.iter().filter(|one| one.is_conversation()).enumerate() {
            fs_err::write(logs.join(format!("received.{turn}")), request.received())?;
            fs_err::write(logs.join(format!("first.{turn}")), request.first_message())?;
            fs_err::write(logs.join(format!("tools.{turn}")), request.tools().join("\n"))?;
        }
        let asked: Vec<String> = requests.iter().map(|request| request.body.to_string()).collect();
        Ok(fs_err::write(logs.join("requests"), asked.join("\n"))?)
    }
}

/// Runs a program until it ends, or fails at the deadline. With `sign`, sends SIGTERM when that
/// file exists or does not appear in time.
fn to_the_end(
    command: &mut Command,
    output: &Utf8Path,
    sign: Option<&Utf8Path>,
) -> Result<Option<i32>> {
    let started = Instant::now();
    let output = fs_err::File::create(output)?.into_parts().0;
    command.stdin(Stdio::null()).stdout(output).stderr(Stdio::inherit());
    let mut child = command.spawn().with_context(|| format!("could not start {command:?}"))?;
    if let Some(sign) = sign {
        while !sign.exists() && child.try_wait()?.is_none() && started.elapsed() < DEADLINE / 10 {
            std::thread::sleep(Duration::from_millis(20));
        }
        if child.try_wait()?.is_none() {
            run::output(run::command("kill").args(["-TERM", &child.id().to_string()]))?;
        }
    }
    let Some(status) = child.wait_timeout(DEADLINE)? else {
        child.kill()?;
        child.wait()?;
        bail!(Unmet(format!("it did not end within {:?}", started.elapsed())));
    };
    Ok(status.code())
}
