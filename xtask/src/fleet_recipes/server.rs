//! A git server with a plan, and what must be there when a fleet has done it.

use anyhow::{Result, ensure};
use camino::Utf8PathBuf;

use super::stage::Stage;
use crate::run;

const PLAN: &str = "IMPLEMENTATION_PLAN.md";

/// The agent does a story by writing a file.
const CONFIG: &str = "\
[agent]
command = 'cat >/dev/null; story=$(cat \"$RALPH_STORY_FILE\"); sleep 1; echo \"$story\" >\"$story.txt\"'
[verify]
commands = 'for file in US-*.txt; do [ ! -e \"$file\" ] || [ \"$(cat \"$file\")\" = \"${file%.txt}\" ] || exit 1; done'
";

/// A repository that is only pushed to.
pub(super) struct Server<'a> {
    stage: &'a Stage,
    pub(super) path: Utf8PathBuf,
    stories: usize,
}

impl<'a> Server<'a> {
    /// One whose plan has so many stories.
    pub(super) fn new(stage: &'a Stage, name: &str, stories: usize) -> Result<Self> {
        let server = Self { stage, path: stage.scratch.path(name), stories };
        let seed = format!("{name}-seed");
        let plan: String = (1..=stories).map(|n| format!("- [ ] {}: Story {n}\n", id(n))).collect();
        stage.scratch.file(&format!("{seed}/{PLAN}"), plan);
        stage.scratch.file(&format!("{seed}/.ralph/config.toml"), CONFIG);
        let seed = stage.scratch.path(&seed);
        let git = |args: &[&str]| run::output(stage.command("git").args(args).current_dir(&seed));
        git(&["init", "--quiet", "--bare", "--initial-branch=main", server.path.as_str()])?;
        git(&["init", "--quiet", "--initial-branch=main"])?;
        git(&["add", "--all"])?;
        git(&["commit", "--quiet", "--message", "A plan"])?;
        git(&["push", "--quiet", server.path.as_str(), "main"])?;
        Ok(server)
    }

    /// Makes it take nothing but branches.
    pub(super) fn takes_only_branches(self) -> Self {
        let hook = format!("{}/hooks/update", self.path.file_name().unwrap_or_default());
        let script = "#!/bin/sh\ncase $1 in refs/heads/*) ;; *) exit 1 ;; esac\n";
        self.stage.scratch.script(&hook, script);
        self
    }

    /// Each story is on the branch once, nobody claims one, and so many machines took part.
    pub(super) fn expect_done_by(&self, machines: usize) -> Result<()> {
        let subjects = self.git(&["log", "--format=%s", "main"])?;
        for n in 1..=self.stories {
            let begin = format!("feat({}): ", id(n));
            let landed = subjects.lines().filter(|subject| subject.starts_with(&begin)).count();
            ensure!(landed == 1, "{} landed {landed} times:\n{subjects}", id(n));
            let file = self.git(&["show", &format!("main:{}.txt", id(n))])?;
            ensure!(file.trim() == id(n), "{}.txt says {file}", id(n));
        }
        let plan = self.git(&["show", &format!("main:{PLAN}")])?;
        ensure!(plan.matches("- [x] ").count() == self.stories, "not all are ticked:\n{plan}");
        let refs = self.git(&["for-each-ref", "--format=%(refname)"])?;
        ensure!(!refs.contains("/claims/"), "claims are left:\n{refs}");
        let took_part = refs.matches("/machines/").count();
        ensure!(took_part == machines, "{took_part} machines took part, not {machines}:\n{refs}");
        Ok(())
    }

    /// Runs git there.
    pub(super) fn git(&self, args: &[&str]) -> Result<String> {
        run::output(self.stage.command("git").args(args).current_dir(&self.path))
    }
}

fn id(n: usize) -> String {
    format!("US-{n:03}")
}
