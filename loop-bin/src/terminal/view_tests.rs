//! What is drawn has as many lines as are counted.

use indicatif::TermLike;

use super::*;

/// A terminal that remembers what was written.
#[derive(Debug, Clone, Default)]
struct Paper(Arc<Mutex<Vec<String>>>);

impl TermLike for Paper {
    fn width(&self) -> u16 {
        80
    }

    fn move_cursor_up(&self, _lines: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _lines: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _columns: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _columns: usize) -> io::Result<()> {
        Ok(())
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(text)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.0.lock().unwrap().push(text.to_owned());
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Else the screen takes it for padding, draws a line less than is counted, and the next drawing goes over
/// what stands above.
#[test]
fn no_line_is_blank_though_no_worker_has_begun() {
    let (paper, scene) = (Paper::default(), Arc::default());
    let target = ProgressDrawTarget::term_like_with_hz(Box::new(paper.clone()), 100);
    let bar = ProgressBar::with_draw_target(None, target);
    bar.set_style(drawing(&scene, 3));
    bar.tick();
    let written = paper.0.lock().unwrap();
    let is_blank = |text: &&String| text.bytes().all(|byte| byte == b' ');
    let (padding, lines): (Vec<&String>, Vec<&String>) = written.iter().partition(is_blank);
    let lines = lines.iter().filter(|line| **line != "\r").count();
    assert_eq!((lines, padding.len()), (4, 4), "{written:?}");
}
