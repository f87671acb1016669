//! Every way in which blocking ends, and the property that it always ends.

use proptest::collection::vec;
use proptest::prelude::*;
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
fn gates_block_a_turn_once() {
    let spent = Err(LetGo::TurnSpent);
    let stops = [(false, false), (true, true), (true, false), (false, true)];
    check(Cause::Gates, LIMITS, &stops, &[Ok(()), spent, spent, Ok(())]);
}

#[test]
fn more_blocks_per_turn_can_be_configured_but_not_idle_ones() {
    let limits = BlockLimits { in_turn: 3, ..LIMITS };
    let stops = [(false, false), (true, true), (true, true), (true, true)];
    check(Cause::Gates, limits, &stops, &[Ok(()), Ok(()), Ok(()), Err(LetGo::TurnSpent)]);
    let stops = [(false, false), (true, false), (true, false), (true, false)];
    let idle = Err(LetGo::Idle);
    check(Cause::Gates, limits, &stops, &[Ok(()), Ok(()), idle, idle]);
}

#[test]
fn zero_blocks_can_be_configured() {
    let spent = Err(LetGo::TurnSpent);
    check(Cause::Gates, BlockLimits { in_turn: 0, ..LIMITS }, &[(false, true)], &[spent]);
    let idle = Err(LetGo::Idle);
    check(Cause::Continuation, BlockLimits { idle: 0, ..LIMITS }, &[(false, true)], &[idle]);
}

#[test]
fn continuation_lasts_while_there_is_work_up_to_its_limit() {
    let stops =
        [(false, true), (true, true), (true, true), (true, true), (true, true), (true, true)];
    let spent = Err(LetGo::ContinuationsSpent);
    check(Cause::Continuation, LIMITS, &stops, &[Ok(()), Ok(()), Ok(()), Ok(()), Ok(()), spent]);
}

#[test]
fn continuation_without_work_ends_before_the_client_ends_it() {
    let stops = [(false, true), (true, false), (true, false), (true, true), (true, false)];
    let idle = Err(LetGo::Idle);
    check(Cause::Continuation, LIMITS, &stops, &[Ok(()), Ok(()), idle, Ok(()), Ok(())]);
}

#[test]
fn a_turn_that_waits_is_still_the_same_turn() {
    let mut blocks = Blocks::default();
    let ask =
        |blocks: &mut Blocks| blocks.ask(&Who::Session, Cause::Gates, &moment(false, true), LIMITS);
    assert_eq!(ask(&mut blocks), Ok(()));
    blocks.waits(&Who::Session);
    assert_eq!(ask(&mut blocks), Err(LetGo::TurnSpent));
    blocks.allowed(&Who::Session);
    assert_eq!(ask(&mut blocks), Ok(()));
}

#[test]
fn a_change_without_a_tool_call_counts_as_work() {
    let mut blocks = Blocks::default();
    for fingerprint in ["a", "b", "c", "d"] {
        let moment = Moment { fingerprint: fingerprint.into(), ..moment(true, false) };
        assert_eq!(blocks.ask(&Who::Session, Cause::Continuation, &moment, LIMITS), Ok(()));
    }
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

#[test]
fn blocks_are_counted_separately_for_each_agent() {
    let mut blocks = Blocks::default();
    for name in ["a", "b", "c"] {
        let who = Who::Other(name.into());
        assert_eq!(blocks.ask(&who, Cause::Gates, &moment(false, false), LIMITS), Ok(()));
        assert!(blocks.ask(&who, Cause::Gates, &moment(true, false), LIMITS).is_err());
    }
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

/// What may happen between two stops.
#[derive(Debug, Clone)]
struct Between {
    worked: bool,
    changed: u8,
    gates: bool,
    file: Option<Vec<u8>>,
    removed: bool,
}

fn between() -> impl Strategy<Value = Between> {
    let rubbish = prop_oneof![
        8 => Just(None),
        1 => vec(any::<u8>(), 0..40).prop_map(Some),
        1 => r#"\{"version":[0-9],"total":-?[0-9]{1,20},"rows":\{\}\}"#
            .prop_map(|text| Some(text.into_bytes())),
        1 => Just(Some(br#"{"version":1,"total":0,"rows":{"":{"idle":0}}}"#.to_vec())),
    ];
    (any::<bool>(), 0u8..3, any::<bool>(), rubbish, proptest::bool::weighted(0.1)).prop_map(
        |(worked, changed, gates, file, removed)| Between { worked, changed, gates, file, removed },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// If nobody changes its state files, a session is blocked a bounded number of times in a row,
    /// whatever the agent does between stops.
    #[test]
    fn consecutive_blocks_are_bounded(steps in vec(between(), 1..60), max in 0u64..4, idle in 0u64..4) {
        let limits = BlockLimits { in_turn: max, idle, continuations: 6 };
        let mut blocks = Blocks::default();
        let (mut row, mut longest, mut active) = (0u64, 0u64, false);
        for step in &steps {
            let cause = if step.gates { Cause::Gates } else { Cause::Continuation };
            let fingerprint = step.changed.to_string();
            let moment = Moment { fingerprint, ..moment(active, step.worked) };
            active = blocks.ask(&Who::Session, cause, &moment, limits).is_ok();
            row = if active { row + 1 } else { 0 };
            longest = longest.max(row);
            if !active {
                blocks.allowed(&Who::Session);
            }
        }
        prop_assert!(longest <= max.max(1) + limits.continuations, "{longest}");
    }

    /// Without work between stops, blocking ends for any content of the counters, even without the
    /// configured limits.
    #[test]
    fn idle_blocks_end_regardless_of_the_counters(steps in vec(between(), 12..30), idle in 0u64..4) {
        let scratch = Scratch::new();
        let session = session(&scratch);
        let limits = BlockLimits { in_turn: 1000, idle, continuations: 1000 };
        let path = session.block_counters();
        let (mut row, mut active) = (0u64, false);
        for step in &steps {
            if let Some(content) = &step.file {
                fs_err::create_dir_all(session.root()).unwrap();
                fs_err::write(&path, content).unwrap();
            } else if step.removed {
                let _ = fs_err::remove_file(&path);
            }
            let cause = if step.gates { Cause::Gates } else { Cause::Continuation };
            let tampered = step.file.is_some() || step.removed;
            active = ask_on_disk(&session, &Who::Session, cause, &moment(active, false), limits).is_ok();
            // Each reset of the counters starts a new row.
            row = match (active, tampered) {
                (true, false) => row + 1,
                (true, true) => 1,
                (false, _) => 0,
            };
            prop_assert!(row <= idle + 1, "{row}");
        }
    }
}
