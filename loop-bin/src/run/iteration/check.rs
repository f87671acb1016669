//! The user's checks on the work of an attempt, and the commit of what has passed, with the user's git
//! hooks. What either of them changes is checked as well.

use std::path::PathBuf;
use std::time::Duration;

use ralph_base::listing::{first_few, named_files};
use ralph_base::state::{self, Id};
use ralph_core::guard::{Facts, out_of_scope};
use ralph_project::attempt::{TestFiles, with_cause};
use ralph_project::checks::{
    Check, CheckContext, CheckEnd, CheckRules, RUN_MARK, one_line, run_checks,
};
use ralph_project::config::{Config, Weakened};
use ralph_project::surroundings::scope_of;
use ralph_project::under_way::Attempt;
use ralph_project::weakening::weakened_since;

use super::passed::Passed;
use super::prove::Proof;
use super::review::Reviewed;
use crate::exit::Failure;
use crate::git_output::{base_of, listed, paths};
use crate::landing::{self, LoopFile, Made, Refusal, Story};
use crate::run::Run;
use crate::run::decide::{NotLanded, WorkEnd};
use crate::saved;
use crate::workspace::{Staged, Start};

/// How often checks that change files are run again on what they left.
const MOST_ROUNDS: usize = 3;

/// How often git hooks may put the files of one story in order.
const MOST_FORMATTINGS: usize = 2;

/// What a check or a commit may take even when the run's time is used up.
pub(in crate::run) const LEAST_TIME: Duration = Duration::from_secs(10);

/// The rule, as users know and switch it.
const SCOPE: &str = "scope";

impl Run {
    /// Checks what is staged.
    pub(in crate::run) fn check_work(
        &mut self,
        attempt: &Attempt,
        staged: Staged,
    ) -> Result<Passed, NotLanded> {
        if let Some(why) = self.refusal(attempt, &staged)? {
            return Err(WorkEnd::failed(why).into());
        }
        let (checks, staged) = self.passed_checks(attempt, staged)?;
        let weakened = self.weakened(attempt, &staged.files)?;
        if let (Some(what), Weakened::Refuse) = (&weakened, self.context.config.tests.weakened) {
            return Err(WorkEnd::failed(format!("the tests were weakened: {what}")).into());
        }
        Ok(Passed { staged, checks, weakened })
    }

    /// Why this work can be no commit, whatever the checks say.
    fn refusal(&self, attempt: &Attempt, staged: &Staged) -> Result<Option<String>, Failure> {
        if staged.leaves_nothing {
            return Ok(Some("the agent deleted all files, or the folder it worked in".to_owned()));
        }
        if !staged.embedded.is_empty() {
            return Ok(Some(format!(
                "the agent created a git repository inside the project, whose files cannot be \
                 committed: {}; delete its .git folder, or declare a submodule",
                named_files(&staged.embedded)
            )));
        }
        if !staged.dirty_submodules.is_empty() {
            return Ok(Some(format!(
                "there is uncommitted work in submodules, which a commit here cannot include: {}; \
                 commit it there first",
                named_files(&staged.dirty_submodules)
            )));
        }
        self.out_of_scope(attempt, &staged.files)
    }

