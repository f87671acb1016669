//! Landing: moves the target to a checked commit by compare-and-swap, and updates plan, progress and
//! journal. Each commit on the target was checked as it is. The work is saved as an attempt first; the
//! attempt's files are removed at the end of the iteration.

use std::sync::Arc;

use camino::Utf8PathBuf;
use jiff::Timestamp;
use ralph_base::env::Env;
use ralph_base::fault;
use ralph_base::listing::named_files;
use ralph_base::state::{self, Event, Scale};
use ralph_core::plan::State;
use ralph_project::config::{Flag, PullRequests};
use ralph_project::progress::{ProgressEntry, ProgressStatus};
use ralph_project::strikes::clear_failure;
use ralph_project::under_way::{Attempt, Phase};
use ralph_project::verification::{CommandFacts, Finding, scale_of, tests_of};

use super::attempt::{Facts, Left, Passed, refused_in, report_findings, rollbacks, set_phase};
use super::context::Context;
use super::decide::Finish;
use super::scripts;
use super::state::{Conductor, UnderWay};
use super::take_over::clear_own;
use crate::detect::detect_at;
use crate::exit::Failure;
use crate::receipts::{self, Annotations, PublicText, Receipt, Sandbox, Statement, sha256};
use crate::record::Outcome;
use crate::saved::{self, Account};
use crate::terminal::{Tone, counted};
use board::{Advance, LoopFile, Mark, NewCommit, Note, PlanChanges};
use work_copy::in_place::ProtectedFiles;
use work_copy::{Staged, name_of_discarded};

/// The changes that landing a story makes to the plan: its box, boxes of stories given up, and stories that the
/// agent added. Ids that have been taken meanwhile are replaced.
pub(super) fn changes(run: &mut Conductor, work: &mut UnderWay) -> Result<PlanChanges, Failure> {
    if let Some(agents) = work.facts.agents.as_mut().filter(|agents| agents.adds_stories()) {
        let findings = agents.avoid_ids_of(&run.books.load(&run.board)?);
        report_findings(&run.job(work.slot, &work.key)?, findings);
    }
    let mut marks = blocked_marks(run, &work.key.plan);
    marks.push((work.key.story.clone(), State::Done));
    Ok(PlanChanges { marks, added: work.facts.agents.clone().into_iter().collect() })
}

/// The boxes of stories that this run gave up, and of landed stories that another process reopened.
pub(super) fn blocked_marks(run: &Conductor, plan: &str) -> Vec<Mark> {
    let set_aside = run.record.tally.set_aside_in(plan);
    let reopened = run.record.tally.stories_in(plan, |story| story.is_reopened);
    let reopened = reopened.into_iter().map(|story| (story, State::Done));
    set_aside.into_iter().map(|story| (story, State::Blocked)).chain(reopened).collect()
}

/// Lands a commit; returns false if the target has moved.
pub(super) fn land(
    run: &mut Conductor,
    work: &mut UnderWay,
    made: &NewCommit,
    passed: &Passed,
) -> Result<bool, Failure> {
    let base = work.attempt.base.clone();
    let files = as_committed(run, work.slot, made, work.files.clone())?;
    let phase = Phase::Landing { commit: made.commit.clone() };
    set_phase(run.desk(work.slot)?, &mut work.attempt, phase)?;
    fault::point("land.committed");
    run.books.remember(base.as_deref(), made, &files);
    let notes = [receipt(run, work, made, &passed.findings)?];
    let moved = (base.as_deref(), work.waits);
    let advance = advance(run, work.slot, moved, &made.commit, (&files, &notes))?;
    fault::point("land.advanced");
    if advance == Advance::Moved {
        log::info!("{}: the target moved; landing again", work.key.story);
        return Ok(false);
    }
    // The user's scripts may change the copy before the next story.
    if !scripts::folder(run.context.state(), run.context.project.root()).is_dir() {
        let files: Vec<_> = files.iter().map(|file| file.path.as_path()).collect();
        run.desk_mut(work.slot)?.copy.settle(&made.commit, &files);
    }
    report_advance(run, work, &advance)?;
    conclude(run, work, made, passed)?;
    Ok(true)
}

/// The loop's own files as they are in the commit.
pub(super) fn as_committed(
    run: &Conductor,
    slot: usize,
    made: &NewCommit,
    files: Vec<LoopFile>,
) -> Result<Vec<LoopFile>, Failure> {
    if !made.is_altered {
        return Ok(files);
    }
    let git = run.desk(slot)?.copy.store();
    Ok(files.into_iter().map(|file| file.in_commit(&git, &made.commit)).collect())
}

