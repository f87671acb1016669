//! The agent's prompt: a template with variables, the user's or our own.
//!
//! ```
//! use ralph_project::prompt::{Template, Values};
//!
//! let template = Template::parse("Do {{STORY_ID}}: {{STORY_TITLE}}.")?;
//! let values = Values { story_id: "US-001", story_title: "Greet", ..Values::default() };
//! assert_eq!(template.render(&values), "Do US-001: Greet.");
//! assert!(Template::parse("{{STORYID}}").is_err());
//! # Ok::<(), ralph_project::prompt::UnknownVariable>(())
//! ```

use camino::Utf8Path;

/// Our own template for building.
pub const BUILDING: &str = include_str!("prompts/building.md");

/// Our own template for planning.
pub const PLANNING: &str = include_str!("prompts/planning.md");

/// Our own template for a review.
pub const REVIEW: &str = include_str!("prompts/review.md");

/// A variable that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {{{{{name}}}}} is not a prompt variable; {}", advice(*.nearest))]
pub struct UnknownVariable {
    /// The text between the braces.
    pub name: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The variable that was probably meant.
    pub nearest: Option<&'static str>,
}

/// The values of the variables.
#[derive(Debug, Clone, Copy, Default)]
#[expect(missing_docs, reason = "the variables' own names say it")]
pub struct Values<'a> {
    pub story_id: &'a str,
    pub story_title: &'a str,
    pub story_details: &'a str,
    pub plan_path: &'a str,
    pub progress_path: &'a str,
    pub progress: &'a str,
    pub guardrails: &'a str,
    pub failure: &'a str,
    pub iteration: u64,
    pub max_iterations: u64,
    pub verify: &'a [String],
    pub spec_dir: &'a str,
    /// The diff that a reviewer is shown; empty in other prompts.
    pub diff: &'a str,
    pub checks: &'a str,
}

/// Returns the names of all variables.
fn variables() -> [&'static str; 15] {
    Values::default().named().map(|(name, _)| name)
}

fn advice(nearest: Option<&str>) -> String {
    match nearest {
        Some(name) => format!("did you mean {{{{{name}}}}}?"),
        None => format!("the variables are {}", variables().join(", ")),
    }
}

/// Returns the variable that a misspelt name means, also in another case or with other separators.
fn nearest(name: &str) -> Option<&'static str> {
    let plain = name.to_ascii_uppercase().replace(['-', ' '], "_");
    let likeness = |known: &&str| (strsim::jaro_winkler(&plain, known) * 1000.0) as u32;
    variables().into_iter().max_by_key(likeness).filter(|known| likeness(known) > 900)
}

/// A template whose variables are all known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Variable(&'static str),
}

impl Template {
    /// Parses a template. Braces around anything except an upper-case name, or a misspelt variable,
    /// are ordinary text.
    pub fn parse(text: &str) -> Result<Self, UnknownVariable> {
        let mut parts = Vec::new();
        let (mut rest, mut line) = (text, 1);
        while let Some((before, after)) = rest.split_once("{{") {
            line += before.matches('\n').count();
            parts.push(Part::Text(before.to_owned()));
            match after.split_once("}}").map(|(name, rest)| (name.trim(), rest)) {
                Some((name, after)) if looks_like_a_name(name) => {
                    let variable = variables().into_iter().find(|known| *known == name);
                    let nearest = nearest(name);
                    let unknown = || UnknownVariable { name: name.to_owned(), line, nearest };
                    parts.push(Part::Variable(variable.ok_or_else(unknown)?));
                    rest = after;
                }
                _ => {
                    parts.push(Part::Text("{{".to_owned()));
                    rest = after;
                }
            }
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Self { parts })
    }

    /// Returns whether the agent would not learn the requirements of its story: the template has
    /// neither the details nor the plan that contains them.
    pub fn lacks_details(&self) -> bool {
        let tells = |part: &Part| matches!(part, Part::Variable("STORY_DETAILS" | "PLAN_PATH"));
        !self.parts.iter().any(tells)
    }

    /// Returns the prompt; values are not expanded again.
    pub fn render(&self, values: &Values<'_>) -> String {
        let values = values.named();
        let value = |name: &str| values.iter().find(|(known, _)| *known == name);
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Variable(name) => value(name).map(|(_, value)| value.clone()).unwrap_or_default(),
        };
        self.parts.iter().map(part).collect()
    }
}

/// Lower-case names belong to other templates, which a prompt may mention, unless they are misspelt
/// names of our variables.
fn looks_like_a_name(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_- ".contains(&byte);
    let is_wordlike = text.bytes().all(is_word) && text.bytes().any(|b| b.is_ascii_alphabetic());
    is_wordlike && (!text.bytes().any(|b| b.is_ascii_lowercase()) || nearest(text).is_some())
}

