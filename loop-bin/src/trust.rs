//! Who can write what we obey: a plan, settings or a script that another user may change makes the
//! agent do that user's work.

use std::os::unix::fs::MetadataExt;

use camino::Utf8Path;
use nix::unistd::geteuid;
use ralph_base::state::StateDir;

/// Anybody may write.
const BY_ALL: u32 = 0o002;

/// What a user should know about the plan, the settings, the template and the lifecycle scripts.
pub(crate) fn doubts(state: &StateDir, plan: &Utf8Path) -> Vec<String> {
    let scripts = state.lifecycle().read_dir_utf8().into_iter().flatten().flatten();
    let mut paths = vec![plan.to_owned(), StateDir::prompt_beside(plan), state.config()];
    paths.push(StateDir::review_prompt_beside(plan));
    paths.extend(scripts.map(|script| script.into_path()));
    paths.iter().filter_map(|path| doubt(path, geteuid().as_raw())).collect()
}

fn doubt(path: &Utf8Path, us: u32) -> Option<String> {
    let metadata = fs_err::metadata(path).ok()?;
    if metadata.mode() & BY_ALL != 0 {
        return Some(format!("{path} is writable by everyone; run `chmod o-w {path}`"));
    }
    let owner = metadata.uid();
    // What belongs to root can be changed by root alone, who can do anything anyway.
    (owner != us && owner != 0)
        .then(|| format!("{path} belongs to another user (uid {owner}), who can change it"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use test_support::Scratch;

    use super::*;

    #[test]
    fn what_others_can_write_is_told() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        let plan = scratch.file(".ralph/PRD-1/plan.md", "- [ ] A-1: a\n");
        let config = scratch.file(".ralph/config.toml", "");
        let script = scratch.script(".ralph/hooks/started", "#!/bin/sh\n");
        for path in [&plan, &config] {
            fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o664)).unwrap();
        }
        assert_eq!(doubts(&state, &plan), [""; 0]);
        for path in [&plan, &config, &script] {
            fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o666)).unwrap();
        }
        let told = doubts(&state, &plan);
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[0].contains("chmod o-w") && told[0].contains("plan.md"), "{told:?}");
    }

    #[test]
    fn what_belongs_to_others_is_told() {
        let scratch = Scratch::new();
        let path = scratch.file("plan.md", "");
        let owner = fs_err::metadata(&path).unwrap().uid();
        assert_eq!(doubt(&path, owner), None);
        let told = doubt(&path, owner + 1);
        assert_eq!(told.is_some(), owner != 0, "{told:?}");
    }
}