/// Moves the target to a commit from a copy. Work that `waits` may have an older base.
pub(super) fn advance(
    run: &mut Conductor,
    slot: usize,
    (base, waits): (Option<&str>, bool),
    commit: &str,
    (files, notes): (&[LoopFile], &[Note]),
) -> Result<Advance, Failure> {
    if !run.desk(slot)?.copy.is_in_place {
        return run.board.land((base, waits), commit, (files, notes));
    }
    run.board.land_in_place(commit, notes)?;
    ProtectedFiles::forget(&run.desk(slot)?.dir)?;
    run.books.bring_users_texts(files)?;
    run.desk(slot)?.copy.settle_index()?;
    Ok(Advance::Landed)
}

/// The receipt of a commit that is about to land.
fn receipt(
    run: &Conductor,
    work: &UnderWay,
    made: &NewCommit,
    findings: &[Finding],
) -> Result<Note, Failure> {
    let UnderWay { key, attempt, facts, .. } = work;
    let (context, desk) = (&run.context, run.desk(work.slot)?);
    let checksum = |path: Utf8PathBuf| Ok::<_, Failure>(state::read_if_there(path)?.map(sha256));
    let options = context.agent_of(attempt).1;
    let hooks = match (options.brings_hooks(), &options.hooked) {
        (true, _) => "passed by the loop",
        (_, Some(_)) => "installed",
        _ => "none",
    };
    let is_sandboxed = desk.copy.doors.are_sandboxed();
    let annotations = Annotations {
        plan: key.plan.clone(),
        story: key.story.clone(),
        attempt: attempt.number,
        base: attempt.base.clone(),
        agent: context.agent_name(attempt).unwrap_or("unknown").to_owned(),
        model: context.model_in_words(attempt, &facts.model).to_owned(),
        agent_version: options.version,
        hooks: hooks.to_owned(),
        sandbox: Sandbox {
            mode: if is_sandboxed { "on" } else { "off" }.to_owned(),
            abi: is_sandboxed.then(|| sandbox::support().abi),
        },
        prompt_sha256: facts.prompt_sha256.clone(),
        plan_sha256: checksum(desk.dir.plan_given())?.unwrap_or_default(),
        settings_sha256: checksum(context.state().config())?.unwrap_or_default(),
        ..Annotations::default()
    };
    note_about(run, work.slot, made, (findings, annotations))
}

/// The note with a receipt. The project's own git signs it, if it signs commits.
pub(super) fn note_about(
    run: &Conductor,
    slot: usize,
    made: &NewCommit,
    (findings, annotations): (&[Finding], Annotations),
) -> Result<Note, Failure> {
    let copy = &run.desk(slot)?.copy;
    let home = Env::process().home().unwrap_or_default();
    let folders =
        [(copy.top().as_str(), "."), (run.source.top.as_str(), "."), (home.as_str(), "~")];
    let public = PublicText::new(folders.map(|(folder, by)| (folder.to_owned(), by)));
    let statement = Statement::of(made, &public.findings(findings), annotations);
    sealed(run, slot, made, &statement)
}

/// The receipt of a commit that changes only the loop's own files: that of its parent, if that has one.
pub(super) fn receipt_of_records(
    run: &Conductor,
    slot: usize,
    made: &NewCommit,
    base: &str,
) -> Result<Option<Note>, Failure> {
    let Some(receipt) = Receipt::of(&run.source.git(), base)? else { return Ok(None) };
    sealed(run, slot, made, &receipt.statement.of_records(made, base)).map(Some)
}

fn sealed(
    run: &Conductor,
    slot: usize,
    made: &NewCommit,
    statement: &Statement,
) -> Result<Note, Failure> {
    let (git, signs) = (run.source.git(), run.desk(slot)?.copy.settings.sign_commits());
    let place = (&git, run.context.run_dir.root());
    let (note, unsigned) = receipts::note(place, made, statement, signs)?;
    if let Some(why) = unsigned {
        run.view.warn(format!("the receipt of {:.8} is not signed: {why}", made.commit));
    }
    Ok(note)
}

fn report_advance(run: &mut Conductor, work: &UnderWay, advance: &Advance) -> Result<(), Failure> {
    // Once only: stories that land later wait as well.
    let Advance::Waits(cause) = advance else { return Ok(()) };
    if work.attempt.target != run.board.branch {
        return Ok(());
    }
    let (branch, waiting) = (&run.board.branch, run.board.tip()?.branch);
    let why = cause.why(branch);
    if cause.ends_run() {
        run.end_with(Finish::Error(why));
        return Ok(());
    }
    let (files, way_on) = if board::is_interrupted(&run.source) {
        let way_on = "fix this, then run `ralph-loop` to restore them".to_owned();
        ("not all of your files could be restored", way_on)
    } else {
        ("your checkout is unchanged", cause.way_on(branch, &waiting))
    };
    let (prefix, story) = (run.slot(work.slot)?.reporter.prefix.clone(), &work.key.story);
    run.view
        .warn(format!("{prefix}{story}: the work waits on {waiting} and {files}: {why}; {way_on}"));
    Ok(())
}

