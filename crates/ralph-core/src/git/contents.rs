//! Whole files, as they were in a commit and as they are now.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use super::error::GitError;
use super::repo::Repo;

/// Larger files were made by a program.
const LARGEST_FILE: u64 = 1024 * 1024;

/// The files as they were in a commit, from one git process; those that did not exist are left
/// out. Names must hold no newline.
pub(crate) fn contents_at<'a>(
    repo: &Repo,
    base: &str,
    paths: &'a [Vec<u8>],
) -> Result<HashMap<&'a [u8], Vec<u8>>, GitError> {
    let mut input = Vec::new();
    for path in paths {
        input.extend_from_slice(base.as_bytes());
        input.push(b':');
        input.extend_from_slice(path);
        input.push(b'\n');
    }
    let output = repo.git().feed(&["cat-file", "--batch"], &input)?;
    let mut rest = output.as_slice();
    let mut found = HashMap::new();
    for path in paths {
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { break };
        let (header, after) = rest.split_at(end);
        rest = after.get(1..).unwrap_or_default();
        // `<object> <type> <size>`, or the name and `missing`.
        if header.ends_with(b" missing") {
            continue;
        }
        let header = String::from_utf8_lossy(header).into_owned();
        let size = header.rsplit(' ').next().and_then(|size| size.parse::<usize>().ok());
        let Some(content) = size.and_then(|size| rest.get(..size)) else { break };
        rest = rest.get(content.len() + 1..).unwrap_or_default();
        found.insert(path.as_slice(), content.to_vec());
    }
    Ok(found)
}

/// A regular file of a size that people write; links and folders are none.
pub(crate) fn content_now(path: &Path) -> Option<Vec<u8>> {
    let metadata = fs_err::symlink_metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST_FILE {
        return None;
    }
    let mut content = Vec::new();
    fs_err::File::open(path).ok()?.take(LARGEST_FILE).read_to_end(&mut content).ok()?;
    Some(content)
}
