//! A list in one text, as a variable gives it.

/// The items of a list. A text with line ends has one item a line, because a command may hold
/// commas; otherwise commas separate, except in quotes and parentheses of any kind. An array of texts
/// in JSON is what it says, so that an item may even hold line ends.
pub(super) fn items(text: &str) -> Vec<String> {
    if let Ok(items) = serde_json::from_str::<Vec<String>>(text) {
        return items;
    }
    let parts = if text.contains('\n') { text.split('\n').collect() } else { by_commas(text) };
    parts.into_iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}

/// Items in the form that reaches another process of ours unchanged.
pub fn as_variable(items: &[&str]) -> String {
    match serde_json::to_string(items) {
        Ok(array) if items.iter().any(|item| item.contains('\n')) => array,
        // The line end after the last item keeps commas inside a single one.
        _ => items.iter().flat_map(|item| [item, "\n"]).collect(),
    }
}

fn by_commas(text: &str) -> Vec<&str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let (mut quote, mut depth) = (None, 0_usize);
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => drop(chars.next()),
            (c, Some(open)) if c == open => quote = None,
            (_, Some(_)) => {}
            ('\'' | '"' | '`', None) => quote = Some(c),
            ('(' | '{' | '[', None) => depth += 1,
            (')' | '}' | ']', None) => depth = depth.saturating_sub(1),
            (',', None) if depth == 0 => {
                parts.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(text.get(start..));
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(items(text), expected, "{text}");
    }

    #[test]
    fn commas_separate_where_nothing_is_open() {
        check("a, b ,,c", &["a", "b", "c"]);
        check("test \"a,b\" = 'a,b', x", &["test \"a,b\" = 'a,b'", "x"]);
        check(
            "pytest -k 'a,b' && (x, y), $(f a,b), ls {c,d}",
            &["pytest -k 'a,b' && (x, y)", "$(f a,b)", "ls {c,d}"],
        );
        check(r#"echo \", x, "a\",b""#, &[r#"echo \""#, "x", r#""a\",b""#]);
        check("a), b", &["a)", "b"]);
        // What is never closed is one item, and the shell will say so.
        check("echo 'a, b", &["echo 'a, b"]);
        check("", &[]);
    }

    #[test]
    fn lines_and_arrays_keep_their_commas() {
        check("a 1,2\n b\n", &["a 1,2", "b"]);
        check(r#"["a,b", "c\nd"]"#, &["a,b", "c\nd"]);
        check("[ -e a ], b", &["[ -e a ]", "b"]);
    }

    proptest! {
        #[test]
        fn what_is_handed_to_a_hook_arrives_unchanged(
            given in proptest::collection::vec("[a-z,'\"()\n]*[a-z]", 1..4)
        ) {
            let given: Vec<&str> = given.iter().map(|item| item.trim()).collect();
            prop_assert_eq!(items(&as_variable(&given)), given);
        }
    }
}
