//! What the stop hook decided in a session, and what followed. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// What the stop hook decided in one session.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Stops {
    pub(crate) session: String,
    /// Each gate that held it, and how often.
    pub(crate) held: BTreeMap<String, u64>,
    /// What followed, gate by gate.
    pub(crate) followed: BTreeMap<String, Followed>,
    /// How it was let go in the end.
    pub(crate) let_go: String,
    pub(crate) note: String,
    /// The types of subagents among those that were held.
    pub(crate) agent_types: BTreeSet<String>,
    /// The gates of the last hold.
    #[serde(skip)]
    last: Vec<String>,
}

/// What followed when a gate held somebody.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Followed {
    /// At the next stop it was met.
    pub(crate) met: u64,
    /// At the next stop it held again.
    pub(crate) held_again: u64,
    /// It was let go although it was unmet.
    pub(crate) given_up: u64,
}

impl Stops {
    pub(super) fn of_session(session: &str) -> Self {
        Self { session: session.to_owned(), ..Self::default() }
    }

    /// It was held by these gates. An older journal names them only in the reasons.
    pub(super) fn held(&mut self, gates: &[String], reasons: &[String]) {
        let first =
            |reason: &String| reason.split([' ', ':']).next().unwrap_or_default().to_owned();
        let gates = match gates {
            [] => reasons.iter().map(first).collect(),
            named => named.to_vec(),
        };
        self.follow(&gates, false);
        for gate in &gates {
            *self.held.entry(gate.clone()).or_default() += 1;
        }
        self.last = gates;
    }

    /// It was let go, although these gates are unmet.
    pub(super) fn allowed(&mut self, gates: &[String], status: &str, note: Option<&str>) {
        self.follow(gates, true);
        status.clone_into(&mut self.let_go);
        self.note = note.unwrap_or_default().to_owned();
    }

    /// What came of the last hold.
    fn follow(&mut self, gates: &[String], is_allowed: bool) {
        for gate in std::mem::take(&mut self.last) {
            let is_unmet = gates.contains(&gate);
            let followed = self.followed.entry(gate).or_default();
            match (is_unmet, is_allowed) {
                (false, _) => followed.met += 1,
                (true, false) => followed.held_again += 1,
                (true, true) => followed.given_up += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gates(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_followed_is_known_gate_by_gate() {
        let mut stops = Stops::of_session("x");
        stops.held(&[], &gates(&["TESTS gate failed: x"]));
        stops.held(&gates(&["TESTS", "STORY"]), &[]);
        stops.held(&gates(&["STORY"]), &[]);
        stops.allowed(&gates(&["STORY"]), "let_go", Some("held twice"));
        let followed = |met, held_again, given_up| Followed { met, held_again, given_up };
        assert_eq!(stops.held, BTreeMap::from([("STORY".into(), 2), ("TESTS".into(), 2)]));
        assert_eq!(
            stops.followed,
            BTreeMap::from([
                ("STORY".into(), followed(0, 1, 1)),
                ("TESTS".into(), followed(1, 1, 0))
            ])
        );
        assert_eq!((stops.let_go.as_str(), stops.note.as_str()), ("let_go", "held twice"));
    }
}
