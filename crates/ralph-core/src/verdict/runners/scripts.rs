//! Runners for shells, Lua, Tcl, Dart, editors and game engines.

use super::Runner;

pub(super) const ROWS: &[Runner] = &[
    Runner::new("bats", &["bats"]),
    Runner::new("shellspec", &["shellspec"]),
    Runner::new("shunit2", &["shunit2"]),
    Runner::new("bashunit", &["bashunit"]),
    Runner::new("bash_unit", &["bash_unit"]),
    Runner::new("roundup", &["roundup"]),
    Runner::new("clitest", &["clitest"]),
    Runner::new("cram", &["cram"]),
    Runner::new("urchin", &["urchin"]),
    Runner::new("sharness", &["sharness"]),
    Runner::new("pester", &["pwsh *Invoke-Pester", "powershell *Invoke-Pester", "Invoke-Pester"])
        .exit_is_silent(),
    Runner::new("fishtape", &["fishtape"]),
    Runner::new("littlecheck", &["littlecheck"]),
    Runner::new("busted", &["busted", "love ~test", "nlua"]),
    Runner::new("lust", &["lust"]),
    Runner::new("vusted", &["vusted"]),
    Runner::new("luaunit", &["lua *luaunit"]),
    Runner::new("tcltest", &["tclsh ~test", "tclsh ~all", "wish ~test"]).exit_is_silent(),
    Runner::new("flutter test", &["flutter test", "flutter drive", "patrol test"]),
    Runner::new(
        "dart test",
        &[
            "dart test",
            "dart run test",
            "pub run test",
            "very_good test",
            "melos run ~test",
            "melos ~test",
        ],
    ),
    Runner::new("vader", &["vim *Vader"]),
    Runner::new(
        "plenary",
        &["nvim *Vader", "nvim *Plenary", "nvim *MiniTest", "nvim *PlenaryBusted"],
    ),
    Runner::new("themis", &["themis", "vim-themis"]),
    Runner::new(
        "gut",
        &["godot *gut_cmdln", "godot *GdUnit", "godot4 *gut_cmdln", "godot4 *GdUnit", "runtest.sh"],
    ),
    Runner::new(
        "unity editor",
        &["Unity -runTests", "unity-editor -runTests", "Unity.exe -runTests"],
    ),
    Runner::new("gst", &["gst ~test"]),
    Runner::new("pike", &["pike ~test"]),
];
