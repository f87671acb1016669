//! Several stories in one session of our loop: the hook asks the loop and follows the answer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ralph_base::env::MAILBOX;
use ralph_base::state::{Lock, RunDir};
use ralph_project::mailbox::{Answer, Mailbox, Question};

use super::{Stage, payload};
use crate::run::{RUN, begin, hold_lock};

const SEVERAL: &str = "[session]\nstories_per_session = 9\n";

/// The loop's end of the mailbox.
struct Looping {
    stage: Stage,
    mailbox: Mailbox,
    lock: Option<Lock>,
}

impl Looping {
    /// Creates a loop that works on US-001 in a project with this configuration.
    fn new(config: &str) -> Self {
        let stage = Stage::new().with("RALPH_RUN", RUN);
        stage.write(".ralph/PRD-1/plan.md", "- [ ] US-001: One\n- [ ] US-002: Two\n");
        stage.write(".ralph/config.toml", config).write(".ralph/current-story", "US-001\n");
        begin(stage.repo.root(), stage.repo.root(), RUN);
        let run = RunDir::of_project(stage.repo.root()).unwrap();
        let lock = Some(hold_lock(stage.repo.root()));
        let folder = run.root().join("mailbox");
        let stage = stage.with(MAILBOX, folder.as_str());
        Self { stage, mailbox: Mailbox::at(folder), lock }
    }

    /// Answers all questions while `what` runs; returns the result of `what` and the questions.
    fn answering<T>(&self, answer: &Answer, what: impl FnOnce() -> T) -> (T, Vec<Question>) {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| {
                let mut asked = Vec::new();
                while !over.load(Ordering::Relaxed) {
                    if let Some(question) = self.mailbox.waiting() {
                        self.mailbox.reply(&question, answer.clone()).unwrap();
                        asked.push(question);
                    }
                    std::thread::sleep(Duration::from_millis(2));
                }
                asked
            });
            let result = what();
            over.store(true, Ordering::Relaxed);
            (result, asked.join().unwrap())
        })
    }

    /// Sends a stop after some work; returns the reason of a block and the number of questions.
    fn stop(&self, session: &str, active: bool, answer: &Answer) -> (Option<String>, usize) {
        self.stage.work();
        let (held, asked) = self.answering(answer, || self.stage.stop(session, active));
        (held, asked.len())
    }
}

fn go_on() -> Answer {
    Answer::GoOn("US-001 is done.\nNext story: US-002: Two".to_owned())
}

#[test]
fn the_loop_is_asked_and_its_answer_continues_the_session() {
    let looping = Looping::new(SEVERAL);
    let mut input = payload("Stop-first");
    input["last_assistant_message"] = "All green.".into();
    let (answer, asked) = looping.answering(&go_on(), || looping.stage.send(&input));
    assert_eq!(answer.blocked.unwrap(), "US-001 is done.\nNext story: US-002: Two");
    let [question] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((question.session.as_str(), question.said.as_deref()), ("s1", Some("All green.")));
    assert!(!question.id.is_empty());
    let event = looping.stage.last_event();
    assert_eq!(event["event"], "stop_blocked");
    assert_eq!(event["reasons"], serde_json::json!(["US-001 is done."]));
    assert_eq!(looping.mailbox.waiting(), None);
}

