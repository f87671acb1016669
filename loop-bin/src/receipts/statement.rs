//! The statement of a receipt: in-toto Statement v1 with the predicate test-result v0.1. It has no output of
//! programs, no secrets, and no paths of the machine.

use std::collections::BTreeMap;

use data_encoding::HEXLOWER;
use ralph_base::secrets::mask;
use ralph_base::state::Scale;
use ralph_project::verification::{CommandFacts, Finding, Grade, scale_of};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use board::NewCommit;

const STATEMENT: &str = "https://in-toto.io/Statement/v1";
const PREDICATE: &str = "https://in-toto.io/attestation/test-result/v0.1";

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    subject: Vec<Resource>,
    predicate_type: String,
    pub(crate) predicate: Predicate,
}

/// A resource descriptor: something with a digest.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Resource {
    name: String,
    digest: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Predicate {
    pub(crate) result: String,
    #[serde(default)]
    configuration: Vec<Resource>,
    #[serde(default)]
    passed_tests: Vec<String>,
    #[serde(default)]
    warned_tests: Vec<String>,
    #[serde(default)]
    failed_tests: Vec<String>,
    #[serde(default)]
    pub(crate) annotations: Annotations,
}

/// What the predicate has no fields for.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Annotations {
    pub(crate) plan: String,
    pub(crate) story: String,
    pub(crate) attempt: u64,
    /// The commit's parent.
    pub(crate) base: Option<String>,
    pub(crate) scale: String,
    pub(crate) checks: Vec<CheckRun>,
    pub(crate) findings: Vec<Stated>,
    pub(crate) agent: String,
    pub(crate) model: String,
    pub(crate) agent_version: String,
    /// Which hooks guarded the agent.
    pub(crate) hooks: String,
    pub(crate) sandbox: Sandbox,
    pub(crate) prompt_sha256: String,
    pub(crate) plan_sha256: String,
    pub(crate) settings_sha256: String,
    /// The version of Ralph.
    pub(crate) ralph: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Sandbox {
    pub(crate) mode: String,
    /// The version of the kernel's interface, if the sandbox was used.
    pub(crate) abi: Option<i32>,
}

/// A check that ran on the commit's tree.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CheckRun {
    pub(crate) command: String,
    pub(crate) exit_code: Option<i32>,
    pub(crate) seconds: f64,
    pub(crate) passed: Option<u64>,
    pub(crate) failed: Option<u64>,
    pub(crate) output_sha256: String,
    /// Whether it failed before the first story as well, which the user let pass.
    pub(crate) failed_before: bool,
}

/// What a verifier said.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Stated {
    pub(crate) verifier: String,
    pub(crate) grade: String,
    pub(crate) lines: Vec<String>,
}

/// Makes text fit for others: without secrets and without folders of this machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct PublicText {
    /// Folders, longest first, and what is written instead.
    folders: Vec<(String, &'static str)>,
}

