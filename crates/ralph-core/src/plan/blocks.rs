//! Markdown as a flat list of the blocks that matter to a plan: headings, boxes, dependency notes.
//!
//! Skips code fences, quotes and HTML comments. Code that is only indented is not skipped, because
//! list stories may have any indent. `markdown.rs` decides which blocks are stories.

use super::checkbox;
use super::depends;
use super::error::Error;
use super::syntax::{self, Fence};
use ralph_base::lines::{Line, lines};
use std::ops::Range;

/// A heading.
#[derive(Debug, Clone)]
pub(super) struct Heading {
    pub(super) line: usize,
    pub(super) start: usize,
    /// Offset of the end of its line.
    pub(super) end: usize,
    pub(super) level: usize,
    pub(super) text: Range<usize>,
    /// Whether it is the title of the whole file, which encloses everything and so does not
    /// classify any part of it.
    pub(super) is_title: bool,
}

/// A list item with a checkbox.
#[derive(Debug, Clone)]
pub(super) struct TaskItem {
    pub(super) line: usize,
    pub(super) start: usize,
    /// Offset of the end of the item's last line, including nested items.
    pub(super) end: usize,
    pub(super) mark: Range<usize>,
    pub(super) text: Range<usize>,
    /// Whether it is nested below another box.
    pub(super) nested: bool,
}

/// A line of a plan that matters.
#[derive(Debug, Clone)]
pub(super) enum Block {
    Heading(Heading),
    Task(TaskItem),
    /// The number and the range of a line that mentions a dependency.
    Depends(usize, Range<usize>),
    /// The number of a line that looks like it has a box but does not.
    Lookalike(usize),
}

/// Reads the blocks of a Markdown file, in file order.
pub(super) fn scan(bytes: &[u8]) -> Result<Vec<Block>, Error> {
    let (blocks, fence, comment) = scan_open(bytes);
    // Everything up to the end of the file would be ignored, and the plan could look complete.
    if let Some(line) = fence {
        let message = "this code fence is never closed, so everything below it is hidden; close it";
        return Err(Error::at(line, message));
    }
    if let Some(line) = comment {
        let message = "this comment is never closed, so everything below it is hidden; add `-->`";
        return Err(Error::at(line, message));
    }
    Ok(with_title(blocks))
}

/// Returns the blocks of a text, and the lines of an unclosed fence and an unclosed comment.
pub(super) fn scan_open(bytes: &[u8]) -> (Vec<Block>, Option<usize>, Option<usize>) {
    let mut scanner = Scanner::default();
    for line in lines(bytes) {
        scanner.line(line);
    }
    scanner.leave_lists(0);
    (scanner.blocks, scanner.fence.map(|(_, line)| line), scanner.comment)
}

/// Marks the first heading as the title, if it is the only one of the highest level.
fn with_title(mut blocks: Vec<Block>) -> Vec<Block> {
    let mut headings = blocks.iter_mut().filter_map(|block| match block {
        Block::Heading(heading) => Some(heading),
        _ => None,
    });
    let first = headings.next().filter(|first| first.level == 1);
    if let Some(title) = first
        && headings.all(|other| other.level > 1)
    {
        title.is_title = true;
    }
    blocks
}

struct ListLevel {
    indent: usize,
    task: Option<usize>,
    below_task: bool,
}

#[derive(Default)]
struct Scanner {
    blocks: Vec<Block>,
    fence: Option<(Fence, usize)>,
    comment: Option<usize>,
    lists: Vec<ListLevel>,
    /// Whether the previous line was text that the next line may continue.
    in_text: bool,
    content_end: usize,
}

impl Scanner {
    fn line(&mut self, line: Line<'_>) {
        if syntax::is_blank(line.text) {
            if self.fence.is_none() && self.comment.is_none() {
                self.in_text = false;
            }
            return;
        }
        let (width, at) = syntax::indent(line.text);
        let rest = line.text.get(at..).unwrap_or_default();
        if let Some((fence, _)) = self.fence {
            if fence.closed_by(rest) {
                self.fence = None;
            }
        } else if self.comment.is_some() {
            if syntax::find(rest, b"-->").is_some() {
                self.comment = None;
            }
        } else {
            self.open_line(line, width, at, rest);
        }
        self.content_end = line.end();
    }

