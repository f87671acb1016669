//! `cargo xtask book`: builds the pages of `docs/` as a site with search, in `target/book`.

use anyhow::Result;

use crate::run;

/// The version of mdbook to install, unless there is one already.
const MDBOOK: &str = "mdbook@^0.5";

/// Runs the task.
pub(crate) fn run() -> Result<()> {
    let found = run::output(run::command("mdbook").arg("--version")).is_ok();
    let own = run::root().join("target/mdbook");
    let program = if found { "mdbook".into() } else { own.join("bin/mdbook") };
    if !found && !program.is_file() {
        run::cargo(&format!("install --locked --root {own} {MDBOOK}"))?;
    }
    run::run(run::command(program.as_str()).args(["build", "docs"]))
}
