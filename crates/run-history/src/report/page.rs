//! What the page says about a run. Pure: what was gathered goes in, texts come out.

use ralph_core::plan::State;
use serde::Serialize;

use super::costs::{Cost, CostSum, by_story, costs, forecast, is_failed, money, price};
use super::gather::{Gathered, Kept, Landed};
use super::proposals::{self, Proposal};
use super::text::{block, epoch, line, time};
use super::time_line::{self, TimeLine};
use crate::history::{Followed, Kind, PastAttempt, PastRun, Stops, tests_passed};
use crate::landing::UNCHECKED;
use crate::terminal::{counted, local_time, thousands};

/// The page.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Page {
    /// In one line: what came of it.
    pub(crate) verdict: String,
    pub(crate) run: String,
    pub(crate) plan: String,
    pub(crate) when: String,
    pub(crate) ended: String,
    pub(crate) needs: Vec<Need>,
    pub(crate) also_needed: Vec<String>,
    /// What there is to say about the end beyond its first line: the output of a failing check.
    pub(crate) trouble: String,
    pub(crate) done: Vec<Done>,
    pub(crate) open: Vec<String>,
    pub(crate) twice: Vec<String>,
    pub(crate) time_line: TimeLine,
    pub(crate) costs: Vec<Cost>,
    pub(crate) total: String,
    pub(crate) failed_cost: String,
    pub(crate) forecast: Vec<String>,
    pub(crate) stops: Vec<StopRow>,
    pub(crate) proposals: Vec<Proposal>,
    pub(crate) undo: Vec<String>,
}

/// A story that waits for a person.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Need {
    pub(crate) story: String,
    pub(crate) title: String,
    pub(crate) why: String,
    pub(crate) keeps_waiting: String,
    pub(crate) attempts: Vec<Tried>,
    pub(crate) commands: Vec<String>,
}

/// A failed attempt.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Tried {
    pub(crate) id: String,
    /// Which of several workers made it.
    pub(crate) worker: Option<String>,
    pub(crate) outcome: String,
    pub(crate) why: String,
    pub(crate) failing: String,
    pub(crate) files: String,
    pub(crate) cost: String,
    pub(crate) at: String,
    pub(crate) diff: String,
}

/// A story that landed.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Done {
    pub(crate) story: String,
    pub(crate) title: String,
    pub(crate) commit: String,
    pub(crate) stat: String,
    pub(crate) tests: String,
    pub(crate) checks: String,
    /// What its tests do without the change, and what came of its review.
    pub(crate) proof: String,
    pub(crate) review: String,
    pub(crate) attempts: usize,
    /// Which of several workers landed it.
    pub(crate) worker: Option<String>,
    pub(crate) time: String,
    pub(crate) cost: String,
    /// The agent's own words.
    pub(crate) claim: String,
}

/// What the stop hook did in one session.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct StopRow {
    pub(crate) session: String,
    pub(crate) held: String,
    pub(crate) followed: String,
    pub(crate) let_go: String,
}

/// Makes the page.
pub(super) fn new(gathered: &Gathered) -> Page {
    let run = &gathered.run;
    let done = done(gathered);
    let needs = needs(gathered);
    let open: Vec<String> = gathered
        .stories
        .iter()
        .filter(|story| story.state == Some(State::Open))
        .map(|story| line(&format!("{} {}{}", story.id, story.title, tried(gathered, &story.id))))
        .collect();
    let spent = CostSum::of_run(run);
    let failed = run.attempts.iter().filter(|attempt| is_failed(attempt));
    Page {
        verdict: verdict(gathered, done.len(), needs.len(), open.len()),
        run: run.run.clone(),
        plan: line(&run.plan),
        when: when(run),
        ended: ended(gathered),
        also_needed: also_needed(gathered),
        trouble: trouble(run),
        twice: twice(gathered),
        time_line: time_line::of(run),
        costs: costs(run),
        total: format!("{spent}, {} tokens", thousands(spent.tokens)),
        failed_cost: CostSum::of(failed, price(run)).to_string(),
        forecast: forecast(run, done.len()),
        stops: run.stops.iter().map(stop_row).filter(|row| !row.held.is_empty()).collect(),
        proposals: proposals::of(run),
        undo: undo(gathered),
        needs,
        done,
        open,
    }
}

