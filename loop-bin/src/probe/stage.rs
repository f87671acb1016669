//! A scratch project for one play: a run of ours with the installed client, in an environment without anything of the
//! user's, and what was seen of it.

use std::collections::BTreeMap;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use client::seen_in_log;
use ralph_base::env::Env;
use ralph_base::linux::{self, Process};
use ralph_base::state::{Event, Journal, StateDir};
use ralph_base::supervised::{self, Door};
use ralph_core::git::Git;
use scripted_model::{Model, Reach, Request, Script, Step};
use serde::Deserialize;

use crate::exit::Failure;

/// The variable that replaces the limit in tests, many of which run at the same time.
const PATIENCE: &str = "RALPH_INTERNAL__PROBE_SECONDS";

/// How long a play may take on a machine that is not busy.
const LIMIT: Duration = Duration::from_secs(15);

/// How many times as long it may take at most on one that is.
const MOST_BUSY: u32 = 10;

/// What the client and its tools need of the user's environment.
const KEPT: [&str; 10] = [
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "USER",
    "LOGNAME",
    "SHELL",
    "LD_LIBRARY_PATH",
    "TMPDIR",
];

/// How many events are read.
const MOST_EVENTS: usize = 200;

const PLAN: &str = "# Plan\n\n- [ ] US-001: Write one\n";
const CHECK: &str = "[ \"$(cat one.txt 2>/dev/null)\" != wrong ] || { echo 'not ok 1 - adds up'; exit 1; }\n\
                     echo 'ok 1 - adds up'\n";
const CONFIG: &str = "[verify]\ncommands = [\"sh check.sh\"]\nbaseline = \"skip\"\nprove = \"off\"\n\
                      [tests]\ncommands = [\"sh check.sh\"]\n[stop]\nverify = true\n[agent]\nprobe = \"off\"\n\
                      grace = 1\n[limits]\nattempts_per_story = 1\n";

/// What the model does in one play.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Play {
    pub(super) steps: Vec<Step>,
}

/// What a probe starts.
pub(super) struct Asked<'a> {
    pub(super) env: &'a Env,
    pub(super) agent: &'static str,
    /// The agent's command line, and the mode of the sandbox.
    pub(super) line: &'a str,
    pub(super) sandbox: &'a str,
    pub(super) stop: &'a (dyn Fn() -> bool + Sync),
}

/// What was seen of a play.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The requests of agents, and the text of all requests.
    pub(super) turns: Vec<Request>,
    pub(super) asked: String,
    /// The journal: sources and events.
    pub(super) journal: Vec<(String, Event)>,
    pub(super) model: String,
    pub(super) tokens: u64,
    /// What the file holds that must be read before it is edited.
    pub(super) notes: String,
    /// Files that were written outside of the copy.
    pub(super) escaped: Vec<Utf8PathBuf>,
    /// How many processes were left, where that is known.
    pub(super) left: Option<usize>,
    pub(super) printed: String,
    pub(super) is_over: bool,
    /// For each step, what of the expected passages was not received; without it, the step was not reached.
    pub(super) unmet: Vec<Option<String>>,
}

