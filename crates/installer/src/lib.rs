//! `install` and `uninstall` as a person types them: `ralph-loop` and `cargo xtask` share all of it
//! but where the binaries come from.
//!
//! What an installation changes is worked out by [`ralph_project::install`]; here are the flags, the
//! question to the client and what is shown. Printing is left to the caller.
//!
//! ```no_run
//! use clap::Parser;
//! use installer::Install;
//! use ralph_base::env::Env;
//!
//! #[derive(Parser)]
//! struct Arguments {
//!     #[command(flatten)]
//!     install: Install,
//! }
//!
//! # fn main() -> Result<(), installer::Failure> {
//! let arguments = Arguments::parse();
//! let prepared = arguments.install.prepare(&Env::process())?;
//! prepared.install("/opt/ralph".into(), &mut |text| eprint!("{text}"))
//! # }
//! ```

mod arguments;
mod client;
mod description;
mod procedure;

pub use arguments::{Install, Uninstall};
pub use client::version_text;
pub use procedure::{Failure, Prepared};
