//! How an attempt becomes a commit and a tick, or neither.
//!
//! [`begin`] writes down where an attempt starts; [`settle`] ends one that the agent finished well:
//! it runs the user's checks, commits, ticks and logs, in an order that a crash cannot break.
//! The tick is part of the same commit where git sees the plan; a marker on disk covers the time
//! between the two, and [`recover`] finishes or undoes what the marker tells of.
//! The loop and the stop hook both settle this way; what happens to an attempt that failed is the
//! loop's to decide.
//!
//! ```
//! use ralph_core::config::Config;
//! use ralph_core::git::Repo;
//! use ralph_core::plan::{self, Next, Options};
//! use ralph_core::settle::{self, Onlooker, Outcome, Place, Report};
//! use ralph_core::state::{Journal, StateDir};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let test = test_support::TestRepo::new();
//! # let root = test.root();
//! # test.git(["config", "user.name", "Test"]);
//! # test.git(["config", "user.email", "test@localhost"]);
//! # let plan_path = root.join(".ralph/PRD-1/plan.md");
//! # test.write(".ralph/PRD-1/plan.md", "- [ ] US-001: Greet\n");
//! let (repo, state, config) = (Repo::open(root)?, StateDir::of_project(root), Config::default());
//! let journal = Journal::new(&state, "my-loop");
//! let place =
//!     Place { root, repo: &repo, state: &state, config: &config, journal: &journal, run: "r1" };
//! let plan = plan::load(&plan_path, &Options::default())?;
//! let Next::Story(story) = plan.next_story(&Default::default()) else { panic!("all done") };
//! let attempt = settle::begin(&place, &plan, story, 1)?;
//!
//! # test.write("hello.txt", "hello\n");
//! // … the agent works …
//! let outcome = settle::settle(&place, &attempt, &Report::default(), Onlooker::default())?;
//! assert!(matches!(outcome, Outcome::Done(_)));
//! assert_eq!(repo.git().line(&["log", "-1", "--format=%s"])?, "feat(US-001): Greet");
//! # Ok(())
//! # }
//! ```

mod attempt;
mod bookkeeping;
mod changed;
mod check;
mod checked;
mod claim;
mod commit;
mod interrupted;
mod left_out;
mod marker;
mod named_files;
mod nested;
mod open_tasks;
mod own_commit;
mod plan_sighting;
mod procedure;
mod receipts;
mod recover;
mod repaired_plan;
mod repository;
mod scope;
mod steering;
mod taken_out;
mod uncovered;

pub use attempt::{
    Attempt, begin, begin_after, end, find_checkpoint_again, forget, progress_path, resume,
};
pub use bookkeeping::{log_progress, progress_entry};
pub use changed::changed_files;
pub use check::{Bench, Check, CheckEnd, RUN_MARK, finds_in_project, one_line, run_checks};
pub use checked::Onlooker;
pub use claim::{Claim, ClaimStatus, is_marked_blocked};
pub use interrupted::{
    abandon, committed, is_moved_since, is_of_another_branch, is_plan_committed, is_settling,
};
pub use left_out::leave_out;
pub use named_files::{first_few, named_files};
pub use open_tasks::open_tasks;
pub use own_commit::is_by_nobody;
pub use plan_sighting::PlanWatch;
pub use procedure::{Done, Outcome, Place, Report, SettleError, mark_blocked, settle};
pub use receipts::log_receipts;
pub use recover::{Recovered, recover};
pub use repaired_plan::{put_plan_in_place, repair_interrupted, repair_plan};
pub use repository::refuse_replaced;
pub use steering::steering_fingerprint;
pub use taken_out::keep_taken_out;
