//! Commits of the loop's own files without a story: the last progress entries, lessons, and blocked stories.
//! Also lists what each story cost.

use std::path::PathBuf;

use ralph_base::state::plan_name;

use super::context::LEAST_TIME;
use super::land::{advance, as_committed, blocked_marks, receipt_of_records};
use super::start::follow_waiting;
use super::state::Conductor;
use crate::exit::Failure;
use crate::record::is_work_left_in;
use board::{Advance, LoopFile, NewCommit, PlanChanges, Tip};
use work_copy::Start;
use work_copy::git_output::paths;
use work_copy::in_place::ProtectedFiles;

/// The subject of these commits.
const RECORDS: &str = "chore(ralph): record progress";

/// Commits the last progress entries, the lessons and the boxes of blocked stories if git tracks the
/// plan, so that none of our changes stays uncommitted.
pub(super) fn record_progress(run: &mut Conductor) -> Result<(), Failure> {
    let slot = 0;
    let Ok(desk) = run.desk(slot) else { return Ok(()) };
    let (is_in_place, root) = (desk.copy.is_in_place, desk.copy.root());
    // The copy contains unfinished work, perhaps its only version.
    if run.slots.iter().any(|slot| slot.work.is_some())
        || is_work_left_in(root, &run.context.run_dir)?
    {
        return Ok(());
    }
    for _ in 0..5 {
        let Tip { commit: tip, is_followed, branch } = run.board.tip()?;
        let Some(base) = tip.as_deref() else { return Ok(()) };
        let plan = plan_name(run.context.project.root(), &run.books.plan);
        let changes = PlanChanges { marks: blocked_marks(run, &plan), ..PlanChanges::default() };
        let files = run.books.files_for(is_followed, tip.as_deref(), &changes)?;
        if !files.iter().any(LoopFile::is_changed) {
            if is_followed {
                run.books.bring_users_texts(&files)?;
            } else {
                // Now nothing blocks the waiting work any more.
                follow_waiting(run)?;
            }
            return run.books.clear_pending(tip.as_deref(), &files);
        }
        let (plan, progress) = (run.books.plan.clone(), run.books.progress.clone());
        let books = [&plan, &progress];
        let start = Start { tip: tip.as_deref(), branch: &branch, books };
        let desk = run.desk_mut(slot)?;
        let git = desk.copy.store();
        if is_in_place {
            git.run(&["read-tree", base])?;
        } else {
            desk.copy.reset(start)?;
        }
        let changed = files.iter().filter(|file| file.is_changed());
        let tree = desk.copy.with_files(changed.map(LoopFile::text))?;
        let made = commit_records(run, slot, (&tree, base));
        if made.is_err() && is_followed {
            // Without that commit, this keeps the blocked stories from being started again.
            run.books.mark_users_text(&changes)?;
        }
        let made = made?;
        if made.is_altered && !is_in_place {
            let changed = ["diff-tree", "-r", "-z", "--name-only", base, &made.commit];
            let is_other = |path: &PathBuf| !files.iter().any(|file| file.path == *path);
            if paths(&git.run(&changed)?).iter().any(is_other) {
                return Err(Failure::because(
                    "progress was not committed because your git hooks add unchecked files to the \
                     commit; it will be committed with the next story",
                ));
            }
        }
        let files = as_committed(run, slot, &made, files)?;
        run.books.remember(tip.as_deref(), &made, &files);
        let note = receipt_of_records(run, slot, &made, base)?;
        let texts = (&*files, note.as_slice());
        match advance(run, slot, (tip.as_deref(), false), &made.commit, texts)? {
            Advance::Moved => {}
            _ => return run.books.clear_pending(Some(&made.commit), &files),
        }
    }
    Ok(())
}

/// Commits the index, as any other commit that lands. If that is refused, the changes are part of the next story's
/// commit.
fn commit_records(
    run: &Conductor,
    slot: usize,
    (tree, base): (&str, &str),
) -> Result<NewCommit, Failure> {
    let (name, interrupts) = (&run.context.run, &run.context.interrupts);
    let is_hurried = run.context.is_interrupted();
    let limit = if is_hurried { Some(LEAST_TIME) } else { run.context.check_limit() };
    let message = format!("{RECORDS}\n\nRalph-Run: {name}\n");
    let (desk, stop) = (run.desk(slot)?, || interrupts.count() > 1);
    let copy = &desk.copy;
    if copy.is_in_place {
        // A hook may reformat the progress file.
        let books = (&*run.books.plan, None);
        ProtectedFiles::remember(copy, books)?;
    }
    let made = board::commit(copy, (tree, Some(base)), &message, (name, limit), &stop);
    ProtectedFiles::forget(&desk.dir)?;
    match made? {
        Ok(made) => Ok(made),
        Err(refusal) => Err(Failure::because(format!("progress was not committed: {refusal}"))),
    }
}

/// Lists what each story of the plan cost.
pub(super) fn show_receipts(run: &Conductor) {
    let plan = plan_name(run.context.project.root(), &run.books.plan);
    let receipts = run.history.borrow().receipts(&run.context.run, &plan);
    receipts.into_iter().for_each(|line| run.view.line(line));
}
