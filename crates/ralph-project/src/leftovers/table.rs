//! Languages by file extension, and the table of leftovers: one row each.

/// What a leftover is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftoverKind {
    /// A note that something is to be done.
    Marker,
    /// A body that does nothing yet.
    Placeholder,
    /// Output that only served to find a mistake.
    Debugging,
    /// A stop in the debugger.
    Breakpoint,
}

impl LeftoverKind {
    /// All kinds: what a completed task must not leave behind.
    pub const ALL: [Self; 4] = [Self::Marker, Self::Placeholder, Self::Debugging, Self::Breakpoint];

    /// What somebody who only pauses must not leave behind.
    pub const DEBUGGING: [Self; 2] = [Self::Debugging, Self::Breakpoint];

    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Marker => "marker",
            Self::Placeholder => "placeholder",
            Self::Debugging => "debugging",
            Self::Breakpoint => "breakpoint",
        }
    }
}

/// A family of languages that share their comments and leftovers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    C,
    CSharp,
    Css,
    Dart,
    Elixir,
    Go,
    Java,
    JavaScript,
    Kotlin,
    Lua,
    Php,
    Python,
    Ruby,
    Rust,
    Scala,
    Shell,
    Sql,
    Swift,
    Yaml,
}

/// File extensions.
const EXTENSIONS: &[(Language, &[&str])] = &[
    (Language::C, &["c", "h", "cc", "cpp", "cxx", "hpp", "hh", "m", "mm", "zig"]),
    (Language::CSharp, &["cs"]),
    (Language::Css, &["css", "scss", "sass", "less"]),
    (Language::Dart, &["dart"]),
    (Language::Elixir, &["ex", "exs"]),
    (Language::Go, &["go"]),
    (Language::Java, &["java", "groovy"]),
    (
        Language::JavaScript,
        &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"],
    ),
    (Language::Kotlin, &["kt", "kts"]),
    (Language::Lua, &["lua"]),
    (Language::Php, &["php"]),
    (Language::Python, &["py", "pyi"]),
    (Language::Ruby, &["rb", "rake"]),
    (Language::Rust, &["rs"]),
    (Language::Scala, &["scala", "sc"]),
    (Language::Shell, &["sh", "bash", "zsh", "pl", "pm", "mk", "cmake", "dockerfile"]),
    (Language::Sql, &["sql"]),
    (Language::Swift, &["swift"]),
    (Language::Yaml, &["yml", "yaml", "toml"]),
];

/// Files without an extension whose comments are those of the shell.
const SHELL_LIKE: [&str; 6] =
    ["Makefile", "GNUmakefile", "Dockerfile", "Containerfile", "Justfile", "Vagrantfile"];

impl Language {
    /// The language of a file; none for prose, data and what we do not know.
    pub(super) fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next()?;
        if SHELL_LIKE.iter().any(|known| name.eq_ignore_ascii_case(known)) {
            return Some(Self::Shell);
        }
        let (_, extension) = name.rsplit_once('.')?;
        let extension = extension.to_ascii_lowercase();
        let row = EXTENSIONS.iter().find(|(_, known)| known.contains(&extension.as_str()))?;
        Some(row.0)
    }

    /// What begins a comment. A star begins a line of a comment over several lines.
    pub(super) fn comments(self) -> &'static [&'static str] {
        match self {
            Self::Python | Self::Ruby | Self::Shell | Self::Elixir | Self::Yaml => &["#"],
            Self::Php => &["//", "#", "/*"],
            Self::Lua | Self::Sql => &["--"],
            _ => &["//", "/*"],
        }
    }

    /// What encloses a text. In Rust a single quote is mostly a lifetime.
    pub(super) fn quotes(self) -> &'static [char] {
        match self {
            Self::Rust | Self::Java | Self::Kotlin | Self::CSharp | Self::Swift | Self::C => &['"'],
            Self::JavaScript | Self::Go => &['"', '\'', '`'],
            _ => &['"', '\''],
        }
    }
}

