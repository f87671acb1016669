//! The attempt under way, on disk: what any process needs to judge, settle or undo it.
//!
//! One file holds a line of JSON and below it the bytes of the plan as it was, because the two must
//! never be out of step.

use std::io::{self, BufRead, BufReader, Read};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::procedure::{Place, SettleError};
use crate::config::LoopSettings;
use crate::fault;
use crate::git::{Beginning, Checkpoint, JustCommitted, Position, Repo};
use crate::plan::{Plan, Story};
use crate::state::{self, StateDir};

/// The version of the file's format.
const VERSION: u32 = 1;

/// Snapshots of old checkpoints that are kept for a look back.
const CHECKPOINTS_KEPT: usize = 20;

/// How many iterations pass between two looks at old checkpoints.
const PRUNED_EVERY: u64 = 10;

/// An attempt at a story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The version of this format.
    pub version: u32,
    /// The loop's run.
    pub run: String,
    /// The story's id.
    pub story: String,
    /// Its title.
    pub title: String,
    /// The number of the iteration.
    pub iteration: u64,
    /// The plan's file.
    pub plan: Utf8PathBuf,
    /// Where progress is written.
    pub progress: Utf8PathBuf,
    /// The commit that was checked out; none in a repository without commits.
    pub head: Option<String>,
    /// The branch that was checked out; none if HEAD was detached.
    pub branch: Option<String>,
    /// When it began, as RFC 3339 in UTC.
    pub began: String,
    /// How long the machine was up then, in milliseconds; none where it does not tell.
    #[serde(default)]
    pub began_at_uptime: Option<u64>,
    /// How often the story failed before, in this run.
    #[serde(default)]
    pub failures: u64,
    /// Whether the plan is a link of the user's.
    #[serde(default)]
    pub plan_is_link: bool,
    /// Tasks that the agent added to its story and ticked. The ticks themselves are undone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done_tasks: Vec<String>,
    /// The plan as it was.
    #[serde(skip)]
    pub plan_before: Vec<u8>,
}

impl Attempt {
    /// The attempt under way; none if there is none.
    pub fn load(state: &StateDir) -> io::Result<Option<Self>> {
        let Some((mut attempt, mut rest)) = Self::open(state)? else { return Ok(None) };
        rest.read_to_end(&mut attempt.plan_before)?;
        Ok(Some(attempt))
    }

    /// The same without the plan as it was, which may be large: for hooks that only ask which
    /// story is under way.
    pub fn load_without_plan(state: &StateDir) -> io::Result<Option<Self>> {
        Ok(Self::open(state)?.map(|(attempt, _)| attempt))
    }

    /// The attempt, and the rest of its file.
    fn open(state: &StateDir) -> io::Result<Option<(Self, impl Read)>> {
        let path = state.attempt();
        let file = match fs_err::File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut reader = BufReader::new(file);
        let mut header = Vec::new();
        reader.read_until(b'\n', &mut header)?;
        // A power cut just after it was written may leave it empty; then the agent had done nothing,
        // and nothing can be in the middle of being committed.
        if header.is_empty() && !state.settling().exists() {
            return Ok(None);
        }
        let attempt: Self =
            serde_json::from_slice(&header).map_err(|error| unreadable(&path, &error))?;
        if attempt.version > VERSION {
            return Err(io::Error::other(format!("{path} was written by a newer version")));
        }
        Ok(Some((attempt, reader)))
    }

    /// How long it has been under way; none where that cannot be told. A clock that somebody sets
    /// changes nothing on a machine that tells how long it is up.
    pub fn age(&self) -> Option<Duration> {
        if let (Some(began), Some(now)) = (self.began_at_uptime, uptime()) {
            return now.checked_sub(began).map(Duration::from_millis);
        }
        let began: Timestamp = self.began.parse().ok()?;
        Duration::try_from(Timestamp::now().duration_since(began)).ok()
    }

    /// Whether another one is of the same story and run.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        (&self.run, &self.story) == (&other.run, &other.story)
    }

    /// Writes it down. It is on the disk long before the agent has done anything.
    pub fn save(&self, state: &StateDir) -> io::Result<()> {
        let mut content = serde_json::to_vec(self)?;
        content.push(b'\n');
        content.extend_from_slice(&self.plan_before);
        state::replace_soon(&state.attempt(), &content)
    }

    /// Where HEAD was when the attempt began.
    pub fn position(&self) -> Position {
        Position { branch: self.branch.clone(), commit: self.head.clone() }
    }

    /// The plan as it was when the attempt began.
    pub fn plan_before(&self, place: &Place<'_>) -> Result<Plan, SettleError> {
        Ok(Plan::parse(&self.plan, self.plan_before.clone(), &place.plan_options())?)
    }
}

