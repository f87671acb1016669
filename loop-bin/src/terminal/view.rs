//! Shows a run: permanent lines and, on a terminal, a live view below them.

use std::cell::{Cell, RefCell};
use std::io::{self, IsTerminal, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use camino::Utf8PathBuf;
use console::style;
use jiff::Timestamp;
use nix::sys::signal::{SigSet, Signal};
use ralph_base::env::Env;
use ralph_base::state;
use ralph_core::plan::StoryCounts;
use ralph_project::config::LoopSettings;

use super::keys::{Asked, KeyByKey, Keys};
use super::lines::Tone;
use super::scene::{Glimpse, Scene, Worker};
use super::screen::{Redrawn, columns};
use super::{printable_lines, say};

/// The least time between two lines about the agent's activity, and between two reads of `status`.
const GLIMPSE_PAUSE: Duration = Duration::from_millis(200);
const PUBLISHED_EVERY: Duration = Duration::from_millis(500);

/// How often the live view is redrawn, since its clock moves even without news.
const DRAWN_EVERY: Duration = Duration::from_millis(120);

/// The spinner's frames, and the echo of an interrupt.
const BESIDE: u16 = 5;

const SPINNER: &str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";

/// How the run is shown.
#[derive(Debug)]
enum OutputMode {
    /// Lines with the time in front.
    Plain { last: RefCell<(String, Option<Instant>)> },
    /// Lines with a live view below.
    Live(Arc<Mutex<Live>>),
    /// Only the journal's lines, which the journal prints itself.
    Json,
}

/// Shows a run.
#[derive(Debug)]
pub(crate) struct View {
    place: OutputMode,
    scene: Arc<Mutex<Scene>>,
    /// The file that `status` reads, and when it was last written.
    file: Option<Utf8PathBuf>,
    published: Cell<Option<Instant>>,
}

/// The live view.
#[derive(Debug)]
struct Live {
    screen: Redrawn,
    scene: Arc<Mutex<Scene>>,
    spinner: std::iter::Cycle<std::str::Chars<'static>>,
    is_shown: bool,
    /// Whether the user has closed the live view.
    is_quit: bool,
    /// Reads keys while it exists.
    keys: Option<(KeyByKey, Keys)>,
}

impl Live {
    /// Redraws the view below these permanent lines.
    fn draw(&mut self, above: &[String]) {
        self.keys.iter().for_each(|(key_by_key, _)| key_by_key.hold());
        let below = if self.is_shown && !self.is_quit { self.lines() } else { Vec::new() };
        // The terminal may be gone; then nothing is shown.
        let _ = self.screen.draw(above, &below);
    }

    fn lines(&mut self) -> Vec<String> {
        let (scene, now) = (locked(&self.scene), Timestamp::now());
        let columns = columns().saturating_sub(BESIDE).into();
        let workers = scene.workers.iter().map(|worker| {
            let line = style(worker.line(now, columns));
            if worker.is_refused { line.yellow() } else { line }
        });
        let keys = self.keys.as_ref().map(|(_, keys)| keys.line(columns));
        let last = [scene.totals_line(now, columns)].into_iter().chain(keys);
        let lines = workers.chain(last.map(|line| style(line).dim()));
        let lines = lines.map(|line| line.to_string()).filter(|line| !line.is_empty());
        let spinner = style(self.spinner.next().unwrap_or(' ')).cyan().to_string();
        let marks = [spinner].into_iter().chain(std::iter::repeat(" ".to_owned()));
        marks.zip(lines).map(|(mark, line)| format!("{mark} {line}")).collect()
    }

    /// The request that a key makes.
    fn press(&mut self, key: u8) -> Option<Asked> {
        let workers = locked(&self.scene).workers.clone();
        let logs: Vec<_> = workers.into_iter().filter_map(|worker| worker.log).collect();
        let asked = self.keys.as_mut()?.1.press(key, &logs);
        if asked == Some(Asked::Quit) {
            (self.is_quit, self.keys) = (true, None);
        }
        asked
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl View {
    /// The view for this kind of output, for this many workers at most.
    pub(crate) fn new(env: &Env, settings: &LoopSettings, workers: u64) -> Self {
        let scene = Arc::new(Mutex::new(Scene::of_workers(workers)));
        let is_dumb = env.get("TERM").is_none_or(|term| term == "dumb");
        let place = if settings.json_events {
            OutputMode::Json
        } else if !io::stdout().is_terminal() || is_dumb {
            OutputMode::Plain { last: RefCell::default() }
        } else {
            let (screen, scene) = (Redrawn::new(), Arc::clone(&scene));
            let spinner = SPINNER.chars().cycle();
            let (is_shown, is_quit, keys) = (false, false, None);
            let live = Live { screen, scene, spinner, is_shown, is_quit, keys };
            let live = Arc::new(Mutex::new(live));
            let weak = Arc::downgrade(&live);
            // Without room for a thread, lines are printed all the same.
            let _ = std::thread::Builder::new().spawn(move || {
                while let Some(live) = weak.upgrade() {
                    if locked(&live).is_shown {
                        locked(&live).draw(&[]);
                    }
                    drop(live);
                    std::thread::sleep(DRAWN_EVERY);
                }
            });
            OutputMode::Live(live)
        };
        Self { place, scene, file: None, published: Cell::default() }
    }

    /// Adds keys if there is a terminal for them: `act` performs what they request, and returns the
    /// answer.
    pub(crate) fn with_keys(self, act: impl Fn(Asked) -> String + Send + 'static) -> Self {
        let OutputMode::Live(live) = &self.place else { return self };
        let Some(key_by_key) = KeyByKey::begin() else { return self };
        locked(live).keys = Some((key_by_key, Keys::default()));
        let weak = Arc::downgrade(live);
        let _ = std::thread::Builder::new().spawn(move || {
            // In the background there are no keys, and reading would suspend the run.
            let _ = SigSet::from(Signal::SIGTTIN).thread_block();
            for key in io::stdin().lock().bytes() {
                let Some(live) = weak.upgrade() else { return };
                let Ok(key) = key else {
                    std::thread::sleep(PUBLISHED_EVERY);
                    continue;
                };
                let asked = locked(&live).press(key);
                let is_last = asked == Some(Asked::Quit);
                let text = asked.map(&act).unwrap_or_default();
                let lines = printable_lines(&text).into_iter();
                let lines = lines.map(|line| Tone::Plain.stamped(&line, Some(columns().into())));
                locked(&live).draw(&lines.collect::<Vec<_>>());
                if is_last {
                    return;
                }
            }
        });
        self
    }

    /// Saves the live view to a file for `status`.
    pub(crate) fn published_in(mut self, file: Utf8PathBuf) -> Self {
        self.file = Some(file);
        self
    }

    /// Prints a line.
    pub(crate) fn line(&self, text: impl AsRef<str>) {
        self.toned(Tone::Plain, text);
    }

    /// Prints a line in the colour of its kind.
    pub(crate) fn toned(&self, tone: Tone, text: impl AsRef<str>) {
        printable_lines(text.as_ref()).iter().for_each(|line| self.print(tone, line));
    }

    fn print(&self, tone: Tone, line: &str) {
        match &self.place {
            OutputMode::Live(live) => {
                let line = tone.stamped(line, Some(columns().into()));
                locked(live).draw(&[line]);
            }
            OutputMode::Plain { .. } => say(tone.stamped(line, None)),
            OutputMode::Json => {}
        }
    }

    /// Prints a warning.
    pub(crate) fn warn(&self, text: impl AsRef<str>) {
        let mut mark = "warning: ";
        for line in printable_lines(text.as_ref()) {
            let line = format!("{mark}{line}");
            match &self.place {
                // Standard output is reserved for the events.
                OutputMode::Json => drop(writeln!(io::stderr().lock(), "{line}")),
                _ => self.print(Tone::Warning, &line),
            }
            mark = "  ";
        }
    }

    /// Sets the cost limit and the average time of a story.
    pub(crate) fn expect(&self, max_cost_usd: f64, story_s: Option<f64>) {
        let totals = &mut locked(&self.scene).totals;
        (totals.max_cost_usd, totals.story_s) = (max_cost_usd, story_s);
    }

    /// Sets the totals of the plan and the cost.
    pub(crate) fn counts(&self, counts: StoryCounts, cost_usd: f64) {
        self.change(|Scene { totals, .. }| {
            (totals.done, totals.blocked, totals.left) = (counts.done, counts.blocked, counts.open);
            totals.cost_usd = cost_usd;
        });
    }

    /// Sets what a slot is doing: nothing, or a story.
    pub(crate) fn slot(&self, slot: usize, worker: Worker) {
        if let OutputMode::Plain { last } = &self.place {
            last.take();
        }
        self.change_worker(slot, |shown| {
            *shown = Worker { worker: shown.worker.take(), ..worker };
        });
    }

    /// Sets a new attempt at the same story.
    pub(crate) fn attempt(&self, slot: usize, number: u64) {
        self.change_worker(slot, |worker| worker.attempt = number);
    }

    /// Sets an agent's current activity, and the run's cost so far.
    pub(crate) fn glimpse(&self, slot: usize, seen: &Glimpse, cost_usd: f64) {
        let mut scene = locked(&self.scene);
        scene.totals.cost_usd = cost_usd;
        let Some(worker) = scene.workers.get_mut(slot) else { return };
        worker.doing.clone_from(&seen.doing);
        (worker.is_refused, worker.context) = (seen.is_refused, seen.context);
        let worker = worker.clone();
        drop(scene);
        if self.published.get().is_none_or(|at| at.elapsed() >= PUBLISHED_EVERY) {
            self.publish();
        }
        let OutputMode::Plain { last } = &self.place else { return };
        let doing = worker.activity(Timestamp::now());
        let (shown, at) = last.borrow().clone();
        // A chatty agent must not fill the log of the caller.
        let is_early = at.is_some_and(|at| at.elapsed() < GLIMPSE_PAUSE);
        if doing.is_empty() || shown == doing || is_early {
            return;
        }
        last.replace((doing.clone(), Some(Instant::now())));
        let prefix = worker.worker.map_or_else(String::new, |name| format!("[{name}] "));
        self.line(format!("{prefix}{} | {doing}", worker.story.unwrap_or_default()));
    }

    /// Sets the log of a slot's agent.
    pub(crate) fn log(&self, slot: usize, log: Utf8PathBuf) {
        self.change_worker(slot, |worker| worker.log = Some(log));
    }

    /// Sets the loop's own activity in a slot.
    pub(crate) fn doing(&self, slot: usize, text: &str) {
        self.change_worker(slot, |worker| {
            (worker.doing, worker.is_refused) = (text.to_owned(), false);
        });
    }

    /// Sets the run's pause and its end.
    pub(crate) fn waiting(&self, why: &str, until: Timestamp) {
        self.change(|scene| {
            for worker in scene.workers.iter_mut().filter(|worker| worker.story.is_none()) {
                (worker.doing, worker.until) = (why.to_owned(), Some(until));
            }
        });
    }

    /// Closes the live view; lines may follow.
    pub(crate) fn close(&self) {
        if let Some(file) = &self.file {
            let _ = state::remove_if_there(file);
        }
        if let OutputMode::Live(live) = &self.place {
            let mut live = locked(live);
            (live.is_shown, live.keys) = (false, None);
            live.draw(&[]);
        }
    }

    fn change_worker(&self, slot: usize, change: impl FnOnce(&mut Worker)) {
        self.change(|scene| {
            if let Some(worker) = scene.workers.get_mut(slot) {
                change(worker);
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut Scene)) {
        change(&mut locked(&self.scene));
        self.publish();
        if let OutputMode::Live(live) = &self.place {
            locked(live).is_shown = true;
            locked(live).draw(&[]);
        }
    }

    fn publish(&self) {
        let Some(file) = &self.file else { return };
        self.published.set(Some(Instant::now()));
        // This file is only for display, so an error does not matter.
        if let Ok(text) = serde_json::to_vec(&*locked(&self.scene)) {
            let _ = state::replace_unsynced(file, &text);
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.close();
    }
}
