//! The decisions of the stop hook in a session, and what followed.

use std::collections::BTreeMap;

use serde::Serialize;

/// The decisions of the stop hook in one session.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Stops {
    pub(crate) session: String,
    /// The gates that blocked the session, how often, and what followed.
    pub(crate) gates: BTreeMap<String, Gate>,
    /// The status with which it was finally allowed to stop.
    pub(crate) let_go: String,
    pub(crate) note: String,
    /// The gates of the last block.
    #[serde(skip)]
    pub(crate) last: Vec<String>,
}

/// How often a gate blocked a session, and what followed at the next stop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Gate {
    pub(crate) held: u64,
    pub(crate) met: u64,
    pub(crate) held_again: u64,
    /// How often the session was allowed to stop although the gate was unmet.
    pub(crate) given_up: u64,
}

impl Gate {
    /// Returns what followed, in words.
    pub(crate) fn followed(self) -> String {
        let Self { met, held_again, given_up, .. } = self;
        let parts = [(met, "met"), (held_again, "held again"), (given_up, "given up")];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        parts.map(|(count, what)| format!("{what} {count}×")).collect::<Vec<_>>().join(", ")
    }
}

impl Stops {
    /// Records that these gates blocked the session.
    pub(crate) fn held(&mut self, gates: &[String]) {
        self.follow(gates, |gate| gate.held_again += 1);
        for gate in gates {
            self.gates.entry(gate.clone()).or_default().held += 1;
        }
        self.last = gates.to_vec();
    }

    /// Records that the session was allowed to stop although these gates are unmet.
    pub(crate) fn allowed(&mut self, gates: &[String], status: &str, note: Option<&str>) {
        self.follow(gates, |gate| gate.given_up += 1);
        status.clone_into(&mut self.let_go);
        self.note = note.unwrap_or_default().to_owned();
    }

    /// Counts the outcome of the last block.
    fn follow(&mut self, unmet: &[String], count_unmet: impl Fn(&mut Gate)) {
        for name in std::mem::take(&mut self.last) {
            let is_unmet = unmet.contains(&name);
            let gate = self.gates.entry(name).or_default();
            if is_unmet { count_unmet(gate) } else { gate.met += 1 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_counted_per_gate() {
        let gates =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let mut stops = Stops::default();
        stops.held(&gates(&["TESTS"]));
        stops.held(&gates(&["TESTS", "STORY"]));
        stops.held(&gates(&["STORY"]));
        stops.allowed(&gates(&["STORY"]), "let_go", Some("held twice"));
        let gate = |held, met, held_again, given_up| Gate { held, met, held_again, given_up };
        let expected = [("STORY".into(), gate(2, 0, 1, 1)), ("TESTS".into(), gate(2, 1, 1, 0))];
        assert_eq!(stops.gates, BTreeMap::from(expected));
        assert_eq!((stops.let_go.as_str(), stops.note.as_str()), ("let_go", "held twice"));
    }
}
