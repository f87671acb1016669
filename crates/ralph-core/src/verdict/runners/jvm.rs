//! Runners on the Java and .NET machines.

use super::Runner;

pub(super) const ROWS: &[Runner] = &[
    Runner::new(
        "maven",
        &[
            "mvn ~test",
            "mvn verify",
            "mvn install",
            "mvn package",
            "mvn deploy",
            "mvn integration-test",
            "mvn surefire:test",
            "mvn failsafe:verify",
            "mvnd ~test",
            "mvnd verify",
        ],
    )
    .one_summary_per_part(),
    Runner::new(
        "gradle",
        &[
            "gradle ~test",
            "gradle check",
            "gradle build",
            "gradle cleanTest",
            "gradle connectedCheck",
            "gradle allTests",
        ],
    )
    .one_summary_per_part(),
    Runner::new("sbt", &["sbt ~test", "sbt testOnly", "sbt testQuick"]).one_summary_per_part(),
    Runner::new("mill", &["mill ~test", "mill __.test"]),
    Runner::new("scala-cli test", &["scala-cli test", "scala test"]),
    Runner::new("bleep test", &["bleep test"]),
    Runner::new("bloop test", &["bloop test"]),
    Runner::new("ant", &["ant ~test"]),
    Runner::new("amper test", &["amper test"]),
    Runner::new("kobalt test", &["kobalt test"]),
    Runner::new("bld test", &["bld test"]),
    Runner::new(
        "junit",
        &[
            "java =org.junit.runner.JUnitCore",
            "java =org.junit.platform.console.ConsoleLauncher",
            "java =junit.textui.TestRunner",
            "java *junit-platform-console",
        ],
    ),
    Runner::new("testng", &["java =org.testng.TestNG", "testng"]),
    Runner::new("scalatest", &["scala *scalatest", "java =org.scalatest.tools.Runner"]),
    Runner::new("spock", &["groovy ~spec", "groovy ~test"]),
    Runner::new("karate", &["java *karate", "karate"]),
    Runner::new(
        "lein test",
        &["lein test", "lein ~test", "lein midje", "lein eftest", "lein kaocha"],
    ),
    Runner::new("kaocha", &["kaocha", "clojure *kaocha", "clj *kaocha"]),
    Runner::new("clojure test", &["clojure *test", "clj *test", "bb ~test", "clojure *run-tests"])
        .exit_is_silent(),
    Runner::new(
        "dotnet test",
        &[
            "dotnet test",
            "dotnet vstest",
            "dotnet run ~tests",
            "dotnet fake ~test",
            "dotnet stryker",
        ],
    )
    .one_summary_per_part(),
    Runner::new("vstest", &["vstest.console", "vstest.console.exe"]),
    Runner::new("mstest", &["mstest"]),
    Runner::new("nunit", &["nunit3-console", "nunit-console"]),
    Runner::new("xunit", &["xunit.console", "xunit.console.exe"]),
    Runner::new("fake", &["fake run ~test", "build.cmd ~test"]),
];
