//! The user's own rules and exceptions.

use regex::Regex;

use super::act::Act;
use super::settings::UserRule;

/// Whether the user allows this command whatever the rules say.
pub(super) fn is_allowed(act: &Act) -> bool {
    act.settings.allow.iter().any(|pattern| wildcard(pattern, &act.text()))
}

/// The first of the user's rules that forbids this command.
pub(super) fn forbidding<'a>(act: &Act<'a>) -> Option<&'a UserRule> {
    let rules = act.settings.rules.iter();
    rules.filter(|rule| act.settings.in_force(&rule.name)).find(|rule| matches(rule, act))
}

fn matches(rule: &UserRule, act: &Act) -> bool {
    if let Some(pattern) = &rule.regex {
        // A pattern that cannot be compiled is reported when the settings are loaded.
        return Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(&act.text()));
    }
    let Some(program) = &rule.program else { return false };
    let mut args = act.args();
    wildcard(program, act.name)
        && rule.args.iter().all(|wanted| args.any(|arg| wildcard(wanted, arg)))
}

/// Whether a text fits a pattern in which `*` stands for anything.
fn wildcard(pattern: &str, text: &str) -> bool {
    // To compile a pattern takes longer than all the rest.
    if !pattern.contains('*') {
        return pattern == text;
    }
    let pattern = format!("(?s)^{}$", regex::escape(pattern).replace(r"\*", ".*"));
    Regex::new(&pattern).is_ok_and(|pattern| pattern.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        let check = |pattern, text, expected| {
            assert_eq!(wildcard(pattern, text), expected, "{pattern} {text}")
        };
        check("git push", "git push", true);
        check("git push", "git push x", false);
        check("git push*", "git push x", true);
        check("git * --dry-run", "git push --dry-run", true);
        check("*a*b*", "xaxbx", true);
        check("*a*b*", "xbxax", false);
        check("aba*aba", "aba", false);
    }
}
