//! A change as a person reads it: the difference of the settings and the files that come and go.

use ralph_project::install::Change;
use similar::TextDiff;

/// What would change, in lines.
pub(crate) fn described(change: &Change) -> String {
    if change.is_empty() {
        return format!("{}: nothing to change\n", change.settings());
    }
    let before = change.before.as_deref().unwrap_or_default();
    let after = change.after.as_deref().unwrap_or_default();
    let name = change.settings().as_str();
    let mut text =
        TextDiff::from_lines(before, after).unified_diff().header(name, name).to_string();
    for (_, to) in &change.copies {
        text.push_str(&format!("write {to}\n"));
    }
    if change.after.is_none() && change.before.is_some() {
        text.push_str(&format!("remove {name}\n"));
    }
    for path in &change.removals {
        text.push_str(&format!("remove {path}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use ralph_project::install::{ClientVersion, HOOK_NAMES, Place, plan_install, plan_uninstall};
    use test_support::Scratch;

    use super::*;

    #[test]
    fn a_change_is_described_by_its_difference_and_its_files() {
        let scratch = Scratch::new();
        for name in HOOK_NAMES {
            scratch.script(&format!("built/{name}"), "#!/bin/sh\n");
        }
        scratch.file("app/.claude/settings.json", "{\n  \"model\": \"opus\"\n}\n");
        let place = Place::project(&scratch.path("app"));
        let client = ClientVersion::new(2, 1, 325);
        let change = plan_install(&place, &scratch.path("built"), client).unwrap();
        let text = described(&change);
        let settings = &place.settings;
        let header = format!("--- {settings}\n+++ {settings}\n@@ ");
        assert!(text.starts_with(&header), "{text}");
        let added = "\n-  \"model\": \"opus\"\n+  \"model\": \"opus\",\n+  \"hooks\": {\n";
        assert!(text.contains(added), "{text}");
        assert!(text.contains(&format!("\nwrite {}/ralph-on-stop\n", place.hooks)), "{text}");
        change.apply().unwrap();
        let again = plan_install(&place, &scratch.path("built"), client).unwrap();
        assert_eq!(described(&again), format!("{settings}: nothing to change\n"));
        let out = described(&plan_uninstall(&place).unwrap());
        assert!(out.contains(&format!("\nremove {}/ralph-on-stop\n", place.hooks)), "{out}");
    }
}
