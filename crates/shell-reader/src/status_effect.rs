//! Finds out whether a command's failure affects the exit status of the whole line.

use super::tree::{
    AssignedValue, Body, Index, Item, Joint, List, Operation, Part, Pipeline, RawWord, Stage,
};

/// The number of later items searched for a saved exit status.
const LOOKAHEAD: usize = 64;

/// The effect of a failing pipeline in a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterFailure<'t> {
    /// The chain fails, too.
    ChainFails,
    /// The shell or the function ends with a failure: `|| exit 1`.
    Ends(Ended),
    /// The status is saved in a variable: `|| rc=$?`.
    Saved(&'t str),
    /// The failure is ignored: `|| true`.
    Swallowed,
}

/// The scope that a failure ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// `exit 1`
    Shell,
    /// `return 1`
    Function,
}

/// The exit status that a later command passes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PassedOn<'t> {
    /// `$?`
    Last,
    /// `${PIPESTATUS[n]}`
    Stage(usize),
    /// `$name`
    Variable(&'t str),
}

/// Returns what happens if the pipeline at `place` of a chain fails.
pub(super) fn after_failure(chain: &[(Joint, Pipeline)], place: usize) -> AfterFailure<'_> {
    let rescue = chain.iter().skip(place + 1).find(|(joint, _)| *joint == Joint::Or);
    let Some((_, rescue)) = rescue else { return AfterFailure::ChainFails };
    let [stage] = rescue.stages.as_slice() else { return AfterFailure::Swallowed };
    if let Some((name, PassedOn::Last)) = saved(stage) {
        return AfterFailure::Saved(name);
    }
    if let Some(ended) = stage_ends(stage) {
        AfterFailure::Ends(ended)
    } else if program(stage) == Some("false") {
        AfterFailure::ChainFails
    } else {
        AfterFailure::Swallowed
    }
}

/// Returns what a list ends with a failure, if its last command is `exit` or `return`.
pub(super) fn list_ends(list: &List) -> Option<Ended> {
    list.items.last().and_then(only_stage).and_then(stage_ends)
}

fn stage_ends(stage: &Stage) -> Option<Ended> {
    match &stage.body {
        Body::Group { list, .. } => list_ends(list),
        Body::Simple { words, .. } if words.get(1).and_then(RawWord::plain) != Some("0") => {
            match program(stage)? {
                "exit" => Some(Ended::Shell),
                "return" => Some(Ended::Function),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns which status of the item at `place` later items pass on as that of the line.
pub(super) fn passed_on(list: &List, place: usize) -> Option<PassedOn<'_>> {
    let next = list.items.get(place + 1)?;
    let next_is_last = place + 2 == list.items.len();
    match passes_on(next, next_is_last) {
        Some(PassedOn::Variable(_)) | None => {}
        found => return found,
    }
    let (name, status) = only_stage(next).and_then(saved)?;
    variable_passed_on(list, place + 1, name).then_some(status)
}

/// Returns whether an item after `place` ends the line with the status saved in `name`.
pub(super) fn variable_passed_on(list: &List, place: usize, name: &str) -> bool {
    let later = list.items.iter().enumerate().skip(place + 1).take(LOOKAHEAD);
    later.into_iter().any(|(at, item)| {
        passes_on(item, at + 1 == list.items.len()) == Some(PassedOn::Variable(name))
    })
}

/// Returns the status with which an item ends the line: `exit $?`, or a final `[ $rc -eq 0 ]`.
fn passes_on(item: &Item, last: bool) -> Option<PassedOn<'_>> {
    let stage = only_stage(item)?;
    match &stage.body {
        Body::Simple { words, .. } => match (program(stage)?, words.get(1..)?) {
            ("exit" | "return", []) => Some(PassedOn::Last),
            ("exit" | "return", [status]) => status_in(status),
            ("[" | "test", [status, operator, zero, ..]) if last => {
                compared(status, operator, zero)
            }
            _ => None,
        },
        Body::Test(words) if last => match words.as_slice() {
            [status, operator, zero] => compared(status, operator, zero),
            _ => None,
        },
        Body::Group { list, subshell: true } if last => match list.items.as_slice() {
            [item] => passes_on(item, true),
            _ => None,
        },
        _ => None,
    }
}

fn compared<'t>(status: &'t RawWord, operator: &RawWord, zero: &RawWord) -> Option<PassedOn<'t>> {
    let equals = matches!(operator.plain(), Some("-eq" | "=" | "=="));
    (equals && zero.plain() == Some("0")).then(|| status_in(status)).flatten()
}

/// Returns the variable and status of `name=$?`, if that is the whole command.
fn saved(stage: &Stage) -> Option<(&str, PassedOn<'_>)> {
    let Body::Simple { assignments, words } = &stage.body else { return None };
    let ([only], []) = (assignments.as_slice(), words.as_slice()) else { return None };
    let AssignedValue::Scalar(word) = &only.value else { return None };
    Some((&only.name, status_in(word)?))
}

fn status_in(word: &RawWord) -> Option<PassedOn<'_>> {
    let variable = match &*word.parts {
        [Part::Variable(variable)] => variable,
        [Part::Quoted(empty), Part::Variable(variable)] if empty.is_empty() => variable,
        _ => return None,
    };
    if !matches!(variable.operation, Operation::Value) {
        return None;
    }
    match (&*variable.name, variable.index) {
        ("?", None) => Some(PassedOn::Last),
        ("PIPESTATUS", Some(Index::At(stage))) => Some(PassedOn::Stage(stage)),
        ("PIPESTATUS", None) => Some(PassedOn::Stage(0)),
        (name, None) => Some(PassedOn::Variable(name)),
        _ => None,
    }
}

fn only_stage(item: &Item) -> Option<&Stage> {
    let [(_, pipeline)] = item.chain.as_slice() else { return None };
    let [stage] = pipeline.stages.as_slice() else { return None };
    (!item.background && !pipeline.negated).then_some(stage)
}

pub(super) fn program(stage: &Stage) -> Option<&str> {
    match &stage.body {
        Body::Simple { words, .. } => words.first()?.plain(),
        _ => None,
    }
}
