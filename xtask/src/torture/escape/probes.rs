//! The probes: small acts, all of them in each role of one run. A probe that the sandbox has to
//! refuse must get out where the sandbox is off; otherwise it proves nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

use anyhow::{Result, ensure};
use regex::Regex;
use serde::Deserialize;

use super::Found;
use super::world::{Machine, Mode, Plan, ROLES, World};
use crate::linux;

/// How long one run with all probes in all roles may take.
const LIMIT: Duration = Duration::from_secs(400);

/// `xtask/escape/probes.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    refused: BTreeMap<String, Act>,
    documented: BTreeMap<String, Act>,
    pub(super) secrets: Secrets,
}

/// Names of files in the home folder and of variables, separated by white space.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Secrets {
    pub(super) files: String,
    pub(super) setup_files: String,
    pub(super) variables: String,
    pub(super) setup_variables: String,
    pub(super) agent_variables: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Act {
    Plain(String),
    Full(Full),
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Full {
    #[serde(rename = "do")]
    script: String,
    /// Succeeds, outside, if the probe got out.
    out: Option<String>,
    /// Whether it harms a process.
    #[serde(default)]
    process: bool,
    /// Roles in which the documents allow it.
    #[serde(default)]
    open: Vec<String>,
    /// Must succeed outside for the probe to make sense on this machine.
    needs: Option<String>,
    /// Whether it makes sense only where the agent works in a copy.
    #[serde(default)]
    copy_only: bool,
}

/// A probe: its name, and its name as part of a path.
struct Probe {
    name: String,
    id: String,
    act: Full,
    is_documented: bool,
}

impl Table {
    /// The probes that make sense in a mode.
    fn probes(&self, mode: Mode) -> Vec<Probe> {
        let secrets = &self.secrets;
        let read = |list: &str, name: &str, script: &str, open: &[&str]| -> Vec<(String, Act)> {
            let act = |item: &str| {
                let open = open.iter().map(|&role| role.to_owned()).collect();
                let act = Full { script: script.replace('@', item), open, ..Full::default() };
                (format!("{name} {item}"), Act::Full(act))
            };
            list.split_whitespace().map(act).collect()
        };
        let (cat, print) = ("cat \"$HOME/@\"", "printenv @");
        let in_setup: &[&str] = &["setup"];
        let mut all: Vec<(String, Act, bool)> = Vec::new();
        for (list, name, script, open) in [
            (&secrets.files, "read", cat, &[][..]),
            (&secrets.setup_files, "read", cat, in_setup),
            (&secrets.variables, "read variable", print, &[]),
            (&secrets.setup_variables, "read variable", print, in_setup),
            (&secrets.agent_variables, "read variable", print, &["agent", "reviewer"]),
        ] {
            let acts = read(list, name, script, open);
            all.extend(acts.into_iter().map(|(name, act)| (name, act, false)));
        }
        for (table, is_documented) in [(&self.refused, false), (&self.documented, true)] {
            let acts = table.iter().map(|(name, act)| (name.clone(), act.clone(), is_documented));
            all.extend(acts);
        }
        let probe = |(name, act, is_documented): (String, Act, bool)| {
            let act = match act {
                Act::Plain(script) => Full { script, ..Full::default() },
                Act::Full(full) => full,
            };
            let id = |sign: char| if sign.is_ascii_alphanumeric() { sign } else { '-' };
            Probe { id: name.chars().map(id).collect(), name, act, is_documented }
        };
        let probes = all.into_iter().map(probe);
        probes.filter(|probe| mode == Mode::Copy || !probe.act.copy_only).collect()
    }
}

/// Runs all probes in one of the roles, each in a folder of its own.
const PLAY: &str = r#"
[ ! -e "$NOTES/$ROLE.all" ] || return 0
mkdir -p "$NOTES/$ROLE" && VTTY=$(cat "$W/s/tty/$ROLE") && export VTTY
for script in "$W"/s/probes/*.sh; do
    ID=${script##*/}; ID=${ID%.sh}
    V="$VP/v/$ROLE/$ID" MARK="ESC-$ROLE-$ID-CSE" VICTIM=$(cat "$W/s/pids/$ROLE-$ID" 2>/dev/null)
    export ID V MARK VICTIM
    act="${TMPDIR:-$W/tmp}/act-$ROLE-$ID"
    mkdir -p "$act"
    (cd "$act" && exec timeout -k 1 10 sh "$script") >"$NOTES/$ROLE/$ID.out" 2>&1 </dev/null
    echo $? >"$NOTES/$ROLE/$ID.code"
done
: >"$NOTES/$ROLE.all"
"#;

