//! Runners of Python tests.

use super::super::kind::Kind::{Errored, NoTests};
use super::Runner;

pub(super) const ROWS: &[Runner] = &[
    // 2 stands for an interrupted run: a collection error, or Ctrl-C.
    Runner::new("pytest", &["pytest", "py.test", "python -m pytest", "python -m py.test"])
        .exits(&[(2, Errored), (3, Errored), (4, Errored), (5, NoTests)]),
    Runner::new("unittest", &["python -m unittest", "unit2"]).exits(&[(5, NoTests)]),
    Runner::new("django", &["manage.py test", "django-admin test", "python -m django test"]),
    Runner::new("doctest", &["python -m doctest"]),
    Runner::new("nose2", &["nose2", "nosetests", "python -m nose2", "python -m nose"]),
    Runner::new("green", &["green", "python -m green"]),
    Runner::new("ward", &["ward", "python -m ward"]).exits(&[(2, Errored), (3, NoTests)]),
    Runner::new("trial", &["trial", "python -m twisted.trial"]),
    Runner::new("stestr", &["stestr run", "stestr last", "ostestr", "testr run"]),
    Runner::new("zope.testrunner", &["zope-testrunner", "python -m zope.testrunner"]),
    Runner::new("behave", &["behave", "python -m behave", "manage.py behave"]),
    Runner::new("lettuce", &["lettuce", "python -m lettuce"]),
    Runner::new("radish", &["radish"]),
    Runner::new("aloe", &["aloe"]),
    // 251 is the help text, 252 bad data or no test, 253 an interrupt, 255 an internal error.
    Runner::new("robot", &["robot", "pybot", "pabot", "python -m robot", "robot.run"])
        .exits(&[(252, NoTests), (255, Errored)]),
    Runner::new("avocado", &["avocado run"]),
    Runner::new("slash", &["slash run"]),
    Runner::new("mamba", &["mamba ~spec"]),
    Runner::new("testify", &["testify"]),
    Runner::new("testtools", &["python -m testtools.run", "python -m subunit.run"]),
    Runner::new("tox", &["tox", "tox run", "python -m tox"]).one_summary_per_part(),
    Runner::new("nox", &["nox", "python -m nox"]).one_summary_per_part(),
    Runner::new("hatch test", &["hatch test", "hatch run ~test"]),
    Runner::new("molecule", &["molecule test", "molecule verify"]),
    Runner::new("ansible-test", &["ansible-test"]),
    Runner::new("xdoctest", &["xdoctest", "python -m xdoctest"]),
    Runner::new("mutmut", &["mutmut run"]),
    Runner::new("schemathesis", &["schemathesis run", "st run"]),
];