/// Plays one play.
pub(super) fn play(asked: &Asked<'_>, folder: &Utf8Path, play: &Play) -> Result<Seen, Failure> {
    let (root, home) = (folder.join("project"), folder.join("home"));
    let copies = folder.join("copies");
    make_project(&root, &home)?;
    let copy = copies.join(work_copy::cache::name_of(&root)).join("1");
    let names = [("ROOT", &root), ("HOME", &home), ("COPY", &copy)];
    let fill = |text: &str| {
        names.iter().fold(text.to_owned(), |text, (name, path)| {
            text.replace(&format!("{{{name}}}"), path.as_str())
        })
    };
    let answers = Step::answers(&play.steps, &fill, 0).map_err(Failure::because)?;
    let model = Model::start_for(asked.agent, Script::of(answers))?;
    let reach = Reach::find(asked.agent, &model.base_url()).unwrap_or_default();
    for (name, text) in &reach.settings {
        write(&home.join(name), text)?;
    }
    let program = linux::own_program()?;
    let mut run = Door::default().command(&program.to_string_lossy());
    run.args(["--unguarded", "--agent", asked.line, "--sandbox", asked.sandbox]);
    run.args(["--workspace-folder", copies.as_str()]);
    run.current_dir(&root).env_clear();
    run.envs(KEPT.iter().filter_map(|name| Some((name, asked.env.get(name)?))));
    run.env("HOME", &home).env("RALPH_ROOT", &root).env("GIT_CONFIG_NOSYSTEM", "1");
    // Whatever else it asks for ends at the model, which knows nothing of it.
    run.env("HTTPS_PROXY", model.base_url()).env("NO_PROXY", "127.0.0.1,localhost");
    run.envs(&reach.env);
    let given = asked.env.get(PATIENCE).and_then(|seconds| seconds.parse().ok());
    let usual = || LIMIT * linux::busy().min(MOST_BUSY);
    let limit = given.map_or_else(usual, Duration::from_secs);
    let (end, printed) = supervised::run(run, b"", Some(limit), &|| (asked.stop)(), None)?;
    let left = left_in(&home);
    sandbox::end(&|| left_in(&home).unwrap_or_default(), Duration::ZERO, &|| true);
    let turns: Vec<Request> = model.conversation();
    let unmet = play
        .steps
        .iter()
        .enumerate()
        .map_while(|(number, step)| turns.get(number + 1).map(|next| step.unmet(next, &fill)));
    let mut seen = Seen {
        unmet: unmet.collect(),
        asked: model.requests().iter().map(|one| one.body.to_string()).collect(),
        escaped: [&root, &home]
            .map(|outside| outside.join("escaped"))
            .into_iter()
            .filter(|it| it.exists())
            .collect(),
        left: left.map(|left| left.len()),
        is_over: matches!(end, supervised::CheckEnd::Exited(_)),
        turns,
        printed,
        ..Seen::default()
    };
    seen.read(&root)?;
    Ok(seen)
}

impl Seen {
    /// Reads what the run wrote: its journal and the agent's output.
    fn read(&mut self, root: &Utf8Path) -> Result<(), Failure> {
        let state = StateDir::of_project(root);
        self.notes = fs_err::read_to_string(root.join("notes.txt"))?;
        // A run that did not start has no journal.
        let records = Journal::new(&state, "").tail(MOST_EVENTS).unwrap_or_default();
        self.journal = records.into_iter().map(|record| (record.source, record.event)).collect();
        for entry in state.logs().read_dir_utf8().into_iter().flatten().flatten() {
            let Ok(seen) = seen_in_log(entry.path(), 0, client::Totals::default()) else {
                continue;
            };
            self.tokens += seen.tokens;
            if !seen.context.model.is_empty() {
                self.model = seen.context.model;
            }
        }
        Ok(())
    }
}

impl Seen {
    /// Whether the journal has such an event.
    pub(super) fn has(&self, is_wanted: impl Fn(&Event) -> bool) -> bool {
        self.journal.iter().any(|(_, event)| is_wanted(event))
    }

    /// How the iterations ended, in order.
    pub(super) fn outcomes(&self) -> impl Iterator<Item = &str> {
        self.journal.iter().filter_map(|(_, event)| match event {
            Event::IterationFinished { outcome, .. } => Some(outcome.as_str()),
            _ => None,
        })
    }
}

fn make_project(root: &Utf8Path, home: &Utf8Path) -> Result<(), Failure> {
    let state = StateDir::of_project(root);
    fs_err::create_dir_all(home)?;
    // In a script, so that only the sandbox can refuse it.
    let outside = format!("echo out >'{root}/escaped'\necho out >'{home}/escaped'\necho tried\n");
    let files = BTreeMap::from([
        (root.join("outside.sh"), outside.as_str()),
        (state.plan(1), PLAN),
        (state.config(), CONFIG),
        (root.join("check.sh"), CHECK),
        (root.join("notes.txt"), "first\n"),
    ]);
    for (path, text) in files {
        write(&path, text)?;
    }
    state.prepare()?;
    let git = Git::at(root.as_std_path());
    for args in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["config", "user.name", "Ralph's probe"],
        &["config", "user.email", "probe@localhost"],
        &["config", "commit.gpgsign", "false"],
        &["add", "--all"],
        &["commit", "--quiet", "--no-verify", "--message=A project to probe in"],
    ] {
        git.run(args)?;
    }
    Ok(())
}

fn write(path: &Utf8Path, text: &str) -> Result<(), Failure> {
    path.parent().map_or(Ok(()), fs_err::create_dir_all)?;
    Ok(fs_err::write(path, text)?)
}

/// The processes with this home folder.
fn left_in(home: &Utf8Path) -> Option<Vec<Process>> {
    let mark = format!("HOME={home}").into_bytes();
    let mut all = linux::processes()?;
    all.retain(|one| !one.is_dead && linux::variables(one.pid).contains(&mark));
    Some(all)
}
