//! The fleet as a small machine, all of whose states are visited: what it promises holds whatever goes wrong.
//!
//! Three machines work on three stories, and any two things go wrong, each of them anywhere: a machine
//! crashes, and starts again or does not; the answer to a push does not come, whether it arrived or not; a
//! push arrives late, or twice; a machine is taken for gone though it lives; a person pushes to the target,
//! with a story or without. What a machine decides is decided by `rules.rs`; what is on its disk survives a
//! crash, what is in its memory does not.
//!
//! In every state: what landed stays; each commit on the target was checked on exactly its parent, in which
//! its story was open; what a machine takes for landed is on the target. And from every state in which a
//! machine is alive the plan comes to its end, though nobody starts a machine again. A story that is given
//! up, and how machines end with one, is not in it: a machine that waits holds no claim, so that no two wait
//! for each other, and `tests/it/fleet_for_people.rs` shows that.
//!
//! | file | what it knows |
//! | --- | --- |
//! | `world.rs` | what there is at one moment |
//! | `step.rs` | one thing that happens |
//! | `steps.rs` | what can happen next |
//! | `turns.rs` | the same for whose turn it is to land |
//! | `words.rs` | how a step is told |
//! | `key.rs` | which worlds are as good as the same |
//! | `search.rs` | all of them, and the shortest way to one that is broken |

mod key;
mod search;
mod step;
mod steps;
mod turns;
mod words;
mod world;

use std::collections::HashSet;

use key::{Key, key};
use search::{Explored, explore};
use step::Flaw;
use world::{Turns, World};

fn all(faults: u8, flaw: Flaw) -> Explored<Key> {
    explore(World::new(3, 3, faults), flaw, key)
}

/// 112,651 worlds, which stand for many more, as the last test shows.
#[test]
fn no_two_faults_break_a_fleet_of_three_machines() {
    let Explored { found, steps, broken, stuck } = all(2, Flaw::None);
    let worlds = found.len();
    println!("{worlds} worlds, {steps} steps between them");
    assert_eq!((broken.as_deref(), stuck.as_deref()), (None, None));
    assert!(worlds > 100_000, "the model has become smaller");
}

/// What a model without one of the rules shows, as its shortest way.
fn without(flaw: Flaw, faults: u8) -> String {
    let Explored { broken, stuck, .. } = all(faults, flaw);
    let way = broken.or(stuck).unwrap_or_default();
    println!("{way}");
    way
}

#[test]
fn a_server_that_takes_every_push_loses_work() {
    assert!(without(Flaw::BlindPush, 0).ends_with("begin-S1 by A was landed and is lost"));
}

#[test]
fn who_does_not_look_whether_a_story_is_done_lands_it_twice() {
    // Claims alone keep machines apart for as long as nothing goes wrong.
    assert_eq!(without(Flaw::NeverLooks, 0), "");
    assert!(without(Flaw::NeverLooks, 1).ends_with("does a story again"));
}

#[test]
fn who_lands_on_an_old_check_lands_what_was_not_checked() {
    assert!(without(Flaw::OldCheck, 0).ends_with("was not checked on its parent"));
}

#[test]
fn who_takes_silence_for_a_yes_is_wrong() {
    let expected = "A pushes a claim for S1
the push of A arrives
A hears that its push is done
A looks at the target, checks its work and pushes it
A hears nothing and asks the server
begin-S1 by A is believed to have landed";
    assert_eq!(without(Flaw::Hopeful, 1), expected);
}

#[test]
fn without_takeover_a_machine_that_vanished_keeps_its_story() {
    let expected = "A pushes a claim for S1
the push of A arrives
A crashes
from here the plan does not come to its end";
    assert_eq!(without(Flaw::NoTakeover, 1), expected);
}

/// What a fleet does whose machines take turns at landing.
fn in_turns(machines: usize, faults: u8, turns: Turns) -> Explored<Key> {
    explore(World { turns, ..World::new(machines, machines, faults) }, Flaw::None, key)
}

#[test]
fn who_has_the_turn_is_what_the_server_says() {
    for (machines, faults) in [(3, 1), (2, 2)] {
        let Explored { found, steps, broken, stuck } = in_turns(machines, faults, Turns::Seen);
        println!("{} worlds, {steps} steps between them", found.len());
        assert_eq!((broken.as_deref(), stuck.as_deref()), (None, None));
    }
}

#[test]
fn a_turn_that_is_only_remembered_is_never_given_back_after_a_crash() {
    let stuck = in_turns(2, 1, Turns::Remembered).stuck.unwrap_or_default();
    println!("{stuck}");
    assert!(stuck.contains("crashes") && stuck.contains("starts again"), "{stuck}");
}

#[test]
fn a_turn_that_goes_with_the_next_claim_is_kept_where_there_is_nothing_to_claim() {
    let stuck = in_turns(2, 1, Turns::WithNextClaim).stuck.unwrap_or_default();
    println!("{stuck}");
    assert!(stuck.contains("crashes") && stuck.contains("starts again"), "{stuck}");
}

/// Two machines and two stories: where worlds are told apart by all that is in them, there are many more,
/// but none with another key and none that is broken. So it is enough to go on from one for each key.
#[test]
fn worlds_with_the_same_key_are_as_good_as_the_same() {
    let begin = World::new(2, 2, 2);
    let short = explore(begin.clone(), Flaw::None, key);
    let whole = explore(begin, Flaw::None, World::clone);
    println!("{} worlds, {} by their keys", whole.found.len(), short.found.len());
    assert_eq!((whole.broken, whole.stuck), (None, None));
    let keys: HashSet<Key> = whole.found.keys().map(key).collect();
    let short: HashSet<Key> = short.found.into_keys().collect();
    assert!(keys == short, "{} keys, not {}", keys.len(), short.len());
}
