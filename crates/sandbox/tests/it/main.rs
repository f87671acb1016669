//! Real programs and files inside the sandbox. Needs a kernel with Landlock, version 3 or later.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests start programs, touch files and fail loudly"
)]

#[cfg(not(ralph_portable))]
mod allowed;
#[cfg(ralph_portable)]
mod elsewhere;
#[cfg(not(ralph_portable))]
mod escapes;
mod leavers;
#[cfg(not(ralph_portable))]
mod shared_files;
#[cfg(not(ralph_portable))]
mod world;
