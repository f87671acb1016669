//! Every path through a run, without a process.

use ralph_core::config::Seconds;

use super::*;

fn state(change: impl FnOnce(&mut Config)) -> State {
    let mut config = Config::default();
    change(&mut config);
    State::new(&config, Counters::default())
}

/// Feeds events and compares the actions they lead to.
fn check(state: State, path: Vec<(Event, Action)>) -> State {
    path.into_iter().fold(state, |state, (event, expected)| {
        let shown = format!("{event:?}");
        let (state, action) = step(state, event);
        assert_eq!(action, expected, "after {shown}");
        state
    })
}

const SPENT: Spent = Spent { cost_usd: 0.5, seconds: 10.0, tokens: 100 };

fn chosen_story() -> Event {
    Event::Chosen { choice: Choice::Story("US-001".into()), seconds: 1.0, shares: Shares::new() }
}

fn worked(end: WorkEnd) -> Event {
    let shares = vec![("US-001".to_owned(), SPENT)];
    Event::Worked { end, shares, exit_code: Some(0), is_waiting: false }
}

/// The agent wants to stop, and waits for our word.
fn asks(end: WorkEnd) -> Event {
    Event::Worked { end, shares: Shares::new(), exit_code: Some(0), is_waiting: true }
}

/// From the choice up to the end of the agent.
fn one_iteration(end: WorkEnd, then: Action) -> Vec<(Event, Action)> {
    let mut path = up_to_the_agent();
    path.push((worked(end), then));
    path
}

fn up_to_the_agent() -> Vec<(Event, Action)> {
    vec![
        (chosen_story(), Action::RunNextIteration),
        (Event::Announced(Wish::GoOn), Action::Begin("US-001".into())),
        (Event::Begun, Action::RunAgent),
    ]
}

fn failing_iteration() -> Vec<(Event, Action)> {
    one_iteration(
        WorkEnd::Failed("exit code 1".into()),
        Action::Discard(Outcome::Failed, "exit code 1".into()),
    )
}

fn again() -> (Event, Action) {
    (Event::Reported(Wish::GoOn), Action::Choose)
}

fn finished(finish: Finish) -> (Event, Action) {
    (Event::Finished { shares: Shares::new() }, Action::End(finish))
}

const CHANGED: Event = Event::Discarded { changed: true };
const UNCHANGED: Event = Event::Discarded { changed: false };

#[test]
fn a_story_is_done_and_the_plan_complete_whatever_limit_was_reached_with_it() {
    let mut path = vec![(Event::Started(Wish::GoOn), Action::Choose)];
    path.extend(one_iteration(WorkEnd::Well, Action::Land));
    path.push((Event::Landed(Landing::Done), Action::RunPostIteration(Outcome::Success)));
    path.push(again());
    let complete = Event::Chosen { choice: Choice::Complete, seconds: 9e9, shares: Shares::new() };
    path.push((complete, Action::RunFinished(Finish::Complete)));
    path.push(finished(Finish::Complete));
    let limited = state(|config| {
        config.run.max_iterations = 1;
        config.limits.max_cost_usd = 0.1;
        config.limits.max_duration = Seconds(60);
    });
    let end = check(limited, path);
    assert_eq!((end.counters.commits, end.counters.iteration), (1, 1));
    assert_eq!(end.counters.spent, SPENT);
    assert_eq!(end.counters.story_spent["US-001"], SPENT);
}

#[test]
fn what_a_session_costs_is_booked_for_each_of_its_stories_even_at_the_very_end() {
    let share = |story: &str, cost_usd| (story.to_owned(), Spent { cost_usd, ..Spent::default() });
    let now = check(state(|_| ()), one_iteration(WorkEnd::Well, Action::Land));
    let shares = vec![share("US-001", 0.25), share("US-002", 0.75)];
    let (now, _) = step(now, Event::Finished { shares });
    let cost = |story: &str| now.counters.story_spent[story].cost_usd;
    assert_eq!((cost("US-001"), cost("US-002")), (0.75, 0.75));
    assert_eq!(now.counters.spent.cost_usd, 1.5);
}

