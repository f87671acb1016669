//! The table of leftovers, and what is to be known of languages, which are told by file extension.

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

/// What begins a comment in files with this extension; none for prose, data and what we do not
/// know. A star begins a line of a comment over several lines.
pub(super) fn comments(extension: &str) -> Option<&'static [&'static str]> {
    Some(match extension {
        "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "m" | "mm" | "zig" | "cs" | "css"
        | "scss" | "sass" | "less" | "dart" | "go" | "java" | "groovy" | "js" | "jsx" | "mjs"
        | "cjs" | "ts" | "tsx" | "mts" | "cts" | "vue" | "svelte" | "kt" | "kts" | "rs"
        | "scala" | "sc" | "swift" => &["//", "/*"],
        "php" => &["//", "#", "/*"],
        "py" | "pyi" | "rb" | "rake" | "ex" | "exs" | "sh" | "bash" | "zsh" | "pl" | "pm"
        | "mk" | "cmake" | "makefile" | "gnumakefile" | "dockerfile" | "containerfile"
        | "justfile" | "vagrantfile" | "yml" | "yaml" | "toml" => &["#"],
        "lua" | "sql" => &["--"],
        _ => return None,
    })
}

/// What encloses a text. In Rust a single quote is mostly a lifetime.
pub(super) fn quotes(extension: &str) -> &'static [char] {
    if extension == "rs" { &['"'] } else { &['"', '\'', '`'] }
}

/// Where a leftover stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In a comment.
    Comment,
    /// In code.
    Code,
    /// In code, outside of programs whose output is their purpose.
    Output,
    /// In code, in a line that also says that something is not there yet.
    Undone,
}

/// How a line says so, in lower case.
pub(super) const UNDONE: [&str; 5] =
    ["not implemented", "unimplemented", "not yet", "implement me", "todo"];

/// A kind of leftovers, in files with these extensions (none means all), at this place, as words.
pub(super) type Row = (LeftoverKind, &'static [&'static str], Place, &'static [&'static str]);

const JAVASCRIPT: &[&str] =
    &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"];
const JVM: &[&str] = &["java", "groovy", "kt", "kts", "scala", "sc"];
const PYTHON: &[&str] = &["py", "pyi"];
const RUBY: &[&str] = &["rb", "rake"];

use LeftoverKind::{Breakpoint, Debugging, Marker, Placeholder};
use Place::{Code, Comment, Output, Undone};

/// The table.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    (Marker, &[], Comment, &["TODO", "FIXME", "XXX"]),

    (Placeholder, &[], Undone, &["throw new Error(", "throw Error(", "Exception(", "UnsupportedOperationException(", "panic(", "fatalError(", "raise ", "assert(false"]),
    (Placeholder, &["rs"], Code, &["todo!(", "unimplemented!("]),
    (Placeholder, &["py", "pyi", "rb", "rake"], Code, &["raise NotImplementedError"]),
    (Placeholder, &["cs"], Code, &["NotImplementedException("]),
    (Placeholder, &["dart"], Code, &["UnimplementedError("]),
    (Placeholder, &["kt", "kts"], Code, &["TODO("]),
    (Placeholder, &["scala", "sc"], Code, &["???"]),

    (Debugging, &["rs"], Code, &["dbg!("]),
    (Debugging, JAVASCRIPT, Output, &["console.log("]),
    (Debugging, JAVASCRIPT, Code, &["console.debug(", "console.trace(", "console.dir("]),
    (Debugging, PYTHON, Output, &["print("]),
    (Debugging, PYTHON, Code, &["pprint(", "pprint.pprint("]),
    (Debugging, RUBY, Output, &["pp "]),
    (Debugging, &["php"], Code, &["var_dump(", "dd("]),
    (Debugging, JVM, Output, &["System.out.print(", "System.out.println(", "println("]),
    (Debugging, JVM, Code, &[".printStackTrace("]),
    (Debugging, &["swift", "dart"], Output, &["print("]),
    (Debugging, &["swift", "dart"], Code, &["debugPrint("]),
    (Debugging, &["ex", "exs"], Code, &["IO.inspect(", "dbg("]),
    (Debugging, &["go"], Code, &["println(", "spew.Dump("]),
    (Debugging, &["sh", "bash", "zsh"], Code, &["set -x"]),

    (Breakpoint, JAVASCRIPT, Code, &["debugger"]),
    (Breakpoint, PYTHON, Code, &["breakpoint(", "pdb.set_trace(", "ipdb.set_trace(", "import pdb", "import ipdb"]),
    (Breakpoint, RUBY, Code, &["binding.pry", "binding.irb", "byebug"]),
    (Breakpoint, &["ex", "exs"], Code, &["IEx.pry"]),
    (Breakpoint, &["php"], Code, &["xdebug_break("]),
    (Breakpoint, &["go"], Code, &["runtime.Breakpoint("]),
    (Breakpoint, &["cs"], Code, &["Debugger.Break("]),
];

/// Folders and file names of programs whose output is their purpose.
const PROGRAMS: [&str; 14] = [
    "bin", "cli", "cmd", "scripts", "script", "tools", "examples", "example", "demo", "__main__",
    "manage", "setup", "main", "bench",
];

/// Whether a file is such a program.
pub(super) fn is_program(path: &str) -> bool {
    let mut stems = path.split('/').filter_map(|part| part.split('.').next());
    stems.any(|stem| PROGRAMS.contains(&stem))
}

/// Folders whose content nobody here wrote.
const FOREIGN: [&str; 5] = ["node_modules", "vendor", "third_party", "dist", "target"];

/// Whether a file was written by somebody else, or by a program.
pub(super) fn is_foreign(path: &str) -> bool {
    path.contains(".min.") || path.split('/').any(|part| FOREIGN.contains(&part))
}
