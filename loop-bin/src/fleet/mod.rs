//! Many machines, one git server: `--fleet REMOTE`.
//!
//! A machine is a loop whose target is a branch on the server. Nothing else is shared:
//!
//! | ref on the server | what it is | who writes it |
//! | --- | --- | --- |
//! | the target | each commit has a story's work and its tick | whoever lands, by compare-and-swap |
//! | `machines/<name>` | what a machine has done, and its heartbeat | that machine |
//! | `claims/<story>` | which machine works on the story | whoever takes it, by compare-and-swap |
//!
//! What lands once is decided by the target alone: a commit is pushed only onto the commit on which it
//! was checked, in whose plan its story is open. Claims only spare machines from doing the same work; so
//! a claim that is lost, late or doubled costs time and nothing else.
//!
//! | file | what it knows |
//! | --- | --- |
//! | `rules.rs` | who may take a story, what becomes of checked work, who is gone; pure |
//! | `server.rs` | the only door to the server |
//! | `machine.rs` | a machine as the server has it |
//! | `heart.rs` | what tells the others that a machine is at work |
//! | `member.rs` | a machine's part: it joins, claims stories and leaves |
//! | `model/` | all that can happen to three machines, as a test |
//! | `status.rs` | `ralph-loop fleet status` |

mod heart;
mod machine;
mod member;
#[cfg(test)]
mod model;
mod rules;
mod server;
mod status;

pub(crate) use machine::machines;
pub(crate) use member::{Claimed, Joining, Member};
pub(crate) use server::{Pushed, Server, TARGETS, Update, forget_server, target_of};
pub(crate) use status::{Fleet, of_project};
