//! The script of the model: one list of turns for each conversation.

use std::collections::VecDeque;

use crate::answer::Answer;
use crate::request::Request;

/// The answer to side questions, and when a list is used up.
const NOTHING_LEFT: &str = "Done.";

/// The turns of the model.
#[derive(Debug, Clone, Default)]
pub struct Script {
    main: VecDeque<Answer>,
    others: Vec<(String, VecDeque<Answer>)>,
}

impl Script {
    /// Creates a script with these turns in the main conversation.
    pub fn of(turns: impl IntoIterator<Item = Answer>) -> Self {
        Self { main: turns.into_iter().collect(), others: Vec::new() }
    }

    /// Adds a separate conversation, of a subagent or another session, that is recognized by a
    /// passage of its first message.
    #[must_use]
    pub fn with_conversation(
        mut self,
        passage: &str,
        turns: impl IntoIterator<Item = Answer>,
    ) -> Self {
        self.others.push((passage.to_owned(), turns.into_iter().collect()));
        self
    }

    /// Returns the answer to this request. A refused request is repeated and gets the next turn; if
    /// there is none, it is refused again.
    pub(crate) fn next(&mut self, request: &Request) -> Answer {
        let nothing = || Answer::text(NOTHING_LEFT);
        if !request.is_conversation() {
            return nothing();
        }
        let first = request.first_message();
        let other = self.others.iter_mut().find(|(passage, _)| first.contains(passage.as_str()));
        let turns = other.map_or(&mut self.main, |(_, turns)| turns);
        match turns.front() {
            Some(last) if turns.len() == 1 && last.refusal.is_some() => last.clone(),
            _ => turns.pop_front().unwrap_or_else(nothing),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn request(tool: &str, first: &str) -> Request {
        let body = json!({
            "tools": [{"name": tool}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": first}]}],
        });
        Request::new("/v1/messages", body)
    }

    #[test]
    fn conversations_differ_in_their_first_message() {
        let mut script = Script::of([Answer::text("main")])
            .with_conversation("count the files", [Answer::text("sub")]);
        assert_eq!(script.next(&request("Bash", "please count the files")), Answer::text("sub"));
        assert_eq!(script.next(&request("Bash", "build it")), Answer::text("main"));
        assert_eq!(script.next(&request("Bash", "build it")), Answer::text("Done."));
    }

    #[test]
    fn a_refusal_at_the_end_is_final() {
        let mut script = Script::of([Answer::text("main"), Answer::wrong_key()]);
        assert_eq!(script.next(&request("Bash", "build it")), Answer::text("main"));
        for _ in 0..2 {
            assert_eq!(script.next(&request("Bash", "build it")), Answer::wrong_key());
        }
    }

    #[test]
    fn side_questions_use_up_no_turn() {
        let mut script = Script::of([Answer::text("main")]);
        assert_eq!(script.next(&request("WebSearch", "a title?")), Answer::text("Done."));
        assert_eq!(script.next(&Request::new("/", Value::Null)), Answer::text("Done."));
        assert_eq!(script.next(&request("Bash", "Warmup")), Answer::text("Done."));
        assert_eq!(script.next(&request("Bash", "build it")), Answer::text("main"));
    }
}