/// What the newest failed attempt at an open story came to.
fn tried(gathered: &Gathered, story: &str) -> String {
    let newest = gathered.kept.iter().find(|kept| kept.attempt.story == story);
    newest.map_or_else(String::new, |kept| {
        let (id, why) = (&kept.attempt.id, &kept.attempt.why);
        format!(" (tried: {why}; `ralph-loop attempts {id}`)")
    })
}

fn verdict(gathered: &Gathered, done: usize, blocked: usize, open: usize) -> String {
    let mut parts = vec![format!("{} done", counted(done, "story", "stories"))];
    let unchecked = unchecked(gathered).len();
    if unchecked > 0 {
        parts.push(format!("{unchecked} of them unchecked"));
    }
    if blocked > 0 {
        parts.push(format!("{blocked} blocked"));
    }
    if open > 0 {
        parts.push(format!("{open} still open"));
    }
    let needed = blocked + also_needed(gathered).len();
    parts.push(match needed {
        0 => "nothing needs you".to_owned(),
        1 => "1 thing needs you".to_owned(),
        more => format!("{more} things need you"),
    });
    parts.join(", ")
}

/// What needs the person besides blocked stories: work that waits, and a run that could not go on.
fn also_needed(gathered: &Gathered) -> Vec<String> {
    let run = &gathered.run;
    let is_trouble = matches!(run.finish.as_deref(), Some("error" | "hook_abort" | "no_changes"));
    let trouble = is_trouble.then(|| format!("the run could not go on: {}", ended(gathered)));
    gathered.waiting.iter().cloned().chain(trouble).map(|told| line(&told)).collect()
}

/// The stories of which no check has seen the commit.
fn unchecked(gathered: &Gathered) -> Vec<&str> {
    let attempts = gathered.run.attempts.iter().filter_map(|attempt| {
        let body = &gathered.commits.get(attempt.commit.as_deref()?)?.body;
        let is_unchecked = body.contains(&format!("Ralph-Checks: {UNCHECKED}"));
        is_unchecked.then_some(attempt.story.as_str())
    });
    attempts.collect()
}

fn when(run: &PastRun) -> String {
    let took = epoch(&run.ended_at).zip(epoch(&run.started_at)).map(|(end, start)| end - start);
    format!(
        "{} to {} ({})",
        local_time(&run.started_at),
        local_time(&run.ended_at),
        time(took.unwrap_or(0.0))
    )
}

fn ended(gathered: &Gathered) -> String {
    match (&gathered.run.finish, &gathered.run.reason) {
        (Some(finish), Some(reason)) => {
            line(&format!("{finish}: {}", reason.lines().next().unwrap_or_default()))
        }
        (Some(finish), None) => finish.clone(),
        (None, _) if gathered.is_running => "it is still running".to_owned(),
        (None, _) => "it was killed; `ralph-loop` goes on with it".to_owned(),
    }
}

fn trouble(run: &PastRun) -> String {
    let rest = run.reason.as_deref().and_then(|reason| reason.split_once('\n'));
    rest.map_or_else(String::new, |(_, rest)| block(rest))
}

