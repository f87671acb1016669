//! Runs the user's notification command when a person is needed, or when the run has ended.

use std::collections::BTreeMap;

use camino::Utf8Path;
use ralph_base::supervised::Door;
use ralph_project::checks::CheckEnd;
use serde_json::json;

use super::decide::Finish;
use super::scripts::{how_it_failed, supervise};
use super::state::Conductor;
use client::signals::Signal;

/// The command's name in its output and in the journal.
const NAME: &str = "notify";

/// The content of a notification.
#[derive(Debug, Clone, Default)]
pub(super) struct Notice<'a> {
    /// `blocked`, `waiting`, `budget` or `finished`.
    pub(super) event: &'static str,
    pub(super) story: &'a str,
    pub(super) reason: &'a str,
    pub(super) finish_type: &'a str,
    pub(super) report: Option<&'a Utf8Path>,
}

impl Notice<'_> {
    /// The message as one line.
    fn message(&self, project: &str) -> String {
        let reason = self.reason.lines().next().unwrap_or_default();
        let what = match self.event {
            "blocked" => format!("{} is blocked: {reason}", self.story),
            _ if reason.is_empty() => format!("the run ended: {}", self.finish_type),
            "waiting" => reason.to_owned(),
            _ => format!("the run ended: {} ({reason})", self.finish_type),
        };
        format!("{project}: {what}")
    }
}

/// Notifies of the end of the run, unless the user interrupted it and is therefore present.
pub(super) fn notify_end(run: &Conductor, finish: &Finish, report: Option<&Utf8Path>) {
    if run.context.interrupts.signal() == Some(Signal::Interrupt) {
        return;
    }
    let event = if matches!(finish, Finish::Budget(_)) { "budget" } else { "finished" };
    let reason = finish.reason().unwrap_or_default();
    notify(run, &Notice { event, reason, finish_type: finish.word(), report, story: "" });
}

/// Runs the user's command. Its failure does not end the run.
pub(super) fn notify(run: &Conductor, notice: &Notice<'_>) {
    let (context, view) = (&run.context, &run.view);
    let line = context.config.notify.command.trim();
    if line.is_empty() {
        return;
    }
    let root = context.project.root();
    let message = notice.message(root.file_name().unwrap_or_default());
    let vars = [
        ("EVENT", notice.event.to_owned()),
        ("STORY", notice.story.to_owned()),
        ("REASON", notice.reason.to_owned()),
        ("MESSAGE", message.clone()),
        ("FINISH_TYPE", notice.finish_type.to_owned()),
        ("COST", run.record.tally.cost_for_scripts()),
        ("REPORT", notice.report.map(Utf8Path::to_string).unwrap_or_default()),
        ("PROJECT_DIR", root.to_string()),
        ("PLAN_FILE", run.books.plan.to_string()),
    ];
    // Webhooks expect the message in `text`.
    let input = vars.iter().map(|(name, value)| (name.to_lowercase(), value.clone()));
    let input: BTreeMap<_, _> = input.chain([("text".to_owned(), message)]).collect();
    let input = json!(input).to_string();
    let mut shell = Door::default().command("sh");
    shell.args(["-c", line]);
    let end = supervise(run, (usize::MAX, NAME), shell, &vars, input.as_bytes());
    if !matches!(end, CheckEnd::Exited(Some(0)) | CheckEnd::Stopped) {
        view.warn(format!(
            "the notify command {}",
            how_it_failed(end, context.config.hooks.timeout)
        ));
    }
}
