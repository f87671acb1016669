//! Files that other processes replace while an attempt runs.

use test_support::until;

use super::world::{Side, World, text};

#[test]
fn git_works_after_the_user_replaces_its_config_file() {
    let mut world = World::new();
    world.scratch.file("home/.gitconfig", "[user]\nname = first\n");
    world.found.git_settings = "[user]\nname = first\n".to_owned();
    let script = "git config user.name; touch ready; until [ -e go ]; do sleep 0.02; done; \
                  git config user.name; git status; git config --global user.name agent";
    let child = world.shell(Side::Inside, script).spawn().unwrap();
    until("the first half", || world.path("copies/own/ready").exists());
    let replaced = world.scratch.file("home/new", "[user]\nname = second\n");
    fs_err::rename(replaced, world.path("home/.gitconfig")).unwrap();
    world.scratch.file("copies/own/go", "");
    let output = child.wait_with_output().unwrap();
    let said = text(&output);
    assert!(said.starts_with("first\nfirst\n"), "{said}");
    assert!(!said.contains("Permission denied"), "{said}");
    assert_eq!(world.scratch.read("home/.gitconfig"), "[user]\nname = second\n");
    // What an attempt set is gone when the next program starts.
    assert_eq!(text(&world.run(Side::Inside, "git config user.name")), "first\n");
}

#[test]
fn a_link_in_the_state_folder_is_not_followed() {
    let world = World::new();
    let target = world.path("project/.git/config");
    std::os::unix::fs::symlink(&target, world.path("state/gitconfig")).unwrap();
    let before = world.protected();
    world.run(Side::Inside, "git config --global user.name agent");
    assert_eq!(world.protected(), before);
}

#[test]
fn a_link_in_the_place_of_a_file_that_was_looked_up_is_not_followed() {
    let world = World::new();
    let (file, mut policy) = (world.path("home/.bashrc"), world.policy());
    let secrets = [policy.hide.clone(), policy.judged.clone()].concat();
    policy.write.retain(|folder| !secrets.iter().any(|path| path.starts_with(folder)));
    let policy = policy.looked_up();
    assert!(!policy.readable.is_empty());
    fs_err::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(world.path("home/.ssh/id_ed25519"), &file).unwrap();
    let mut shell = world.shell_with(&policy, Side::Inside, "cat \"$HOME/.bashrc\"");
    assert!(!shell.output().unwrap().status.success());
}