#[test]
fn an_agent_that_waits_is_sent_back_within_the_storys_attempts() {
    let why = || "`make test` failed".to_owned();
    let failed = || Event::Landed(Landing::Failed(why()));
    let mut path = up_to_the_agent();
    path.push((asks(WorkEnd::Well), Action::Land));
    path.push((failed(), Action::SendBack(why())));
    path.push((asks(WorkEnd::Well), Action::Land));
    path.push((failed(), Action::SendBack(why())));
    path.push((asks(WorkEnd::Well), Action::Land));
    let now = check(state(|_| ()), path);
    assert_eq!(now.attempts(), 2);
    let given_up = format!("gave up after 3 failed attempts; last failure: {}", why());
    let last = vec![
        (failed(), Action::Discard(Outcome::Failed, why())),
        (CHANGED, Action::SetAside(given_up)),
    ];
    check(now.clone(), last);
    let done = vec![
        (Event::Landed(Landing::Done), Action::RunPostIteration(Outcome::Success)),
        again(),
        (chosen_story(), Action::RunNextIteration),
    ];
    assert_eq!(check(now, done).attempts(), 0, "a story that is done has no failures");
}

#[test]
fn one_that_waits_is_sent_back_for_a_test_that_failed_or_for_nothing_done() {
    let failed = Action::SendBack("1 failed".into());
    let nothing = Action::SendBack("the agent changed nothing".into());
    let mut path = up_to_the_agent();
    path.push((asks(WorkEnd::Failed("1 failed".into())), failed));
    path.push((asks(WorkEnd::Well), Action::Land));
    path.push((Event::Landed(Landing::NothingChanged), nothing));
    check(state(|_| ()), path);
}

#[test]
fn work_that_does_not_fit_on_a_target_that_moved_begins_anew() {
    let why = || "the work does not fit".to_owned();
    let mut path = up_to_the_agent();
    path.push((asks(WorkEnd::Well), Action::Land));
    let conflict = Event::Landed(Landing::Conflict(why()));
    path.push((conflict, Action::Discard(Outcome::Failed, why())));
    path.push((CHANGED, Action::RunPostIteration(Outcome::Failed)));
    path.push(again());
    check(state(|_| ()), path);
}

#[test]
fn work_that_a_crash_kept_from_landing_is_landed_first() {
    let unlanded = Event::Chosen {
        choice: Choice::Unlanded("US-001".into()),
        seconds: 0.0,
        shares: Shares::new(),
    };
    let path = vec![
        (unlanded, Action::Land),
        (Event::Landed(Landing::Done), Action::RunPostIteration(Outcome::Success)),
        again(),
    ];
    assert_eq!(check(state(|_| ()), path).counters.iteration, 0);
}

#[test]
fn a_commit_that_cannot_be_written_ends_the_run_without_blame() {
    let why = || "no key".to_owned();
    let mut path = one_iteration(WorkEnd::Well, Action::Land);
    let kept = Action::Discard(Outcome::Interrupted, why());
    path.push((Event::Landed(Landing::Impossible(why())), kept));
    path.push((CHANGED, Action::RunFinished(Finish::Error(why()))));
    assert!(check(state(|_| ()), path).counters.attempts.is_empty());
}

#[test]
fn a_story_is_set_aside_when_its_attempts_are_used_up() {
    let mut now = state(|config| config.limits.attempts_per_story = 2);
    let mut first = failing_iteration();
    first.push((CHANGED, Action::RunPostIteration(Outcome::Failed)));
    first.push(again());
    now = check(now, first);
    let mut second = failing_iteration();
    let why = "gave up after 2 failed attempts; last failure: exit code 1";
    second.push((CHANGED, Action::SetAside(why.into())));
    second.push((Event::SetAside, Action::RunPostIteration(Outcome::Blocked)));
    second.push(again());
    now = check(now, second);
    assert!(now.counters.set_aside.contains("US-001"));
}

