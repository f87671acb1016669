//! Files that a command writes, creates or removes.

use camino::Utf8PathBuf;

use super::facts::Facts;
use super::paths::{self, Place};
use super::words::{has_option, is_cluster, operands};
use shell_reader::{Command, RedirectKind, Script, Word};

/// The files that a command line writes or creates, as far as their names are known.
pub fn writes(script: &Script, facts: &Facts) -> Vec<Utf8PathBuf> {
    let mut found = Vec::new();
    // `touch` says nothing about what is in a file.
    for command in script.commands.iter().filter(|command| command.name() != Some("touch")) {
        for word in created(command) {
            if let Place::At(path) = paths::place(&word, command.directory.as_ref(), facts)
                && !path.starts_with("/dev")
            {
                found.push(path);
            }
        }
    }
    found
}

/// Everything that a command writes, changes or removes.
pub(super) fn touched(command: &Command) -> Vec<Word> {
    [created, removed, changed].iter().flat_map(|kind| kind(command)).collect()
}

/// What a command writes: by redirection or by itself.
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
            let given = !values(command, "-e -f --expression --file").is_empty();
            let files = operands("-e -f --expression --file");
            found.extend(files.skip(usize::from(!given)));
        }
        "perl" | "ruby" if edits_in_place(command) => found.extend(operands("")),
        "cp" | "mv" | "ln" | "install" | "rsync" | "scp" => found.extend(targets(command)),
        "dd" => {
            let texts = command.args.iter().map(Word::text);
            found.extend(texts.filter_map(|arg| arg.strip_prefix("of=")).map(Word::from));
        }
        "curl" | "sort" => found.extend(values(command, "-o --output")),
        "wget" => found.extend(values(command, "-O --output-document -o")),
        "patch" => found.extend(operands("").take(1)),
        "ed" | "ex" => found.extend(operands("")),
        _ => {}
    }
    found
}

/// What a command changes in other ways: unpacking into a folder, packing in place, permissions.
fn changed(command: &Command) -> Vec<Word> {
    let texts = || command.args.iter().map(Word::text);
    let operands = || operands(&command.args, "").into_iter().cloned();
    match command.name().unwrap_or_default() {
        "tar" | "bsdtar" | "gtar" => {
            let letters = texts().next().is_some_and(|first| first.contains('x'));
            let unpacks = letters || has_option(texts(), "-x --extract --get");
            if unpacks { values(command, "-C --directory") } else { Vec::new() }
        }
        "unzip" => values(command, "-d"),
        "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "lzma" => operands().collect(),
        "chmod" => {
            let is_mode = |arg: &&Word| {
                !matches!(arg.text(), "-R" | "-v" | "-f" | "-c") && !arg.text().starts_with("--")
            };
            let mut words = command.args.iter().filter(is_mode);
            // What is only added to the permissions locks nobody out.
            let adds = words.next().is_some_and(|mode| mode.text().contains('+'));
            words.filter(|_| !adds).cloned().collect()
        }
        "git" if texts().any(|arg| arg == "clone") => operands().skip(2).collect(),
        _ => Vec::new(),
    }
}

/// What a command removes or moves away.
fn removed(command: &Command) -> Vec<Word> {
    let words = match command.name().unwrap_or_default() {
        "rm" | "grm" | "unlink" | "rmdir" | "shred" | "srm" | "trash" | "trash-put" | "rimraf" => {
            operands(&command.args, "")
        }
        "mv" => ends(command).map(|(_, sources)| sources).unwrap_or_default(),
        _ => Vec::new(),
    };
    words.into_iter().cloned().collect()
}

/// `-i`, `-i.bak`, `-ni`, `--in-place`.
pub(super) fn edits_in_place(command: &Command) -> bool {
    command.args.iter().map(Word::text).any(|arg| {
        let flags = arg.split('.').next().unwrap_or_default();
        arg.starts_with("--in-place") || (is_cluster(flags) && flags.contains('i'))
    })
}

/// From what and to where `cp`, `mv` and their like go: the target, then the sources.
pub(super) fn ends(command: &Command) -> Option<(Word, Vec<&Word>)> {
    let mut operands = operands(&command.args, "-t --target-directory");
    let target = match values(command, "-t --target-directory").pop() {
        Some(folder) => folder,
        None => operands.pop()?.clone(),
    };
    (!operands.is_empty()).then_some((target, operands))
}

/// Where `cp` and its like write: the target, or a file of the same name in it.
fn targets(command: &Command) -> Vec<Word> {
    let Some((target, sources)) = ends(command) else {
        // `ln -s target` makes a link of that name here.
        let operands = operands(&command.args, "");
        let link = operands.first().filter(|_| command.name() == Some("ln"));
        return link.and_then(|only| only.base_name()).map(Word::from).into_iter().collect();
    };
    let inside = sources.iter().filter_map(|source| {
        Some(Word::from(format!("{}/{}", target.text().trim_end_matches('/'), source.base_name()?)))
    });
    inside.chain(std::iter::once(target.clone())).collect()
}

/// The values of options, joined by `=` or as the next word.
fn values(command: &Command, options: &str) -> Vec<Word> {
    let is_one = |name: &str| options.split(' ').any(|option| option == name);
    let mut found = Vec::new();
    let mut args = command.args.iter();
    while let Some(arg) = args.next() {
        if is_one(arg.text()) {
            found.extend(args.next().cloned());
        } else if let Some((name, value)) = arg.text().split_once('=')
            && is_one(name)
        {
            found.push(Word::from(value));
        }
    }
    found
}
