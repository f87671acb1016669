//! How a run is shown while it goes on: lines that stay and, on a terminal, what goes on below them.

use std::cell::{Cell, RefCell};
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use camino::Utf8PathBuf;
use console::style;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use jiff::Timestamp;
use ralph_base::env::Env;
use ralph_base::state;
use ralph_core::plan::StoryCounts;
use ralph_project::config::LoopSettings;

use super::lines::Tone;
use super::scene::{Glimpse, Scene, Worker};
use super::screen::{Screen, columns};
use super::{printable_lines, say};

/// The least time between two lines about what the agent does, and between two looks of `status`.
const GLIMPSE_PAUSE: Duration = Duration::from_millis(200);
const PUBLISHED_EVERY: Duration = Duration::from_millis(500);

/// How often what goes on is drawn anew: its clock moves even while nothing is heard.
const DRAWN_EVERY: Duration = Duration::from_millis(120);

/// The spinner, and what a person types: `^C`.
const BESIDE: u16 = 5;

/// An empty line, which the screen would take for the padding of the one before: it erases what is there.
const NOTHING: &str = "\u{1b}[K";

/// Remember the window's title, set it, and bring it back.
const KEEP_TITLE: &str = "\u{1b}[22;2t";
const RESTORE_TITLE: &str = "\u{1b}[23;2t";

/// The rows of workers, by the names that the drawing has for them.
const ROWS: [&str; 16] = [
    "w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8", "w9", "w10", "w11", "w12", "w13", "w14", "w15",
    "w16",
];
const MOST_ROWS: u64 = ROWS.len() as u64;

/// Where it is shown.
#[derive(Debug)]
enum Place {
    /// Lines with a time in front.
    Plain { last: RefCell<(String, Option<Instant>)> },
    /// Lines, and below them what goes on now.
    Live { bar: ProgressBar, title: RefCell<String>, has_title: bool },
    /// Nothing but the journal's lines, which the journal echoes.
    Json,
}

/// How a run is shown.
#[derive(Debug)]
pub(crate) struct View {
    place: Place,
    scene: Arc<Mutex<Scene>>,
    /// Where `status` finds what goes on, and when it was written last.
    file: Option<Utf8PathBuf>,
    published: Cell<Option<Instant>>,
}