#[test]
fn the_loop_ends_the_session_with_a_reason() {
    let looping = Looping::new(SEVERAL);
    // A gate is unmet, but the answer of the loop takes precedence.
    looping.stage.state("s1", "tasks/1.json", r#"{"status":"pending"}"#);
    let stop = Answer::Stop("no iterations are left".to_owned());
    assert_eq!(looping.stop("s1", false, &stop), (None, 1));
    assert_eq!(looping.stage.allowed(), ("allowed".into(), "no iterations are left".into()));
    assert!(!looping.stage.exists(".ralph/sessions.log"), "the loop judges the story");
}

#[test]
fn only_the_session_of_the_run_asks_and_only_for_several_stories() {
    let check = |looping: &Looping, session: &str, asked: usize| {
        assert_eq!(looping.stop(session, false, &Answer::Stop("x".into())), (None, asked));
    };
    check(&Looping::new(SEVERAL), "s1", 1);
    check(&Looping::new("[session]\nstories_per_session = 2\n"), "s1", 1);
    check(&Looping::new("[session]\nstories_per_session = 1\n"), "s1", 0);
    check(&Looping::new(""), "s1", 0);
    let looping = Looping::new(SEVERAL);
    looping.stage.write(".ralph/state/working-session", "s1");
    check(&looping, "started-by-the-agent", 0);
    check(&looping, "s1", 1);
    begin(looping.stage.repo.root(), looping.stage.repo.root(), "another-run");
    check(&looping, "s1", 0);
    let without = |name: &str| {
        let mut looping = Looping::new(SEVERAL);
        looping.stage.vars.retain(|(variable, _)| variable != name);
        looping
    };
    check(&without(MAILBOX), "s1", 0);
    check(&without("RALPH_RUN"), "s1", 0);
}

#[test]
fn without_an_answer_the_other_gates_decide() {
    let mut looping = Looping::new(SEVERAL);
    looping.stage.state("s1", "tasks/1.json", r#"{"status":"pending"}"#);
    looping.lock = None;
    let begun = Instant::now();
    assert!(looping.stage.stop("s1", false).unwrap().starts_with("TASKS gate failed"));
    assert_eq!(looping.stage.stop("s1", true), None);

    // The loop ends while the hook waits for its answer.
    let mut looping = Looping::new(SEVERAL);
    let lock = looping.lock.take();
    std::thread::scope(|scope| {
        let stop = scope.spawn(|| looping.stage.stop("s1", false));
        test_support::until("it is asked", || looping.mailbox.waiting().is_some());
        drop(lock);
        assert_eq!(stop.join().unwrap(), None);
    });
    assert_eq!(looping.stage.allowed().0, "allowed");
    assert!(begun.elapsed() < Duration::from_secs(30));

    let looping = Looping::new(SEVERAL);
    looping.stage.state("s1", "tasks/1.json", r#"{"status":"pending"}"#);
    looping.stage.repo.scratch().pipe("repo/.git/ralph/mailbox-question.json");
    assert!(looping.stage.stop("s1", false).unwrap().starts_with("TASKS gate failed"));
    let error = looping.stage.read(".ralph/.hook-error.json");
    assert!(error.contains("question.json: it is not a regular file"), "{error}");
}

#[test]
fn a_session_without_a_new_story_or_other_work_is_let_go_without_asking() {
    let looping = Looping::new(SEVERAL);
    let stop = |active| {
        let (held, asked) = looping.answering(&go_on(), || looping.stage.stop("s1", active));
        (held.is_some(), asked.len())
    };
    for active in [false, true, true, true] {
        assert_eq!(stop(active), (true, 1));
        begin(looping.stage.repo.root(), looping.stage.repo.root(), RUN);
    }
    assert_eq!([stop(true), stop(true), stop(true)], [(true, 1), (true, 1), (false, 0)]);
    assert_eq!(looping.stage.allowed().0, "let_go");
}

#[test]
fn continuation_ends_at_the_iteration_limit() {
    let looping = Looping::new(&format!("[loop]\nmax_iterations = 2\n{SEVERAL}"));
    let held: Vec<_> =
        [false, true, true].map(|active| looping.stop("s1", active, &go_on())).into();
    assert_eq!([held[0].1, held[1].1, held[2].1], [1, 1, 0]);
    assert_eq!(looping.stage.allowed().0, "REACHED_LIMIT");
}

#[test]
fn several_hooks_of_one_stop_ask_once() {
    let looping = Looping::new(SEVERAL);
    looping.stage.work();
    let (held, asked) = std::thread::scope(|scope| {
        let hooks: Vec<_> =
            (0..2).map(|_| scope.spawn(|| looping.stage.stop("s1", false))).collect();
        test_support::until("one of them asks", || looping.mailbox.waiting().is_some());
        // The other hook has already ended, or finds that the question is already asked.
        test_support::until("the other ends", || hooks.iter().any(|hook| hook.is_finished()));
        let question = looping.mailbox.waiting().unwrap();
        looping.mailbox.reply(&question, go_on()).unwrap();
        let held: Vec<_> = hooks.into_iter().filter_map(|hook| hook.join().unwrap()).collect();
        (held, looping.mailbox.waiting())
    });
    assert_eq!((held.len(), asked), (1, None));
}

#[test]
fn the_context_is_checked_before_the_loop_is_asked() {
    let looping = Looping::new(SEVERAL);
    looping.stage.write(".ralph/context-window.json", r#"{"windows":{"m":1000}}"#);
    assert_eq!(looping.stop("s1", false, &go_on()), (None, 0));
    assert_eq!(looping.stage.allowed().0, "handoff");
    assert!(looping.stage.read(".ralph/sessions.log").starts_with("incomplete:US-001:"));
}

#[test]
fn a_session_let_go_with_failing_tests_counts_as_incomplete() {
    let looping = Looping::new("");
    let red = r#"{"verdict":"failed","command":"npm test"}"#;
    looping.stage.state("s1", "verdict.json", red);
    assert!(looping.stage.stop("s1", false).is_some());
    assert!(!looping.stage.exists(".ralph/sessions.log"), "it was held back");
    assert_eq!(looping.stage.stop("s1", true), None);
    assert_eq!(looping.stage.allowed().0, "let_go");
    assert!(looping.stage.read(".ralph/sessions.log").starts_with("incomplete:US-001:"));
}
