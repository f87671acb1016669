//! The message of a story's commit: a first line that conventional-commit linters accept, what the
//! agent says that it did, and trailers for machines. Pure.

/// The longest lines that the usual linters accept; one of the body may get a blank in front.
const LONGEST_SUBJECT: usize = 100;
const LONGEST_LINE: usize = 99;

/// More of the agent's own words nobody reads in a log.
const LONGEST_BODY: usize = 4_000;

/// Types that a story's title may begin with, as in `fix: the parser`.
const TYPES: [&str; 11] =
    ["build", "chore", "ci", "docs", "feat", "fix", "perf", "refactor", "revert", "style", "test"];

/// What stands for the checks of a commit that none has seen.
pub const UNCHECKED: &str = "unchecked";

/// What a message tells of.
#[derive(Debug, Clone, Default)]
pub struct Story<'a> {
    /// The story's id.
    pub id: &'a str,
    /// The story's title.
    pub title: &'a str,
    /// What the agent says that it did.
    pub summary: Option<&'a str>,
    /// The checks that passed; none if nothing was checked.
    pub checks: &'a [String],
    /// What its tests do without the change, and what came of its review.
    pub proof: Option<String>,
    /// The reviewer's verdict.
    pub review: Option<String>,
    /// The agent, if it is one that is known.
    pub agent: Option<String>,
    /// The number of the attempt.
    pub attempt: u64,
    /// What the story cost, where known.
    pub cost_usd: Option<f64>,
}

/// The whole message.
pub fn message(template: &str, kind: &str, story: &Story<'_>) -> String {
    let subject = subject(template, kind, story.id, story.title);
    let summary = story.summary.map(str::trim).filter(|summary| !summary.is_empty());
    let body = summary.map(|summary| format!("\n\n{}", body(summary))).unwrap_or_default();
    let body = format!("{body}{}", closing(story.id).unwrap_or_default());
    let (id, attempt) = (one_line(story.id), story.attempt);
    let checks = checks_trailer(story.checks);
    let cost = story.cost_usd.map(|cost| format!("Ralph-Cost: ${cost:.4}\n")).unwrap_or_default();
    let looks = [("Agent", &story.agent), ("Proof", &story.proof), ("Review", &story.review)];
    let looks = looks.into_iter().filter_map(|(key, told)| Some((key, one_line(told.as_ref()?))));
    let looks: String = looks.map(|(key, told)| format!("{}\n", trailer(key, &told))).collect();
    let trailers = format!("Ralph-Story: {id}\n{checks}\n{looks}Ralph-Attempt: {attempt}\n");
    format!("{subject}{body}\n\n{trailers}{cost}")
}

/// What closes the issue that a story came from, by the id that such stories get: `GH-12`.
fn closing(id: &str) -> Option<String> {
    let number = ["GH-", "GL-"].iter().find_map(|prefix| id.strip_prefix(prefix))?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { Some(format!("\n\nCloses #{number}")) } else { None }
}

fn trailer(key: &str, told: &str) -> String {
    shortened(&format!("Ralph-{key}: {told}"), LONGEST_LINE)
}

/// The checks that passed; folded, as a trailer may be, where a line would be too long.
fn checks_trailer(checks: &[String]) -> String {
    if checks.is_empty() {
        return format!("Ralph-Checks: {UNCHECKED}");
    }
    let checks = checks.iter().map(|check| shortened(&one_line(check), LONGEST_LINE - 4) + ",");
    wrapped("Ralph-Checks:", "  ", checks).trim_end_matches(',').to_owned()
}

/// Items in lines that are not too long; all but the first begin with an indent.
fn wrapped(first: &str, indent: &str, items: impl Iterator<Item = String>) -> String {
    let mut lines = vec![first.to_owned()];
    for item in items {
        match lines.last_mut() {
            Some(line) if line.is_empty() => *line = item,
            Some(line) if length(line) + 1 + length(&item) <= LONGEST_LINE => {
                line.push_str(&format!(" {item}"));
            }
            _ => lines.push(format!("{indent}{item}")),
        }
    }
    lines.join("\n")
}

/// As the linters count.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// A line cut to a length, at a blank if there is one.
fn shortened(line: &str, longest: usize) -> String {
    if length(line) <= longest {
        return line.to_owned();
    }
    let (mut cut, mut left) = (String::new(), longest - 1);
    for c in line.chars() {
        let Some(rest) = left.checked_sub(c.len_utf16()) else { break };
        left = rest;
        cut.push(c);
    }
    let at = cut.rfind(' ').filter(|at| *at > cut.len() / 2).unwrap_or(cut.len());
    format!("{}…", cut.get(..at).unwrap_or(&cut).trim_end())
}

