//! What is visible of a program's output on a terminal: lines, after everything that overwrote
//! them. It supports the sequences that our own programs use, and any number of rows.

/// Returns the final screen, without empty lines.
pub fn screen_of(shown: &str, columns: usize) -> String {
    let mut screen = Screen::new(columns);
    screen.replay(shown, |_| ());
    screen.text()
}

/// Returns the last complete screen that contains a text: right before the next update.
pub fn screen_with(shown: &str, columns: usize, text: &str) -> String {
    last_with(shown, columns, text).text()
}

/// Like `screen_with`, but in colour: lines of texts, each with its SGR colour number.
pub fn coloured_screen_with(shown: &str, columns: usize, text: &str) -> Vec<Vec<(u8, String)>> {
    let rows = last_with(shown, columns, text).rows;
    let rows = rows.into_iter().filter(|row| row.iter().any(|(c, _)| *c != ' '));
    let parts = rows.map(|row| {
        let parts = row.chunk_by(|(_, one), (_, other)| one == other);
        parts.map(|part| (part[0].1, part.iter().map(|(c, _)| c).collect())).collect()
    });
    parts.collect()
}

fn last_with(shown: &str, columns: usize, text: &str) -> Screen {
    let (mut screen, mut found) = (Screen::new(columns), None);
    screen.replay(shown, |screen| {
        if screen.text().contains(text) {
            found = Some(screen.clone());
        }
    });
    let never = || format!("`{text}` was never on the screen:\n{}", screen.text());
    found.ok_or_else(never).expect("the text is shown")
}

#[derive(Clone)]
struct Screen {
    columns: usize,
    /// The characters with their colours.
    rows: Vec<Vec<(char, u8)>>,
    colour: u8,
    row: usize,
    column: usize,
    /// Whether something was written since `look` was last called.
    is_new: bool,
}

impl Screen {
    fn new(columns: usize) -> Self {
        Self { columns, rows: vec![Vec::new()], colour: 0, row: 0, column: 0, is_new: false }
    }

    /// Calls `look` whenever new output is complete: right before the cursor goes up.
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
                        Some('J') => {
                            self.rows.truncate(self.row + 1);
                            self.rows[self.row].clear();
                        }
                        Some('K') => self.rows[self.row].clear(),
                        // Bold is not a colour.
                        Some('m') if number != "1" => self.colour = number.parse().unwrap_or(0),
                        _ => {}
                    }
                }
                // A window title ends with a bell.
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
            row.resize(self.column + 1, (' ', 0));
        }
        row[self.column] = (c, self.colour);
        self.column += 1;
        self.is_new = true;
    }

    fn text(&self) -> String {
        let lines = self.rows.iter().map(|row| row.iter().map(|(c, _)| c).collect::<String>());
        let lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
        lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    }
}
