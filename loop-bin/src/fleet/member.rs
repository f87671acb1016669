//! A machine's part in a fleet: it joins, sees what the others do, claims stories and leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use camino::Utf8PathBuf;
use ralph_base::fault;
use ralph_base::state::RunDir;

use super::heart::{Heart, keep_beating, lock};
use super::machine::{CLAIMS, Claim, JOURNALS, MACHINES, Machine, claims, machines, new_name};
use super::rules::{Claiming, Watch, claiming, pause_of_idle, pause_to_land, pick};
use super::server::{Pushed, Server, Update};
use crate::exit::Failure;
use crate::landing::resolve;
use crate::run::RunRecord;
use crate::saved;

/// The claim of a machine that lands next; no story is called so.
const TURN: &str = "+landing";

/// What came of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claimed {
    Ours,
    /// Another machine was faster.
    Lost,
}

/// A machine's part in a fleet.
#[derive(Debug)]
pub(crate) struct Member {
    server: Server,
    pub(crate) name: String,
    lease: Duration,
    heart: Arc<Mutex<Heart>>,
    /// Dropped, it ends the heart.
    _alive: Sender<()>,
    watch: Watch,
    looked: Option<Instant>,
    /// As they were last seen.
    machines: Vec<Machine>,
    claims: Vec<Claim>,
    gone: BTreeSet<String>,
    /// The claims that are ours: their names and commits.
    held: BTreeMap<String, String>,
    turn: u64,
    /// Whether we asked that nobody lands before us, and have not landed yet.
    is_next: bool,
}

/// With what a machine joins.
pub(crate) struct Joining {
    pub(crate) server: Server,
    pub(crate) lease: Duration,
    pub(crate) run_dir: RunDir,
    pub(crate) journal: Utf8PathBuf,
    /// Whether there is a story to work on: one that comes too late leaves what the others did.
    pub(crate) has_work: bool,
    /// What it has done so far, if it was in the fleet before.
    pub(crate) record: RunRecord,
}

impl Member {
    /// Joins the fleet. The first machine of a run removes what the last run left, unless one of that is
    /// still at work or was killed: then its run goes on.
    pub(crate) fn join(joining: Joining) -> Result<Self, Failure> {
        let Joining { server, lease, run_dir, journal, has_work, record } = joining;
        let seen = machines(&server)?;
        let name = record.machine.clone().unwrap_or_else(|| new_name(&record.run));
        let first = RunRecord { machine: Some(name.clone()), finish: None, ..record };
        let own = seen.iter().find(|machine| machine.name == name);
        let (beat, last) = own.map_or((0, None), |own| (own.beat, Some(own.commit.clone())));
        let is_over = has_work && !seen.iter().any(Machine::is_at_work);
        if is_over || own.is_some() {
            server.look_at_journals()?;
        }
        let journals = server.mirrored(JOURNALS)?.into_iter();
        let journals: BTreeMap<String, String> =
            journals.map(|(name, commit, _)| (name, commit)).collect();
        let last_journal = journals.get(&name).cloned();
        let heart = Heart {
            server,
            name: name.clone(),
            lease,
            run_dir,
            journal,
            first,
            beat,
            last,
            last_journal,
        };
        let mut member = Self {
            server: heart.server.clone(),
            name,
            lease,
            heart: Arc::new(Mutex::new(heart)),
            _alive: channel().0,
            watch: Watch::default(),
            looked: None,
            machines: Vec::new(),
            claims: Vec::new(),
            gone: BTreeSet::new(),
            held: BTreeMap::new(),
            turn: 0,
            is_next: false,
        };
        let over: &[Machine] = if is_over { &seen } else { &[] };
        member.enter(over, &journals)?;
        let (alive, end) = channel();
        member._alive = alive;
        keep_beating(member.heart.clone(), end);
        Ok(member)
    }

    /// The first beat, and the end of what was over.
    fn enter(
        &mut self,
        over: &[Machine],
        journals: &BTreeMap<String, String>,
    ) -> Result<(), Failure> {
        let claims = if over.is_empty() { Vec::new() } else { claims(&self.server)? };
        loop {
            let mut heart = lock(&self.heart);
            let own = heart.next()?;
            let mut updates = vec![own.clone()];
            let is_other = |machine: &&Machine| machine.name != self.name;
            let old = over.iter().filter(is_other);
            let told = over.iter().filter(is_other).filter_map(|machine| {
                Some((JOURNALS, &machine.name, journals.get(&machine.name)?))
            });
            let old = old.map(|machine| (MACHINES, &machine.name, &machine.commit)).chain(told);
            let old = old.chain(claims.iter().map(|claim| (CLAIMS, &claim.name, &claim.commit)));
            updates.extend(old.map(|(kind, name, commit)| Update {
                name: self.server.name(kind, name),
                old: Some(commit.clone()),
                new: None,
            }));
            let became = self.server.push(&updates)?;
            let Some(first) = became.first() else { return Ok(()) };
            heart.pushed(own, first);
            match first {
                Pushed::Done => return Ok(()),
                Pushed::Lost(_) => {}
                Pushed::Refused(_) if !self.server.takes_only_branches() => {
                    heart.server = self.server.with_branches_only();
                    self.server = heart.server.clone();
                }
                Pushed::Refused(why) => {
                    let remote = &self.server.remote;
                    return Err(Failure::because(format!(
                        "{remote} takes no refs of a fleet, neither below refs/ralph/ nor as \
                         branches below ralph-fleet/: {why}"
                    )));
                }
            }
        }
    }

