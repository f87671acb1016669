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

fn chosen_story() -> Event {
    Event::Chosen { choice: Choice::Story("US-001".into()), seconds: 1.0 }
}

fn worked(end: WorkEnd) -> Event {
    let spent = Spent { cost_usd: 0.5, seconds: 10.0, tokens: 100 };
    Event::Worked { end, spent, exit_code: Some(0), failures: 0 }
}

/// From the choice up to the end of the agent.
fn one_iteration(end: WorkEnd, then: Action) -> Vec<(Event, Action)> {
    vec![
        (chosen_story(), Action::RunNextIteration),
        (Event::Announced(Wish::GoOn), Action::Begin("US-001".into())),
        (Event::Begun, Action::RunAgent),
        (worked(end), then),
    ]
}

fn failing_iteration() -> Vec<(Event, Action)> {
    one_iteration(
        WorkEnd::Failed("exit code 1".into()),
        Action::RollBack(Outcome::Failed, "exit code 1".into()),
    )
}

fn again() -> (Event, Action) {
    (Event::Reported(Wish::GoOn), Action::Choose)
}

#[test]
fn a_story_is_done_and_the_plan_complete() {
    let mut path = vec![(Event::Started(Wish::GoOn), Action::Choose)];
    path.extend(one_iteration(WorkEnd::Well, Action::Settle));
    path.push((Event::Settled(Settlement::Done), Action::RunPostIteration(Outcome::Success)));
    path.push(again());
    let complete = Event::Chosen { choice: Choice::Complete, seconds: 9e9 };
    path.push((complete, Action::RunFinished(Finish::Complete)));
    path.push((Event::Finished, Action::End(Finish::Complete)));
    let limited = state(|config| {
        config.run.max_iterations = 1;
        config.limits.max_cost_usd = 0.1;
        config.limits.max_duration = Seconds(60);
    });
    let end = check(limited, path);
    assert_eq!((end.counters.commits, end.counters.iteration), (1, 1));
    assert_eq!(end.counters.spent, Spent { cost_usd: 0.5, seconds: 10.0, tokens: 100 });
    assert_eq!(end.counters.story_spent["US-001"], end.counters.spent);
}

#[test]
fn it_is_known_whether_the_agent_of_an_iteration_has_ended() {
    let check_end = |end: WorkEnd, then: Action, iteration: u64| {
        let state = check(state(|_| {}), one_iteration(end, then));
        let counters = state.counters.clone();
        assert_eq!((counters.iteration, counters.ended), (iteration, 1));
        let (state, _) = step(state, chosen_story());
        assert_eq!(state.counters.ended + 1, state.counters.iteration);
    };
    check_end(WorkEnd::Well, Action::Settle, 1);
    let unclaimed = WorkEnd::HandedOver(Handoff::Unclaimed);
    check_end(unclaimed, Action::HandOver(None), 1);
    let failed = Action::RollBack(Outcome::Failed, "exit code 1".into());
    check_end(WorkEnd::Failed("exit code 1".into()), failed, 1);
    let (state, _) = step(state(|_| {}), chosen_story());
    let (state, _) = step(state, worked(WorkEnd::Quota(None)));
    assert_eq!((state.counters.iteration, state.counters.ended), (0, 1));
    let (state, _) = step(state, chosen_story());
    assert_eq!((state.counters.iteration, state.counters.ended), (1, 0));
}

#[test]
fn stories_that_were_settled_in_the_session_count() {
    let share = Spent { cost_usd: 0.5, seconds: 2.5, tokens: 3 };
    let spent = Spent { cost_usd: 1.0, seconds: 5.0, tokens: 6 };
    let shares = ["US-001", "US-002"].map(|story| (story.to_owned(), share)).to_vec();
    let settled = Event::SettledInSession {
        stories: 3,
        last: "US-003".into(),
        shares,
        exit_code: Some(1),
        iteration: 4,
        next: None,
    };
    let mut now = state(|_| ());
    now.counters.idle = 2;
    let now = check(now, vec![(settled, Action::RunPostIteration(Outcome::Success)), again()]);
    assert_eq!((now.counters.commits, now.counters.iteration, now.counters.idle), (3, 4, 0));
    assert_eq!((now.counters.spent, now.counters.last_exit_code), (spent, Some(1)));
    assert_eq!((now.counters.story_spent["US-002"], now.counters.last_duration_s), (share, 5.0));
    assert_eq!((now.counters.begun, now.counters.counted), (0, 3));
}

