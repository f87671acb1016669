//! A person's acts, and a record of every byte of their work.

use std::collections::BTreeMap;
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::PLAN;
use crate::torture::dice::Dice;
use crate::torture::stage::Stage;

/// The person's files; the first three are committed from the beginning.
pub(super) const NAMES: [&str; 5] =
    ["mine/a.txt", "mine/b.txt", "mine/c.txt", "mine/new.txt", "mine/newer.txt"];

/// The person's other branch.
pub(super) const SIDE: &str = "side";
pub(super) const MAIN: &str = "main";

/// How long a git lock may block the person: that of a killed loop lasts until the next start.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the loop may take to update the files of a checkout.
const SETTLING: Duration = Duration::from_secs(5);
const PULSE: Duration = Duration::from_millis(20);

type Files = BTreeMap<&'static str, String>;

/// A person at work.
pub(super) struct Person<'a> {
    stage: &'a Stage,
    dice: Dice,
    /// The longest pause between two acts.
    pause: Duration,
    pub(super) branch: &'static str,
    committed: BTreeMap<&'static str, Files>,
    disk: Files,
    staged: Files,
    /// Lines that they added to the plan.
    pub(super) notes: Vec<String>,
    /// The commits that they made.
    pub(super) commits: Vec<(&'static str, String)>,
    /// A file of theirs at the path of a story's file.
    pub(super) obstacle: Option<(&'static str, String)>,
    serial: usize,
    /// What was done, and when.
    acts: Vec<String>,
    begun: Instant,
    pub(super) found: Vec<String>,
}

impl<'a> Person<'a> {
    pub(super) fn new(stage: &'a Stage, dice: Dice, pause: Duration) -> Self {
        let content = |name: &&'static str| (*name, format!("{name}, as it was at first\n"));
        let files: Files = NAMES.iter().take(3).map(content).collect();
        Self {
            stage,
            dice,
            pause,
            branch: MAIN,
            committed: [(MAIN, files.clone()), (SIDE, files.clone())].into(),
            disk: files.clone(),
            staged: files,
            notes: Vec::new(),
            commits: Vec::new(),
            obstacle: None,
            serial: 0,
            acts: Vec::new(),
            begun: Instant::now(),
            found: Vec::new(),
        }
    }

    /// Performs one act after another until asked to stop.
    pub(super) fn live(&mut self, is_over: &AtomicBool) {
        while !is_over.load(Ordering::Relaxed) && self.found.is_empty() {
            match self.dice.below(19) {
                0..4 => self.edit(),
                4..6 => self.stage(),
                6..9 => self.commit(),
                9..11 => self.stash(),
                11..13 => self.switch(),
                13..15 => self.edit_plan(),
                15 => self.tidy_up(),
                16 => self.save_old_plan(),
                17 => self.rebase(),
                _ => self.obstruct(),
            }
            self.check();
            std::thread::sleep(self.dice.part_of(self.pause));
        }
    }

    /// Returns to the branch on which the loop works, with everything committed.
    pub(super) fn finish(&mut self) {
        if !self.found.is_empty() {
            return;
        }
        self.commit();
        if self.branch != MAIN {
            self.switch();
        }
        self.check();
    }

    /// Returns what was done, one act per line.
    pub(super) fn acts(&self) -> String {
        self.acts.join("\n")
    }

    fn note(&mut self, act: String) {
        self.acts.push(format!("{:>6} ms {act}", self.begun.elapsed().as_millis()));
    }

    fn complain(&mut self, what: String) {
        self.note(format!("FOUND {what}"));
        self.found.push(what);
    }

    fn edit(&mut self) {
        let name = self.dice.pick(&NAMES);
        self.serial += 1;
        // All of the same length: git must not detect a change by its size.
        let text = format!("{name}, written for the {:03}. time\n", self.serial);
        self.stage.repo.write(name, &text);
        self.note(format!("wrote {name} ({})", self.serial));
        self.disk.insert(name, text);
    }

    /// Packs refs and collects garbage.
    fn tidy_up(&mut self) {
        if self.stage.git(&["gc", "--quiet"]).is_some() {
            self.note("collected garbage".to_owned());
        }
    }

    fn stage(&mut self) {
        let name = self.dice.pick(&NAMES);
        let Some(text) = self.disk.get(name).cloned() else { return };
        if self.git(&["add", "--", name]).is_some() {
            self.note(format!("staged {name}"));
            self.staged.insert(name, text);
        }
    }

    /// Commits all of their work, including the plan; nothing else may be in the commit.
    fn commit(&mut self) {
        if self.git(&["add", "--all", "--", "mine", PLAN]).is_none() {
            return;
        }
        self.staged = self.disk.clone();
        self.serial += 1;
        let message = format!("by hand {}", self.serial);
        if self.git(&["commit", "-q", "--allow-empty", "-a", "-m", &message]).is_none() {
            return;
        }
        let shown = self.stage.repo.git(["log", "-1", "--format=%H %s", "--name-only"]);
        let mut lines = shown.lines();
        let (id, subject) = lines.next().and_then(|line| line.split_once(' ')).unwrap_or_default();
        self.note(format!("committed {id} on {}", self.branch));
        if subject != message {
            // The loop may have landed something in between: the commit is found by its message.
            let found = self.stage.repo.git(["log", "-1", "--format=%H", "--grep", &message]);
            self.commits.push((self.branch, found.trim().to_owned()));
        } else {
            self.commits.push((self.branch, id.to_owned()));
            let is_other = |path: &&str| !path.is_empty() && !is_theirs(path);
            let others = lines.filter(|path| is_other(path) && !self.is_over_landed(id, path));
            let others: Vec<&str> = others.collect();
            if !others.is_empty() {
                self.complain(format!("their commit {id} holds {}", others.join(", ")));
            }
        }
        self.committed.insert(self.branch, self.disk.clone());
    }

    /// Whether they wrote a file at the moment when the story's landed: the story's is in the
    /// commit before, so theirs is a change to it.
    fn is_over_landed(&self, id: &str, path: &str) -> bool {
        let landed = format!("{id}~1:{path}");
        let is_landed = self.stage.git(&["cat-file", "-e", &landed]).is_some();
        is_landed && self.obstacle.as_ref().is_some_and(|(name, _)| *name == path)
    }

    fn stash(&mut self) {
        let committed = self.committed.get(self.branch).cloned().unwrap_or_default();
        let is_clean = self.disk == committed && self.staged == committed;
        if is_clean || self.obstacle.is_some() {
            return;
        }
        if self.git(&["stash", "push", "-q", "--include-untracked"]).is_none() {
            return;
        }
        self.note("stashed".to_owned());
        let before = (self.disk.clone(), self.staged.clone());
        (self.disk, self.staged) = (committed.clone(), committed);
        let notes = std::mem::take(&mut self.notes);
        self.check();
        std::thread::sleep(Duration::from_millis(50));
        if self.git(&["stash", "pop", "-q", "--index"]).is_some() {
            self.note("popped".to_owned());
        }
        (self.disk, self.staged) = before;
        self.notes = notes;
    }

    fn switch(&mut self) {
        if self.obstacle.is_some() {
            return;
        }
        self.commit();
        let other = if self.branch == MAIN { SIDE } else { MAIN };
        if !self.found.is_empty() || self.git(&["switch", "-q", other]).is_none() {
            return;
        }
        self.branch = other;
        self.note(format!("switched to {other}"));
        self.disk = self.committed.get(other).cloned().unwrap_or_default();
        self.staged = self.disk.clone();
        self.expect_clean();
    }

    /// Adds a line at the end of the plan.
    fn edit_plan(&mut self) {
        if self.branch == MAIN {
            let text = self.plan();
            self.save_plan(&text);
        }
    }

    /// Saves a plan that was opened a while ago: what was ticked since is open again.
    fn save_old_plan(&mut self) {
        let opened = self.plan();
        if self.branch != MAIN || !self.is_early() {
            return;
        }
        std::thread::sleep(self.dice.part_of(self.pause * 4));
        if self.is_early() {
            self.note("saves an old plan".to_owned());
            self.save_plan(&opened);
        }
    }

    /// Reads the plan, once it exists: git deletes a file before it writes the new version.
    fn plan(&self) -> String {
        let begun = Instant::now();
        loop {
            let text = self.stage.read(PLAN);
            if !text.is_empty() || begun.elapsed() > SETTLING {
                return text;
            }
            std::thread::sleep(PULSE);
        }
    }

    /// Whether the loop still has to choose stories, and so will read the plan again.
    fn is_early(&self) -> bool {
        self.plan().matches("- [ ] Make it").count() > 2
    }

    /// Starts a rebase that stops, and aborts it after a while.
    fn rebase(&mut self) {
        if self.branch != MAIN || self.obstacle.is_some() || !self.is_early() {
            return;
        }
        self.commit();
        let root = self.stage.repo.root().as_std_path();
        if !self.found.is_empty() {
            return;
        }
        self.stage.repo.try_git(root, ["rebase", "-q", "-x", "false", "HEAD~1"]);
        if !self.stage.path(".git/rebase-merge").exists() {
            return;
        }
        self.note("a rebase stops".to_owned());
        self.check();
        std::thread::sleep(self.dice.part_of(self.pause));
        if self.git(&["rebase", "--abort"]).is_some() {
            self.note("gave the rebase up".to_owned());
        }
    }

    /// Adds a line to the plan and saves it like an editor: by replacing the file with a new one.
    fn save_plan(&mut self, text: &str) {
        self.serial += 1;
        let line = format!("Note {} by hand.", self.serial);
        let path = self.stage.path(PLAN);
        let temporary = path.with_extension("edited");
        let saved = fs_err::write(&temporary, format!("{text}{line}\n"))
            .and_then(|()| fs_err::rename(&temporary, &path));
        if saved.is_ok() {
            self.note(format!("wrote into the plan: {line}"));
            self.notes.push(line);
        }
    }

    /// Writes a file of their own at the path of the last story's, so that its work has to wait.
    fn obstruct(&mut self) {
        let name = "made/US-006.txt";
        let path = self.stage.path(name);
        if self.branch != MAIN || self.obstacle.is_some() || path.exists() || self.dice.below(3) > 0
        {
            return;
        }
        let text = "mine, and in the way\n".to_owned();
        let _ = path.parent().map(fs_err::create_dir_all);
        // Never overwrite a file that has just landed.
        let opened = fs_err::OpenOptions::new().write(true).create_new(true).open(&path);
        let written =
            opened.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
        if written.is_ok() {
            self.note(format!("wrote {name}"));
            self.obstacle = Some((name, text));
        }
    }

    /// Checks that everything is as they left it.
    fn check(&mut self) {
        let mut found = Vec::new();
        for name in NAMES {
            let now = fs_err::read_to_string(self.stage.path(name)).ok();
            if now.as_ref() != self.disk.get(name) {
                found.push(format!("{name} is {now:?} and was {:?}", self.disk.get(name)));
            }
            let staged = self.stage.git(&["cat-file", "blob", &format!(":{name}")]);
            let staged = staged.unwrap_or_default();
            let wanted = self.staged.get(name).cloned().unwrap_or_default();
            if staged != wanted {
                found.push(format!("{name} is staged as {staged:?} and was as {wanted:?}"));
            }
        }
        let plan = self.plan();
        if self.branch == MAIN {
            for line in self.notes.iter().filter(|line| !plan.contains(line.as_str())) {
                found.push(format!("the plan lost {line:?}:\n{plan}"));
            }
        }
        if let Some((name, text)) = &self.obstacle {
            let now = self.stage.read(name);
            if now != *text {
                found.push(format!("{name} is {now:?} and was {text:?}"));
            }
        }
        found.into_iter().for_each(|what| self.complain(what));
    }

    /// Checks that git shows no changes in their clean checkout, once the loop has updated it.
    fn expect_clean(&mut self) {
        let begun = Instant::now();
        loop {
            let status = self.stage.repo.git([
                "--no-optional-locks",
                "status",
                "--porcelain",
                "--untracked-files=all",
            ]);
            if status.is_empty() {
                return;
            }
            if begun.elapsed() > SETTLING {
                self.complain(format!("git status on {} shows\n{status}", self.branch));
                return;
            }
            std::thread::sleep(PULSE);
        }
    }

    fn stashes(&self) -> usize {
        self.stage.repo.git(["stash", "list"]).lines().count()
    }

    /// Runs git, and tries again while another process holds a lock; `None` if it failed.
    fn git(&mut self, args: &[&str]) -> Option<Output> {
        let (begun, stashes) = (Instant::now(), self.stashes());
        loop {
            let output = self.stage.repo.try_git(self.stage.repo.root().as_std_path(), args);
            if output.status.success() {
                return Some(output);
            }
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            if args.first() == Some(&"stash") && self.stashes() != stashes {
                self.complain(format!("git {} did half of it: {said}", args.join(" ")));
                return None;
            }
            // The loop ticked a box in their plan since they committed it.
            if said.contains("would be overwritten by checkout") && said.contains(PLAN) {
                self.commit();
            }
            let passing = [".lock", "cannot lock ref", "could not write index", PLAN];
            if !passing.iter().any(|words| said.contains(words)) || begun.elapsed() > PATIENCE {
                self.complain(format!("git {} said {said}", args.join(" ")));
                return None;
            }
            std::thread::sleep(PULSE);
        }
    }
}

fn is_theirs(path: &str) -> bool {
    NAMES.contains(&path) || path == PLAN
}
