//! What the journal tells of the runs in a project, one after the other. Pure: lines go in, runs come
//! out, and a line that cannot be read is passed over.

mod counted;
mod stops;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader};

use ralph_base::state::{self, StateDir};
use serde::{Deserialize, Serialize};

pub(crate) use counted::{Counted, Kind};
pub(crate) use stops::{Followed, Stops};

/// What the loop calls itself in the journal, into which hooks write as well.
pub(crate) const OURS: &str = "ralph-loop";

/// A line that is longer holds nothing that is shown.
const LONGEST_LINE: usize = 1 << 20;

/// A run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct PastRun {
    pub(crate) run: String,
    pub(crate) plan: String,
    pub(crate) started_at: String,
    /// The time of its last line.
    pub(crate) ended_at: String,
    /// How it ended; none if it goes on, or was killed.
    pub(crate) finish: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) forecast: Option<Forecast>,
    pub(crate) attempts: Vec<PastAttempt>,
    /// What the checks said before the first story.
    pub(crate) baseline: Vec<PastCheck>,
    pub(crate) waits: Vec<Wait>,
    /// Why each story was set aside.
    pub(crate) set_aside: BTreeMap<String, String>,
    pub(crate) refusals: Counted,
    pub(crate) remarks: Counted,
    pub(crate) meanwhile: Counted,
    pub(crate) rollbacks: Counted,
    pub(crate) hook_errors: Counted,
    pub(crate) stops: Vec<Stops>,
    /// Whether a hook of ours was called in it.
    pub(crate) has_hooks: bool,
}

/// One iteration.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct PastAttempt {
    pub(crate) story: String,
    pub(crate) title: String,
    pub(crate) attempt: Option<u64>,
    /// Which of several workers made it.
    pub(crate) worker: Option<String>,
    pub(crate) began_at: String,
    pub(crate) ended_at: String,
    /// When it was told that its commit is on the target; empty if it is not.
    pub(crate) landed_at: String,
    /// `success`, `failed`, …; empty while it goes on.
    pub(crate) outcome: String,
    pub(crate) duration_s: f64,
    pub(crate) tokens: Option<u64>,
    pub(crate) cost_usd: Option<f64>,
    pub(crate) commit: Option<String>,
    pub(crate) checks: Vec<PastCheck>,
}

/// What was expected of a run before it began.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Forecast {
    /// Stories that could be worked on.
    pub(crate) stories: usize,
    /// How many earlier ones it rests on.
    pub(crate) based_on: usize,
    /// All attempts at all of them.
    pub(crate) seconds: Option<f64>,
    pub(crate) cost_usd: Option<f64>,
}

/// A check, as it ended last.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct PastCheck {
    pub(crate) check: String,
    /// `passed`, or how it ended else.
    pub(crate) ended: String,
    /// What its runner counted.
    pub(crate) passed: Option<u64>,
    pub(crate) failed: Option<u64>,
    pub(crate) seconds: f64,
}

/// How many tests passed in these checks; none where no runner counted.
pub(crate) fn tests_passed(checks: &[PastCheck]) -> Option<u64> {
    checks.iter().filter_map(|check| check.passed).reduce(|sum, more| sum + more)
}

/// A wait for the agent's service.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Wait {
    /// Which of several workers waited.
    pub(crate) worker: Option<String>,
    pub(crate) ended_at: String,
    pub(crate) seconds: f64,
    pub(crate) why: String,
}

/// The fields of every event that is read here.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    at: Cow<'a, str>,
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow, default)]
    source: Cow<'a, str>,
    #[serde(borrow, default)]
    run: Option<Cow<'a, str>>,
    #[serde(default)]
    worker: Option<String>,
    #[serde(borrow, default)]
    story: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    session: Option<Cow<'a, str>>,
    #[serde(default)]
    plan: Option<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    attempt: Option<u64>,
    #[serde(default)]
    outcome: Option<String>,
    #[serde(default)]
    duration_s: Option<f64>,
    #[serde(default)]
    seconds: Option<f64>,
    #[serde(default)]
    tokens: Option<u64>,
    #[serde(default)]
    cost_usd: Option<f64>,
    #[serde(default)]
    commit: Option<String>,
    #[serde(default)]
    check: Option<String>,
    #[serde(default)]
    ended: Option<String>,
    #[serde(default)]
    passed: Option<u64>,
    #[serde(default)]
    failed: Option<u64>,
    #[serde(default)]
    why: Option<String>,
    #[serde(default)]
    what: Option<String>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    gates: Vec<String>,
    #[serde(default)]
    agent_type: Option<String>,
    #[serde(default)]
    reasons: Vec<String>,
    #[serde(default)]
    finish_type: Option<String>,
    #[serde(default)]
    stories: Option<usize>,
    #[serde(default)]
    based_on: Option<usize>,
    #[serde(default, alias = "about")]
    rule: Option<String>,
    #[serde(default)]
    target: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    note: Option<String>,
    #[serde(default)]
    error: Option<String>,
}

