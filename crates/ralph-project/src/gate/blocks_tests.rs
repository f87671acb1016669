//! Every way in which blocking ends.

use test_support::Scratch;

use super::*;
use ralph_base::state::{Id, StateDir};

const LIMITS: BlockLimits = BlockLimits { in_turn: 1, idle: 2, continuations: 5 };

fn moment(active: bool, worked: bool) -> Moment {
    Moment { stop_hook_active: active, tool_called: worked, ..Moment::default() }
}

/// Asks once for each pair of (stop_hook_active, worked) and compares the answers.
fn check(
    cause: Cause,
    limits: BlockLimits,
    stops: &[(bool, bool)],
    expected: &[Result<(), LetGo>],
) {
    let mut blocks = Blocks::default();
    let found: Vec<_> = stops
        .iter()
        .map(|(active, worked)| blocks.ask(&Who::Session, cause, &moment(*active, *worked), limits))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn the_number_of_blocks_per_turn_can_be_configured_but_not_of_idle_ones() {
    let limits = BlockLimits { in_turn: 3, ..LIMITS };
    let (spent, idle) = (Err(LetGo::TurnSpent), Err(LetGo::Idle));
    let stops = [(false, false), (true, true), (true, true), (true, true)];
    check(Cause::Gates, limits, &stops, &[Ok(()), Ok(()), Ok(()), spent]);
    let stops = [(false, false), (true, false), (true, false), (true, false)];
    check(Cause::Gates, limits, &stops, &[Ok(()), Ok(()), idle, idle]);
    check(Cause::Gates, BlockLimits { in_turn: 0, ..LIMITS }, &[(false, true)], &[spent]);
    check(Cause::Continuation, BlockLimits { idle: 0, ..LIMITS }, &[(false, true)], &[idle]);
}

#[test]
fn continuation_without_work_ends_before_the_client_ends_it() {
    let stops = [(false, true), (true, false), (true, false), (true, true), (true, false)];
    let idle = Err(LetGo::Idle);
    check(Cause::Continuation, LIMITS, &stops, &[Ok(()), Ok(()), idle, Ok(()), Ok(())]);
}

#[test]
fn the_block_limit_stays_below_that_of_the_client() {
    let stop = config::Stop { max_idle_blocks: 50, max_blocks: u64::MAX, ..Default::default() };
    assert_eq!(BlockLimits::new(&stop, None, u64::MAX).idle, 7);
    assert_eq!(BlockLimits::new(&stop, Some(3), u64::MAX).idle, 2);
    assert_eq!(BlockLimits::new(&stop, Some(1), u64::MAX).idle, 1);
    assert_eq!(BlockLimits::new(&stop, Some(0), u64::MAX).idle, 7);
    assert_eq!(BlockLimits::new(&stop, None, u64::MAX).in_turn, MOST_BLOCKS);
}

#[test]
fn leftovers_block_only_while_they_change() {
    let mut blocks = Blocks::default();
    let who = Who::Other("task 1".into());
    let mut ask = |fingerprint: &str| {
        let moment = Moment { fingerprint: fingerprint.into(), ..Moment::default() };
        blocks.ask(&who, Cause::Leftovers, &moment, LIMITS)
    };
    assert_eq!(
        [ask("a"), ask("a"), ask("a"), ask("b")],
        [Ok(()), Ok(()), Err(LetGo::Idle), Ok(())]
    );
    let answers: Vec<_> = (0..30).map(|n| ask(&n.to_string())).collect();
    assert_eq!(answers.last(), Some(&Err(LetGo::TurnSpent)));
}

fn session(scratch: &Scratch) -> SessionDir {
    StateDir::of_project(scratch.root()).session(&Id::parse("s1").unwrap())
}

#[test]
fn stops_that_cannot_be_counted_are_not_blocked() {
    let scratch = Scratch::new();
    let session = session(&scratch);
    let ask = |active| {
        ask_on_disk(&session, &Who::Session, Cause::Continuation, &moment(active, true), LIMITS)
    };
    assert_eq!(ask(true), Err(LetGo::NoCount), "blocked before, and no count of it");
    assert_eq!(ask(false), Ok(()));
    assert_eq!(ask(true), Ok(()));
    for content in ["", "rubbish", "[]", r#"{"rows":7}"#] {
        scratch.file(".ralph/state/s1/blocks.json", content);
        assert_eq!(ask(false), Err(LetGo::NoCount), "{content}");
    }
}

#[test]
fn concurrent_hooks_lose_no_count() {
    let scratch = Scratch::new();
    let session = session(&scratch);
    let limits = BlockLimits { continuations: 100, ..LIMITS };
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let moment = moment(false, true);
                    ask_on_disk(&session, &Who::Session, Cause::Continuation, &moment, limits)
                        .unwrap();
                }
            });
        }
    });
    let blocks = Blocks::load(&session, true).unwrap();
    assert_eq!((blocks.total, blocks.row(&Who::Session).continuations), (40, 40));
}
