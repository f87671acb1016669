//! The probe: starts the installed client as a run does, against a model of ours on loopback, and reports which of an
//! agent's promises hold with this version on this machine.
//!
//! | what | where |
//! | --- | --- |
//! | what is played, as data | `plays.toml` |
//! | one play: scratch project, environment, a run of ours | `stage.rs` |
//! | the promises, and what proves them | `promises.rs` |

mod promises;
mod stage;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use camino::Utf8PathBuf;
use client::ClientOptions;
use client::signals::Interrupts;
use ralph_base::env::Env;
use ralph_base::state::{self, fingerprint};
use ralph_project::client::Client;
use ralph_project::config::{Config, Probing, SandboxMode};
use ralph_project::diagnosis::Diagnosis;
use ralph_project::install::HOOK_NAMES;
use serde::{Deserialize, Serialize};

use self::promises::{Found, GUARDED, Plays};
use self::stage::{Asked, Play, Seen};
use crate::exit::Failure;
use crate::terminal::{counted, say};

/// What is played.
const PLAYS: &str = include_str!("plays.toml");

/// What a probe found.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Probe {
    agent: String,
    version: String,
    found: Vec<(String, Found)>,
    /// Whether the client asked the model at all; else nothing is known of it.
    is_known: bool,
    seconds: f64,
}

