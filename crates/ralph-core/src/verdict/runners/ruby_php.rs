//! Runners for Ruby, PHP and Perl.

use super::super::kind::Kind::Errored;
use super::Runner;

pub(super) const ROWS: &[Runner] = &[
    Runner::new(
        "rspec",
        &["rspec", "parallel_rspec", "turbo_tests", "rake spec", "spring rspec", "knapsack"],
    ),
    Runner::new(
        "rails test",
        &[
            "rails test",
            "rails test:system",
            "rails test:all",
            "rails spec",
            "rake test",
            "rake test:all",
            "parallel_test",
            "spring test",
        ],
    ),
    Runner::new(
        "minitest",
        &["minitest", "ruby *minitest", "ruby -Itest", "ruby -Ilib:test", "mtest"],
    ),
    Runner::new("test-unit", &["test-unit", "testrb", "ruby *test/unit"]),
    Runner::new(
        "cucumber",
        &["cucumber", "rake cucumber", "spinach", "turnip", "parallel_cucumber"],
    ),
    Runner::new("bacon", &["bacon"]),
    Runner::new("cutest", &["cutest"]),
    Runner::new("sus", &["sus"]),
    Runner::new("dfect", &["dfect"]),
    Runner::new("mspec", &["mspec"]),
    Runner::new("puppet rspec", &["pdk test"]),
    Runner::new("kitchen test", &["kitchen test", "kitchen verify"]),
    Runner::new("inspec", &["inspec exec"]),
    Runner::new(
        "phpunit",
        &["phpunit", "paratest", "simple-phpunit", "phpunit.phar", "php-phpunit"],
    )
    .exits(&[(255, Errored)]),
    Runner::new("pest", &["pest"]).exits(&[(255, Errored)]),
    Runner::new(
        "artisan test",
        &["artisan test", "artisan dusk", "sail test", "sail pest", "sail phpunit", "sail dusk"],
    ),
    Runner::new("codeception", &["codecept run", "codecept"]),
    Runner::new("behat", &["behat"]),
    Runner::new("phpspec", &["phpspec run", "phpspec r", "phpspec"]),
    Runner::new("kahlan", &["kahlan"]),
    Runner::new("peridot", &["peridot"]),
    Runner::new("atoum", &["atoum"]),
    Runner::new("tester", &["tester"]),
    Runner::new("phpt", &["php *run-tests.php", "run-tests.php"]),
    Runner::new("infection", &["infection"]),
    Runner::new("prove", &["prove", "pg_prove", "perl *prove"]),
    Runner::new("yath", &["yath test", "yath"]),
    Runner::new("raku test", &["prove6", "zef test", "raku ~test", "perl6 ~test", "tau6"]),
    Runner::new(
        "Build test",
        &["Build test", "perl *Build test", "dzil test", "minil test", "cpanm --test-only"],
    ),
];
