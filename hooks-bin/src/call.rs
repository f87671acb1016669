//! One call of a hook: the input, and queries about the project it was called in.
//!
//! Everything is read lazily, because most calls need very little.

use std::cell::OnceCell;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;
use ralph_base::state::{
    self, Event, HookFailure, Id, Journal, Lock, LoopDir, Marks, RunDir, SessionDir, StateDir,
    StoryKey, plan_name,
};
use ralph_core::git::{Repo, RepoError};
use ralph_core::guard::{self, Edit, Facts, Glob};
use ralph_core::hook::Input;
use ralph_project::config::check::mistake_beside_guard;
use ralph_project::config::{Config, FindMistake};
use ralph_project::dialect::Dialect;
use ralph_project::known_files::KnownFiles;
use ralph_project::project::Project;
use ralph_project::strikes::{self, Bound};
use ralph_project::surroundings::{Surroundings, scope_of};
use ralph_project::under_way::Attempt;
use shell_reader::Script;

/// How many files a pattern may match; no agent reads more at once.
const MOST_FITTING: usize = 100;

/// One call of a hook.
#[derive(Debug)]
pub struct Call<'a> {
    /// The hook's name.
    pub hook: &'static str,
    /// The input that the client sent.
    pub input: &'a Input,
    /// The environment variables of the process.
    pub env: &'a Env,
    /// The agent that sent the input, if it is not Claude Code.
    pub agent: Option<&'static Dialect>,
    /// What finds a mistake in the settings.
    pub mistake: FindMistake,
    project: OnceCell<Project>,
    config: OnceCell<Config>,
    story: OnceCell<Option<Id>>,
}

impl<'a> Call<'a> {
    /// Creates a call with this input.
    pub fn new(hook: &'static str, input: &'a Input, env: &'a Env) -> Self {
        Self {
            hook,
            input,
            env,
            agent: None,
            mistake: mistake_beside_guard,
            project: OnceCell::new(),
            config: OnceCell::new(),
            story: OnceCell::new(),
        }
    }

    /// Returns the project whose state and settings apply.
    pub fn project(&self) -> &Project {
        self.project.get_or_init(|| Project::locate(self.env, &self.cwd()))
    }

    /// Returns the client's work folder: the copy in a session of our loop, else the project.
    pub fn work_root(&self) -> &Utf8Path {
        self.project().work_root()
    }

    /// Opens the repository of the work folder.
    pub fn repo(&self) -> Result<Repo, RepoError> {
        Repo::open(self.work_root())
    }

    /// Returns the settings. A broken file is recorded, and the defaults apply.
    pub fn config(&self) -> &Config {
        self.config.get_or_init(|| {
            let path = self.project().own_state().config();
            let (config, error) = Config::load_or_default(&path, self.env, self.mistake);
            if let Some(error) = error {
                self.record("configuration", &error.to_string());
            }
            config
        })
    }

    /// Returns what a guard needs to know about a command line.
    pub fn facts(&self, command: &str) -> Facts {
        let session = self.session_id();
        self.surroundings(session.as_ref()).of_command(&self.cwd(), command)
    }

    /// Returns what a guard needs to know about an edit, except whether the file was read.
    pub fn edit(&self, path: &Utf8Path) -> Edit {
        let session = self.session_id();
        Edit { scope: self.scope(), ..self.surroundings(session.as_ref()).of_edit(path) }
    }

    /// Returns the globs that limit the session's edits; empty for a session without a story.
    pub fn scope(&self) -> Vec<String> {
        let set = &self.config().scope;
        if set.paths.is_empty() && set.stories.is_empty() {
            return Vec::new();
        }
        self.story().map(|story| scope_of(story.as_str(), self.config())).unwrap_or_default()
    }

    fn surroundings<'s>(&'s self, session: Option<&'s Id>) -> Surroundings<'s> {
        Surroundings { project: self.project(), env: self.env, config: self.config(), session }
    }

