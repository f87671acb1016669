//! Converts an issue to a story of a Markdown plan. The source of the issue is not known here.

use super::blocks::{self, Block};
use super::{Plan, depends};
use ralph_base::lines::lines;
use std::collections::HashSet;

impl Plan {
    /// Returns a story with the issue's boxes, or with a single box if it has none. The other text
    /// is quoted, so that nothing in it is read as a story or as a dependency.
    pub fn story_of_issue(id: &str, title: &str, link: &str, text: &str) -> String {
        let heading = plain(&format!("### {id}: {}", title.trim()));
        let (boxes, rest) = boxes_and_rest(text);
        let boxes: String = boxes.iter().map(|line| plain(line.trim()) + "\n").collect();
        let all = "- [ ] What the issue asks for\n";
        let boxes = if boxes.is_empty() { all } else { &boxes };
        let quoted: String = rest.iter().map(|line| format!("> {line}\n")).collect();
        format!("\n{heading}\n\n{link}\n\n{boxes}\n{quoted}")
    }
}

/// Splits a text into the lines with boxes, as a plan would read them, and all other lines.
fn boxes_and_rest(text: &str) -> (Vec<&str>, Vec<&str>) {
    // An unclosed fence or comment hides everything after it, as it does when the text is rendered.
    let boxes = blocks::scan_open(text.as_bytes()).0.into_iter().filter_map(|block| match block {
        Block::Task(item) => Some(item.line),
        _ => None,
    });
    let boxes: HashSet<usize> = boxes.collect();
    let lines = lines(text.as_bytes());
    let lines = lines.map(|line| (line.number, line.start..line.start + line.text.len()));
    let (boxes, rest): (Vec<_>, Vec<_>) = lines.partition(|(number, _)| boxes.contains(number));
    let text_of = |lines: Vec<(usize, std::ops::Range<usize>)>| {
        lines.into_iter().filter_map(|(_, range)| text.get(range)).collect()
    };
    (text_of(boxes), text_of(rest))
}

/// Disarms dependency notes and comment openings in a line without changing how it looks.
fn plain(line: &str) -> String {
    depends::unread(&line.replace("<!--", "<\\!--"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkboxes_in_code_comments_and_quotes_are_ignored() {
        let text = "We need it.\r\n- [ ] a\r\n```\r\n- [ ] code\r\n```\r\n<!--\r\n- [ ] hidden\r\n-->\r\n\
                    > - [ ] said\r\n  * [x] b\r\n- [a link](x)\r\n~~~\n- [ ] open";
        let (boxes, rest) = boxes_and_rest(text);
        assert_eq!(boxes, ["- [ ] a", "  * [x] b"]);
        assert_eq!((rest.len(), rest[0]), (11, "We need it."));
    }

    #[test]
    fn plain_text_contains_no_dependency_and_no_comment() {
        for (line, expected) in [
            ("- [ ] Depends on: #13", "- [ ] Depends on\u{a0}: #13"),
            (
                "### A-1: Add (depends: US-001), blocked by US-2",
                "### A-1: Add (depends\u{a0}: US-001), blocked by\u{a0}US-2",
            ),
            ("- [x] **Requires:** US-001", "- [x] **Requires\u{a0}:** US-001"),
            ("It depends on luck <!-- a", "It depends on luck <\\!-- a"),
        ] {
            let found = plain(line);
            assert_eq!(found, expected);
            assert_eq!(depends::in_line(1, &found).len(), 0, "{found}");
        }
    }
}