/// Probes the agent for `doctor --probe`, and prints what was found.
pub(crate) fn doctor(env: &Env, config: &Config, is_markdown: bool) -> Result<ExitCode, Failure> {
    let line = client::completed(&config.agent.command);
    let Some((client, version)) = known(&line)? else {
        let why =
            format!("`{line}` is no agent that the probe knows, or does not answer --version");
        return Err(Failure::because(why));
    };
    let probe = probe(env, config, &client, version)?;
    remember(env, config, &probe);
    let dialect = client.dialect;
    if is_markdown {
        say(probe.row(dialect.lacks));
    } else {
        say(format!("{}, {:.1} s\n", probe.in_words(dialect.lacks), probe.seconds));
        for (name, found) in &probe.found {
            let (mark, text) = match found {
                Found::Held(text) => ("ok     ", text),
                Found::Broken(text) if dialect.lacks.contains(&name.as_str()) => ("no     ", text),
                Found::Broken(text) => ("PROBLEM", text),
                Found::Unknown(text) => ("unknown", text),
            };
            say(format!("{mark}  {name:24} {text}"));
        }
    }
    Ok(if probe.is_well(dialect.lacks) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Probes the agent of a run before its first story, unless this machine has done so; an agent that is not guarded is
/// called so from then on.
pub(crate) fn at_start(env: &Env, config: &Config, options: &mut ClientOptions) -> Vec<Diagnosis> {
    let line = client::completed(&config.agent.command);
    if config.agent.probe == Probing::Off || options.unguarded.is_some() {
        return Vec::new();
    }
    let Ok(Some((client, version))) = known(&line) else { return Vec::new() };
    let earlier = remembered(env, config, &client, &version);
    let probe = earlier.map_or_else(|| probe(env, config, &client, version), Ok);
    let (lacks, is_required) = (client.dialect.lacks, config.agent.probe == Probing::Require);
    let worded =
        |text: String| if is_required { Diagnosis::Problem(text) } else { Diagnosis::Note(text) };
    let probe = match probe {
        Ok(probe) => probe,
        Err(failure) => return vec![worded(format!("the agent was not probed: {failure}"))],
    };
    remember(env, config, &probe);
    let words = probe.in_words(lacks);
    if probe.broken(lacks).any(|(name, _)| GUARDED.contains(&name)) {
        options.unguarded = Some(words.clone());
        return vec![ClientOptions::without_hooks(&words, config)];
    }
    if probe.is_well(lacks) {
        return vec![Diagnosis::Good(words)];
    }
    options.probed = Some(words.clone());
    vec![worded(words)]
}

/// What a probe of this version has found earlier, for `doctor`.
pub(crate) fn found_before(env: &Env, config: &Config) -> Option<Diagnosis> {
    let line = client::completed(&config.agent.command);
    let (client, version) = known(&line).ok()??;
    let lacks = client.dialect.lacks;
    let Some(probe) = remembered(env, config, &client, &version) else {
        let name = client.dialect.name;
        return Some(Diagnosis::Later(format!(
            "{name} {version}, not probed; try `doctor --probe`"
        )));
    };
    let words = probe.in_words(lacks);
    Some(if probe.is_well(lacks) { Diagnosis::Good(words) } else { Diagnosis::Note(words) })
}

/// The client of a command line, and its version.
fn known(line: &str) -> Result<Option<(Client<'_>, String)>, Failure> {
    let Some(client) = Client::find(line) else { return Ok(None) };
    let version = client::version_text(client.program(), &crate::here::folder()?);
    Ok(version.map(|version| (client, version)))
}

/// Our folder in the cache: hooks of some agents do not run in the folder for temporary files.
fn folder(env: &Env) -> Result<Utf8PathBuf, Failure> {
    let why = "neither XDG_CACHE_HOME nor HOME is set, so there is no folder for a probe; set one";
    work_copy::cache::of_user(env).ok_or_else(|| Failure::because(why))
}

/// The file for what was found about a version with these hooks, this command and this sandbox.
fn memory(env: &Env, config: &Config, agent: &str, version: &str) -> Option<Utf8PathBuf> {
    let hooks = client::folder_of_this_program()?;
    let stamp = |name: &&str| {
        let facts = fs_err::metadata(hooks.join(name)).ok()?;
        Some((facts.len(), facts.modified().ok()))
    };
    let stamps: Vec<_> = HOOK_NAMES.iter().chain(&[run_history::LOOP]).map(stamp).collect();
    let all = format!("{version} {stamps:?} {} {:?}", config.agent.command, config.sandbox.mode);
    let name = format!("{agent}-{:016x}.json", fingerprint(all.as_bytes()));
    Some(folder(env).ok()?.join("probes").join(name))
}

fn remembered(env: &Env, config: &Config, client: &Client<'_>, version: &str) -> Option<Probe> {
    let path = memory(env, config, client.dialect.name, version)?;
    serde_json::from_slice(&state::read_if_there(&path).ok()??).ok()
}

/// Without a cache folder, or if the client never asked the model, the next run probes again.
fn remember(env: &Env, config: &Config, probe: &Probe) {
    if !probe.is_known {
        return;
    }
    let Some(path) = memory(env, config, &probe.agent, &probe.version) else { return };
    if let (Some(folder), Ok(text)) = (path.parent(), serde_json::to_vec(probe)) {
        let _ = fs_err::create_dir_all(folder).and_then(|()| state::replace(&path, &text));
    }
}

/// Plays everything at the same time.
fn probe(
    env: &Env,
    config: &Config,
    client: &Client<'_>,
    version: String,
) -> Result<Probe, Failure> {
    let begun = Instant::now();
    let folder = folder(env)?.join(format!("probe-{}", std::process::id()));
    let interrupts = Interrupts::listen()?;
    let sandbox = match config.sandbox.mode {
        SandboxMode::Auto => "auto",
        SandboxMode::Require => "require",
        SandboxMode::Off => "off",
    };
    let line = &config.agent.command;
    let stop = || interrupts.signal().is_some();
    let asked = Asked { env, agent: client.dialect.name, line, sandbox, stop: &stop };
    let plays: BTreeMap<String, Play> =
        toml::from_str(PLAYS).map_err(|error| Failure::because(error.to_string()))?;
    let played = std::thread::scope(|scope| {
        let start = |(name, play): (&String, &Play)| {
            let (asked, folder) = (&asked, folder.join(name));
            (
                name.clone(),
                scope.spawn({
                    let play = play.clone();
                    move || stage::play(asked, &folder, &play)
                }),
            )
        };
        let threads: Vec<_> = plays.iter().map(start).collect();
        let join = |(name, thread): (String, std::thread::ScopedJoinHandle<'_, _>)| {
            let seen = thread.join().unwrap_or_else(|_| Err(Failure::because("a play failed")));
            seen.map(|seen| (name, seen))
        };
        threads.into_iter().map(join).collect::<Result<BTreeMap<String, Seen>, Failure>>()
    });
    work_copy::remove_all(folder.as_std_path())?;
    let mut played = played?;
    let mut take = |name: &str| played.remove(name).unwrap_or_default();
    let plays = Plays {
        work: take("work"),
        limit: take("limit"),
        key: take("key"),
        is_sandboxed: sandbox != "off" && sandbox::support().is_enough(),
        is_held_by_resuming: client.dialect.own_event("Stop").is_none() && !client.is_claude(),
    };
    let found =
        promises::ALL.iter().map(|promise| (promise.name.to_owned(), (promise.find)(&plays)));
    Ok(Probe {
        agent: client.dialect.name.to_owned(),
        version,
        found: found.collect(),
        is_known: !plays.work.turns.is_empty(),
        seconds: begun.elapsed().as_secs_f64(),
    })
}

impl Probe {
    /// What does not hold, beside what the agent is known to lack.
    fn broken(&self, lacks: &'static [&'static str]) -> impl Iterator<Item = (&str, &str)> {
        self.found.iter().filter_map(move |(name, found)| match found {
            Found::Broken(why) if !lacks.contains(&name.as_str()) => {
                Some((name.as_str(), why.as_str()))
            }
            _ => None,
        })
    }

    fn is_well(&self, lacks: &'static [&'static str]) -> bool {
        self.is_known && self.broken(lacks).next().is_none()
    }

    fn in_words(&self, lacks: &'static [&'static str]) -> String {
        let (agent, number) = (&self.agent, self.number());
        let broken: Vec<String> =
            self.broken(lacks).map(|(name, why)| format!("{name} ({why})")).collect();
        let held = self.found.iter().filter(|(_, found)| matches!(found, Found::Held(_))).count();
        match broken.as_slice() {
            _ if !self.is_known => {
                format!("{agent} {number}, not probed: it did not ask the model")
            }
            [] => {
                format!("{agent} {number}, probed: {} hold", counted(held, "promise", "promises"))
            }
            _ => format!(
                "{agent} {number}, probed: these promises do not hold: {}",
                broken.join(", ")
            ),
        }
    }

    /// The number of the version, which some clients print between other words.
    fn number(&self) -> &str {
        let words = self.version.split_whitespace().map(|word| word.trim_matches(['v', '.', ',']));
        words
            .into_iter()
            .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
            .unwrap_or(&self.version)
    }

    /// A table like that in docs/agents.md.
    fn row(&self, lacks: &[&str]) -> String {
        let cell = |(name, found): &(String, Found)| match found {
            Found::Held(_) => "yes",
            Found::Broken(_) if lacks.contains(&name.as_str()) => "no",
            Found::Broken(_) => "**no**",
            Found::Unknown(_) => "–",
        };
        let cells: Vec<&str> = self.found.iter().map(cell).collect();
        let names: Vec<&str> = self.found.iter().map(|(name, _)| name.as_str()).collect();
        let head = format!("||{}|\n|---|{}", names.join("|"), "---|".repeat(names.len()));
        format!("{head}\n|{} {}|{}|", self.agent, self.number(), cells.join("|"))
    }
}
