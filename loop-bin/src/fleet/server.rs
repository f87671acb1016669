//! The only door to the server of a fleet: what it has is fetched, and refs are changed there by
//! compare-and-swap. A network that drops is waited for, within bounds.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ralph_base::env::Env;
use ralph_base::fault;
use ralph_core::git::{Git, GitError, Patience};

use crate::exit::Failure;
use crate::landing::{commit_tree, forget, is_ancestor, resolve};
use crate::saved;
use crate::signals::Interrupts;
use crate::terminal::{Warner, in_words, printable};

/// What servers had when they were last looked at, in a folder for each branch.
const MIRROR: &str = "refs/ralph/fleet/";

/// The targets among it.
pub(crate) const TARGETS: &str = "refs/ralph/fleet/*/target";

/// Where the refs of fleets are on a server, in a folder for each branch; the second one where it takes
/// nothing but branches.
const SPACES: [&str; 2] = ["refs/ralph/fleet/", "refs/heads/ralph-fleet/"];

/// How long a server that cannot be reached is waited for.
const PATIENCE: Duration = Duration::from_secs(30 * 60);

/// The first and the longest pause between two tries.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(20)];

/// What is over soon is not told.
const SOON: Duration = Duration::from_secs(3);

/// How long a connection may stand still.
const STANDSTILL: Duration = Duration::from_secs(60);

/// The same for a heartbeat, which is followed by another.
const HURRY: Duration = Duration::from_secs(10);

/// How often a ref is tried again that the server refuses, and when: another push may have been about to
/// change it.
const MOST_REFUSALS: u32 = 3;
const REFUSAL_PAUSE: Duration = Duration::from_millis(300);

const NEVER_ASKS: &str = "ssh -o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=10";

/// Forgets what the server had when it was last looked at.
pub(crate) fn forget_server(git: &Git) -> Result<(), GitError> {
    forget(git, MIRROR)
}

/// The folder of a branch among others.
fn folder_of(branch: &str) -> String {
    branch.replace('%', "%25").replace('/', "%2F")
}

/// The end of a fleet's branch, as the server had it when it was last looked at.
pub(crate) fn target_of(branch: &str) -> String {
    format!("{MIRROR}{}/target", folder_of(branch))
}

/// A change of one ref on the server, if that is still what we take it for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Update {
    pub(crate) name: String,
    pub(crate) old: Option<String>,
    pub(crate) new: Option<String>,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pushed {
    Done,
    /// Somebody else has changed it to this.
    Lost(Option<String>),
    /// The server does not take it, for this reason.
    Refused(String),
}

/// A git server, and the branch on it on which a fleet lands its work.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    git: Git,
    pub(crate) remote: String,
    pub(crate) branch: String,
    space: &'static str,
    interrupts: Interrupts,
    warner: Warner,
    patience: Duration,
}

impl Server {
    /// The one that git calls so in this repository: a remote, or an address. It is tried once only,
    /// until [`Server::patient`] says otherwise.
    pub(crate) fn new(env: &Env, git: &Git, remote: &str, branch: &str) -> Self {
        let asks = ["GIT_SSH", "GIT_SSH_COMMAND"].iter().any(|name| env.get(name).is_some());
        let is_set = git.run(&["config", "--get", "core.sshCommand"]).is_ok();
        let git = git.with_patience(Patience { idle: STANDSTILL, ..Patience::default() });
        let git = if asks || is_set { git } else { git.with_var("GIT_SSH_COMMAND", NEVER_ASKS) };
        Self {
            git,
            remote: remote.to_owned(),
            branch: branch.to_owned(),
            space: SPACES[0],
            interrupts: Interrupts::default(),
            warner: Warner::default(),
            patience: Duration::ZERO,
        }
    }

    /// The same, which waits for a server that cannot be reached until it is asked to end.
    pub(crate) fn patient(&self, interrupts: &Interrupts, warner: Warner) -> Self {
        Self { interrupts: interrupts.clone(), warner, patience: PATIENCE, ..self.clone() }
    }

    /// The same, which tries once, and not for long.
    pub(super) fn hurried(&self) -> Self {
        let patience = Patience { idle: HURRY, ..Patience::default() };
        Self { git: self.git.with_patience(patience), patience: Duration::ZERO, ..self.clone() }
    }

    /// The same for a server that takes nothing but branches.
    pub(crate) fn with_branches_only(&self) -> Self {
        Self { space: SPACES[1], ..self.clone() }
    }

    pub(crate) fn takes_only_branches(&self) -> bool {
        self.space == SPACES[1]
    }

    /// The repository in which its state is mirrored.
    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    /// The name of one of the fleet's own refs there.
    pub(crate) fn name(&self, kind: &str, name: &str) -> String {
        format!("{}{}/{kind}/{name}", self.space, folder_of(&self.branch))
    }

    /// Looks at the target, the machines and the claims.
    pub(crate) fn look(&self) -> Result<(), Failure> {
        self.fetch(&["machines/", "claims/"], "--prune")
    }

