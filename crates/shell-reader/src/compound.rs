//! Groups, conditionals, loops, `case`, functions and tests.

use super::parser::Parser;
use super::tree::{Body, List, RawWord};

/// Reserved words that begin a compound command.
const OPENING: [&str; 9] = ["if", "while", "until", "for", "select", "case", "function", "{", "[["];

impl Parser<'_> {
    /// Reads a compound command; `None` if a simple one comes next.
    pub(super) fn compound(&mut self) -> Option<Body> {
        if self.peek() == Some(b'(') {
            return self.deeper(Self::parentheses).or_else(|| {
                self.position += 1;
                None
            });
        }
        let word = self.reserved(&OPENING)?;
        self.position += word.len();
        self.deeper(|parser| match word {
            "if" => parser.conditional(),
            "while" | "until" => {
                let condition = parser.list(&["do", "done"]);
                Body::While { condition, body: parser.loop_body() }
            }
            "for" | "select" => parser.for_loop(),
            "case" => parser.case(),
            "function" => parser.function_keyword(),
            "{" => {
                let list = parser.list(&["}"]);
                parser.close("}");
                Body::Group { list, subshell: false }
            }
            _ => parser.test(),
        })
    }

    fn close(&mut self, word: &str) {
        if !self.eat_word(word) {
            self.note_incomplete();
        }
    }

    fn parentheses(&mut self) -> Body {
        if let Some(expression) = self.double_parentheses() {
            return Body::Test(vec![expression]);
        }
        self.position += 1;
        Body::Group { list: self.list_in_parens(), subshell: true }
    }

    fn conditional(&mut self) -> Body {
        let mut arms = Vec::new();
        loop {
            let condition = self.list(&["then", "elif", "else", "fi"]);
            self.close("then");
            arms.push((condition, self.list(&["elif", "else", "fi"])));
            if !self.eat_word("elif") {
                break;
            }
        }
        let otherwise = self.eat_word("else").then(|| self.list(&["fi"]));
        self.close("fi");
        Body::If { arms, otherwise }
    }

    /// Reads `do … done`, or `{ … }`, which bash accepts instead.
    fn loop_body(&mut self) -> List {
        self.skip_lines();
        self.eat(";");
        self.skip_lines();
        let end = if self.eat_word("{") {
            "}"
        } else {
            self.close("do");
            "done"
        };
        let body = self.list(&[end]);
        self.close(end);
        body
    }

    fn for_loop(&mut self) -> Body {
        self.skip_blanks();
        if let Some(head) = self.double_parentheses() {
            let condition = List::of_words(vec![head]);
            return Body::While { condition, body: self.loop_body() };
        }
        let name = self.take_until(|byte| byte != b'_' && !byte.is_ascii_alphanumeric()).to_owned();
        self.skip_lines();
        let words = self.eat_word("in").then(|| self.words());
        Body::For { name, words, body: self.loop_body() }
    }

    /// Reads words up to a newline or `;`.
    fn words(&mut self) -> Vec<RawWord> {
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            let Some(word) = self.some_word() else { return words };
            words.push(word);
        }
    }

    fn case(&mut self) -> Body {
        self.skip_blanks();
        let subject = self.word();
        self.skip_lines();
        self.close("in");
        let mut arms = Vec::new();
        loop {
            self.skip_lines();
            if self.peek().is_none() || self.reserved(&["esac"]).is_some() {
                break;
            }
            let before = self.position;
            self.eat("(");
            let patterns = self.patterns();
            let body = self.list(&["esac", ";;"]);
            arms.push((patterns, body));
            let ended = self.eat(";;&") || self.eat(";;") || self.eat(";&");
            if !ended && self.position == before {
                break;
            }
        }
        self.close("esac");
        Body::Case { subject, arms }
    }

    fn patterns(&mut self) -> Vec<RawWord> {
        let mut patterns = Vec::new();
        loop {
            self.skip_lines();
            patterns.push(self.word());
            self.skip_lines();
            if self.eat(")") {
                return patterns;
            }
            if !self.eat("|") {
                self.note_incomplete();
                return patterns;
            }
        }
    }

    fn function_keyword(&mut self) -> Body {
        self.skip_blanks();
        let start = self.position;
        let name = self.word().plain().unwrap_or_default().to_owned();
        self.skip_blanks();
        if self.eat("(") {
            self.skip_blanks();
            self.eat(")");
        }
        self.function(name, start).body
    }

    /// Reads the words of `[[ … ]]`; operators and parentheses do not matter.
    fn test(&mut self) -> Body {
        let mut words = Vec::new();
        loop {
            self.skip_lines();
            if self.eat_word("]]") {
                return Body::Test(words);
            }
            if self.peek().is_none() {
                self.note_incomplete();
                return Body::Test(words);
            }
            match self.some_word() {
                Some(word) => words.push(word),
                None => drop(self.bump()),
            }
        }
    }
}
