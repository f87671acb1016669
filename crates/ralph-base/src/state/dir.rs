//! Every file and folder name in `.ralph/`, but for those of single sessions, which are in
//! `session_dir.rs`; nothing else in the workspace spells them out.

use camino::{Utf8Path, Utf8PathBuf};

use super::{Id, SessionDir};
use super::{below, write};

/// The folder whose presence makes a folder a project of ours.
pub const PROJECT_MARKER: &str = ".ralph";

/// The client's own folder in a project.
pub const CLIENT_FOLDER: &str = ".claude";

/// Folders, relative to the project root, that never count as changed and are never rolled back:
/// our own state and the client's settings must survive what happens to the work.
pub const UNTOUCHED: [&str; 2] = [PROJECT_MARKER, CLIENT_FOLDER];

/// Where another loop of this kind keeps its lifecycle scripts; honoured when ours has none.
pub const FOREIGN_LIFECYCLE_DIR: &str = ".fresher/hooks";

/// What `.ralph/.gitignore` says: state stays out of git; plan, progress, prompt, configuration,
/// lifecycle scripts and guardrails stay visible to it.
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

/// Whether a loop or a hook of ours ever worked with this folder of state.
pub fn is_in_use(folder: &std::path::Path) -> bool {
    folder.join(IGNORE_FILE).is_file()
}

/// Whether a path, relative to a state folder, belongs to a plan and so to the agent's work: the
/// plan, its progress, and what is left for the user; not the prompt, which is the user's.
pub fn belongs_to_a_plan(inside: &str) -> bool {
    match inside.split_once('/') {
        Some((folder, file)) if folder.starts_with("PRD-") => file != PROMPT,
        Some((folder, _)) => folder == MERGE_REQUESTS,
        None => {
            inside.starts_with("PRD-") || [FIX_PLAN, PRD_JSON, MERGE_REQUESTS].contains(&inside)
        }
    }
}

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
    /// Where hooks write: the same folder, or in an attempt of the loop's a folder of its own.
    own: Utf8PathBuf,
}

impl StateDir {
    /// The state folder of the project at `root`.
    pub fn of_project(root: &Utf8Path) -> Self {
        Self::at(below(root, PROJECT_MARKER))
    }

    fn at(root: Utf8PathBuf) -> Self {
        Self { own: root.clone(), root }
    }

    /// The same as an attempt of the loop's sees it: settings and plans are the project's, and whatever
    /// its hooks and commands write goes into a folder of its own, from where the loop takes it.
    pub fn of_attempt(&self, own: Utf8PathBuf) -> Self {
        Self { root: self.root.clone(), own }
    }

    /// Whether an attempt of the loop's sees it.
    pub fn is_of_attempt(&self) -> bool {
        self.own != self.root
    }

    /// The project's own, whoever asks.
    pub fn of_all(&self) -> Self {
        Self::at(self.root.clone())
    }

    /// The folder in which hooks write.
    pub fn own(&self) -> &Utf8Path {
        &self.own
    }

    /// The state folder for projects that have none of their own.
    pub fn of_home(home: &Utf8Path) -> Self {
        Self::at(below(home, PROJECT_MARKER))
    }

    /// The folder itself.
    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    paths! {
        /// Settings, all optional.
        config: root / "config.toml";
        /// What an editor checks the settings by, beside them.
        config_schema: root / "config.schema.json";
        /// What git is not to see of the folder.
        ignore_file: root / IGNORE_FILE;
    }

    /// The folder of one numbered plan: `PRD-3`.
    pub fn prd(&self, number: u32) -> Utf8PathBuf {
        self.root.join(format!("PRD-{number}"))
    }

