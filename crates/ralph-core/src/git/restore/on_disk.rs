//! Is a file on disk what a tree has? Compared byte by byte, without git and its filters.

use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::diff::Content;
use crate::git::snapshot::access::open_to_read;

/// Whether a file or link is as a tree has it, and of a mode that the caller takes for the same.
/// What a tree cannot hold as bytes is never the same.
pub(in crate::git) fn is_as(
    full: &Path,
    wanted: &Content,
    content: &[u8],
    is_mode: impl Fn(u32) -> bool,
) -> io::Result<bool> {
    let Ok(metadata) = fs_err::symlink_metadata(full) else { return Ok(false) };
    match wanted {
        Content::Link { .. } => {
            Ok(metadata.is_symlink() && fs_err::read_link(full)?.as_os_str().as_bytes() == content)
        }
        Content::File { .. } => Ok(metadata.is_file()
            && is_mode(metadata.mode() & 0o7777)
            && metadata.len() == content.len() as u64
            && is_read_as(full, content)?),
        Content::Absent | Content::Submodule => Ok(false),
    }
}

fn is_read_as(full: &Path, content: &[u8]) -> io::Result<bool> {
    let mut now = Vec::new();
    open_to_read(full)?.read_to_end(&mut now)?;
    Ok(now == content)
}