#[test]
fn the_last_story_of_a_session_is_an_attempt_like_others() {
    let next = |end| SentOnTo { story: "US-002".into(), end, failures: 0 };
    let settled = |end| Event::SettledInSession {
        stories: 1,
        last: "US-001".into(),
        shares: vec![],
        exit_code: Some(3),
        iteration: 2,
        next: Some(next(end)),
    };
    let why = || "exit code 3".to_owned();
    let vain = Action::RollBack(Outcome::Failed, why());
    let now = check(state(|_| ()), vec![(settled(WorkEnd::Failed(why())), vain)]);
    assert_eq!((now.counters.commits, now.counters.attempts["US-002"]), (1, 1));
    assert_eq!(now.counters.last_exit_code, Some(3));
    check(state(|_| ()), vec![(settled(WorkEnd::Well), Action::Settle)]);
    let left = Action::RunPostIteration(Outcome::Handoff);
    let now = check(state(|_| ()), vec![(settled(WorkEnd::NotBegun), left), again()]);
    assert!(now.counters.attempts.is_empty());
    let cut_short = Action::RollBack(Outcome::Timeout, why());
    check(state(|_| ()), vec![(settled(WorkEnd::StorySpent(why())), cut_short)]);
}

#[test]
fn a_commit_that_cannot_be_written_ends_the_run_without_blame() {
    let why = || "no key".to_owned();
    let end = Action::RunFinished(Finish::Error(why()));
    let mut path = one_iteration(WorkEnd::Well, Action::Settle);
    let kept = Action::RollBack(Outcome::Interrupted, why());
    path.push((Event::Settled(Settlement::Impossible(why())), kept));
    path.push((Event::RolledBack { changed: true }, end));
    assert!(check(state(|_| ()), path).counters.attempts.is_empty());
}

#[test]
fn a_story_is_set_aside_when_its_attempts_are_used_up() {
    let mut now = state(|config| config.limits.attempts_per_story = 2);
    let mut first = failing_iteration();
    first.push((Event::RolledBack { changed: true }, Action::RunPostIteration(Outcome::Failed)));
    first.push(again());
    now = check(now, first);
    let mut second = failing_iteration();
    let why = "2 attempts were in vain; the last one: exit code 1";
    second.push((Event::RolledBack { changed: true }, Action::SetAside(why.into())));
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
        let why = format!("{why}; the last one: exit code 1");
        path.push((Event::RolledBack { changed: true }, Action::SetAside(why)));
        check(state(change), path);
    }
}

#[test]
fn iterations_that_change_nothing_end_the_run() {
    let idle = || {
        let mut path = one_iteration(WorkEnd::Well, Action::Settle);
        let why = "the agent changed nothing";
        path.push((
            Event::Settled(Settlement::NothingChanged),
            Action::RollBack(Outcome::NoChanges, why.into()),
        ));
        let outcome = Action::RunPostIteration(Outcome::NoChanges);
        path.push((Event::RolledBack { changed: false }, outcome));
        path
    };
    let mut now = state(|config| config.limits.stalled_after = 2);
    let mut first = idle();
    first.push(again());
    now = check(now, first);
    let mut second = idle();
    second.push((Event::Reported(Wish::GoOn), Action::RunFinished(Finish::NoChanges)));
    now = check(now, second);
    // Work that failed is work: it starts the count again.
    now.counters.idle = 1;
    let mut working = failing_iteration();
    working.push((
        Event::RolledBack { changed: true },
        Action::SetAside("3 attempts were in vain; the last one: exit code 1".into()),
    ));
    assert_eq!(check(now, working).counters.idle, 0);
}

