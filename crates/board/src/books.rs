//! Plan, progress and lessons: where they are stored, and how they change.
//!
//! One rule: **files that git tracks change by commits, all others on disk.** So the user's
//! checkout never shows a change of ours, and the user may switch branches or stash at any time.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::secrets::mask;
use ralph_base::state::{self, Cap, RunDir, StateDir, plan_name};
use ralph_core::git::GitError;
use ralph_core::plan::{self, Options, Plan, agents_plan};
use ralph_project::config::{Config, LoopSettings, PullRequests};
use ralph_project::failure::Failure;
use ralph_project::progress::ProgressEntry;
use ralph_project::project::Project;
use ralph_project::strikes::LESSONS_TITLE;

use work_copy::Source;
use work_copy::git_output::text_at;

use crate::commit::NewCommit;
use crate::local::{Board, Tip};
use crate::loop_files::{Appended, Change, LoopFile, PlanChanges, PlanFiles, contains, marks_of};

/// The title of a new progress file.
const TITLE: &str = "# Progress Log\n";

/// How often, and at which interval, a plan that another process is writing is read again.
const MOST_LOOKS: usize = 100;
const PULSE: Duration = Duration::from_millis(10);

const SECONDS: usize = "2026-01-01T00:00:00".len();

/// Texts of files by commit and path; `None` for a file that the commit lacks.
type KnownTexts = HashMap<(String, PathBuf), Option<Vec<u8>>>;

/// The plan, progress and lessons of a run.
#[derive(Debug)]
pub struct Books {
    /// The path of the plan.
    pub plan: Utf8PathBuf,
    /// The path of the progress file.
    pub progress: Utf8PathBuf,
    /// The progress and lessons files.
    appended: [Appended; 2],
    /// How the plan is parsed.
    pub options: Options,
    source: Source,
    /// Git's lock on the index of the user's checkout.
    index_lock: PathBuf,
    /// A cache of texts in commits, which never change.
    known: RefCell<KnownTexts>,
    /// Blocked stories that the user wants retried; they count as open.
    pub asked_for: Vec<String>,
    /// Whether progress and lessons stay out of commits: story branches would conflict in them.
    keeps_back: bool,
}

/// Returns the path of the progress file: beside the plan unless configured otherwise.
pub fn progress_path(settings: &LoopSettings, root: &Utf8Path, plan: &Utf8Path) -> Utf8PathBuf {
    match settings.progress.as_str() {
        "" => StateDir::progress_beside(plan),
        path => root.join(path),
    }
}

impl Books {
    /// Creates the books of a plan.
    pub fn of(
        plan: &Utf8Path,
        project: &Project,
        config: &Config,
        source: &Source,
        run_dir: &RunDir,
    ) -> Self {
        let path = progress_path(&config.run, project.root(), plan);
        let keeps_back = config.finish.pr == PullRequests::Story;
        let name = plan_name(project.root(), plan) + if keeps_back { "-in-requests" } else { "" };
        let pending = run_dir.progress_pending(&name);
        let progress = Appended { path: path.clone(), pending, title: TITLE };
        let (guardrails, pending) = (project.own_state().guardrails(), run_dir.lessons());
        let lessons = Appended { path: guardrails, pending, title: LESSONS_TITLE };
        Self {
            plan: plan.to_owned(),
            progress: path,
            appended: [progress, lessons],
            options: config.plan.clone(),
            source: source.clone(),
            index_lock: source.git_dir.join("index.lock"),
            known: RefCell::default(),
            asked_for: Vec::new(),
            keeps_back,
        }
    }

    /// Returns a path relative to the top of the repository; `None` if it is outside.
    fn below_top(&self, path: &Utf8Path) -> Option<PathBuf> {
        self.source.below_top(path).map(PathBuf::from)
    }

    /// Returns the files that an attempt works with.
    pub fn files(&self) -> PlanFiles {
        let (plan, progress) = (self.plan.clone(), self.progress.clone());
        PlanFiles { plan, progress, options: self.options.clone(), ours: self.ours() }
    }

    /// Returns the files that only the loop writes, from the top of the repository.
    pub fn ours(&self) -> Vec<PathBuf> {
        let beside = StateDir::loop_progress_beside(&self.plan);
        let paths = [&self.plan, &beside].into_iter();
        let paths = paths.chain(self.appended.iter().map(|file| &file.path));
        paths.filter_map(|path| self.below_top(path)).collect()
    }

