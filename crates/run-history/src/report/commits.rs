//! What the journal, the refs and the plan hold of a run.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state::StateDir;
use ralph_core::git::{Git, GitError};
use ralph_core::plan::{Plan, State};
use ralph_project::project::Project;

use super::Standing;
use crate::exit::Failure;
use crate::history::{self, PastAttempt, PastRun};
use crate::saved::{self, SavedAttempt};
use crate::terminal::counted;
use crate::workspace::Source;

/// How much of a difference is kept.
const LONGEST_DIFF: usize = 60_000;

/// Of so many failed attempts the differences are kept.
const MOST_DIFFS: usize = 60;

/// All that a page is made of.
#[derive(Debug, Clone, Default)]
pub(super) struct Gathered {
    pub(super) run: PastRun,
    /// What the landed commits say, by their ids.
    pub(super) commits: BTreeMap<String, Landed>,
    /// The commit with the run's last records, if it made one.
    pub(super) records: Option<String>,
    /// Why each story was set aside, by whichever run did it last.
    pub(super) set_aside: BTreeMap<String, String>,
    pub(super) kept: Vec<Kept>,
    pub(super) stories: Vec<PlanStory>,
    /// What waits beside the checkout, and on which branch.
    pub(super) waiting: Option<String>,
    pub(super) waiting_on: Option<String>,
    pub(super) is_running: bool,
}

/// A commit.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Landed {
    pub(super) subject: String,
    /// The agent's own words, and the trailers.
    pub(super) body: String,
    /// `2 files changed, +10 −0`
    pub(super) stat: String,
}

/// A failed attempt with its difference.
#[derive(Debug, Clone, Default)]
pub(super) struct Kept {
    pub(super) attempt: SavedAttempt,
    pub(super) files: Vec<String>,
    pub(super) diff: String,
}

/// A story as the plan has it now.
#[derive(Debug, Clone, Default)]
pub(super) struct PlanStory {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) state: Option<State>,
    pub(super) depends: Vec<String>,
}

/// Collects it for the last run, the one of this number or name, or all of them; none if there is no
/// such run.
pub(super) fn gather(
    project: &Project,
    source: &Source,
    plan: Option<&Plan>,
    standing: &Standing,
    which: &str,
) -> Result<Option<Gathered>, Failure> {
    let runs = history::of(project.own_state())?;
    let set_aside = history::set_aside(&runs);
    let Some(mut run) = chosen(runs, which)? else { return Ok(None) };
    if let Some((finish, reason)) = &standing.ends {
        (run.finish, run.reason) = (Some(finish.clone()), reason.clone());
    }
    let (git, waiting) = (&source.git(), standing.waiting.as_ref());
    let commits = run.attempts.iter().filter_map(|attempt| attempt.commit.as_deref());
    let own = own_files(project, source, &run);
    let commits = landed(git, &commits.collect::<Vec<_>>(), &own)?;
    if let Ok(below) = Utf8Path::new(&run.plan).strip_prefix(project.root()) {
        run.plan = below.to_string();
    }
    let stories = plan.iter().flat_map(|plan| plan.stories());
    let stories = stories.map(|story| PlanStory {
        id: story.id.clone(),
        title: story.title.clone(),
        state: Some(story.state),
        depends: story.depends.clone(),
    });
    Ok(Some(Gathered {
        commits,
        set_aside,
        records: found(git, &format!("Ralph-Run: {}", run.run), "--branches"),
        kept: kept(git, &run)?,
        stories: stories.collect(),
        waiting_on: waiting.map(|waiting| waiting.branch.clone()),
        waiting: waiting.map(|waiting| waiting.told(standing.misfit.as_deref())),
        is_running: standing.running.as_ref() == Some(&run.run),
        run,
    }))
}

/// The run that is meant; `all` makes one of them.
fn chosen(mut runs: Vec<PastRun>, which: &str) -> Result<Option<PastRun>, Failure> {
    match which {
        "last" => {
            // A start that found nothing to do is not what anybody asks about.
            let did = |run: &PastRun| {
                !run.attempts.is_empty() || run.finish.as_deref() != Some("complete")
            };
            let last = runs.iter().rposition(did);
            Ok(last.map(|last| runs.swap_remove(last)).or_else(|| runs.pop()))
        }
        "all" => Ok(runs.into_iter().reduce(together)),
        name if runs.iter().any(|run| run.run == name) => {
            Ok(runs.into_iter().find(|run| run.run == name))
        }
        number => {
            let wanted = number.parse::<usize>().ok().filter(|number| *number > 0);
            let count = runs.len();
            let found = wanted.and_then(|wanted| runs.into_iter().nth(wanted - 1));
            found.map(Some).ok_or_else(|| {
                Failure::usage(format!("there is no run {number}; the journal has {count}"))
            })
        }
    }
}

