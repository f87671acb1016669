//! Runners for shells, Lua, Tcl, Dart, editors and game engines.

use super::Runner;

pub(super) const ROWS: &[Runner] = &[
    Runner::new("bats", &["bats"]),
    Runner::new("shellspec", &["shellspec"]),
    Runner::new("shunit2", &["shunit2"]),
    Runner::new(
        "bashunit",
        &["bashunit", "bash_unit", "roundup", "clitest", "cram", "urchin", "sharness"],
    ),
    Runner::new("pester", &["pwsh *Invoke-Pester", "powershell *Invoke-Pester", "Invoke-Pester"])
        .exit_is_silent(),
    Runner::new("fishtape", &["fishtape", "littlecheck"]),
    Runner::new("busted", &["busted", "love ~test", "lust", "vusted", "nlua"]),
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
    Runner::new(
        "vader",
        &[
            "vim *Vader",
            "nvim *Vader",
            "nvim *Plenary",
            "nvim *MiniTest",
            "themis",
            "vim-themis",
            "nvim *PlenaryBusted",
        ],
    ),
    Runner::new(
        "gut",
        &["godot *gut_cmdln", "godot *GdUnit", "godot4 *gut_cmdln", "godot4 *GdUnit", "runtest.sh"],
    ),
    Runner::new(
        "unity editor",
        &["Unity -runTests", "unity-editor -runTests", "Unity.exe -runTests"],
    ),
    Runner::new("smalltalk test", &["gst ~test", "pike ~test"]),
];
