//! A file that is only ever appended to, after somebody changed or removed what was in it.

use std::collections::{HashMap, HashSet};

/// All that was there before, and below it what is new in what was found.
///
/// A line is new if its section, found by its heading, did not have it before; so an entry that
/// repeats the words of others is not taken apart.
pub(super) fn restored(before: &[u8], found: &[u8]) -> Vec<u8> {
    let mut known: HashMap<&[u8], HashSet<&[u8]>> = HashMap::new();
    for (heading, line) in with_headings(before) {
        known.entry(heading).or_default().insert(line);
    }
    let is_known = |heading, line| known.get(heading).is_some_and(|lines| lines.contains(line));
    let mut added: Vec<&[u8]> = Vec::new();
    for (heading, line) in with_headings(found) {
        let follows_added = added.last().is_some_and(|last| !last.is_empty());
        if (line.is_empty() && follows_added) || (!line.is_empty() && !is_known(heading, line)) {
            added.push(line);
        }
    }
    while added.last().is_some_and(|line| line.is_empty()) {
        added.pop();
    }
    let mut restored = before.to_vec();
    if added.is_empty() {
        return restored;
    }
    if !before.is_empty() && !before.ends_with(b"\n") {
        restored.push(b'\n');
    }
    if added.first().is_some_and(|line| is_heading(line)) && !before.is_empty() {
        restored.push(b'\n');
    }
    for line in added {
        restored.extend_from_slice(line);
        restored.push(b'\n');
    }
    restored
}

/// Each line with the heading that it stands under; a heading stands under itself.
fn with_headings(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut heading: &[u8] = b"";
    text.split(|byte| *byte == b'\n').map(move |line| {
        let line = line.trim_ascii_end();
        if is_heading(line) {
            heading = line;
        }
        (heading, line)
    })
}

fn is_heading(line: &[u8]) -> bool {
    line.starts_with(b"#")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "# Progress Log\n\n## Iteration 1 - US-001\n- Status: SUCCESS\nmine\n";

    #[track_caller]
    fn check(found: &str, added: &str) {
        let restored = restored(LOG.as_bytes(), found.as_bytes());
        assert_eq!(String::from_utf8(restored).unwrap(), format!("{LOG}{added}"));
    }

    #[test]
    fn what_was_there_comes_back_and_what_is_new_stays() {
        check("", "");
        check("# Progress Log\n", "");
        check(&LOG.replace("mine\n", ""), "");
        check(&LOG.replace("mine\n", "yours\n\nours"), "yours\n\nours\n");
        check("# Progress\n", "\n# Progress\n");
        check("words\n\n\n", "words\n");
        let entry = "## Iteration 2 - US-002\n- Status: SUCCESS\n";
        check(entry, &format!("\n{entry}"));
        check(&format!("{}\n{entry}", LOG.replace("mine\n", "")), &format!("\n{entry}"));
    }

    #[test]
    fn a_last_line_without_an_end_stays_a_line() {
        assert_eq!(restored(b"a", b"b"), b"a\nb\n");
        assert_eq!(restored(b"", b"b"), b"b\n");
    }
}
