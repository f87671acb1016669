//! The files that a command writes, creates or removes.

use camino::Utf8PathBuf;

use super::facts::Facts;
use super::git::GitCall;
use super::paths::{self, Location};
use super::words::{has_option, is_cluster, operands};
use shell_reader::{Command, RedirectKind, Script, Word, downloads, values};

// The lists, from `lists.toml`.
include!(concat!(env!("OUT_DIR"), "/writes.rs"));

/// Returns the files that a command line writes or creates, as far as their names are known.
pub fn writes(script: &Script, facts: &Facts) -> Vec<Utf8PathBuf> {
    let mut found = Vec::new();
    // `touch` does not change the content of a file.
    for command in script.commands.iter().filter(|command| command.name() != Some("touch")) {
        for word in created(command) {
            if let Location::At(path) = paths::place(&word, command.directory.as_ref(), facts)
                && (!path.starts_with("/dev") || path.starts_with("/dev/shm"))
            {
                found.push(path);
            }
        }
    }
    found
}

/// Returns the sources and targets of moves and copies, as far as the names are known; patterns are
/// returned unexpanded, as by [`reads`](super::reads).
pub fn moves(script: &Script, facts: &Facts) -> Vec<(Utf8PathBuf, Utf8PathBuf)> {
    let mut found = Vec::new();
    for command in &script.commands {
        let command = match GitCall::of(command) {
            Some(call) if call.name() == "mv" => {
                let (args, directory) = (call.args.to_vec(), call.directory);
                Command { args, directory, ..command.clone() }
            }
            None if matches!(command.name(), Some("mv" | "cp")) => command.clone(),
            _ => continue,
        };
        let place = |word: &Word| paths::place(word, command.directory.as_ref(), facts);
        let Some((target, sources)) = ends(&command) else { continue };
        let Location::At(to) = place(&target) else { continue };
        let sources = sources.into_iter().filter_map(|source| place(source).named());
        found.extend(sources.map(|from| (from, to.clone())));
    }
    found
}

/// Returns all paths that a command writes, changes or removes.
pub(super) fn touched(command: &Command) -> Vec<Word> {
    let mut found = created(command);
    found.extend(removed(command));
    found.extend(changed(command));
    found
}

/// Returns the paths that a command writes, by redirection or by itself.
pub(super) fn created(command: &Command) -> Vec<Word> {
    let writes = |kind: RedirectKind| {
        matches!(kind, RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite)
    };
    let redirects = command.redirects.iter().filter(|redirect| writes(redirect.kind));
    let mut found: Vec<Word> = redirects.map(|redirect| redirect.target.clone()).collect();
    let operands = |takers| operands(&command.args, takers).into_iter().cloned();
    match command.name().unwrap_or_default() {
        "tee" | "touch" | "truncate" | "shred" | "sponge" => {
            found.extend(operands("-s -d -t -r --size -n"));
        }
        "sed" | "gsed" if edits_in_place(command) => {
            let given = !values(&command.args, "-e -f --expression --file", "").is_empty();
            let files = operands("-e -f --expression --file");
            found.extend(files.skip(usize::from(!given)));
        }
        "perl" | "ruby" if edits_in_place(command) => found.extend(operands("")),
        "cp" | "mv" | "ln" | "install" | "rsync" | "scp" => found.extend(targets(command)),
        "dd" => {
            let texts = command.args.iter().map(Word::text);
            found.extend(texts.filter_map(|arg| arg.strip_prefix("of=")).map(Word::from));
        }
        "sort" => found.extend(values(&command.args, "-o --output", "-k -t -S -T")),
        "patch" => found.extend(operands("").take(1)),
        "find" | "gfind" => found.extend(behind(command, "-fprint -fprintf -fprint0 -fls")),
        "script" => found.extend(operands("-c -I -O -B -T -m -E --command").take(1)),
        "xxd" => found.extend(operands("-c -g -l -o -s").skip(1)),
        "tcpdump" | "tshark" | "dumpcap" => found.extend(behind(command, "-w")),
        "socat" => found.extend(opened_by_socat(command)),
        "ed" | "ex" => found.extend(operands("")),
        name => found.extend(downloads(name, &command.args)),
    }
    if matches!(command.name(), Some("sed" | "gsed")) {
        found.extend(command.args.iter().flat_map(written_by_sed));
    }
    found.extend(outputs(command));
    found
}

