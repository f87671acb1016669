//! Lets the stop hook ask the loop a question: two files with a common path prefix, which the loop
//! passes in the environment of its agent.
//!
//! The hook does not wait for ever: it gives up when its patience ends or the loop is gone. An
//! answer names its question, so that a late one is ignored. The client may run several stop hooks
//! at once; the one that asks holds [`Mailbox::lock`].

use std::io;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use ralph_base::state::{self, Lock, StateDir};

/// How often the hook checks for the answer.
const PULSE: Duration = Duration::from_millis(10);

/// How often it checks whether the loop is still running.
const LOOK: Duration = Duration::from_millis(250);

/// What the hook asks: the session wants to stop, may it?
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    /// The id of this question.
    pub id: String,
    /// The session.
    pub session: String,
    /// The agent's last message.
    pub said: Option<String>,
}

/// The answer of the loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Continue, with this text.
    GoOn(String),
    /// Stop, and why.
    Stop(String),
}

#[derive(Debug, Serialize, Deserialize)]
struct Letter {
    to: String,
    answer: Answer,
}

/// The files for question and answer.
#[derive(Debug, Clone)]
pub struct Mailbox {
    path: Utf8PathBuf,
}

impl Mailbox {
    /// Returns the mailbox whose files begin with this path.
    pub fn at(path: Utf8PathBuf) -> Self {
        Self { path }
    }

    fn question(&self) -> Utf8PathBuf {
        let [question, ..] = StateDir::mailbox_files(&self.path);
        question
    }

    fn answer(&self) -> Utf8PathBuf {
        let [_, answer, _] = StateDir::mailbox_files(&self.path);
        answer
    }

    /// Returns the lock file for asking: two questions at once would overwrite each other.
    pub fn lock(&self) -> Utf8PathBuf {
        let [.., lock] = StateDir::mailbox_files(&self.path);
        lock
    }

    /// Empties the mailbox before an agent is started.
    pub fn empty(&self) -> io::Result<()> {
        state::remove_if_there(self.question())?;
        state::remove_if_there(self.answer())
    }

    /// Asks, and waits for the answer; `None` if the patience ends first, or if nobody holds the
    /// loop's lock any more.
    pub fn ask(
        &self,
        question: &Question,
        lock: &Utf8Path,
        patience: Duration,
    ) -> io::Result<Option<Answer>> {
        state::remove_if_there(self.answer())?;
        state::replace_unsynced(&self.question(), &serde_json::to_vec(question)?)?;
        let (begun, mut looked) = (Instant::now(), Instant::now());
        while begun.elapsed() < patience {
            if let Some(answer) = self.answer_to(&question.id) {
                self.empty()?;
                return Ok(Some(answer));
            }
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                if Lock::holder(lock).is_none() {
                    break;
                }
            }
            std::thread::sleep(PULSE);
        }
        self.empty()?;
        Ok(None)
    }

    fn answer_to(&self, id: &str) -> Option<Answer> {
        let letter: Letter = serde_json::from_slice(&state::read(self.answer()).ok()?).ok()?;
        (letter.to == id).then_some(letter.answer)
    }

    /// Returns the question that waits for an answer, if any. An unreadable file is not a question.
    pub fn waiting(&self) -> Option<Question> {
        serde_json::from_slice(&state::read(self.question()).ok()?).ok()
    }

    /// Answers a question. Another one that came in the meantime is kept.
    pub fn reply(&self, question: &Question, answer: Answer) -> io::Result<()> {
        if self.waiting().is_some_and(|waiting| waiting.id == question.id) {
            state::remove_if_there(self.question())?;
        }
        let letter = Letter { to: question.id.clone(), answer };
        state::replace_unsynced(&self.answer(), &serde_json::to_vec(&letter)?)
    }
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn a_late_answer_is_not_used_for_another_question() {
        let scratch = Scratch::new();
        let (lock_path, mailbox) = (scratch.path("lock"), Mailbox::at(scratch.path("mailbox")));
        let _lock = Lock::take(&lock_path, "test").unwrap();
        let question = |id: &str| Question { id: id.into(), ..Question::default() };
        // Nobody answers the first question in time.
        let asked = mailbox.ask(&question("q1"), &lock_path, Duration::ZERO).unwrap();
        assert_eq!((asked, mailbox.waiting()), (None, None), "patience ends");
        std::thread::scope(|scope| {
            let ask = || mailbox.ask(&question("q2"), &lock_path, Duration::from_secs(60)).unwrap();
            let asking = scope.spawn(ask);
            test_support::until("it is asked", || mailbox.waiting().is_some());
            mailbox.reply(&question("q1"), Answer::Stop("late".into())).unwrap();
            assert_eq!(mailbox.waiting(), Some(question("q2")));
            mailbox.reply(&question("q2"), Answer::Stop("done".into())).unwrap();
            assert_eq!(asking.join().unwrap(), Some(Answer::Stop("done".into())));
        });
    }

    #[test]
    fn a_pipe_in_place_of_the_answer_does_not_block() {
        let scratch = Scratch::new();
        let (lock_path, mailbox) = (scratch.path("lock"), Mailbox::at(scratch.path("mailbox")));
        let _lock = Lock::take(&lock_path, "test").unwrap();
        std::thread::scope(|scope| {
            let question = Question { id: "q1".into(), ..Question::default() };
            let patience = Duration::from_millis(200);
            let asking = scope.spawn(move || mailbox.ask(&question, &lock_path, patience).unwrap());
            test_support::until("it is asked", || scratch.path("mailbox-question.json").exists());
            scratch.pipe("mailbox-answer.json");
            assert_eq!(asking.join().unwrap(), None);
        });
    }
}