    /// Runs the checks until one fails, or all pass and leave the files as they are.
    fn passed_checks(
        &mut self,
        attempt: &Attempt,
        mut staged: Staged,
    ) -> Result<(Vec<Check>, Staged), NotLanded> {
        for round in 1..=MOST_ROUNDS {
            let checks = self.run_checks(attempt)?;
            let Some(last) = checks.last() else { return Ok((checks, staged)) };
            if !last.passed() {
                let end = self.not_passed(last);
                return Err(self.red_alone_or_with_others(attempt, end)?.into());
            }
            self.workspace.renew(Start::of(attempt))?;
            let changed = self.workspace.changed_since_staged(&self.books.ours())?;
            if changed.is_empty() {
                return Ok((checks, staged));
            }
            let (story, files) = (&attempt.story, named_files(&changed));
            if round == MOST_ROUNDS {
                self.context.view.warn(format!(
                    "{story}: the checks change files every time they run: {files}; the commit \
                     contains them as they were checked"
                ));
                return Ok((checks, staged));
            }
            self.context.view.line(format!("{story}: the checks changed {files}; checking again"));
            // Files that they made are not the story's.
            let git = self.workspace.git();
            let add = ["add", "--update", "--pathspec-from-file=-", "--pathspec-file-nul"];
            git.feed(&add, &listed(&changed))?;
            let base = base_of(&git, attempt.base.as_deref())?;
            let left = ["diff-index", "-z", "--cached", "--name-only", &base];
            let files = paths(&git.run(&left)?);
            if files.is_empty() && !staged.files.is_empty() {
                git.run(&["read-tree", "--reset", "-u", &staged.tree])?;
                let why = "the checks undid all changes; checks must not modify the work";
                return Err(WorkEnd::failed(why).into());
            }
            staged = Staged { tree: git.line(&["write-tree"])?, files, ..staged };
        }
        Err(WorkEnd::failed("the checks kept changing files").into())
    }

    pub(super) fn run_checks(&mut self, attempt: &Attempt) -> Result<Vec<Check>, Failure> {
        let verify = &self.context.config.verify;
        if verify.commands.is_empty() {
            return Ok(Vec::new());
        }
        self.workspace.show_staged()?;
        let names: Vec<String> = verify.commands.iter().map(|check| one_line(check)).collect();
        let story = &attempt.story;
        self.context.view.doing(&format!("checking with {}", names.join(", ")));
        self.context.view.line(format!("{story}: checking with {}", names.join(", ")));
        let rules = self.check_rules();
        let (run, left) = (self.context.run.as_str(), self.time_for_checks());
        let context = CheckContext { dir: self.workspace.root(), run, left, rules };
        let stop = || self.context.is_interrupted();
        let before = self.workspace.stamps();
        let checks = run_checks(context, &verify.commands, verify.timeout.limit(), &stop)?;
        self.workspace.doubt(before);
        self.context.note_checks(Some(story), &checks);
        Ok(checks)
    }

