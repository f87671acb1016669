//! What happened while nobody looked, as a page to open in the morning.
//!
//! | what | where |
//! | --- | --- |
//! | what the journal, the refs and the plan hold | `gather.rs` |
//! | what the page says about it; pure | `page.rs`, `costs.rs`, `time_line.rs`, `proposals.rs` |
//! | the same in a few lines; pure | `in_lines.rs` |
//! | how it looks | `templates/report.html`, `templates/report.md` |

mod costs;
mod gather;
mod in_lines;
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
use gather::gather;
pub(crate) use in_lines::{RunLine, told};
pub(crate) use page::{Page, weakened};

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
    /// A text in which nothing means anything in Markdown or HTML.
    fn md(&self, text: &str) -> String {
        let mut safe = String::new();
        for c in text.chars() {
            match c {
                '<' => safe.push_str("&lt;"),
                '&' => safe.push_str("&amp;"),
                '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' | '@' => {
                    safe.extend(['\\', c]);
                }
                _ => safe.push(c),
            }
        }
        safe
    }

    /// Inside of backquotes.
    fn code(&self, text: &str) -> String {
        text.replace('`', "'")
    }
}

/// Where a run stood, for those who know.
#[derive(Debug, Clone, Default)]
pub(crate) struct Standing {
    /// The branch on which the work lands.
    pub(crate) target: String,
    /// Why work that waits could not be rebased onto it.
    pub(crate) misfit: Option<String>,
    /// The run that goes on, if one does.
    pub(crate) running: Option<String>,
    /// How the last run ends, where the journal does not say so yet.
    pub(crate) ends: Option<(String, Option<String>)>,
}

/// The page of the last run, of the one of this number, or of all; none if there is none.
pub(crate) fn page(
    project: &Project,
    plan: Option<&Plan>,
    standing: &Standing,
    which: &str,
) -> Result<Option<Page>, Failure> {
    Ok(gather(project, plan, standing, which)?.map(|gathered| page::new(&gathered)))
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
    state::replace(&path, Html { page }.render()?.as_bytes())?;
    Ok(path)
}
