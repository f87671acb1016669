//! The session that is about to stop: its files, and the rules that apply to it.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state::{Id, LoopDir, SessionDir};
use ralph_core::git::Status;
use ralph_core::plan::{self, Plan, Story};
use ralph_project::config::Config;
use ralph_project::gate::{
    BlockLimits, Blocks, Cause, ContextWindows, Fill, LetGo, Moment, Who, ask_on_disk,
};
use ralph_project::project_plan;
use ralph_project::transcript::{self, Ending};
use ralph_project::under_way::Attempt;

use crate::call::Call;

/// How long to wait for the last answer to appear in the transcript, and how often to check.
const PATIENCE: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(5);

/// What the questions about a stop need, read once.
pub(super) struct Session<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) config: &'a Config,
    /// Whose stop it is: the session's or that of another agent.
    pub(super) who: Who,
    /// The session's existing folders: first the project's, then the one in the home folder.
    pub(super) dirs: Vec<SessionDir>,
    /// The folder for counts and records, which may not exist; `None` if the id is no valid path.
    pub(super) dir: Option<SessionDir>,
    /// The other loop's folder, if it contains a feature list.
    pub(super) loop_dir: Option<LoopDir>,
    /// Whether our loop started the session.
    pub(super) is_ours: bool,
    /// Whether a loop's own gates apply to the session: our loop started it, or its own files or
    /// environment show that another loop did. Other sessions are left alone.
    pub(super) is_bound: bool,
    /// Whether any gate may apply to it; for most sessions none does.
    pub(super) is_gated: bool,
    /// The attempt of our loop that runs in this session.
    pub(super) attempt: Option<Attempt>,
    /// This session's current story and its entry in the plan, if another tool assigned it. Our own
    /// loop judges its stories itself.
    pub(super) own_story: Option<(Id, Option<Story>)>,
    /// What the transcript shows since the last block; empty if it cannot be read.
    ending: Ending,
}

impl<'a> Session<'a> {
    /// Reads the session of a call.
    pub(super) fn new(call: &'a Call<'a>, who: Who) -> Self {
        let (project, config) = (call.project(), call.config());
        let states = [Some(project.own_state()), project.home_state()];
        let mut dirs: Vec<SessionDir> = match call.session_id() {
            Some(id) => states.into_iter().flatten().map(|state| state.session(&id)).collect(),
            None => Vec::new(),
        };
        dirs.dedup();
        dirs.retain(|dir| dir.root().is_dir());
        let loop_dir = call.env.loop_dir().and_then(|dir| call.loop_dir(dir));
        // A list that our own loop works on does not concern a user's session.
        let is_meant = || call.env.run().is_some() || !call.is_outside_run();
        let loop_dir = loop_dir.filter(|_| is_meant());
        let says_so = |dir: &SessionDir| dir.loop_state().exists() || dir.orchestrator().exists();
        let is_ours = call.is_of_our_loop();
        let is_bound = is_ours || loop_dir.is_some() || dirs.iter().any(says_so);
        let is_gated = is_bound || !dirs.is_empty() || config.stop.verify;
        let mut session = Self {
            call,
            config,
            who,
            dirs,
            dir: call.session(),
            loop_dir,
            is_ours,
            is_bound,
            is_gated,
            attempt: None,
            own_story: None,
            ending: Ending::default(),
        };
        if session.who == Who::Session {
            session.find_story();
        }
        session
    }

    fn find_story(&mut self) {
        let call = self.call;
        let story = call.story();
        if !self.is_ours && story.is_none() {
            return;
        }
        let attempt = call.attempt().unwrap_or_else(|error| {
            call.record("gate", &error.to_string());
            None
        });
        if attempt.is_none() {
            self.own_story = story.map(|id| (id.clone(), self.story_in_plan(&id)));
        }
        let run = if self.is_ours { call.env.run() } else { None };
        self.attempt = attempt.filter(|attempt| Some(&attempt.run) == run.as_ref());
    }

    /// Returns a story's entry in the plan. The current story may be in a later plan, while an
    /// earlier one has open stories as well.
    fn story_in_plan(&self, id: &Id) -> Option<Story> {
        let call = self.call;
        let in_plan = |plan: Plan| plan.story(id.as_str()).cloned();
        let elsewhere = || {
            let files =
                project_plan::files(call.project(), call.env, self.config, call.work_root());
            files.iter().find_map(|path| in_plan(plan::load(path, &self.config.plan).ok()?))
        };
        in_plan(self.plan()?).or_else(elsewhere)
    }

    /// Returns the current plan, if there is one. A broken plan is recorded.
    pub(super) fn plan(&self) -> Option<Plan> {
        let call = self.call;
        // The client's current folder moves, so paths are relative to its work folder.
        match project_plan::find(call.project(), call.env, self.config, call.work_root()) {
            Ok(plan) => Some(plan),
            Err(plan::FindError::NotFound { .. }) => None,
            Err(error) => {
                call.record("gate", &error.to_string());
                None
            }
        }
    }

