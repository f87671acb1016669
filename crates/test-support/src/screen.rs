//! What a person sees of what a program printed on a terminal: lines, after everything that was drawn
//! over. It knows the sequences that our own programs use, and as many rows as are needed.

/// What is on the terminal at the end, without empty lines.
pub fn screen_of(shown: &str, columns: usize) -> String {
    let mut screen = Screen::new(columns);
    screen.replay(shown, |_| ());
    screen.text()
}

/// What is on the terminal when a text is on it for the last time, complete: right before the next
/// thing is drawn.
pub fn screen_with(shown: &str, columns: usize, text: &str) -> String {
    let (mut screen, mut found) = (Screen::new(columns), None);
    screen.replay(shown, |screen| {
        let now = screen.text();
        if now.contains(text) {
            found = Some(now);
        }
    });
    let never = || format!("`{text}` was never on the screen:\n{}", screen.text());
    found.ok_or_else(never).expect("the text is shown")
}

struct Screen {
    columns: usize,
    rows: Vec<Vec<char>>,
    row: usize,
    column: usize,
    /// Whether something was written since the last look.
    is_new: bool,
}

impl Screen {
    fn new(columns: usize) -> Self {
        Self { columns, rows: vec![Vec::new()], row: 0, column: 0, is_new: false }
    }

    /// Looks at it whenever something new is complete: right before the cursor goes up.
    fn replay(&mut self, shown: &str, mut look: impl FnMut(&Self)) {
        let mut chars = shown.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\r' => self.column = 0,
                '\n' => self.down(),
                '\u{1b}' if chars.next_if_eq(&'[').is_some() => {
                    let mut number = String::new();
                    while let Some(c) = chars.next_if(|c| !c.is_ascii_alphabetic()) {
                        number.push(c);
                    }
                    let count = number.parse().unwrap_or(1);
                    match chars.next() {
                        Some('A') => {
                            if std::mem::take(&mut self.is_new) {
                                look(self);
                            }
                            self.row = self.row.saturating_sub(count);
                        }
                        Some('B') => (0..count).for_each(|_| self.down()),
                        Some('K') => self.rows[self.row].clear(),
                        _ => {}
                    }
                }
                // A title of the window ends with a bell.
                '\u{1b}' => while chars.next_if(|c| *c != '\u{7}').is_some() {},
                c if c.is_control() => {}
                c => self.put(c),
            }
        }
        look(self);
    }

    fn down(&mut self) {
        self.row += 1;
        if self.row == self.rows.len() {
            self.rows.push(Vec::new());
        }
    }

    fn put(&mut self, c: char) {
        if self.column == self.columns {
            self.down();
            self.column = 0;
        }
        let row = &mut self.rows[self.row];
        if row.len() <= self.column {
            row.resize(self.column + 1, ' ');
        }
        row[self.column] = c;
        self.column += 1;
        self.is_new = true;
    }

    fn text(&self) -> String {
        let lines = self.rows.iter().map(|row| row.iter().collect::<String>());
        let lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
        lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_over_is_gone() {
        let shown = "one\r\nbusy 1\r\nmore\r\u{1b}[2K\u{1b}[1A\r\u{1b}[2Ktwo\r\nbusy 2";
        assert_eq!(screen_of(shown, 20), "one\ntwo\nbusy 2");
        assert_eq!(screen_with(shown, 20, "busy 1"), "one\nbusy 1");
        assert_eq!(screen_of("\u{1b}]2;title\u{7}abcdef", 4), "abcd\nef");
    }
}
