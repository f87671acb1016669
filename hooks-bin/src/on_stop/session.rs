//! The session that wants to stop: where its files are, and what it is bound to.

use std::cell::OnceCell;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state::{Id, LoopDir, SessionDir};
use ralph_core::git::Status;
use ralph_core::plan::{self, Plan};
use ralph_project::gate::{
    BlockLimits, Blocks, Cause, LetGo, Moment, Reading, StateFile, Who, ask_on_disk,
};
use ralph_project::known_story::KnownStory;
use ralph_project::project_plan;
use ralph_project::transcript::{self, Ending};
use ralph_project::under_way::Attempt;

use crate::call::Call;

/// How long we wait for the client to write down what it was just told, and how often we look.
const PATIENCE: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(5);

/// A session, looked at once.
pub(super) struct Session<'a> {
    pub(super) call: &'a Call<'a>,
    /// Its folders: the project's, then the one in the home folder.
    dirs: Vec<SessionDir>,
    /// Whose stop it is.
    pub(super) who: Who,
    /// The other loop's folder, if it holds a feature list.
    pub(super) loop_dir: Option<LoopDir>,
    bound: OnceCell<bool>,
}

impl<'a> Session<'a> {
    /// The session of a call.
    pub(super) fn new(call: &'a Call<'a>, who: Who) -> Self {
        let project = call.project();
        let states = [Some(project.own_state()), project.home_state()];
        let mut dirs: Vec<SessionDir> = match Id::parse(&call.input.session_id) {
            Ok(id) => states.into_iter().flatten().map(|state| state.session(&id)).collect(),
            Err(_) => Vec::new(),
        };
        dirs.dedup();
        dirs.retain(|dir| dir.root().is_dir());
        let loop_dir = call.env.loop_dir().map(|dir| LoopDir::at(project.root().join(dir)));
        // A list that our own loop works on is no business of a person's session.
        let is_meant = || call.env.run().is_some() || !call.is_beside_a_run();
        let loop_dir = loop_dir.filter(|dir| dir.feature_list().is_file() && is_meant());
        Self { call, dirs, who, loop_dir, bound: OnceCell::new() }
    }

    /// Whether a loop's own gates concern this session: one that our loop started, or one that
    /// says so itself. Any other session in the project is none of our business.
    pub(super) fn is_bound(&self) -> bool {
        let says_so = |dir: &SessionDir| dir.loop_state().exists() || dir.orchestrator().exists();
        *self.bound.get_or_init(|| {
            let called = self.call.is_of_our_loop() || self.loop_dir.is_some();
            called || self.dirs.iter().any(says_so)
        })
    }

    /// Whether the session has files of its own.
    pub(super) fn has_files(&self) -> bool {
        !self.dirs.is_empty()
    }

    /// The folders that exist.
    pub(super) fn dirs(&self) -> &[SessionDir] {
        &self.dirs
    }

    /// One of its state files, and where it is: the first that is there. A broken one is reported.
    pub(super) fn load<T: StateFile>(&self) -> Option<(T, Utf8PathBuf)> {
        for dir in &self.dirs {
            match T::load(dir) {
                Reading::Missing => {}
                Reading::Found(file) => return Some((file, T::path(dir))),
                Reading::Broken(broken) => {
                    self.call.record("gate", &broken.to_string());
                    return None;
                }
            }
        }
        None
    }

    /// The attempt that our loop has under way in this session.
    pub(super) fn attempt(&self) -> Option<Attempt> {
        let run = self.call.env.run().filter(|_| self.call.is_of_our_loop())?;
        self.any_attempt().filter(|attempt| attempt.run == run)
    }

    fn any_attempt(&self) -> Option<Attempt> {
        self.call.attempt().unwrap_or_else(|error| {
            self.call.record("gate", &error.to_string());
            None
        })
    }

    /// The story under way, if it is this session's and another tool gives it out. Our own loop
    /// judges its stories itself.
    pub(super) fn own_story(&self) -> Option<Id> {
        self.call.story().filter(|_| self.any_attempt().is_none())
    }

    /// The plan that is worked on; none if there is none. A broken one is reported.
    pub(super) fn plan(&self) -> Option<Plan> {
        let call = self.call;
        // The client's folder moves with the agent, so paths are meant from where it works.
        match project_plan::find(call.project(), call.env, call.config(), call.work_root()) {
            Ok(plan) => Some(plan),
            Err(plan::FindError::NotFound { .. }) => None,
            Err(error) => {
                self.call.record("gate", &error.to_string());
                None
            }
        }
    }

