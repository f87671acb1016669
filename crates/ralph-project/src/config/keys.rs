//! Every configuration key: what it is for, which variable and which flag set it.
//!
//! The loop's flags and the table in `docs/configuration.md` are made from this list; a test holds
//! it against the settings themselves.

/// One key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Table and key, as in `limits.attempts_per_story`.
    pub name: &'static str,
    /// How a value given as text is read.
    pub kind: Kind,
    /// The variable that sets it.
    pub env: Option<&'static str>,
    /// The flag of `ralph-loop` that sets it, without its dashes.
    pub flag: Option<&'static str>,
    /// What it is for, in one sentence.
    pub help: &'static str,
}

/// How a value given as text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole number, decimal.
    Integer,
    /// A number.
    Number,
    /// A length of time.
    Seconds,
    /// Yes or no.
    Switch,
    /// Any text.
    Text,
    /// One of a few words, or a number.
    Choice,
    /// A list; a variable separates its items by newlines or, failing that, by commas outside of
    /// quotes and parentheses.
    List,
    /// A table of its own; only the file can hold it.
    Table,
}

const fn key(
    name: &'static str,
    kind: Kind,
    env: &'static str,
    flag: &'static str,
    help: &'static str,
) -> Key {
    let env = if env.is_empty() { None } else { Some(env) };
    let flag = if flag.is_empty() { None } else { Some(flag) };
    Key { name, kind, env, flag, help }
}