impl View {
    /// The view that fits where the output goes, with so many workers at most.
    pub(crate) fn new(env: &Env, settings: &LoopSettings, workers: u64) -> Self {
        let scene = Arc::new(Mutex::new(Scene::of_workers(workers)));
        let term = env.get("TERM").unwrap_or_else(|| "dumb".to_owned());
        let place = if settings.json_events {
            Place::Json
        } else if !io::stdout().is_terminal() || term == "dumb" {
            Place::Plain { last: RefCell::default() }
        } else {
            let screen = Box::new(Screen::new());
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::term_like(screen));
            bar.set_style(drawing(&scene, workers.clamp(1, MOST_ROWS) as usize));
            // The console of the system has no windows, and shows what it does not know.
            Place::Live { bar, title: RefCell::default(), has_title: term != "linux" }
        };
        Self { place, scene, file: None, published: Cell::default() }
    }

    /// The same, and `status` finds in a file what goes on.
    pub(crate) fn published_in(mut self, file: Utf8PathBuf) -> Self {
        self.file = Some(file);
        self
    }

    /// Something happened that is worth a line.
    pub(crate) fn line(&self, text: impl AsRef<str>) {
        self.toned(Tone::Plain, text);
    }

    /// The same, in the colour of what it is about.
    pub(crate) fn toned(&self, tone: Tone, text: impl AsRef<str>) {
        printable_lines(text.as_ref()).iter().for_each(|line| self.print(tone, line));
    }

    fn print(&self, tone: Tone, line: &str) {
        let line = tone.stamped(line);
        match &self.place {
            Place::Live { bar, .. } if !bar.is_finished() => bar.println(line),
            Place::Plain { .. } | Place::Live { .. } => say(line),
            Place::Json => {}
        }
    }

    /// Something that the user should see to.
    pub(crate) fn warn(&self, text: impl AsRef<str>) {
        let mut mark = "warning: ";
        for line in printable_lines(text.as_ref()) {
            let line = format!("{mark}{line}");
            match &self.place {
                // Standard output belongs to the events.
                Place::Json => drop(writeln!(io::stderr().lock(), "{line}")),
                _ => self.print(Tone::Warning, &line),
            }
            mark = "  ";
        }
    }

    /// What the run may cost, and what a story is likely to take.
    pub(crate) fn expect(&self, max_cost_usd: f64, story_s: Option<f64>) {
        self.set(|Scene { totals, .. }| {
            (totals.max_cost_usd, totals.story_s) = (max_cost_usd, story_s);
        });
    }

    /// Where the plan stands, and what the run has cost.
    pub(crate) fn counts(&self, counts: StoryCounts, cost_usd: f64) {
        self.change(|Scene { totals, .. }| {
            (totals.done, totals.blocked, totals.left) = (counts.done, counts.blocked, counts.open);
            totals.cost_usd = cost_usd;
        });
    }

    /// A slot is free, or begins a story.
    pub(crate) fn slot(&self, slot: usize, worker: Worker) {
        if let Place::Plain { last } = &self.place {
            last.take();
        }
        self.change(|scene| {
            let name = scene.at(slot).worker.take();
            *scene.at(slot) = Worker { worker: name, ..worker };
        });
    }

    /// The story is tried once more.
    pub(crate) fn attempt(&self, slot: usize, number: u64) {
        self.change(|scene| scene.at(slot).attempt = number);
    }

    /// What an agent does now for its story, and what the run has cost so far.
    pub(crate) fn glimpse(&self, slot: usize, seen: &Glimpse, cost_usd: f64) {
        self.set(|scene| {
            scene.totals.cost_usd = cost_usd;
            let worker = scene.at(slot);
            worker.doing.clone_from(&seen.doing);
            worker.is_refused = seen.is_refused;
            worker.tokens = seen.tokens;
            worker.context = seen.context;
        });
        if self.published.get().is_none_or(|at| at.elapsed() >= PUBLISHED_EVERY) {
            self.publish();
        }
        let Place::Plain { last } = &self.place else { return };
        let worker = self.scene().at(slot).clone();
        let doing = worker.activity(Timestamp::now());
        let (shown, at) = last.borrow().clone();
        // An agent that prints without end must not fill the log of whoever started us.
        let is_early = at.is_some_and(|at| at.elapsed() < GLIMPSE_PAUSE);
        if doing.is_empty() || shown == doing || is_early {
            return;
        }
        last.replace((doing.clone(), Some(Instant::now())));
        let prefix = worker.worker.map_or_else(String::new, |name| format!("[{name}] "));
        self.line(format!("{prefix}{} | {doing}", worker.story.unwrap_or_default()));
    }

    /// What the loop itself does now in a slot.
    pub(crate) fn doing(&self, slot: usize, text: &str) {
        self.change(|scene| {
            let worker = scene.at(slot);
            (worker.doing, worker.is_refused) = (text.to_owned(), false);
        });
    }

    /// What the run waits for, and until when.
    pub(crate) fn waiting(&self, why: &str, until: Timestamp) {
        self.change(|scene| {
            for slot in 0..=scene.others.len() {
                let worker = scene.at(slot);
                if worker.story.is_none() {
                    (worker.doing, worker.until) = (why.to_owned(), Some(until));
                }
            }
        });
    }

    /// Nothing moves any more; lines may still follow.
    pub(crate) fn close(&self) {
        if let Some(file) = &self.file {
            let _ = state::remove_if_there(file);
        }
        let Place::Live { bar, title, .. } = &self.place else { return };
        bar.finish_and_clear();
        if !std::mem::take(&mut *title.borrow_mut()).is_empty() {
            write_raw(RESTORE_TITLE);
        }
    }

    fn scene(&self) -> Scene {
        self.scene.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, change: impl FnOnce(&mut Scene)) {
        change(&mut self.scene.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn change(&self, change: impl FnOnce(&mut Scene)) {
        self.set(change);
        self.publish();
        let Place::Live { bar, title, has_title } = &self.place else { return };
        bar.enable_steady_tick(DRAWN_EVERY);
        let (new, mut shown) = (self.scene().title(), title.borrow_mut());
        if *has_title && *shown != new {
            let kept = if shown.is_empty() { KEEP_TITLE } else { "" };
            write_raw(&format!("{kept}\u{1b}]2;{new}\u{7}"));
            *shown = new;
        }
    }

    fn publish(&self) {
        let Some(file) = &self.file else { return };
        self.published.set(Some(Instant::now()));
        // What cannot be written is not shown elsewhere; nothing rests on it.
        if let Ok(text) = serde_json::to_vec(&self.scene()) {
            let _ = state::replace_unsynced(file, &text);
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.close();
    }
}

fn write_raw(sequence: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(sequence.as_bytes()).and_then(|()| out.flush());
}

/// The lines, made when they are drawn: so the clock goes on, and they fit a terminal whose size has
/// changed.
fn drawing(scene: &Arc<Mutex<Scene>>, workers: usize) -> ProgressStyle {
    let names: Vec<&'static str> = ROWS.into_iter().take(workers).collect();
    let rows: Vec<String> = names.iter().map(|name| format!("{{{name}}}")).collect();
    let template = format!("{{spinner:.cyan}} {}\n  {{totals}}", rows.join("\n  "));
    let bar = ProgressStyle::with_template(&template)
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    let row = |at: Option<usize>| {
        let scene = Arc::clone(scene);
        move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
            let scene = scene.lock().unwrap_or_else(PoisonError::into_inner);
            let lines = scene.lines(Timestamp::now(), columns().saturating_sub(BESIDE).into());
            let Some(at) = at else {
                let totals = lines.last().cloned().unwrap_or_default();
                let totals = if totals.is_empty() { NOTHING.to_owned() } else { totals };
                let _ = write!(out, "{}", style(totals).dim());
                return;
            };
            let is_refused = scene.all().nth(at).is_some_and(|worker| worker.is_refused);
            // The last line is the run's.
            let line = lines.get(at).filter(|_| at + 1 < lines.len()).cloned().unwrap_or_default();
            let line = if line.is_empty() { NOTHING.to_owned() } else { line };
            let line = if is_refused { style(line).yellow() } else { style(line) };
            let _ = write!(out, "{line}");
        }
    };
    let rows = names.into_iter().enumerate();
    rows.fold(bar, |bar, (at, name)| bar.with_key(name, row(Some(at))))
        .with_key("totals", row(None))
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