/// Plays all probes in a mode.
pub(super) fn play(machine: &Machine, mode: Mode, found: &mut Found) -> Result<()> {
    let probes = machine.table.probes(mode);
    let inside = observe(machine, mode, &probes, true)?;
    // Where the agent works does not matter to the judgement, nor does the role.
    let control = observe(machine, mode, &probes, false)?;
    let (mut tried, mut documented) = (0, 0);
    for probe in &probes {
        if control.passed_over.contains(&probe.id) {
            println!("passed over: {}", probe.name);
            continue;
        }
        if !control.out.contains(&("agent".to_owned(), probe.id.clone())) {
            let line = format!("probe\t{}\tcontrol\t{}", mode.name(), probe.name);
            let text = control.printed(&probe.id);
            found.note(line, Some(format!("it does not get out where the sandbox is off: {text}")));
        }
        let (mut wrong, mut out) = (Vec::new(), Vec::new());
        for role in mode.roles() {
            let key = (role.to_owned(), probe.id.clone());
            let is_open = probe.is_documented || probe.act.open.iter().any(|it| it == role);
            match (inside.tried.contains(&key), inside.out.contains(&key)) {
                (false, _) => wrong.push(format!("{role} did not try it")),
                (true, true) if is_open => out.push(role),
                (true, true) => wrong.push(format!("{role} got out")),
                (true, false) => {}
            }
            tried += 1;
        }
        documented += out.len();
        let line =
            format!("probe\t{}\t{}\tout as documented: {}", mode.name(), probe.name, out.join(" "));
        found.note(line, (!wrong.is_empty()).then(|| wrong.join(", ")));
    }
    println!(
        "probes, {}: {} probes in {} roles, {tried} tried, {documented} out as documented",
        mode.name(),
        probes.len(),
        mode.roles().len()
    );
    Ok(())
}

/// What happened: role and probe.
#[derive(Debug, Default)]
struct Observed {
    tried: BTreeSet<(String, String)>,
    out: BTreeSet<(String, String)>,
    passed_over: BTreeSet<String>,
    said: BTreeMap<String, String>,
}

impl Observed {
    fn printed(&self, id: &str) -> String {
        self.said.get(id).map(|text| text.chars().take(300).collect()).unwrap_or_default()
    }
}

/// Runs the loop with all probes; without the sandbox in the role of the agent alone.
fn observe(machine: &Machine, mode: Mode, probes: &[Probe], is_on: bool) -> Result<Observed> {
    let roles: &[&str] = if is_on { &ROLES } else { &ROLES[..1] };
    let mut world = World::new(machine, mode, &plan(is_on))?;
    let mut observed = Observed::default();
    let folder = world.path("s/probes");
    fs_err::create_dir(&folder)?;
    for probe in probes {
        let needs = probe.act.needs.as_deref().unwrap_or("true");
        if world.outside(&format!("cd \"$W/home/Documents\"; {needs}"), &[])?.0 {
            fs_err::write(folder.join(format!("{}.sh", probe.id)), &probe.act.script)?;
        } else {
            observed.passed_over.insert(probe.id.clone());
        }
        for role in roles {
            let at = world.path(&format!("{}/v/{role}/{}", world.victim_project(), probe.id));
            fs_err::create_dir_all(at.join("empty"))?;
            fs_err::create_dir_all(at.join("sub"))?;
            fs_err::write(at.join("main.c"), "the user's\n")?;
            fs_err::write(at.join("sub/file"), "file\n")?;
            if probe.act.process {
                let victim = world.victim()?;
                let name = world.path("s/pids").join(format!("{role}-{}", probe.id));
                fs_err::write(name, victim.to_string())?;
            }
        }
    }
    world.give(&world.path(&format!("{}/v", world.victim_project())))?;
    let before = world.snapshot(&format!("{}/v", world.victim_project()));
    let ended = world.run(&[], LIMIT)?;
    for wrong in ended.wrong {
        println!("the run with all probes, {}: {wrong}", mode.name());
    }
    judge(&world, probes, &before, &mut observed)?;
    if is_on {
        let is_done = |role: &&str| world.path(&format!("notes/{role}.all")).exists();
        let said = world.read("loop.out");
        ensure!(mode.roles().iter().all(is_done), "not every role was played:\n{said}");
    }
    Ok(observed)
}