    /// Returns the client's current folder.
    pub fn cwd(&self) -> Utf8PathBuf {
        self.input.cwd.clone().or_else(working_directory).unwrap_or_default()
    }

    /// Makes a path from a tool call absolute.
    pub fn absolute(&self, path: &Utf8Path) -> Utf8PathBuf {
        if path.is_absolute() { path.to_owned() } else { self.cwd().join(path) }
    }

    /// Returns the files that the agent has seen in this session.
    pub fn known_files(&self) -> KnownFiles {
        let own = self.session().map(|session| session.reads());
        // Older setups send no session id; then all sessions share a log.
        let own = own.or_else(|| Some(self.project().state()?.shared_reads()));
        KnownFiles::new(own, vec![self.project().own_state().shared_reads()])
    }

    /// Records the files that a command line shows to the agent or writes, and the new paths of
    /// known files that it is about to move or copy.
    pub fn record_command(&self, script: &Script, facts: &Facts) -> io::Result<()> {
        let known = self.known_files();
        let read = guard::reads(script, facts).into_iter().flat_map(|path| fitting(&path));
        let written = guard::writes(script, facts).into_iter().filter(|path| path.is_file());
        read.chain(written).try_for_each(|file| known.record(&file))?;
        for (from, to) in guard::moves(script, facts) {
            let sources = if from.is_dir() { vec![from] } else { fitting(&from) };
            sources.iter().try_for_each(|source| known.follow(source, &to))?;
        }
        Ok(())
    }

    /// Returns the session's own folder; `None` if its id cannot be part of a path.
    pub fn session(&self) -> Option<SessionDir> {
        Some(self.project().state()?.session(&self.session_id()?))
    }

    /// Returns the session's facts that decide whether another loop's checkpoint applies to it.
    pub fn bound(&self) -> Bound {
        Bound::of(self.input.transcript_path.as_deref(), self.session().as_ref())
    }

    /// Returns the session's id; `None` if it cannot be part of a path.
    pub fn session_id(&self) -> Option<Id> {
        Id::parse(&self.input.session_id).ok()
    }

    /// Whether our loop started this very session. A session that its agent starts in turn inherits
    /// the loop's variables, but not the story.
    pub fn is_of_our_loop(&self) -> bool {
        let working = || state::read_text(self.project().own_state().working_session()).ok();
        self.env.run().is_some() && working().is_none_or(|id| id.trim() == self.input.session_id)
    }

    /// Whether a user started the session, not a loop, so that someone can be asked.
    pub fn is_a_persons(&self) -> bool {
        let has_list = || self.env.loop_dir().is_some_and(|dir| self.loop_dir(dir).is_some());
        self.agent.is_none() && self.env.run().is_none() && self.story().is_none() && !has_list()
    }

    /// Returns the folder of another loop, if it contains a feature list.
    pub fn loop_dir(&self, dir: Utf8PathBuf) -> Option<LoopDir> {
        let dir = LoopDir::at(self.project().root().join(dir));
        dir.feature_list().is_file().then_some(dir)
    }

    /// Returns the folder with our loop's records of its run; `None` outside of a repository.
    pub fn run_dir(&self) -> Option<RunDir> {
        self.project().run_dir()
    }

    /// Whether a loop is running in the project. An agent that outlived its loop must not act for
    /// it, and with `--in-place` the tree may be the user's again.
    pub fn is_loop_alive(&self) -> bool {
        self.run_dir().is_some_and(|run| Lock::holder(&run.lock()).is_some())
    }

    /// Returns the attempt of our loop in the project, in whatever session it runs.
    pub fn attempt(&self) -> io::Result<Option<Attempt>> {
        self.run_dir().map_or(Ok(None), |run| Attempt::load(&run))
    }

