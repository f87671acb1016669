//! Runs the GitHub action as a runner would: its own steps, one after the other, against a
//! release in a folder.

use regex::{Captures, Regex};
use test_support::{Scratch, TestRepo, fixtures, program};

use crate::stage::{LOOP, PLAN, Ran};

/// The demo's project.
const STORIES: &str = "- [ ] US-001: Greet the world\n- [ ] US-002: Greet somebody by name\n- [ ] US-003: Say goodbye\n";
const AGENT: &str = include_str!("../../src/commands/demo/agent.sh");
const TESTS: &str = include_str!("../../src/commands/demo/tests.sh");

/// A step of the action: its variables, and its script.
#[derive(Default)]
struct Step {
    variables: Vec<(String, String)>,
    script: String,
}

/// Parses the steps, in the subset of YAML that we use: variables, and one-line or block scripts.
fn steps(action: &str) -> Vec<Step> {
    let (_, text) = action.split_once("\n  steps:\n").unwrap();
    let mut steps: Vec<Step> = Vec::new();
    let mut is_script = false;
    for line in text.lines() {
        if line.starts_with("    - ") {
            steps.push(Step::default());
            is_script = false;
        }
        let step = steps.last_mut().unwrap();
        if let Some(script) = line.strip_prefix("      run: ") {
            is_script = true;
            step.script = script.trim_start_matches('|').to_owned();
        } else if let Some(inner) = line.strip_prefix("        ") {
            if is_script {
                step.script = format!("{}\n{inner}", step.script);
            } else if let Some((name, value)) = inner.split_once(": ") {
                step.variables.push((name.to_owned(), value.to_owned()));
            }
        }
    }
    steps
}

/// A checkout on a runner: shallow, with a detached HEAD and without a git identity.
struct Runner {
    origin: TestRepo,
    temporary: Scratch,
}

impl Runner {
    fn new() -> Self {
        let origin = TestRepo::new();
        origin.write(PLAN, STORIES);
        origin.write(".ralph/demo-agent.sh", AGENT);
        origin.write(".ralph/config.toml", "[verify]\ncommands = [\"sh tests.sh\"]\n");
        origin.write("tests.sh", TESTS);
        origin.git(["add", "--all", "--force"]);
        origin.commit_all("a plan");
        let temporary = Scratch::new();
        let checkout = temporary.path("checkout");
        let from = format!("file://{}", origin.root());
        origin.git(["clone", "--quiet", "--depth=1", &from, checkout.as_str()]);
        origin.git(["-C", checkout.as_str(), "checkout", "--quiet", "--detach"]);
        temporary.script("bin/gh", "#!/bin/sh\necho \"$1 $2 $3\" >../gh\ncat \"$5\" >>../gh\n");
        Self { origin, temporary }
    }

    fn git(&self, args: &[&str]) -> String {
        let checkout = self.temporary.path("checkout");
        self.origin.git([&["-C", checkout.as_str()], args].concat())
    }

    /// Creates a release whose installer puts a wrapper for this program where the installer of
    /// cargo-dist would put its own; returns the URL.
    fn release(&self) -> String {
        let start = format!("#!/bin/sh\nexec '{LOOP}' \"$@\"\n");
        let program = self.temporary.file("release/ralph-loop", start);
        let installer = format!(
            "test \"$INSTALLER_DOWNLOAD_URL/ralph-loop\" = 'file://{program}'\n\
             mkdir \"$RALPH_LOOP_UNMANAGED_INSTALL\"\n\
             install -m 755 '{program}' \"$RALPH_LOOP_UNMANAGED_INSTALL\"\n"
        );
        self.temporary.file("release/ralph-loop-installer.sh", installer);
        format!("file://{}", self.temporary.path("release"))
    }

