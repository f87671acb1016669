//! What the agent is told: its prompt, and the variables around it. Its log is opened here as well.

use std::fs::File;

use ralph_core::config::{self, KEYS, Key, Kind};
use ralph_core::env::STEERING;
use ralph_core::plan::progress;
use ralph_core::prompt::Values;
use ralph_core::settle::{self, Attempt};
use ralph_core::state;

use super::prepare::template;
use super::stage::Stage;
use crate::agent::is_found;
use crate::exit::Failure;
use crate::install::folder_of_this_program;
use crate::locks::LOOP;

/// How much of earlier entries, lessons and failures a prompt holds.
const ENTRIES: usize = 5;
const LONGEST_PART: usize = 16 * 1024;

impl Stage {
    /// What the agent's client and its hooks are told. Settings that were given as flags reach the
    /// hooks as variables, because a hook sees no flags.
    pub(super) fn agent_variables(&self) -> Vec<(String, String)> {
        let mut vars = vec![
            ("RALPH_RUN".to_owned(), self.run.clone()),
            ("RALPH_ROOT".to_owned(), self.project.root().to_string()),
            ("PLAN_PATH".to_owned(), self.plan.to_string()),
            (STEERING.to_owned(), settle::steering_fingerprint(self.state(), &self.plan)),
        ];
        vars.extend(self.path_with_us().map(|path| ("PATH".to_owned(), path)));
        let settled = ["loop.plan", "loop.prd"];
        for Key { name, env, kind, .. } in KEYS.iter().filter(|key| !settled.contains(&key.name)) {
            let given = self.flags.iter().filter(|flag| flag.key == *name);
            let mut values: Vec<&str> = given.map(|flag| flag.value.as_str()).collect();
            let (Some(env), false) = (env, values.is_empty()) else { continue };
            let value = match kind {
                Kind::List => config::as_variable(&values),
                _ => values.pop().unwrap_or_default().to_owned(),
            };
            vars.push(((*env).to_owned(), value));
        }
        vars
    }

    /// Where programs are looked for, with the folder of this one at its end; none if `ralph-loop` is
    /// found already. The prompt tells the agent to run it.
    fn path_with_us(&self) -> Option<String> {
        if self.path.is_empty() || is_found(LOOP, &self.path, self.project.root()) {
            return None;
        }
        let folder = folder_of_this_program().filter(|folder| folder.join(LOOP).is_file())?;
        Some(format!("{}:{folder}", self.path))
    }

    pub(super) fn open_log(&self, story: &str, iteration: u64) -> Result<File, Failure> {
        let folder = self.state().logs();
        let path = folder.join(format!("{}-{iteration:03}-{story}.log", self.run));
        Ok(state::open_log(&path)?)
    }

    pub(super) fn prompt(&self, attempt: &Attempt) -> Result<String, Failure> {
        let plan = self.load_plan()?;
        let story = plan.story(&attempt.story);
        let logged = progress::logged(&fs_err::read(&attempt.progress).unwrap_or_default());
        let entries = progress::last_entries(&logged, ENTRIES);
        let guardrails = fs_err::read_to_string(self.state().guardrails()).unwrap_or_default();
        let failure = ralph_core::attempt::last_failure(self.state()).unwrap_or_default();
        let values = Values {
            story_id: &attempt.story,
            story_title: &attempt.title,
            story_details: story.map_or("", |story| &story.details),
            plan_path: attempt.plan.as_str(),
            progress_path: attempt.progress.as_str(),
            progress: end_of(&entries),
            guardrails: end_of(&guardrails),
            failure: end_of(&failure),
            iteration: attempt.iteration,
            max_iterations: self.config.run.max_iterations,
            verify: &self.config.verify.commands,
            spec_dir: &self.config.run.specs,
        };
        Ok(template(&plan)?.render(&values))
    }
}

fn end_of(text: &str) -> &str {
    let mut start = text.len().saturating_sub(LONGEST_PART);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}