impl Values<'_> {
    fn named(&self) -> [(&'static str, String); 15] {
        let or_none = |text: &str| match text.trim() {
            "" => "(none)".to_owned(),
            text => text.to_owned(),
        };
        let limit = match self.max_iterations {
            0 => "unlimited".to_owned(),
            limit => limit.to_string(),
        };
        let checks: Vec<String> = self.verify.iter().map(|check| shown(check)).collect();
        [
            ("STORY_ID", self.story_id.to_owned()),
            ("STORY_TITLE", self.story_title.to_owned()),
            ("STORY_DETAILS", self.story_details.to_owned()),
            ("PLAN_PATH", self.plan_path.to_owned()),
            ("PROGRESS_PATH", self.progress_path.to_owned()),
            ("PROGRESS", or_none(self.progress)),
            ("GUARDRAILS", or_none(self.guardrails)),
            ("FAILURE", or_none(self.failure)),
            ("ITERATION", self.iteration.to_string()),
            ("MAX_ITERATIONS", limit),
            ("VERIFY", or_none(&checks.join("\n"))),
            ("SPEC_DIR", self.spec_dir.to_owned()),
            ("PRD_NUMBER", prd_number(self.plan_path).unwrap_or_default().to_owned()),
            ("DIFF", self.diff.to_owned()),
            ("CHECKS", or_none(self.checks)),
        ]
    }
}

/// Returns the number of the `PRD-N` folder that a plan is in.
fn prd_number(plan_path: &str) -> Option<&str> {
    let folder = Utf8Path::new(plan_path).parent()?.file_name()?;
    let number = folder.strip_prefix("PRD-")?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(number)
}

/// Formats a check so that the agent can run it itself.
fn shown(check: &str) -> String {
    let check = check.trim();
    if check.contains('\n') {
        format!("- this script (run with `sh -e`):\n```sh\n{check}\n```")
    } else {
        format!("- `{check}`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_templates_are_valid() {
        for text in [BUILDING, PLANNING, REVIEW] {
            Template::parse(text).unwrap();
        }
    }

    #[test]
    fn every_variable_has_a_value() {
        let text = variables().map(|name| format!("{{{{{name}}}}}")).join("\n");
        let verify = ["cargo test".to_owned()];
        let values = Values {
            story_id: "id",
            story_title: "title",
            story_details: "details",
            plan_path: ".ralph/PRD-7/plan.md",
            progress_path: "progress path",
            progress: "progress",
            iteration: 2,
            verify: &verify,
            spec_dir: "specs",
            ..Values::default()
        };
        let expected = "id\ntitle\ndetails\n.ralph/PRD-7/plan.md\nprogress path\nprogress\n(none)\n\
                        (none)\n2\nunlimited\n- `cargo test`\nspecs\n7\n\n(none)";
        assert_eq!(Template::parse(&text).unwrap().render(&values), expected);
        let template = Template::parse("<{{PRD_NUMBER}}>{{VERIFY}}").unwrap();
        let verify = ["a\n".to_owned(), "\nb\nc\n".to_owned()];
        for plan_path in ["", "plan.md", ".ralph/fix_plan.md", "PRD-x/plan.md", "PRD-3.md"] {
            let values = Values { plan_path, verify: &verify, ..Values::default() };
            let shown = template.render(&values);
            assert_eq!(shown, "<>- `a`\n- this script (run with `sh -e`):\n```sh\nb\nc\n```");
        }
    }

    #[test]
    fn a_template_without_story_details_is_detected() {
        for (text, lacks) in [
            ("Do {{STORY_ID}}: {{STORY_TITLE}}.", true),
            ("{{STORY_DETAILS}}", false),
            ("Do {{STORY_ID}} of {{PLAN_PATH}}.", false),
            (BUILDING, false),
        ] {
            assert_eq!(Template::parse(text).unwrap().lacks_details(), lacks, "{text}");
        }
    }

    #[test]
    fn unknown_variables_are_reported_with_their_line() {
        let check = |text: &str, name: &str, nearest: Option<&'static str>| {
            let error = Template::parse(&format!("a\nb {{{{{text}}}}}")).unwrap_err();
            assert_eq!(error, UnknownVariable { name: name.into(), line: 2, nearest });
        };
        check("STORY", "STORY", Some("STORY_ID"));
        check("XYZ", "XYZ", None);
        check("X1", "X1", None);
        check("story_id", "story_id", Some("STORY_ID"));
        check("STORY-ID", "STORY-ID", Some("STORY_ID"));
        check(" Story Title ", "Story Title", Some("STORY_TITLE"));
        check("guardrail", "guardrail", Some("GUARDRAILS"));
        let error = Template::parse("{{story_id}}").unwrap_err().to_string();
        let expected = "line 1: {{story_id}} is not a prompt variable; did you mean {{STORY_ID}}?";
        assert_eq!(error, expected);
    }

    #[test]
    fn other_braces_and_values_with_braces_are_left_alone() {
        let values = Values { story_title: "{{FAILURE}}", ..Values::default() };
        for text in ["{{ x }}", "{{}}", "{{", "{{ handlebars.path }}", "{{#if title}}", "{{ 1 }}"] {
            let template = Template::parse(&format!("{text} {{{{STORY_TITLE}}}}")).unwrap();
            assert_eq!(template.render(&values), format!("{text} {{{{FAILURE}}}}"));
        }
    }
}
