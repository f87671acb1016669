//! Files that other processes replace while an attempt runs.

use test_support::until;

use super::world::{Side, World, text};

#[test]
fn git_works_after_the_user_replaces_its_config_file() {
    let world = World::new();
    world
        .scratch
        .file("home/.gitconfig", "[user]\nname = first\n[include]\npath = .gitconfig-work\n");
    world.scratch.file("home/.gitconfig-work", "[user]\nemail = work\n");
    world.scratch.file("home/.config/git/config", "[alias]\nci = commit\n");
    let script = "git config user.name; git config user.email; git config alias.ci; touch ready; \
                  until [ -e go ]; do sleep 0.02; done; git config user.name; git status; \
                  git config --global user.name agent";
    let child = world.shell(Side::Inside, script).spawn().unwrap();
    until("the first half", || world.path("copies/own/ready").exists());
    let replaced = world.scratch.file("home/new", "[user]\nname = second\n");
    fs_err::rename(replaced, world.path("home/.gitconfig")).unwrap();
    world.scratch.file("copies/own/go", "");
    let output = child.wait_with_output().unwrap();
    let said = text(&output);
    assert!(said.starts_with("first\nwork\ncommit\nfirst\n"), "{said}");
    assert!(!said.contains("Permission denied"), "{said}");
    assert_eq!(world.scratch.read("home/.gitconfig"), "[user]\nname = second\n");
    let said = text(&world.run(Side::Inside, "git config user.name"));
    assert_eq!(said, "second\n");
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
