//! The state of a running shell: variables, functions, directory, options.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use super::Word;
use super::tree::Stage;

/// The maximum number of names to remember; copies for subshells must stay cheap.
const MAX_NAMES: usize = 200;
/// The longest value to remember: repeating `a=$a$a` would grow without limit.
const MAX_VALUE: usize = 16 * 1024;
/// The longest path to remember: after a thousand `cd x`, every command would carry it.
const MAX_PATH: usize = 1024;
/// The work that a command line may cause beyond its own length, in words and commands.
const BUDGET: usize = 10_000;
/// The maximum length that adds to the budget; a longer line is read until that is used up.
const MAX_CREDIT: usize = 60_000;

/// The state of the shell at one point of the line.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    // Shared until changed, because every subshell and pipeline stage gets a copy.
    names: Rc<Names>,
    /// The positional parameters, `$0` first.
    pub(super) parameters: Rc<Vec<Word>>,
    /// The directory set by `cd`, if it was used.
    pub(super) directory: Option<Rc<Word>>,
    pub(super) exits_on_failure: bool,
    pub(super) pipe_fails: bool,
}

/// The variables and functions that the line defines.
#[derive(Debug, Clone, Default)]
struct Names {
    variables: BTreeMap<String, Value>,
    functions: BTreeMap<String, Rc<Stage>>,
}

/// The value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Scalar(Word),
    Array(Vec<Word>),
}

impl State {
    /// Creates the state of a new shell with these variables.
    pub(super) fn new(environment: &[(&str, &str)]) -> Self {
        let value =
            |(name, text): &(&str, &str)| ((*name).to_owned(), Value::Scalar((*text).into()));
        let variables = environment.iter().map(value).collect();
        Self { names: Rc::new(Names { variables, ..Names::default() }), ..Self::default() }
    }

    pub(super) fn variable(&self, name: &str) -> Option<&Value> {
        self.names.variables.get(name)
    }

    pub(super) fn set(&mut self, name: &str, value: Value, session: &Session) {
        let variables = &self.names.variables;
        if variables.len() >= MAX_NAMES && !variables.contains_key(name) {
            session.note_incomplete();
            return;
        }
        if !self.pay_for_copy(session) {
            return;
        }
        let value = if value.length() > MAX_VALUE {
            session.note_incomplete();
            Value::Scalar(Word::unknown())
        } else {
            value
        };
        Rc::make_mut(&mut self.names).variables.insert(name.to_owned(), value);
    }

    /// Pays for copying the names, which are shared until they change.
    fn pay_for_copy(&self, session: &Session) -> bool {
        if Rc::strong_count(&self.names) == 1 {
            return true;
        }
        let Names { variables, functions } = &*self.names;
        let texts = variables.values().map(Value::length).sum::<usize>();
        session.spend(1 + (variables.len() + functions.len()) / 8 + texts / 256)
    }

    pub(super) fn function(&self, name: &str) -> Option<Rc<Stage>> {
        self.names.functions.get(name).cloned()
    }

    pub(super) fn set_scalar(&mut self, name: &str, value: Word, session: &Session) {
        self.set(name, Value::Scalar(value), session);
    }

    pub(super) fn define(&mut self, name: &str, body: Rc<Stage>, session: &Session) {
        if self.names.functions.len() >= MAX_NAMES || !self.pay_for_copy(session) {
            session.note_incomplete();
        } else {
            Rc::make_mut(&mut self.names).functions.insert(name.to_owned(), body);
        }
    }

    /// Changes to `target`, relative to the current directory.
    pub(super) fn change_directory(&mut self, target: &Word) {
        let text = target.text();
        let absolute = text.starts_with(['/', '~', super::script::UNKNOWN]);
        let joined = match &self.directory {
            Some(before) if !absolute => Word::from(format!("{}/{text}", before.text())),
            _ => target.clone(),
        };
        let known = joined.text().len() <= MAX_PATH;
        self.directory = Some(Rc::new(if known { joined } else { Word::unknown() }));
    }

    /// Returns the normalised path under which a file is remembered, whatever the directory.
    pub(super) fn locate(&self, path: &str) -> String {
        let folder = match &self.directory {
            Some(folder) if !path.starts_with(['/', '~']) => folder.text(),
            _ => "",
        };
        let mut parts = Vec::new();
        for part in folder.split('/').chain(path.split('/')) {
            match part {
                "" | "." => {}
                ".." if parts.last().is_some_and(|last| *last != "..") => {
                    parts.pop();
                }
                part => parts.push(part),
            }
        }
        let is_absolute = path.starts_with('/') || folder.starts_with('/');
        format!("{}{}", if is_absolute { "/" } else { "" }, parts.join("/"))
    }

    /// Merges the state after the other branch: values that differ become unknown.
    pub(super) fn merge(&mut self, other: &Self, session: &Session) {
        if !Rc::ptr_eq(&self.names, &other.names) && self.pay_for_copy(session) {
            let ours = Rc::make_mut(&mut self.names);
            for (name, theirs) in &other.names.variables {
                let value = ours.variables.entry(name.clone()).or_insert_with(|| theirs.clone());
                if value != theirs {
                    *value = Value::Scalar(Word::unknown());
                }
            }
            let theirs = &other.names.functions;
            ours.functions.extend(theirs.iter().map(|(name, body)| (name.clone(), body.clone())));
        }
        if self.directory != other.directory {
            self.directory = Some(Rc::new(Word::unknown()));
        }
    }
}

impl Value {
    fn length(&self) -> usize {
        match self {
            Self::Scalar(word) => word.text().len(),
            Self::Array(words) => words.iter().map(|word| word.text().len()).sum(),
        }
    }
}

/// Data shared by everything that one line runs.
#[derive(Debug)]
pub(super) struct Session {
    left: Cell<usize>,
    complete: Cell<bool>,
    /// Files that the line itself writes with known text, so that a script can be read if the line
    /// also runs it.
    files: RefCell<BTreeMap<String, String>>,
}

impl Session {
    /// Creates a session for a line of this length; a longer line may cost more.
    pub(super) fn new(length: usize) -> Self {
        let left = Cell::new(BUDGET + length.min(MAX_CREDIT));
        Self { left, complete: Cell::new(true), files: RefCell::default() }
    }

    /// Pays for work; false if the line's budget is used up.
    pub(super) fn spend(&self, amount: usize) -> bool {
        let left = self.left.get();
        if left < amount {
            self.left.set(0);
            self.complete.set(false);
            return false;
        }
        self.left.set(left - amount);
        true
    }

    pub(super) fn note_incomplete(&self) {
        self.complete.set(false);
    }

    pub(super) fn is_complete(&self) -> bool {
        self.complete.get()
    }

    pub(super) fn write(&self, path: &str, text: &str, append: bool) {
        let mut files = self.files.borrow_mut();
        if files.len() >= MAX_NAMES {
            return;
        }
        let file = files.entry(path.to_owned()).or_default();
        if !append {
            file.clear();
        }
        if file.len() + text.len() <= 4 * MAX_VALUE {
            file.push_str(text);
        }
    }

    /// Stores a text under a new name, as `<( … )` does.
    pub(super) fn keep(&self, text: &str) -> String {
        let path = format!("/dev/fd/{}", 63 + self.files.borrow().len());
        self.write(&path, text, false);
        path
    }

    pub(super) fn file(&self, path: &str) -> Option<Rc<str>> {
        self.files.borrow().get(path).map(|text| text.as_str().into())
    }
}
