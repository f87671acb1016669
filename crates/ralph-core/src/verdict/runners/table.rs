//! The table of test runners: how each is started, and what is special about it.
//!
//! How a summary is read is said nowhere: the shapes in `output` are shared by all runners. See
//! `command/pattern.rs` for the notation in which a start is written.

use super::row::Row;
use crate::verdict::kind::Kind::{Errored, Failed, NoTests};

/// All rows; the first that matches is taken.
pub(super) const ROWS: &[Row] = &[
    // 2 stands for an interrupted run: a collection error, or Ctrl-C.
    Row::new("pytest", "pytest | py.test | python -m pytest | python -m py.test")
        .exits(&[(2, Errored), (3, Errored), (4, Errored), (5, NoTests)])
        .says(" in "),
    Row::new("unittest", "python -m unittest | unit2")
        .exits(&[(5, NoTests)])
        .says("Ran |OK|FAILED"),
    Row::new("ward", "ward | python -m ward").exits(&[(2, Errored), (3, NoTests)]),
    // 251 is the help text, 252 bad data or no test, 253 an interrupt, 255 an internal error.
    Row::new("robot", "robot | pybot | pabot | python -m robot | robot.run")
        .exits(&[(252, NoTests), (255, Errored)]),
    Row::new("jest", "jest | react-scripts test | craco test | jest-cli | tsdx test")
        .says("Tests:|Test Suites:"),
    Row::new("vitest", "vitest | vp test").says("Tests  |Test Files  "),
    Row::new("mocha", "mocha | _mocha | electron-mocha | mochapack | ts-mocha")
        .says("passing|failing|pending"),
    // 99: a threshold was crossed.
    Row::new("k6", "k6 run").exits(&[(99, Failed)]),
    // 4: no tests to run; 100: tests failed; 101: the build failed; 104: no list of tests.
    Row::new(
        "cargo nextest",
        "cargo nextest run | cargo nextest r | cargo nextest | cargo-nextest",
    )
    .exits(&[(4, NoTests), (100, Failed), (101, Errored), (104, Errored)])
    .says("Summary ["),
    Row::new(
        "cargo test",
        "cargo test | cargo t | cargo careful test | cargo miri test | cargo tarpaulin | \
         cargo llvm-cov | cross test | cargo insta test | cargo hack test | cargo kcov | \
         cargo wasi test | cargo watch ~test | cargo bench",
    )
    .one_summary_per_part()
    .says("test result:"),
    Row::new("cargo mutants", "cargo mutants").exits(&[(4, Errored)]),
    Row::new("ctest", "ctest").says("tests passed"),
    Row::new("meson test", "meson test").exits(&[(125, Errored)]),
    Row::new("bazel test", "bazel test | bazelisk test | bazel coverage | blaze test").exits(&[
        (1, Errored),
        (2, Errored),
        (3, Failed),
        (4, NoTests),
        (37, Errored),
    ]),
    Row::new("buck test", "buck test | buck2 test").exits(&[(32, Failed)]),
    Row::new(
        "maven",
        "mvn ~test | mvn verify | mvn install | mvn package | mvn deploy | mvn integration-test | \
         mvn surefire:test | mvn failsafe:verify | mvnd ~test | mvnd verify",
    )
    .ends_with_zero()
    .one_summary_per_part()
    .says("Tests run:"),
    Row::new(
        "gradle",
        "gradle ~test | gradle check | gradle build | gradle cleanTest | gradle connectedCheck | \
         gradle allTests",
    )
    .ends_with_zero()
    .one_summary_per_part()
    .says("tests completed"),
    Row::new(
        "dotnet test",
        "dotnet test | dotnet vstest | dotnet run ~tests | dotnet fake ~test | dotnet stryker",
    )
    .one_summary_per_part()
    .says("Passed|Failed|Total"),
    Row::new("rspec", "rspec | parallel_rspec | turbo_tests | rake spec | spring rspec | knapsack")
        .says("example"),
    Row::new("phpunit", "phpunit | paratest | simple-phpunit | phpunit.phar | php-phpunit")
        .exits(&[(255, Errored)])
        .says("Tests:|OK (|OK, "),
    Row::new("pest", "pest").exits(&[(255, Errored)]),
    Row::new(
        "mix test",
        "mix test | mix test.watch | mix coveralls | mix espec | mix do ~test | \
         mix white_bread.run",
    )
    .exits(&[(1, Errored)])
    .says("tests, |test, "),
    // A summary for each project, package or environment.
    Row::each(
        "cabal new-test | cabal run ~test | cabal test | cabal v2-test | fastlane scan | \
         fastlane ~test | lerna run ~test | nox | nx affected -t ~test | nx affected:test | \
         nx e2e | nx run ~test | nx run-many -t ~test | nx test | playwright test | \
         playwright-ct test | python -m nox | python -m tox | sbt testOnly | sbt testQuick | \
         sbt ~test | swift test | tox | tox run | turbo run ~test | turbo ~test | \
         xcodebuild ~test | xcrun xctest | xctest | xctool ~test",
    )
    .one_summary_per_part(),
    // They may end with 0 although tests failed.
    Row::each(
        "Invoke-Pester | R *RUnit | R *devtools::test | R *testthat | R *tinytest | R CMD check | \
         Rscript *RUnit | Rscript *devtools::check | Rscript *devtools::test | Rscript *rcmdcheck \
         | Rscript *testthat | Rscript *tinytest | ant ~test | bb ~test | ccl ~test | \
         chibi-scheme ~test | clisp ~test | clj *test | clojure *run-tests | clojure *test | \
         csi ~test | ecl ~test | erl *eunit | erl *eunit:test | escript *eunit | gosh ~test | \
         guile ~test | matlab *assertSuccess | matlab *runTests | matlab *runtests | \
         octave *runtests | octave *test | octave-cli *test | powershell *Invoke-Pester | \
         pwsh *Invoke-Pester | racket *rackunit | racket ~test | ros ~test | rove | sbcl *fiveam \
         | sbcl *parachute | sbcl *rove | sbcl *test-system | sbcl ~test | scheme ~test | \
         swipl *run_tests | swipl ~test | tclsh ~all | tclsh ~test | wish ~test | \
         wolframscript *TestReport",
    )
    .ends_with_zero(),
    // All the others, by name.
    Row::each(
        "alr test | amper test | anchor test | ansible-test | ape test | aptos move test | \
         artillery run | artisan dusk | artisan test | ast-grep test | atoum | ava | avocado run \
         | backstop test | bacon | bash_unit | bashunit | bats | behat | behave | behavex | \
         bld test | bleep test | bloop test | borp | brittle | brittle-bare | brittle-node | \
         brownie test | bru run | Build test | bun test | busted | buttercup | cargo fuzz run | \
         cask exec ert-runner | ceedling test:all | ceedling ~test | cfn-guard test | \
         chainsaw test | cmake --target =check | cmake --target ~test | cmake -t ~test | \
         clj *kaocha | clojure *kaocha | cocotb-test | codecept | codecept run | codeceptjs run | \
         codeceptjs run-multiple | conan test | conftest test | conftest verify | \
         container-structure-test test | cpanm --test-only | cram | crystal spec | ct install | \
         ct_run | cucumber | cucumber-js | cucumberjs | cypress run | cypress-parallel | \
         dagger call ~test | dart run test | dart test | dbt build | dbt test | deno task ~test | \
         deno test | detox test | dgoss run | django-admin test | dmd -unittest | doctest | \
         dotnet watch ~test | dredd | dub test | dune build @runtest | dune build @test | \
         dune exec ~test | dune runtest | dune test | dzil test | earthly ~test | eask test | \
         eldev test | elm-test | elm-test-rs | emacs *buttercup | emacs *ert-run-tests | \
         ember test | ert-runner | fishtape | flutter drive | flutter test | forge coverage | \
         forge t | forge test | fpm test | fusesoc run ~sim | gatling | gator test | gator verify \
         | gdc -funittest | ginkgo | ginkgo run | gleam test | gnattest | go test | godog | \
         godog run | godot *GdUnit | godot *gut_cmdln | godot4 *GdUnit | godot4 *gut_cmdln | \
         goss v | goss validate | gotest | gotestsum | green | groovy ~spec | groovy ~test | \
         hardhat coverage | hardhat test | hatch run ~test | hatch test | helm test | \
         helm unittest | hspec | httpyac | hurl --test | infection | inspec exec | japa | jasmine \
         | jasmine-browser-runner | jasmine-ts | java *junit-platform-console | java *karate | \
         java =junit.textui.TestRunner | java =org.junit.platform.console.ConsoleLauncher | \
         java =org.junit.runner.JUnitCore | java =org.scalatest.tools.Runner | \
         java =org.testng.TestNG | julia *Pkg.test | julia *Pkg; Pkg.test | julia *ReTest | \
         julia *runtests | julia *TestItemRunner | kahlan | kaocha | karate | karma run | \
         karma start | kitchen test | kitchen verify | kubectl kuttl test | kubectl-kuttl test | \
         kuttl test | kyua test | kyverno test | lab | lake exe ~test | lake test | \
         ldc2 -unittest | lein eftest | lein kaocha | lein midje | lein test | lein ~test | \
         lhci autorun | lit | lit.py | llvm-lit | lua *luaunit | maestro test | mamba ~spec | \
         manage.py behave | manage.py test | melos run ~test | melos ~test | meteor test | \
         mill __.test | mill ~test | minil test | minitest | mocha-parallel-tests | molecule test \
         | molecule verify | moon test | mspec | mstest | mutmut run | newman run | ng e2e | \
         ng test | nightwatch | nimble test | nix flake check | node --test | node --test-only | \
         nose2 | nosetests | nunit-console | nunit3-console | nvim *MiniTest | nvim *Plenary | \
         nvim *PlenaryBusted | nvim *Vader | odin test | opa test | ospec | ostestr | pa11y-ci | \
         pact-verifier | pants test | parallel_cucumber | parallel_test | patrol test | pdk test \
         | peridot | perl *Build test | perl *prove | perl6 ~test | pg_prove | php *run-tests.php \
         | phpspec | phpspec r | phpspec run | pio test | platformio test | please test | \
         plz test | poku | postman collection run | promtool test | protractor | prove | prove6 | \
         ptw | pub run test | pulp test | pytest-parallel | pytest-watch | python -m behave | \
         python -m django test | python -m doctest | python -m green | python -m nose | \
         python -m nose2 | python -m subunit.run | python -m testtools.run | \
         python -m twisted.trial | python -m xdoctest | python -m zope.testrunner | qunit | \
         raco test | rails spec | rails test | rails test:all | rails test:system | rake cucumber \
         | rake test | rake test:all | raku ~test | rdmd -unittest | rebar3 cover | rebar3 ct | \
         rebar3 do ~eunit | rebar3 eunit | rebar3 lfe test | rebar3 proper | regal test | \
         richgo test | riteway | roc test | ruby *minitest | ruby *test/unit | ruby -Ilib:test | \
         ruby -Itest | run-tests.php | runghc ~spec | runghc ~test | runhaskell ~spec | \
         runhaskell ~test | runtest | runtest.sh | sail dusk | sail pest | sail phpunit | \
         sail test | scala *scalatest | scala test | scala-cli test | scarb test | \
         schemathesis run | semgrep --test | semgrep test | sf apex run test | sg test | sharness \
         | shellspec | shpec | shunit2 | snforge test | spago test | specmatic test | spring test \
         | sqlfluff test | sqlmesh test | st run | stack build --test | stack test | step-ci | \
         stepci run | stestr last | stestr run | stryker run | sui move test | sus | tap | \
         tap run | tape | tavern-ci | terraform test | terragrunt test | test-storybook | \
         test-unit | testament | testcafe | testem ci | tester | testng | testr run | themis | \
         tofu test | tree-sitter test | trial | truffle test | tsd | tstyche | tsx --test | \
         tuist test | twister | Unity -runTests | unity-editor -runTests | Unity.exe -runTests | \
         utplsql run | uvu | v -stats test | v test | varnishtest | venom run | very_good test | \
         vim *Vader | vim-themis | vscode-test | vstest.console | vstest.console.exe | vunit | \
         wasm-pack test | wdio | wdio run | web-test-runner | west twister | wtr | xdoctest | \
         xmake test | xunit.console | xunit.console.exe | yath | yath test | zef test | \
         zig build ~test | zig test | zope-testrunner | zora | zunit",
    ),
];