/// All keys, in the order in which they are documented.
#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    key("loop.mode", Kind::Choice, "RALPH_MODE", "mode", "`building` works through the plan; `planning` writes or updates it."),
    key("loop.max_iterations", Kind::Integer, "MAX_ITERATIONS", "max-iterations", "Maximum number of iterations per run; 0 means no limit."),
    key("loop.plan", Kind::Text, "PLAN_PATH", "plan", "The plan to work on; defaults to the first one found."),
    key("loop.progress", Kind::Text, "PROGRESS_PATH", "progress", "The progress file; defaults to `progress.md` next to the plan."),
    key("loop.prd", Kind::Integer, "PRD_NUMBER", "prd", "Number of the `PRD-N` folder to use; 0 means the lowest one with open stories."),
    key("loop.workers", Kind::Integer, "RALPH_WORKERS", "workers", "Number of stories worked on at once, each in a copy of its own; at least 1."),
    key("loop.specs", Kind::Text, "RALPH_SPECS", "specs", "Folder with the specifications that planning reads."),
    key("loop.branch", Kind::Text, "RALPH_BRANCH", "branch", "Branch to land work on, created if it does not exist; `{plan}` stands for the plan's name. Defaults to the branch that is checked out."),
    key("loop.fail_if_incomplete", Kind::Switch, "RALPH_FAIL_IF_INCOMPLETE", "fail-if-incomplete", "Exit with code 7 instead of 0 if stories remain."),
    key("loop.dry_run", Kind::Switch, "RALPH_DRY_RUN", "dry-run", "Show what would be done, without writing anything or running the agent."),
    key("loop.json_events", Kind::Switch, "RALPH_JSON", "json", "Print events as JSON, one per line, instead of the normal output."),
    key("agent.command", Kind::Text, "RALPH_AGENT", "agent", "Command that runs the agent; it receives the prompt on standard input."),
    key("agent.timeout", Kind::Seconds, "TIMEOUT_AGENT", "timeout", "Maximum time for one iteration, and for a review; 0 means no limit."),
    key("agent.silence", Kind::Seconds, "RALPH_AGENT_SILENCE", "silence", "How long the agent may stay silent before it is considered stuck; 0 means no limit."),
    key("agent.grace", Kind::Seconds, "RALPH_AGENT_GRACE", "grace", "How long the agent has to exit after it is asked to stop; 0 means it is killed immediately."),
    key("agent.unguarded", Kind::Switch, "RALPH_UNGUARDED", "unguarded", "Start even if the agent could have hooks and would get none."),
    key("plan.optional_sections", Kind::List, "RALPH_OPTIONAL_SECTIONS", "", "Headings of optional sections; their stories do not keep the loop running."),
    key("verify.commands", Kind::List, "RALPH_VERIFY", "verify", "Commands that must all succeed before a story is done; repeat the flag for each one. In the variable, separate them with newlines, or with commas outside quotes and parentheses. Defaults to what `ralph-loop init` finds."),
    key("verify.timeout", Kind::Seconds, "RALPH_VERIFY_TIMEOUT", "verify-timeout", "Maximum time for each verify and setup command, and for a commit with your git hooks; 0 means no limit."),
    key("verify.baseline", Kind::Choice, "RALPH_BASELINE", "baseline", "Whether to run the checks before the first story: `check` refuses to start if they fail, `ignore` starts anyway and does not count those failures against a story, `skip` does not run them."),
    key("verify.allow_no_tests", Kind::Switch, "RALPH_ALLOW_NO_TESTS", "allow-no-tests", "Let a check pass even if its test runner reports that no tests ran."),
    key("verify.require_checks", Kind::Switch, "RALPH_REQUIRE_CHECKS", "require-checks", "Refuse to start if no checks are configured and none are found."),
    key("verify.prove", Kind::Choice, "RALPH_PROVE", "prove", "What to do when the tests that a story adds or changes pass without the rest of its work: `warn`, `refuse`, or `off` to not try."),
    key("rollback.on", Kind::Choice, "RALPH_ROLLBACK", "rollback", "When to roll back a failed attempt: `failure`, `story-end` or `never`."),
    key("rollback.after_failures", Kind::Integer, "RALPH_ROLLBACK_AFTER_FAILURES", "rollback-after", "Number of failing test runs in a row before a rollback; at least 1."),
    key("limits.attempts_per_story", Kind::Integer, "RALPH_ATTEMPTS_PER_STORY", "attempts", "Maximum number of attempts before a story is set aside; at least 1."),
    key("limits.stalled_after", Kind::Integer, "RALPH_STALLED_AFTER", "stalled-after", "Stop the run after this many stories in a row without any changes; 0 means never."),
    key("limits.wait_for_quota", Kind::Switch, "RALPH_WAIT_FOR_QUOTA", "wait-for-quota", "When the agent reaches its usage limit, wait until the limit resets."),
    key("limits.max_cost_usd", Kind::Number, "RALPH_MAX_COST_USD", "max-cost", "Maximum cost of a run in US dollars; 0 means no limit."),
    key("limits.max_duration", Kind::Seconds, "RALPH_MAX_DURATION", "max-duration", "Maximum time for a run; 0 means no limit."),
    key("guard.disable", Kind::List, "RALPH_GUARD_DISABLE", "", "Names of guard rules to turn off; see docs/guard.md."),
    key("guard.enable", Kind::List, "RALPH_GUARD_ENABLE", "", "Names of guard rules to turn on that are off by default."),
    key("guard.strict", Kind::Switch, "RALPH_GUARD_STRICT", "", "Turn on the guard rules that are off unless strict, as `install --strict` does."),
    key("guard.allow", Kind::List, "RALPH_GUARD_ALLOW", "", "Commands that no guard rule denies; `*` matches anything."),
    key("guard.protect", Kind::List, "RALPH_GUARD_PROTECT", "", "Globs of files that the agent must not edit or overwrite."),
    key("guard.rules", Kind::Table, "", "", "Your own rules: `name`, `commands`, `program` or `regex`, `unless`, `reason`, `instead`; see docs/guard.md."),
    key("scope.paths", Kind::List, "RALPH_SCOPE", "scope", "Globs of the files that the agent may edit; empty means all files."),
    key("scope.stories", Kind::Table, "", "", "The same for individual stories: a list of globs per story id."),
    key("stop.max_blocks", Kind::Integer, "RALPH_STOP_MAX_BLOCKS", "", "Maximum number of times that gates may block one turn; 0 means never."),
    key("stop.max_idle_blocks", Kind::Integer, "RALPH_STOP_MAX_IDLE_BLOCKS", "", "Maximum number of blocks in a row if nothing happens between them; 0 means none."),
    key("stop.verify", Kind::Switch, "RALPH_STOP_VERIFY", "", "Run the verify commands before the agent may stop."),
    key("stop.subagents", Kind::List, "RALPH_STOP_SUBAGENTS", "", "Globs of the subagent types that must pass the gates before they stop."),
    key("session.context_limit", Kind::Number, "RALPH_CONTEXT_LIMIT", "context-limit", "Fraction of the context window at which a new session takes over; 0 means never."),
    key("session.stories_per_session", Kind::Integer, "RALPH_STORIES_PER_SESSION", "stories-per-session", "Maximum number of stories per session; at least 1."),
    key("hooks.enabled", Kind::Switch, "HOOKS_ENABLED", "hooks", "Run lifecycle scripts."),
    key("hooks.started", Kind::Switch, "HOOK_STARTED_ENABLED", "", "Run `started`."),
    key("hooks.next_iteration", Kind::Switch, "HOOK_NEXT_ITERATION_ENABLED", "", "Run `next_iteration`."),
    key("hooks.post_iteration", Kind::Switch, "HOOK_POST_ITERATION_ENABLED", "", "Run `post_iteration`."),
    key("hooks.finished", Kind::Switch, "HOOK_FINISHED_ENABLED", "", "Run `finished`."),
    key("hooks.timeout", Kind::Seconds, "HOOK_TIMEOUT", "hook-timeout", "Maximum time for a lifecycle script; 0 means no limit."),
    key("hooks.fail_behavior", Kind::Choice, "HOOK_FAIL_BEHAVIOR", "hook-fail-behavior", "What to do when a lifecycle script fails: `continue` or `abort`."),
    key("tests.commands", Kind::List, "RALPH_TESTS", "", "Your own test commands, if they are not recognised automatically."),
    key("tests.weakened", Kind::Choice, "RALPH_TESTS_WEAKENED", "", "What to do when a story leaves fewer tests or weaker ones: `report`, `refuse` or `ignore`."),
    key("review.enabled", Kind::Switch, "RALPH_REVIEW", "review", "Have another agent review each story before it lands; see docs/review.md."),
    key("review.command", Kind::Text, "RALPH_REVIEW_AGENT", "review-agent", "Command that runs the reviewer; defaults to the agent's command."),
    key("workspace.in_place", Kind::Switch, "RALPH_IN_PLACE", "in-place", "Let the agent work directly in the project, which must be clean, instead of in a copy."),
    key("workspace.folder", Kind::Text, "RALPH_WORKSPACE_FOLDER", "workspace-folder", "Folder for copies of the project; defaults to the cache folder."),
    key("workspace.setup", Kind::List, "RALPH_SETUP", "setup", "Commands that set up a new copy, such as `npm ci`; they run again when a lock file changes. Defaults to what the checks need, where those were found."),
    key("commit.message", Kind::Text, "RALPH_COMMIT_MESSAGE", "commit-message", "First line of a story's commit message; `{type}`, `{id}` and `{title}` are filled in."),
    key("commit.type", Kind::Text, "RALPH_COMMIT_TYPE", "commit-type", "Commit type of a story, unless its title starts with one."),
    key("notify.command", Kind::Text, "RALPH_NOTIFY", "notify", "Shell command to run when a story is blocked, the budget is used up, the run waits for a usage limit, or it ends; see docs/watching.md. Defaults to none."),
];

impl Key {
    /// The key of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// The words that it may be set to: its help names them all, and no others, in backticks.
    pub fn choices(&self) -> Vec<&'static str> {
        self.help.split('`').skip(1).step_by(2).collect()
    }
}