/// Records what follows from a commit that has reached the target.
fn conclude(
    run: &mut Conductor,
    work: &mut UnderWay,
    made: &NewCommit,
    passed: &Passed,
) -> Result<(), Failure> {
    let story = &work.key.story;
    let short: String = made.commit.chars().take(8).collect();
    let files = counted(passed.staged.files.len(), "file", "files");
    let checks = about_checks(&passed.findings);
    // The story's messages need not be in another prompt.
    state::remove_beginning(&run.context.run_dir.messages(), work.facts.messages.as_bytes())?;
    // A failure that has been fixed is no longer excused.
    let failing = |check: &CommandFacts| Some((check.command.clone(), check.excused.clone()?));
    run.record.failed_before = commands(&passed.findings).filter_map(failing).collect();
    run.record.tests_before.extend(tests_of(commands(&passed.findings).cloned()));
    let branch = run.board.tip()?.branch;
    let is_waiting = branch != run.board.branch;
    let place = if is_waiting { format!(" on {branch}") } else { String::new() };
    // It has not been pushed yet.
    let is_done = run.context.config.finish.pr != PullRequests::Story;
    let word = if is_done { "done" } else { "passed" };
    let done = format!("{story} {word}: commit {short}{place}, {files}{checks}");
    run.toned(work.slot, Tone::Good, done);
    show_remarks(run, work, &passed.findings);
    if made.has_fallback_identity && run.record.tally.run.commits == 0 {
        run.view.warn(
            "git does not know who you are, so stories are committed as Ralph <ralph@localhost>; \
             set `git config user.name` and `git config user.email`",
        );
    }
    let files = passed.staged.files.iter();
    let progress = ProgressEntry {
        commit: Some(short),
        findings: passed.findings.clone(),
        files_changed: files.map(|file| file.display().to_string()).collect(),
        scale: Some(scale_of(&passed.findings)),
        ..entry(&work.attempt, &work.facts, ProgressStatus::Success)
    };
    keep_left_out(run, work, &passed.staged)?;
    look_for_checks(run, &made.commit);
    let changes = changes(run, work)?;
    finish_landing(run, work, &made.commit, (&progress, &changes))
}

/// Looks for checks in a landed commit where the run began without any; found ones hold from the next story on.
fn look_for_checks(run: &mut Conductor, commit: &str) {
    if !run.context.seeks_checks {
        return;
    }
    let inside = run.source.inside.to_string();
    let Ok(found) = detect_at(&run.source.git(), &format!("{commit}:{inside}")) else { return };
    if found.checks.is_empty() {
        return;
    }
    let mut context = Context::clone(&run.context);
    context.seeks_checks = false;
    let [checks, setup] = [&found.checks, &found.setup]
        .map(|list| list.iter().map(|found| found.command.clone()).collect::<Vec<String>>());
    let said = checks.iter().map(|check| format!("`{check}`")).collect::<Vec<_>>().join(" and ");
    run.view.line(format!("checks were found: from the next story on, {said} must pass"));
    let lists = [("verify.commands", &checks), ("workspace.setup", &setup)];
    let flags =
        lists.iter().flat_map(|(key, list)| list.iter().map(|one| Flag::new(*key, one.clone())));
    context.flags.extend(flags);
    if context.config.workspace.setup.is_empty() {
        context.config.workspace.setup = setup;
    }
    context.config.verify.commands = checks;
    run.context = Arc::new(context);
}

