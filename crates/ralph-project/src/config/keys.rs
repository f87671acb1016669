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
    key("loop.mode", Kind::Choice, "RALPH_MODE", "mode", "`building` works through the plan, `planning` writes or refreshes it."),
    key("loop.max_iterations", Kind::Integer, "MAX_ITERATIONS", "max-iterations", "How many iterations a run may take; 0 means no limit."),
    key("loop.plan", Kind::Text, "PLAN_PATH", "plan", "The plan to work on; empty means the first one found."),
    key("loop.progress", Kind::Text, "PROGRESS_PATH", "progress", "Where progress is written; empty means beside the plan."),
    key("loop.prd", Kind::Integer, "PRD_NUMBER", "prd", "Which `PRD-N` folder to use; 0 means the lowest number with open stories."),
    key("loop.specs", Kind::Text, "RALPH_SPECS", "specs", "The folder that planning reads."),
    key("loop.branch", Kind::Text, "RALPH_BRANCH", "branch", "The branch on which the work lands, made if it is missing; `{plan}` stands for the plan's name, and empty means the branch that is checked out."),
    key("loop.fail_if_incomplete", Kind::Switch, "RALPH_FAIL_IF_INCOMPLETE", "fail-if-incomplete", "Exit with 7 instead of 0 when stories remain."),
    key("loop.dry_run", Kind::Switch, "RALPH_DRY_RUN", "dry-run", "Show what would be done; write nothing and run no agent."),
    key("loop.json_events", Kind::Switch, "RALPH_JSON", "json", "Print events as lines of JSON instead of the view."),
    key("agent.command", Kind::Text, "RALPH_AGENT", "agent", "The agent; it gets the prompt on standard input."),
    key("agent.timeout", Kind::Seconds, "TIMEOUT_AGENT", "timeout", "How long one iteration may take; 0 means no limit."),
    key("agent.silence", Kind::Seconds, "RALPH_AGENT_SILENCE", "silence", "How long the agent may print nothing before it counts as hanging; 0 means for ever."),
    key("agent.grace", Kind::Seconds, "RALPH_AGENT_GRACE", "grace", "How long the agent has to end after it was asked to; 0 means that it is killed at once."),
    key("plan.optional_sections", Kind::List, "RALPH_OPTIONAL_SECTIONS", "", "Headings whose stories do not keep the loop going."),
    key("verify.commands", Kind::List, "RALPH_VERIFY", "verify", "Commands that must all succeed before a story is done; where none are given, those that `init` would write; give the flag again for each; in the variable, separate them by commas (outside quotes and parentheses) or newlines."),
    key("verify.timeout", Kind::Seconds, "RALPH_VERIFY_TIMEOUT", "verify-timeout", "How long each verify command, and a commit with your git hooks, may take; 0 means no limit."),
    key("verify.require_checks", Kind::Switch, "RALPH_REQUIRE_CHECKS", "require-checks", "Refuse to start when no checks are set and none are found."),
    key("verify.baseline", Kind::Choice, "RALPH_BASELINE", "baseline", "What the checks do before the first story: `check` runs them and refuses to start when they fail, `ignore` starts all the same and does not count what failed then against a story, `skip` does not run them."),
    key("verify.allow_no_tests", Kind::Switch, "RALPH_ALLOW_NO_TESTS", "allow-no-tests", "Let a check pass although its runner says that it ran no test."),
    key("rollback.on", Kind::Choice, "RALPH_ROLLBACK", "rollback", "When a failed attempt is rolled back: `failure`, `story-end` or `never`."),
    key("rollback.after_failures", Kind::Integer, "RALPH_ROLLBACK_AFTER_FAILURES", "rollback-after", "How many failing test runs in a row lead to a rollback; at least 1."),
    key("limits.attempts_per_story", Kind::Integer, "RALPH_ATTEMPTS_PER_STORY", "attempts", "How often a story is tried before it is set aside; at least 1."),
    key("limits.stalled_after", Kind::Integer, "RALPH_STALLED_AFTER", "stalled-after", "How many stories in a row that change nothing end the run; 0 means no limit."),
    key("limits.wait_for_quota", Kind::Switch, "RALPH_WAIT_FOR_QUOTA", "wait-for-quota", "Wait when the agent's usage limit is reached, until it is reset."),
    key("limits.max_cost_usd", Kind::Number, "RALPH_MAX_COST_USD", "max-cost", "What a run may cost; 0 means no limit."),
    key("limits.max_duration", Kind::Seconds, "RALPH_MAX_DURATION", "max-duration", "How long a run may take; 0 means no limit."),
    key("limits.story_max_cost_usd", Kind::Number, "RALPH_STORY_MAX_COST_USD", "story-max-cost", "What one story may cost; 0 means no limit."),
    key("limits.story_max_duration", Kind::Seconds, "RALPH_STORY_MAX_DURATION", "story-max-duration", "How long all attempts at one story may take; 0 means no limit."),
    key("guard.disable", Kind::List, "RALPH_GUARD_DISABLE", "", "Rules that are switched off, by name; see the guard's document."),
    key("guard.enable", Kind::List, "RALPH_GUARD_ENABLE", "", "Rules that are switched on although they are off by default."),
    key("guard.allow", Kind::List, "RALPH_GUARD_ALLOW", "", "Commands that no rule forbids; `*` stands for anything."),
    key("guard.protect", Kind::List, "RALPH_GUARD_PROTECT", "", "Globs of files that may be neither edited nor written by a command."),
    key("guard.rules", Kind::Table, "", "", "Rules of your own: `name`, `regex` or `program` with `args`, `reason`, `instead`."),
    key("guard.switches", Kind::Table, "", "", "Optional checks of the guard, switched on or off by name."),
    key("scope.paths", Kind::List, "RALPH_SCOPE", "scope", "Globs of the files that may be edited; empty means all."),
    key("scope.stories", Kind::Table, "", "", "The same for single stories: a list of globs for each story id."),
    key("stop.max_blocks", Kind::Integer, "RALPH_STOP_MAX_BLOCKS", "", "How often gates may hold back one turn; 0 means never."),
    key("stop.max_idle_blocks", Kind::Integer, "RALPH_STOP_MAX_IDLE_BLOCKS", "", "How many blocks in a row are allowed when nothing happens between them; 0 means none."),
    key("stop.verify", Kind::Switch, "RALPH_STOP_VERIFY", "", "Run the verify commands before the agent may stop."),
    key("stop.subagents", Kind::List, "RALPH_STOP_SUBAGENTS", "", "Globs of the agent types whose stop is gated."),
    key("session.context_limit", Kind::Number, "RALPH_CONTEXT_LIMIT", "context-limit", "The part of the context window at which a session is handed over; 0 means never."),
    key("session.context_window", Kind::Integer, "RALPH_CONTEXT_WINDOW", "context-window", "The size of the window in tokens; 0 means as the agent reports it."),
    key("session.stories_per_session", Kind::Choice, "RALPH_STORIES_PER_SESSION", "stories-per-session", "How many stories one session works on, at least 1, or `auto`."),
    key("session.retry", Kind::Choice, "RALPH_SESSION_RETRY", "session-retry", "What another attempt at a story that failed begins with: a `fresh` session of the client, or the last one, by `resume` or `fork`."),
    key("hooks.enabled", Kind::Switch, "HOOKS_ENABLED", "hooks", "Run lifecycle scripts."),
    key("hooks.started", Kind::Switch, "HOOK_STARTED_ENABLED", "", "Run `started`."),
    key("hooks.next_iteration", Kind::Switch, "HOOK_NEXT_ITERATION_ENABLED", "", "Run `next_iteration`."),
    key("hooks.post_iteration", Kind::Switch, "HOOK_POST_ITERATION_ENABLED", "", "Run `post_iteration`."),
    key("hooks.finished", Kind::Switch, "HOOK_FINISHED_ENABLED", "", "Run `finished`."),
    key("hooks.timeout", Kind::Seconds, "HOOK_TIMEOUT", "hook-timeout", "How long a lifecycle script may take; 0 means no limit."),
    key("hooks.fail_behavior", Kind::Choice, "HOOK_FAIL_BEHAVIOR", "hook-fail-behavior", "Whether a lifecycle script that breaks ends the run: `continue` or `abort`."),
    key("tests.commands", Kind::List, "RALPH_TESTS", "", "Your own test commands, where they are not recognised by themselves."),
    key("tests.files", Kind::List, "RALPH_TEST_FILES", "", "Globs of test files, where they are not recognised by themselves."),
    key("tests.weakened", Kind::Choice, "RALPH_TESTS_WEAKENED", "", "What happens when fewer tests run or they check less than before a story: `report`, `refuse` or `ignore`."),
    key("workspace.in_place", Kind::Switch, "RALPH_IN_PLACE", "in-place", "Let the agent work in the project's own tree, which must be clean, instead of in a copy."),
    key("workspace.folder", Kind::Text, "RALPH_WORKSPACE_FOLDER", "workspace-folder", "Where copies are kept; empty means the cache folder."),
    key("workspace.setup", Kind::List, "RALPH_SETUP", "setup", "Commands that make a new copy ready, such as `npm ci`; run again when a lock file changed."),
    key("workspace.setup_timeout", Kind::Seconds, "RALPH_SETUP_TIMEOUT", "setup-timeout", "How long each setup command may take; 0 means no limit."),
    key("workspace.include_limit_mb", Kind::Integer, "RALPH_INCLUDE_LIMIT_MB", "include-limit-mb", "How many megabytes of ignored files `.worktreeinclude` may bring into a copy."),
    key("workspace.keep", Kind::Integer, "RALPH_KEEP", "keep", "How many attempts at finished stories, logs and session folders are kept; the oldest go first."),
    key("commit.message", Kind::Text, "RALPH_COMMIT_MESSAGE", "commit-message", "The first line of a story's commit; `{type}`, `{id}` and `{title}` stand for those of the story."),
    key("commit.type", Kind::Text, "RALPH_COMMIT_TYPE", "commit-type", "The type of a story's commit, where its title does not begin with one."),
];

impl Key {
    /// The key of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }
}