    /// Returns the text of a file in a commit.
    fn committed(&self, tip: Option<&str>, path: &Utf8Path) -> Option<Vec<u8>> {
        let key = (tip?.to_owned(), self.below_top(path)?);
        if let Some(text) = self.known.borrow().get(&key) {
            return text.clone();
        }
        let text = text_at(&self.source.git(), &key.0, &key.1);
        self.known.borrow_mut().insert(key, text.clone());
        text
    }

    /// Caches the texts of a commit on top of `base`, and unchanged ones unless hooks altered it.
    pub fn remember(&self, base: Option<&str>, made: &NewCommit, files: &[LoopFile]) {
        let mut known = self.known.borrow_mut();
        // Texts of older commits are rarely needed again.
        known.retain(|(of, _), _| Some(of.as_str()) == base);
        let mut new = if made.is_altered { KnownTexts::new() } else { known.clone() };
        new = new.drain().map(|((_, path), text)| ((made.commit.clone(), path), text)).collect();
        for file in files {
            new.insert((made.commit.clone(), file.path.clone()), Some(file.after.clone()));
        }
        known.extend(new);
    }

    /// Whether git tracks the plan.
    pub fn is_tracked(&self, tip: Option<&str>) -> bool {
        self.committed(tip, &self.plan).is_some()
    }

    /// Reads the user's own plan while git is not updating it and no editor has just emptied it:
    /// git deletes a file before it writes the new version, and locks the index meanwhile.
    fn settled_plan(&self) -> io::Result<Option<Vec<u8>>> {
        for _ in 0..MOST_LOOKS {
            let is_busy = self.index_lock.exists();
            let text = plan::read_file(&self.plan)?;
            let is_half = text.as_ref().is_some_and(Vec::is_empty);
            if !is_busy && !is_half && !self.index_lock.exists() {
                return Ok(text);
            }
            std::thread::sleep(PULSE);
        }
        plan::read_file(&self.plan)
    }

    /// Loads the plan: the user's file on the target branch, else the target's plus new stories.
    pub fn load(&self, target: &Board) -> Result<Plan, Failure> {
        let Tip { commit, is_followed, .. } = target.tip()?;
        self.load_at(commit.as_deref(), is_followed)
    }

    /// Like `load`, for a known tip of the target and whether it is checked out in the project.
    pub fn load_at(&self, tip: Option<&str>, is_followed: bool) -> Result<Plan, Failure> {
        let mut plan = self.plan_at(tip, is_followed)?;
        for story in &self.asked_for {
            if plan.story(story).is_some_and(|story| story.state == plan::State::Blocked) {
                plan = Plan::parse(&self.plan, plan.reopen(story)?, &self.options)?;
            }
        }
        Ok(plan)
    }

    fn plan_at(&self, tip: Option<&str>, is_followed: bool) -> Result<Plan, Failure> {
        let on_disk = self.settled_plan()?;
        if let (true, Some(text)) = (is_followed, &on_disk) {
            return Ok(Plan::parse(&self.plan, text.clone(), &self.options)?);
        }
        let Some(committed) = self.committed(tip, &self.plan) else {
            return Ok(plan::load(&self.plan, &self.options)?);
        };
        let committed = Plan::parse(&self.plan, committed, &self.options)?;
        let Some(on_disk) = on_disk else { return Ok(committed) };
        let added = agents_plan(&committed, Some(&on_disk), "");
        Ok(Plan::parse(&self.plan, committed.with_added(&added), &self.options)?)
    }

    /// Returns the text of the progress, including entries that wait for a commit.
    pub fn progress_text(&self, tip: Option<&str>) -> Vec<u8> {
        let text = state::read(&self.progress).ok();
        let text = text.or_else(|| self.committed(tip, &self.progress)).unwrap_or_default();
        let [progress, _] = &self.appended;
        progress.waiting().map_or(text.clone(), |change| change.apply(&text))
    }

    /// Appends an entry to the progress.
    pub fn log(&self, entry: &ProgressEntry) -> io::Result<()> {
        // Always as a section after others; a new file gets its title when it is created.
        self.append_progress(&entry.appended_to(b"\n"))
    }