    /// What the plan says about a story. Reading a long plan takes longer than all the rest, so the
    /// answer is kept for as long as no file of the plan changes.
    pub(super) fn known_story(&self, id: &Id) -> Option<KnownStory> {
        let call = self.call;
        let options = &call.config().plan;
        let files = project_plan::files(call.project(), call.env, call.config(), call.work_root());
        let kept = call.session().filter(|_| self.has_files()).map(|dir| dir.known_story());
        let told = |plan: Plan| plan.story(id.as_str()).map(KnownStory::of);
        // A story may be under way in a later plan while an earlier one has open stories as well.
        let elsewhere = || files.iter().find_map(|path| told(plan::load(path, options).ok()?));
        ralph_project::known_story::known_story(
            id.as_str(),
            &files,
            options,
            kept.as_deref(),
            || told(self.plan()?).or_else(elsewhere),
        )
    }

    /// What the transcript says since the last block; nothing where it cannot be read.
    pub(super) fn ending(&self) -> Ending {
        let Some(path) = &self.call.input.transcript_path else { return Ending::default() };
        let counted = self.call.session().and_then(|dir| Blocks::load(&dir, false));
        let before = counted.map(|blocks| blocks.row(&self.who).transcript);
        // Without a block before, nobody asks what was done since.
        let since = before.filter(|length| *length > 0).unwrap_or(u64::MAX);
        transcript::ending(path, since).unwrap_or_default()
    }

    /// The same once the answer that was just given is part of it; the client writes it a moment
    /// after it asks us, and after a short while we take what is there.
    pub(super) fn caught_up(&self, mut ending: Ending) -> Ending {
        let answer = self.call.input.last_assistant_message.as_deref().unwrap_or_default();
        let deadline = Instant::now() + PATIENCE;
        while ending.is_behind(answer) && Instant::now() < deadline {
            std::thread::sleep(PAUSE);
            ending = self.ending();
        }
        ending
    }

    /// Asks for a block; granted, it is counted.
    pub(super) fn ask(
        &self,
        cause: Cause,
        ending: &Ending,
        fingerprint: String,
        continuations: u64,
    ) -> Result<(), LetGo> {
        let moment = Moment {
            stop_hook_active: self.call.input.stop_hook_active,
            fingerprint,
            transcript: ending.length,
            tool_called: ending.tool_called,
        };
        let cap = self.call.env.client_block_cap();
        let limits = BlockLimits::new(&self.call.config().stop, cap, continuations);
        let dir = self.call.session().ok_or(LetGo::NoCount)?;
        let asked = ask_on_disk(&dir, &self.who, cause, &moment, limits);
        if asked == Err(LetGo::NoCount) {
            self.call.record("counting", LetGo::NoCount.told());
        }
        asked
    }

    /// How the work tree looks, all but one file: what is checked out, and how many files of which
    /// size are changed since when.
    pub(super) fn work_tree(&self, except: &Utf8Path) -> String {
        let found = self.call.repo().ok().and_then(|repo| Some((Status::read(&repo).ok()?, repo)));
        let Some((status, repo)) = found else { return String::new() };
        let changed = status.changed.iter().filter(|path| !repo.is_untouched(path));
        let changed: Vec<_> = changed.map(|path| repo.top().join(path)).collect();
        let (mut count, mut bytes, mut newest) = (0_u64, 0_u64, 0);
        for path in changed.iter().filter(|path| *path != except.as_std_path()) {
            count += 1;
            // One that is gone has no size and no time.
            if let Ok(metadata) = fs_err::symlink_metadata(path) {
                bytes = bytes.saturating_add(metadata.len());
                newest = newest.max(changed_at(&metadata));
            }
        }
        format!(" {} {count} {bytes} {newest}", status.head.as_deref().unwrap_or_default())
    }

    /// How everything looks that work leaves behind besides the transcript, and a file of the
    /// caller's. What we ourselves write at a block is not part of it.
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

/// When a file was changed last, in nanoseconds since 1970.
fn changed_at(metadata: &std::fs::Metadata) -> u128 {
    let changed = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    changed.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}
