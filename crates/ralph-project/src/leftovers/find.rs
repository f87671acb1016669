//! Finds leftovers in added lines.

use std::fmt;

use super::added::Added;
use super::language::{Language, is_foreign, is_program};
use super::line::{Parts, parts};

/// The text that marks a line as intended.
const ESCAPE: &str = "ralph: allow";

/// Longer lines are taken for generated code.
const LONGEST_LINE: usize = 2000;

/// How many leftovers are named.
const NAMED: usize = 10;

/// Markers of unfinished work.
const MARKERS: &[&str] = &["TODO", "FIXME", "XXX"];

/// Calls in an unfinished body, which count if the line also has one of the words in `UNDONE`.
#[rustfmt::skip]
const GIVING_UP: &[&str] = &[
    "throw new Error(", "throw Error(", "Exception(", "UnsupportedOperationException(", "panic(",
    "fatalError(", "raise ", "assert(false",
];
const UNDONE: [&str; 5] = ["not implemented", "unimplemented", "not yet", "implement me", "todo"];

/// The kind of a leftover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftoverKind {
    /// A note that something must still be done.
    Marker,
    /// A body that does nothing yet.
    Placeholder,
    /// Output that only served debugging.
    Debugging,
    /// A statement that stops in the debugger.
    Breakpoint,
}

impl LeftoverKind {
    /// All kinds: what a completed task must not leave behind.
    pub const ALL: [Self; 4] = [Self::Marker, Self::Placeholder, Self::Debugging, Self::Breakpoint];

    /// What an agent that only pauses must not leave behind.
    pub const DEBUGGING: [Self; 2] = [Self::Debugging, Self::Breakpoint];
}

/// Something left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The file.
    pub path: String,
    /// The line, counted from one.
    pub line: usize,
    /// The kind of leftover.
    pub kind: LeftoverKind,
    /// The text that was found, as spelled in the table.
    pub what: &'static str,
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = format!("{:?}", self.kind).to_lowercase();
        write!(f, "{}:{}: `{}` ({kind})", self.path, self.line, self.what.trim())
    }
}

/// Returns the leftovers of these kinds, at most one per line.
pub fn find(added: &[Added], kinds: &[LeftoverKind]) -> Vec<Leftover> {
    let mut found = Vec::new();
    for file in added.iter().filter(|file| !is_foreign(&file.path)) {
        let Some(language) = Language::of(&file.path) else { continue };
        for (number, line) in &file.lines {
            if line.len() > LONGEST_LINE || line.contains(ESCAPE) {
                continue;
            }
            if let Some((kind, what)) = first(file, (*number, line), language, kinds) {
                found.push(Leftover { path: file.path.clone(), line: *number, kind, what });
            }
        }
    }
    found
}

