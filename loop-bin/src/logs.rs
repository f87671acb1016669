//! `ralph-loop logs`: what the agent of an attempt said and did, as people read it.

use std::process::ExitCode;
use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use ralph_base::env::Env;
use ralph_base::state::StoryKey;
use run_history::RunHistory;

use crate::exit::Failure;
use crate::here;
use crate::terminal::say;
use client::{Readable, each_line_of_log};

/// Show what the agent said and did in the last attempt, or in the last one at a story
#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// The story's id; with its plan where several have it, such as PRD-1/US-001
    #[arg(value_name = "STORY")]
    story: Option<String>,
}

impl Logs {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let project = here::project(env)?;
        let folder = project.own_state().logs();
        let key = self.story.as_deref().and_then(StoryKey::parse);
        let history = RunHistory::open(project.root(), project.own_state())?;
        let found = match &key {
            Some(key) => history.logs(key).map(|name| folder.join(name)).find(|log| log.is_file()),
            None => newest(&folder, self.story.as_deref()),
        };
        let Some(log) = found else {
            return Err(Failure::because(match &self.story {
                Some(story) => format!("there is no log of an attempt at {story} in {folder}"),
                None => format!("there is no log in {folder}; no agent has run here"),
            }));
        };
        say(format!("{}", here::shown(&log)));
        let mut readable = Readable::default();
        each_line_of_log(&log, 0, |line| readable.lines(line).iter().for_each(say))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The log that was written last, of all agents or of those that worked on a story.
fn newest(folder: &Utf8Path, story: Option<&str>) -> Option<Utf8PathBuf> {
    let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
    let logs = entries.filter(|entry| {
        let of = story_of(entry.file_name());
        of.is_some_and(|of| story.is_none_or(|story| story.eq_ignore_ascii_case(of)))
    });
    let dated = logs.filter_map(|entry| {
        let written: SystemTime = entry.metadata().ok()?.modified().ok()?;
        Some((written, entry.file_name().to_owned(), entry.into_path()))
    });
    dated.max().map(|(_, _, path)| path)
}

/// The story in the name of an agent's log: `<date>-<time>-<process>-<iteration>-<story>.log`.
fn story_of(name: &str) -> Option<&str> {
    let name = name.strip_suffix(".log").filter(|name| !name.ends_with(".review"))?;
    let parts: Vec<&str> = name.splitn(5, '-').collect();
    let [run @ .., story] = parts.as_slice() else { return None };
    // The process of a worker is that of the run and the worker's own number: `77.2`.
    let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if run.len() == 4 && run.iter().all(is_number) { Some(*story) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_story_is_read_from_the_name() {
        for (name, story) in [
            ("20261116-143012-77-001-US-001.log", Some("US-001")),
            ("20261116-143012-77-012-add-login.log", Some("add-login")),
            ("20261116-143012-77.2-003-US-003.log", Some("US-003")),
            ("20261116-143012-77-012-US-1.review.log", None),
            ("report-20261116-143012-77.html", None),
            ("notes.log", None),
        ] {
            assert_eq!(story_of(name), story, "{name}");
        }
    }
}
