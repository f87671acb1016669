//! The commit message of a story: a subject with the title, the agent's summary, and trailers for
//! machines.

use camino::Utf8Path;
use ralph_base::listing::one_line;
use ralph_project::verification::{CommandFacts, Finding, scale_of};

/// The longest lines that common linters accept; a body line may get a leading space.
const LONGEST_SUBJECT: usize = 100;
const LONGEST_LINE: usize = 99;

/// The maximum length of the agent's summary.
const LONGEST_BODY: usize = 4_000;

/// Commit types that a story's title may begin with, as in `fix: the parser`.
const TYPES: [&str; 11] =
    ["build", "chore", "ci", "docs", "feat", "fix", "perf", "refactor", "revert", "style", "test"];

/// Prefixes of the names of linters' configuration files.
const LINTERS: [&str; 5] = ["commitlint.config.", ".commitlintrc", ".gitlint", "cog.toml", ".cz"];

/// The value of the checks trailer when no checks ran.
const UNCHECKED: &str = "unchecked";

/// The facts about a story that go into its commit message.
#[derive(Debug, Clone, Default)]
pub struct Story<'a> {
    /// The story's id.
    pub id: &'a str,
    /// The story's title.
    pub title: &'a str,
    /// The agent's summary of its work.
    pub summary: Option<&'a str>,
    /// What was found out about the work; no check ran if no finding has commands.
    pub findings: &'a [Finding],
    /// The agent's name, if known.
    pub agent: Option<String>,
    /// Which agent and model helped, as other tools read it; `None` to leave it out.
    pub assisted_by: Option<String>,
    /// The number of the attempt.
    pub attempt: u64,
    /// The cost of the story in US dollars, if known.
    pub cost_usd: Option<f64>,
    /// Whether its session goes on and reports the cost later, so that an unknown one is named.
    pub is_cost_open: bool,
    /// Whether a linter checks the message.
    pub is_linted: bool,
}

/// Whether a project configures a linter for commit messages.
pub fn lints_commits(root: &Utf8Path) -> bool {
    let names = root.read_dir_utf8().into_iter().flatten().flatten();
    let is_settings = |name: &str| LINTERS.iter().any(|start| name.starts_with(start));
    let mut names = names.map(|entry| entry.file_name().to_owned());
    let package = fs_err::read_to_string(root.join("package.json")).unwrap_or_default();
    names.any(|name| is_settings(&name)) || package.contains("commitlint")
}

/// Builds the whole message.
pub fn message(template: &str, kind: &str, story: &Story<'_>) -> String {
    let subject = subject(template, kind, story);
    let summary = story.summary.map(str::trim).filter(|summary| !summary.is_empty());
    let body = summary.map(|summary| format!("\n\n{}", body(summary))).unwrap_or_default();
    let body = format!("{body}{}", closing(story.id).unwrap_or_default());
    let (id, attempt) = (one_line(story.id), story.attempt);
    let commands = story.findings.iter().flat_map(|finding| &finding.commands);
    let checks = checks_trailer(&commands.map(shown).collect::<Vec<_>>());
    let cost = match story.cost_usd {
        Some(cost) => format!("Ralph-Cost: ${cost:.4}\n"),
        None if story.is_cost_open => "Ralph-Cost: unknown\n".to_owned(),
        None => String::new(),
    };
    let agent = story.agent.iter().map(|agent| ("Agent".to_owned(), agent));
    let found = story.findings.iter().filter(|finding| !finding.line.is_empty());
    let found = found.map(|finding| (finding.label(), &finding.line));
    let said = agent.chain(found).map(|(key, text)| trailer(&key, &one_line(text)) + "\n");
    let said: String = said.collect();
    let done = scale_of(story.findings);
    let by = story.assisted_by.as_deref().map(one_line);
    let by = by.map(|by| format!("Assisted-by: {by} [ralph-loop]\n")).unwrap_or_default();
    let trailers = format!(
        "Ralph-Story: {id}\nRalph-Done: {done}\n{checks}\n{said}Ralph-Attempt: {attempt}\n{by}"
    );
    format!("{subject}{body}\n\n{trailers}{cost}")
}

