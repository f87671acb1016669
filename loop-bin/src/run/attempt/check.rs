//! The user's checks on the work of an attempt. What they change is checked as well.

use std::path::PathBuf;

use ralph_base::listing::{first_few, named_files};
use ralph_base::state::{self, Event, Id};
use ralph_core::git::GitError;
use ralph_core::guard::{Facts as GuardFacts, out_of_scope};
use ralph_project::checks::{Check, CheckContext, CheckEnd, CheckRules, one_line, run_checks};
use ralph_project::config::Weakened;
use ralph_project::strikes::with_cause;
use ralph_project::surroundings::scope_of;
use ralph_project::under_way::Attempt;
use ralph_project::weakening::weakened_since;

use super::report::checked;
use super::{Around, Desk, Passed, Stopped, ToCheck, begin};
use crate::exit::Failure;
use crate::run::decide::WorkEnd;
use work_copy::git_output::{base_of, listed, paths};
use work_copy::{Imported, Staged, Start, Workspace};

/// How often checks that change files are run again on what they left.
const MOST_ROUNDS: usize = 3;

/// The rule, as users know and switch it.
const SCOPE: &str = "scope";

/// Checks the work of an attempt.
pub(super) fn check_work(
    around: Around<'_>,
    desk: &mut Desk,
    attempt: &mut Attempt,
    work: ToCheck,
) -> Result<Passed, Stopped> {
    let (saved, tip, branch) = match work {
        ToCheck::Staged(staged) => return check(around, &mut desk.copy, attempt, staged),
        ToCheck::InTree => {
            let staged =
                desk.copy.stage(Start::of(attempt), around.books.ours(), &Imported::default())?;
            return check(around, &mut desk.copy, attempt, staged);
        }
        ToCheck::Moved { saved, tip, branch } => (saved, tip, branch),
    };
    let staged = move_onto(around, desk, attempt, &saved, (tip, branch))?;
    match check(around, &mut desk.copy, attempt, staged) {
        Err(Stopped::Work(WorkEnd::Failed(outcome, why))) => {
            let end = WorkEnd::Failed(outcome, why.clone());
            let copy = &mut desk.copy;
            Err(failed_alone_or_with_others(around, copy, attempt, &saved, (end, &why))?.into())
        }
        checked => checked,
    }
}

/// Lays the saved work over where the target is now.
fn move_onto(
    around: Around<'_>,
    desk: &mut Desk,
    attempt: &mut Attempt,
    saved: &str,
    (tip, branch): (Option<String>, String),
) -> Result<Staged, Stopped> {
    let story = &attempt.story;
    around.reporter.line(format!("{story}: the target moved; checking the work again"));
    let copy = &mut desk.copy;
    let laid = lay_over(around, copy, saved, Start { tip: tip.as_deref(), branch: &branch });
    if let Err(Stopped::Work(_)) = laid {
        // The attempt as it was, so that it can be kept.
        copy.reset(Start::of(attempt))?;
        copy.overlay(saved, Start::of(attempt))?;
    }
    let staged = laid?;
    let progress = copy.left(&around.books.progress).unwrap_or_default();
    state::replace_unsynced(&desk.dir.progress_given(), &progress)?;
    (attempt.base, attempt.target) = (tip, branch);
    attempt.save(&desk.dir)?;
    Ok(staged)
}

/// The changes of a commit, laid over another one and staged there.
pub(in crate::run) fn lay_over(
    around: Around<'_>,
    copy: &mut Workspace,
    commit: &str,
    start: Start<'_>,
) -> Result<Staged, Stopped> {
    let (context, stop) = (around.context, || around.context.is_interrupted());
    begin::prepare((&context.config, &stop), around.reporter, copy, start, around.run)?;
    if let Some(said) = copy.overlay(commit, start)? {
        let theirs = landed_since(copy, commit, start.tip).unwrap_or_default();
        let why = format!("the work conflicts with what landed in the meantime{theirs}: {said}");
        return Err(WorkEnd::Conflict(why).into());
    }
    Ok(copy.stage(start, around.books.ours(), &Imported::default())?)
}

