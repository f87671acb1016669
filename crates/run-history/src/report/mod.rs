//! The report on a run, and its rendering.

mod commits;
mod html_text;
mod markdown_text;
mod page;
mod proposals;
mod stories;
mod time_line;

use askama::Template;

use crate::words::{self, counted};
use stories::StoryPart;

pub use page::Report;

#[derive(Template)]
#[template(path = "report.html")]
struct Html<'a> {
    page: &'a Report,
}

#[derive(Template)]
#[template(path = "report.md", escape = "none")]
struct Markdown<'a> {
    page: &'a Report,
}

#[derive(Template)]
#[template(path = "report.txt", escape = "none")]
struct Lines<'a> {
    page: &'a Report,
}

impl Report {
    /// Returns how many stories are in a state.
    /// Returns how many stories landed.
    fn landed(&self) -> usize {
        self.stories.iter().filter(|story| story.done).count()
    }

    /// Returns how many of them a person should look at.
    fn to_review(&self) -> usize {
        self.stories.iter().filter(|story| story.needs_review()).count()
    }

    fn count(&self, state: &str) -> usize {
        self.stories.iter().filter(|story| story.state == state).count()
    }

    /// Returns a sentence about what the next run does.
    fn next(&self) -> String {
        let is_ready = |story: &&StoryPart| story.state == "open" && !story.waits();
        match self.stories.iter().filter(is_ready).count() {
            0 if self.count("blocked") > 0 => {
                "The next run has nothing to work on until you reopen or tick a story.".to_owned()
            }
            0 => String::new(),
            ready => {
                format!("The next run works on {}.", counted(ready, "open story", "open stories"))
            }
        }
    }

    /// Renders its most important parts, one line each.
    pub fn lines(&self) -> Result<String, askama::Error> {
        Lines { page: self }.render()
    }

    /// Renders it as Markdown.
    pub fn markdown(&self) -> Result<String, askama::Error> {
        Markdown { page: self }.render()
    }

    /// Renders it as one self-contained page.
    pub fn html(&self) -> Result<String, askama::Error> {
        Html { page: self }.render()
    }
}