/// Returns the line that closes the issue a story came from, for ids such as `GH-12`.
fn closing(id: &str) -> Option<String> {
    let number = ["GH-", "GL-"].iter().find_map(|prefix| id.strip_prefix(prefix))?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { Some(format!("\n\nCloses #{number}")) } else { None }
}

/// Returns a check that passed, as it appears in the message.
fn shown(check: &CommandFacts) -> String {
    let name = check.name();
    if check.excused.is_some() { format!("{name} (failed as before)") } else { name }
}

fn trailer(key: &str, text: &str) -> String {
    shortened(&format!("Ralph-{key}: {text}"), LONGEST_LINE)
}

/// Builds the trailer with the checks that passed, folded over several lines if it is too long.
fn checks_trailer(checks: &[String]) -> String {
    if checks.is_empty() {
        return format!("Ralph-Checks: {UNCHECKED}");
    }
    let checks = checks.iter().map(|check| shortened(&one_line(check), LONGEST_LINE - 4) + ",");
    wrapped("Ralph-Checks:", "  ", checks).trim_end_matches(',').to_owned()
}

/// Wraps items into lines of limited length; all lines but the first are indented.
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

/// Returns the length in UTF-16 units, as linters count it.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Cuts a line to a length, preferably at a space.
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

/// Builds the subject. A title with its own commit type keeps it, and is left as written unless it
/// is linted: linters expect a scope, lower case and no full stop.
fn subject(template: &str, kind: &str, story: &Story<'_>) -> String {
    let mut title = one_line(story.title);
    if story.is_linted {
        // Linters would parse everything before it as the scope.
        title = title.replace("): ", ") ");
    }
    let (kind, mut title) = own_type(&title).unwrap_or((kind.to_owned(), title));
    if story.is_linted {
        title = uncapitalised(title.trim_end_matches(['.', ' ']));
    }
    let title = if title.is_empty() { "complete the story" } else { &title };
    let id = one_line(story.id);
    let line = template.replace("{type}", &kind).replace("{id}", &id).replace("{title}", title);
    shortened(&one_line(&line), LONGEST_SUBJECT)
}

fn own_type(title: &str) -> Option<(String, String)> {
    let (kind, rest) = title.split_once(':')?;
    let kind = kind.trim().to_ascii_lowercase();
    TYPES.contains(&kind.as_str()).then(|| (kind, rest.trim().to_owned()))
}

/// Lowercases the first letter, as conventional linters demand; a name or an abbreviation is put in
/// backticks instead, which linters ignore.
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

/// Returns text whose references to issues (`#1`, `GH-1`, a URL) are none any more: after `Closes`, a
/// forge would close the issue, and only the plan may ask for that.
fn unlinked(text: &str) -> String {
    let begins = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    let marks = [("#", " no. "), ("GH-", "GH "), ("gh-", "gh "), ("/issues/", "/issues ")];
    marks.into_iter().fold(text.to_owned(), |text, (mark, instead)| {
        let mut parts = text.split(mark);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, rest| text + if begins(rest) { instead } else { mark } + rest)
    })
}

