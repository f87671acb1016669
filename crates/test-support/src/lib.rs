//! Scratch folders, real repositories and collections of cases for the tests of this workspace.
//!
//! Nothing here is a mock: repositories are made by the real git and programs are really started,
//! with an environment of their own.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "test code starts programs and fails loudly"
)]

mod key_shapes;
mod labelled_commands;
mod linux;
mod processes;
mod program;
mod repo;
mod scratch;
mod screen;
mod terminal;
pub mod test_runs;

pub use key_shapes::{KeyShape, key_shapes};
pub use labelled_commands::{COMMAND_TABLES, LabelledCommand, labelled_commands};
pub use linux::{exchange, is_alive};
pub use processes::{signal, started_with, until};
pub use program::{gh_is_there, on_a_disk_that_ignores_case, own_mounts, program, run_with_input};
pub use repo::{Fingerprint, TestRepo};
pub use scratch::{Scratch, fixtures};
pub use screen::{coloured_screen_with, screen_of, screen_with};
pub use terminal::{interrupted_on_columns, run_on_columns, run_on_terminal, typed_on_columns};
