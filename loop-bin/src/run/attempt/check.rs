//! Runs the user's checks on the work of an attempt, and commits it with the user's git hooks. Changes made by
//! checks and hooks are checked too.

use std::path::PathBuf;

use globset::{Glob, GlobSetBuilder};
use ralph_base::listing::{first_few, named_files};
use ralph_base::state::Event;
use ralph_core::git::GitError;
use ralph_core::guard::{Facts as GuardFacts, out_of_scope};
use ralph_project::checks::{Check, CheckContext, CheckEnd, CheckRules, one_line, run_checks};
use ralph_project::config::{Config, Weakened};
use ralph_project::strikes::with_cause;
use ralph_project::surroundings::scope_of;
use ralph_project::under_way::Attempt;
use ralph_project::weakening::weakened_since;

use super::{Course, Job, Passed, Stopped};
use crate::exit::Failure;
use crate::run::decide::WorkEnd;
use board::{LoopFile, NewCommit, Refusal, Story};
use work_copy::git_output::{base_of, listed, paths};
use work_copy::{Imported, Staged, Start, Workspace};

/// How often checks are repeated because they changed files.
const MOST_ROUNDS: usize = 3;

/// The rule's name, for messages and settings.
const SCOPE: &str = "scope";

/// Checks the files in the user's tree (in place).
pub(super) fn check_tree(
    job: &Job,
    copy: &mut Workspace,
    attempt: &Attempt,
) -> Result<Passed, Stopped> {
    let staged = copy.stage(Start::of(attempt), &job.books.ours, &Imported::default())?;
    check(job, copy, attempt, staged)
}

/// Checks the staged files.
pub(in crate::run) fn check(
    job: &Job,
    copy: &mut Workspace,
    attempt: &Attempt,
    staged: Staged,
) -> Result<Passed, Stopped> {
    if let Some(why) = refusal(job, copy, attempt, &staged)? {
        return Err(WorkEnd::failed(why).into());
    }
    let (checks, staged) = passed_checks(job, copy, attempt, staged)?;
    let weakened = weakened(job, copy, attempt, &staged.files)?;
    if let (Some(what), Weakened::Refuse) = (&weakened, job.context.config.tests.weakened) {
        return Err(WorkEnd::failed(format!("the tests were weakened: {what}")).into());
    }
    Ok(Passed { staged, checks, weakened, cost_usd: None })
}

/// Why this work cannot be committed, whatever the checks say.
fn refusal(
    job: &Job,
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
    Ok(outside_scope(job, copy, attempt, &staged.files))
}