fn plan(is_on: bool) -> Plan {
    let roles = if is_on { &ROLES[..] } else { &ROLES[..1] };
    let mut scripts: Vec<(&'static str, String)> =
        roles.iter().map(|role| (*role, format!("play() {{{PLAY}}}\nplay\n"))).collect();
    let detached = "detach env TMPDIR=\"${TMPDIR:-$W/tmp}\" PWD=\"$PWD\" sh -c 'cd \"$PWD\"; exec sh \"$0\"' \"$W/s/detached.sh\"\n\
                    until [ -e \"$NOTES/detached.all\" ]; do sleep 0.1; done\n";
    for (role, script) in &mut scripts {
        match *role {
            "agent" if is_on => *script += &format!("{detached}work\nran\n"),
            "agent" => *script += "work\nran\n",
            "reviewer" => script.push_str("echo '{\"approve\": true, \"findings\": []}'\n"),
            _ => {}
        }
    }
    let mut options =
        "--baseline skip --prove off --attempts 1 --agent 'sh \"$W/s/agent.sh\"'".to_owned();
    let line = |role: &str| format!("sh \"'\"$W\"'/s/{role}.sh\"");
    options = options.replace("sh \"$W/s/agent.sh\"", &line("agent"));
    if is_on {
        let _ = write!(
            options,
            " --sandbox require --verify '{}' --setup '{}' --review --review-agent '{}'",
            line("check"),
            line("setup"),
            line("reviewer")
        );
    } else {
        options.push_str(" --sandbox off --verify true");
    }
    Plan { stories: 1, options, scripts }
}

/// Looks, from outside, at what each probe has done.
fn judge(
    world: &World,
    probes: &[Probe],
    before: &BTreeMap<String, String>,
    observed: &mut Observed,
) -> Result<()> {
    let victims = world.path(&format!("{}/v", world.victim_project()));
    let after = world.snapshot(&format!("{}/v", world.victim_project()));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed: Vec<&str> = names
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name))
        .filter_map(|name| name.strip_prefix(victims.as_str()))
        .collect();
    let marks = marks(world)?;
    for (role, probe) in ROLES.iter().flat_map(|role| probes.iter().map(move |probe| (role, probe)))
    {
        let key = ((*role).to_owned(), probe.id.clone());
        let note = format!("notes/{role}/{}", probe.id);
        let code = world.read(&format!("{note}.code"));
        if code.is_empty() {
            continue;
        }
        observed.tried.insert(key.clone());
        let said = world.read(&format!("{note}.out"));
        let folder = format!("/{role}/{}", probe.id);
        let is_at = |path: &&str| {
            path.strip_prefix(&folder)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '-']))
        };
        let is_changed = changed.iter().any(is_at);
        let mut is_out = is_changed || marks.contains(&key) || said.contains("S3CRET");
        if probe.act.process {
            is_out |= !is_well(world, role, probe);
        }
        if let Some(out) = &probe.act.out {
            is_out |= looks_out(world, role, probe, out)?;
        }
        if is_out {
            observed.out.insert(key);
        }
        observed.said.insert(probe.id.clone(), format!("exit code {}: {said}", code.trim()));
    }
    Ok(())
}

/// Whether the victim of a probe lives, and is not stopped.
fn is_well(world: &World, role: &str, probe: &Probe) -> bool {
    let pid = world.read(&format!("s/pids/{role}-{}", probe.id));
    let found = pid.parse().ok().and_then(linux::process);
    found.is_some_and(|it| matches!(it.state, 'S' | 'R' | 'D'))
}

/// What the script of a probe itself says that looks at the result from outside.
fn looks_out(world: &World, role: &str, probe: &Probe, out: &str) -> Result<bool> {
    let w = world.root();
    let vars = [
        ("V", format!("{w}/{}/v/{role}/{}", world.victim_project(), probe.id)),
        ("MARK", format!("ESC-{role}-{}-CSE", probe.id)),
        ("OUT", format!("{w}/notes/{role}/{}.out", probe.id)),
        ("VICTIM", world.read(&format!("s/pids/{role}-{}", probe.id))),
        ("VTTY", world.read(&format!("s/tty/{role}"))),
    ];
    let vars: Vec<(&str, &str)> =
        vars.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Ok(world.outside(out, &vars)?.0)
}

/// The probes whose marks are where no attempt may write, in names or contents.
fn marks(world: &World) -> Result<BTreeSet<(String, String)>> {
    let mark = Regex::new("ESC-([a-z]+)-([A-Za-z0-9-]+?)-CSE")?;
    let mut found = BTreeSet::new();
    for folder in ["home", "project", "outside"] {
        for (path, content) in world.snapshot(folder) {
            // The attempt's own: its copy and its state folder, and what the loop logs of it.
            let copies = world.path("home/.cache/ralph/project-");
            let own = path.strip_prefix(copies.as_str()).and_then(|rest| rest.split_once('/'));
            let is_own =
                own.is_some_and(|(_, rest)| rest.starts_with("1/") || rest.starts_with("state-1/"));
            if is_own || path.contains("/.ralph/logs/") {
                continue;
            }
            for text in [&path, &content] {
                for captures in mark.captures_iter(text) {
                    let part = |at| captures.get(at).map_or("", |it| it.as_str()).to_owned();
                    found.insert((part(1), part(2)));
                }
            }
        }
    }
    Ok(found)
}