/// Returns the values of options that name a file to write in nearly every program.
fn outputs(command: &Command) -> Vec<Word> {
    const OPTIONS: &str = "-o -out --out --output --output-file --outfile --out-file";
    if command.name().is_none_or(|name| NO_OUTPUT.contains(&name)) {
        return Vec::new();
    }
    let attached = command.args.iter().filter_map(|arg| {
        let text = arg.text();
        let long = || text.split_once('=').filter(|(name, _)| in_list(OPTIONS, name));
        let short = text.strip_prefix("-o").filter(|path| path.starts_with(['/', '.', '~']));
        short.or_else(|| long().map(|(_, path)| path)).map(Word::from)
    });
    behind(command, OPTIONS).into_iter().chain(attached).collect()
}

/// Returns the words that follow these options.
fn behind(command: &Command, options: &str) -> Vec<Word> {
    let pairs = command.args.iter().zip(command.args.iter().skip(1));
    let values = pairs.filter(|(option, value)| {
        in_list(options, option.text()) && !value.text().starts_with('-')
    });
    values.map(|(_, value)| value.clone()).collect()
}

fn in_list(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

/// Returns the files of the `w` command and of the `w` flag in a script of sed.
fn written_by_sed(script: &Word) -> Vec<Word> {
    let text = script.text();
    let starts = text.match_indices("w ").filter(|(at, _)| {
        let before = text.get(..*at).unwrap_or_default().trim_end_matches(['g', 'p', 'I']);
        before.is_empty() || before.ends_with(|c: char| !c.is_alphanumeric() && c != ' ')
    });
    let paths = starts.filter_map(|(at, _)| text.get(at + 2..)?.lines().next());
    paths.map(|path| Word::from(path.trim())).collect()
}

/// Returns the files that addresses such as `OPEN:path,append` write.
fn opened_by_socat(command: &Command) -> Vec<Word> {
    let addresses = command.args.iter().filter_map(|arg| arg.text().split_once(':'));
    let written = addresses.filter(|(kind, rest)| {
        let kind = kind.to_ascii_lowercase();
        matches!(kind.as_str(), "open" | "creat" | "create" | "gopen" | "file")
            && !rest.contains("rdonly")
    });
    written.filter_map(|(_, rest)| rest.split(',').next()).map(Word::from).collect()
}

/// Returns the folder into which a command unpacks an archive: as given, or the current one.
fn unpacked(command: &Command) -> Option<Word> {
    let has = |options| has_option(command.args.iter().map(Word::text), options);
    let first = command.args.first().map_or("", Word::text);
    let (unpacks, option, takers) = match command.name()? {
        "tar" | "bsdtar" | "gtar" => {
            let letters = !first.starts_with('-') && first.contains('x');
            (letters || has("-x --extract --get"), "-C --directory", "-b -f -I -K -N -T -V -X")
        }
        "unzip" => (!has("-l -t -v -p -z -Z"), "-d", "-P -x"),
        "cpio" => (has("-i --extract"), "-D --directory", "-C -E -F -H -I -M -O -R"),
        "7z" | "7za" | "7zz" => (matches!(first, "x" | "e"), "-o", "-m -p"),
        "dpkg" | "dpkg-deb" if has("-x -X --extract --vextract") => {
            return operands(&command.args, "").get(1).copied().cloned();
        }
        _ => return None,
    };
    let named = || values(&command.args, option, takers).pop();
    unpacks.then(|| named().unwrap_or_else(|| Word::from(".")))
}

/// Returns paths changed in other ways: unpacking into a folder, packing in place, permissions.
fn changed(command: &Command) -> Vec<Word> {
    let texts = || command.args.iter().map(Word::text);
    let operands = || operands(&command.args, "").into_iter().cloned();
    match command.name().unwrap_or_default() {
        "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "lzma"
            if !has_option(texts(), "-c -l -t --stdout --to-stdout --list --test") =>
        {
            operands().collect()
        }
        "chmod" => {
            let is_mode = |arg: &&Word| {
                !matches!(arg.text(), "-R" | "-v" | "-f" | "-c") && !arg.text().starts_with("--")
            };
            let mut words = command.args.iter().filter(is_mode);
            // Adding permissions locks nobody out.
            let adds = words.next().is_some_and(|mode| mode.text().contains('+'));
            words.filter(|_| !adds).cloned().collect()
        }
        "git" if texts().any(|arg| arg == "clone") => operands().skip(2).collect(),
        _ => unpacked(command).into_iter().collect(),
    }
}

/// Returns the paths that a command removes or moves away.
fn removed(command: &Command) -> Vec<Word> {
    let words = match command.name().unwrap_or_default() {
        "rm" | "grm" | "unlink" | "rmdir" | "remove" => operands(&command.args, ""),
        name if is_deleter(name) => operands(&command.args, ""),
        "mv" => ends(command).map(|(_, sources)| sources).unwrap_or_default(),
        _ => Vec::new(),
    };
    words.into_iter().cloned().collect()
}

/// Returns whether a program deletes whole folders, whatever its options.
pub(super) fn is_deleter(name: &str) -> bool {
    matches!(name, "shred" | "srm" | "rimraf" | "trash" | "trash-put")
        || matches!(name, "del" | "del-cli" | "remove_directory")
}

/// Returns whether a file is edited in place: `-i`, `-i.bak`, `-ni`, `--in-place`.
pub(super) fn edits_in_place(command: &Command) -> bool {
    command.args.iter().map(Word::text).any(|arg| {
        let flags = arg.split('.').next().unwrap_or_default();
        arg.starts_with("--in-place") || (is_cluster(flags) && flags.contains('i'))
    })
}

/// Returns the target and then the sources of `cp`, `mv` and similar commands.
pub(super) fn ends(command: &Command) -> Option<(Word, Vec<&Word>)> {
    let is_remote = matches!(command.name(), Some("rsync" | "scp"));
    let folder = if is_remote { "" } else { "-t --target-directory" };
    let mut operands = operands(&command.args, &format!("{folder} -m -o -g -S"));
    let target = match values(&command.args, folder, "-m -o -g -S").pop() {
        Some(folder) => folder,
        None => operands.pop()?.clone(),
    };
    (!operands.is_empty()).then_some((target, operands))
}

/// Returns the paths that `cp` and similar commands write: the target, or files in it.
fn targets(command: &Command) -> Vec<Word> {
    let Some((target, sources)) = ends(command) else {
        // `ln -s target` creates a link of that name in the current folder.
        let operands = operands(&command.args, "");
        let link = if command.name() == Some("ln") { operands.first() } else { None };
        return link.and_then(|only| only.base_name()).map(Word::from).into_iter().collect();
    };
    let inside = sources.iter().filter_map(|source| {
        Some(Word::from(format!("{}/{}", target.text().trim_end_matches('/'), source.base_name()?)))
    });
    inside.chain(std::iter::once(target.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_moved_by_a_command_line_are_found() {
        let facts = Facts { cwd: "/w".into(), root: "/w".into(), ..Facts::default() };
        let check = |command: &str, expected: &[(&str, &str)]| {
            let found = moves(&facts.read(command), &facts);
            let found: Vec<_> =
                found.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
            assert_eq!(found, expected, "{command}");
        };
        check("mv a.rs src/b.rs", &[("/w/a.rs", "/w/src/b.rs")]);
        check("git -C src mv -f x y", &[("/w/src/x", "/w/src/y")]);
        let both = [("/w/src/a", "/w/lib"), ("/w/src/*.rs", "/w/lib")];
        check("cd src && cp -r a *.rs -t ../lib", &both);
        check("git add mv x y; mv a \"$X\"; rm a b", &[]);
    }
}