    /// Handles a line outside of fences and comments.
    fn open_line(&mut self, line: Line<'_>, width: usize, at: usize, rest: &[u8]) {
        let was_text = std::mem::take(&mut self.in_text);
        let start = line.start + at;
        if let Some(fence) = Fence::opened_by(rest) {
            self.leave_lists(width);
            self.fence = Some((fence, line.number));
        } else if rest.starts_with(b">") || syntax::is_rule(rest) {
            self.leave_lists(width);
        } else if rest.starts_with(b"<!--") {
            self.leave_lists(width);
            self.note_comment(line);
        } else if let Some((level, text)) = syntax::atx_heading(rest)
            && width < 4
        {
            self.leave_lists(0);
            if checkbox::checkbox(rest.get(text.clone()).unwrap_or_default()).is_none() {
                self.note_lookalike(line);
            }
            self.blocks.push(Block::Heading(Heading {
                line: line.number,
                start: line.start,
                end: line.end(),
                level,
                text: start + text.start..start + text.end,
                is_title: false,
            }));
            self.note_depends(line);
            self.note_comment(line);
        } else if let Some(content) =
            syntax::list_content(rest).or_else(|| checkbox::unlisted(rest))
        {
            self.list_item(line, width, start + content);
        } else {
            // Without a blank line in between, text continues the item above, whatever its indent.
            if !was_text {
                self.leave_lists(width);
            }
            self.in_text = true;
            self.note_lookalike(line);
            self.note_depends(line);
            self.note_comment(line);
        }
    }

    fn list_item(&mut self, line: Line<'_>, width: usize, content_start: usize) {
        self.leave_lists(width);
        self.in_text = true;
        let content = line.text.get(content_start - line.start..).unwrap_or_default();
        let below_task =
            self.lists.last().is_some_and(|level| level.below_task || level.task.is_some());
        let mut level = ListLevel { indent: width, task: None, below_task };
        if let Some(found) = checkbox::checkbox(content) {
            level.task = Some(self.blocks.len());
            self.blocks.push(Block::Task(TaskItem {
                line: line.number,
                start: line.start,
                end: line.end(),
                mark: content_start + found.mark.start..content_start + found.mark.end,
                text: content_start + found.text.start..content_start + found.text.end,
                nested: below_task,
            }));
        } else {
            self.note_lookalike(line);
        }
        self.lists.push(level);
        if let Some(fence) = Fence::opened_by(content) {
            self.fence = Some((fence, line.number));
        } else if !content.starts_with(b">") {
            self.note_depends(line);
            self.note_comment(line);
        }
    }

    fn note_lookalike(&mut self, line: Line<'_>) {
        if checkbox::looks_like_one(line.text.trim_ascii_start()) {
            self.blocks.push(Block::Lookalike(line.number));
        }
    }

    fn note_comment(&mut self, line: Line<'_>) {
        if syntax::opens_comment(line.text) {
            self.comment = Some(line.number);
            self.in_text = false;
        }
    }

    fn note_depends(&mut self, line: Line<'_>) {
        if depends::is_mentioned(line.text) {
            self.blocks.push(Block::Depends(line.number, line.start..line.end()));
        }
    }

    /// Closes the items that do not contain a line indented by `width`. Two columns are enough to
    /// nest, even below `1.`, where CommonMark wants three: people rarely mean a new list by that.
    fn leave_lists(&mut self, width: usize) {
        while let Some(level) = self.lists.pop_if(|level| width < level.indent + 2) {
            if let Some(Block::Task(task)) = level.task.and_then(|at| self.blocks.get_mut(at)) {
                task.end = self.content_end.max(task.end);
            }
        }
    }
}
