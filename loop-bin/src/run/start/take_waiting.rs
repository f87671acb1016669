//! Lands work of an earlier run that waits on a branch of our own: if the target has moved, the work is
//! rebased and checked again, commit by commit.
//!
//! No ref moves before everything applies and has passed, so there is nothing to recover.

use ralph_base::state::{self, StoryKey, plan_name};
use ralph_project::config::PullRequests;
use ralph_project::strikes::record_failure;
use ralph_project::under_way::Attempt;

use crate::exit::Failure;
use crate::receipts::{Annotations, Receipt};
use crate::record::Outcome;
use crate::run::attempt::verify::{Work, verify};
use crate::run::attempt::{Job, Passed, Stopped, commit, lay_over, prepare_copy};
use crate::run::decide::WorkEnd;
use crate::run::land::note_about;
use crate::run::state::Conductor;
use crate::terminal::counted;
use board::saved::{self, Account};
use board::{Advance, Note};
use work_copy::git_output::differences_between;
use work_copy::{Start, Workspace};

/// Lands the waiting work on its branch, or reports why not.
pub(crate) fn take_waiting(run: &mut Conductor) -> Result<(), Failure> {
    // In place the commits themselves move the branch.
    let waiting = run.board.tip()?.branch;
    if waiting == run.board.branch || run.context.config.workspace.in_place {
        return Ok(());
    }
    if let Some((tip, work)) = run.board.diverged()? {
        let why = match rebase(run, tip, &work) {
            Ok(new) => {
                let (new, notes) = new;
                run.board.replace_waiting(&work, &new, &notes)?;
                None
            }
            Err(Stopped::Work(
                WorkEnd::Failed(_, why)
                | WorkEnd::Conflict(why)
                | WorkEnd::RedWithOthers(why)
                | WorkEnd::Impossible(why),
            )) => Some(why),
            Err(Stopped::Work(_)) => return Ok(()),
            Err(Stopped::Failure(failure)) => Some(failure.to_string()),
        };
        run.show_reports();
        if let Some(why) = why {
            let config = &run.context.config;
            if !config.run.fleet.is_empty() || config.finish.pr == PullRequests::Story {
                return keep_overtaken(run, &work, &why);
            }
            let branch = &run.board.branch;
            let why = why.lines().next().unwrap_or_default();
            run.view.warn(format!(
                "the work on {waiting} cannot be rebased onto {branch}: {why}; the run continues \
                 from {waiting}; merge it by hand with `git merge {waiting}`"
            ));
            run.record.rebase_problem = Some(why.to_owned());
            return Ok(());
        }
    }
    if follow_waiting(run)? {
        let branch = &run.board.branch;
        run.view.line(format!("the waiting work is now on {branch}"));
    }
    Ok(())
}

/// Saves work that another process has overtaken as an attempt. The story starts over, and its agent is shown why.
fn keep_overtaken(run: &Conductor, work: &str, why: &str) -> Result<(), Failure> {
    let git = run.source.git();
    let format = "--format=%H %(trailers:key=Ralph-Story,valueonly=true,separator=)";
    let found = git.line(&["log", "-1", "--grep=^Ralph-Story:", format, work])?;
    let (work, story) = found.split_once(' ').unwrap_or((work, ""));
    let plan = plan_name(run.context.project.root(), &run.books.plan);
    let key = StoryKey::new(&plan, story);
    let first = why.lines().next().unwrap_or_default();
    run.view
        .warn(format!("{}: another story landed first: {first}; the story starts over", key.story));
    let why = format!("another story landed first: {why}");
    record_failure(run.context.state(), Some(&key.to_string()), &why)?;
    let number = saved::number_after(&saved::at_story(&git, &key)?);
    let (outcome, name) = (Outcome::Failed.word(), &run.context.run);
    let account = Account { key, number, outcome, why: &why, run: name, ..Account::default() };
    let tree = format!("{work}^{{tree}}");
    saved::keep(&git, &run.source.top, &tree, &[&format!("{work}^1")], &account)?;
    Ok(())
}

