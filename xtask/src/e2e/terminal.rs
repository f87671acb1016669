//! The client as a person sees it: on a terminal, which `script` provides.

use anyhow::Result;
use scripted_model::Script;
use serde_json::{Map, Value, json};

use super::session::Run;
use super::stage::Stage;
use crate::run;

/// Gives its command a terminal of this size. Nobody types: the standard input is a pipe that is never
/// written to and never ends.
const ON_TERMINAL: &str = r#"mkfifo "$HOME/keys" && exec script -qec "stty cols 120 rows 40 && exec $LINE" /dev/null <>"$HOME/keys""#;

impl Stage<'_> {
    /// Runs the client on a terminal, with this prompt, until this file of the home folder is there.
    pub(super) fn run_on_terminal(
        &mut self,
        file: &str,
        prompt: &str,
        script: Script,
    ) -> Result<Run> {
        self.answer_first_questions()?;
        let words = self.client.command.iter().map(String::as_str);
        let quoted = words
            .chain(["--permission-mode=acceptEdits", "--allowedTools=Bash", prompt])
            .map(|word| format!("'{word}'"));
        let mut command = run::command("sh");
        command.args(["-c", ON_TERMINAL]).env("TERM", "xterm-256color");
        command.env("LINE", quoted.collect::<Vec<_>>().join(" "));
        let sign = self.home().join(file);
        self.watch(command, script, Some(&sign))
    }

    /// What the client asks a person at its first start, and in each new folder.
    fn answer_first_questions(&self) -> Result<()> {
        let path = self.home().join(".claude.json");
        let text = fs_err::read_to_string(&path).unwrap_or_default();
        let mut known: Map<String, Value> = serde_json::from_str(&text).unwrap_or_default();
        known.insert("hasCompletedOnboarding".to_owned(), true.into());
        known.insert("theme".to_owned(), "dark".into());
        let keys = json!({"approved": ["scripted"], "rejected": []});
        known.insert("customApiKeyResponses".to_owned(), keys);
        let folder = json!({self.root().as_str(): {"hasTrustDialogAccepted": true}});
        known.insert("projects".to_owned(), folder);
        fs_err::create_dir_all(self.home())?;
        Ok(fs_err::write(path, Value::Object(known).to_string())?)
    }
}