    /// Whether our loop is running in the project for another session, so that checkpoint, story
    /// and strikes do not apply to this one: a user's own session, or one that outlived its run.
    pub fn is_outside_run(&self) -> bool {
        let run = self.env.run();
        match self.attempt() {
            Ok(Some(attempt)) => run != Some(attempt.run),
            Ok(None) => run.is_none() && self.is_loop_alive(),
            // The attempt cannot be read, but it exists, so it belongs to a run.
            Err(_) => run.is_none(),
        }
    }

    /// Records the session as the one that works for our loop, if it is the first to call a hook.
    pub fn claim_work(&self) {
        let path = self.project().own_state().working_session();
        if self.env.run().is_some() && self.project().takes_part() && !path.exists() {
            // Without the file every session of the run counts, as without this hook.
            let _ = state::replace(&path, self.input.session_id.as_bytes());
        }
    }

    /// Returns the current story, if it belongs to this session's loop: to ours, or to another one
    /// whose checkpoint applies to the session.
    pub fn story(&self) -> Option<Id> {
        let find = || {
            let text = state::read_text(self.project().own_state().current_story()).ok()?;
            let is_bound = || self.env.run().is_some() || self.has_checkpoint();
            Id::parse(text.trim()).ok().filter(|_| is_bound() && !self.is_outside_run())
        };
        self.story.get_or_init(find).clone()
    }

    fn has_checkpoint(&self) -> bool {
        let state = self.project().own_state();
        let (Ok(Some(found)), Ok(repo)) = (strikes::checkpoint(state), self.repo()) else {
            return false;
        };
        matches!(self.bound().stale(state, &found, &repo), Ok(None))
    }

    /// Returns the current story, prefixed with its plan if our loop's attempt names that.
    pub fn story_key(&self) -> Option<String> {
        let story = self.story()?;
        let attempt = self.attempt().ok().flatten();
        let attempt = attempt.filter(|attempt| attempt.story == story.as_str());
        Some(attempt.map_or_else(
            || story.to_string(),
            |attempt| {
                let plan = plan_name(self.project().root(), &attempt.plan);
                StoryKey::new(&plan, story.as_str()).to_string()
            },
        ))
    }

    /// Writes an event to the journal. If that fails, the decision that was made still stands.
    pub fn journal(&self, event: &Event) {
        let Some(state) = self.prepared_state() else { return };
        let marks = Marks {
            session: Some(self.input.session_id.clone()).filter(|id| !id.is_empty()),
            run: self.env.run(),
            story: self.story().map(|id| id.to_string()),
            ..Marks::default()
        };
        let _ = Journal::new(state, self.hook).marked(marks).append(event);
    }

    /// Records an internal failure where the loop and the user will see it.
    pub fn record(&self, phase: &str, error: &str) {
        let failure = HookFailure {
            hook_event: Some(self.input.event.clone()).filter(|event| !event.is_empty()),
            phase: phase.to_owned(),
            error: error.to_owned(),
        };
        if let Some(state) = self.prepared_state() {
            let _ = failure.save(state, self.hook);
        }
        self.journal(&Event::HookError { failure });
    }

    fn prepared_state(&self) -> Option<&StateDir> {
        let project = self.project();
        if project.takes_part() {
            // Best effort: on a full disk there is nothing to hide from git either.
            let _ = project.own_state().prepare();
        }
        project.state()
    }
}

/// Returns the file of this name, or the files that a pattern such as `src/*.rs` matches.
fn fitting(path: &Utf8Path) -> Vec<Utf8PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
    let (true, Ok(glob)) = (name.contains(['*', '?', '[']), Glob::new(name)) else {
        return Vec::new();
    };
    let files = folder.read_dir_utf8().into_iter().flatten().flatten();
    let files = files.filter(|entry| glob.is_match(entry.file_name())).map(|e| e.into_path());
    files.filter(|file| file.is_file()).take(MOST_FITTING).collect()
}

fn working_directory() -> Option<Utf8PathBuf> {
    Utf8PathBuf::from_path_buf(std::env::current_dir().ok()?).ok()
}
