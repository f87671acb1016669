//! Lists every text of the programs that users may read.

use camino::Utf8PathBuf;
use regex::Regex;

use crate::run;

/// A word in a string literal.
const WORD: &str = r#"[^"\\ ]*[a-z]{2}[^"\\ ]*"#;

/// What may precede and follow it in the literal.
const REST: &str = r#"(?:[^"\\]|\\.)*"#;

/// Folders without texts for users.
const OTHERS: [&str; 4] = ["xtask/", "crates/test-support/", "crates/scripted-model/", "fixtures/"];

/// Prints the list.
pub(crate) fn run() -> anyhow::Result<()> {
    for (file, text) in texts()? {
        println!("{file}: {text}");
    }
    Ok(())
}

/// Returns each text with its file.
pub(crate) fn texts() -> anyhow::Result<Vec<(Utf8PathBuf, String)>> {
    let listed = run::output(run::command("git").args(["ls-files", "*.rs", "*.toml", "*.html"]))?;
    let is_test = |name: &&str| name.contains("/tests/") || name.ends_with("_tests.rs");
    let is_other = |name: &&str| OTHERS.iter().any(|other| name.starts_with(other));
    // At least three words; a text may continue on the next line of the source.
    let text = Regex::new(&format!("\"({REST}{WORD} {WORD} {WORD}{REST})\""))?;
    let folded = Regex::new(r"\\\n\s*")?;
    let mut found = Vec::new();
    for name in listed.lines().filter(|name| !is_test(name) && !is_other(name)) {
        let source = fs_err::read_to_string(run::root().join(name))?;
        let shipped = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let shipped = folded.replace_all(shipped, "");
        let is_code = |line: &&str| !["//", "#", "reason"].iter().any(|it| line.starts_with(it));
        for line in shipped.lines().map(str::trim_start).filter(is_code) {
            let texts = text.captures_iter(line).map(|text| (name.into(), text[1].to_owned()));
            found.extend(texts);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words that are unusual here or hard to understand.
    const RIDDLES: &str =
        r"\b(told|untold|mend(s|ed)?|foretell\w*|foretold|nobody's|is content with)\b";

    #[test]
    fn texts_for_users_contain_no_unusual_words() {
        let riddle = Regex::new(RIDDLES).unwrap();
        let texts = texts().unwrap();
        assert!(texts.len() > 500, "{}", texts.len());
        let found = texts.iter().filter(|(_, text)| riddle.is_match(text));
        let found: Vec<String> = found.map(|(file, text)| format!("{file}: {text}")).collect();
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}