#[test]
fn limits_of_the_run_end_it_before_the_next_story() {
    type Row = (fn(&mut State), f64, Finish);
    let rows: [Row; 4] = [
        (|s| s.counters.iteration = 50, 0.0, Finish::MaxIterations),
        (
            |s| (s.limits.max_cost_usd, s.counters.spent.cost_usd) = (1.0, 1.5),
            0.0,
            Finish::Budget("$1.50 of $1.00 are spent".into()),
        ),
        (
            |s| s.limits.max_duration = Seconds(60),
            60.0,
            Finish::Budget("60 seconds have passed".into()),
        ),
        (|s| s.max_iterations = 0, 0.0, Finish::Complete),
    ];
    for (change, seconds, finish) in rows {
        let mut now = state(|_| ());
        change(&mut now);
        let choice = Choice::Story("US-001".into());
        let (_, action) = step(now, Event::Chosen { choice, seconds });
        let expected = match finish {
            Finish::Complete => Action::RunNextIteration,
            finish => Action::RunFinished(finish),
        };
        assert_eq!(action, expected);
    }
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
        (Event::Finished, Action::End(Finish::HookAbort)),
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
    let why = "the agent's service refused: its usage limit is reached, or it is out of order";
    let end = WorkEnd::Quota(Some(99));
    let mut path = one_iteration(end.clone(), Action::RollBack(Outcome::Quota, why.into()));
    path.push((Event::RolledBack { changed: true }, Action::RunPostIteration(Outcome::Quota)));
    path.push((Event::Reported(Wish::GoOn), Action::Wait(Some(99))));
    path.push((Event::Waited, Action::Choose));
    let now = check(state(|_| ()), path);
    assert_eq!((now.counters.iteration, now.counters.attempts.len()), (0, 0));

    let mut path = one_iteration(end, Action::RollBack(Outcome::Quota, why.into()));
    let budget = Action::RunFinished(Finish::Budget(why.into()));
    path.push((Event::RolledBack { changed: true }, budget));
    check(state(|config| config.limits.wait_for_quota = false), path);
}

#[test]
fn signals_end_the_run_in_every_phase() {
    let manual = || Finish::Manual(Signal::Interrupt);
    let mut path = one_iteration(
        WorkEnd::Signalled(Signal::Interrupt),
        Action::RollBack(Outcome::Interrupted, "interrupted".into()),
    );
    path.push((Event::RolledBack { changed: true }, Action::RunFinished(manual())));
    path.push((Event::Finished, Action::End(manual())));
    check(state(|_| ()), path);

    let settling = vec![
        (
            Event::Settled(Settlement::Signalled(Signal::Interrupt)),
            Action::RollBack(Outcome::Interrupted, "interrupted".into()),
        ),
        (Event::RolledBack { changed: true }, Action::RunFinished(manual())),
    ];
    check(state(|_| ()), settling);
    let waiting = vec![(Event::Signalled(Signal::Interrupt), Action::RunFinished(manual()))];
    check(state(|_| ()), waiting);
}

#[test]
fn what_cannot_be_mended_ends_the_run() {
    let error = |why: &str| Action::RunFinished(Finish::Error(why.into()));
    check(state(|_| ()), vec![(Event::Broke("disk".into()), error("disk"))]);
    let stuck = Event::Chosen { choice: Choice::Stuck("all blocked".into()), seconds: 0.0 };
    check(state(|_| ()), vec![(stuck, error("all blocked"))]);
    let mut path = one_iteration(
        WorkEnd::Unusable("no agent".into()),
        Action::RollBack(Outcome::Failed, "no agent".into()),
    );
    path.push((Event::RolledBack { changed: false }, error("no agent")));
    check(state(|_| ()), path);
}