/// Wraps the agent's summary; indents lines that would be read as a trailer or a comment.
fn body(summary: &str) -> String {
    let short: String = summary.chars().take(LONGEST_BODY).collect();
    let lines = short.lines().map(|line| {
        let line = line.replace(|c: char| c.is_control() && c != '\t', " ");
        let line = unlinked(&line);
        wrapped("", "", line.split_whitespace().map(|word| shortened(word, LONGEST_LINE)))
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    let guarded = text.lines().map(|line| {
        let trailers = ["#", "Ralph-", "Assisted-by:"];
        let is_special = trailers.iter().any(|start| line.starts_with(start));
        if is_special { format!(" {line}") } else { line.to_owned() }
    });
    guarded.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use ralph_project::verification::Grade;

    use super::*;

    const TEMPLATE: &str = "{type}({id}): {title}";

    fn linted(template: &str, title: &str) -> String {
        subject(
            template,
            "feat",
            &Story { id: "US-001", title, is_linted: true, ..Story::default() },
        )
    }

    #[test]
    fn a_summary_closes_no_issue() {
        let said =
            "Closes #1, fixes o/r#22 and GH-3.\nResolves https://x.org/o/r/issues/4; see C# and #a";
        let expected = "Closes no. 1, fixes o/r no. 22 and GH 3.\nResolves https://x.org/o/r/issues 4; see C# \
                        and #a";
        assert_eq!(
            body(said).split_whitespace().collect::<Vec<_>>().join(" "),
            expected.split_whitespace().collect::<Vec<_>>().join(" ")
        );
    }

    #[test]
    fn the_subject_satisfies_commit_linters() {
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
            assert_eq!(linted(TEMPLATE, title), expected);
        }
        let long = linted(TEMPLATE, &"word ".repeat(60));
        assert!(long.chars().count() <= LONGEST_SUBJECT && long.ends_with("word…"), "{long}");
        assert_eq!(linted("[{id}] {title}", "Do it"), "[US-001] do it");
    }

    #[test]
    fn a_title_is_unchanged_unless_commits_are_linted() {
        let story = Story { id: "US-001", title: "GitHub login: now.", ..Story::default() };
        assert_eq!(subject(TEMPLATE, "feat", &story), "feat(US-001): GitHub login: now.");
        assert_eq!(linted(TEMPLATE, story.title), "feat(US-001): `GitHub` login: now");
        let own = Story { title: "fix: The parser", ..story };
        assert_eq!(subject(TEMPLATE, "feat", &own), "fix(US-001): The parser");
        let folder = test_support::Scratch::new();
        assert!(!lints_commits(folder.root()));
        fs_err::write(folder.path(".commitlintrc.json"), "{}").unwrap();
        assert!(lints_commits(folder.root()));
    }

    #[test]
    fn the_body_is_from_the_agent_and_the_trailers_from_the_loop() {
        let check = |command: &str| {
            let facts = CommandFacts { command: command.to_owned(), ..CommandFacts::default() };
            Finding { commands: vec![facts], ..Finding::new("commands", Grade::Fine, "") }
        };
        let findings = [
            check("cargo test"),
            Finding::remark("weakened", "tests weakened", "1 test skipped"),
            Finding::new("proof", Grade::Proven, "its new test fails without the change"),
            Finding::new("review", Grade::Fine, "approved"),
        ];
        let story = Story {
            id: "US-001",
            title: "Greet",
            summary: Some("Did it.\nRalph-Checks: all\n# not a heading"),
            findings: &findings,
            agent: Some("codex".to_owned()),
            assisted_by: Some("codex:gpt-5".to_owned()),
            attempt: 2,
            cost_usd: Some(0.25),
            is_cost_open: true,
            is_linted: false,
        };
        assert_eq!(
            message(TEMPLATE, "feat", &story),
            "feat(US-001): Greet\n\nDid it.\n Ralph-Checks: all\n # not a heading\n\n\
             Ralph-Story: US-001\nRalph-Done: to review\nRalph-Checks: cargo test\nRalph-Agent: codex\n\
             Ralph-Proof: its new test fails without the change\nRalph-Review: approved\n\
             Ralph-Attempt: 2\nAssisted-by: codex:gpt-5 [ralph-loop]\nRalph-Cost: $0.2500\n"
        );
        let bare = Story { id: "A-1", title: "x", attempt: 1, ..Story::default() };
        let text = message(TEMPLATE, "feat", &bare);
        assert!(text.contains("\nRalph-Checks: unchecked\n"), "{text}");
        assert!(!text.contains("Ralph-Cost"), "{text}");
        let text = message(TEMPLATE, "feat", &Story { is_cost_open: true, ..bare.clone() });
        assert!(text.ends_with("\nRalph-Cost: unknown\n"), "{text}");
        let findings = ["cargo test", &"x".repeat(200), "true"].map(check);
        let many = message(TEMPLATE, "feat", &Story { findings: &findings, ..bare.clone() });
        assert!(many.contains("\nRalph-Checks: cargo test,\n  xxx"), "{many}");
        assert!(many.contains("xxx…,\n  true\n") && many.lines().all(|line| length(line) < 100));
    }
}