/// All runs of a project, oldest first; none if there is no journal.
pub(crate) fn of(state: &StateDir) -> io::Result<Vec<PastRun>> {
    match state::open_regular(state.journal()) {
        Ok(file) => read(BufReader::with_capacity(1 << 16, file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Why each story was set aside, by whichever run did it last.
pub(crate) fn set_aside(runs: &[PastRun]) -> BTreeMap<String, String> {
    runs.iter().flat_map(|run| run.set_aside.clone()).collect()
}

/// Most lines of a long journal tell of prompts and test runs, and nothing here rests on those.
fn is_passed_over(line: &[u8]) -> bool {
    const EVENT: &[u8] = b"\"event\":\"";
    let at = line.windows(EVENT.len()).position(|window| window == EVENT);
    let name = at.and_then(|at| line.get(at + EVENT.len()..)).unwrap_or_default();
    name.starts_with(b"prompt\"") || name.starts_with(b"verdict\"")
}

/// The runs that these lines tell of.
pub(crate) fn read(mut lines: impl BufRead) -> io::Result<Vec<PastRun>> {
    let mut runs: Vec<PastRun> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        if lines.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(runs);
        }
        if bytes.len() > LONGEST_LINE || is_passed_over(&bytes) {
            continue;
        }
        let Ok(line) = serde_json::from_slice::<Line<'_>>(&bytes) else { continue };
        let Some(name) = line.run.as_deref() else { continue };
        let at = match places.get(name) {
            Some(at) => *at,
            None => {
                let (run, started_at) = (name.to_owned(), line.at.clone().into_owned());
                places.insert(run.clone(), runs.len());
                runs.push(PastRun { run, started_at, ..PastRun::default() });
                runs.len() - 1
            }
        };
        if let Some(run) = runs.get_mut(at) {
            run.take(line);
        }
    }
}

impl PastRun {
    /// The attempts that landed, in the order in which they did.
    pub(crate) fn landed(&self) -> Vec<&PastAttempt> {
        let landed = self.attempts.iter().filter(|attempt| attempt.commit.is_some());
        let mut landed: Vec<&PastAttempt> = landed.collect();
        landed.sort_by(|one, other| one.landed_at.cmp(&other.landed_at));
        landed
    }

    fn take(&mut self, line: Line<'_>) {
        self.ended_at = line.at.clone().into_owned();
        self.has_hooks |= line.source != OURS;
        let story = line.story.as_deref().unwrap_or_default();
        match line.event.as_ref() {
            "loop_started" => self.plan = line.plan.unwrap_or_default(),
            "forecast" => {
                self.forecast = Some(Forecast {
                    stories: line.stories.unwrap_or_default(),
                    based_on: line.based_on.unwrap_or_default(),
                    seconds: line.seconds,
                    cost_usd: line.cost_usd,
                });
            }
            "loop_finished" => (self.finish, self.reason) = (line.finish_type, line.reason),
            "iteration_started" => {
                let (story, title) = (story.to_owned(), line.title.unwrap_or_default());
                let (attempt, worker, began_at) = (line.attempt, line.worker, line.at.into_owned());
                let begun =
                    PastAttempt { story, title, attempt, worker, began_at, ..Default::default() };
                self.attempts.push(begun);
            }
            "story_set_aside" => {
                self.set_aside.insert(story.to_owned(), line.why.unwrap_or_default());
            }
            "checked" => self.checked(line),
            "waited" => self.waits.push(Wait {
                worker: line.worker,
                ended_at: line.at.into_owned(),
                seconds: line.seconds.unwrap_or_default(),
                why: line.why.unwrap_or_default(),
            }),
            "denied" => {
                let rule = line.rule.as_deref().unwrap_or_default();
                self.refusals.note(rule, line.target.as_deref(), story);
            }
            "changed_meanwhile" => self.meanwhile.note("", line.what.as_deref(), story),
            "remarked" | "tests_weakened" => {
                let about = line.rule.as_deref().unwrap_or("a test was weakened");
                self.remarks.note(about, line.what.as_deref(), story);
            }
            // An attempt that the loop keeps is told as an attempt.
            "rolled_back" if line.source == OURS => {}
            "rolled_back" => self.rollbacks.note("", line.why.as_deref(), story),
            "hook_error" => self.hook_errors.note("", line.error.as_deref(), story),
            "stop_blocked" | "stop_allowed" => self.stopped(&line),
            _ => self.in_iteration(line),
        }
    }

    /// Events of the iteration under way.
    fn in_iteration(&mut self, line: Line<'_>) {
        let story = line.story.as_deref().unwrap_or_default();
        if !matches!(line.event.as_ref(), "committed" | "story_done" | "iteration_finished") {
            return;
        }
        let at = self.attempts.iter().rposition(|one| one.story == story);
        let at = at.unwrap_or_else(|| {
            // One that an earlier run began, and that was killed before it could land it.
            let (story, began_at) = (story.to_owned(), line.at.clone().into_owned());
            let worker = line.worker.clone();
            self.attempts.push(PastAttempt { story, worker, began_at, ..PastAttempt::default() });
            self.attempts.len() - 1
        });
        let Some(attempt) = self.attempts.get_mut(at) else { return };
        match line.event.as_ref() {
            "committed" => {
                (attempt.commit, attempt.landed_at) = (line.commit, line.at.into_owned());
            }
            "story_done" => attempt.outcome = "success".to_owned(),
            "iteration_finished" => {
                attempt.ended_at = line.at.into_owned();
                attempt.outcome = line.outcome.unwrap_or_default();
                attempt.duration_s = line.duration_s.unwrap_or_default();
                (attempt.tokens, attempt.cost_usd) = (line.tokens, line.cost_usd);
            }
            _ => {}
        }
    }

    fn checked(&mut self, line: Line<'_>) {
        let story = line.story.as_deref().unwrap_or_default();
        let of_story = self.attempts.iter_mut().rfind(|attempt| attempt.story == story);
        let checks = of_story.map_or(&mut self.baseline, |attempt| &mut attempt.checks);
        let check = PastCheck {
            check: line.check.unwrap_or_default(),
            ended: line.ended.unwrap_or_default(),
            passed: line.passed,
            failed: line.failed,
            seconds: line.seconds.unwrap_or_default(),
        };
        checks.retain(|earlier| earlier.check != check.check);
        checks.push(check);
    }

    fn stopped(&mut self, line: &Line<'_>) {
        let session = line.session.as_deref().unwrap_or_default();
        let at = self.stops.iter().position(|stops| stops.session == session);
        let at = at.unwrap_or_else(|| {
            self.stops.push(Stops::of_session(session));
            self.stops.len() - 1
        });
        let Some(stops) = self.stops.get_mut(at) else { return };
        stops.agent_types.extend(line.agent_type.clone());
        match &line.status {
            Some(status) => stops.allowed(&line.gates, status, line.note.as_deref()),
            None => stops.held(&line.gates, &line.reasons),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_told_apart_and_rubbish_is_passed_over() {
        let lines = r#"{"v":1,"at":"t1","source":"s","run":"r1","event":"loop_started","mode":"building","plan":"p.md"}
rubbish
{"v":1,"at":"t2","source":"s","run":"r1","event":"checked","check":"pytest","passed":3,"failed":0,"seconds":1.5}
{"v":1,"at":"t3","source":"s","run":"r1","story":"A","event":"iteration_started","iteration":1,"title":"Log in","attempt":1}
{"v":1,"at":"t4","source":"h","session":"x","run":"r1","story":"A","event":"denied","rule":"git-push","tool":"Bash","target":"git push"}
{"v":1,"at":"t4","source":"h","session":"x","run":"r1","story":"A","event":"denied","rule":"git-push","tool":"Bash","target":"git push"}
{"v":1,"at":"t5","source":"h","session":"x","run":"r1","event":"stop_blocked","reasons":["TESTS gate failed: x"]}
{"v":1,"at":"t5","source":"h","session":"x","run":"r1","event":"stop_allowed","status":"allowed"}
{"v":1,"at":"t6","source":"s","run":"r1","story":"A","event":"checked","check":"pytest","passed":5,"failed":0,"seconds":2.0}
{"v":1,"at":"t6","source":"s","run":"r1","story":"A","event":"committed","commit":"abc"}
{"v":1,"at":"t7","source":"s","run":"r1","story":"A","event":"iteration_finished","outcome":"success","duration_s":60.0,"tokens":10,"cost_usd":0.5}
{"v":1,"at":"t8","source":"s","run":"r1","event":"loop_finished","finish_type":"complete"}
{"v":1,"at":"t9","source":"s","run":"r2","event":"loop_started","mode":"building","plan":"p.md"}
{"v":1,"at":"t9","source":"s","run":"r2","story":"B","event":"committed","commit":"def"}
{"v":1,"at":"t9","source":"h","session":"mine","event":"prompt","prompt":"hi"}
"#;
        let runs = read(lines.as_bytes()).unwrap();
        assert_eq!(runs.iter().map(|run| run.run.as_str()).collect::<Vec<_>>(), ["r1", "r2"]);
        let [first, second] = runs.as_slice() else { panic!("two runs") };
        assert_eq!((first.finish.as_deref(), second.finish.as_deref()), (Some("complete"), None));
        let attempt = &first.attempts[0];
        assert_eq!((attempt.title.as_str(), attempt.outcome.as_str()), ("Log in", "success"));
        assert_eq!(tests_passed(&first.baseline), Some(3));
        assert_eq!(tests_passed(&attempt.checks), Some(5));
        assert_eq!(attempt.commit.as_deref(), Some("abc"));
        assert_eq!(first.refusals.0[0].count, 2);
        assert_eq!(first.stops[0].held["TESTS"], 1);
        assert_eq!(first.stops[0].let_go, "allowed");
        let recovered = &second.attempts[0];
        assert_eq!((&*recovered.story, recovered.commit.as_deref()), ("B", Some("def")));
    }
}
