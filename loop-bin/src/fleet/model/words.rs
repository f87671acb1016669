//! What happens, in words.

use std::fmt;

use super::step::Step;
use super::world::Named;

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |machine: &u8| Named(*machine);
        match self {
            Self::Chooses { machine, story, over: None } => {
                write!(f, "{} pushes a claim for S{}", name(machine), story + 1)
            }
            Self::Chooses { machine, story, over: Some(other) } => {
                let (us, other) = (name(machine), name(other));
                write!(f, "{us} takes {other} for gone and pushes a claim for S{}", story + 1)
            }
            Self::Arrives { machine, is_repeated: false } => {
                write!(f, "the push of {} arrives", name(machine))
            }
            Self::Arrives { machine, is_repeated: true } => {
                write!(f, "the push of {} arrives, and will once more", name(machine))
            }
            Self::ArrivesLate(push) => {
                write!(f, "an old push of {} arrives: {:?}", Named(push.machine), push.what)
            }
            Self::Hears(machine) => write!(f, "{} hears that its push is done", name(machine)),
            Self::Asks { machine, is_silent: true } => {
                write!(f, "{} hears nothing and asks the server", name(machine))
            }
            Self::Asks { machine, is_silent: false } => {
                write!(f, "{} is rejected and asks the server", name(machine))
            }
            Self::Lands(machine) => {
                let us = name(machine);
                write!(f, "{us} looks at the target, checks its work and pushes it")
            }
            Self::TakesTurn(machine) => {
                write!(f, "{} asks that nobody lands before it", name(machine))
            }
            Self::GivesTurn(machine) => write!(f, "{} lets others land", name(machine)),
            Self::Crashes(machine) => write!(f, "{} crashes", name(machine)),
            Self::Restarts(machine) => write!(f, "{} starts again", name(machine)),
            Self::Outsider(None) => f.write_str("a person pushes to the target"),
            Self::Outsider(Some(story)) => write!(f, "a person does S{} by hand", story + 1),
        }
    }
}