    /// The numbers of all `PRD-N` folders, ascending.
    pub fn prd_numbers(&self) -> Vec<u32> {
        let Ok(entries) = fs_err::read_dir(&self.root) else { return Vec::new() };
        let mut numbers: Vec<u32> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.strip_prefix("PRD-")?.parse().ok())
            .collect();
        numbers.sort_unstable();
        numbers
    }

    /// The plan in a plan's folder.
    pub fn plan(&self, number: u32) -> Utf8PathBuf {
        self.prd(number).join("plan.md")
    }

    /// What was done so far, appended at each iteration.
    pub fn progress(&self, number: u32) -> Utf8PathBuf {
        self.prd(number).join("progress.md")
    }

    /// The progress that belongs to a plan at any place.
    pub fn progress_beside(plan: &Utf8Path) -> Utf8PathBuf {
        plan.with_file_name("progress.md")
    }

    /// The counter that belongs to a feature list.
    pub fn loop_progress_beside(plan: &Utf8Path) -> Utf8PathBuf {
        plan.with_file_name("progress.txt")
    }

    /// What the whole task is, as other loops write it beside their feature list.
    pub fn task_beside(plan: &Utf8Path) -> Utf8PathBuf {
        plan.with_file_name("RALPH_PROMPT.md")
    }

    /// The prompt template that belongs to a plan at any place.
    pub fn prompt_beside(plan: &Utf8Path) -> Utf8PathBuf {
        plan.with_file_name("prompt.md")
    }

    /// The template of a review, beside a plan.
    pub fn review_prompt_beside(plan: &Utf8Path) -> Utf8PathBuf {
        plan.with_file_name("review-prompt.md")
    }

    /// Where a plan may be, besides the numbered folders, in the order in which they are tried.
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
        lifecycle: root / "hooks";
    }

    /// The user's own programs, which lifecycle scripts call by their names.
    pub fn custom_programs(lifecycle: &Utf8Path) -> Utf8PathBuf {
        lifecycle.join("custom")
    }

    paths! {
        /// One short lesson per distinct rollback cause.
        guardrails: root / "guardrails.md";
        /// The failing output, newest last.
        failure_context: own / "failure-context.log";
        /// The id of the story under way.
        current_story: own / "current-story";
        /// Where to return to: a commit id, then the snapshot ref.
        checkpoint: own / ".checkpoint";
        /// Failing runs of the attempt under way, and what failed before it began.
        strikes: own / "strikes.json";
        /// Held while a failing test run is weighed.
        strikes_lock: own / "strikes.lock";
        /// Sessions that stopped early.
        sessions_log: own / "sessions.log";
        /// The last internal failure of a hook.
        hook_error: own / ".hook-error.json";
        /// The context window that the agent reported last.
        context_window: root / "context-window.json";
        /// The journal.
        journal: own / "events.jsonl";
        /// Reads recorded by tools that know no sessions; honoured if it exists.
        shared_reads: root / "session.log";
        /// The agent's raw output, one file an iteration.
        logs: root / "logs";
        /// Merge requests left for the user.
        merge_requests: own / MERGE_REQUESTS;
        /// The session that works on the attempt: the first that speaks after the agent was started.
        working_session: own / "state/working-session";
        /// The agent's word about its story.
        claim: own / "claim.json";
        /// Lessons of an attempt that the loop has not taken yet.
        lessons: own / "lessons";
        /// Where the stop hook of an attempt leaves its question and finds the loop's answer.
        mailbox: own / "mailbox";
        /// Held while the tree is returned to a checkpoint.
        rollback_lock: own / "rollback.lock";
        /// The folders of all client sessions.
        sessions: own / "state";
    }

    /// The files of one client session.
    pub fn session(&self, id: &Id) -> SessionDir {
        SessionDir::at(below(&self.sessions(), id.as_str()))
    }

    /// The files of a mailbox: question, answer and lock. They are in no folder of their own, because an agent could
    /// put a link in its place.
    pub fn letters(mailbox: &Utf8Path) -> [Utf8PathBuf; 3] {
        ["question.json", "answer.json", "lock"].map(|name| format!("{mailbox}-{name}").into())
    }

    /// The folders and files of an attempt, in whose place it may have put something else.
    pub fn of_hooks(&self) -> ([Utf8PathBuf; 2], Vec<Utf8PathBuf>) {
        let letters = Self::letters(&self.mailbox());
        let logs = [self.journal(), self.sessions_log(), self.failure_context(), self.lessons()];
        let records = [self.hook_error(), self.claim(), self.checkpoint(), self.current_story()];
        let locks = [self.strikes(), self.strikes_lock(), self.rollback_lock()];
        let files = [&letters[..], &logs, &records, &locks, &[self.working_session()]].concat();
        ([self.sessions(), self.merge_requests()], files)
    }

    /// Every single file in the folder that is ours to write; what belongs to plans, sessions and
    /// the user is not among them.
    pub fn files(&self) -> Vec<Utf8PathBuf> {
        let single = Self::uncommitted().filter(|name| !name.contains(['/', '*']));
        let single = single.map(|name| self.root.join(name));
        single.chain([self.guardrails(), self.working_session()]).collect()
    }

    /// Patterns, relative to the folder, of what never belongs into a commit, whatever became of
    /// its `.gitignore`.
    pub fn uncommitted() -> impl Iterator<Item = &'static str> {
        GITIGNORE.lines().filter(|line| !line.starts_with('#'))
    }

    /// Makes the folder and its `.gitignore` where they are missing; a `.gitignore` that somebody
    /// changed is theirs.
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
    fn the_list_of_files_holds_all_that_git_is_not_to_see() {
        let state = StateDir::of_project(Utf8Path::new("/project"));
        let single =
            StateDir::uncommitted().filter(|name| !name.ends_with('/') && *name != "*.tmp");
        for name in single {
            assert!(state.files().contains(&state.root().join(name)), "{name}");
        }
    }
}
