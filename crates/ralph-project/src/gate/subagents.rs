//! Which subagents are held back like a session.

use ralph_core::guard::Glob;

/// Whether an agent type matches one of the globs; a glob that cannot be read matches nothing.
pub fn is_gated(agent_type: &str, globs: &[String]) -> bool {
    globs.iter().any(|glob| Glob::fits(glob, agent_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_types_are_matched_as_a_whole() {
        let globs = ["ralph-*".to_owned(), "[".to_owned()];
        assert!(is_gated("ralph-coder", &globs));
        for other in ["general-purpose", "my-ralph-coder", "ralph", ""] {
            assert!(!is_gated(other, &globs), "{other}");
        }
    }
}