    /// Looks at what the machines have noted, which can be long.
    pub(crate) fn look_at_journals(&self) -> Result<(), Failure> {
        self.fetch(&["journals/"], "--prune")
    }

    /// Looks at the target, and takes the attempts at a story that other machines have kept.
    pub(crate) fn look_at_story(&self, story: &str) -> Result<(), Failure> {
        self.take(&format!("attempts/{}/", saved::folder_of(story)))
    }

    /// The same for all stories.
    pub(crate) fn take_attempts(&self) -> Result<(), Failure> {
        self.take("attempts/")
    }

    /// What we do not have of that kind, under the name that it has there; ours stays, but for what a
    /// person has asked for since, which comes after all of it.
    fn take(&self, kind: &str) -> Result<(), Failure> {
        let (own, mirror) = (format!("refs/ralph/{kind}"), format!("{}{kind}", self.mirror()));
        self.fetch(&[kind], "--no-prune")?;
        let format = "--format=%(refname) %(objectname)";
        let listed = self.git.line(&["for-each-ref", format, &mirror])?;
        for (name, commit) in listed.lines().filter_map(|line| line.split_once(' ')) {
            let local = format!("{own}{}", name.trim_start_matches(&mirror));
            let is_free = match resolve(&self.git, &local)? {
                None => true,
                Some(ours) => ours != commit && saved::move_wish(&self.git, &local)?,
            };
            if is_free {
                self.git.run(&["update-ref", &local, commit, ""])?;
            }
        }
        Ok(())
    }

    /// The folder in which it is mirrored.
    fn mirror(&self) -> String {
        format!("{MIRROR}{}/", folder_of(&self.branch))
    }

    /// What was last seen of one of the fleet's own refs.
    pub(super) fn mirror_of(&self, kind: &str, name: &str) -> String {
        format!("{}{kind}/{name}", self.mirror())
    }

    /// The target, and what the server has of these kinds.
    fn fetch(&self, kinds: &[&str], prune: &str) -> Result<(), Failure> {
        let (folder, mirror) = (folder_of(&self.branch), self.mirror());
        let mut wanted = vec![format!("+refs/heads/{}:{mirror}target", self.branch)];
        for kind in kinds {
            wanted.extend(SPACES.map(|space| format!("+{space}{folder}/{kind}*:{mirror}{kind}*")));
        }
        let options = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", prune];
        let args: Vec<&str> = self.words(&options).into_iter().collect();
        let mut args = [args, vec![self.remote.as_str()]].concat();
        args.extend(wanted.iter().map(String::as_str));
        self.patiently(|| match self.git.run(&args) {
            Err(GitError::Failed { stderr, .. }) if stderr.contains("couldn't find remote ref") => {
                Ok(Err(Failure::because(self.lacks_branch())))
            }
            other => other.map(|_| Ok(())),
        })?
    }

    fn lacks_branch(&self) -> String {
        let Self { remote, branch, .. } = self;
        format!("{remote} has no branch {branch}; push it with `git push {remote} {branch}`")
    }

