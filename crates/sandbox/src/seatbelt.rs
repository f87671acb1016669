//! A policy as a profile for `sandbox-exec` on macOS (Seatbelt): everything is allowed, then what a policy
//! forbids is denied, then what it allows in there is allowed again; the last rule that fits decides.
//! Names can be listed and programs started everywhere, as on Linux.
//!
//! Whether macOS does what the profile says is tried where it runs: `work_copy::probes`.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use ralph_base::linux::IS_LINUX;

use crate::Policy;
use crate::readable::{Rules, real, rules};

/// The program that starts another one with a profile.
pub(crate) const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// Whether this system has it.
pub(crate) fn is_here() -> bool {
    !IS_LINUX && Path::new(PROGRAM).exists()
}

/// What holds for every policy. Through the services that are denied, a program outside would act for
/// one inside: start it anew, open a file, obey a script.
const ALWAYS: &str = r#"(version 1)
(allow default)
(deny file-write*)
(deny file-link)
(deny file-mknod (vnode-type BLOCK-DEVICE) (vnode-type CHARACTER-DEVICE))
(deny file-mount)
(deny job-creation)
(deny appleevent-send)
(deny lsopen)
(deny mach-priv-task-port)
(deny authorization-right-obtain)
(deny process-exec (literal "/bin/launchctl"))
(deny mach-lookup
  (global-name "com.apple.coreservices.launchservicesd")
  (global-name "com.apple.coreservices.quarantine-resolver")
  (global-name "com.apple.pasteboard.1"))
(allow file-write*
  (regex #"^/dev/(fd/[0-9]+|dtracehelper)$"))
(deny file-read-data
  (regex #"^/dev/ttys[0-9]+$"))
"#;

/// Signals and facts of processes outside.
const SCOPED: &str = "(deny signal)
(allow signal (target same-sandbox))
(deny process-info*)
(allow process-info* (target same-sandbox))
";

/// The services by which programs get at passwords.
const KEYCHAIN: &str = r#"(deny mach-lookup
  (global-name "com.apple.SecurityServer")
  (global-name "com.apple.securityd.xpc")
  (global-name "com.apple.secd"))
"#;

/// Where the Keychain keeps its files, in the home folder.
const KEYCHAINS: &str = "Library/Keychains";

/// Returns the profile for a policy.
pub(crate) fn profile(policy: &Policy) -> String {
    let mut known = HashMap::new();
    let write: Vec<PathBuf> =
        policy.write.iter().map(|path| real(path.as_ref(), &mut known)).collect();
    let mut text = ALWAYS.to_owned();
    if policy.scoped {
        text.push_str(SCOPED);
    }
    if !policy.show.iter().any(|path| path.ends_with(KEYCHAINS)) {
        text.push_str(KEYCHAIN);
    }
    let write: Vec<String> = write.iter().map(|path| below(path)).collect();
    rule(&mut text, "allow file-write* file-link", &write);
    let Rules { hidden, patterns, shown } = rules(policy);
    let hidden = hidden.iter().map(|path| (path, "deny", below(path)));
    let patterns = patterns.iter().map(|path| (path, "deny", entries(path)));
    let shown = shown.iter().map(|path| (path, "allow", below(path)));
    let mut all: Vec<_> = patterns.chain(hidden).chain(shown).collect();
    // What is deeper decides; between a pattern and a name, the name that is shown.
    all.sort_by_key(|(path, act, _)| (path.components().count(), *act == "allow", path.to_owned()));
    for (_, act, what) in all {
        rule(&mut text, &format!("{act} file-read-data"), &[what]);
    }
    rule(&mut text, "allow file-read-data", &["(vnode-type DIRECTORY)"]);
    text
}

fn rule<T: AsRef<str>>(text: &mut String, act: &str, whats: &[T]) {
    if !whats.is_empty() {
        let whats: String = whats.iter().map(|what| format!("\n  {}", what.as_ref())).collect();
        let _ = writeln!(text, "({act}{whats})");
    }
}

/// A file, or a folder with everything below it.
fn below(path: &Path) -> String {
    format!("(subpath {})", quoted(&path.to_string_lossy()))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The entries of a folder that a pattern names, with everything below them. A quote ends a regular
/// expression, whatever is before it, so any character stands for it.
fn entries(pattern: &Path) -> String {
    let mut text = String::new();
    for c in pattern.to_string_lossy().chars() {
        match c {
            '*' => text.push_str("[^/]*"),
            '"' => text.push('.'),
            c if c.is_alphanumeric() || "/_- ".contains(c) => text.push(c),
            c => text.extend(['\\', c]),
        }
    }
    format!("(regex #\"^{text}(/|$)\")")
}

#[cfg(test)]
#[path = "seatbelt_tests.rs"]
mod tests;
