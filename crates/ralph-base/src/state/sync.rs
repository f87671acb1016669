//! The disk is told to keep what was written while we go on: one thread waits for it, file by file.
//!
//! Nothing here says when a file is safe. What has to be safe before something else happens is
//! written by `replace`, which waits.

use std::sync::LazyLock;
use std::sync::mpsc::{Sender, channel};

/// Started when the first file comes, so that a hook which writes none has no thread.
static DISK: LazyLock<Sender<fs_err::File>> = LazyLock::new(|| {
    let (sender, files) = channel::<fs_err::File>();
    std::thread::spawn(move || {
        for file in files {
            // The content has its name already, and readers see it; a disk that fails now fails
            // the next write as well, and there somebody is told.
            let _ = file.sync_all();
        }
    });
    sender
});

/// Has the file synced soon.
pub(super) fn soon(file: fs_err::File) {
    // Without the thread the system writes the file by itself, some seconds later.
    let _ = DISK.send(file);
}