    /// Reads the transcript and returns how full the context is, including the latest answer. The
    /// client writes that a moment after it calls the hook; after a short wait the transcript is
    /// used as it is.
    pub(super) fn read_context(&mut self) -> Option<Fill> {
        let input = self.call.input;
        let path = input.transcript_path.as_ref()?;
        let counted = self.dir.as_ref().and_then(|dir| Blocks::load(dir, false));
        let before = counted.map_or(0, |blocks| blocks.row(&self.who).transcript);
        // Without an earlier block, what has been done since is not needed.
        let since = if before > 0 { before } else { u64::MAX };
        let answer = input.last_assistant_message.as_deref().unwrap_or_default();
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.ending = transcript::ending(path, since).unwrap_or_default();
            let fill = self.fill();
            let is_full = fill.is_some_and(|fill| fill.is_at_limit());
            let is_behind = self.ending.length > 0 && self.ending.is_behind(answer);
            if is_full || !is_behind || Instant::now() >= deadline {
                return fill;
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn fill(&self) -> Option<Fill> {
        let used = self.ending.context?;
        let windows = ContextWindows::load(self.call.project().own_state());
        // If the client has not reported its window, a guess might end sessions too early.
        let window = windows.of(&self.ending.model).filter(|tokens| *tokens > 0)?;
        Some(Fill { used, window, limit: self.config.session.context_limit })
    }

    /// Asks whether a block is allowed; if so, it is counted.
    pub(super) fn ask(
        &self,
        cause: Cause,
        fingerprint: String,
        continuations: u64,
    ) -> Result<(), LetGo> {
        let moment = Moment {
            stop_hook_active: self.was_blocked(),
            fingerprint,
            transcript: self.ending.length,
            tool_called: self.ending.tool_called,
        };
        let cap = self.call.env.client_block_cap();
        let limits = BlockLimits::new(&self.config.stop, cap, continuations);
        let dir = self.dir.as_ref().ok_or(LetGo::NoCount)?;
        let asked = ask_on_disk(dir, &self.who, cause, &moment, limits);
        if asked == Err(LetGo::NoCount) {
            self.call.record("counting", LetGo::NoCount.in_words());
        }
        asked
    }

    /// Whether the turn was blocked before. For other agents our own count is used.
    pub(super) fn was_blocked(&self) -> bool {
        let Some(dir) = self.dir.as_ref().filter(|_| self.call.agent.is_some()) else {
            return self.call.input.stop_hook_active;
        };
        let row = Blocks::load(dir, false).unwrap_or_default().row(&self.who);
        row.in_turn + row.idle > 0
    }

    /// Returns a fingerprint of the work tree without one file: HEAD, and the number, total size
    /// and newest modification time of changed files.
    pub(super) fn work_tree(&self, except: &Utf8Path) -> String {
        let found = self.call.repo().ok().and_then(|repo| Some((Status::read(&repo).ok()?, repo)));
        let Some((status, repo)) = found else { return String::new() };
        let changed = status.changed.iter().filter(|path| !repo.is_untouched(path));
        let changed: Vec<_> = changed.map(|path| repo.top().join(path)).collect();
        let (mut count, mut bytes, mut newest) = (0_u64, 0_u64, 0);
        for path in changed.iter().filter(|path| *path != except.as_std_path()) {
            count += 1;
            // A deleted file has neither size nor time.
            if let Ok(metadata) = fs_err::symlink_metadata(path) {
                bytes = bytes.saturating_add(metadata.len());
                newest = newest.max(changed_at(&metadata));
            }
        }
        format!(" {} {count} {bytes} {newest}", status.head.as_deref().unwrap_or_default())
    }

    /// Returns a fingerprint of the state files that work changes, besides the transcript, and of
    /// `file`. Files that we write when blocking are not included.
    pub(super) fn fingerprint(&self, file: Option<&Utf8Path>) -> String {
        let mut paths: Vec<Utf8PathBuf> = file.into_iter().map(Utf8Path::to_owned).collect();
        for dir in &self.dirs {
            let own = [dir.reads(), dir.loop_state(), dir.orchestrator(), dir.quality_gate()];
            paths.extend(own);
            paths.extend([dir.tasks(), dir.last_verdict()]);
        }
        let looks = paths.iter().filter_map(|path| {
            let metadata = fs_err::metadata(path).ok()?;
            let name = path.file_name().unwrap_or_default();
            Some(format!("{name} {} {}", metadata.len(), changed_at(&metadata)))
        });
        looks.collect::<Vec<_>>().join(", ")
    }
}

/// Returns the modification time of a file, in nanoseconds since 1970.
fn changed_at(metadata: &std::fs::Metadata) -> u128 {
    let changed = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    changed.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}
