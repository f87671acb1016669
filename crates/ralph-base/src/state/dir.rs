//! All file and folder names in `.ralph/`, except for those of single sessions, which are in
//! `session_dir.rs`; nothing else in the workspace spells them out.

use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};

use super::{Id, SessionDir};
use super::{below, write};

/// The folder that marks its parent as one of our projects.
pub const PROJECT_MARKER: &str = ".ralph";

/// The client's own folder in a project.
pub const CLIENT_FOLDER: &str = ".claude";

/// Folders, relative to the project root, that never count as changed and are never rolled back:
/// our own state and the client's settings must survive what happens to the work.
pub const UNTOUCHED: [&str; 2] = [PROJECT_MARKER, CLIENT_FOLDER];

/// The folder of another loop's lifecycle scripts; honoured if ours has none.
pub const FOREIGN_LIFECYCLE_DIR: &str = ".fresher/hooks";

/// The content of `.ralph/.gitignore`: state stays out of git; plan, progress, prompt,
/// configuration, lifecycle scripts and guardrails stay visible to it.
const GITIGNORE: &str = "\
# Written by ralph. The plan, progress, prompt, config, hooks and guardrails belong in git;
# the state below does not.
.gitignore
.checkpoint
.hook-error.json
*.tmp
claim.json
config.schema.json
context-window.json
current-story
events.jsonl
failure-context.log
logs/
merge-requests/
rollback.lock
session.log
sessions.log
state/
strikes.json
strikes.lock
";

/// Returns whether our loop or hooks have ever used this state folder.
pub fn is_in_use(folder: &std::path::Path) -> bool {
    folder.join(IGNORE_FILE).is_file()
}

/// Returns whether a path, relative to a state folder, belongs to a plan and so to the agent's
/// work: plan, progress and merge requests, but not the prompt, which is the user's.
pub fn belongs_to_a_plan(inside: &str) -> bool {
    match inside.split_once('/') {
        Some((folder, file)) if folder.starts_with("PRD-") => file != PROMPT,
        Some((folder, _)) => folder == MERGE_REQUESTS,
        None => {
            inside.starts_with("PRD-") || [FIX_PLAN, PRD_JSON, MERGE_REQUESTS].contains(&inside)
        }
    }
}

/// Returns whether a path, relative to a state folder, is the user's own, who may have made it a link.
pub(super) fn belongs_to_the_user(inside: &Path) -> bool {
    let first = inside.iter().next().and_then(|name| name.to_str()).unwrap_or_default();
    let single = [FIX_PLAN, PRD_JSON, CONFIG, CONFIG_SCHEMA, IGNORE_FILE, GUARDRAILS, LIFECYCLE];
    first.starts_with("PRD-") || single.contains(&first)
}

const CONFIG: &str = "config.toml";
const CONFIG_SCHEMA: &str = "config.schema.json";
const GUARDRAILS: &str = "guardrails.md";
const LIFECYCLE: &str = "hooks";
const IGNORE_FILE: &str = ".gitignore";
const PROMPT: &str = "prompt.md";
const FIX_PLAN: &str = "fix_plan.md";
const PRD_JSON: &str = "prd.json";
const MERGE_REQUESTS: &str = "merge-requests";

/// A `.ralph/` folder.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct StateDir {
    root: Utf8PathBuf,
    /// The folder that hooks write to: the same one, or the attempt's own folder.
    own: Utf8PathBuf,
}

impl StateDir {
    /// Returns the state folder of the project at `root`.
    pub fn of_project(root: &Utf8Path) -> Self {
        Self::at(below(root, PROJECT_MARKER))
    }

    fn at(root: Utf8PathBuf) -> Self {
        Self { own: root.clone(), root }
    }

    /// Returns the state folder as an attempt sees it: settings and plans are the project's, but
    /// its hooks and commands write to a folder of its own, from which the loop collects the files.
    pub fn of_attempt(&self, own: Utf8PathBuf) -> Self {
        Self { root: self.root.clone(), own }
    }

