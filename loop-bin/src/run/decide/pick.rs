//! Which story is next.

use std::collections::BTreeSet;

use ralph_core::plan::{Next, Plan, Story};
use ralph_project::config::Scope;

/// What is next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Picked {
    Story(String),
    /// Stories under way may unblock the rest, so wait.
    Wait,
    Complete,
    /// No story can be worked on, and why.
    Stuck(String),
}

/// Picks the next story of a plan: the first one that can be worked on, but preferably one whose scope is
/// apart from those under way.
pub(crate) fn pick(
    plan: &Plan,
    given_up: &BTreeSet<String>,
    under_way: &BTreeSet<String>,
    scope: &Scope,
) -> Picked {
    let passed_over: BTreeSet<String> = given_up.union(under_way).cloned().collect();
    match plan.next_story(&passed_over) {
        Next::Complete => return Picked::Complete,
        Next::Stuck { waiting, blocked } if under_way.is_empty() => {
            return Picked::Stuck(stuck(&waiting, &blocked));
        }
        Next::Stuck { .. } => return Picked::Wait,
        Next::Story(_) => {}
    }
    let ready = plan.ready_stories(&passed_over);
    let is_apart = |story: &&&Story| under_way.iter().all(|one| are_apart(scope, &story.id, one));
    let first = ready.iter().find(is_apart).or(ready.first());
    first.map_or(Picked::Wait, |story| Picked::Story(story.id.clone()))
}

/// Why no story is left, and which ones are in the way.
fn stuck(waiting: &[&Story], blocked: &[&Story]) -> String {
    let ids = |stories: &[&Story]| {
        stories.iter().map(|story| story.id.clone()).collect::<Vec<_>>().join(", ")
    };
    let mut why = format!("no story can be worked on; blocked: {}", ids(blocked));
    if !waiting.is_empty() {
        why.push_str(&format!("; dependent on them: {}", ids(waiting)));
    }
    why
}

/// Whether two stories have scopes that cannot meet: by what stands in their patterns before the first
/// wildcard.
fn are_apart(scope: &Scope, one: &str, other: &str) -> bool {
    let of = |story: &str| scope.stories.get(story).filter(|globs| !globs.is_empty());
    let (Some(one), Some(other)) = (of(one), of(other)) else { return false };
    let fixed =
        |glob: &'_ String| glob.split(['*', '?', '[', '{']).next().unwrap_or_default().to_owned();
    one.iter().map(fixed).all(|one| {
        other.iter().map(fixed).all(|other| !one.starts_with(&other) && !other.starts_with(&one))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_that_cannot_meet_are_known_by_their_beginnings() {
        let globs = |list: &[&str]| list.iter().map(|glob| (*glob).to_owned()).collect();
        let stories = [
            ("A", globs(&["src/a/**"])),
            ("B", globs(&["src/b/**", "docs/b.md"])),
            ("C", globs(&["src/**"])),
            ("D", globs(&[])),
        ];
        let stories = stories.into_iter().map(|(id, globs)| (id.to_owned(), globs)).collect();
        let scope = Scope { stories, ..Scope::default() };
        for (one, other, expected) in
            [("A", "B", true), ("A", "C", false), ("A", "D", false), ("A", "E", false)]
        {
            assert_eq!(are_apart(&scope, one, other), expected, "{one} {other}");
        }
    }
}