/// Runs the checks until one fails, or all pass without changing files.
fn passed_checks(
    job: &Job,
    copy: &mut Workspace,
    attempt: &Attempt,
    mut staged: Staged,
) -> Result<(Vec<Check>, Staged), Stopped> {
    let ours = &job.books.ours;
    for round in 1..=MOST_ROUNDS {
        let checks = run(job, copy, attempt)?;
        let Some(last) = checks.last() else { return Ok((checks, staged)) };
        if !last.passed() {
            return Err(not_passed(job, last).into());
        }
        copy.renew(Start::of(attempt))?;
        let changed = copy.changed_since_staged(ours)?;
        if changed.is_empty() {
            return Ok((checks, staged));
        }
        let (story, files) = (&attempt.story, named_files(&changed));
        if round == MOST_ROUNDS {
            job.reporter.warn(format!(
                "{story}: the checks change files every time they run: {files}; the commit \
                 contains them as they were checked"
            ));
            return Ok((checks, staged));
        }
        job.reporter.line(format!("{story}: the checks changed {files}; checking again"));
        // New files that checks created do not belong to the story.
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

/// Runs the checks on the staged files.
pub(super) fn run(
    job: &Job,
    copy: &mut Workspace,
    attempt: &Attempt,
) -> Result<Vec<Check>, Failure> {
    let commands = &job.context.config.verify.commands;
    if commands.is_empty() {
        return Ok(Vec::new());
    }
    copy.show_staged()?;
    let names: Vec<String> = commands.iter().map(|check| one_line(check)).collect();
    job.reporter.doing(&format!("checking with {}", names.join(", ")));
    job.reporter.line(format!("{}: checking with {}", attempt.story, names.join(", ")));
    let checks = run_commands(job, copy, commands)?;
    for event in checked(&checks, &job.context.config) {
        job.reporter.note(&job.key, event);
    }
    Ok(checks)
}

/// All checks in a copy run through here; their changes to its repository are not trusted.
pub(super) fn run_commands(
    job: &Job,
    copy: &mut Workspace,
    commands: &[String],
) -> Result<Vec<Check>, Failure> {
    let context = &job.context;
    let rules = Some(CheckRules { config: &context.config, failed_before: &job.failed_before });
    let (run, left) = (&job.run, context.time_for_checks());
    let before = copy.stamps();
    let settings = CheckContext { dir: copy.root(), run, left, rules, door: &copy.doors.checks };
    let (limit, stop) = (context.config.verify.timeout.limit(), || context.is_interrupted());
    let checks = run_checks(settings, commands, limit, &stop);
    copy.doubt(before)?.into_iter().for_each(|said| job.reporter.warn(said));
    Ok(checks?)
}

/// How the attempt weakened the tests, unless the setting ignores that.
fn weakened(
    job: &Job,
    copy: &Workspace,
    attempt: &Attempt,
    files: &[PathBuf],
) -> Result<Option<String>, Failure> {
    match (&attempt.base, job.context.config.tests.weakened) {
        (None, _) | (_, Weakened::Ignore) => Ok(None),
        (Some(base), _) => Ok(weakened_since(&copy.repo()?, base, files)?),
    }
}

/// Files outside the story's scope. The guard denies single edits; this finds files however they were
/// changed, for example by an agent without hooks.
fn outside_scope(
    job: &Job,
    copy: &Workspace,
    attempt: &Attempt,
    files: &[PathBuf],
) -> Option<String> {
    let config = &job.context.config;
    let scope = scope_of(&attempt.story, config);
    if scope.is_empty() || !config.guard.in_force(SCOPE) {
        return None;
    }
    let top = copy.top();
    // A glob can only match a name that is UTF-8.
    let path = |file: &PathBuf| top.join(file.to_string_lossy().into_owned());
    let facts = GuardFacts { root: copy.root().to_owned(), ..GuardFacts::default() };
    // Invalid globs were refused when the settings were read.
    let mut globs = GlobSetBuilder::new();
    for glob in scope.iter().filter_map(|glob| Glob::new(glob).ok()) {
        globs.add(glob);
    }
    let globs = globs.build().unwrap_or_default();
    let fits = |inside: &camino::Utf8Path| globs.is_match(inside);
    let outside = out_of_scope(files.iter().map(path).collect(), &facts, fits);
    if outside.is_empty() {
        return None;
    }
    let short = outside.iter().map(|path| path.strip_prefix(&facts.root).unwrap_or(path));
    let target = first_few(short, 10);
    let (rule, tool) = (SCOPE.to_owned(), "commit".to_owned());
    job.reporter.note(&job.key, Event::Denied { rule, tool, target: target.clone(), asked: false });
    Some(format!(
        "the story may only touch {}, but the attempt also changed {target}; leave those files \
         unchanged, and describe what else is needed in your summary",
        scope.join(", ")
    ))
}

/// Why a failed check keeps the work from landing. A missing program that no attempt can install ends
/// the run.
pub(super) fn not_passed(job: &Job, check: &Check) -> WorkEnd {
    let context = &job.context;
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

/// Events with the results of checks and the counts of their test runners.
pub(in crate::run) fn checked<'a>(
    checks: &'a [Check],
    config: &'a Config,
) -> impl Iterator<Item = Event> + 'a {
    checks.iter().map(|check| {
        let counts = check.verdict_of(config).map(|verdict| verdict.counts);
        let counts = counts.filter(|counts| counts.passed + counts.failed > 0);
        Event::Checked {
            check: check.name(),
            ended: check.verdict(),
            passed: counts.map(|counts| counts.passed),
            failed: counts.map(|counts| counts.failed),
            seconds: check.took.as_secs_f64(),
        }
    })
}

/// How often git hooks may fix the files of one story.
const MOST_FORMATTINGS: usize = 2;

/// Commits a story together with the loop's own files.
pub(super) fn commit_story(
    job: &Job,
    copy: &mut Workspace,
    course: &Course,
    passed: Passed,
    files: &[LoopFile],
) -> Result<(NewCommit, Passed), Stopped> {
    let message = |passed: &Passed| message(job, course, passed);
    commit(job, copy, &course.attempt, (passed, files), &message)
}

/// Makes the commit. If git hooks fix files and refuse, it is tried again with the fixed files once those have
/// passed the checks; changes that hooks make in the commit itself are checked too.
pub(in crate::run) fn commit(
    job: &Job,
    copy: &mut Workspace,
    attempt: &Attempt,
    (mut passed, files): (Passed, &[LoopFile]),
    message: &dyn Fn(&Passed) -> String,
) -> Result<(NewCommit, Passed), Stopped> {
    let context = &job.context;
    for _ in 0..=MOST_FORMATTINGS {
        let wanted = copy.with_files(files.iter().map(LoopFile::text))?;
        if !copy.needs_full_commits() {
            let (git, base) = (copy.git(), attempt.base.as_deref());
            let made = board::commit_plainly(&git, &wanted, base, &message(&passed))?;
            return Ok((made, passed));
        }
        let stop = || context.is_interrupted();
        let (base, limit) = (attempt.base.as_deref(), context.check_limit());
        let made =
            board::commit(copy, (&wanted, base), &message(&passed), (&job.run, limit), &stop)?;
        // Hooks may run code of the agent's, and change the git settings of the copy.
        copy.doubt(None)?;
        match made {
            Ok(made) if made.is_altered => {
                return check_hooks_work(job, copy, attempt, made, passed);
            }
            Ok(made) => return Ok((made, passed)),
            Err(Refusal::Stopped) => {
                let stopped = WorkEnd::failed(Refusal::Stopped.to_string());
                let signal = context.interrupts.signal();
                return Err(signal.map_or(stopped, WorkEnd::LandingStopped).into());
            }
            Err(refusal @ Refusal::Impossible(_)) => {
                return Err(WorkEnd::Impossible(refusal.to_string()).into());
            }
            Err(refusal @ Refusal::ByHook(_)) => {
                let ours = &job.books.ours;
                let mut now = copy.stage(Start::of(attempt), ours, &Imported::default())?;
                if now.tree == passed.staged.tree {
                    return Err(WorkEnd::failed(refusal.to_string()).into());
                }
                now.aside.append(&mut passed.staged.aside);
                passed = check(job, copy, attempt, now)?;
            }
        }
    }
    Err(WorkEnd::failed("git hooks change the files every time they reject the commit").into())
}

/// The user's git hooks changed the commit, so the checks have not seen this version.
fn check_hooks_work(
    job: &Job,
    copy: &mut Workspace,
    attempt: &Attempt,
    made: NewCommit,
    passed: Passed,
) -> Result<(NewCommit, Passed), Stopped> {
    let story = &attempt.story;
    job.reporter.line(format!("{story}: git hooks changed the commit; checking it again"));
    copy.renew(Start::of(attempt))?;
    copy.git().run(&["read-tree", "--reset", "-u", &made.commit])?;
    let checks = run(job, copy, attempt)?;
    if let Some(check) = checks.last().filter(|check| !check.passed()) {
        return Err(not_passed(job, check).into());
    }
    Ok((made, Passed { checks, ..passed }))
}

fn message(job: &Job, course: &Course, passed: &Passed) -> String {
    let Course { attempt, facts, .. } = course;
    let commit = &job.context.config.commit;
    let checks: Vec<String> = passed.checks.iter().map(shown).collect();
    let story = Story {
        is_linted: board::lints_commits(job.context.project.root()),
        id: &attempt.story,
        title: &attempt.title,
        summary: facts.summary.as_deref(),
        checks: &checks,
        proof: facts.second_look.proof.as_ref().map(|proof| proof.in_words()),
        review: facts.second_look.review.as_ref().map(|review| review.in_words()),
        agent: job.context.agent_in_words(attempt),
        attempt: attempt.number,
        cost_usd: passed.cost_usd,
        is_cost_open: job.context.config.session.stories_per_session > 1,
    };
    board::message(&commit.message, &commit.kind, &story)
}

/// A passed check, as it appears in the commit message.
fn shown(check: &Check) -> String {
    let name = check.name();
    if check.excused.is_some() { format!("{name} (failed as before)") } else { name }
}