/// Checks what is staged.
pub(in crate::run) fn check(
    around: Around<'_>,
    copy: &mut Workspace,
    attempt: &Attempt,
    staged: Staged,
) -> Result<Passed, Stopped> {
    if let Some(why) = refusal(around, copy, attempt, &staged)? {
        return Err(WorkEnd::failed(why).into());
    }
    let (checks, staged) = passed_checks(around, copy, attempt, staged)?;
    let weakened = weakened(around, copy, attempt, &staged.files)?;
    if let (Some(what), Weakened::Refuse) = (&weakened, around.context.config.tests.weakened) {
        return Err(WorkEnd::failed(format!("the tests were weakened: {what}")).into());
    }
    Ok(Passed { staged, checks, weakened, cost_usd: None })
}

/// Why this work can be no commit, whatever the checks say.
fn refusal(
    around: Around<'_>,
    copy: &Workspace,
    attempt: &Attempt,
    staged: &Staged,
) -> Result<Option<String>, Failure> {
    if staged.refusal.is_some() {
        return Ok(staged.refusal.clone());
    }
    if staged.leaves_nothing {
        return Ok(Some("the agent deleted all files, or the folder it worked in".to_owned()));
    }
    if !staged.embedded.is_empty() {
        return Ok(Some(format!(
            "all of the work is in a git repository or work tree that the agent created, which \
             cannot be committed: {}; work in the project's own folder",
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
    Ok(outside_scope(around, copy, attempt, &staged.files))
}

/// Runs the checks until one fails, or all pass and leave the files as they are.
fn passed_checks(
    around: Around<'_>,
    copy: &mut Workspace,
    attempt: &Attempt,
    mut staged: Staged,
) -> Result<(Vec<Check>, Staged), Stopped> {
    let ours = around.books.ours();
    for round in 1..=MOST_ROUNDS {
        let checks = run(around, copy, attempt)?;
        let Some(last) = checks.last() else { return Ok((checks, staged)) };
        if !last.passed() {
            return Err(not_passed(around, last).into());
        }
        copy.renew(Start::of(attempt))?;
        let changed = copy.changed_since_staged(ours)?;
        if changed.is_empty() {
            return Ok((checks, staged));
        }
        let (story, files) = (&attempt.story, named_files(&changed));
        if round == MOST_ROUNDS {
            around.reporter.warn(format!(
                "{story}: the checks change files every time they run: {files}; the commit \
                 contains them as they were checked"
            ));
            return Ok((checks, staged));
        }
        around.reporter.line(format!("{story}: the checks changed {files}; checking again"));
        // Files that they made are not the story's.
        let git = copy.git();
        let add = ["add", "--update", "--pathspec-from-file=-", "--pathspec-file-nul"];
        let failed = |error: GitError| WorkEnd::failed(error.to_string());
        git.feed(&add, &listed(&changed)).map_err(failed)?;
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

/// Runs the checks on what is staged.
pub(super) fn run(
    around: Around<'_>,
    copy: &mut Workspace,
    attempt: &Attempt,
) -> Result<Vec<Check>, Failure> {
    let commands = &around.context.config.verify.commands;
    if commands.is_empty() {
        return Ok(Vec::new());
    }
    copy.show_staged()?;
    let names: Vec<String> = commands.iter().map(|check| one_line(check)).collect();
    around.reporter.doing(&format!("checking with {}", names.join(", ")));
    around.reporter.line(format!("{}: checking with {}", attempt.story, names.join(", ")));
    let checks = run_commands(around, copy, commands)?;
    for event in checked(&checks, &around.context.config) {
        around.reporter.note(around.key, event);
    }
    Ok(checks)
}

/// The one way in which checks run in a copy: what they did to its repository is not trusted.
pub(super) fn run_commands(
    around: Around<'_>,
    copy: &mut Workspace,
    commands: &[String],
) -> Result<Vec<Check>, Failure> {
    let context = around.context;
    let rules = Some(CheckRules { config: &context.config, failed_before: around.failed_before });
    let (run, left) = (around.run, context.time_for_checks());
    let before = copy.stamps();
    let settings = CheckContext { dir: copy.root(), run, left, rules };
    let (limit, stop) = (context.config.verify.timeout.limit(), || context.is_interrupted());
    let checks = run_checks(settings, commands, limit, &stop);
    copy.doubt(before);
    Ok(checks?)
}

/// In what respect the attempt weakened the tests, if the user wants to know.
fn weakened(
    around: Around<'_>,
    copy: &Workspace,
    attempt: &Attempt,
    files: &[PathBuf],
) -> Result<Option<String>, Failure> {
    match (&attempt.base, around.context.config.tests.weakened) {
        (None, _) | (_, Weakened::Ignore) => Ok(None),
        (Some(base), _) => Ok(weakened_since(&copy.repo()?, base, files)?),
    }
}

/// Files outside of the story's scope. The guard forbids the edits one by one; here they are found however
/// they were made, by an agent without hooks for instance.
fn outside_scope(
    around: Around<'_>,
    copy: &Workspace,
    attempt: &Attempt,
    files: &[PathBuf],
) -> Option<String> {
    let config = &around.context.config;
    let scope = scope_of(Id::parse(&attempt.story).ok().as_ref(), config);
    if scope.is_empty() || !config.guard.in_force(SCOPE) {
        return None;
    }
    let top = copy.top();
    // No glob of the user's can mean a name that is no text.
    let path = |file: &PathBuf| top.join(file.to_string_lossy().into_owned());
    let facts = GuardFacts { root: copy.root().to_owned(), ..GuardFacts::default() };
    let outside = out_of_scope(files.iter().map(path).collect(), &scope, &facts);
    if outside.is_empty() {
        return None;
    }
    let short = outside.iter().map(|path| path.strip_prefix(&facts.root).unwrap_or(path));
    let target = first_few(short, 10);
    let (rule, tool) = (SCOPE.to_owned(), "commit".to_owned());
    around.reporter.note(around.key, Event::Denied { rule, tool, target: target.clone() });
    Some(format!(
        "the story may only touch {}, but the attempt also changed {target}; leave those files \
         unchanged, and describe what else is needed in your summary",
        scope.join(", ")
    ))
}

/// What follows from a check that did not pass. One that needs a program which no attempt can bring ends
/// the run.
pub(super) fn not_passed(around: Around<'_>, check: &Check) -> WorkEnd {
    let context = around.context;
    if let (CheckEnd::Stopped, Some(signal)) = (check.end, context.interrupts.signal()) {
        return WorkEnd::LandingStopped(signal);
    }
    let (name, verdict) = (check.name(), check.verdict());
    match check.needs() {
        Some(program) => WorkEnd::Impossible(format!(
            "the check `{name}` needs `{program}`, which was not found; install it, or fix \
             [verify] commands"
        )),
        None => {
            let tests = check.verdict_of(&context.config);
            let what = format!("`{name}` {verdict}");
            WorkEnd::failed(with_cause(&what, tests.as_ref(), &check.excerpt()))
        }
    }
}

/// Work that fails together with stories that landed since is checked without them as well: then it is
/// known whose fault it is.
fn failed_alone_or_with_others(
    around: Around<'_>,
    copy: &mut Workspace,
    attempt: &Attempt,
    saved: &str,
    (end, why): (WorkEnd, &str),
) -> Result<WorkEnd, Stopped> {
    let Some(theirs) = landed_since(copy, saved, attempt.base.as_deref()) else { return Ok(end) };
    let story = &attempt.story;
    around.reporter.line(format!(
        "{story}: checks failed; re-running them without the stories that landed since"
    ));
    let own = copy.source.git().line(&["rev-parse", &format!("{saved}^1")])?;
    let alone = Attempt { base: Some(own), ..attempt.clone() };
    lay_over(around, copy, saved, Start::of(&alone))?;
    let checks = run(around, copy, &alone)?;
    // A paused agent is to see both together.
    lay_over(around, copy, saved, Start::of(attempt))?;
    let failed = checks.last().filter(|check| !check.passed());
    Ok(match failed.map(|check| not_passed(around, check)) {
        Some(stopped @ WorkEnd::LandingStopped(_)) => stopped,
        Some(_) => end,
        None => WorkEnd::RedWithOthers(format!(
            "the work passes on its own but fails with what landed in the meantime{theirs}: {why}"
        )),
    })
}

/// The stories that landed since a commit was begun, in words; none if nothing did.
pub(in crate::run) fn landed_since(
    copy: &Workspace,
    commit: &str,
    tip: Option<&str>,
) -> Option<String> {
    let range = format!("{commit}^1..{}", tip?);
    let format = "--format=%h %(trailers:key=Ralph-Story,valueonly=true,separator=%x2C)";
    let listed = copy.source.git().line(&["log", "--reverse", format, &range]);
    let listed = listed.ok().filter(|listed| !listed.is_empty())?;
    let stories = listed.lines().filter_map(|line| line.split_once(' '));
    let stories = first_few(stories.map(|(_, story)| story).filter(|it| !it.is_empty()), 5);
    Some(if stories.is_empty() { stories } else { format!(" ({stories})") })
}