    /// Looks at the server.
    pub(crate) fn look(&mut self) -> Result<(), Failure> {
        self.server.look()?;
        fault::point("fleet.looked");
        let since = self.looked.replace(Instant::now()).map_or(Duration::ZERO, |at| at.elapsed());
        self.machines = machines(&self.server)?;
        self.claims = claims(&self.server)?;
        let us = self.name.clone();
        // Those of ours from before a crash as well.
        let ours = self.claims.iter().filter(|claim| claim.machine == us);
        let ours = ours.map(|one| (self.server.name(CLAIMS, &one.name), one.commit.clone()));
        self.held = ours.collect();
        if self.has_turn() && !self.is_next {
            // From before a crash: what it was for has landed, or is begun anew.
            self.give_turn()?;
        }
        let others = self.machines.iter().filter(|machine| machine.name != us);
        let others = others.filter(|machine| machine.is_at_work());
        let seen = others.map(|one| (one.name.as_str(), one.commit.as_str(), one.lease()));
        self.gone = self.watch.look(seen, since);
        self.say_who_is_gone()
    }

    /// One machine says so for all: the first by name that is at work.
    fn say_who_is_gone(&self) -> Result<(), Failure> {
        let first = self.machines.iter().map(|machine| &machine.name).find(|name| self.sees(name));
        if first != Some(&self.name) || self.gone.is_empty() {
            return Ok(());
        }
        let gone = self.machines.iter().filter(|machine| self.gone.contains(&machine.name));
        let updates: Result<Vec<Update>, _> = gone.map(|one| one.gone(&self.server)).collect();
        self.server.push(&updates?).map(drop)
    }

    /// Whether a machine is at work, as far as we can see.
    fn sees(&self, name: &str) -> bool {
        let found = self.machines.iter().find(|machine| machine.name == name);
        name == self.name || found.is_some_and(Machine::is_at_work) && !self.gone.contains(name)
    }

    /// The other machines of this run, those that have ended too.
    pub(crate) fn others(&self) -> impl Iterator<Item = &Machine> {
        self.machines.iter().filter(|machine| machine.name != self.name)
    }

    /// How many machines are at work, this one too.
    pub(crate) fn at_work(&self) -> usize {
        1 + self.others().filter(|machine| self.sees(&machine.name)).count()
    }

    /// The stories that others work on, and which machine has each.
    pub(crate) fn taken(&self) -> BTreeMap<String, String> {
        let is_theirs = |claim: &&Claim| {
            claim.name != TURN && claim.machine != self.name && self.sees(&claim.machine)
        };
        let theirs = self.claims.iter().filter(is_theirs);
        theirs.map(|claim| (claim.story.clone(), claim.machine.clone())).collect()
    }

    /// Which of so many stories that are ready is for this machine.
    pub(crate) fn pick(&mut self, ready: usize) -> usize {
        self.turn += 1;
        pick(&self.name, self.turn, ready, self.at_work())
    }

    /// Claims a story, and gives up what we had claimed before; what this machine has done is told
    /// with it.
    pub(crate) fn claim(&mut self, story: &str) -> Result<Claimed, Failure> {
        let Some(claim) = self.claim_of(&saved::folder_of(story), story)? else {
            return Ok(Claimed::Lost);
        };
        self.held.remove(&claim.name);
        let mut updates = vec![claim.clone()];
        updates.extend(self.releases());
        let became = self.push_with_beat(updates)?;
        self.held.clear();
        if !self.holds(claim, &became) {
            return Ok(Claimed::Lost);
        }
        // What landed until our claim was there is known from here on.
        self.server.look_at_story(story)?;
        Ok(Claimed::Ours)
    }

    /// The other machine that has claimed a story, whether or not it is still at work.
    pub(crate) fn claimed_by(&self, story: &str) -> Option<String> {
        let theirs = |claim: &&Claim| claim.story == story && claim.machine != self.name;
        let claims = self.claims.iter().filter(|claim| claim.name != TURN);
        claims.into_iter().find(theirs).map(|claim| claim.machine.clone())
    }

    /// Our claim, in the place of what is there; none if it is another machine's.
    fn claim_of(&self, id: &str, story: &str) -> Result<Option<Update>, Failure> {
        let known = self.claims.iter().find(|claim| claim.name == id);
        let known = known.map(|claim| (claim.commit.as_str(), claim.machine.as_str()));
        let old = match claiming(known, &self.name, |machine| self.sees(machine)) {
            Claiming::Taken => return Ok(None),
            Claiming::Ours => known.map(|(commit, _)| commit.to_owned()),
            Claiming::Free(old) => old,
        };
        let (machine, story) = (self.name.clone(), story.to_owned());
        let claim = Claim { machine, story, ..Claim::default() };
        let new = Some(self.server.commit(&serde_json::to_string(&claim)?, &[])?);
        Ok(Some(Update { name: self.server.name(CLAIMS, id), old, new }))
    }

