//! What can be deleted: a file or folder and at most three lines elsewhere. A new feature has a row here, or
//! ARCHITECTURE.md says why it is part of the kernel.

/// Something that the rest of the tree compiles without; `cargo xtask extensions` proves it.
pub(crate) struct Extension {
    /// Its file or folder.
    pub(crate) path: &'static str,
    /// The lines that register it, each with its file.
    pub(crate) lines: &'static [(&'static str, &'static str)],
}

/// The table of the subcommands.
const TABLE: &str = "loop-bin/src/commands/mod.rs";

/// The list of the verifiers.
const VERIFIERS: &str = "loop-bin/src/verifiers/mod.rs";

const fn of(path: &'static str, lines: &'static [(&'static str, &'static str)]) -> Extension {
    Extension { path, lines }
}

pub(crate) const EXTENSIONS: &[Extension] = &[
    of(
        "loop-bin/src/verifiers/as_before.rs",
        &[(VERIFIERS, "mod as_before;"), (VERIFIERS, "&as_before::AsBefore,")],
    ),
    of(
        "loop-bin/src/verifiers/definition.rs",
        &[(VERIFIERS, "mod definition;"), (VERIFIERS, "&definition::Definition,")],
    ),
    of(
        "loop-bin/src/verifiers/elsewhere.rs",
        &[(VERIFIERS, "mod elsewhere;"), (VERIFIERS, "&elsewhere::Elsewhere,")],
    ),
    of(
        "loop-bin/src/verifiers/proof.rs",
        &[(VERIFIERS, "mod proof;"), (VERIFIERS, "&proof::Proofs,")],
    ),
    of(
        "loop-bin/src/verifiers/substance.rs",
        &[(VERIFIERS, "mod substance;"), (VERIFIERS, "&substance::Substance,")],
    ),
    of(
        "loop-bin/src/verifiers/weakened.rs",
        &[(VERIFIERS, "mod weakened;"), (VERIFIERS, "&weakened::Weakening,")],
    ),
    of("loop-bin/src/commands/answer.rs", &[(TABLE, "mod answer;"), (TABLE, "answer::COMMAND,")]),
    of(
        "loop-bin/src/commands/attempts.rs",
        &[(TABLE, "mod attempts;"), (TABLE, "attempts::COMMAND,"), (TABLE, "attempts::TAKE,")],
    ),
    of("loop-bin/src/commands/audit", &[(TABLE, "mod audit;"), (TABLE, "audit::COMMAND,")]),
    of("loop-bin/src/commands/clean.rs", &[(TABLE, "mod clean;"), (TABLE, "clean::COMMAND,")]),
    of(
        "loop-bin/src/commands/completions.rs",
        &[(TABLE, "mod completions;"), (TABLE, "completions::COMMAND,")],
    ),
    of("loop-bin/src/commands/config.rs", &[(TABLE, "mod config;"), (TABLE, "config::COMMAND,")]),
    of("loop-bin/src/commands/demo", &[(TABLE, "mod demo;"), (TABLE, "demo::COMMAND,")]),
    of(
        "loop-bin/src/commands/explain.rs",
        &[(TABLE, "mod explain;"), (TABLE, "explain::COMMAND,")],
    ),
    of("loop-bin/src/commands/fleet.rs", &[(TABLE, "mod fleet;"), (TABLE, "fleet::COMMAND,")]),
    of("loop-bin/src/commands/init", &[(TABLE, "mod init;"), (TABLE, "init::COMMAND,")]),
    of(
        "loop-bin/src/commands/install.rs",
        &[(TABLE, "mod install;"), (TABLE, "install::COMMAND,"), (TABLE, "install::UNINSTALL,")],
    ),
    of("loop-bin/src/commands/logs.rs", &[(TABLE, "mod logs;"), (TABLE, "logs::COMMAND,")]),
    of("loop-bin/src/commands/mcp.rs", &[(TABLE, "mod mcp;"), (TABLE, "mcp::COMMAND,")]),
    of("loop-bin/src/commands/pr.rs", &[(TABLE, "mod pr;"), (TABLE, "pr::COMMAND,")]),
    of("loop-bin/src/commands/report.rs", &[(TABLE, "mod report;"), (TABLE, "report::COMMAND,")]),
    of("loop-bin/src/commands/retry.rs", &[(TABLE, "mod retry;"), (TABLE, "retry::COMMAND,")]),
    of(
        "loop-bin/src/commands/sandbox.rs",
        &[(TABLE, "mod sandbox;"), (TABLE, "sandbox::COMMAND,")],
    ),
    of("loop-bin/src/commands/status", &[(TABLE, "mod status;"), (TABLE, "status::COMMAND,")]),
    of("loop-bin/src/commands/stop.rs", &[(TABLE, "mod stop;"), (TABLE, "stop::COMMAND,")]),
    of(
        "loop-bin/src/commands/stories.rs",
        &[(TABLE, "mod stories;"), (TABLE, "stories::COMMAND,")],
    ),
    of(
        "loop-bin/src/observers/awake.rs",
        &[
            ("loop-bin/src/observers/mod.rs", "mod awake;"),
            ("loop-bin/src/observers/mod.rs", "&awake::Awake,"),
        ],
    ),
    of(
        "loop-bin/src/observers/own.rs",
        &[
            ("loop-bin/src/observers/mod.rs", "mod own;"),
            ("loop-bin/src/observers/mod.rs", "&own::Own,"),
        ],
    ),
    of("loop-bin/src/commands/tell.rs", &[(TABLE, "mod tell;"), (TABLE, "tell::COMMAND,")]),
    of("loop-bin/src/commands/undo.rs", &[(TABLE, "mod undo;"), (TABLE, "undo::COMMAND,")]),
];