/// Where in a line a leftover stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In a comment, as a word.
    Comment,
    /// In code, beginning like a word.
    Code,
    /// In code, as the first thing in the line.
    Statement,
}

/// When a row applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Always.
    Always,
    /// Only outside of programs whose output is their purpose.
    NoProgram,
    /// Only if the line also says one of these, in any case.
    Saying(&'static [&'static str]),
}

/// One leftover.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) kind: LeftoverKind,
    /// The languages; empty means all.
    pub(super) languages: &'static [Language],
    pub(super) text: &'static str,
    pub(super) place: Place,
    pub(super) when: When,
}

const fn row(
    kind: LeftoverKind,
    languages: &'static [Language],
    text: &'static str,
    place: Place,
    when: When,
) -> Row {
    Row { kind, languages, text, place, when }
}

const UNDONE: When =
    When::Saying(&["not implemented", "unimplemented", "not yet", "implement me", "todo"]);
/// How output looks that was only meant for the one who wrote it.
pub(super) const FOR_ONESELF: &[&str] = &["debug", "here", ">>>", "###", "xxx", "=}", "locals()"];
const LOOKS_SO: When = When::Saying(FOR_ONESELF);

use Language::{
    C, CSharp, Dart, Elixir, Go, Java, JavaScript, Kotlin, Lua, Php, Python, Ruby, Rust, Scala,
    Shell, Swift,
};
use LeftoverKind::{Breakpoint, Debugging, Marker, Placeholder};
use Place::{Code, Comment, Statement};
use When::{Always, NoProgram};

