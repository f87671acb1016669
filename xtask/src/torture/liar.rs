//! Agents that pretend: stories done honestly in several languages land without remarks, and none that is only
//! pretended is called proven or checked. Then the same for proofs: clean new tests prove their story, hollow
//! ones none. What is played is in `xtask/liar/stories.toml`.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use serde_json::Value;
use test_support::{Scratch, TestRepo, program};

use crate::run;

/// The language of the smoke set: every developer's machine has it, and it needs no build.
const SMOKE: &str = "python";

/// How many pretences of each language the smoke set plays.
const SMOKE_LIARS: usize = 6;

/// How many honest stories of the whole campaign may get a remark.
const MOST_REMARKS: usize = 2;

/// How many of forty clean stories must be proven.
const LEAST_PROVEN: usize = 34;

/// Parts that every language has.
const EVERYWHERE: [(&str, &str); 2] = [
    ("readme", "printf '# Calc\\n\\nIt counts.\\n' >README.md"),
    ("editor", "printf 'root = true\\n' >.editorconfig"),
];

#[derive(Deserialize)]
struct Stories {
    case: Vec<Case>,
    language: Vec<Language>,
    functions: BTreeMap<String, [String; 2]>,
    proof: Vec<Proof>,
}

/// A story, and the parts that its agent does.
#[derive(Deserialize)]
struct Case {
    story: String,
    #[serde(default)]
    honest: Vec<String>,
    #[serde(default)]
    liar: Vec<String>,
}

#[derive(Deserialize)]
struct Language {
    name: String,
    check: String,
    base: String,
    parts: BTreeMap<String, String>,
}

/// How a language writes modules and tests.
#[derive(Deserialize)]
struct Proof {
    name: String,
    check: String,
    base: String,
    /// Whether the check is no runner that is known by name.
    #[serde(default)]
    counts: bool,
    module: [String; 2],
    test: [String; 2],
    #[serde(default)]
    also: String,
    bodies: BTreeMap<String, [String; 2]>,
    clean: String,
    hollow: Vec<String>,
}

/// A project, and what its agent does for each story.
struct Play {
    check: String,
    base: String,
    counts: bool,
    stories: Vec<(String, String)>,
}

/// Plays all of it, or a minute's worth, or what has a text in its language or kind.
pub(super) fn run(binaries: &Utf8Path, is_smoke: bool, only: Option<&str>) -> Result<()> {
    let stories = fs_err::read_to_string(run::root().join("xtask/liar/stories.toml"))?;
    let stories: Stories = toml::from_str(&stories)?;
    let tools = Tools::find(is_smoke)?;
    let is_wanted = |name: &str, kind: &str| {
        (!is_smoke || name == SMOKE)
            && only.is_none_or(|only| format!("{name} {kind}").contains(only))
    };
    let (started, mut tally) = (Instant::now(), Tally::default());
    for language in &stories.language {
        let has = |parts: &[String]| {
            !parts.is_empty() && parts.iter().all(|part| language.part(part).is_some())
        };
        let play = |cases: &[&Case]| Play {
            check: language.check.clone(),
            base: language.base.clone(),
            counts: false,
            stories: cases.iter().map(|case| (case.story.clone(), language.act(case))).collect(),
        };
        if is_wanted(&language.name, "honest") {
            let cases: Vec<&Case> = stories.case.iter().filter(|case| has(&case.honest)).collect();
            let states = play(&cases).run(binaries, &tools)?;
            for (case, state) in cases.iter().zip(states) {
                tally.honest(&language.name, &case.story, &state);
            }
        }
        let liars = stories.case.iter().filter(|case| has(&case.liar));
        let most = if is_smoke { SMOKE_LIARS } else { usize::MAX };
        for case in liars.take(most).filter(|_| is_wanted(&language.name, "liar")) {
            let states = play(&[case]).run(binaries, &tools)?;
            tally.liar(&language.name, &case.story, &states.concat());
        }
    }
    let took_so_far = started.elapsed();
    for proof in &stories.proof {
        for (kind, is_clean) in [("clean", true), ("hollow", false)] {
            if !is_wanted(&proof.name, kind) {
                continue;
            }
            let states = proof.play(&stories.functions, is_clean).run(binaries, &tools)?;
            tally.proofs(&proof.name, is_clean, &states);
        }
    }
    println!(
        "{} s for the stories, {} s for the proofs",
        took_so_far.as_secs(),
        (started.elapsed() - took_so_far).as_secs()
    );
    tally.judge()
}