    /// Runs the steps with these inputs until one fails; returns the result of the last one.
    fn run(&self, inputs: &[(&str, &str)]) -> Ran {
        let action = fixtures().join("..");
        let server = format!("file://{}", self.temporary.root());
        let known = |name: &str| match name.strip_prefix("inputs.") {
            Some(input) => {
                inputs.iter().find(|(known, _)| *known == input).map_or("", |(_, value)| value)
            }
            None if name == "github.action_path" => action.as_str(),
            None if name == "github.server_url" => server.as_str(),
            None if name == "github.action_repository" => "o/r",
            None => "",
        };
        let expression = Regex::new(r"\$\{\{ ([a-z_.-]+) \}\}").unwrap();
        let home = self.temporary.dir("home");
        let mut path = format!("{}:/usr/bin:/bin", self.temporary.path("bin"));
        let mut ended = None;
        for step in steps(&fs_err::read_to_string(action.join("action.yml")).unwrap()) {
            let mut shell = program("sh", &home);
            shell.args(["-e", "-c", &step.script]).current_dir(self.temporary.path("checkout"));
            for (name, value) in &step.variables {
                let value = expression.replace_all(value, |found: &Captures| known(&found[1]));
                shell.env(name, value.as_ref());
            }
            shell.env("PATH", &path).env("GIT_CONFIG_NOSYSTEM", "1");
            // As on a runner, whose host name is not a domain: git cannot guess an identity.
            shell.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "user.useConfigOnly");
            shell.env("GIT_CONFIG_VALUE_0", "true").env("RUNNER_TEMP", self.temporary.root());
            for (variable, file) in
                [("PATH", "path"), ("OUTPUT", "output"), ("STEP_SUMMARY", "summary")]
            {
                shell.env(format!("GITHUB_{variable}"), self.temporary.path(file));
            }
            let ran = Ran::from(shell.output().unwrap());
            let is_over = ran.code != Some(0);
            ended = Some(ran);
            if is_over {
                break;
            }
            for folder in self.temporary.read("path").lines() {
                path = format!("{folder}:{path}");
            }
        }
        ended.unwrap()
    }
}

#[test]
fn the_action_installs_runs_and_reports() {
    let runner = Runner::new();
    let url = runner.release();
    let inputs = [
        ("url", url.as_str()),
        ("plan", PLAN),
        ("agent", "sh .ralph/demo-agent.sh"),
        ("args", "--max-iterations 8 --baseline=skip --branch ralph/{plan}"),
        ("pull-request", "7"),
    ];
    runner.run(&inputs).ended(0).says("3 of 3 stories done");
    assert_eq!(runner.temporary.read("output"), "exit-code=0\n");
    let summary = runner.temporary.read("summary");
    assert!(summary.contains("US-002"), "{summary}");
    assert_eq!(runner.temporary.read("gh"), format!("pr comment 7\n{summary}"));
    // As shown in docs/install.md.
    runner.git(&["push", "--quiet", "origin", "refs/heads/ralph/*"]);
    let landed = runner.origin.git(["log", "--format=%s", "--branches=ralph"]);
    assert_eq!(landed.matches("US-00").count(), 3, "{landed}");
    // The gate for a pull request with that branch.
    runner.git(&["push", "--quiet", "origin", "refs/notes/ralph"]);
    let branch = runner.git(&["branch", "--format=%(refname:short)", "--list", "ralph/*"]);
    runner.git(&["checkout", "--quiet", "--detach", branch.trim()]);
    fs_err::remove_dir_all(runner.temporary.path("ralph")).unwrap();
    runner.run(&[("url", url.as_str()), ("command", "audit")]).ended(0);
    let summary = runner.temporary.read("summary");
    assert!(
        summary.contains("receipts confirmed") && summary.contains("| confirmed |"),
        "{summary}"
    );
}

#[test]
fn the_action_installs_the_version_that_it_is_pinned_to() {
    let runner = Runner::new();
    runner.release();
    let releases = runner.temporary.dir("o/r/releases/download");
    let pinned = releases.join(concat!("v", env!("CARGO_PKG_VERSION")));
    let script = runner.temporary.read("release/ralph-loop-installer.sh");
    // Its first line compares the address.
    let script = script.replacen("test ", "true ", 1);
    runner.temporary.file(pinned.join("ralph-loop-installer.sh").as_str(), script);
    runner.temporary.file("o/r/releases/latest/download/ralph-loop-installer.sh", "exit 9");
    let agent = ("agent", "sh .ralph/demo-agent.sh");
    let args = ("args", "--max-iterations 8 --baseline=skip --branch ralph/{plan}");
    runner.run(&[("plan", PLAN), agent, args]).ended(0).says("3 of 3 stories done");
}

#[test]
fn the_action_fails_without_a_release_and_reports_the_loops_exit_code() {
    let runner = Runner::new();
    let nowhere = format!("file://{}", runner.temporary.path("nowhere"));
    assert_ne!(runner.run(&[("url", &nowhere)]).code, Some(0));
    assert!(!runner.temporary.path("output").exists(), "the loop was not started");
    let url = runner.release();
    let agent = ("agent", "sh -c 'cat >/dev/null; exit 3'");
    let args = ("args", "--max-iterations 1 --baseline=skip --branch ralph/{plan}");
    let ran = runner.run(&[("url", &url), agent, args]);
    let code = ran.code.unwrap();
    assert_ne!(code, 0, "{ran:?}");
    assert_eq!(runner.temporary.read("output"), format!("exit-code={code}\n"));
    assert!(!runner.temporary.read("summary").is_empty());
    assert!(!runner.temporary.path("gh").exists(), "no pull request was named");
}