#[test]
fn a_blocked_story_and_a_timeout_are_told_apart() {
    let mut path = one_iteration(
        WorkEnd::Blocked("needs a key".into()),
        Action::RollBack(Outcome::Blocked, "needs a key".into()),
    );
    path.push((Event::RolledBack { changed: true }, Action::SetAside("needs a key".into())));
    check(state(|_| ()), path);
    let mut path = one_iteration(
        WorkEnd::TimedOut("60 s".into()),
        Action::RollBack(Outcome::Timeout, "60 s".into()),
    );
    path.push((Event::RolledBack { changed: true }, Action::RunPostIteration(Outcome::Timeout)));
    check(state(|_| ()), path);
}

#[test]
fn a_full_context_is_handed_over_without_the_loss_of_an_attempt() {
    let why = || "`make test` failed".to_owned();
    let handed_over = |path: &mut Vec<(Event, Action)>| {
        path.push((Event::HandedOver, Action::RunPostIteration(Outcome::Handoff)));
        path.push(again());
    };
    let claimed = || one_iteration(WorkEnd::HandedOver(Handoff::Claimed), Action::Settle);
    let failed = |action: Action| (Event::Settled(Settlement::Failed(why())), action);
    let mut now = state(|config| config.limits.attempts_per_story = 2);
    let mut first = claimed();
    first.push(failed(Action::HandOver(Some(why()))));
    handed_over(&mut first);
    now = check(now, first);
    let unclaimed = || WorkEnd::HandedOver(Handoff::Unclaimed);
    let mut second = one_iteration(unclaimed(), Action::HandOver(None));
    handed_over(&mut second);
    now = check(now, second);
    assert!(now.counters.attempts.is_empty());
    // Not for ever, though: then the checks decide.
    let mut third = one_iteration(unclaimed(), Action::Settle);
    third.push(failed(Action::RollBack(Outcome::Failed, why())));
    now = check(now, third);
    assert_eq!(now.counters.attempts["US-001"], 1);

    let too_long = WorkEnd::HandedOver(Handoff::Failed("prompt_too_long".into()));
    let action = Action::HandOver(Some("prompt_too_long".into()));
    check(state(|_| ()), one_iteration(too_long, action));
    let mut done = claimed();
    done.push((Event::Settled(Settlement::Done), Action::RunPostIteration(Outcome::Success)));
    assert!(check(state(|_| ()), done).counters.handovers.is_empty());
}

#[test]
fn a_budget_that_is_used_up_ends_the_run_after_its_iteration() {
    let why = || "the time for this run is used up".to_owned();
    let rolled_back = Action::RollBack(Outcome::Budget, why());
    let mut path = one_iteration(WorkEnd::Spent(why()), rolled_back);
    path.push((Event::RolledBack { changed: true }, Action::RunPostIteration(Outcome::Budget)));
    path.push((Event::Reported(Wish::Stop), Action::RunFinished(Finish::Budget(why()))));
    let end = check(state(|config| config.limits.attempts_per_story = 1), path);
    assert!(end.counters.attempts.is_empty() && end.counters.set_aside.is_empty());
}

#[test]
fn planning_is_one_attempt_and_its_end_is_reported() {
    let planning = || state(|config| config.run.mode = Mode::Planning);
    let report = |outcome| Action::RunPostIteration(outcome);
    let end = |finish| (Event::Reported(Wish::GoOn), Action::RunFinished(finish));
    let mut path = one_iteration(WorkEnd::Well, Action::Settle);
    path.push((Event::Settled(Settlement::Planned), report(Outcome::Success)));
    path.push(end(Finish::Complete));
    assert_eq!(check(planning(), path).counters.commits, 0);
    let mut path = failing_iteration();
    path.push((Event::RolledBack { changed: false }, report(Outcome::Failed)));
    path.push(end(Finish::Error("exit code 1".into())));
    check(planning(), path);
    let mut path = one_iteration(WorkEnd::Well, Action::Settle);
    let why = "the agent changed nothing".to_owned();
    let nothing = Event::Settled(Settlement::NothingChanged);
    path.push((nothing, Action::RollBack(Outcome::NoChanges, why)));
    path.push((Event::RolledBack { changed: false }, report(Outcome::NoChanges)));
    path.push(end(Finish::NoChanges));
    check(planning(), path);
}