    /// A slow server is waited for, one that stands still is not.
    fn words<'a>(&self, command: &[&'a str]) -> Vec<&'a str> {
        let settings = ["-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=30"];
        [&settings[..], &["-c", "maintenance.auto=false", "-c", "gc.auto=0"], command].concat()
    }

    /// What the mirror has of one kind: the last part of each name, its commit and its text.
    pub(crate) fn mirrored(&self, kind: &str) -> Result<Vec<(String, String, String)>, GitError> {
        let folder = format!("{}{kind}/", self.mirror());
        let format = "--format=%(refname)%00%(objectname)%00%(contents)%00";
        let listed = self.git.run(&["for-each-ref", format, &folder])?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let fields: Vec<&str> =
            listed.split('\0').map(|field| field.trim_start_matches('\n')).collect();
        let one = |fields: &[&str]| match fields {
            [name, commit, text] => {
                let name = name.strip_prefix(folder.as_str())?;
                Some((name.to_owned(), (*commit).to_owned(), (*text).to_owned()))
            }
            _ => None,
        };
        Ok(fields.chunks(3).filter_map(one).collect())
    }

    /// The commit of the target, as it was last seen.
    pub(crate) fn tip(&self) -> Result<Option<String>, GitError> {
        resolve(&self.git, &target_of(&self.branch))
    }

    /// Whether the target had a commit of ours when it was last seen.
    pub(crate) fn has(&self, commit: &str) -> Result<bool, GitError> {
        match self.tip()? {
            Some(tip) => is_ancestor(&self.git, commit, &tip),
            None => Ok(false),
        }
    }

    /// A commit that says something and holds these files.
    pub(crate) fn commit(&self, text: &str, files: &[(&str, Vec<u8>)]) -> Result<String, GitError> {
        self.commit_after(None, text, files)
    }

    /// The same after another one: then only what differs from that is pushed.
    pub(crate) fn commit_after(
        &self,
        last: Option<&str>,
        text: &str,
        files: &[(&str, Vec<u8>)],
    ) -> Result<String, GitError> {
        let mut listed = String::new();
        for (name, content) in files {
            let blob = self.git.feed(&["hash-object", "-w", "--stdin"], content)?;
            let blob = String::from_utf8_lossy(&blob).trim().to_owned();
            listed.push_str(&format!("100644 blob {blob}\t{name}\n"));
        }
        let tree = self.git.feed(&["mktree"], listed.as_bytes())?;
        commit_tree(&self.git, String::from_utf8_lossy(&tree).trim(), last.as_slice(), text)
    }

    /// Changes refs on the server, each by itself. What became of a push that did not get through is not
    /// guessed: the server is asked.
    pub(crate) fn push(&self, updates: &[Update]) -> Result<Vec<Pushed>, Failure> {
        let leases = updates.iter().map(|update| {
            let old = update.old.as_deref().unwrap_or_default();
            format!("--force-with-lease={}:{old}", update.name)
        });
        let changes = updates
            .iter()
            .map(|update| format!("{}:{}", update.new.as_deref().unwrap_or_default(), update.name));
        let (leases, changes): (Vec<String>, Vec<String>) = (leases.collect(), changes.collect());
        let mut args = self.words(&["push", "--quiet", "--no-verify"]);
        args.extend(leases.iter().map(String::as_str));
        args.push(&self.remote);
        args.extend(changes.iter().map(String::as_str));
        self.patiently(|| {
            let mut refusals = 0;
            loop {
                fault::point("fleet.push");
                let failed = match self.git.run(&args) {
                    Ok(_) => {
                        fault::point("fleet.pushed");
                        return Ok(vec![Pushed::Done; updates.len()]);
                    }
                    Err(error) => error,
                };
                let became = became(updates, &self.list(updates)?, &failed);
                let is_refused = became.iter().any(|one| matches!(one, Pushed::Refused(_)));
                if !is_refused || refusals == MOST_REFUSALS {
                    return Ok(became);
                }
                if !matches!(&failed, GitError::Failed { stderr, .. } if stderr.contains("rejected]"))
                {
                    return Err(failed);
                }
                refusals += 1;
                std::thread::sleep(REFUSAL_PAUSE);
            }
        })
    }

    /// What the server has at these names.
    fn list(&self, updates: &[Update]) -> Result<BTreeMap<String, String>, GitError> {
        let mut args = self.words(&["ls-remote", "--quiet", "--refs"]);
        args.push(&self.remote);
        args.extend(updates.iter().map(|update| update.name.as_str()));
        let listed = self.git.line(&args)?;
        let entries = listed.lines().filter_map(|line| line.split_once('\t'));
        Ok(entries.map(|(commit, name)| (name.to_owned(), commit.to_owned())).collect())
    }

    /// Tries again for as long as the server cannot be reached, within bounds.
    fn patiently<T>(&self, mut run: impl FnMut() -> Result<T, GitError>) -> Result<T, Failure> {
        let (begun, [mut pause, longest]) = (Instant::now(), PAUSES);
        let mut is_told = self.patience.is_zero();
        loop {
            let failed = match run() {
                Ok(done) => {
                    if is_told && !self.patience.is_zero() {
                        self.warner.warn(&format!("{} can be reached again", self.remote));
                    }
                    return Ok(done);
                }
                Err(error) => error,
            };
            log::info!("{}: {failed}", self.remote);
            if pause > SOON && !std::mem::replace(&mut is_told, true) {
                let (remote, long) = (&self.remote, in_words(self.patience));
                self.warner.warn(&format!("{remote} cannot be reached; trying again for {long}"));
            }
            if begun.elapsed() >= self.patience || self.interrupts.wait(pause).is_some() {
                let remote = &self.remote;
                return Err(Failure::because(format!(
                    "{remote} cannot be reached: {}; `git ls-remote {remote}` must work without \
                     asking for a password",
                    in_its_words(&failed)
                )));
            }
            pause = (pause * 2).min(longest);
        }
    }
}

/// What git or the server said, without the command, which nobody has typed.
fn in_its_words(failed: &GitError) -> String {
    let GitError::Failed { stderr, .. } = failed else { return failed.to_string() };
    let said = |line: &str| {
        let words = line.strip_prefix("fatal:").or(line.strip_prefix("remote:"))?.trim().to_owned();
        Some(words).filter(|words| !words.is_empty())
    };
    let said: Vec<String> = stderr.lines().filter_map(said).collect();
    printable(if said.is_empty() { stderr.clone() } else { said.join(" ") }.trim_end_matches('.'))
}

/// What became of each change, by what the server has now.
fn became(updates: &[Update], now: &BTreeMap<String, String>, failed: &GitError) -> Vec<Pushed> {
    let one = |update: &Update| match now.get(&update.name) {
        now if now == update.new.as_ref() => Pushed::Done,
        now if now != update.old.as_ref() => Pushed::Lost(now.cloned()),
        _ => Pushed::Refused(in_its_words(failed)),
    };
    updates.iter().map(one).collect()
}
