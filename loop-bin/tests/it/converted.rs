//! Uncommitted work in files that git converts: on disk they are not what a commit holds.

use crate::stage::Stage;

const ONE: &str = "- [ ] US-001: First\n";

/// A repository in which git converts every file but `a.txt`, in one way each.
fn converting() -> Stage {
    let stage = Stage::new("works", ONE);
    let attributes = "*.bat text eol=crlf\n*.ini text=auto\n*.id ident\n*.u16 text working-tree-encoding=UTF-16\n*.rot filter=rot\n";
    stage.repo.write(".gitattributes", attributes);
    for (key, value) in [
        ("core.autocrlf", "true"),
        ("filter.rot.clean", "tr a-z n-za-m"),
        ("filter.rot.smudge", "tr n-za-m a-z"),
    ] {
        stage.repo.git(["config", key, value]);
    }
    stage.repo.write("w.bat", "one\r\n2\r\n3\r\n4\r\n5\r\nlast\r\n");
    stage.repo.write("auto.ini", "one\r\ntwo\r\n");
    stage.repo.write("x.id", "$Id$\nold\n");
    stage.repo.write("x.u16", utf16("old\n"));
    stage.repo.write("x.rot", "old secret\n");
    stage.repo.commit_all("converted files");
    stage
}

fn utf16(text: &str) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    units.flat_map(u16::to_le_bytes).collect()
}

#[test]
fn files_that_git_converts_come_back_byte_for_byte() {
    let stage = converting();
    let mine: [(&str, Vec<u8>); 5] = [
        ("w.bat", b"mine\r\n2\r\n3\r\n4\r\n5\r\nlast\r\n".to_vec()),
        ("auto.ini", b"one\r\nmine\r\n".to_vec()),
        ("x.id", b"$Id$\nmine\n".to_vec()),
        ("x.u16", utf16("mine\n")),
        ("x.rot", b"my secret\n".to_vec()),
    ];
    for (name, content) in &mine {
        stage.repo.write(name, content);
    }
    let ran = stage.run(&["--allow-dirty", "--agent", "echo done >done.txt"]);
    ran.ended(0).says("uncommitted work is back: 5 files");
    for (name, content) in mine {
        let now = fs_err::read(stage.repo.root().join(name)).unwrap();
        assert_eq!(now, content, "{name}");
    }
}

#[test]
fn a_converted_file_that_both_changed_is_merged_as_it_is_on_disk() {
    let stage = converting();
    stage.repo.write("w.bat", "mine\r\n2\r\n3\r\n4\r\n5\r\nlast\r\n");
    let agent = "sed -i 's/^last/agent/' w.bat";
    stage.run(&["--allow-dirty", "--agent", agent]).ended(0).says("work is back: 1 file");
    assert_eq!(stage.read("w.bat"), "mine\r\n2\r\n3\r\n4\r\n5\r\nagent\r\n");
    assert_eq!(stage.repo.git(["show", "HEAD:w.bat"]), "one\n2\n3\n4\n5\nagent\n");
}
