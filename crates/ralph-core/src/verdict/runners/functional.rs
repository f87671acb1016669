//! Runners for Haskell, OCaml, Erlang, Elixir, Gleam, Lisps, Prolog, R, Julia and Octave.

use super::super::kind::Kind::Errored;
use super::Runner;

pub(super) const ROWS: &[Runner] = &[
    Runner::new(
        "mix test",
        &[
            "mix test",
            "mix test.watch",
            "mix coveralls",
            "mix espec",
            "mix do ~test",
            "mix white_bread.run",
        ],
    )
    .exits(&[(1, Errored)]),
    Runner::new(
        "rebar3",
        &[
            "rebar3 eunit",
            "rebar3 ct",
            "rebar3 proper",
            "rebar3 cover",
            "rebar3 lfe test",
            "rebar3 do ~eunit",
        ],
    ),
    Runner::new("eunit", &["erl *eunit:test", "erl *eunit", "escript *eunit"]).exit_is_silent(),
    Runner::new("common_test", &["ct_run"]),
    Runner::new("gleam test", &["gleam test"]),
    Runner::new("stack test", &["stack test", "stack build --test"]),
    Runner::new(
        "cabal test",
        &["cabal test", "cabal v2-test", "cabal new-test", "cabal run ~test"],
    )
    .one_summary_per_part(),
    Runner::new(
        "hspec",
        &["hspec", "runghc ~spec", "runhaskell ~spec", "runghc ~test", "runhaskell ~test"],
    ),
    Runner::new("haskell doctest", &["doctest"]),
    Runner::new(
        "dune test",
        &[
            "dune test",
            "dune runtest",
            "dune build @runtest",
            "dune build @test",
            "dune exec ~test",
        ],
    ),
    Runner::new("esy test", &["esy test", "rescript test"]),
    Runner::new("raco test", &["raco test"]),
    Runner::new("rackunit", &["racket ~test", "racket *rackunit"]).exit_is_silent(),
    Runner::new(
        "scheme test",
        &["guile ~test", "csi ~test", "gosh ~test", "chibi-scheme ~test", "scheme ~test"],
    )
    .exit_is_silent(),
    Runner::new(
        "ert",
        &["emacs *ert-run-tests", "eask test", "cask exec ert-runner", "ert-runner"],
    ),
    Runner::new("buttercup", &["buttercup", "emacs *buttercup"]),
    Runner::new("eldev test", &["eldev test"]),
    Runner::new("ecukes", &["ecukes"]),
    Runner::new(
        "lisp test",
        &[
            "sbcl ~test",
            "sbcl *test-system",
            "sbcl *fiveam",
            "sbcl *rove",
            "sbcl *parachute",
            "ros ~test",
            "rove",
            "ccl ~test",
            "clisp ~test",
            "ecl ~test",
        ],
    )
    .exit_is_silent(),
    Runner::new("plunit", &["swipl *run_tests", "swipl ~test"]).exit_is_silent(),
    Runner::new(
        "testthat",
        &[
            "Rscript *testthat",
            "R *testthat",
            "Rscript *devtools::test",
            "R *devtools::test",
            "R CMD check",
            "Rscript *devtools::check",
            "Rscript *rcmdcheck",
        ],
    )
    .exit_is_silent(),
    Runner::new("tinytest", &["Rscript *tinytest", "R *tinytest", "Rscript *RUnit", "R *RUnit"])
        .exit_is_silent(),
    Runner::new(
        "julia Pkg.test",
        &[
            "julia *Pkg.test",
            "julia *runtests",
            "julia *ReTest",
            "julia *TestItemRunner",
            "julia *Pkg; Pkg.test",
        ],
    ),
    Runner::new("octave", &["octave *test", "octave-cli *test", "octave *runtests"])
        .exit_is_silent(),
    Runner::new("matlab", &["matlab *runtests", "matlab *runTests", "matlab *assertSuccess"])
        .exit_is_silent(),
    Runner::new("wolframscript", &["wolframscript *TestReport"]).exit_is_silent(),
    Runner::new("roc test", &["roc test"]),
    Runner::new("koka", &["koka ~test"]),
    Runner::new("idris2", &["idris2 ~test"]),
    Runner::new("unison", &["unison ~test"]),
    Runner::new("lake test", &["lake test", "lake exe ~test"]),
    Runner::new("lune", &["lune run ~test"]),
];