impl PublicText {
    pub(crate) fn new(folders: impl IntoIterator<Item = (String, &'static str)>) -> Self {
        let mut folders: Vec<_> = folders.into_iter().filter(|it| it.0.len() > 1).collect();
        folders.sort_by_key(|(folder, _)| std::cmp::Reverse(folder.len()));
        Self { folders }
    }

    pub(crate) fn of(&self, text: &str) -> String {
        let replaced = |text: String, (folder, by): &(String, &str)| text.replace(folder, by);
        mask(&self.folders.iter().fold(text.to_owned(), replaced)).to_string()
    }

    /// Returns findings in such text.
    pub(crate) fn findings(&self, findings: &[Finding]) -> Vec<Finding> {
        let public = |finding: &Finding| {
            let mut finding = finding.clone();
            finding.line = self.of(&finding.line);
            finding.remarks.iter_mut().for_each(|remark| *remark = self.of(remark));
            for check in &mut finding.commands {
                check.command = self.of(&check.command);
            }
            finding
        };
        findings.iter().map(public).collect()
    }
}

/// Returns the checksum of a text, in hexadecimal digits.
pub(crate) fn sha256(text: impl AsRef<[u8]>) -> String {
    HEXLOWER.encode(&Sha256::digest(text))
}

impl Statement {
    /// Builds the statement about a commit from what is known at its landing.
    pub(crate) fn of(commit: &NewCommit, findings: &[Finding], facts: Annotations) -> Self {
        let runs: Vec<&CommandFacts> = findings.iter().flat_map(|it| &it.commands).collect();
        let scale = scale_of(findings);
        let checks: Vec<CheckRun> = runs.iter().map(|run| CheckRun::of(run)).collect();
        let of_checks = |is_excused| {
            let chosen = checks.iter().filter(move |check| check.failed_before == is_excused);
            chosen.map(|check| check.command.clone()).collect()
        };
        let warned = findings.iter().filter(|finding| finding.grade == Grade::Remark);
        let commands: Vec<&str> = checks.iter().map(|check| check.command.as_str()).collect();
        let result =
            if matches!(scale, Scale::Proven | Scale::Checked) { "PASSED" } else { "WARNED" };
        let resource = |name: &str, kind: &str, digest: &str| Resource {
            name: name.to_owned(),
            digest: BTreeMap::from([(kind.to_owned(), digest.to_owned())]),
        };
        Self {
            kind: STATEMENT.to_owned(),
            subject: vec![
                resource("commit", "gitCommit", &commit.commit),
                resource("tree", "gitTree", &commit.tree),
            ],
            predicate_type: PREDICATE.to_owned(),
            predicate: Predicate {
                result: result.to_owned(),
                configuration: vec![
                    resource("checks", "sha256", &sha256(commands.join("\n"))),
                    resource("settings", "sha256", &facts.settings_sha256),
                ],
                passed_tests: of_checks(false),
                warned_tests: warned.map(|finding| finding.verifier.to_owned()).collect(),
                failed_tests: of_checks(true),
                annotations: Annotations {
                    scale: scale.word().to_owned(),
                    findings: findings.iter().filter_map(Stated::of).collect(),
                    checks,
                    ralph: env!("CARGO_PKG_VERSION").to_owned(),
                    ..facts
                },
            },
        }
    }

    /// Returns the statement about another commit, which changes nothing but the loop's own files.
    pub(crate) fn of_records(mut self, commit: &NewCommit, base: &str) -> Self {
        let line = "plan and progress changed after the checks".to_owned();
        let (verifier, grade) = ("records".to_owned(), "fine".to_owned());
        let facts = &mut self.predicate.annotations;
        facts.findings.retain(|found| found.verifier != verifier);
        facts.findings.push(Stated { verifier, grade, lines: vec![line] });
        facts.base = Some(base.to_owned());
        for (subject, id) in self.subject.iter_mut().zip([&commit.commit, &commit.tree]) {
            subject.digest.values_mut().for_each(|digest| digest.clone_from(id));
        }
        self
    }

    /// Whether it is a statement of the kind that receipts are.
    pub(crate) fn is_receipt(&self) -> bool {
        self.kind == STATEMENT && self.predicate_type == PREDICATE
    }

    /// Returns a digest of its subject: `gitCommit` or `gitTree`.
    pub(crate) fn subject(&self, kind: &str) -> &str {
        let found = self.subject.iter().find_map(|subject| subject.digest.get(kind));
        found.map_or("", String::as_str)
    }
}

impl CheckRun {
    fn of(run: &CommandFacts) -> Self {
        Self {
            command: run.command.clone(),
            exit_code: run.exit_code,
            seconds: (run.seconds * 1000.0).round() / 1000.0,
            passed: run.passed,
            failed: run.failed,
            output_sha256: run.output_sha256.clone(),
            failed_before: run.excused.is_some(),
        }
    }

    /// Whether it passed, or failed as before the first story.
    pub(crate) fn is_fine(&self) -> bool {
        self.exit_code == Some(0) || self.failed_before
    }
}

impl Stated {
    fn of(finding: &Finding) -> Option<Self> {
        let grade = match finding.grade {
            Grade::Proven => "proven",
            Grade::Fine => "fine",
            Grade::Remark => "remark",
            Grade::Refused => "refused",
        };
        let lines = finding.progress().into_iter().map(|(label, text)| format!("{label}: {text}"));
        let (verifier, grade) = (finding.verifier.to_owned(), grade.to_owned());
        let found = Self { verifier, grade, lines: lines.collect() };
        if found.lines.is_empty() { None } else { Some(found) }
    }
}
