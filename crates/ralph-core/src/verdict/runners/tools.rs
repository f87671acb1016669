//! Runners for infrastructure, policies, databases, hardware and HTTP.

use super::Runner;

pub(super) const ROWS: &[Runner] = &[
    Runner::new("terraform test", &["terraform test", "tofu test", "terragrunt test"]),
    Runner::new("opa test", &["opa test", "regal test"]),
    Runner::new("conftest test", &["conftest test", "conftest verify"]),
    Runner::new("helm unittest", &["helm unittest", "helm test", "ct install"]),
    Runner::new(
        "kuttl",
        &["kubectl kuttl test", "kubectl-kuttl test", "kuttl test", "chainsaw test"],
    ),
    Runner::new("goss", &["goss validate", "goss v", "dgoss run"]),
    Runner::new("container-structure-test test", &["container-structure-test test"]),
    Runner::new("nix flake check", &["nix flake check"]),
    Runner::new("dbt test", &["dbt test", "dbt build", "sqlmesh test", "sqlfluff test"]),
    Runner::new("hurl", &["hurl --test"]),
    Runner::new("venom", &["venom run"]),
    Runner::new("tavern-ci", &["tavern-ci"]),
    Runner::new("step-ci", &["step-ci", "stepci run"]),
    Runner::new("dredd", &["dredd"]),
    Runner::new("httpyac", &["httpyac"]),
    Runner::new("cocotb", &["cocotb-test", "fusesoc run ~sim"]),
    Runner::new("promtool test", &["promtool test"]),
    Runner::new("amtool test", &["amtool test"]),
    Runner::new("mtail test", &["mtail test"]),
    Runner::new("salesforce", &["sf apex run test", "sfdx force:apex:test:run"]),
    Runner::new("semgrep", &["semgrep --test", "semgrep test"]),
    Runner::new("ast-grep test", &["ast-grep test"]),
    Runner::new("ast-grep", &["sg test"]),
    Runner::new("tree-sitter test", &["tree-sitter test"]),
    Runner::new("textlint-tester", &["textlint-tester"]),
    Runner::new("tmt run", &["tmt run"]),
    Runner::new("autopkgtest", &["autopkgtest"]),
    Runner::new("rpmlint", &["rpmlint ~test"]),
    Runner::new("earthly", &["earthly ~test"]),
    Runner::new("dagger", &["dagger call ~test"]),
];
