//! Reads many objects through one `git cat-file --batch`, however large they are.

use std::io::{self, BufRead, BufReader, Read};

use super::command::Git;
use super::error::GitError;

/// Hands what git keeps under each name to `take`, with the name's place in the list; none for one
/// that git does not know. Names must hold no newline. The inner failure is that of `take`.
pub(super) fn read(
    git: &Git,
    names: &[Vec<u8>],
    mut take: impl FnMut(usize, Option<&mut dyn Read>) -> io::Result<()> + Send,
) -> Result<io::Result<()>, GitError> {
    if names.is_empty() {
        return Ok(Ok(()));
    }
    let mut failure = Ok(());
    let outcome = git.stream(
        &["cat-file", "--batch"],
        |stdin| names.iter().try_for_each(|name| stdin.write_all(&[name, &b"\n"[..]].concat())),
        |stdout| {
            let mut stdout = BufReader::with_capacity(64 * 1024, stdout);
            for at in 0..names.len() {
                let mut content = size(&mut stdout)?.map(|size| (&mut stdout).take(size));
                failure = take(at, content.as_mut().map(|content| content as &mut dyn Read));
                if failure.is_err() {
                    break;
                }
                if let Some(mut rest) = content {
                    // Whatever was left of it, and the newline.
                    io::copy(&mut rest, &mut io::sink())?;
                    stdout.read_exact(&mut [0])?;
                }
            }
            Ok(())
        },
    );
    // Git complains about a closed pipe, which is our doing.
    if failure.is_err() { Ok(failure) } else { outcome.map(Ok) }
}

/// `<object> <type> <size>`, or the name and `missing`.
fn size(input: &mut impl BufRead) -> io::Result<Option<u64>> {
    let mut header = Vec::new();
    input.read_until(b'\n', &mut header)?;
    let header = String::from_utf8_lossy(&header).trim_end().to_owned();
    if header.ends_with(" missing") {
        return Ok(None);
    }
    let size = header.rsplit(' ').next().and_then(|size| size.parse().ok());
    size.map(Some).ok_or_else(|| io::Error::other(format!("no object, but {header:?}")))
}