/// What cannot be deleted yet: its path, how the lines elsewhere are recognised that would have to change, and how many
/// there are. The numbers only shrink.
#[cfg(test)]
const NOT_YET: &[(&str, &str, usize)] = &[
    (
        "loop-bin/src/commands/doctor.rs",
        r"mod doctor;|doctor::|\bexamine_copy\b|\btroubles\b|\ball_findings\b|\bend_of\b",
        14,
    ),
    (
        "loop-bin/src/commands/plan",
        r"mod plan;|\bplan::COMMAND|\bMOST_ISSUES\b|\bPAGE\b|fn issues|fn prefix",
        10,
    ),
    (
        "loop-bin/src/commands/complete.rs",
        r"mod complete;|\bcomplete::|\bComplete::augment|: Complete\b",
        5,
    ),
    ("loop-bin/src/commands/request_merge.rs", r"\brequest_merge::|\bRequestMerge\b", 4),
    ("loop-bin/src/commands/verified.rs", r"\bverified::|\bVerified\b", 6),
    ("loop-bin/src/probe", r"\bprobe::|mod probe;|use crate::probe;|\bhere, probe\b", 7),
    ("loop-bin/src/boards/fleet", r"\bfleet\b", 40),
    ("loop-bin/src/boards/requests", r"\brequests::|\bmod requests;|PullRequests::Story", 11),
    ("loop-bin/src/run/notify.rs", r"\bnotify\b|\bnotify_", 10),
    (
        "loop-bin/src/run/planning.rs",
        r"\bplanning::|mod planning;|Mode::Planning|record\.planning",
        25,
    ),
    ("loop-bin/src/run/scripts.rs", r"\bscripts::|\bmod scripts;|script_folder", 18),
    ("loop-bin/src/detect", r"\bdetect::|\bmod detect;|add_checks|detect_in", 7),
    ("loop-bin/src/housekeeping.rs", r"\bhousekeeping\b", 5),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use regex::Regex;

    use super::super::tree::{files, report};
    use super::{EXTENSIONS, NOT_YET, TABLE};

    #[test]
    fn extensions_are_registered_by_at_most_three_lines() {
        let mut wrong = Vec::new();
        for extension in EXTENSIONS {
            let path = extension.path;
            let is_there = crate::run::root().join(path).exists();
            if !is_there || extension.lines.len() > 3 {
                wrong.push(format!("{path}: {} lines, there: {is_there}", extension.lines.len()));
            }
            for (file, line) in extension.lines {
                let text = fs_err::read_to_string(crate::run::root().join(file)).unwrap();
                if text.lines().filter(|one| one.trim() == *line).count() != 1 {
                    wrong.push(format!("{path}: `{line}` is not in {file} once"));
                }
            }
        }
        report(wrong);
    }

    #[test]
    fn every_subcommand_has_a_row() {
        let table = fs_err::read_to_string(crate::run::root().join(TABLE)).unwrap();
        let listed = EXTENSIONS.iter().map(|one| one.path).chain(NOT_YET.iter().map(|it| it.0));
        let name = |path: &str| {
            let name = path.strip_prefix("loop-bin/src/commands/")?;
            Some(name.trim_end_matches(".rs").to_owned())
        };
        let listed: BTreeSet<String> = listed.filter_map(name).collect();
        let modules = table.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
        let modules: BTreeSet<String> = modules.map(str::to_owned).collect();
        assert!(modules.len() > 20, "{modules:?}");
        assert_eq!(modules, listed);
    }

    #[test]
    fn what_cannot_be_deleted_yet_is_mentioned_in_fewer_and_fewer_lines() {
        let all = files(&[".rs"]);
        let mut wrong = Vec::new();
        for (path, pattern, expected) in NOT_YET {
            let mention = Regex::new(pattern).unwrap();
            let elsewhere = all.iter().filter(|file| {
                file.path.starts_with("loop-bin/src") && !file.path.starts_with(path)
            });
            let lines = elsewhere.flat_map(|file| {
                let code = file.text.split("#[cfg(test)]").next().unwrap_or_default();
                code.lines().filter(|line| !line.trim_start().starts_with("//"))
            });
            let found = lines.filter(|line| mention.is_match(line)).count();
            if found != *expected {
                wrong.push(format!(
                    "{path}: {found} lines mention it, and the list says {expected}"
                ));
            }
        }
        report(wrong);
    }
}