/// Begins an attempt: checkpoint, the attempt itself and the story under way are written down.
pub fn begin(
    place: &Place<'_>,
    plan: &Plan,
    story: &Story,
    iteration: u64,
) -> Result<Attempt, SettleError> {
    begin_after(place, plan, story, iteration, None)
}

/// The same after another one was settled; what is known from then saves a look at the tree.
pub fn begin_after(
    place: &Place<'_>,
    plan: &Plan,
    story: &Story,
    iteration: u64,
    known: Option<&JustCommitted>,
) -> Result<Attempt, SettleError> {
    let message = format!("before {}", story.id);
    let (checkpoint, status) =
        Checkpoint::create_for(place.repo, place.state, &message, Some(place.run), known)?;
    if iteration.is_multiple_of(PRUNED_EVERY) {
        checkpoint.prune_others(place.repo, CHECKPOINTS_KEPT)?;
    }
    let attempt = Attempt {
        version: VERSION,
        run: place.run.to_owned(),
        story: story.id.clone(),
        title: story.title.clone(),
        iteration,
        plan: plan.path().to_owned(),
        progress: progress_path(&place.config.run, place.root, plan.path()),
        head: status.head,
        branch: status.branch,
        began: state::now(),
        began_at_uptime: uptime(),
        failures: 0,
        plan_is_link: plan.path().is_symlink(),
        done_tasks: Vec::new(),
        plan_before: plan.bytes().to_vec(),
    };
    state::remove_if_there(place.state.claim())?;
    attempt.save(place.state)?;
    fault::point("attempt.begun");
    // It only tells hooks what the attempt says as well, and after a power cut none is running.
    let under_way = format!("{}\n", story.id);
    state::replace_unsynced(&place.state.current_story(), under_way.as_bytes())?;
    Ok(attempt)
}

/// Goes on with an attempt in another session: its checkpoint stays, and the plan as it was.
pub fn resume(state: &StateDir, attempt: Attempt, iteration: u64) -> io::Result<Attempt> {
    let known = Attempt::load_without_plan(state)?.filter(|known| known.is_same_as(&attempt));
    let done_tasks = known.map(|known| known.done_tasks).unwrap_or_default();
    let attempt = Attempt { iteration, done_tasks, ..attempt };
    state::remove_if_there(state.claim())?;
    attempt.save(state)?;
    state::replace_unsynced(&state.current_story(), format!("{}\n", attempt.story).as_bytes())?;
    Ok(attempt)
}

/// Sees to it that the attempt under way has its checkpoint, whatever became of the file; names the
/// story whose checkpoint had to be found again.
pub fn find_checkpoint_again(repo: &Repo, state: &StateDir) -> Result<Option<String>, SettleError> {
    let Some(attempt) = Attempt::load_without_plan(state)? else { return Ok(None) };
    let began = Beginning {
        run: &attempt.run,
        head: attempt.head.as_deref(),
        branch: attempt.branch.as_deref(),
    };
    let found = Checkpoint::find_again(repo, state, began)?;
    Ok(found.then_some(attempt.story))
}

/// How long the machine is up, in milliseconds.
fn uptime() -> Option<u64> {
    let text = fs_err::read_to_string("/proc/uptime").ok()?;
    let seconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    u64::try_from(Duration::try_from_secs_f64(seconds).ok()?.as_millis()).ok()
}

/// Ends it, however it went: nothing is under way any more. A checkpoint that outlived its attempt
/// would let a later failure take back work that was committed since.
pub fn end(state: &StateDir) -> io::Result<()> {
    Checkpoint::clear(state)?;
    fault::point("attempt.checkpoint-cleared");
    forget(state)
}

/// Ends it, but keeps its checkpoint: for a run that the user interrupted.
pub fn forget(state: &StateDir) -> io::Result<()> {
    for path in [state.current_story(), state.claim(), state.attempt()] {
        state::remove_if_there(&path)?;
    }
    fault::point("attempt.forgotten");
    Ok(())
}

/// A file of ours that somebody damaged.
pub(super) fn unreadable(path: &Utf8Path, error: &serde_json::Error) -> io::Error {
    let advice = "docs/recovery.md tells how to start over";
    io::Error::other(format!("{path} cannot be understood: {error}; {advice}"))
}

/// Where progress is written: beside the plan, unless the user wants it elsewhere.
pub fn progress_path(settings: &LoopSettings, root: &Utf8Path, plan: &Utf8Path) -> Utf8PathBuf {
    match settings.progress.as_str() {
        "" => StateDir::progress_beside(plan),
        path => root.join(path),
    }
}
