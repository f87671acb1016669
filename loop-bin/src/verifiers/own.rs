//! The user's own verifiers: programs that get the work as JSON, and answer with a finding as JSON or
//! by their exit code.

use std::io;

use camino::Utf8Path;
use ralph_base::listing::one_line;
use ralph_base::state::RunDir;
use ralph_core::plan::Plan;
use ralph_project::checks::{Check, CheckEnd, run_program};
use ralph_project::config::Config;
use ralph_project::diagnosis::Diagnosis;
use ralph_project::project::Project;
use ralph_project::verification::{Finding, Grade, last_answer};
use serde::Deserialize;
use serde_json::json;

use crate::exit::Failure;
use crate::run::attempt::Stopped;
use crate::run::attempt::verify::{Verifier, Work};
use crate::run::decide::WorkEnd;
use crate::run::{program, programs_in};
use crate::terminal::Tone;

/// What is said if a verifier gives no reason.
const NO_REASON: &str = "it gave no reason";

#[derive(Debug)]
pub(super) struct Own;

impl Verifier for Own {
    fn name(&self) -> &'static str {
        "verifier"
    }

    fn before(
        &self,
        project: &Project,
        _: &Config,
        _: Option<&Plan>,
        _: &str,
    ) -> Result<Vec<Diagnosis>, Failure> {
        let (programs, others) = programs_in(&project.own_state().verifiers());
        let used = |path| Diagnosis::Good(format!("{path} looks at each story before it lands"));
        let unused = |path| {
            Diagnosis::Note(format!(
                "{path} is not executable, so it looks at nothing; run `chmod +x {path}`"
            ))
        };
        Ok(programs.iter().map(used).chain(others.iter().map(unused)).collect())
    }

    fn begin(&self, project: &Project, run_dir: &RunDir) -> Result<(), Failure> {
        // Nothing that an attempt does changes which programs look at it.
        let (from, to) = (project.own_state().verifiers(), run_dir.verifiers());
        work_copy::remove_all(to.as_std_path())?;
        if from.is_dir() {
            copy_folder(&from, &to)?;
        }
        Ok(())
    }

    fn verify(&self, work: &mut Work<'_>) -> Result<Vec<Finding>, Stopped> {
        let context = &work.job.context;
        let folder = if work.copy.is_in_place {
            // The sandbox hides the run's folder there. What an attempt changed is restored by now.
            context.project.own_state().verifiers()
        } else {
            context.run_dir.verifiers()
        };
        let (programs, _) = programs_in(&folder);
        if programs.is_empty() {
            return Ok(Vec::new());
        }
        work.copy.show_staged()?;
        let mut findings = Vec::new();
        for program in programs {
            let finding = ask(self.name(), work, &program)?;
            let is_refused = finding.grade == Grade::Refused;
            findings.push(finding);
            if is_refused {
                break;
            }
        }
        work.put_back(&[])?;
        Ok(findings)
    }
}

