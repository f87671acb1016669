//! Finds the plan: the first candidate that exists, and among numbered ones the first unfinished.
//!
//! Which places are candidates is the caller's knowledge; reading the disk is one small function,
//! given as a parameter so that the choice can be tested without a disk.

use super::error::{self, MAX_PLAN_BYTES};
use super::story::{Options, Plan};
use camino::{Utf8Path, Utf8PathBuf};
use std::io::{self, Read};

/// A place where a plan may be, in order of preference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Candidate {
    /// One file.
    File(Utf8PathBuf),
    /// The plans of numbered folders, in any order: the lowest number with open stories is taken.
    Numbered(Vec<(u64, Utf8PathBuf)>),
}

/// Why there is no plan to work on.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// None of the files exists.
    #[error(
        "no plan found; `ralph-loop init` writes an example, and --plan names one (looked for {})",
        list(.looked_at)
    )]
    NotFound {
        /// Where it could have been.
        looked_at: Vec<Utf8PathBuf>,
    },
    /// The file is there and cannot be read from disk.
    #[error("cannot read the plan: {0}; check its permissions, or name another with --plan")]
    Io(#[from] io::Error),
    /// The file is there and is not a plan.
    #[error(transparent)]
    Plan(#[from] error::Error),
}

fn list(paths: &[Utf8PathBuf]) -> String {
    paths.iter().map(|path| path.as_str()).collect::<Vec<_>>().join(", ")
}

/// Chooses among `candidates`; `read` gives a file's bytes, or `None` where there is none.
///
/// A file that exists but cannot be read as a plan is an error, never passed over. If all numbered
/// plans are finished, the last one is the answer.
pub fn find(
    candidates: &[Candidate],
    options: &Options,
    read: impl Fn(&Utf8Path) -> io::Result<Option<Vec<u8>>>,
) -> Result<Plan, FindError> {
    let mut looked_at = Vec::new();
    for candidate in candidates {
        let mut paths = match candidate {
            Candidate::File(path) => vec![(0, path)],
            Candidate::Numbered(paths) => paths.iter().map(|(n, path)| (*n, path)).collect(),
        };
        paths.sort_by_key(|(number, _)| *number);
        let mut finished = None;
        for (_, path) in paths {
            looked_at.push(path.clone());
            let Some(bytes) = read(path)? else { continue };
            let plan = Plan::parse(path, bytes, options)?;
            if plan.counts().open > 0 {
                return Ok(plan);
            }
            finished = Some(plan);
        }
        if let Some(plan) = finished {
            return Ok(plan);
        }
    }
    Err(FindError::NotFound { looked_at })
}

/// All files that are looked at.
pub fn files(candidates: &[Candidate]) -> Vec<Utf8PathBuf> {
    let paths = candidates.iter().flat_map(|candidate| match candidate {
        Candidate::File(path) => vec![path.clone()],
        Candidate::Numbered(paths) => paths.iter().map(|(_, path)| path.clone()).collect(),
    });
    paths.collect()
}

/// The bytes of a file on disk, `None` where there is none; stops reading above the largest plan.
pub fn read_file(path: &Utf8Path) -> io::Result<Option<Vec<u8>>> {
    let metadata = match fs_err::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // A pipe would be waited for without end.
    if !metadata.is_file() {
        let message = format!("{path} is not a regular file");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let mut bytes = Vec::new();
    fs_err::File::open(path)?.take(MAX_PLAN_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Reads one plan from disk.
pub fn load(path: &Utf8Path, options: &Options) -> Result<Plan, FindError> {
    find(&[Candidate::File(path.to_owned())], options, read_file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(candidates: &[Candidate], disk: &[(&str, &str)], expected: &str) {
        let read = |path: &Utf8Path| {
            let file = disk.iter().find(|(name, _)| path == *name);
            Ok(file.map(|(_, text)| text.as_bytes().to_vec()))
        };
        let found = match find(candidates, &Options::default(), read) {
            Ok(plan) => plan.path().to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected);
    }

    fn numbered() -> Candidate {
        Candidate::Numbered(vec![(10, "P-10".into()), (2, "P-2".into()), (1, "P-1".into())])
    }

    #[test]
    fn the_first_file_that_exists_is_the_plan() {
        let two = [Candidate::File("a.md".into()), Candidate::File("b.md".into())];
        check(&two, &[("a.md", "- [ ] x"), ("b.md", "- [ ] x")], "a.md");
        check(&two, &[("b.md", "- [x] x")], "b.md");
    }

    #[test]
    fn the_lowest_number_with_open_stories_is_taken() {
        let disk = [("P-1", "- [x] x"), ("P-10", "- [ ] x"), ("P-2", "- [!] x")];
        check(&[numbered()], &disk, "P-10");
        check(&[numbered()], &[("P-1", "- [ ] x"), ("P-2", "- [ ] x")], "P-1");
        check(&[numbered()], &[("P-1", "- [x] x"), ("P-2", "- [x] x")], "P-2");
    }

    #[test]
    fn a_plan_that_cannot_be_read_is_not_passed_over() {
        let disk = [("P-1", ""), ("P-2", "- [ ] x")];
        let empty =
            "P-1: the plan is empty; write at least one story such as `- [ ] US-001: title`";
        check(&[numbered()], &disk, empty);
        check(
            &[Candidate::File("a.md".into()), numbered()],
            &[],
            "no plan found; `ralph-loop init` writes an example, and --plan names one (looked for \
             a.md, P-1, P-2, P-10)",
        );
    }

    #[test]
    fn files_are_read_from_disk() {
        let folder = Utf8PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        assert!(read_file(&folder.join("Cargo.toml")).unwrap().is_some());
        assert!(read_file(&folder.join("no-such-file")).unwrap().is_none());
        assert!(read_file(&folder).unwrap_err().to_string().contains("not a regular file"));
    }
}
