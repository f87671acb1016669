//! Programs that download or decode text, and the files to which they write it.

use super::Word;
use super::expand::Expander;
use super::options::values;
use super::script::{FETCHED, base_name, names};
use super::tree::{Body, List, Stage};

const SOURCES: &str =
    "curl wget fetch http https xh aria2c nc base64 base32 xxd openssl rev tr uudecode";

/// Returns whether a program is a source; `tr` only counts if it replaces letters.
pub(super) fn is_source(program: &Word, args: &[Word]) -> bool {
    let Some(name) = program.base_name() else { return false };
    let swaps = |set: &Word| set.text() != name && set.text().starts_with(char::is_alphabetic);
    names(SOURCES, name) && (name != "tr" || args.iter().any(swaps))
}

/// Returns the placeholder for the output of a list that cannot be computed.
pub(super) fn unknown_output(list: &List, expander: Expander) -> Word {
    if list_fetches(list, expander) { Word::from(FETCHED) } else { Word::unknown() }
}

fn list_fetches(list: &List, expander: Expander) -> bool {
    let chains = list.items.iter().flat_map(|item| &item.chain);
    let mut stages = chains.flat_map(|(_, pipeline)| &pipeline.stages);
    stages.any(|stage| stage_fetches(stage, expander))
}

/// Returns whether a command calls a source, directly or after `sudo`, `timeout 5` and the like.
fn stage_fetches(stage: &Stage, expander: Expander) -> bool {
    match &stage.body {
        Body::Group { list, .. } => list_fetches(list, expander),
        Body::Simple { words, .. } => {
            let words = expander.fields(words.get(..words.len().min(4)).unwrap_or_default());
            words.iter().any(|name| is_source(name, &words))
        }
        _ => false,
    }
}

const CURL_TAKERS: &str =
    "-A -b -c -C -d -D -e -E -F -h -H -K -m -P -Q -r -t -T -u -U -w -x -X -y -Y -z";
const WGET_TAKERS: &str = "-a -e -i -B -t -T -w -Q -U -l -A -R -D -I -X";

/// Returns the files to which a program downloads, including folders named by options.
pub fn downloads(name: &str, args: &[Word]) -> Vec<Word> {
    let texts = || args.iter().map(Word::text);
    let (file, folder, takers) = match name {
        "curl" => ("-o --output", "--output-dir", CURL_TAKERS),
        "wget" => ("-O --output-document -o", "-P --directory-prefix", WGET_TAKERS),
        "aria2c" => ("-o --out", "-d --dir", "-i -j -s -x -k"),
        "fetch" | "http" | "https" | "xh" => ("-o --output", "", ""),
        _ => return Vec::new(),
    };
    let mut found = values(args, file, takers);
    let folders = values(args, folder, takers);
    let by_address = match name {
        "curl" => texts().any(|arg| {
            let is_taker = |letter: char| letter != '-' && takers.contains(letter);
            let flags = arg.strip_prefix('-').unwrap_or_default().split(is_taker).next();
            arg == "--remote-name" || flags.is_some_and(|flags| flags.contains('O'))
        }),
        "wget" => found.is_empty() && !texts().any(|arg| arg == "--spider"),
        _ => name == "aria2c" && found.is_empty(),
    };
    if by_address {
        let addresses = texts().filter(|arg| arg.contains("://"));
        let paths = addresses.map(|arg| arg.split(['?', '#']).next().unwrap_or(arg));
        found.extend(paths.filter_map(|path| Some(Word::from(base_name(path)?))));
    }
    found.retain(|file| !matches!(file.text(), "" | "-"));
    match folders.last() {
        Some(folder) => {
            let inside = |file: Word| Word::from(format!("{}/{}", folder.text(), file.text()));
            found.into_iter().map(inside).chain([folder.clone()]).collect()
        }
        None => found,
    }
}