/// Records a landing after a crash, without repeating what was done before it.
pub(super) fn finish_landing(
    run: &mut Conductor,
    work: &UnderWay,
    commit: &str,
    (entry, changes): (&ProgressEntry, &PlanChanges),
) -> Result<(), Failure> {
    let Attempt { number, run: name, plan, .. } = &work.attempt;
    // The user may have stashed it.
    if !plan.is_file() && !run.books.is_tracked(Some(commit)) {
        let story = &work.key.story;
        return Err(Failure::because(format!(
            "{story} has landed, but {plan} is gone; restore the plan, then run `ralph-loop` to tick \
             the story"
        )));
    }
    saved::put(&run.source.git(), &work.key, *number, name, commit)?;
    run.books.clear_pending(Some(commit), &work.files)?;
    run.books.mark_on_disk(Some(commit), changes)?;
    let desk = run.desk(work.slot)?;
    run.books.take_progress(&desk.dir)?;
    desk.copy.settle_index()?;
    if !run.books.has_entry(Some(commit), entry, &work.attempt.began) {
        state::append_line(&run.context.run_dir.landed(), commit.as_bytes())?;
        run.note_of(work, &Event::Committed { commit: commit.to_owned() });
        fault::point("land.journaled");
        run.books.log(entry)?;
        run.note_of(work, &Event::StoryDone { scale: entry.scale });
    }
    clear_failure(run.context.state(), &work.key.to_string())?;
    fault::point("land.logged");
    Ok(())
}

/// Saves, as another attempt, what the agent left in other repositories, work trees, branches and
/// stashes: none of that is in the commit.
fn keep_left_out(run: &Conductor, work: &UnderWay, staged: &Staged) -> Result<(), Failure> {
    let why = match staged.refused.as_slice() {
        [] => "left out of the commit: other branches and stashes of the agent".to_owned(),
        paths => format!("left out of the commit: {}", named_files(paths)),
    };
    keep_beside(run, work, work.attempt.number + 1, &staged.aside, ("left_out", &why)).map(drop)
}

/// Saves the work that hooks rolled back as failed attempts; returns whether there was any. The attempt takes the
/// next number first, so that after a crash none of them is mistaken for its work.
pub(super) fn keep_rollbacks(run: &Conductor, work: &mut UnderWay) -> Result<bool, Failure> {
    let (git, desk) = (run.source.git(), run.desk(work.slot)?);
    let rollbacks = rollbacks(desk.state());
    for rollback in &rollbacks {
        // Now saved as an attempt, so its own ref is removed.
        // In place, the hook's own ref is in the project.
        let brought = name_of_discarded(&rollback.saved_as, &work.attempt.run);
        let is_in_place = run.desk(work.slot)?.copy.is_in_place;
        let own = brought.map(|name| if is_in_place { rollback.saved_as.clone() } else { name });
        let Some(own) = own else { continue };
        let Some(commit) = board::resolve(&git, &own)? else { continue };
        let (number, why) = (work.attempt.number, rollback.to_string());
        work.attempt.number += 1;
        work.attempt.save(&desk.dir)?;
        let commits = [commit];
        let name = keep_beside(run, work, number, &commits, (Outcome::Failed.word(), &why))?;
        let [commit] = commits;
        git.run(&["update-ref", "-d", &own, &commit])?;
        report_saved(run, work, name, &why);
    }
    Ok(!rollbacks.is_empty())
}

/// Saves commits besides the attempt's own work, with the first one's files.
fn keep_beside(
    run: &Conductor,
    work: &UnderWay,
    number: u64,
    commits: &[String],
    (outcome, why): (&str, &str),
) -> Result<String, Failure> {
    let Some(first) = commits.first() else { return Ok(String::new()) };
    let (key, run_name) = (work.key.clone(), &work.attempt.run);
    let account = Account { key, number, outcome, why, run: run_name, ..Account::default() };
    let parents = work.attempt.base.iter().chain(commits).map(String::as_str);
    let (git, tree) = (run.source.git(), format!("{first}^{{tree}}"));
    let parents: Vec<&str> = parents.collect();
    Ok(saved::keep(&git, &run.source.top, &tree, &parents, &account)?.0)
}

/// Reports that an attempt was saved.
pub(super) fn report_saved(run: &Conductor, work: &UnderWay, saved_as: String, why: &str) {
    let (story, id) = (&work.key.story, saved::shown(&saved_as));
    let line = format!("{story}: attempt saved; view it with `ralph-loop attempts {id}`");
    run.toned(work.slot, Tone::Plain, line);
    let to = work.attempt.base.clone().unwrap_or_default();
    let why = why.lines().next().unwrap_or_default().to_owned();
    run.note_of(work, &Event::RolledBack { to, saved_as, why });
}