    /// Appends with secrets masked, as the file may be committed.
    fn append_progress(&self, text: &[u8]) -> io::Result<()> {
        let (never, [progress, _]) = (Cap { above: u64::MAX, keep_lines: 0 }, &self.appended);
        let text = mask(&String::from_utf8_lossy(text));
        state::append_capped(&progress.pending, text.as_bytes(), never)
    }

    /// Writes pending text that no commit will include to the user's files, unless these are gone.
    pub fn publish(&self, tip: Option<&str>) -> Result<(), Failure> {
        let is_away = !self.plan.is_file() && !self.is_tracked(tip);
        for file in &self.appended {
            let Some(change) = file.waiting() else { continue };
            if is_away || self.goes_by_commits(tip, &file.path)? {
                continue;
            }
            state::edit_users(&file.path, |text| Some(change.apply(text.unwrap_or_default())))?;
            if let Change::Append { text, .. } = &change {
                state::remove_beginning(&file.pending, text)?;
            }
        }
        Ok(())
    }

    /// Whether commits change a file: git tracks it, or tracks the plan and does not ignore it.
    fn goes_by_commits(&self, tip: Option<&str>, path: &Utf8Path) -> Result<bool, Failure> {
        if self.committed(tip, path).is_some() || !self.is_tracked(tip) {
            return Ok(self.committed(tip, path).is_some());
        }
        match self.source.git().run(&["check-ignore", "--quiet", "--", path.as_str()]) {
            Ok(_) => Ok(false),
            Err(GitError::Failed { code: Some(1 | 128), .. }) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the changes that a commit on the target's `tip` makes to these files.
    pub fn files_for(
        &self,
        is_followed: bool,
        tip: Option<&str>,
        changes: &PlanChanges,
    ) -> Result<Vec<LoopFile>, Failure> {
        let mut files = Vec::new();
        if let (Some(committed), Some(path)) =
            (self.committed(tip, &self.plan), self.below_top(&self.plan))
        {
            let mut in_commit = changes.clone();
            if let Some(on_disk) = plan::read_file(&self.plan)?.filter(|text| *text != committed) {
                // A story that only the user's own plan contains is ticked in the commit all the
                // same: the user's file may not be updated.
                let committed = Plan::parse(&self.plan, committed.clone(), &self.options)?;
                let mut added = agents_plan(&committed, Some(&on_disk), "");
                if is_followed {
                    added = added.only(changes.marks.iter().map(|(story, _)| story.as_str()));
                }
                in_commit.added.insert(0, added);
            }
            let file = LoopFile::new(path, Some(committed), self.plan_change(in_commit));
            files.push(LoopFile { change: self.plan_change(changes.clone()), ..file });
        }
        for file in self.appended.iter().filter(|_| !self.keeps_back) {
            let Some(change) = file.waiting() else { continue };
            let (before, path) = (self.committed(tip, &file.path), self.below_top(&file.path));
            // Text that a commit already has is no longer pending, though a crash may have left it.
            let is_there = matches!((&before, &change), (Some(before), Change::Append { text, .. })
                if contains(before, text));
            if let (Some(path), false, true) =
                (path, is_there, self.goes_by_commits(tip, &file.path)?)
            {
                files.push(LoopFile::new(path, before, change));
            }
        }
        Ok(files)
    }

    /// Returns the change that a commit made to these files, applied to another tip.
    pub fn files_of(&self, commit: &str, tip: &str) -> Result<Vec<LoopFile>, Failure> {
        let parent = format!("{commit}^1");
        let texts = |path: &Utf8Path| {
            let [before, after, now] =
                [&parent, commit, tip].map(|at| self.committed(Some(at), path));
            Some((self.below_top(path)?, before, after?, now))
        };
        let mut files = Vec::new();
        if let Some((path, Some(before), after, now @ Some(_))) = texts(&self.plan) {
            let parse = |text: &[u8]| Plan::parse(&self.plan, text.to_vec(), &self.options);
            let before = parse(&before)?;
            let known = marks_of(&before);
            let mut marks = marks_of(&parse(&after)?);
            marks.retain(|mark| !known.contains(mark));
            let added = vec![agents_plan(&before, Some(&after), "")];
            files.push(LoopFile::new(path, now, self.plan_change(PlanChanges { added, marks })));
        }
        for file in &self.appended {
            let Some((path, before, after, now)) = texts(&file.path) else { continue };
            if let Some(text) = after.strip_prefix(before.unwrap_or_default().as_slice()) {
                let change = Change::Append { title: file.title, text: text.to_vec() };
                files.push(LoopFile::new(path, now, change));
            }
        }
        files.retain(LoopFile::is_changed);
        Ok(files)
    }

    /// Returns these files as of the waiting work, for a branch that is to follow it.
    pub fn files_that_wait(&self, tip: &str) -> Vec<LoopFile> {
        let append = |title| Change::Append { title, text: Vec::new() };
        let changes = [(&self.plan, self.plan_change(PlanChanges::default()))].into_iter();
        let changes =
            changes.chain(self.appended.iter().map(|file| (&file.path, append(file.title))));
        let file = |(path, change): (&Utf8PathBuf, Change)| {
            let (path, text) = (self.below_top(path)?, self.committed(Some(tip), path)?);
            Some(LoopFile { path, before: None, after: text, change })
        };
        changes.filter_map(file).collect()
    }

    fn plan_change(&self, changes: PlanChanges) -> Change {
        Change::Plan { path: self.plan.clone(), options: self.options.clone(), changes }
    }

    /// Removes pending text that a commit has taken, and publishes what no commit will include.
    pub fn clear_pending(&self, tip: Option<&str>, taken: &[LoopFile]) -> Result<(), Failure> {
        self.publish(tip)?;
        for file in &self.appended {
            let path = self.below_top(&file.path);
            let taken = taken.iter().find(|one| Some(&one.path) == path.as_ref());
            let text = match taken.map(|file| &file.change) {
                Some(Change::Append { text, .. }) => text.clone(),
                _ => file.committed_beginning(self.committed(tip, &file.path).as_deref()),
            };
            state::remove_beginning(&file.pending, &text)?;
        }
        Ok(())
    }

    /// Applies changes to the user's own plan, if git does not track it.
    pub fn mark_on_disk(&self, tip: Option<&str>, changes: &PlanChanges) -> Result<(), Failure> {
        if self.is_tracked(tip) { Ok(()) } else { self.mark_users_text(changes) }
    }

    /// Applies the changes of a commit to the user's own files.
    pub fn bring_users_texts(&self, files: &[LoopFile]) -> io::Result<()> {
        for file in files {
            file.bring_to(&self.source.top.join(file.path.to_string_lossy().as_ref()))?;
        }
        Ok(())
    }

    /// Whether the progress already has this entry for an attempt that began at `began`: a crash
    /// may have come before the record of the attempt was removed.
    pub fn has_entry(&self, tip: Option<&str>, entry: &ProgressEntry, began: &str) -> bool {
        let began = began.get(..SECONDS).unwrap_or(began);
        ralph_project::progress::progress_has(&self.progress_text(tip), entry, began)
    }

    /// Reopens a story that the agent ticked in the user's own plan, unless a commit on the target
    /// has the tick too; returns whether it did.
    pub fn untick(&self, target: &Board, story: &str) -> Result<bool, Failure> {
        let Tip { commit: tip, is_followed, .. } = target.tip()?;
        let ticked = |text: Option<&[u8]>| {
            let plan = Plan::parse(&self.plan, text?.to_vec(), &self.options).ok()?;
            let is_done = plan.story(story)?.state == plan::State::Done;
            if is_done { plan.reopen(story).ok() } else { None }
        };
        let committed = self.committed(tip.as_deref(), &self.plan);
        let is_undone = Cell::new(false);
        if (is_followed || committed.is_none()) && ticked(committed.as_deref()).is_none() {
            state::edit_users(&self.plan, |text| {
                let open = ticked(text);
                is_undone.set(open.is_some());
                open
            })?;
        }
        Ok(is_undone.get())
    }

    /// Like `mark_on_disk`, but also for a tracked plan: for a landing that a crash interrupted.
    pub fn mark_users_text(&self, changes: &PlanChanges) -> Result<(), Failure> {
        let change = self.plan_change(changes.clone());
        Ok(state::edit_users(&self.plan, |text| Some(change.apply(text?)))?)
    }

    /// Appends the agent's own progress entries to the pending progress, and removes its file.
    pub fn take_progress(&self, run_dir: &RunDir) -> io::Result<()> {
        let new = state::read(run_dir.progress_added()).unwrap_or_default();
        if !new.is_empty() {
            self.append_progress(&[b"\n".as_slice(), &new].concat())?;
        }
        state::remove_if_there(run_dir.progress_added())
    }
}