impl Language {
    fn part(&self, name: &str) -> Option<&str> {
        let shared = EVERYWHERE.iter().find(|(part, _)| *part == name).map(|(_, script)| *script);
        self.parts.get(name).map(String::as_str).or(shared)
    }

    /// The script of an agent that does the story.
    fn act(&self, case: &Case) -> String {
        let parts = case.honest.iter().chain(&case.liar).filter_map(|part| self.part(part));
        parts.map(|part| format!("{part}\n")).collect()
    }
}

impl Proof {
    fn play(&self, functions: &BTreeMap<String, [String; 2]>, is_clean: bool) -> Play {
        let story = |(nth, (name, [args, want])): (usize, (&String, &[String; 2]))| {
            let [params, body] = self.bodies.get(name).cloned().unwrap_or_default();
            let filled = |text: &str| {
                let text = text.replace("{params}", &params).replace("{body}", &body);
                text.replace("{name}", name).replace("{args}", args).replace("{want}", want)
            };
            let asserts = if is_clean { Some(&self.clean) } else { self.hollow.get(nth) };
            let asserts = asserts.cloned().unwrap_or_default();
            let file = |[path, text]: &[String; 2]| {
                let text = filled(&text.replace("{asserts}", &asserts));
                format!("cat >{} <<'END'\n{text}END\n", filled(path))
            };
            let act = format!("{}{}{}\n", file(&self.module), file(&self.test), filled(&self.also));
            (format!("Write {name}"), act)
        };
        Play {
            check: self.check.clone(),
            base: self.base.clone(),
            counts: self.counts,
            stories: functions.iter().enumerate().map(story).collect(),
        }
    }
}

/// Where the tools of the languages keep what they need, which a scratch home folder lacks.
struct Tools {
    folder: Utf8PathBuf,
    home: String,
}

impl Tools {
    fn find(is_smoke: bool) -> Result<Self> {
        let folder = run::root().join("target/liar");
        fs_err::create_dir_all(folder.join("go"))?;
        let tools = Self { folder, home: std::env::var("HOME").unwrap_or_default() };
        if !is_smoke && !tools.tsc().exists() {
            let mut npm = Command::new("npm");
            npm.args(["install", "--silent", "--prefix", tools.folder.as_str(), "typescript@5"]);
            run::run(&mut npm)?;
        }
        Ok(tools)
    }

    fn tsc(&self) -> Utf8PathBuf {
        self.folder.join("node_modules/.bin/tsc")
    }

    fn give(&self, command: &mut Command) {
        let kept = |name: &str, folder: &str| {
            std::env::var(name).unwrap_or_else(|_| format!("{}/{folder}", self.home))
        };
        command
            .env("RUSTUP_HOME", kept("RUSTUP_HOME", ".rustup"))
            .env("CARGO_HOME", kept("CARGO_HOME", ".cargo"))
            .env("GOCACHE", self.folder.join("go"))
            .env("TSC", self.tsc())
            .env("JUNIT", "/usr/share/java/junit4.jar:/usr/share/java/hamcrest-core.jar")
            .env("RALPH_SANDBOX_WRITE", self.folder.join("go"));
    }
}

