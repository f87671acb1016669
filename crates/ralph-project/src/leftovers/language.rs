//! Facts about languages, which are recognised by file extension.

row! {
    /// One language; the fields are explained in the table.
    pub(super) Language {
        texts: names;
        lists: comments placeholders output debugging breakpoints;
        flags: ;
    }
}

include!(concat!(env!("OUT_DIR"), "/languages.rs"));

impl Language {
    /// Returns the language of a file; `None` for prose, data and unknown files.
    pub(super) fn of(path: &str) -> Option<&'static Self> {
        let name = path.rsplit('/').next()?.to_ascii_lowercase();
        // Files without an extension, such as a Makefile, are recognised by their whole name.
        let extension = name.rsplit('.').next()?;
        LANGUAGES.iter().find(|one| one.names.split(' ').any(|name| name == extension))
    }

    /// Returns the quotes of string literals. In Rust, a single quote is mostly a lifetime.
    pub(super) fn quotes(&self) -> &'static [char] {
        if self.names == "rs" { &['"'] } else { &['"', '\'', '`'] }
    }
}

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

/// Folders with third-party or generated content.
const FOREIGN: [&str; 5] = ["node_modules", "vendor", "third_party", "dist", "target"];

/// Whether a file is third-party or generated.
pub(super) fn is_foreign(path: &str) -> bool {
    path.contains(".min.") || path.split('/').any(|part| FOREIGN.contains(&part))
}
