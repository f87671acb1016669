//! Real programs and files inside the sandbox. Needs a kernel with Landlock, version 3 or later.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests start programs, touch files and fail loudly"
)]

mod allowed;
mod escapes;
mod shared_files;
mod world;