fn together(mut first: PastRun, next: PastRun) -> PastRun {
    let PastRun { attempts, waits, set_aside, stops, .. } = next;
    attempts.into_iter().for_each(|attempt| add(&mut first.attempts, attempt));
    first.waits.extend(waits);
    first.set_aside.extend(set_aside);
    first.stops.extend(stops);
    first.refusals.0.extend(next.refusals.0);
    first.remarks.0.extend(next.remarks.0);
    first.meanwhile.0.extend(next.meanwhile.0);
    first.rollbacks.0.extend(next.rollbacks.0);
    first.hook_errors.0.extend(next.hook_errors.0);
    first.has_hooks |= next.has_hooks;
    (first.run, first.ended_at) = ("all".to_owned(), next.ended_at);
    (first.finish, first.reason, first.forecast) = (next.finish, next.reason, None);
    first
}

/// Adds an attempt. One that an earlier run began, and was killed in, is that one.
fn add(attempts: &mut Vec<PastAttempt>, attempt: PastAttempt) {
    let is_begun = |one: &&mut PastAttempt| one.story == attempt.story && one.ended_at.is_empty();
    match attempts.iter_mut().rfind(is_begun).filter(|_| attempt.title.is_empty()) {
        Some(begun) => {
            let PastAttempt { title, began_at, worker, attempt: number, .. } =
                std::mem::take(begun);
            *begun = PastAttempt { title, began_at, worker, attempt: number, ..attempt };
        }
        None => attempts.push(attempt),
    }
}

/// The newest commit with these words: that with the last records of a run.
fn found(git: &Git, words: &str, at: &str) -> Option<String> {
    let grep = format!("--grep={words}");
    let found = git.line(&["rev-list", "-1", "--fixed-strings", &grep, at]).ok()?;
    (!found.is_empty()).then_some(found)
}

/// What only the loop writes, from the top: the folder of its state, and what lies beside the plan.
fn own_files(project: &Project, source: &Source, run: &PastRun) -> Vec<Utf8PathBuf> {
    let plan = Utf8Path::new(&run.plan);
    let (progress, beside) =
        (StateDir::progress_beside(plan), StateDir::loop_progress_beside(plan));
    let paths = [project.own_state().root(), plan, &progress, &beside];
    paths.into_iter().filter_map(|path| Some(source.below_top(path)?.to_owned())).collect()
}

/// What commits say, in one call, and how much they change besides our own files. One that git no
/// longer has is left out.
fn landed(
    git: &Git,
    commits: &[&str],
    own: &[Utf8PathBuf],
) -> Result<BTreeMap<String, Landed>, GitError> {
    if commits.is_empty() {
        return Ok(BTreeMap::new());
    }
    let args = ["log", "--no-walk=unsorted", "--ignore-missing", "--numstat", "--no-renames"];
    let format = "--format=%x01%H%x02%s%x02%b%x02";
    let args = [&args[..], &["--no-color", format, "--stdin"]].concat();
    let output = git.feed(&args, commits.join("\n").as_bytes())?;
    let text = String::from_utf8_lossy(&output).into_owned();
    let mut found = BTreeMap::new();
    for one in text.split('\u{1}') {
        let parts: Vec<&str> = one.splitn(4, '\u{2}').collect();
        let [id, subject, body, numbers] = parts.as_slice() else { continue };
        let [subject, body] = [subject, body].map(|text| text.trim().to_owned());
        let stat = stat(numbers, own);
        found.insert((*id).to_owned(), Landed { subject, body, stat });
    }
    Ok(found)
}

/// How much a commit changes, from git's table of numbers and paths.
fn stat(numbers: &str, own: &[Utf8PathBuf]) -> String {
    let (mut files, mut added, mut deleted) = (0, 0, 0);
    for row in numbers.lines() {
        let parts: Vec<&str> = row.splitn(3, '\t').collect();
        let [more, less, path] = parts.as_slice() else { continue };
        if own.iter().any(|own| Utf8Path::new(path).starts_with(own)) {
            continue;
        }
        files += 1;
        // A binary file has no lines.
        added += more.parse::<u64>().unwrap_or(0);
        deleted += less.parse::<u64>().unwrap_or(0);
    }
    format!("{} changed, +{added} −{deleted}", counted(files, "file", "files"))
}

/// The failed attempts of this run's stories, newest first.
fn kept(git: &Git, run: &PastRun) -> Result<Vec<Kept>, Failure> {
    let mut found = Vec::new();
    for attempt in saved::tried(git, None)? {
        let is_meant = run.attempts.iter().any(|one| one.story == attempt.story);
        if attempt.outcome.is_none() || !is_meant {
            continue;
        }
        let names = attempt.changes(git, &["diff", "--name-only", "-z"])?;
        let names = String::from_utf8_lossy(&names).into_owned();
        let files = names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let diff = if found.len() < MOST_DIFFS {
            let diff = attempt.changes(git, &["diff", "--no-ext-diff", "--no-color"])?;
            let diff = String::from_utf8_lossy(diff.get(..LONGEST_DIFF).unwrap_or(&diff));
            diff.into_owned()
        } else {
            String::new()
        };
        found.push(Kept { attempt, files, diff });
    }
    Ok(found)
}