fn needs(gathered: &Gathered) -> Vec<Need> {
    let set_aside = &gathered.set_aside;
    let blocked = gathered.stories.iter().filter(|story| story.state == Some(State::Blocked));
    let mut ids: Vec<(&str, &str)> = blocked.map(|story| (&*story.id, &*story.title)).collect();
    let is_known = |id: &str| gathered.stories.iter().any(|story| story.id == id);
    let of_run = gathered.run.set_aside.keys();
    ids.extend(of_run.filter(|id| !is_known(id)).map(|id| (&**id, "")));
    let need = |(id, title): &(&str, &str)| {
        let waits = gathered.stories.iter().filter(|story| {
            story.state == Some(State::Open) && story.depends.iter().any(|other| other == id)
        });
        let waits: Vec<&str> = waits.map(|story| story.id.as_str()).collect();
        let tried = gathered.kept.iter().filter(|kept| kept.attempt.story == *id).rev();
        let tried: Vec<Tried> = tried.map(|kept| tried_once(kept, &gathered.run)).collect();
        let why = set_aside.get(*id).cloned();
        let why = why.or_else(|| tried.last().map(|tried| tried.why.clone())).unwrap_or_default();
        let mut commands = Vec::new();
        if let Some(last) = tried.last() {
            commands.push(format!("ralph-loop attempts {}", last.id));
            commands.push(format!("ralph-loop attempts take {}", last.id));
        }
        commands.push(format!("ralph-loop retry {id} --hint \"…\""));
        Need {
            story: line(id),
            title: line(title),
            why: line(&why),
            keeps_waiting: line(&waits.join(", ")),
            attempts: tried,
            commands: commands.iter().map(|command| line(command)).collect(),
        }
    };
    ids.iter().map(need).collect()
}

fn tried_once(kept: &Kept, run: &PastRun) -> Tried {
    let attempt = &kept.attempt;
    let is_this =
        |one: &&PastAttempt| one.story == attempt.story && one.attempt == Some(attempt.number);
    Tried {
        id: line(&attempt.id),
        worker: run.attempts.iter().rfind(is_this).and_then(|one| one.worker.clone()),
        outcome: attempt.outcome.clone().unwrap_or_default(),
        why: line(&attempt.why),
        failing: block(&attempt.details),
        files: line(&kept.files.join(", ")),
        cost: money(attempt.cost_usd),
        at: attempt.at.clone(),
        diff: block(&kept.diff),
    }
}

fn done(gathered: &Gathered) -> Vec<Done> {
    let run = &gathered.run;
    let (price, attempts) = (price(run), by_story(run));
    let mut before = tests_passed(&run.baseline);
    let mut found = Vec::new();
    for attempt in run.landed() {
        let commit = attempt.commit.as_deref().unwrap_or_default();
        let landed = gathered.commits.get(commit).cloned().unwrap_or_default();
        let all = attempts.get(attempt.story.as_str()).cloned().unwrap_or_default();
        let after = tests_passed(&attempt.checks);
        let tests = match (before, after) {
            (Some(before), Some(after)) => format!("{before} → {after}"),
            (None, Some(after)) => after.to_string(),
            _ => String::new(),
        };
        before = after.or(before);
        found.push(Done {
            story: line(&attempt.story),
            title: line(if attempt.title.is_empty() { &landed.subject } else { &attempt.title }),
            commit: commit.chars().take(8).collect(),
            tests,
            checks: trailer(&landed, "Ralph-Checks:"),
            proof: trailer(&landed, "Ralph-Proof:"),
            review: trailer(&landed, "Ralph-Review:"),
            attempts: all.len(),
            worker: attempt.worker.clone(),
            time: time(all.iter().map(|one| one.duration_s).sum()),
            cost: CostSum::of(all, price).to_string(),
            claim: claim(&landed),
            stat: landed.stat,
        });
    }
    found
}

/// The agent's own words in the body of a commit.
fn claim(landed: &Landed) -> String {
    let is_claim = |text: &&str| !text.starts_with("Ralph-");
    let claim: Vec<&str> = landed.body.lines().take_while(is_claim).collect();
    block(&claim.join("\n"))
}