#[test]
fn a_storys_own_budgets_set_it_aside() {
    type Row = (fn(&mut Config), &'static str);
    let rows: [Row; 2] = [
        (|c| c.limits.story_max_cost_usd = 0.5, "its budget of $0.50 is used up"),
        (|c| c.limits.story_max_duration = Seconds(10), "its time of 10 seconds is used up"),
    ];
    for (change, why) in rows {
        let mut path = failing_iteration();
        path.push((CHANGED, Action::SetAside(format!("{why}; last failure: exit code 1"))));
        check(state(change), path);
    }
    for spent in [WorkEnd::StorySpent("its time".into()), WorkEnd::Blocked("its time".into())] {
        let mut path = one_iteration(spent, Action::Discard(Outcome::Blocked, "its time".into()));
        path.push((CHANGED, Action::SetAside("its time".into())));
        check(state(|_| ()), path);
    }
}

/// A story of which no attempt changed anything, up to the end of its last iteration.
fn idle_story(now: State, story: &str, changed: bool, then: Action) -> State {
    let why = || "the agent changed nothing".to_owned();
    let choice = Choice::Story(story.into());
    let given_up = format!("gave up after 1 failed attempt; last failure: {}", why());
    let path = vec![
        (Event::Chosen { choice, seconds: 0.0, shares: Shares::new() }, Action::RunNextIteration),
        (Event::Announced(Wish::GoOn), Action::Begin(story.into())),
        (Event::Begun, Action::RunAgent),
        (worked(WorkEnd::Well), Action::Land),
        (Event::Landed(Landing::NothingChanged), Action::Discard(Outcome::NoChanges, why())),
        (Event::Discarded { changed }, Action::SetAside(given_up)),
        (Event::SetAside, Action::RunPostIteration(Outcome::Blocked)),
        (Event::Reported(Wish::GoOn), then),
    ];
    check(now, path)
}

#[test]
fn stories_in_a_row_that_gave_nothing_end_the_run_and_single_attempts_do_not() {
    let limited = || {
        state(|config| {
            config.limits.stalled_after = 2;
            config.limits.attempts_per_story = 1;
        })
    };
    let end = || Action::RunFinished(Finish::NoChanges);
    let now = idle_story(limited(), "US-001", false, Action::Choose);
    idle_story(now.clone(), "US-002", false, end());
    // Work that failed is work: it starts the count again.
    let now = idle_story(now, "US-002", true, Action::Choose);
    assert_eq!(now.counters.idle, 0);
    idle_story(idle_story(now, "US-003", false, Action::Choose), "US-004", false, end());

    let mut path = one_iteration(WorkEnd::Well, Action::Land);
    let why = "the agent changed nothing".to_owned();
    path.push((Event::Landed(Landing::NothingChanged), Action::Discard(Outcome::NoChanges, why)));
    path.push((UNCHANGED, Action::RunPostIteration(Outcome::NoChanges)));
    path.push(again());
    check(state(|config| config.limits.stalled_after = 1), path);
}

#[test]
fn limits_of_the_run_end_it_before_the_next_story() {
    type Row = (fn(&mut State), f64, Finish);
    let rows: [Row; 3] = [
        (|s| s.counters.iteration = 50, 0.0, Finish::MaxIterations),
        (
            |s| (s.limits.max_cost_usd, s.counters.spent.cost_usd) = (1.0, 1.5),
            0.0,
            Finish::Budget("spent $1.50 of $1.00".into()),
        ),
        (
            |s| s.limits.max_duration = Seconds(60),
            60.0,
            Finish::Budget("60 seconds have passed".into()),
        ),
    ];
    for (change, seconds, finish) in rows {
        let mut now = state(|_| ());
        change(&mut now);
        let choice = Choice::Story("US-001".into());
        let (_, action) = step(now, Event::Chosen { choice, seconds, shares: Shares::new() });
        assert_eq!(action, Action::RunFinished(finish));
    }
    let endless = state(|config| config.run.max_iterations = 0);
    check(endless, vec![(chosen_story(), Action::RunNextIteration)]);
}

#[test]
fn scripts_skip_and_stop() {
    let stop = || Action::RunFinished(Finish::HookAbort);
    check(state(|_| ()), vec![(Event::Started(Wish::Stop), stop())]);
    let skip = vec![
        (chosen_story(), Action::RunNextIteration),
        (Event::Announced(Wish::Skip), Action::Choose),
        (chosen_story(), Action::RunNextIteration),
        (Event::Announced(Wish::Stop), stop()),
        finished(Finish::HookAbort),
    ];
    check(state(|_| ()), skip);
    let always = vec![
        (chosen_story(), Action::RunNextIteration),
        (Event::Announced(Wish::Skip), Action::RunFinished(Finish::NoChanges)),
    ];
    check(state(|config| config.limits.stalled_after = 1), always);
    check(state(|_| ()), vec![(Event::Reported(Wish::Stop), stop())]);
}

#[test]
fn a_usage_limit_costs_neither_attempt_nor_iteration() {
    let why = "the agent's service refused: its usage limit is reached, or it is down";
    let end = WorkEnd::Quota(Some(99));
    let mut path = one_iteration(end.clone(), Action::Discard(Outcome::Quota, why.into()));
    path.push((CHANGED, Action::RunPostIteration(Outcome::Quota)));
    path.push((Event::Reported(Wish::GoOn), Action::Wait(Some(99))));
    path.push((Event::Waited, Action::Choose));
    let now = check(state(|_| ()), path);
    assert_eq!((now.counters.iteration, now.counters.attempts.len()), (0, 0));

    let mut path = one_iteration(end, Action::Discard(Outcome::Quota, why.into()));
    path.push((CHANGED, Action::RunFinished(Finish::Budget(why.into()))));
    check(state(|config| config.limits.wait_for_quota = false), path);
}

#[test]
fn signals_end_the_run_in_every_phase() {
    let manual = || Finish::Manual(Signal::Interrupt);
    let kept = || Action::Discard(Outcome::Interrupted, "interrupted".into());
    let mut path = one_iteration(WorkEnd::Signalled(Signal::Interrupt), kept());
    path.push((CHANGED, Action::RunFinished(manual())));
    path.push(finished(manual()));
    assert!(check(state(|_| ()), path).counters.attempts.is_empty());

    let landing = vec![
        (Event::Landed(Landing::Signalled(Signal::Interrupt)), kept()),
        (CHANGED, Action::RunFinished(manual())),
    ];
    check(state(|_| ()), landing);
    let waiting = vec![(Event::Signalled(Signal::Interrupt), Action::RunFinished(manual()))];
    check(state(|_| ()), waiting);
}

#[test]
fn what_no_attempt_can_fix_ends_the_run() {
    let error = |why: &str| Action::RunFinished(Finish::Error(why.into()));
    check(state(|_| ()), vec![(Event::Broke("disk".into()), error("disk"))]);
    let stuck = Event::Chosen {
        choice: Choice::Stuck("all blocked".into()),
        seconds: 0.0,
        shares: Shares::new(),
    };
    let blocked = Action::RunFinished(Finish::Blocked("all blocked".into()));
    check(state(|_| ()), vec![(stuck, blocked)]);
    let mut path = one_iteration(
        WorkEnd::Unusable("no agent".into()),
        Action::Discard(Outcome::Failed, "no agent".into()),
    );
    path.push((UNCHANGED, error("no agent")));
    check(state(|_| ()), path);
}

#[test]
fn a_timeout_and_a_part_that_is_missing_are_failed_attempts_of_their_own_name() {
    for (end, outcome) in [
        (WorkEnd::TimedOut("why".into()), Outcome::Timeout),
        (WorkEnd::Partial("why".into()), Outcome::Partial),
    ] {
        let mut path = one_iteration(end, Action::Discard(outcome, "why".into()));
        path.push((CHANGED, Action::RunPostIteration(outcome)));
        path.push(again());
        assert_eq!(check(state(|_| ()), path).counters.attempts["US-001"], 1);
    }
}

#[test]
fn a_full_context_is_handed_over_without_the_loss_of_an_attempt() {
    let why = || "`make test` failed".to_owned();
    let full = "context full, continuing in a new session";
    let handed_over = |path: &mut Vec<(Event, Action)>| {
        path.push((CHANGED, Action::RunPostIteration(Outcome::Handoff)));
        path.push(again());
    };
    let claimed = || one_iteration(WorkEnd::HandedOver(Handoff::Claimed), Action::Land);
    let failed = |action: Action| (Event::Landed(Landing::Failed(why())), action);
    let mut now = state(|config| config.limits.attempts_per_story = 2);
    let mut first = claimed();
    first.push(failed(Action::Discard(Outcome::Handoff, why())));
    handed_over(&mut first);
    now = check(now, first);
    let unclaimed = || WorkEnd::HandedOver(Handoff::Unclaimed);
    let mut second = one_iteration(unclaimed(), Action::Discard(Outcome::Handoff, full.into()));
    handed_over(&mut second);
    now = check(now, second);
    assert!(now.counters.attempts.is_empty());
    // Not for ever, though: then the checks decide.
    let mut third = one_iteration(unclaimed(), Action::Land);
    third.push(failed(Action::Discard(Outcome::Failed, why())));
    now = check(now, third);
    assert_eq!(now.counters.attempts["US-001"], 1);

    let too_long = WorkEnd::HandedOver(Handoff::Failed("prompt_too_long".into()));
    let action = Action::Discard(Outcome::Handoff, "prompt_too_long".into());
    check(state(|_| ()), one_iteration(too_long, action));
    let mut done = claimed();
    done.push((Event::Landed(Landing::Done), Action::RunPostIteration(Outcome::Success)));
    assert!(check(state(|_| ()), done).counters.handovers.is_empty());
}

#[test]
fn a_budget_that_is_used_up_ends_the_run_after_its_iteration() {
    let why = || "the time for this run is used up".to_owned();
    let mut path = one_iteration(WorkEnd::Spent(why()), Action::Discard(Outcome::Budget, why()));
    path.push((CHANGED, Action::RunPostIteration(Outcome::Budget)));
    path.push((Event::Reported(Wish::Stop), Action::RunFinished(Finish::Budget(why()))));
    let end = check(state(|config| config.limits.attempts_per_story = 1), path);
    assert!(end.counters.attempts.is_empty() && end.counters.set_aside.is_empty());
}