/// Returns the first leftover of these kinds in a line.
fn first(
    file: &Added,
    (number, line): (usize, &str),
    language: &Language,
    kinds: &[LeftoverKind],
) -> Option<(LeftoverKind, &'static str)> {
    use LeftoverKind::{Breakpoint, Debugging, Marker, Placeholder};
    let parts = parts(line, language);
    let lower = line.to_ascii_lowercase();
    let is_undone = UNDONE.iter().any(|words| lower.contains(words));
    let output = if is_program(&file.path) { &[] } else { language.output };
    let rows = [
        (Marker, parts.comment, MARKERS),
        (Placeholder, &parts.code, if is_undone { GIVING_UP } else { &[] }),
        (Placeholder, &parts.code, language.placeholders),
        (Debugging, &parts.code, output),
        (Debugging, &parts.code, language.debugging),
        (Breakpoint, &parts.code, language.breakpoints),
    ];
    let wanted = rows.into_iter().filter(|(kind, ..)| kinds.contains(kind));
    let word = |(kind, text, words): (LeftoverKind, &str, &[&'static str])| {
        words.iter().find(|word| has_word(text, word)).map(|word| (kind, *word))
    };
    wanted.filter_map(word).next().or_else(|| {
        let is_placed = kinds.contains(&Placeholder) && file.path.ends_with(".py");
        empty_body(file, number, &parts).filter(|_| is_placed).map(|what| (Placeholder, what))
    })
}

/// Finds a Python function whose body is only `pass` or `...`, apart from a docstring. Functions
/// that are declared for others to implement are intended to be empty.
fn empty_body(file: &Added, number: usize, parts: &Parts<'_>) -> Option<&'static str> {
    let code = parts.code.trim();
    let what = ["pass", "..."].into_iter().find(|body| code.ends_with(body))?;
    let is_head = |line: &str| line.starts_with("def ") || line.starts_with("async def ");
    let before = |back: usize| {
        let wanted = number.checked_sub(back)?;
        file.lines.iter().find(|(at, _)| *at == wanted).map(|(_, line)| line.as_str())
    };
    let is_text = |line: &&str| line.starts_with("\"\"\"") || line.ends_with("\"\"\"");
    let described = (1..).map_while(before).take_while(is_text).count();
    let head = match code.strip_suffix(what).map(str::trim_end) {
        Some("") => before(described + 1).filter(|line| is_head(line) && line.ends_with(':')),
        Some(line) if is_head(line) && line.ends_with(':') => Some(line),
        _ => None,
    };
    let is_declared = |line: &str| {
        ["abstractmethod", "overload", "Protocol"].iter().any(|word| line.contains(word))
    };
    let declared = file.lines.iter().any(|(_, line)| is_declared(line));
    (head.is_some() && !declared).then_some(what)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a text has this word as a name of its own: not as a part of a longer name, nor as a
/// member of something else.
fn has_word(text: &str, word: &str) -> bool {
    let is_more = |c: char| is_word(c) || c == '.' || c == '$';
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|text| text.chars().next());
        let begins = !word.starts_with(is_word) || !before.is_some_and(is_more);
        begins && (!word.ends_with(is_word) || !after.is_some_and(is_word))
    })
}

/// Describes leftovers in one text that an agent can act on.
pub fn in_words(found: &[Leftover]) -> String {
    let named: String = found.iter().take(NAMED).map(|one| format!("\n- {one}")).collect();
    let others = match found.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("\n- and {more} more"),
    };
    let next =
        "Next: finish or remove them; mark an intended line with the comment `ralph: allow`.";
    format!("{named}{others}\n{next}")
}

#[cfg(test)]
mod tests {
    use super::LeftoverKind::{Breakpoint, Debugging, Marker, Placeholder};
    use super::*;

    fn check(path: &str, line: &str, expected: Option<(&str, LeftoverKind)>) {
        let added = Added { path: path.to_owned(), lines: vec![(7, line.to_owned())] };
        let found = find(&[added], &LeftoverKind::ALL);
        let found = found.first().map(|leftover| (leftover.what, leftover.kind));
        assert_eq!(found, expected, "{path}: {line}");
    }

    #[test]
    fn markers_count_only_in_comments() {
        check("a.rs", "// TODO: finish", Some(("TODO", Marker)));
        check("a.py", "x = 1  # FIXME", Some(("FIXME", Marker)));
        check("a.ts", "/* XXX hm */", Some(("XXX", Marker)));
        check("a.java", " * TODO(dev): later", Some(("TODO", Marker)));
        check("a.sql", "select 1; -- TODO", Some(("TODO", Marker)));
        check("a.rs", "enum State { TODO, DONE }", None);
        check("a.ts", "const label = 'TODO';", None);
        check("a.rs", "// TODOS are kept in a list", None);
        check("a.md", "TODO: write docs", None);
        check("Makefile", "# TODO", Some(("TODO", Marker)));
        check("notes", "# TODO", None);
    }

