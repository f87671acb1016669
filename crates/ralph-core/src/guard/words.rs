//! Classifies the words of a command line: options, their values, operands.

use shell_reader::Word;

/// Returns whether `args` has one of `options`: short ones also in a cluster, long ones shortened.
pub(super) fn has_option<'w>(args: impl Iterator<Item = &'w str>, options: &str) -> bool {
    args.take_while(|arg| *arg != "--").any(|arg| {
        let (name, value) = arg.split_once('=').unwrap_or((arg, ""));
        // `--dry-run=none`: a disabled option counts as absent.
        if matches!(value, "none" | "false") {
            return false;
        }
        options.split([' ', '|']).any(|option| match option.strip_prefix("--") {
            Some(_) => name == option || (name.len() > 2 && option.starts_with(name)),
            None => is_cluster(arg) && flags(arg).contains(option.trim_start_matches('-')),
        })
    })
}

/// Returns the letters of a cluster, without an attached value: `-qd.git`.
fn flags(arg: &str) -> &str {
    let end = arg.find(|c: char| c != '-' && !c.is_ascii_alphanumeric());
    arg.get(..end.unwrap_or(arg.len())).unwrap_or(arg)
}

/// Returns whether an argument is a short option or a cluster of them.
pub(super) fn is_cluster(arg: &str) -> bool {
    arg.starts_with('-') && !arg.starts_with("--")
}

/// Returns the words without the values of the options `takers`.
pub(super) fn without_values<'w>(args: &'w [Word], takers: &str) -> impl Iterator<Item = &'w Word> {
    let mut is_value = false;
    args.iter().filter(move |word| {
        let arg = word.text();
        let takes = takers.split_whitespace().any(|option| {
            let letter = option.trim_start_matches('-');
            arg == option || (option.len() == 2 && is_cluster(arg) && arg.ends_with(letter))
        });
        let was_value = is_value;
        is_value = takes && !was_value;
        !was_value
    })
}

/// Returns the words that are neither options nor values of the options `takers`.
pub(super) fn operands<'w>(args: &'w [Word], takers: &str) -> Vec<&'w Word> {
    let mut only_operands = false;
    let mut found = Vec::new();
    for arg in without_values(args, takers) {
        if only_operands || !arg.text().starts_with('-') || arg.text() == "-" {
            found.push(arg);
        } else if arg.text() == "--" {
            only_operands = true;
        }
    }
    found
}