    /// Returns whether this is the state folder as an attempt sees it.
    pub fn is_of_attempt(&self) -> bool {
        self.own != self.root
    }

    /// Returns the project's own state folder, even from an attempt's.
    pub fn of_all(&self) -> Self {
        Self::at(self.root.clone())
    }

    /// Returns the folder that hooks write to.
    pub fn own(&self) -> &Utf8Path {
        &self.own
    }

    /// Returns the state folder for projects without one of their own.
    pub fn of_home(home: &Utf8Path) -> Self {
        Self::at(below(home, PROJECT_MARKER))
    }

    /// Returns the folder itself.
    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    paths! {
        /// Settings, all optional.
        config: root / CONFIG;
        /// The JSON schema of the settings, for editors.
        config_schema: root / CONFIG_SCHEMA;
        /// The folder's `.gitignore`.
        ignore_file: root / IGNORE_FILE;
    }

    /// Returns the folder of a numbered plan: `PRD-3`.
    pub fn prd(&self, number: u32) -> Utf8PathBuf {
        self.root.join(format!("PRD-{number}"))
    }

    /// Returns the numbers of all `PRD-N` folders, ascending.
    pub fn prd_numbers(&self) -> Vec<u32> {
        let Ok(entries) = fs_err::read_dir(&self.root) else { return Vec::new() };
        let mut numbers: Vec<u32> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.strip_prefix("PRD-")?.parse().ok())
            .collect();
        numbers.sort_unstable();
        numbers
    }

    /// Returns the plan file of a numbered plan.
    pub fn plan(&self, number: u32) -> Utf8PathBuf {
        self.prd(number).join("plan.md")
    }

    /// Returns the progress file of a numbered plan, to which each iteration appends.
    pub fn progress(&self, number: u32) -> Utf8PathBuf {
        self.prd(number).join("progress.md")
    }

    /// Returns the progress file of a plan at any path.
    pub fn progress_beside(plan: &Utf8Path) -> Utf8PathBuf {
        plan.with_file_name("progress.md")
    }

    /// Returns the progress counter of a feature list.
    pub fn loop_progress_beside(plan: &Utf8Path) -> Utf8PathBuf {
        plan.with_file_name("progress.txt")
    }

    /// Returns the task description that other loops write beside their feature list.
    pub fn task_beside(plan: &Utf8Path) -> Utf8PathBuf {
        plan.with_file_name("RALPH_PROMPT.md")
    }

    /// Returns the prompt template of a plan at any path.
    pub fn prompt_beside(plan: &Utf8Path) -> Utf8PathBuf {
        plan.with_file_name("prompt.md")
    }

    /// Returns the review template of a plan at any path.
    pub fn review_prompt_beside(plan: &Utf8Path) -> Utf8PathBuf {
        plan.with_file_name("review-prompt.md")
    }

    /// Returns the other possible paths of a plan, in the order in which they are tried.
    pub fn other_plans(&self) -> Vec<Utf8PathBuf> {
        let project = self.root.parent().unwrap_or(Utf8Path::new("."));
        vec![
            self.root.join(FIX_PLAN),
            project.join("IMPLEMENTATION_PLAN.md"),
            project.join(PRD_JSON),
            self.root.join(PRD_JSON),
            project.join("scripts/ralph/prd.json"),
        ]
    }

    paths! {
        /// The lifecycle scripts.
        lifecycle: root / LIFECYCLE;
        /// The user's own verifiers.
        verifiers: root / "verifiers";
        /// The user's own observers.
        observers: root / "observers";
    }

    /// Returns the folder of the user's own programs, which lifecycle scripts call by name.
    pub fn custom_programs(lifecycle: &Utf8Path) -> Utf8PathBuf {
        lifecycle.join("custom")
    }

    paths! {
        /// One short lesson per distinct rollback cause.
        guardrails: root / GUARDRAILS;
        /// The output of failing runs, newest last.
        failure_context: own / "failure-context.log";
        /// The id of the current story.
        current_story: own / "current-story";
        /// The rollback target: a commit id, then the snapshot ref.
        checkpoint: own / ".checkpoint";
        /// The failing runs of the current attempt, and the tests that failed before it began.
        strikes: own / "strikes.json";
        /// The lock that is held while a failing test run is evaluated.
        strikes_lock: own / "strikes.lock";
        /// Sessions that stopped early.
        sessions_log: own / "sessions.log";
        /// The last internal failure of a hook.
        hook_error: own / ".hook-error.json";
        /// The context window that the agent last reported.
        context_window: root / "context-window.json";
        /// The journal.
        journal: own / "events.jsonl";
        /// Reads recorded by tools that have no sessions; honoured if it exists.
        shared_reads: root / "session.log";
        /// The agent's raw output, one file per iteration.
        logs: root / "logs";
        /// Merge requests left for the user.
        merge_requests: own / MERGE_REQUESTS;
        /// The attempt's session: the first one that reported after the agent was started.
        working_session: own / "state/working-session";
        /// The agent's claim about its story.
        claim: own / "claim.json";
        /// Lessons of an attempt that the loop has not collected yet.
        lessons: own / "lessons";
        /// Where the stop hook of an attempt leaves its question and finds the loop's answer.
        mailbox: own / "mailbox";
        /// The lock that is held while the tree is returned to a checkpoint.
        rollback_lock: own / "rollback.lock";
        /// The folders of all client sessions.
        sessions: own / "state";
    }

    /// Returns the files of one client session.
    pub fn session(&self, id: &Id) -> SessionDir {
        SessionDir::at(below(&self.sessions(), id.as_str()))
    }

    /// Returns the files of a mailbox: question, answer and lock. They have no folder of their own,
    /// because an agent could replace it with a link.
    pub fn mailbox_files(mailbox: &Utf8Path) -> [Utf8PathBuf; 3] {
        ["question.json", "answer.json", "lock"].map(|name| format!("{mailbox}-{name}").into())
    }

    /// Returns the folders and files of an attempt, which the agent may have replaced.
    pub fn of_hooks(&self) -> ([Utf8PathBuf; 2], Vec<Utf8PathBuf>) {
        let mailbox_files = Self::mailbox_files(&self.mailbox());
        let logs = [self.journal(), self.sessions_log(), self.failure_context(), self.lessons()];
        let records = [self.hook_error(), self.claim(), self.checkpoint(), self.current_story()];
        let locks = [self.strikes(), self.strikes_lock(), self.rollback_lock()];
        let files =
            [&mailbox_files[..], &logs, &records, &locks, &[self.working_session()]].concat();
        ([self.sessions(), self.merge_requests()], files)
    }

    /// Returns all single files in the folder that we write, without those of plans, of sessions
    /// and of the user.
    pub fn files(&self) -> Vec<Utf8PathBuf> {
        let single = Self::uncommitted().filter(|name| !name.contains(['/', '*']));
        let single = single.map(|name| self.root.join(name));
        single.chain([self.guardrails(), self.working_session()]).collect()
    }

    /// Returns patterns, relative to the folder, of files that never belong in a commit, even if
    /// its `.gitignore` was changed.
    pub fn uncommitted() -> impl Iterator<Item = &'static str> {
        GITIGNORE.lines().filter(|line| !line.starts_with('#'))
    }

    /// Creates the folder and its `.gitignore` if they are missing; an existing `.gitignore` is
    /// kept.
    pub fn prepare(&self) -> std::io::Result<()> {
        let path = self.ignore_file();
        if path.symlink_metadata().is_ok() {
            return Ok(());
        }
        fs_err::create_dir_all(&self.root)?;
        write::replace(&path, GITIGNORE.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_list_contains_every_uncommitted_file() {
        let state = StateDir::of_project(Utf8Path::new("/project"));
        let single =
            StateDir::uncommitted().filter(|name| !name.ends_with('/') && *name != "*.tmp");
        for name in single {
            assert!(state.files().contains(&state.root().join(name)), "{name}");
        }
    }
}