/// The table.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row(Marker, &[], "TODO", Comment, Always),
    row(Marker, &[], "FIXME", Comment, Always),
    row(Marker, &[], "XXX", Comment, Always),

    row(Placeholder, &[Rust], "todo!(", Code, Always),
    row(Placeholder, &[Rust], "unimplemented!(", Code, Always),
    row(Placeholder, &[Python], "raise NotImplementedError", Code, Always),
    row(Placeholder, &[Ruby], "raise NotImplementedError", Code, Always),
    row(Placeholder, &[JavaScript], "throw new Error(", Code, UNDONE),
    row(Placeholder, &[JavaScript], "throw Error(", Code, UNDONE),
    row(Placeholder, &[CSharp], "throw new NotImplementedException(", Code, Always),
    row(Placeholder, &[Java, Kotlin, Scala, Dart], "UnimplementedError(", Code, Always),
    row(Placeholder, &[Java, Kotlin, Scala], "UnsupportedOperationException(", Code, UNDONE),
    row(Placeholder, &[Java, Kotlin, Scala, Php], "Exception(", Code, UNDONE),
    row(Placeholder, &[Kotlin], "TODO(", Code, Always),
    row(Placeholder, &[Scala], "???", Code, Always),
    row(Placeholder, &[Go], "panic(", Code, UNDONE),
    row(Placeholder, &[Swift], "fatalError(", Code, UNDONE),
    row(Placeholder, &[Elixir], "raise ", Code, UNDONE),
    row(Placeholder, &[C], "assert(false", Code, UNDONE),

    row(Debugging, &[Rust], "dbg!(", Code, Always),
    row(Debugging, &[JavaScript], "console.log(", Code, NoProgram),
    row(Debugging, &[JavaScript], "console.log(", Code, LOOKS_SO),
    row(Debugging, &[JavaScript], "console.debug(", Code, Always),
    row(Debugging, &[JavaScript], "console.trace(", Code, Always),
    row(Debugging, &[JavaScript], "console.dir(", Code, Always),
    row(Debugging, &[Python], "print(", Statement, NoProgram),
    row(Debugging, &[Python], "print(", Statement, LOOKS_SO),
    row(Debugging, &[Python], "pprint(", Statement, Always),
    row(Debugging, &[Python], "pprint.pprint(", Statement, Always),
    row(Debugging, &[Ruby], "puts ", Statement, LOOKS_SO),
    row(Debugging, &[Ruby], "pp ", Statement, NoProgram),
    row(Debugging, &[Php], "var_dump(", Code, Always),
    row(Debugging, &[Php], "dd(", Statement, Always),
    row(Debugging, &[Java, Kotlin], "System.out.print", Code, NoProgram),
    row(Debugging, &[Java, Kotlin], "System.out.print", Code, LOOKS_SO),
    row(Debugging, &[Java, Kotlin], ".printStackTrace(", Code, Always),
    row(Debugging, &[Kotlin], "println(", Statement, NoProgram),
    row(Debugging, &[CSharp], "Console.WriteLine(", Code, LOOKS_SO),
    row(Debugging, &[Swift, Dart], "print(", Statement, NoProgram),
    row(Debugging, &[Swift, Dart], "debugPrint(", Statement, Always),
    row(Debugging, &[Elixir], "IO.inspect(", Code, Always),
    row(Debugging, &[Elixir], "dbg(", Code, Always),
    row(Debugging, &[Go], "println(", Statement, Always),
    row(Debugging, &[Go], "spew.Dump(", Code, Always),
    row(Debugging, &[Go], "fmt.Print", Code, LOOKS_SO),
    row(Debugging, &[C], "printf(", Code, LOOKS_SO),
    row(Debugging, &[C], "std::cout <<", Code, LOOKS_SO),
    row(Debugging, &[C], "std::cerr <<", Code, LOOKS_SO),
    row(Debugging, &[Lua], "print(", Statement, LOOKS_SO),
    row(Debugging, &[Shell], "set -x", Statement, Always),

    row(Breakpoint, &[JavaScript], "debugger", Statement, Always),
    row(Breakpoint, &[Python], "breakpoint(", Code, Always),
    row(Breakpoint, &[Python], "pdb.set_trace(", Code, Always),
    row(Breakpoint, &[Python], "ipdb.set_trace(", Code, Always),
    row(Breakpoint, &[Python], "import pdb", Code, Always),
    row(Breakpoint, &[Python], "import ipdb", Code, Always),
    row(Breakpoint, &[Ruby], "binding.pry", Code, Always),
    row(Breakpoint, &[Ruby], "binding.irb", Code, Always),
    row(Breakpoint, &[Ruby], "byebug", Statement, Always),
    row(Breakpoint, &[Elixir], "IEx.pry", Code, Always),
    row(Breakpoint, &[Php], "xdebug_break(", Code, Always),
    row(Breakpoint, &[Go], "runtime.Breakpoint(", Code, Always),
    row(Breakpoint, &[CSharp], "Debugger.Break(", Code, Always),
    row(Breakpoint, &[C], "__debugbreak(", Code, Always),
    row(Breakpoint, &[C], "__builtin_trap(", Code, Always),
];

/// Folders and file names of programs whose output is their purpose.
const PROGRAMS: [&str; 14] = [
    "bin", "cli", "cmd", "scripts", "script", "tools", "examples", "example", "demo", "__main__",
    "manage", "setup", "main", "bench",
];

/// In JavaScript a `main` or an `example` is as likely a page as a program.
const PAGES: [&str; 5] = ["examples", "example", "demo", "main", "setup"];

/// Whether a file is such a program.
pub(super) fn is_program(path: &str, language: Language) -> bool {
    path.split('/').any(|part| {
        let stem = part.split('.').next().unwrap_or(part);
        let counts = language != Language::JavaScript || !PAGES.contains(&stem);
        counts && PROGRAMS.contains(&stem)
    })
}

/// Folders whose content nobody here wrote.
const FOREIGN: [&str; 5] = ["node_modules", "vendor", "third_party", "dist", "target"];

/// Whether a file was written by somebody else, or by a program.
pub(super) fn is_foreign(path: &str) -> bool {
    path.contains(".min.") || path.split('/').any(|part| FOREIGN.contains(&part))
}
