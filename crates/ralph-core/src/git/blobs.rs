//! Reads many objects through one `git cat-file --batch`.

use std::io::{self, BufRead, BufReader, Read, Write};

use super::repo::Repo;
use super::restore::diff::{Change, Content};
use super::snapshot::take::SnapshotError;

/// Hands the bytes of each change, as git stores them, to `take`, in order.
pub(super) fn read(
    repo: &Repo,
    changes: &[&Change],
    mut take: impl FnMut(&Change, &[u8]) -> io::Result<()> + Send,
) -> Result<(), SnapshotError> {
    if changes.is_empty() {
        return Ok(());
    }
    let mut failure = None;
    let outcome = repo.git().stream(
        &["cat-file", "--batch"],
        |mut stdin| request(&mut stdin, changes),
        |stdout| {
            let mut stdout = BufReader::new(stdout);
            for change in changes {
                let content = answer(&mut stdout)?;
                if let Err(error) = take(change, &content) {
                    // Kept apart: git will complain about a closed pipe, which is our doing.
                    failure = Some(error);
                    break;
                }
            }
            Ok(())
        },
    );
    match failure {
        Some(error) => Err(error.into()),
        None => Ok(outcome?),
    }
}

fn request(out: &mut impl Write, changes: &[&Change]) -> io::Result<()> {
    let mut text = String::new();
    for change in changes {
        if let Content::File { object, .. } | Content::Link { object } = &change.to {
            text.push_str(object);
            text.push('\n');
        }
    }
    out.write_all(text.as_bytes())
}

/// `<object> <type> <size>\n<content>\n`
fn answer(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut header = String::new();
    input.read_line(&mut header)?;
    let size = header.trim_end().rsplit(' ').next().and_then(|size| size.parse::<u64>().ok());
    let Some(size) = size else {
        return Err(io::Error::other(format!("git cannot read an object: {}", header.trim_end())));
    };
    let mut content = Vec::new();
    input.take(size).read_to_end(&mut content)?;
    let mut newline = [0];
    input.read_exact(&mut newline)?;
    Ok(content)
}