/// The first line. A title that begins with a type of its own keeps it; the linters want a scope,
/// words and no full stop.
pub(crate) fn subject(template: &str, kind: &str, id: &str, title: &str) -> String {
    // Linters would take all before it for the scope.
    let title = one_line(title).replace("): ", ") ");
    let (kind, title) = own_type(&title).unwrap_or((kind.to_owned(), title.clone()));
    let title = title.trim_end_matches(['.', ' ']);
    let title = if title.is_empty() { "complete the story" } else { title };
    let line = template
        .replace("{type}", &kind)
        .replace("{id}", &one_line(id))
        .replace("{title}", &uncapitalised(title));
    shortened(&one_line(&line), LONGEST_SUBJECT)
}

fn own_type(title: &str) -> Option<(String, String)> {
    let (kind, rest) = title.split_once(':')?;
    let kind = kind.trim().to_ascii_lowercase();
    TYPES.contains(&kind.as_str()).then(|| (kind, rest.trim().to_owned()))
}

/// Conventional linters refuse a subject that begins with a capital letter; a name or an abbreviation
/// keeps it in quotes, which they pass over.
fn uncapitalised(title: &str) -> String {
    let end = title.find(|c: char| !c.is_alphanumeric() && !"_-./".contains(c));
    let (word, rest) = title.split_at(end.unwrap_or(title.len()));
    let mut chars = word.chars();
    match chars.next() {
        Some(first) if first.is_uppercase() => {
            if chars.clone().any(|c| c.is_uppercase() || c.is_numeric()) {
                return format!("`{word}`{rest}");
            }
            first.to_lowercase().chain(chars).chain(rest.chars()).collect()
        }
        _ => title.to_owned(),
    }
}

fn one_line(text: &str) -> String {
    let clean = text.replace(|c: char| c.is_control(), " ");
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The agent's words, wrapped. A line that begins like a trailer or a comment would be read as one.
fn body(summary: &str) -> String {
    let short: String = summary.chars().take(LONGEST_BODY).collect();
    let lines = short.lines().map(|line| {
        let line = line.replace(|c: char| c.is_control() && c != '\t', " ");
        wrapped("", "", line.split_whitespace().map(|word| shortened(word, LONGEST_LINE)))
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    let guarded = text.lines().map(|line| {
        let is_special = line.starts_with('#') || line.starts_with("Ralph-");
        if is_special { format!(" {line}") } else { line.to_owned() }
    });
    guarded.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "{type}({id}): {title}";

    #[test]
    fn the_first_line_is_what_linters_accept() {
        for (title, expected) in [
            ("Greet the world", "feat(US-001): greet the world"),
            ("README for users.", "feat(US-001): `README` for users"),
            ("GraphQL: endpoint", "feat(US-001): `GraphQL`: endpoint"),
            ("A page", "feat(US-001): a page"),
            ("Ärger vermeiden", "feat(US-001): ärger vermeiden"),
            ("日本語の挨拶", "feat(US-001): 日本語の挨拶"),
            ("...", "feat(US-001): complete the story"),
            ("fix: the parser", "fix(US-001): the parser"),
            ("Fix(parser): Do it", "feat(US-001): fix(parser) Do it"),
            ("Two\nlines\u{0}", "feat(US-001): two lines"),
        ] {
            assert_eq!(subject(TEMPLATE, "feat", "US-001", title), expected);
        }
        let long = subject(TEMPLATE, "feat", "US-001", &"word ".repeat(60));
        assert!(long.chars().count() <= LONGEST_SUBJECT && long.ends_with("word…"), "{long}");
        assert_eq!(subject("[{id}] {title}", "feat", "A-1", "Do it"), "[A-1] do it");
    }

    #[test]
    fn the_body_is_the_agents_and_the_trailers_are_ours() {
        let checks = ["cargo test".to_owned()];
        let story = Story {
            id: "US-001",
            title: "Greet",
            summary: Some("Did it.\nRalph-Checks: all\n# not a heading"),
            checks: &checks,
            proof: Some("its new test fails without the change".to_owned()),
            review: Some("approved".to_owned()),
            agent: Some("codex".to_owned()),
            attempt: 2,
            cost_usd: Some(0.25),
        };
        assert_eq!(
            message(TEMPLATE, "feat", &story),
            "feat(US-001): greet\n\nDid it.\n Ralph-Checks: all\n # not a heading\n\n\
             Ralph-Story: US-001\nRalph-Checks: cargo test\nRalph-Agent: codex\n\
             Ralph-Proof: its new test fails without the change\nRalph-Review: approved\n\
             Ralph-Attempt: 2\nRalph-Cost: $0.2500\n"
        );
        let bare = Story { id: "A-1", title: "x", attempt: 1, ..Story::default() };
        let text = message(TEMPLATE, "feat", &bare);
        assert!(text.contains("\nRalph-Checks: unchecked\n"), "{text}");
        let checks = ["cargo test", &"x".repeat(200), "true"].map(str::to_owned);
        let many = message(TEMPLATE, "feat", &Story { checks: &checks, ..bare.clone() });
        assert!(many.contains("\nRalph-Checks: cargo test,\n  xxx"), "{many}");
        assert!(many.contains("xxx…,\n  true\n") && many.lines().all(|line| length(line) < 100));
    }
}
