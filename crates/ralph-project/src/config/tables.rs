//! The tables of `config.toml`: each key with its type, its default, how a text is read, the
//! variable and the flag that set it, and what it is for.
//!
//! The settings themselves, the loop's flags, `ralph-loop config`, the JSON schema and the table in
//! `docs/configuration.md` are all made from these rows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::keys::{Key, Kind, key};
use super::seconds::Seconds;
use super::values::{
    Baseline, FailBehavior, Mode, Probing, Prove, PullRequests, RollbackOn, SandboxMode, Skip,
    Weakened, amount, at_least_one, part,
};
use crate::dialect::{AGENTS, Dialect};
use ralph_base::texts::{texts, texts_by_name};
use ralph_core::{guard, plan};

/// Makes a struct, its defaults and its keys of each table. What stands above a key is its help; a
/// key without a default has that of its type.
macro_rules! tables {
    ($(
        #[doc = $about:literal]
        $table:ident $name:literal {
            $(
                $(#[doc = $help:literal])+
                $(#[serde($serde:meta)])?
                $key:ident $($called:literal)?: $type:ty $(= $default:expr)?, $kind:ident, $env:literal, $flag:literal;
            )+
        }
    )+) => {
        $(
            #[doc = $about]
            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
            #[serde(default, deny_unknown_fields)]
            pub struct $table {
                $(
                    $(#[doc = $help])+
                    $(#[serde($serde)])?
                    pub $key: $type,
                )+
            }

            impl Default for $table {
                fn default() -> Self {
                    Self { $($key: first!($($default,)? Default::default()),)+ }
                }
            }

            impl $table {
                const KEYS: &[Key] = &[$(key(
                    concat!($name, ".", first!($($called,)? stringify!($key))),
                    Kind::$kind,
                    $env,
                    $flag,
                    concat!($($help),+).trim_ascii_start(),
                ),)+];
            }
        )+
    };
}

/// The first of one or two.
macro_rules! first {
    ($first:expr $(, $second:expr)?) => {
        $first
    };
}

/// The command that runs Claude Code.
fn claude() -> &'static str {
    AGENTS.first().map_or("", |claude| claude.start)
}

impl Agent {
    /// Replaces the name of an agent by the command that runs it.
    pub(super) fn find_command(&mut self) {
        let is_named = !self.name.is_empty() && self.command == claude();
        let name = if is_named { &self.name } else { &self.command };
        if let Some(agent) = Dialect::find(name) {
            self.command = agent.start.to_owned();
        }
    }
}

tables! {
    /// The table `[loop]`.
    LoopSettings "loop" {
        /// `building` works through the plan; `planning` writes or updates it.
        mode: Mode, Choice, "RALPH_MODE", "mode";
        /// Maximum number of iterations per run; 0 means no limit.
        max_iterations: u64 = 50, Integer, "MAX_ITERATIONS", "max-iterations";
        /// The plan to work on; defaults to the first one found.
        plan: String, Text, "PLAN_PATH", "plan";
        /// The progress file; defaults to `progress.md` next to the plan.
        progress: String, Text, "PROGRESS_PATH", "progress";
        /// Number of the `PRD-N` folder to use; 0 means the lowest one with open stories.
        prd: u64, Integer, "PRD_NUMBER", "prd";
        /// Number of stories worked on at once, each in a copy of its own; at least 1.
        #[serde(deserialize_with = "at_least_one")]
        workers: u64 = 1, Integer, "RALPH_WORKERS", "workers";
        /// Folder with the specifications that planning reads.
        specs: String = "specs".to_owned(), Text, "RALPH_SPECS", "specs";
        /// Branch to land work on, created if it does not exist; `{plan}` stands for the plan's
        /// name. Defaults to the branch that is checked out.
        branch: String, Text, "RALPH_BRANCH", "branch";
        /// Work on this story alone; empty means all of them.
        story: String, Text, "RALPH_FLEET_STORY", "story";
        /// Address of a git server to clone from and push to, for one story as a task of Slurm, Kubernetes, CI or
        /// GNU parallel; needs `--story`; empty means this project.
        fleet: String, Text, "RALPH_FLEET", "fleet";
        /// How long to wait for a server, other tasks of a fleet, and merges with `--pr story`.
        wait: Seconds = Seconds(1800), Seconds, "RALPH_FLEET_WAIT", "wait";
        /// Exit with code 7 instead of 0 if stories remain.
        fail_if_incomplete: bool, Switch, "RALPH_FAIL_IF_INCOMPLETE", "fail-if-incomplete";
        /// Exit with code 8 instead of 0 if a landed story is to review or unchecked.
        strict: bool, Switch, "RALPH_STRICT", "strict";
        /// Show what would be done, without writing anything or running the agent.
        dry_run: bool, Switch, "RALPH_DRY_RUN", "dry-run";
        /// Print events as JSON, one per line, instead of the normal output.
        json_events: bool, Switch, "RALPH_JSON", "json";
    }

    /// The table `[agent]`.
    Agent "agent" {
        /// The agent, if `command` does not tell: one of claude, codex, copilot, gemini, qwen, opencode, kilo, droid
        /// or kimi; see docs/agents.md.
        name: String, Text, "", "";
        /// Name of an agent, or a command that runs one; it receives the prompt on standard input.
        command: String = claude().to_owned(), Text, "RALPH_AGENT", "agent";
        /// Model that the agent uses; defaults to its own choice.
        model: String, Text, "RALPH_MODEL", "model";
        /// Names of agents that take over, in this order, while the usage limit of the agent lasts. Defaults
        /// to none.
        #[serde(deserialize_with = "texts")]
        fallback: Vec<String>, List, "RALPH_FALLBACK", "fallback";
        /// Maximum time for one iteration, and for a review; 0 means no limit.
        timeout: Seconds = Seconds(3600), Seconds, "TIMEOUT_AGENT", "timeout";
        /// How long the agent may stay silent before it is considered stuck; 0 means no limit.
        silence: Seconds = Seconds(1800), Seconds, "RALPH_AGENT_SILENCE", "silence";
        /// How long the agent has to exit after it is asked to stop; 0 means it is killed
        /// immediately.
        grace: Seconds = Seconds(10), Seconds, "RALPH_AGENT_GRACE", "grace";
        /// Start even if an agent that supports hooks would run without them.
        unguarded: bool, Switch, "RALPH_UNGUARDED", "unguarded";
        /// What to do before the first story with a version of the agent that this machine has not probed: `auto`
        /// probes it, `require` also refuses to start unless everything holds, `off` does not probe.
        probe: Probing, Choice, "RALPH_PROBE", "";
    }

    /// The table `[verify]`.
    Verify "verify" {
        /// Commands that must all succeed before a story is done; repeat the flag for each one, and
        /// in the variable write one per line. Defaults to what `ralph-loop init` finds.
        #[serde(deserialize_with = "texts")]
        commands: Vec<String>, List, "RALPH_VERIFY", "verify";
        /// Maximum time for each verify and setup command, and for a commit with your git hooks; 0
        /// means no limit.
        timeout: Seconds = Seconds(1800), Seconds, "RALPH_VERIFY_TIMEOUT", "verify-timeout";
        /// Whether to run the checks before the first story: `check` refuses to start if they fail,
        /// `ignore` starts anyway and does not count those failures against a story, `skip` does
        /// not run them.
        baseline: Baseline, Choice, "RALPH_BASELINE", "baseline";
        /// Let a check pass even if its test runner reports that no tests ran.
        allow_no_tests: bool, Switch, "RALPH_ALLOW_NO_TESTS", "allow-no-tests";
        /// Refuse to start if no checks are configured and none are found.
        require_checks: bool, Switch, "RALPH_REQUIRE_CHECKS", "require-checks";
        /// What to do when a story's new or changed tests pass without the rest of its
        /// work: `warn`, `refuse`, or `off` to not try.
        prove: Prove, Choice, "RALPH_PROVE", "prove";
        /// How long to break the change on purpose until a new test fails; 0 means twice what the checks took, at
        /// least 15 seconds and at most 2 minutes.
        prove_time: Seconds, Seconds, "RALPH_PROVE_TIME", "";
        /// Number of small changes of a story to try against all tests; those that no test notices are to review.
        mutants: u64, Integer, "RALPH_MUTANTS", "mutants";
    }

    /// The table `[rollback]`.
    Rollback "rollback" {
        /// When to roll back: at a test `failure`, at `story-end`, or `never`.
        on: RollbackOn, Choice, "RALPH_ROLLBACK", "rollback";
        /// Number of failing test runs in a row before a rollback; at least 1.
        #[serde(deserialize_with = "at_least_one")]
        after_failures: u64 = 3, Integer, "RALPH_ROLLBACK_AFTER_FAILURES", "rollback-after";
    }

    /// The table `[limits]`.
    Limits "limits" {
        /// Maximum number of attempts before a story is set aside; at least 1.
        #[serde(deserialize_with = "at_least_one")]
        attempts_per_story: u64 = 3, Integer, "RALPH_ATTEMPTS_PER_STORY", "attempts";
        /// Stop the run after this many stories in a row without any changes; 0 means never.
        stalled_after: u64 = 3, Integer, "RALPH_STALLED_AFTER", "stalled-after";
        /// When the agent reaches its usage limit, wait until the limit resets.
        wait_for_quota: bool = true, Switch, "RALPH_WAIT_FOR_QUOTA", "wait-for-quota";
        /// How long to wait in all for a service that the agent cannot reach, before the run ends.
        wait_for_service: Seconds = Seconds(1800), Seconds, "RALPH_WAIT_FOR_SERVICE", "wait-for-service";
        /// Maximum cost of a run in US dollars; 0 means no limit.
        #[serde(deserialize_with = "amount")]
        max_cost_usd: f64, Number, "RALPH_MAX_COST_USD", "max-cost";
        /// Maximum time for a run; 0 means no limit.
        max_duration: Seconds, Seconds, "RALPH_MAX_DURATION", "max-duration";
        /// Processes that a step may have; 0 means no limit.
        processes: u64 = 2000, Integer, "RALPH_MAX_PROCESSES", "";
        /// Part of the machine's memory that it may use; 0 means no limit.
        #[serde(deserialize_with = "part")]
        memory: f64 = 0.75, Number, "RALPH_MAX_MEMORY", "";
        /// Megabytes that an attempt may leave in new and changed files; 0 means no limit.
        changes: u64 = 1000, Integer, "RALPH_MAX_CHANGES", "";
        /// Megabytes that an agent may print; 0 means no limit.
        output: u64 = 1000, Integer, "RALPH_MAX_OUTPUT", "";
        /// Megabytes that its log keeps, without the middle; 0 means all.
        log: u64 = 100, Integer, "RALPH_MAX_LOG", "";
    }

    /// The table `[scope]`.
    Scope "scope" {
        /// Globs of the files that the agent may edit; empty means all files.
        #[serde(deserialize_with = "texts")]
        paths: Vec<String>, List, "RALPH_SCOPE", "scope";
        /// The same for individual stories: a list of globs per story id.
        #[serde(deserialize_with = "texts_by_name")]
        stories: BTreeMap<String, Vec<String>>, Table, "", "";
    }

    /// The table `[stop]`.
    Stop "stop" {
        /// How often per turn hooks may keep the agent from stopping; 0 means never.
        max_blocks: u64 = 1, Integer, "RALPH_STOP_MAX_BLOCKS", "";
        /// How often in a row they may do so while nothing else happens; 0 means never.
        max_idle_blocks: u64 = 2, Integer, "RALPH_STOP_MAX_IDLE_BLOCKS", "";
        /// Run the verify commands before the agent may stop.
        verify: bool, Switch, "RALPH_STOP_VERIFY", "";
        /// Globs of the subagent types that must pass the gates before they stop.
        #[serde(deserialize_with = "texts")]
        subagents: Vec<String> = vec!["ralph-*".to_owned()], List, "RALPH_STOP_SUBAGENTS", "";
    }

    /// The table `[session]`.
    Session "session" {
        /// Fraction of the context window at which a new session takes over; 0 means never.
        #[serde(deserialize_with = "part")]
        context_limit: f64 = 0.8, Number, "RALPH_CONTEXT_LIMIT", "context-limit";
        /// Maximum number of stories per session; at least 1.
        #[serde(deserialize_with = "at_least_one")]
        stories_per_session: u64 = 1, Integer, "RALPH_STORIES_PER_SESSION", "stories-per-session";
    }

    /// The table `[hooks]`: the lifecycle scripts.
    Hooks "hooks" {
        /// Run lifecycle scripts.
        enabled: bool = true, Switch, "HOOKS_ENABLED", "hooks";
        /// Run `started`.
        started: bool = true, Switch, "HOOK_STARTED_ENABLED", "";
        /// Run `next_iteration`.
        next_iteration: bool = true, Switch, "HOOK_NEXT_ITERATION_ENABLED", "";
        /// Run `post_iteration`.
        post_iteration: bool = true, Switch, "HOOK_POST_ITERATION_ENABLED", "";
        /// Run `finished`.
        finished: bool = true, Switch, "HOOK_FINISHED_ENABLED", "";
        /// Maximum time for a lifecycle script; 0 means no limit.
        timeout: Seconds = Seconds(30), Seconds, "HOOK_TIMEOUT", "hook-timeout";
        /// What to do when a lifecycle script fails: `continue` or `abort`.
        fail_behavior: FailBehavior, Choice, "HOOK_FAIL_BEHAVIOR", "hook-fail-behavior";
        /// What exit code 1 of next_iteration does: end the `iteration`, or `wait` and ask again.
        skip: Skip, Choice, "HOOK_SKIP", "";
    }

    /// The table `[tests]`.
    Tests "tests" {
        /// Your own test commands, if they are not recognised automatically.
        #[serde(deserialize_with = "texts")]
        commands: Vec<String>, List, "RALPH_TESTS", "";
        /// What to do when a story removes or skips tests: `refuse`, `review` to land it marked, or `ignore`, also
        /// if tests fail as they were before it or check less.
        weakened: Weakened, Choice, "RALPH_TESTS_WEAKENED", "";
    }

    /// The table `[run]`: the machine on which a run goes on.
    Machine "run" {
        /// Keep the machine from falling asleep during a run, where `caffeinate` or `systemd-inhibit` can.
        keep_awake: bool = true, Switch, "RALPH_KEEP_AWAKE", "";
    }

    /// The table `[finish]`: what follows a run.
    Finish "finish" {
        /// Push the branch and open a pull request when a run that landed stories ends; the same as
        /// pr = "run".
        pull_request: bool, Switch, "RALPH_PULL_REQUEST", "";
        /// Pull requests that are opened: `none`, one for the `run`, or one for each `story`, which is merged as
        /// soon as the forge allows.
        pr: PullRequests, Choice, "RALPH_PR", "pr";
    }

    /// The table `[review]`: another agent reads the work before it lands.
    Review "review" {
        /// Have another agent review each story before it lands; see docs/loop.md.
        enabled: bool, Switch, "RALPH_REVIEW", "review";
        /// Name of the agent that reviews, if `command` does not say.
        agent: String, Text, "", "";
        /// Name of an agent, or a command that runs the reviewer; defaults to the agent's command.
        command: String, Text, "RALPH_REVIEW_AGENT", "review-agent";
    }

    /// The table `[workspace]`: where the agent works.
    WorkspaceSettings "workspace" {
        /// Let the agent work directly in the project, which must be clean, instead of in a copy.
        in_place: bool, Switch, "RALPH_IN_PLACE", "in-place";
        /// Folder for copies of the project; defaults to the cache folder.
        folder: String, Text, "RALPH_WORKSPACE_FOLDER", "workspace-folder";
        /// Commands that set up a new copy, such as `npm ci`; they run again when a lock file
        /// changes. Defaults to what automatically found checks need.
        #[serde(deserialize_with = "texts")]
        setup: Vec<String>, List, "RALPH_SETUP", "setup";
        /// Let the setup of a new copy use credentials of registries and git although stories have
        /// landed here: it may run what an agent wrote.
        trust_setup: bool, Switch, "RALPH_TRUST_SETUP", "";
    }

    /// The table `[sandbox]`: what an attempt may touch; see docs/sandbox.md.
    SandboxSettings "sandbox" {
        /// Whether the kernel restricts what an attempt may touch: `auto` where it can, `require` to
        /// refuse to start where it cannot, or `off`.
        mode: SandboxMode, Choice, "RALPH_SANDBOX", "sandbox";
        /// Files and folders outside of the copy that may be written as well.
        #[serde(deserialize_with = "texts")]
        write: Vec<String>, List, "RALPH_SANDBOX_WRITE", "";
        /// Files and folders that may not be read, besides the usual credentials.
        #[serde(deserialize_with = "texts")]
        hide: Vec<String>, List, "RALPH_SANDBOX_HIDE", "";
        /// Files and folders that may be read although they hold credentials.
        #[serde(deserialize_with = "texts")]
        show: Vec<String>, List, "RALPH_SANDBOX_SHOW", "";
        /// Variables that are kept although they hold credentials; `*` matches anything.
        #[serde(deserialize_with = "texts")]
        env: Vec<String>, List, "RALPH_SANDBOX_ENV", "";
    }

    /// The table `[commit]`.
    CommitSettings "commit" {
        /// First line of a story's commit message; `{type}`, `{id}` and `{title}` are filled in.
        message: String = "{type}({id}): {title}".to_owned(), Text, "RALPH_COMMIT_MESSAGE", "commit-message";
        /// Commit type of a story, unless its title starts with one.
        #[serde(rename = "type")]
        kind "type": String = "feat".to_owned(), Text, "RALPH_COMMIT_TYPE", "commit-type";
        /// Name agent and model of a story in an `Assisted-by` trailer.
        assisted_by: bool = true, Switch, "RALPH_ASSISTED_BY", "";
    }

    /// The table `[notify]`.
    Notify "notify" {
        /// Shell command to run when a story is blocked, the budget is used up, the run waits for a
        /// usage limit, or it ends; see docs/watching.md. Defaults to none.
        command: String, Text, "RALPH_NOTIFY", "notify";
    }
}

/// The keys of `[plan]`, which is read by `ralph_core`.
#[rustfmt::skip]
const PLAN_KEYS: &[Key] = &[
    key("plan.agent_stories", Kind::Choice, "RALPH_AGENT_STORIES", "agent-stories", "What becomes of stories that an agent adds to the plan: `hold` keeps them back until you accept them, `run` works on them, `refuse` drops them."),
    key("plan.optional_sections", Kind::List, "RALPH_OPTIONAL_SECTIONS", "", "Headings of optional sections; their stories do not keep the loop running."),
];

/// The keys of `[guard]`, which is read by `ralph_core`.
#[rustfmt::skip]
const GUARD_KEYS: &[Key] = &[
    key("guard.disable", Kind::List, "RALPH_GUARD_DISABLE", "", "Names of guard rules to turn off; see docs/guard.md."),
    key("guard.enable", Kind::List, "RALPH_GUARD_ENABLE", "", "Names of guard rules to turn on that are off by default."),
    key("guard.allow", Kind::List, "RALPH_GUARD_ALLOW", "", "Commands that no guard rule denies; `*` matches anything."),
    key("guard.protect", Kind::List, "RALPH_GUARD_PROTECT", "", "Globs of files that the agent must not edit or overwrite."),
    key("guard.own_sessions", Kind::Choice, "RALPH_GUARD_OWN_SESSIONS", "", "What a rule does in your own sessions: `ask` you, `deny`, or `off`."),
    key("guard.rules", Kind::Table, "", "", "Your own rules: `name`, `commands`, `program` or `regex`, `unless`, `reason`, `instead`; see docs/guard.md."),
];

/// All keys, in the order in which they are documented.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    let tables = [
        LoopSettings::KEYS,
        Agent::KEYS,
        PLAN_KEYS,
        Verify::KEYS,
        Rollback::KEYS,
        Limits::KEYS,
        GUARD_KEYS,
        Scope::KEYS,
        Stop::KEYS,
        Session::KEYS,
        Hooks::KEYS,
        Tests::KEYS,
        Review::KEYS,
        WorkspaceSettings::KEYS,
        SandboxSettings::KEYS,
        CommitSettings::KEYS,
        Machine::KEYS,
        Finish::KEYS,
        Notify::KEYS,
    ];
    tables.into_iter().flatten()
}

/// All settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "each is the table of its name")]
pub struct Config {
    /// The table `[loop]`; the word is taken in Rust.
    #[serde(rename = "loop")]
    pub run: LoopSettings,
    pub agent: Agent,
    pub plan: plan::Options,
    pub verify: Verify,
    pub rollback: Rollback,
    pub limits: Limits,
    pub guard: guard::Settings,
    pub scope: Scope,
    pub stop: Stop,
    pub session: Session,
    pub hooks: Hooks,
    pub tests: Tests,
    pub review: Review,
    pub workspace: WorkspaceSettings,
    pub sandbox: SandboxSettings,
    pub commit: CommitSettings,
    /// The table `[run]`.
    #[serde(rename = "run")]
    pub machine: Machine,
    pub finish: Finish,
    pub notify: Notify,
}