/// Saves an attempt's work under a ref of its own, and verifies it. Returns the ref's name.
pub(super) fn keep(
    run: &Conductor,
    work: &mut UnderWay,
    left: &Left,
    (outcome, why): (&str, &str),
) -> Result<String, Failure> {
    let account = Account {
        key: work.key.clone(),
        number: work.attempt.number,
        outcome,
        why,
        cost_usd: work.facts.cost_usd,
        tokens: work.facts.tokens,
        seconds: work.facts.duration.map(|duration| duration.as_secs_f64()),
        run: &work.attempt.run,
        session: work.facts.session.as_ref().map(ToString::to_string),
    };
    let base = work.attempt.base.as_deref();
    let mut parents: Vec<&str> = base.into_iter().collect();
    parents.extend(left.imported.head.as_deref().filter(|head| Some(*head) != base));
    let others = left.staged.as_ref().map_or(&left.imported.others, |staged| &staged.aside);
    parents.extend(others.iter().map(String::as_str));
    let tree = left.staged.as_ref().map(|staged| staged.tree.as_str()).unwrap_or_default();
    let git = run.source.git();
    let (name, commit) = saved::keep(&git, &run.source.top, tree, &parents, &account)?;
    work.saved = Some(commit);
    Ok(name)
}

/// Ends an iteration and frees its slot.
pub(super) fn end_iteration(
    run: &mut Conductor,
    work: &UnderWay,
    (outcome, why): (Outcome, Option<String>),
) -> Result<(), Failure> {
    let finished = Event::IterationFinished {
        outcome: outcome.word().to_owned(),
        exit_code: run.record.tally.run.last.exit_code,
        duration_s: work.facts.duration.unwrap_or_default().as_secs_f64(),
        tokens: work.facts.tokens,
        cost_usd: work.facts.cost_usd,
        includes_earlier: work.facts.includes_earlier,
        why,
    };
    let doors = &run.desk(work.slot)?.copy.doors;
    for target in refused_in(doors, run.context.state(), &work.attempt) {
        let (rule, tool, target) = ("sandbox".to_owned(), String::new(), target.into_string());
        run.note_of(work, &Event::Denied { rule, tool, target, asked: false });
    }
    run.note_of(work, &finished);
    if outcome == Outcome::Success {
        // Record the landing before the attempt's files are removed.
        run.save();
    }
    forget(run, work)?;
    run.free_landing(work.slot);
    run.save();
    Ok(())
}

/// Removes an attempt's files and frees its slot.
pub(super) fn forget(run: &mut Conductor, work: &UnderWay) -> Result<(), Failure> {
    run.books.publish(work.attempt.base.as_deref())?;
    run.slot(work.slot)?.work = None;
    let desk = run.desk(work.slot)?;
    let (state, dir) = (desk.state(), &desk.dir);
    clear_own(&[state.checkpoint(), state.current_story(), state.claim()])?;
    // Before the attempt's own file, because after a kill the next start cleans up only where it finds one.
    if !run.slots.iter().any(|slot| slot.work.is_some()) {
        state::remove_if_there(run.context.state().current_story())?;
    }
    Attempt::clear(dir)?;
    for file in [dir.plan_given(), dir.progress_added()] {
        state::remove_if_there(file)?;
    }
    fault::point("attempt.forgotten");
    Ok(())
}

/// The progress entry of an attempt, without its result.
pub(super) fn entry(attempt: &Attempt, facts: &Facts, status: ProgressStatus) -> ProgressEntry {
    ProgressEntry {
        iteration: attempt.iteration,
        story: attempt.story.clone(),
        status,
        commit: None,
        time: Timestamp::now(),
        reason: None,
        duration: facts.duration,
        tokens: facts.tokens,
        cost_usd: facts.cost_usd,
        findings: facts.finding().into_iter().collect(),
        scale: None,
        files_changed: Vec::new(),
        summary: facts.summary.clone(),
    }
}

/// Shows and records what a person should look at. What has a line of its own was shown when it was
/// found.
fn show_remarks(run: &Conductor, work: &UnderWay, findings: &[Finding]) {
    for finding in findings {
        for what in finding.remarks.clone() {
            let about = finding.subject().to_owned();
            if finding.line.is_empty() {
                let line = format!("{}: review it: {about}: {what}", work.key.story);
                run.toned(work.slot, Tone::Warning, line);
            }
            run.note_of(work, &Event::Remarked { about, what });
        }
    }
}

fn commands(findings: &[Finding]) -> impl Iterator<Item = &CommandFacts> {
    findings.iter().flat_map(|finding| &finding.commands)
}

/// The part about the checks in the line for a landed story, unless all passed.
fn about_checks(findings: &[Finding]) -> String {
    let red = commands(findings).filter(|check| check.excused.is_some());
    let red: Vec<String> = red.map(|check| format!("`{}`", check.name())).collect();
    match (scale_of(findings), red.as_slice()) {
        (Scale::Unchecked, _) => ", unchecked".to_owned(),
        (scale, []) => format!(", {scale}"),
        (scale, red) => format!(", {scale}, still failing (ignored): {}", red.join(", ")),
    }
}
