//! Runners for infrastructure, policies, databases, hardware and HTTP.

use super::Runner;

pub(super) const ROWS: &[Runner] = &[
    Runner::new("terraform test", &["terraform test", "tofu test", "terragrunt test"]),
    Runner::new("opa test", &["opa test", "regal test"]),
    Runner::new("conftest", &["conftest test", "conftest verify"]),
    Runner::new("helm unittest", &["helm unittest", "helm test", "ct install"]),
    Runner::new(
        "kuttl",
        &["kubectl kuttl test", "kubectl-kuttl test", "kuttl test", "chainsaw test"],
    ),
    Runner::new("goss", &["goss validate", "goss v", "dgoss run", "container-structure-test test"]),
    Runner::new("nix flake check", &["nix flake check"]),
    Runner::new("dbt test", &["dbt test", "dbt build", "sqlmesh test", "sqlfluff test"]),
    Runner::new(
        "hurl",
        &["hurl --test", "venom run", "tavern-ci", "step-ci", "stepci run", "dredd", "httpyac"],
    ),
    Runner::new("cocotb", &["cocotb-test", "fusesoc run ~sim"]),
    Runner::new("promtool test", &["promtool test", "amtool test", "mtail test"]),
    Runner::new("salesforce", &["sf apex run test", "sfdx force:apex:test:run"]),
    Runner::new(
        "semgrep test",
        &[
            "semgrep --test",
            "semgrep test",
            "ast-grep test",
            "sg test",
            "tree-sitter test",
            "textlint-tester",
        ],
    ),
    Runner::new("tmt", &["tmt run", "autopkgtest", "rpmlint ~test"]),
    Runner::new("earthly", &["earthly ~test", "dagger call ~test"]),
];
