//! What a policy depends on besides settings and tables: where programs on the `PATH` are, which
//! files hold secrets, and which git settings do.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::secrets::mask;

use crate::policy::names_a_secret;

/// What was found on this machine.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Files and folders that programs need.
    pub shown: Vec<Utf8PathBuf>,
    /// Files that are hidden if they hold a secret.
    pub judged: Vec<Utf8PathBuf>,
    /// The user's git settings, as git writes them in a file.
    pub git_settings: String,
    /// Those of them that lead to credentials.
    pub git_credentials: String,
}

/// The folders in which programs are, and those beside them with what the programs load.
const PROGRAMS: [&str; 3] = ["bin", "sbin", "shims"];
const BESIDE: [&str; 7] = ["bin", "lib", "lib64", "libexec", "include", "versions", "dist"];

/// Returns the folders of a `PATH` in the home folder, and where links in them lead.
pub fn programs(home: &Utf8Path, path: &str) -> Vec<Utf8PathBuf> {
    let mut found = Vec::new();
    let folders = path.split(':').map(Utf8Path::new).filter(|it| it.starts_with(home));
    for folder in folders.filter(|folder| *folder != home) {
        found.push(folder.to_owned());
        found.extend(beside(folder));
        let links = folder.read_dir_utf8().into_iter().flatten().flatten();
        let links = links.filter(|it| it.file_type().is_ok_and(|kind| kind.is_symlink()));
        for program in links.filter_map(|link| link.path().canonicalize_utf8().ok()) {
            // A key is no program, so a link to one shows nothing.
            let runs = program.metadata().is_ok_and(|it| it.permissions().mode() & 0o111 != 0);
            if runs && program.is_file() && program.starts_with(home) {
                found.extend(program.parent().into_iter().flat_map(beside));
                found.push(program);
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Returns what programs in this folder load from folders beside it.
fn beside(folder: &Utf8Path) -> impl Iterator<Item = Utf8PathBuf> {
    let is_programs = folder.file_name().is_some_and(|name| PROGRAMS.contains(&name));
    let above = folder.parent().filter(|_| is_programs);
    above.into_iter().flat_map(|above| BESIDE.map(|name| above.join(name)))
}

/// Returns whether a file holds something that looks like a secret, or cannot be read as text.
pub(crate) fn holds_secret(file: &Path) -> bool {
    if let Ok(mut entries) = file.read_dir() {
        return entries.any(|entry| entry.is_ok_and(|entry| holds_secret(&entry.path())));
    }
    let Ok(text) = fs_err::read_to_string(file) else { return file.exists() };
    // Comments often show how a secret would be set.
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with(['#', ';']));
    lines.any(|line| {
        // Gradle needs no sign between a name and its value.
        let given = line.split_once('=').or_else(|| line.split_once(['"', '\'']));
        let given = given.filter(|(_, value)| {
            let value = value.trim_matches([' ', '"', '\'']);
            !value.is_empty() && !value.starts_with('$')
        });
        let name = given.and_then(|(name, _)| name.split_whitespace().last());
        name.is_some_and(names_a_secret)
            || line.to_lowercase().contains("extraheader")
            || without_user(line) != line
            || mask(line) != line
    })
}

/// Returns the value of a git setting without credentials; `None` if the setting leads to some.
pub fn shareable(key: &str, value: &str) -> Option<String> {
    let key = key.to_lowercase();
    let name = key.rsplit('.').next().unwrap_or_default();
    let tells = ["token", "secret", "passw", "smtppass", "apikey", "extraheader", "cookiefile"];
    let leads = key.starts_with("credential.")
        || key == "core.sshcommand"
        || tells.iter().any(|word| name.contains(word))
        || without_user(&key) != key;
    let value = without_user(value);
    (!leads && mask(&value) == value).then_some(value)
}

/// Returns a text without the names and passwords in its URLs. SSH needs a name.
pub(crate) fn without_user(text: &str) -> String {
    let mut parts = text.split("://");
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(['/', '"', '\'', ' ', ']']).unwrap_or(part.len());
        let (host, rest) = part.split_at(end);
        let is_web = ["http", "https"].iter().any(|scheme| clean.ends_with(scheme));
        let kept = host.rsplit_once('@').filter(|(user, _)| is_web || user.contains(':'));
        let kept = kept.map_or(host, |(_, host)| host);
        clean.push_str("://");
        clean.push_str(kept);
        clean.push_str(rest);
    }
    clean
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn credentials_are_taken_out_of_git_settings() {
        let kept = [
            ("user.name", "Ada", "Ada"),
            (
                "remote.origin.url",
                "https://ada:hunter2@git.example/a.git",
                "https://git.example/a.git",
            ),
            ("remote.origin.url", "https://x1y2@git.example/a", "https://git.example/a"),
            ("remote.origin.url", "ssh://git@git.example/a", "ssh://git@git.example/a"),
            ("remote.origin.url", "git@git.example:a/b", "git@git.example:a/b"),
            ("alias.st", "status -sb", "status -sb"),
        ];
        for (key, value, wanted) in kept {
            assert_eq!(shareable(key, value).as_deref(), Some(wanted), "{key}");
        }
        let dropped = [
            ("http.https://git.example/.extraHeader", "Authorization: Basic YWRh"),
            ("credential.helper", "store"),
            ("url.https://ada:hunter2@git.example/.insteadof", "https://git.example/"),
            ("url.https://x1y2@git.example/.insteadof", "https://git.example/"),
            ("github.token", "abc"),
            ("sendemail.smtpPass", "abc"),
            ("alias.up", "!curl -H 'Authorization: Bearer Abcdef123456' https://git.example"),
        ];
        for (key, value) in dropped {
            assert_eq!(shareable(key, value), None, "{key}");
        }
    }

    #[test]
    fn a_file_with_a_secret_is_recognized() {
        let scratch = Scratch::new();
        for (text, is_secret) in [
            ("export PATH=$HOME/bin:$PATH\nalias ll='ls -l'\n# export GH_TOKEN=x\n", false),
            ("export MAX_THINKING_TOKENS=8000\nexport A_TOKEN=$(cat x)\n", false),
            ("export DB_PASS=ab\n", true),
            ("[http \"https://git.example/\"]\n\textraheader = AUTHORIZATION: basic abc\n", true),
            ("[remote \"origin\"]\n\turl = https://x1y2@git.example/a\n", true),
            ("[remote \"origin\"]\n\turl = git@git.example:a/b\n", false),
            ("repositories { maven { credentials { password 'hunter2hunter2' } } }\n", true),
        ] {
            let file = scratch.file("settings", text);
            assert_eq!(holds_secret(file.as_std_path()), is_secret, "{text}");
        }
        assert!(!holds_secret(scratch.path("none").as_std_path()));
    }

    #[test]
    fn programs_on_the_path_need_what_is_beside_them() {
        let scratch = Scratch::new();
        scratch.script("home/.tools/x/bin/run", "#!/bin/sh\n");
        scratch.file("home/.keys/id", "secret");
        for (target, link) in [(".tools/x/bin/run", "run"), (".keys/id", "id")] {
            let bin = scratch.dir("home/.local/bin");
            std::os::unix::fs::symlink(scratch.path("home").join(target), bin.join(link)).unwrap();
        }
        let home = scratch.path("home").canonicalize_utf8().unwrap();
        let found = programs(&home, &format!("/usr/bin:{home}/.local/bin:{home}"));
        for name in [".local/bin", ".local/lib", ".tools/x/bin/run", ".tools/x/lib"] {
            assert!(found.contains(&home.join(name)), "{name}: {found:?}");
        }
        assert!(!found.iter().any(|path| path.ends_with("id") || *path == home), "{found:?}");
    }
}
