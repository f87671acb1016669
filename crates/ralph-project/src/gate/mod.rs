//! Gates: may the session stop, and if not, what is left to do?
//!
//! Each gate takes the content of a state file and returns nothing, or what is unmet and the next
//! step. A missing file is no gate; a broken one is reported and blocks nobody. Every request to
//! block passes through [`Blocks`], which limits them. What users and other tools need to know
//! is in `docs/hooks.md`.
//!
//! ```
//! use ralph_project::gate::{QualityGate, Stage, reason};
//!
//! let types = Stage {
//!     name: "types".into(),
//!     status: "failed".into(),
//!     details: "3 type errors found".into(),
//! };
//! let quality = QualityGate { stages: vec![types], ..Default::default() };
//! let unmet = quality.gate("quality-gate.json".into()).into_iter().collect::<Vec<_>>();
//! assert_eq!(
//!     reason(&unmet, &[]),
//!     "QUALITY gate failed: types: 3 type errors found. Next: fix what is reported, \
//!      run `types` again, and record the new result in quality-gate.json."
//! );
//! ```
//!
//! | file | what it knows |
//! | --- | --- |
//! | `state_file.rs` | how the files are read and written |
//! | `orchestrator.rs`, `loop_state.rs`, `quality.rs`, `tasks.rs` | one file each, and its gate |
//! | `recorded.rs` | what a session claims about its verification, and which claims are rejected |
//! | `work.rs` | the gates on the work itself |
//! | `unmet.rs` | what a gate reports |
//! | `blocks.rs` | how often a session was blocked |
//! | `continuation.rs` | what comes next in a plan |
//! | `context.rs`, `last_stop.rs` | the context window; how a session last stopped |

mod blocks;
mod context;
mod continuation;
mod last_stop;
mod loop_state;
mod orchestrator;
mod quality;
mod recorded;
mod state_file;
mod tasks;
mod unmet;
mod work;

pub use blocks::{BlockLimits, Blocks, Cause, LetGo, Moment, Row, Who, ask_on_disk, note_on_disk};
pub use context::{ContextWindows, Fill, handoff_note};
pub use continuation::{
    IterationCount, NextStep, Ticking, counted_up, instruction, next_step, remaining,
};
pub use last_stop::{LastStop, StopStatus};
pub use loop_state::LoopState;
pub use orchestrator::Orchestrator;
pub use quality::{QualityGate, Stage};
pub use recorded::{Said, new_loop, new_orchestrator};
pub use state_file::{Broken, Reading, StateFile, write as write_state};
pub use tasks::{Task, Tasks};
pub use unmet::{Unmet, reason};
pub use work::{
    VERIFY, current_story, is_gated, last_verdict, uncommitted, uncommitted_advice, verify,
};
