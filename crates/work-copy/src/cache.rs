//! The folder in which the copies of a project are kept, and their size.

use std::fs::{DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};

use camino::{Utf8Path, Utf8PathBuf};
use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};
use ralph_base::env::Env;
use ralph_base::state::{self, fingerprint};
use ralph_project::config::Config;

use ralph_project::failure::Failure;

/// Returns the folder for the copies of the project at `top`: `<name>-<hash>` in the cache folder.
pub fn folder(env: &Env, config: &Config, top: &Utf8Path) -> Result<Utf8PathBuf, Failure> {
    let base = match config.workspace.folder.as_str() {
        "" => of_user(env).ok_or_else(|| {
            Failure::because(
                "no folder for the copy: neither XDG_CACHE_HOME nor HOME is set; set one, or \
                 specify a folder with --workspace-folder",
            )
        })?,
        folder => top.join(folder),
    };
    let folder = base.join(name_of(top));
    let existing = existing(&base);
    let real = existing.canonicalize_utf8().unwrap_or_else(|_| existing.to_owned());
    if real.starts_with(top) {
        return Err(Failure::because(format!(
            "{base} is inside the project, so the copy would contain itself; specify another \
             folder with --workspace-folder"
        )));
    }
    Ok(folder)
}

/// Returns our folder in the user's cache folder.
pub fn of_user(env: &Env) -> Option<Utf8PathBuf> {
    Some(home_of(env, "XDG_CACHE_HOME", ".cache")?.join("ralph"))
}

/// Returns the file that names the project of these copies: where no attempt can write.
pub(crate) fn record(env: &Env, copies: &Utf8Path) -> Option<Utf8PathBuf> {
    let real = copies.canonicalize_utf8().unwrap_or_else(|_| copies.to_owned());
    let name = format!("{:016x}", fingerprint(real.as_str().as_bytes()));
    Some(of_user(env)?.join("copies").join(name))
}

/// Returns the project of the copy that contains a folder; `None` if it is in no copy. What the
/// copy itself says of its project may be an agent's.
pub fn project_of(env: &Env, folder: &Utf8Path) -> Result<Option<Utf8PathBuf>, Failure> {
    let mut above: Vec<&Utf8Path> = folder.ancestors().collect();
    above.reverse();
    let project = |folder: &&Utf8Path| state::read_text(record(env, folder)?).ok();
    if let Some(project) = above.iter().find_map(project) {
        return Ok(Some(project.into()));
    }
    match of_user(env).filter(|cache| folder.starts_with(cache)) {
        Some(_) => Err(Failure::because(format!(
            "{folder} is in a copy whose project is not known; start `ralph-loop` in the project \
             once, or run this command there"
        ))),
        None => Ok(None),
    }
}

/// Returns the part of a path that already exists.
pub fn existing(folder: &Utf8Path) -> &Utf8Path {
    folder.ancestors().find(|folder| folder.exists()).unwrap_or(folder)
}

/// Returns why a copy cannot be created here, as far as that is known without writing.
pub fn refused_folder(top: &Utf8Path) -> Option<Failure> {
    let copies = top.parent().unwrap_or(top);
    if copies.symlink_metadata().is_ok_and(|found| !is_ours(&found)) {
        return make_private(copies).err();
    }
    let folder = existing(top);
    let asked = access(folder.as_std_path(), AccessFlags::W_OK | AccessFlags::X_OK);
    let writable = if folder.is_dir() { asked } else { Err(Errno::ENOTDIR) };
    writable.err().map(|error| not_made(folder, &error.into()))
}

/// Whether something is a folder of this user.
pub(super) fn is_ours(found: &Metadata) -> bool {
    found.is_dir() && found.uid() == nix::unistd::getuid().as_raw()
}

/// Creates a folder that only this user can enter, or closes it to others.
pub fn make_private(folder: &Utf8Path) -> Result<(), Failure> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).or_else(|error| {
        if folder.symlink_metadata().is_ok() { Ok(()) } else { Err(not_made(folder, &error)) }
    })?;
    let found = fs_err::symlink_metadata(folder)?;
    if !is_ours(&found) {
        return Err(Failure::because(format!(
            "{folder} belongs to another user, who could read and change what is in it; remove it, or \
             specify another folder with --workspace-folder"
        )));
    }
    if found.permissions().mode() & 0o077 != 0 {
        fs_err::set_permissions(folder, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Describes why the copy cannot be created.
pub(super) fn not_made(folder: &Utf8Path, error: &io::Error) -> Failure {
    Failure::because(format!(
        "cannot create the copy in {folder}: {error}; free up space, specify another folder with \
         --workspace-folder, or let the agent work in the project with --in-place"
    ))
}

/// Returns the folder outside the project for records about the project at `top`.
pub fn state_folder(env: &Env, top: &Utf8Path) -> Option<Utf8PathBuf> {
    let base = home_of(env, "XDG_STATE_HOME", ".local/state")?;
    Some(base.join("ralph").join(name_of(top)))
}

/// Returns a name that is unique to the project at `top`.
pub fn name_of(top: &Utf8Path) -> String {
    let name = top.file_name().unwrap_or("project");
    format!("{name}-{:08x}", fingerprint(top.as_str().as_bytes()) as u32)
}

fn home_of(env: &Env, variable: &str, below_home: &str) -> Option<Utf8PathBuf> {
    let set = env.get(variable).map(Utf8PathBuf::from).filter(|path| path.is_absolute());
    set.or_else(|| env.home().map(|home| home.join(below_home)))
}

/// Returns the disk usage of a folder in bytes; a file with several hard links counts once, even if
/// others are outside the folder.
pub fn size_of(folder: &Utf8Path) -> u64 {
    let mut seen = std::collections::BTreeSet::new();
    let mut folders = vec![folder.to_owned().into_std_path_buf()];
    let mut bytes = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs_err::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                folders.push(entry.path());
            } else if metadata.nlink() < 2 || seen.insert((metadata.dev(), metadata.ino())) {
                bytes += metadata.blocks() * 512;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_folder_is_unique_to_the_project_path() {
        let env = Env::of([("XDG_CACHE_HOME", "/cache"), ("HOME", "/home/dev")]);
        let found = folder(&env, &Config::default(), "/srv/app".into()).unwrap();
        assert!(found.as_str().starts_with("/cache/ralph/app-"), "{found}");
        let other = folder(&env, &Config::default(), "/srv/other/app".into()).unwrap();
        assert_ne!(found, other);
        let home = Env::of([("HOME", "/home/dev")]);
        let found = folder(&home, &Config::default(), "/srv/app".into()).unwrap();
        assert!(found.as_str().starts_with("/home/dev/.cache/ralph/app-"), "{found}");
        let none = Env::of([("", "")]);
        assert!(folder(&none, &Config::default(), "/srv/app".into()).is_err());
    }

    #[test]
    fn a_cache_inside_the_project_is_refused_by_its_real_path() {
        let scratch = test_support::Scratch::new();
        scratch.file("app/plan.md", "");
        let top = scratch.path("app").canonicalize_utf8().unwrap();
        for (home, is_refused) in [("app/../home", false), ("app/..", false), ("app", true)] {
            let env = Env::of([("HOME", scratch.path(home).as_str())]);
            assert_eq!(folder(&env, &Config::default(), &top).is_err(), is_refused, "{home}");
        }
    }
}
