//! One call of a hook: the input, and what can be asked about the project around it.
//!
//! Everything is looked up when it is asked for, because most calls need next to nothing.

use std::cell::OnceCell;

use camino::{Utf8Path, Utf8PathBuf};
use globset::Glob;
use ralph_core::config::Config;
use ralph_core::env::Env;
use ralph_core::git::{Repo, RepoError};
use ralph_core::guard::{self, Facts};
use ralph_core::hook::Input;
use ralph_core::known_files::{KnownFiles, ReadLog, Sight};
use ralph_core::project::Project;
use ralph_core::shell::Script;
use ralph_core::state::{Event, HookFailure, Id, Journal, Lock, Marks, SessionDir, StateDir};

/// More files than this nobody reads at once.
const MOST_FITTING: usize = 100;

/// One call of a hook.
#[derive(Debug)]
pub struct Call<'a> {
    /// The hook's name.
    pub hook: &'static str,
    /// What the client sent.
    pub input: &'a Input,
    /// The variables around us.
    pub env: &'a Env,
    project: OnceCell<Project>,
    config: OnceCell<Config>,
}

impl<'a> Call<'a> {
    /// A call with this input.
    pub fn new(hook: &'static str, input: &'a Input, env: &'a Env) -> Self {
        Self { hook, input, env, project: OnceCell::new(), config: OnceCell::new() }
    }

    /// The project that the client works in.
    pub fn project(&self) -> &Project {
        self.project.get_or_init(|| Project::locate(self.env, &self.cwd()))
    }

    /// Its repository; what a loop that runs here prints into is none of its files.
    pub fn repo(&self) -> Result<Repo, RepoError> {
        let repo = Repo::open(self.project().root())?;
        let holder = Lock::holder(&self.project().own_state().lock()).and_then(|held| held.by);
        Ok(match holder {
            Some(looping) => repo.sparing_outputs_of(looping.pid),
            None => repo,
        })
    }

    /// The settings. A broken file is recorded and the defaults hold.
    pub fn config(&self) -> &Config {
        self.config.get_or_init(|| {
            let path = self.project().own_state().config();
            let (config, error) = Config::load_or_default(&path, self.env);
            if let Some(error) = error {
                self.record("configuration", &error.to_string());
            }
            config
        })
    }

    /// Where the client works.
    pub fn cwd(&self) -> Utf8PathBuf {
        self.input.cwd.clone().or_else(working_directory).unwrap_or_default()
    }

    /// A path that a tool was given, made absolute.
    pub fn absolute(&self, path: &Utf8Path) -> Utf8PathBuf {
        if path.is_absolute() { path.to_owned() } else { self.cwd().join(path) }
    }

    /// The files that the agent has seen in this session.
    pub fn known_files(&self) -> KnownFiles {
        let shared = self.project().own_state().shared_reads();
        match self.session() {
            Some(session) => KnownFiles::new(
                Some(ReadLog::indexed(session.reads(), session.reads_index())),
                vec![ReadLog::indexed(shared, session.shared_reads_index())],
            ),
            None => KnownFiles::new(None, vec![ReadLog::at(shared)]),
        }
    }

    /// Records the files that a command line shows to the agent or writes.
    pub fn record_command(&self, script: &Script, facts: &Facts) -> std::io::Result<()> {
        let known = self.known_files();
        for path in guard::reads(script, facts) {
            for file in fitting(&path) {
                known.record(Sight::Read, &file)?;
            }
        }
        for path in guard::writes(script, facts).iter().filter(|path| path.is_file()) {
            known.record(Sight::Wrote, path)?;
        }
        Ok(())
    }

    /// Records the files of which the searches on a command line have printed lines.
    pub fn record_matches(
        &self,
        script: &Script,
        facts: &Facts,
        output: &str,
    ) -> std::io::Result<()> {
        let known = self.known_files();
        let matched = guard::matched(script, output, facts);
        for path in matched.iter().filter(|path| path.is_file()).take(MOST_FITTING) {
            known.record(Sight::Read, path)?;
        }
        Ok(())
    }

    /// The session's own folder; none if its id cannot be part of a path.
    pub fn session(&self) -> Option<SessionDir> {
        let id = Id::parse(&self.input.session_id).ok()?;
        Some(self.project().state()?.session(&id))
    }

    /// Whether our loop started this very session. One that its agent starts in turn inherits the
    /// loop's variables, but not the story.
    pub fn is_of_our_loop(&self) -> bool {
        let working = || fs_err::read_to_string(self.project().own_state().working_session()).ok();
        self.env.run().is_some() && working().is_none_or(|id| id.trim() == self.input.session_id)
    }

    /// Whether a loop is at work in the project. An agent that outlived its loop has nobody to work
    /// for, and the tree may be the user's again.
    pub fn is_loop_alive(&self) -> bool {
        Lock::holder(&self.project().own_state().lock()).is_some()
    }

    /// Notes the session as the one that works for our loop, if it is the first to speak.
    pub fn claim_work(&self) {
        let path = self.project().own_state().working_session();
        if self.env.run().is_some() && self.project().takes_part() && !path.exists() {
            // Without the note every session of the run counts, as it does without this hook.
            let _ = ralph_core::state::replace(&path, self.input.session_id.as_bytes());
        }
    }

    /// The story under way.
    pub fn story(&self) -> Option<Id> {
        let text = fs_err::read_to_string(self.project().own_state().current_story()).ok()?;
        Id::parse(text.trim()).ok()
    }

    /// Writes an event into the journal. A journal that cannot be written is no reason to fail a
    /// decision that was made.
    pub fn journal(&self, event: &Event) {
        let Some(state) = self.prepared_state() else { return };
        let marks = Marks {
            session: Some(self.input.session_id.clone()).filter(|id| !id.is_empty()),
            run: self.env.run(),
            story: self.story().map(|id| id.to_string()),
        };
        let _ = Journal::new(state, self.hook).marked(marks).append(event);
    }

    /// Leaves an internal failure where the loop and the user will see it.
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
            // Best effort: on a full disk there is nothing to keep out of git either.
            let _ = project.own_state().prepare();
        }
        project.state()
    }
}

/// The file of this name, or the files that a pattern such as `src/*.rs` stands for.
fn fitting(path: &Utf8Path) -> Vec<Utf8PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
    let (true, Ok(glob)) = (name.contains(['*', '?', '[']), Glob::new(name)) else {
        return Vec::new();
    };
    let fits = glob.compile_matcher();
    let files = folder.read_dir_utf8().into_iter().flatten().flatten();
    let files = files.filter(|entry| fits.is_match(entry.file_name())).map(|e| e.into_path());
    files.filter(|file| file.is_file()).take(MOST_FITTING).collect()
}

fn working_directory() -> Option<Utf8PathBuf> {
    Utf8PathBuf::from_path_buf(std::env::current_dir().ok()?).ok()
}
