//! A list in one text, as a variable gives it.

/// The items of a list: one a line, or an array of texts in JSON, whose items may hold line ends.
pub(super) fn items(text: &str) -> Vec<String> {
    if let Ok(items) = serde_json::from_str::<Vec<String>>(text) {
        return items;
    }
    text.lines().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}

/// Items in the form that reaches another process of ours unchanged.
pub fn as_variable(items: &[&str]) -> String {
    match serde_json::to_string(items) {
        Ok(array) if items.iter().any(|item| item.contains('\n')) => array,
        _ => items.join("\n"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(items(text), expected, "{text}");
    }

    #[test]
    fn a_line_is_an_item_and_so_is_a_text_of_an_array() {
        check("a 1,2\n b\n\n", &["a 1,2", "b"]);
        check(r#"["a,b", "c\nd"]"#, &["a,b", "c\nd"]);
        check("[ -e a ]", &["[ -e a ]"]);
        check("", &[]);
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
