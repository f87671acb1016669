//! What happened while nobody looked, as a page to open in the morning.
//!
//! | what | where |
//! | --- | --- |
//! | what the journal, the refs and the plan hold | `gather.rs` |
//! | what the page says about it; pure | `page.rs`, `costs.rs`, `time_line.rs`, `proposals.rs` |
//! | the same in a few lines; pure | `in_lines.rs` |
//! | how it looks | `templates/report.html`, `templates/report.md`, `markdown_text.rs` |

mod costs;
mod gather;
mod in_lines;
mod markdown_text;
mod page;
mod proposals;
mod text;
mod time_line;

use askama::Template;
use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state;
use ralph_core::plan::Plan;
use ralph_project::project::Project;

use crate::exit::Failure;
use crate::history;
use crate::landing::Waiting;
use crate::workspace::Source;
use gather::gather;
pub(crate) use in_lines::{RunLine, told};
pub(crate) use page::{Page, remarks};

#[derive(Template)]
#[template(path = "report.html")]
struct Html<'a> {
    page: &'a Page,
}

#[derive(Template)]
#[template(path = "report.md", escape = "none")]
struct Markdown<'a> {
    page: &'a Page,
}

impl Markdown<'_> {
    /// A text in which nothing means anything in Markdown or HTML but code between backquotes.
    fn md(&self, text: &str) -> String {
        markdown_text::plain(text)
    }

    /// The same in a table, where code could not hold everything.
    fn cell(&self, text: &str) -> String {
        markdown_text::escaped(text)
    }

    fn quoted(&self, text: &str) -> String {
        let lines = text.lines().map(|line| format!("> {}", markdown_text::plain(line)));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn fenced(&self, text: &str, indent: &str) -> String {
        markdown_text::fenced(text, indent)
    }

    /// Inside of backquotes.
    fn code(&self, text: &str) -> String {
        text.replace('`', "'")
    }
}

/// Where a run stood, for those who know.
#[derive(Debug, Clone, Default)]
pub(crate) struct Standing {
    /// Work that is not in the user's files.
    pub(crate) waiting: Option<Waiting>,
    /// Why it could not be rebased onto its branch.
    pub(crate) misfit: Option<String>,
    /// The run that goes on, if one does.
    pub(crate) running: Option<String>,
    /// How the last run ends, where the journal does not say so yet.
    pub(crate) ends: Option<(String, Option<String>)>,
}

/// The page of the last run, of the one of this number, or of all; none if there is none.
pub(crate) fn page(
    project: &Project,
    source: &Source,
    plan: Option<&Plan>,
    standing: &Standing,
    which: &str,
) -> Result<Option<Page>, Failure> {
    let gathered = gather(project, source, plan, standing, which)?;
    Ok(gathered.map(|gathered| page::new(&gathered)))
}

/// All runs, oldest first, in a line each.
pub(crate) fn runs(project: &Project) -> Result<Vec<RunLine>, Failure> {
    Ok(in_lines::lines(&history::of(project.own_state())?))
}

/// As Markdown.
pub(crate) fn markdown(page: &Page) -> Result<String, Failure> {
    Ok(Markdown { page }.render()?)
}

/// Writes it as one file; beside the logs, if no other place is meant. Says where it is.
pub(crate) fn write(
    project: &Project,
    page: &Page,
    to: Option<&Utf8Path>,
) -> Result<Utf8PathBuf, Failure> {
    let usual = || project.own_state().logs().join(format!("report-{}.html", page.run));
    let path = to.map_or_else(usual, Utf8Path::to_owned);
    if to.is_none() {
        project.own_state().prepare()?;
    }
    state::replace(&path, Html { page }.render()?.as_bytes())?;
    Ok(path)
}