    #[test]
    fn placeholders_are_found_in_code() {
        check("a.rs", "    todo!()", Some(("todo!(", Placeholder)));
        check("a.rs", "_ => unimplemented!(\"x\"),", Some(("unimplemented!(", Placeholder)));
        let raise = "raise NotImplementedError";
        check("a.py", "    raise NotImplementedError()", Some((raise, Placeholder)));
        let throw = Some(("throw new Error(", Placeholder));
        check("a.ts", "throw new Error('Not implemented');", throw);
        check("a.go", "panic(\"implement me\")", Some(("panic(", Placeholder)));
        check("A.kt", "fun f(): Int = TODO()", Some(("TODO(", Placeholder)));
        check("A.java", "throw new UnsupportedOperationException(\"not yet\");", {
            Some(("UnsupportedOperationException(", Placeholder))
        });
        check("a.ts", "throw new Error('no such user');", None);
        check("a.rs", "let s = \"todo!()\";", None);
    }

    #[test]
    fn a_function_with_an_empty_body_is_a_placeholder() {
        let check = |path: &str, text: &str, expected: &[usize]| {
            let numbered = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim().into()));
            let added = [Added { path: path.to_owned(), lines: numbered.collect() }];
            let found: Vec<_> = find(&added, &LeftoverKind::ALL).iter().map(|it| it.line).collect();
            assert_eq!(found, expected, "{text}");
        };
        check("a.py", "def f(x):\n    pass\n", &[2]);
        check("a.py", "async def f(x):\n    \"\"\"Later.\"\"\"\n    ...\n", &[3]);
        check("a.py", "def f(): ...\ndef g(): pass\n", &[1, 2]);
        check("a.py", "try:\n    f()\nexcept KeyError:\n    pass\n", &[]);
        check("a.py", "class Gone(Exception):\n    pass\n", &[]);
        check("a.py", "def f():\n    x = 1\n    pass\n", &[]);
        check("a.py", "@abstractmethod\ndef f(): ...\n", &[]);
        check("a.pyi", "def f(): ...\n", &[]);
        check("a.py", "def f():\n    return bypass\n", &[]);
    }

    #[test]
    fn debugging_is_found_where_output_is_not_expected() {
        check("src/a.js", "console.log(x)", Some(("console.log(", Debugging)));
        check("scripts/a.js", "console.log(x)", None);
        check("a.rs", "let y = dbg!(x);", Some(("dbg!(", Debugging)));
        check("app/models.py", "    print(user)", Some(("print(", Debugging)));
        check("app/cli.py", "    print(user)", None);
        check("app/models.py", "    self.print(user)", None);
        check("app/models.py", "    blueprint(user)", None);
        check("a.rs", "println!(\"{x}\");", None);
        check("a.js", "// console.log(x) would do", None);
        check("a.js", "myconsole.log(x)", None);
    }

    #[test]
    fn breakpoints_are_found_except_in_allowed_and_foreign_lines() {
        check("a.ts", "  debugger;", Some(("debugger", Breakpoint)));
        check("a.ts", "  debuggerTools.open();", None);
        check("a.py", "    breakpoint()", Some(("breakpoint(", Breakpoint)));
        check("a.py", "import pdb; pdb.set_trace()", Some(("pdb.set_trace(", Breakpoint)));
        check("a.rb", "binding.pry", Some(("binding.pry", Breakpoint)));
        // Allowed, foreign and generated lines are ignored.
        check("a.js", "console.log(banner) // ralph: allow", None);
        check("node_modules/x/a.js", "debugger", None);
        check("web/app.min.js", "debugger", None);
        check("a.js", &format!("debugger; {}", "x".repeat(3000)), None);
    }

    #[test]
    fn only_the_requested_kinds_are_found() {
        let lines = vec![(1, "// TODO".to_owned()), (2, "dbg!(x)".to_owned())];
        let added = [Added { path: "a.rs".into(), lines }];
        let found = find(&added, &LeftoverKind::DEBUGGING);
        assert_eq!(found.iter().map(|leftover| leftover.line).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn long_lists_end_with_a_count_of_the_rest() {
        let lines = (1..=25).map(|n| (n, "// TODO".to_owned())).collect();
        let text = in_words(&find(&[Added { path: "a.rs".into(), lines }], &LeftoverKind::ALL));
        assert!(text.starts_with("\n- a.rs:1: `TODO` (marker)\n- a.rs:2:"), "{text}");
        assert!(text.contains("- and 15 more\nNext: finish or remove them;"), "{text}");
    }
}