/// The value of a trailer; a long one goes on in lines that begin with a space.
fn trailer(landed: &Landed, key: &str) -> String {
    let mut rest = landed.body.lines().skip_while(|text| !text.starts_with(key));
    let first = rest.next().and_then(|text| text.strip_prefix(key)).unwrap_or_default();
    let more = rest.take_while(|text| text.starts_with(' ')).map(str::trim);
    let parts: Vec<&str> = [first.trim()].into_iter().chain(more).collect();
    line(&parts.join(" "))
}

/// What a second look at landed work gave: tests that check less than before, or prove nothing, and
/// what a reviewer said.
pub(crate) fn remarks(run: &PastRun) -> Vec<String> {
    let one = |kind: &Kind| line(&format!("{}: {} [{}]", kind.rule, kind.what, kind.story));
    run.remarks.0.iter().map(one).collect()
}

fn kinds_told(kinds: &[Kind], what: &str) -> Vec<String> {
    let one = |kind: &Kind| {
        let times = if kind.count > 1 { format!(" ({} times)", kind.count) } else { String::new() };
        let by = if kind.rule.is_empty() { String::new() } else { format!(" by {}", kind.rule) };
        line(&format!("{what}{by}{times}: {} [{}]", kind.what, kind.story)).replace(" []", "")
    };
    kinds.iter().map(one).collect()
}

fn twice(gathered: &Gathered) -> Vec<String> {
    let run = &gathered.run;
    let mut found = remarks(run);
    let unseen = unchecked(gathered).into_iter();
    found.extend(unseen.map(|story| line(&format!("no check has seen {story}"))));
    for attempt in run.landed() {
        let red = attempt.checks.iter().filter(|check| check.ended == "failed as before");
        found.extend(red.map(|check| {
            line(&format!("`{}` still fails as before, after {}", check.check, attempt.story))
        }));
    }
    found.extend(kinds_told(&run.meanwhile.0, "meanwhile"));
    found.extend(kinds_told(&run.rollbacks.0, "rolled back in a session"));
    found.extend(kinds_told(&run.refusals.0, "refused"));
    found.extend(kinds_told(&run.hook_errors.0, "a hook failed"));
    found
}

fn stop_row(stops: &Stops) -> StopRow {
    let held = stops.held.iter().map(|(gate, count)| format!("{gate} {count}×"));
    let let_go = match &*stops.note {
        "" => stops.let_go.clone(),
        // The loop's own words begin with it.
        note if note.starts_with(&stops.let_go) => note.to_owned(),
        note => format!("{}: {note}", stops.let_go),
    };
    let followed = stops.followed.iter().map(|(gate, followed)| {
        let Followed { met, held_again, given_up } = followed;
        let parts = [(met, "met"), (held_again, "held again"), (given_up, "given up")];
        let parts = parts.iter().filter(|(count, _)| **count > 0);
        let parts: Vec<String> = parts.map(|(count, what)| format!("{what} {count}×")).collect();
        format!("{gate}: {}", parts.join(", "))
    });
    StopRow {
        followed: line(&followed.collect::<Vec<_>>().join("; ")),
        session: line(&stops.session).chars().take(8).collect(),
        held: line(&held.collect::<Vec<_>>().join(", ")),
        let_go: line(&let_go),
    }
}

fn undo(gathered: &Gathered) -> Vec<String> {
    if let Some(branch) = &gathered.waiting_on {
        return vec![format!("git branch -D {branch}   # your own branch has none of it")];
    }
    let short = |commit: &str| commit.chars().take(12).collect::<String>();
    let landed = gathered.run.landed();
    let mut commits = landed.iter().filter_map(|attempt| attempt.commit.as_deref());
    let Some(first) = commits.next() else { return Vec::new() };
    let last = gathered.records.as_deref().or(commits.next_back()).unwrap_or(first);
    let range = format!("{}^..{}", short(first), short(last));
    vec![format!("git revert --no-edit $(git rev-list --grep='^Ralph-' {range})")]
}
