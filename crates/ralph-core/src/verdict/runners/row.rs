//! One row of the table: how runners are started, and what is special about them.

use super::table::ROWS;
use crate::verdict::command::pattern;
use crate::verdict::kind::Kind;

/// One row; what it says holds for all runners that it starts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The name in verdicts; empty if each is called as it is started.
    name: &'static str,
    /// How they are started, with ` | ` between.
    started: &'static str,
    /// Exit codes that tell more than "not zero".
    exits: &'static [(i32, Kind)],
    /// Whether exit code 0 may follow failed tests, so that only the summary tells.
    pub(crate) ends_with_zero: bool,
    /// Whether it prints a summary for every crate, project or module, so that they are summed up.
    pub(crate) one_summary_per_part: bool,
    /// What its own summary lines hold, with `|` between; empty if any summary is taken for its.
    pub(crate) says: &'static str,
}

impl Row {
    pub(super) const fn new(name: &'static str, started: &'static str) -> Self {
        Self {
            name,
            started,
            exits: &[],
            ends_with_zero: false,
            one_summary_per_part: false,
            says: "",
        }
    }

    /// Runners that are called as they are started, and have nothing special.
    pub(super) const fn each(started: &'static str) -> Self {
        Self::new("", started)
    }

    pub(super) const fn exits(mut self, exits: &'static [(i32, Kind)]) -> Self {
        self.exits = exits;
        self
    }

    pub(super) const fn ends_with_zero(mut self) -> Self {
        self.ends_with_zero = true;
        self
    }

    pub(super) const fn one_summary_per_part(mut self) -> Self {
        self.one_summary_per_part = true;
        self
    }

    pub(super) const fn says(mut self, says: &'static str) -> Self {
        self.says = says;
        self
    }

    /// What `code` means here, if it is special.
    pub(crate) fn exit(&self, code: i32) -> Option<Kind> {
        self.exits.iter().find(|(special, _)| *special == code).map(|(_, kind)| *kind)
    }
}

/// A runner that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Runner {
    pub(crate) name: &'static str,
    pub(crate) row: &'static Row,
}

/// The runner that `program` with `args` is.
pub(crate) fn find(program: &str, args: &[&str]) -> Option<Runner> {
    ROWS.iter().find_map(|row| {
        // By bytes first: of hundreds of forms one or none begins so.
        let forms = row.started.as_bytes().split(|byte| *byte == b'|').map(<[u8]>::trim_ascii);
        let forms = forms.filter(|form| form.starts_with(program.as_bytes()));
        let mut forms = forms.filter_map(|form| str::from_utf8(form).ok());
        let form = forms.find(|form| pattern::matches(form, program, args))?;
        // `mamba ~spec` is called mamba.
        let plain = form.find(['~', '*', '=']).unwrap_or(form.len());
        let name = if row.name.is_empty() { form.get(..plain)?.trim_end() } else { row.name };
        Some(Runner { name, row })
    })
}
