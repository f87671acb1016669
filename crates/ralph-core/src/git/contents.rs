//! Whole files, as they were in a commit and as they are now.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use super::error::GitError;
use super::objects;
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
    let names: Vec<Vec<u8>> =
        paths.iter().map(|path| [base.as_bytes(), b":", path].concat()).collect();
    let mut found = HashMap::new();
    let taken = objects::read(repo.git(), &names, |at, content| {
        if let (Some(path), Some(content)) = (paths.get(at), content) {
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes)?;
            found.insert(path.as_slice(), bytes);
        }
        Ok(())
    })?;
    taken.map_err(|source| repo.git().start_error(&["cat-file", "--batch"], source))?;
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