/// Moves the user's branch to the waiting work; returns whether that was possible.
pub(crate) fn follow_waiting(run: &Conductor) -> Result<bool, Failure> {
    let tip = run.board.tip()?.commit.unwrap_or_default();
    Ok(run.board.follow(&run.books.files_that_wait(&tip))? == Advance::Landed)
}

/// Rebases the loop's commits up to `work` onto `tip`, each of them checked. A commit of the user's that is no longer
/// on their branch has been amended, so it is left out. Each gets a receipt with what was found out now.
fn rebase(run: &mut Conductor, tip: String, work: &str) -> Result<(String, Vec<Note>), Stopped> {
    let (git, branch) = (run.source.git(), run.board.branch.clone());
    let list = ["rev-list", "--reverse", "--first-parent", "--right-only", "--cherry-pick"];
    let range = ["--grep=^Ralph-", &format!("{tip}...{work}")];
    let listed = git.line(&[&list[..], &range].concat())?;
    let commits = counted(listed.lines().count(), "waiting commit", "waiting commits");
    run.view.line(format!("rebasing {commits} onto {branch}"));
    let (mut tip, mut notes) = (tip, Vec::new());
    for commit_id in listed.lines() {
        let format = "--format=%s%n%(trailers:key=Ralph-Story,valueonly=true,separator=)";
        let found = git.line(&["log", "-1", format, commit_id])?;
        let (title, story) = found.split_once('\n').unwrap_or((&found, &found));
        let files = run.books.files_of(commit_id, &tip)?;
        let message = git.line(&["log", "-1", "--format=%B", commit_id])?;
        let attempt = Attempt {
            story: story.to_owned(),
            title: title.to_owned(),
            target: branch.clone(),
            base: Some(tip.clone()),
            ..Attempt::now()
        };
        let job = run.job(0, &StoryKey::new("", story))?;
        let (copy, start) = (&mut run.desk_mut(0)?.copy, Start::of(&attempt));
        if !copy.exists() {
            // The copy has been removed meanwhile.
            prepare_copy(&job, copy, start)?;
        }
        let work = without_loop_files(copy, &job, commit_id)?;
        let staged = lay_over(&job, copy, &work, start)?;
        let mut waiting = Work::changed(&job, copy, &attempt, staged);
        verify(&mut waiting)?;
        let Work { staged, findings, copy, .. } = waiting;
        let passed = Passed { staged, findings, cost_usd: None };
        let message = |_: &Passed| message.clone();
        let (made, passed) = commit(&job, copy, &attempt, (passed, &files), &message)?;
        if let Some(earlier) = Receipt::of(&git, commit_id)? {
            let base = attempt.base.clone();
            let annotations = Annotations { base, ..earlier.statement.predicate.annotations };
            notes.push(note_about(run, 0, &made, (&passed.findings, annotations))?);
        }
        tip = made.commit;
    }
    Ok((tip, notes))
}

/// Applies a commit's changes, except those to plan, progress and lessons, which the loop makes
/// itself, whatever the user has changed there meanwhile.
fn without_loop_files(copy: &Workspace, job: &Job, commit: &str) -> Result<String, Failure> {
    let index = job.context.run_dir.root().join("index-rebase");
    let git = copy.source.git().on_index(index.clone().into());
    let parent = git.line(&["rev-parse", &format!("{commit}^1")])?;
    let changed = differences_between(&git, &parent, commit)?;
    let ours = changed.iter().filter(|one| job.books.ours.contains(&one.path));
    let restored: Vec<u8> = ours.flat_map(|one| one.old.line(&one.path)).collect();
    git.run(&["read-tree", commit])?;
    git.feed(&["update-index", "-z", "--index-info"], &restored)?;
    let tree = git.line(&["write-tree"])?;
    state::remove_if_there(index)?;
    Ok(board::commit_tree(&git, &tree, &[&parent], "work that waits")?)
}