impl Play {
    /// Plays it, and returns the state of each story; empty for one that did not land.
    fn run(&self, binaries: &Utf8Path, tools: &Tools) -> Result<Vec<String>> {
        let (repo, acts) = (TestRepo::new(), Scratch::new());
        let home = repo.scratch().path("home");
        let ours = |name: &str| {
            let mut command = program(name, &home);
            command.current_dir(repo.root());
            tools.give(&mut command);
            command.env("GIT_CONFIG_NOSYSTEM", "1").env("ACTS", acts.root());
            command.env("RALPH_AGENT", "sh -c 'sh -e \"$ACTS/$(cat \"$RALPH_STORY_FILE\")\"'");
            command
        };
        repo.git(["config", "user.name", "Test"]);
        repo.git(["config", "user.email", "test@localhost"]);
        // The scratch repository has a file of its own.
        let made = ours("sh").args(["-ec", &format!("rm -rf src\n{}", self.base)]).status()?;
        ensure!(made.success(), "the project of `{}` could not be made", self.check);
        let mut config = format!(
            "[verify]\ncommands = [{:?}]\nprove_time = 120\n[limits]\nattempts_per_story = 2\nstalled_after = 0\n",
            self.check
        );
        if self.counts {
            config.push_str(&format!("[tests]\ncommands = [{:?}]\n", self.check));
        }
        let id = |nth: usize| format!("US-{:03}", nth + 1);
        let mut plan = String::new();
        for (nth, (story, act)) in self.stories.iter().enumerate() {
            let named = story.replace("`double.py`, which never comes", "`double.py`");
            let title = story.split(": ").next().unwrap_or(story);
            let title = if named.contains('`') { &named } else { title };
            plan.push_str(&format!("- [ ] {}: {title}\n", id(nth)));
            fs_err::write(acts.path(&id(nth)), act)?;
        }
        repo.write(".ralph/config.toml", config);
        repo.write(".ralph/PRD-1/plan.md", plan);
        repo.commit_all("a project");
        let ralph_loop = binaries.join("ralph-loop");
        let ran = ours(ralph_loop.as_str()).output()?;
        let status = ours(ralph_loop.as_str()).args(["status", "--json"]).output()?;
        let status: Value = serde_json::from_slice(&status.stdout).with_context(|| {
            format!("no status after:\n{}", String::from_utf8_lossy(&ran.stderr))
        })?;
        if std::env::var_os("RALPH_LIAR_SAYS").is_some() {
            println!(
                "{}{}",
                String::from_utf8_lossy(&ran.stdout),
                String::from_utf8_lossy(&ran.stderr)
            );
        }
        let state = |nth: usize| {
            status
                .pointer(&format!("/landed/{}", id(nth)))
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        Ok((0..self.stories.len()).map(state).collect())
    }
}

/// What was found.
#[derive(Default)]
struct Tally {
    honest: usize,
    remarked: Vec<String>,
    refused: Vec<String>,
    liars: usize,
    believed: Vec<String>,
    /// How many clean and hollow stories there were, and how many of them were proven.
    proofs: [(usize, usize); 2],
}

impl Tally {
    fn honest(&mut self, language: &str, story: &str, state: &str) {
        println!("honest {language:<11} {state:<10} {story}");
        self.honest += 1;
        match state {
            "" => self.refused.push(format!("{language}: {story}")),
            "proven" | "checked" => {}
            _ => self.remarked.push(format!("{language}: {story}")),
        }
    }

    fn liar(&mut self, language: &str, story: &str, state: &str) {
        println!(
            "liar   {language:<11} {:<10} {story}",
            if state.is_empty() { "refused" } else { state }
        );
        self.liars += 1;
        if ["proven", "checked"].contains(&state) {
            self.believed.push(format!("{language}: {story}"));
        }
    }

    fn proofs(&mut self, language: &str, is_clean: bool, states: &[String]) {
        let kind = if is_clean { "clean" } else { "hollow" };
        println!("{kind:<6} {language:<11} {states:?}");
        let proven = states.iter().filter(|state| *state == "proven").count();
        let [clean, hollow] = &mut self.proofs;
        let (all, sum) = if is_clean { clean } else { hollow };
        (*all, *sum) = (*all + states.len(), *sum + proven);
    }

    fn judge(self) -> Result<()> {
        let [(clean, proven), (hollow, wrongly)] = self.proofs;
        println!(
            "{} honest stories: {} refused, {} with a remark; {} liars: {} believed; \
             {proven} of {clean} clean stories proven, {wrongly} of {hollow} hollow ones",
            self.honest,
            self.refused.len(),
            self.remarked.len(),
            self.liars,
            self.believed.len(),
        );
        ensure!(self.believed.is_empty(), "believed: {}", self.believed.join("; "));
        ensure!(self.refused.is_empty(), "refused, though honest: {}", self.refused.join("; "));
        let remarked = self.remarked.join("; ");
        ensure!(self.remarked.len() <= MOST_REMARKS, "honest, with a remark: {remarked}");
        ensure!(wrongly == 0, "{wrongly} hollow stories are called proven");
        let least = clean * LEAST_PROVEN / 40;
        ensure!(proven >= least, "only {proven} of {clean} clean stories are proven");
        Ok(())
    }
}
