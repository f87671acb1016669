//! Runners for Rust, Go, C, C++, Swift, Zig, D, Nim, V, Crystal, Fortran, Ada and contracts.

use super::super::kind::Kind::{Errored, Failed, NoTests};
use super::Runner;

pub(super) const ROWS: &[Runner] = &[
    // 4: no tests to run; 100: tests failed; 101: the build failed; 104: no list of tests.
    Runner::new(
        "cargo nextest",
        &["cargo nextest run", "cargo nextest r", "cargo nextest", "cargo-nextest"],
    )
    .exits(&[(4, NoTests), (100, Failed), (101, Errored), (104, Errored)]),
    Runner::new(
        "cargo test",
        &[
            "cargo test",
            "cargo t",
            "cargo careful test",
            "cargo miri test",
            "cargo tarpaulin",
            "cargo llvm-cov",
            "cross test",
            "cargo insta test",
            "cargo hack test",
            "cargo kcov",
            "cargo wasi test",
            "cargo watch ~test",
        ],
    )
    .one_summary_per_part(),
    Runner::new("cargo mutants", &["cargo mutants"]).exits(&[(4, Errored)]),
    Runner::new("wasm-pack test", &["wasm-pack test"]),
    Runner::new("go test", &["go test", "richgo test"]),
    Runner::new("gotestsum", &["gotestsum"]),
    Runner::new("ginkgo", &["ginkgo", "ginkgo run"]),
    Runner::new("godog", &["godog", "godog run"]),
    Runner::new("ctest", &["ctest"]),
    Runner::new("meson test", &["meson test"]).exits(&[(125, Errored)]),
    Runner::new("ceedling", &["ceedling test:all", "ceedling ~test"]),
    Runner::new("kyua", &["kyua test"]),
    Runner::new("dejagnu", &["runtest"]),
    Runner::new("lit", &["lit", "llvm-lit", "lit.py"]),
    Runner::new("bazel test", &["bazel test", "bazelisk test", "bazel coverage", "blaze test"])
        .exits(&[(1, Errored), (2, Errored), (3, Failed), (4, NoTests), (37, Errored)]),
    Runner::new("buck test", &["buck test", "buck2 test"]).exits(&[(32, Failed)]),
    Runner::new("pants test", &["pants test"]),
    Runner::new("please test", &["please test"]),
    Runner::new("please", &["plz test"]),
    Runner::new("xmake test", &["xmake test"]),
    Runner::new("swift test", &["swift test"]).one_summary_per_part(),
    Runner::new(
        "xcodebuild",
        &[
            "xcodebuild ~test",
            "xctest",
            "xcrun xctest",
            "fastlane ~test",
            "fastlane scan",
            "xctool ~test",
        ],
    )
    .one_summary_per_part(),
    Runner::new("zig test", &["zig test", "zig build ~test"]),
    Runner::new("dub test", &["dub test"]),
    Runner::new("testament", &["testament", "nimble test"]),
    Runner::new("v test", &["v test", "v -stats test"]),
    Runner::new("crystal spec", &["crystal spec"]),
    Runner::new("fpm test", &["fpm test"]),
    Runner::new("alr test", &["alr test", "gnattest"]),
    Runner::new("forge test", &["forge test", "forge t", "forge coverage"]),
    Runner::new("anchor test", &["anchor test"]),
    Runner::new("aptos", &["aptos move test"]),
    Runner::new("sui", &["sui move test"]),
    Runner::new("move test", &["move test"]),
    Runner::new("ape test", &["ape test"]),
    Runner::new("brownie test", &["brownie test"]),
    Runner::new("scarb test", &["scarb test"]),
    Runner::new("snforge test", &["snforge test"]),
    Runner::new("wake", &["wake test"]),
    Runner::new("conan test", &["conan test"]),
    Runner::new("platformio test", &["pio test", "platformio test"]),
    Runner::new("west test", &["twister", "west twister"]),
    Runner::new("vunit", &["vunit"]),
    Runner::new("odin test", &["odin test"]),
    Runner::new("moon test", &["moon test"]),
];
