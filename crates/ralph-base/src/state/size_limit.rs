//! A limit on the size of files (`ulimit -f`): whoever writes beyond it is killed by a signal, and
//! a hook that is killed guards nothing. So we look before we write, and fail instead.

use std::io::{self, Read};
use std::sync::LazyLock;

/// Read once, and only by a process that writes.
static LIMIT: LazyLock<Option<u64>> = LazyLock::new(|| {
    // The line stands near the beginning, so one look is enough.
    let mut beginning = [0; 512];
    let length = fs_err::File::open("/proc/self/limits").ok()?.read(&mut beginning).ok()?;
    parse(std::str::from_utf8(beginning.get(..length)?).ok()?)
});

/// Fails if a file of this size is not allowed.
pub(super) fn allow(size: u64) -> io::Result<()> {
    match *LIMIT {
        Some(limit) if size > limit => Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("files may not be larger than {limit} bytes here (`ulimit -f`)"),
        )),
        _ => Ok(()),
    }
}

/// `Max file size             1024                 unlimited            bytes`
fn parse(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max file size"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_that_holds_is_the_first_of_the_two() {
        let row =
            |soft: &str| format!("Max cpu time  5  9  seconds\nMax file size  {soft}  9  bytes\n");
        assert_eq!(parse(&row("1024")), Some(1024));
        assert_eq!(parse(&row("unlimited")), None);
        assert_eq!(parse(""), None);
    }
}
