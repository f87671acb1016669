//! Reads git objects through one `git cat-file --batch`, regardless of their size; and whole files,
//! from a commit or from disk.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::{Git, GitError, Repo};
use ralph_base::state::read_at_most;

/// The size limit; larger files were made by a program.
const LARGEST_FILE: u64 = 1024 * 1024;

/// Passes the content of each named object to `take`, with the name's index; `None` for a name that
/// git does not know. Names must not contain a newline.
pub(super) fn read<N: AsRef<[u8]> + Sync>(
    git: &Git,
    names: &[N],
    mut take: impl FnMut(usize, Option<&mut dyn Read>) -> io::Result<()> + Send,
) -> Result<(), GitError> {
    if names.is_empty() {
        return Ok(());
    }
    let (done, _) = git.stream(
        &["cat-file", "--batch"],
        |stdin| {
            let mut names = names.iter();
            names.try_for_each(|name| stdin.write_all(&[name.as_ref(), b"\n"].concat()))
        },
        |stdout| {
            let mut stdout = BufReader::with_capacity(64 * 1024, stdout);
            for at in 0..names.len() {
                let Some(size) = size(&mut stdout)? else {
                    take(at, None)?;
                    continue;
                };
                let mut content = (&mut stdout).take(size);
                take(at, Some(&mut content))?;
                // Skips the unread rest of the object, and the newline.
                io::copy(&mut content, &mut io::sink())?;
                stdout.read_exact(&mut [0])?;
            }
            Ok(())
        },
    )?;
    Ok(done)
}

/// Reads the header: `<object> <type> <size>`, or the name and `missing`.
fn size(input: &mut impl BufRead) -> io::Result<Option<u64>> {
    let mut header = Vec::new();
    input.read_until(b'\n', &mut header)?;
    let header = String::from_utf8_lossy(&header).trim_end().to_owned();
    if header.ends_with(" missing") {
        return Ok(None);
    }
    let size = header.rsplit(' ').next().and_then(|size| size.parse().ok());
    size.map(Some).ok_or_else(|| io::Error::other(format!("not an object: {header:?}")))
}

/// Returns the files' contents in a commit, read by one git process; files that did not exist are
/// left out. Names must not contain a newline.
pub fn contents_at<'a>(
    repo: &Repo,
    base: &str,
    paths: &'a [Vec<u8>],
) -> Result<HashMap<&'a [u8], Vec<u8>>, GitError> {
    let names: Vec<Vec<u8>> =
        paths.iter().map(|path| [base.as_bytes(), b":", path].concat()).collect();
    let mut found = HashMap::new();
    read(repo.git(), &names, |at, content| {
        if let (Some(path), Some(content)) = (paths.get(at), content) {
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes)?;
            found.insert(path.as_slice(), bytes);
        }
        Ok(())
    })?;
    Ok(found)
}

/// Returns the content of a regular file of at most 1 MiB; `None` for links and folders.
pub fn content_now(path: &Path) -> Option<Vec<u8>> {
    if path.is_symlink() { None } else { read_at_most(path, LARGEST_FILE).ok() }
}
