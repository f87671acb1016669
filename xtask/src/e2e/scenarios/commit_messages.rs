//! The commits of the loop, as the usual linter of commit messages judges them.

use anyhow::Result;
use scripted_model::{Answer, Script};

use super::whole_loop::prepare;
use crate::e2e::scenario::Scenario;
use crate::e2e::stage::Stage;
use crate::e2e::{expect, npm};
use crate::run;

pub(super) const SCENARIOS: &[Scenario] =
    &[Scenario::new("loop-commits-pass-commitlint", &[], commitlint)];

const VERSION: &str = "20.5.3";

/// Titles and ids as people write them.
const STORIES: &str = "# Plan

- [ ] US-001: Greet the World.
- [ ] US-002: README for users
- [ ] US-003: GraphQL API
- [ ] US-004: Ärger mit Umlauten vermeiden – und 日本語, und 🎉
- [ ] US-005: fix: the parser
- [ ] US-006: As a user I want a title that is so long that nobody would read it to its end, which \
is why the loop must cut it somewhere 🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉
- [ ] Task 7: Fix(parser): Do It: Now
- [ ] 8. HTTP
";

/// Lines of an agent that a linter could take for something else.
const SUMMARY: &str = "Done.\n\n# Heading\nBREAKING CHANGE: none\nCloses #3\n\
                       A sentence that goes on and on, with so many words that it does not fit into \
                       one line of a commit message by any means, so that it must be wrapped.\n\
                       https://example.invalid/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\
                       aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// Checks that are too long for a line.
const CONFIG: &str = r#"[verify]
commands = [
  "test -e README.md || true",
  "test aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
  "true",
]
"#;

fn commitlint(stage: &mut Stage<'_>) -> Result<()> {
    prepare(stage, STORIES, CONFIG)?;
    let before = stage.repo.git(["rev-parse", "HEAD"]);
    let count = STORIES.matches("- [ ]").count();
    let turns = (0..count)
        .map(|story| [Answer::bash(&format!("echo x >{story}.txt")), Answer::text(SUMMARY)]);
    let run = stage.run_loop(Script::of(turns.flatten()))?;
    expect::same("the loop's exit code", &run.exit_code, &Some(0))?;
    let commits = stage.repo.git(["rev-list", "--count", &format!("{}..", before.trim())]);
    expect::same("the commits", &commits.trim().parse(), &Ok(count + 1))?;
    let uncommitted = stage.repo.git(["status", "--porcelain"]);
    expect::same("what is uncommitted", &uncommitted, &String::new())?;
    let packages = ["cli", "config-conventional"];
    let packages = packages.map(|name| format!("@commitlint/{name}@{VERSION}"));
    let folder = npm::packages(&format!("commitlint-{VERSION}"), &packages)?;
    let config = folder.join("commitlint.config.mjs");
    fs_err::write(&config, "export default { extends: ['@commitlint/config-conventional'] };\n")?;
    let mut linter = run::command("node");
    linter.arg(folder.join("node_modules/@commitlint/cli/cli.js"));
    linter.args(["--config", config.as_str(), "--from", before.trim(), "--verbose"]);
    let linted = linter.current_dir(stage.root()).output()?;
    let told = String::from_utf8_lossy(&linted.stdout);
    expect::that(linted.status.success(), &format!("commitlint accepts all commits: {told}"))?;
    let judged = told.matches("found 0 problems").count();
    expect::same("the messages that were judged", &judged, &(count + 1))
}