    pub(super) fn check_rules(&self) -> Option<CheckRules<'_>> {
        let failed_before = &self.record.failed_before;
        Some(CheckRules { config: &self.context.config, failed_before })
    }

    /// In what respect the attempt weakened the tests, if the user wants to know.
    fn weakened(&self, attempt: &Attempt, files: &[PathBuf]) -> Result<Option<String>, Failure> {
        let tests = &self.context.config.tests;
        match (&attempt.base, tests.weakened) {
            (None, _) | (_, Weakened::Ignore) => Ok(None),
            (Some(base), _) => {
                let repo = &self.workspace.repo()?;
                Ok(weakened_since(repo, base, files, &TestFiles::new(&tests.files))?)
            }
        }
    }

    /// Files outside of the story's scope. The guard forbids the edits one by one; here they are found
    /// whichever way they were made, by an agent without hooks for instance.
    fn out_of_scope(
        &self,
        attempt: &Attempt,
        files: &[PathBuf],
    ) -> Result<Option<String>, Failure> {
        let config = &self.context.config;
        let scope = scope_of(Id::parse(&attempt.story).ok().as_ref(), config);
        if scope.is_empty() || !config.guard.in_force(SCOPE) {
            return Ok(None);
        }
        let top = self.workspace.top();
        // No glob of the user's can mean a name that is no text.
        let path = |file: &PathBuf| top.join(file.to_string_lossy().into_owned());
        let facts = Facts { root: self.workspace.root().to_owned(), ..Facts::default() };
        let outside = out_of_scope(files.iter().map(path).collect(), &scope, &facts);
        if outside.is_empty() {
            return Ok(None);
        }
        let short = outside.iter().map(|path| path.strip_prefix(&facts.root).unwrap_or(path));
        let target = first_few(short, 10);
        let (rule, tool) = (SCOPE.to_owned(), "commit".to_owned());
        self.journal_note(&state::Event::Denied { rule, tool, target: target.clone() });
        Ok(Some(format!(
            "the story may only touch {}, but the attempt also changed {target}; leave those files \
             unchanged, and describe what else is needed in your summary",
            scope.join(", ")
        )))
    }

    /// What follows from a check that did not pass. One that needs a program which no attempt can
    /// bring ends the run.
    fn not_passed(&self, check: &Check) -> WorkEnd {
        if let (CheckEnd::Stopped, Some(signal)) = (check.end, self.context.interrupts.signal()) {
            return WorkEnd::LandingStopped(signal);
        }
        let (name, verdict) = (check.name(), check.verdict());
        match check.needs() {
            Some(program) => WorkEnd::Impossible(format!(
                "the check `{name}` needs `{program}`, which was not found; install it, or fix \
                 [verify] commands"
            )),
            None => {
                let tests = check.verdict_of(&self.context.config);
                let what = format!("`{name}` {verdict}");
                WorkEnd::failed(with_cause(&what, tests.as_ref(), &check.excerpt()))
            }
        }
    }

    /// Work that fails where it was laid over that of others is checked without that as well: then it
    /// is known whose fault it is.
    fn red_alone_or_with_others(
        &mut self,
        attempt: &Attempt,
        end: WorkEnd,
    ) -> Result<WorkEnd, NotLanded> {
        let WorkEnd::Failed(_, why) = &end else { return Ok(end) };
        let Some((saved, theirs)) = self.landed_meanwhile(attempt)? else { return Ok(end) };
        let story = &attempt.story;
        self.context.view.line(format!("{story}: red; checking without what landed meanwhile"));
        let own = self.workspace.source.git().line(&["rev-parse", &format!("{saved}^1")])?;
        let alone = Attempt { base: Some(own), ..attempt.clone() };
        self.lay_over(&saved, Start::of(&alone))?;
        let checks = self.run_checks(&alone)?;
        // An agent that waits is to see both together.
        self.lay_over(&saved, Start::of(attempt))?;
        Ok(
            match checks.last().filter(|check| !check.passed()).map(|check| self.not_passed(check))
            {
                Some(stopped @ WorkEnd::LandingStopped(_)) => stopped,
                Some(_) => end,
                None => WorkEnd::RedWithOthers(format!(
                    "the work passes on its own but fails with what landed in the meantime{theirs}: {why}"
                )),
            },
        )
    }

    /// The saved work of an attempt and the stories that it was laid over since, in words; none if it is
    /// still where it was begun.
    fn landed_meanwhile(&self, attempt: &Attempt) -> Result<Option<(String, String)>, Failure> {
        let root = self.context.project.root();
        let saved = saved::commit_of(&self.workspace.source.git(), root, attempt)?;
        Ok(saved.and_then(|saved| {
            let theirs = self.landed_since(&saved, attempt.base.as_deref())?;
            Some((saved, theirs))
        }))
    }

    /// The stories that landed since a commit was begun, in words; none if nothing did.
    pub(super) fn landed_since(&self, commit: &str, tip: Option<&str>) -> Option<String> {
        let range = format!("{commit}^1..{}", tip?);
        let format = "--format=%h %(trailers:key=Ralph-Story,valueonly=true,separator=%x2C)";
        let listed = self.workspace.source.git().line(&["log", "--reverse", format, &range]);
        let listed = listed.ok().filter(|listed| !listed.is_empty())?;
        let stories = listed.lines().filter_map(|line| line.split_once(' '));
        let stories = first_few(stories.map(|(_, story)| story).filter(|it| !it.is_empty()), 5);
        Some(if stories.is_empty() { stories } else { format!(" ({stories})") })
    }

    /// Makes the commit. Git hooks that put files in order and refuse get one of what they left, once
    /// that has passed the checks as well; what they change in the commit itself is checked too.
    /// The message is that of the story unless it is given.
    pub(in crate::run) fn commit(
        &mut self,
        attempt: &Attempt,
        message: Option<&str>,
        passed: Passed,
        files: &[LoopFile],
    ) -> Result<(Made, Passed), NotLanded> {
        let mut passed = passed;
        for _ in 0..=MOST_FORMATTINGS {
            let wanted = self.workspace.with_files(files.iter().map(LoopFile::text))?;
            let message = message.map_or_else(|| self.message(attempt, &passed), str::to_owned);
            let limit = self.check_limit();
            let stop = || self.context.is_interrupted();
            let git = self.workspace.git().with_var(RUN_MARK, &self.context.run);
            match landing::commit(&git, &wanted, &message, limit, &stop)? {
                Ok(made) if made.is_altered => return self.check_hooks_work(attempt, made, passed),
                Ok(made) => return Ok((made, passed)),
                Err(Refusal::Stopped) => {
                    let signal = self.context.interrupts.signal();
                    let stopped = WorkEnd::failed(Refusal::Stopped.to_string());
                    return Err(signal.map_or(stopped, WorkEnd::LandingStopped).into());
                }
                Err(refusal @ Refusal::Impossible(_)) => {
                    return Err(WorkEnd::Impossible(refusal.to_string()).into());
                }
                Err(refusal @ Refusal::ByHook(_)) => {
                    let now = self.workspace.stage(Start::of(attempt), &self.books.ours())?;
                    if now.tree == passed.staged.tree {
                        return Err(WorkEnd::failed(refusal.to_string()).into());
                    }
                    passed = self.check_work(attempt, now)?;
                }
            }
        }
        Err(WorkEnd::failed("git hooks change the files every time they reject the commit").into())
    }

    /// The user's git hooks changed what is committed, so the checks have not seen it.
    fn check_hooks_work(
        &mut self,
        attempt: &Attempt,
        made: Made,
        passed: Passed,
    ) -> Result<(Made, Passed), NotLanded> {
        let story = &attempt.story;
        self.context.view.line(format!("{story}: git hooks changed the commit; checking it again"));
        self.workspace.git().run(&["read-tree", "--reset", "-u", &made.commit])?;
        let checks = self.run_checks(attempt)?;
        if let Some(check) = checks.last().filter(|check| !check.passed()) {
            return Err(self.not_passed(check).into());
        }
        Ok((made, Passed { checks, ..passed }))
    }

    fn message(&self, attempt: &Attempt, passed: &Passed) -> String {
        let Config { commit, .. } = &self.context.config;
        let checks: Vec<String> = passed.checks.iter().map(shown).collect();
        let story = Story {
            id: &attempt.story,
            title: &attempt.title,
            summary: self.report.summary.as_deref(),
            checks: &checks,
            proof: self.report.proof.as_ref().map(Proof::told),
            review: self.report.review.as_ref().map(Reviewed::told),
            attempt: attempt.number,
            cost_usd: self.report.cost_usd,
        };
        landing::message(&commit.message, &commit.kind, &story)
    }

    /// What a check or a commit may take: no longer than the run may; but a budget that is used up does
    /// not keep work from being checked and committed.
    pub(in crate::run) fn check_limit(&self) -> Option<Duration> {
        let check = self.context.config.verify.timeout.limit();
        check.into_iter().chain(self.time_for_checks()).min()
    }

    /// What is left of the run's time for them.
    pub(super) fn time_for_checks(&self) -> Option<Duration> {
        self.context.time_left().map(|left| left.max(LEAST_TIME))
    }
}

/// A check that passed, as the commit names it.
fn shown(check: &Check) -> String {
    let name = check.name();
    if check.excused.is_some() { format!("{name} (failed as before)") } else { name }
}