    /// Whether a claim is ours now, which was the first of what was pushed.
    fn holds(&mut self, claim: Update, became: &[Pushed]) -> bool {
        let is_ours = became.first() == Some(&Pushed::Done);
        if let (Some(new), true) = (claim.new, is_ours) {
            self.held.insert(claim.name, new);
        }
        is_ours
    }

    /// Whether another machine asked that nobody lands before it.
    pub(crate) fn waits_its_turn(&self) -> bool {
        let turn = self.claims.iter().find(|claim| claim.name == TURN);
        turn.is_some_and(|turn| turn.machine != self.name && self.sees(&turn.machine))
    }

    /// Whether we asked for that.
    pub(crate) fn has_turn(&self) -> bool {
        self.held.contains_key(&self.server.name(CLAIMS, TURN))
    }

    /// Asks that nobody lands before us.
    pub(crate) fn take_turn(&mut self, story: &str) -> Result<Claimed, Failure> {
        let Some(claim) = self.claim_of(TURN, story)? else { return Ok(Claimed::Lost) };
        let became = self.server.push(std::slice::from_ref(&claim))?;
        self.is_next = self.holds(claim, &became);
        Ok(if self.is_next { Claimed::Ours } else { Claimed::Lost })
    }

    /// Others may land again.
    pub(crate) fn give_turn(&mut self) -> Result<(), Failure> {
        self.is_next = false;
        let name = self.server.name(CLAIMS, TURN);
        let Some(old) = self.held.remove(&name) else { return Ok(()) };
        self.server.push(&[Update { name, old: Some(old), new: None }]).map(drop)
    }

    fn releases(&self) -> Vec<Update> {
        let one = |(name, commit): (&String, &String)| Update {
            name: name.clone(),
            old: Some(commit.clone()),
            new: None,
        };
        self.held.iter().map(one).collect()
    }

    /// Gives a kept attempt to the server, under the first number that is free there.
    pub(crate) fn keep_attempt(&self, name: &str) -> Result<(), Failure> {
        let Some(commit) = resolve(self.server.git(), name)? else { return Ok(()) };
        let Some((folder, number)) = name.trim_start_matches(saved::REFS).rsplit_once('/') else {
            return Ok(());
        };
        let number: u64 = number.parse().unwrap_or(1);
        for number in number..number + 100 {
            let name = self.server.name("attempts", &format!("{folder}/{number}"));
            let update = Update { name, old: None, new: Some(commit.clone()) };
            match self.server.push(&[update])?.as_slice() {
                [Pushed::Lost(Some(_))] => {}
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    /// How long to wait before the next look, while there is nothing to do.
    pub(crate) fn pause(&self) -> Duration {
        pause_of_idle(self.lease, self.machines.len())
    }

    /// The same for a machine that waits to land.
    pub(crate) fn turn_pause(&self) -> Duration {
        pause_to_land(self.machines.len())
    }

    /// What those that have left, this one too, wrote into the progress and can commit no more.
    pub(crate) fn left_progress(&self) -> Vec<Vec<u8>> {
        let has_left = |one: &&Machine| !one.is_at_work() || self.gone.contains(&one.name);
        let left = self.machines.iter().filter(has_left);
        left.map(|machine| machine.pending(&self.server)).filter(|text| !text.is_empty()).collect()
    }

    /// Whether nobody else is at work.
    pub(crate) fn is_last(&self) -> bool {
        self.at_work() == 1
    }

    /// What the others have tried without success is here as well.
    pub(crate) fn take_attempts(&self) -> Result<(), Failure> {
        self.server.take_attempts()
    }

    /// Tells how this machine stands, and gives up what it had claimed: before it waits for others, who
    /// may wait for that, and when its run has ended.
    pub(crate) fn release(&mut self) -> Result<(), Failure> {
        self.push_with_beat(self.releases())?;
        self.held.clear();
        Ok(())
    }

    /// Whether it has claimed anything.
    pub(crate) fn has_claims(&self) -> bool {
        !self.held.is_empty()
    }

    /// Changes refs on the server, and tells with it what this machine has done.
    fn push_with_beat(&self, mut updates: Vec<Update>) -> Result<Vec<Pushed>, Failure> {
        let mut heart = lock(&self.heart);
        let (journal, beat) = (heart.journal()?, heart.next()?);
        updates.extend([journal.clone(), beat.clone()]);
        let became = self.server.push(&updates)?;
        if let [.., told, last] = became.as_slice() {
            match told {
                Pushed::Done => heart.last_journal = journal.new,
                Pushed::Lost(now) => heart.last_journal.clone_from(now),
                Pushed::Refused(why) => log::warn!("journal: {why}"),
            }
            heart.pushed(beat, last);
        }
        Ok(became)
    }
}
