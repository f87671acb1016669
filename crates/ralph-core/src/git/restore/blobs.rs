//! Reads many objects through one `git cat-file --batch`, however large they are.

use std::io::{self, BufRead, BufReader, Read, Write};

use super::diff::Change;
use crate::git::repo::Repo;
use crate::git::snapshot::error::SnapshotError;

/// Hands the content of each change, as git stores it, to `take`, in order.
pub(in crate::git) fn read(
    repo: &Repo,
    changes: &[&Change],
    mut take: impl FnMut(&Change, &mut dyn Read) -> io::Result<()> + Send,
) -> Result<(), SnapshotError> {
    if changes.is_empty() {
        return Ok(());
    }
    let mut failure = None;
    let outcome = repo.git().stream(
        &["cat-file", "--batch"],
        |stdin| request(stdin, changes),
        |stdout| {
            let mut stdout = BufReader::with_capacity(64 * 1024, stdout);
            for change in changes {
                let mut content = answer(&mut stdout, change)?;
                if let Err(error) = take(change, &mut content) {
                    // Kept apart: git will complain about a closed pipe, which is our doing.
                    failure = Some(error);
                    break;
                }
                // Whatever was left of it, and the newline.
                io::copy(&mut content, &mut io::sink())?;
                stdout.read_exact(&mut [0])?;
            }
            Ok(())
        },
    );
    failure.map_or_else(|| Ok(outcome?), |error| Err(error.into()))
}

fn request(out: &mut dyn Write, changes: &[&Change]) -> io::Result<()> {
    let objects = changes.iter().filter_map(|change| change.to.object());
    let text: String = objects.map(|object| format!("{object}\n")).collect();
    out.write_all(text.as_bytes())
}

/// `<object> <type> <size>\n<content>\n`
fn answer<'r, R: BufRead>(input: &'r mut R, change: &Change) -> io::Result<io::Take<&'r mut R>> {
    let mut header = String::new();
    input.read_line(&mut header)?;
    let size = header.trim_end().rsplit(' ').next().and_then(|size| size.parse::<u64>().ok());
    let size = size.ok_or_else(|| {
        let (path, said) = (change.path.display(), header.trim_end());
        io::Error::other(format!("git cannot read what {path} held: {said}"))
    })?;
    Ok(input.take(size))
}