fn copy_folder(from: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
    fs_err::create_dir_all(to)?;
    for entry in from.read_dir_utf8()? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        // A link to a folder might lead in a circle.
        if entry.file_type()?.is_dir() {
            copy_folder(entry.path(), &target)?;
        } else if entry.path().is_file() {
            fs_err::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Has one program look at the work.
fn ask(verifier: &'static str, work: &mut Work<'_>, path: &Utf8Path) -> Result<Finding, Stopped> {
    let (job, attempt) = (work.job, work.attempt);
    let (context, reporter) = (&job.context, &job.reporter);
    let (story, name) = (&attempt.story, path.file_name().unwrap_or_default());
    reporter.doing(&format!("being looked at by {name}"));
    let files: Vec<_> = work.staged.files.iter().map(|file| file.to_string_lossy()).collect();
    let input = json!({
        "v": 1, "story": story, "title": attempt.title, "base": attempt.base,
        "tree": work.staged.tree, "files": files,
        "copy": work.copy.root().as_str().trim_end_matches('/'),
    });
    let (limit, stop) = (context.config.verify.timeout.limit(), || context.is_interrupted());
    let program = program(&work.copy.doors.checks, path);
    let ran = run_program(work.settings(), program, input.to_string().as_bytes(), limit, &stop);
    work.programs_ran()?;
    let (end, output) = ran?;
    if let (CheckEnd::Stopped, Some(signal)) = (end, context.interrupts.signal()) {
        return Err(WorkEnd::LandingStopped(signal).into());
    }
    let finding = finding(verifier, name, end, &output);
    match finding.grade {
        Grade::Refused => {}
        Grade::Remark => reporter.toned(Tone::Warning, format!("{story} {}", finding.line)),
        Grade::Proven | Grade::Fine => reporter.line(format!("{story} {}", finding.line)),
    }
    Ok(finding)
}

/// A verifier's answer.
#[derive(Debug, Deserialize)]
struct Answer {
    finding: Word,
    #[serde(default)]
    text: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Ok,
    Remark,
    Refuse,
}

/// What a program found: the graver of its answer and its exit code. One that failed has not looked
/// at the work, and a person has to.
fn finding(verifier: &'static str, name: &str, end: CheckEnd, output: &str) -> Finding {
    let check = Check::new(name, end, output.to_owned(), Default::default());
    let last = output.lines().rfind(|line| !line.trim().is_empty()).map(one_line);
    let (by_code, said) = match end {
        CheckEnd::Exited(Some(0)) => (Grade::Fine, None),
        CheckEnd::Exited(Some(1)) => (Grade::Remark, last),
        CheckEnd::Exited(Some(2)) => (Grade::Refused, last),
        _ => {
            let last = last.map(|last| format!(": {last}")).unwrap_or_default();
            (Grade::Remark, Some(format!("{}{last}", check.verdict())))
        }
    };
    let answer: Option<Answer> = last_answer(output);
    let by_answer = answer.as_ref().map(|answer| match answer.finding {
        Word::Ok => Grade::Fine,
        Word::Remark => Grade::Remark,
        Word::Refuse => Grade::Refused,
    });
    let grade = by_answer.map_or(by_code, |grade| grade.max(by_code));
    let is_answer = by_answer == Some(grade);
    let text = answer.filter(|_| is_answer).map(|answer| answer.text.trim().to_owned());
    let details = if text.is_some() { String::new() } else { format!("\n{}", check.excerpt()) };
    let text = text.or(said).filter(|text| !text.is_empty());
    match grade {
        Grade::Refused => {
            let text = text.unwrap_or_else(|| NO_REASON.to_owned());
            Finding::refused(verifier, format!("the verifier `{name}` refuses it: {text}{details}"))
        }
        Grade::Remark => {
            let text = one_line(&text.unwrap_or_else(|| NO_REASON.to_owned()));
            let line = format!("{name}: {text}");
            Finding { line, ..Finding::remark(verifier, name, text) }
        }
        Grade::Proven | Grade::Fine => {
            let text = text.map_or_else(|| "ok".to_owned(), |text| one_line(&text));
            Finding::new(verifier, Grade::Fine, format!("{name}: {text}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_graver_of_answer_and_exit_code_counts() {
        use Grade::{Fine, Refused, Remark};
        let exited = |code| CheckEnd::Exited(Some(code));
        let remark = r#"{"finding":"remark","text":"3 files"}"#;
        for (end, output, grade, line) in [
            (exited(0), "", Fine, "it: ok"),
            (exited(0), "looked at 3 files\n", Fine, "it: ok"),
            (exited(0), r#"{"finding":"ok","text":"clean"}"#, Fine, "it: clean"),
            (exited(1), "one\ntwo\n\n", Remark, "it: two"),
            (exited(1), "", Remark, "it: it gave no reason"),
            (exited(0), remark, Remark, "it: 3 files"),
            (exited(1), r#"{"finding":"ok"}"#, Remark, r#"it: {"finding":"ok"}"#),
            (exited(2), remark, Refused, ""),
            (exited(0), r#"{"finding":"perhaps"}"#, Fine, "it: ok"),
            (exited(3), "oops\n", Remark, "it: failed with exit code 3: oops"),
            (CheckEnd::TimedOut, "", Remark, "it: timed out"),
            (CheckEnd::Exited(None), "", Remark, "it: was killed by a signal"),
        ] {
            let found = finding("verifier", "it", end, output);
            assert_eq!(found.grade, grade, "{end:?} {output}");
            if grade != Refused {
                assert_eq!(found.line, line, "{end:?}");
            }
        }
        let refused = finding("verifier", "it", exited(2), "a.c lacks a header\n").line;
        assert_eq!(
            refused,
            "the verifier `it` refuses it: a.c lacks a header\na.c lacks a header\n"
        );
        let said = r#"{"finding":"refuse","text":"a.c lacks a header"}"#;
        let refused = finding("verifier", "it", exited(0), said).line;
        assert_eq!(refused, "the verifier `it` refuses it: a.c lacks a header");
    }
}
