//! Simple commands: their assignments, and the commands that they run.

use std::rc::Rc;

use super::context::{Call, Context};
use super::state::Value;
use super::tree::{AssignedValue, Assignment, RawWord, Stage};
use super::walk::{MAX_DEPTH, Walker, is_text};
use super::{
    Command, Effect, FETCHED, Reach, RedirectKind, UNKNOWN, Word, builtins, interpreters, output,
    shells, sources, templates, wrappers,
};

/// The recursion limit for functions; another round would add nothing new.
const MAX_RECURSION: usize = 2;

impl Walker {
    pub(super) fn simple(
        &mut self,
        stage: &Stage,
        assignments: &[Assignment],
        words: &[RawWord],
        context: &Context,
    ) {
        let fields = self.expander().fields(words);
        let mut redirects = self.redirects(&stage.redirects);
        redirects.extend(context.redirects.iter().flat_map(|outer| outer.iter().cloned()));
        if fields.is_empty() && redirects.is_empty() {
            self.visit_assignments(assignments, context, context.effect);
            self.visit(words, context, context.effect);
            self.assign(assignments);
            return;
        }
        let scalars = self.scalars(assignments);
        let call =
            Call { words: fields, assignments: scalars, redirects, span: stage.span.clone() };
        let Some(place) = self.reserve(&call, context) else { return };
        self.visit_assignments(assignments, context, Effect::Ignored);
        self.visit(words, context, Effect::Ignored);
        self.visit_redirects(&stage.redirects, context);
        let mut assigns = call.words.is_empty();
        if !assigns {
            self.remember_written(stage, &call, context);
            self.current = place;
            self.follow(&call, context, true);
            let declares = ["declare", "local", "typeset", "export", "readonly"];
            assigns = call.name().is_some_and(|name| declares.contains(&name));
        }
        if assigns {
            self.assign(assignments);
        }
        self.fill(place, call);
    }

    /// Reserves an entry for a command, before those that it runs; `None` if the budget is used up.
    /// The current state is recorded now; `fill` adds the words.
    fn reserve(&mut self, call: &Call, context: &Context) -> Option<usize> {
        let length: usize = call.words.iter().map(|word| word.text().len()).sum::<usize>()
            + call.redirects.iter().map(|redirect| redirect.target.text().len()).sum::<usize>();
        let cost = 2 + call.words.len() / 2 + length / 64 + context.way.len() / 4;
        if !self.session.spend(cost) {
            return None;
        }
        self.commands.push(Command {
            program: Word::Known(String::new()),
            args: Vec::new(),
            assignments: Vec::new(),
            redirects: Vec::new(),
            reached: context.way.to_vec(),
            effect: context.effect,
            span: call.span.clone(),
            directory: self.state.directory.as_deref().cloned(),
            inline: None,
        });
        Some(self.commands.len() - 1)
    }

    /// Fills the entry that was reserved for a command.
    fn fill(&mut self, place: usize, call: Call) {
        let Some(command) = self.commands.get_mut(place) else { return };
        let mut words = call.words.into_iter();
        if let Some(program) = words.next() {
            command.program = program;
        }
        command.args = words.collect();
        command.assignments = call.assignments;
        command.redirects = call.redirects;
    }

    /// Records a command and follows it; used for commands of wrappers and templates.
    pub(super) fn run(&mut self, call: Call, mut context: Context, functions: bool) {
        if call.words.is_empty() || context.depth >= MAX_DEPTH {
            return;
        }
        let Some(place) = self.reserve(&call, &context) else { return };
        self.current = place;
        context.depth += 1;
        self.follow(&call, &context, functions);
        self.fill(place, call);
    }

    /// Follows the commands that a command runs in turn.
    fn follow(&mut self, call: &Call, context: &Context, functions: bool) {
        let Some(name) = call.name() else { return };
        if functions && self.call_function(name, call, context) {
            return;
        }
        let path = call.words.first().map(Word::text).unwrap_or_default();
        if let Some(text) = path.contains('/').then(|| self.expander().file(path)).flatten() {
            match interpreters::named_by(&text) {
                Some(interpreter) => {
                    let words = [Word::from(interpreter)].into_iter().chain(call.words.clone());
                    self.run(call.with_words(words.collect()), context.via(Reach::Text), false);
                }
                None => self.child(&text, Reach::Text, call, context),
            }
            return;
        }
        let _ = shells::follow(self, name, call, context)
            || builtins::follow(self, name, call, context)
            || templates::follow(self, name, call, context)
            || interpreters::follow(self, name, call, context)
            || wrappers::follow(self, name, call, context);
    }

    /// Follows a text in a child process: its assignments do not leave it.
    pub(super) fn child(&mut self, text: &str, reach: Reach, call: &Call, context: &Context) {
        let before = self.state.clone();
        for (name, value) in &call.assignments {
            self.state.set_scalar(name, value.clone(), &self.session);
        }
        self.run_text(text, Some(call.span.clone()), &context.via(reach).in_child());
        self.state = before;
    }

    fn call_function(&mut self, name: &str, call: &Call, context: &Context) -> bool {
        let Some(body) = self.state.function(name) else { return false };
        let reach = Reach::Function(name.to_owned());
        let active = context.way.iter().filter(|step| **step == reach).count();
        if active >= MAX_RECURSION {
            return true;
        }
        let arguments = std::mem::replace(&mut self.state.parameters, Rc::new(call.words.clone()));
        let mut inner = context.via(reach);
        inner.depth += 1;
        inner.return_effect = inner.effect;
        if inner.depth < MAX_DEPTH {
            self.stage(&body, &inner);
        } else {
            self.session.note_incomplete();
        }
        self.state.parameters = arguments;
        true
    }

    fn scalars(&self, assignments: &[Assignment]) -> Vec<(String, Word)> {
        let expander = self.expander();
        let value = |assignment: &Assignment| match &assignment.value {
            AssignedValue::Scalar(word) => expander.value(word),
            AssignedValue::Array(_) => Word::unknown(),
        };
        assignments.iter().map(|one| (one.name.clone(), value(one))).collect()
    }

    fn assign(&mut self, assignments: &[Assignment]) {
        for assignment in assignments {
            let expander = self.expander();
            let value = match &assignment.value {
                AssignedValue::Scalar(word) => Value::Scalar(expander.value(word)),
                AssignedValue::Array(words) => Value::Array(expander.fields(words)),
            };
            let value = match self.state.variable(&assignment.name) {
                Some(before) if assignment.append => appended(before, value),
                _ => value,
            };
            self.state.set(&assignment.name, value, &self.session);
        }
    }

    fn visit_assignments(&mut self, assignments: &[Assignment], context: &Context, effect: Effect) {
        for assignment in assignments {
            match &assignment.value {
                AssignedValue::Scalar(word) => {
                    self.visit(std::slice::from_ref(word), context, effect);
                }
                AssignedValue::Array(words) => self.visit(words, context, effect),
            }
        }
    }

    /// Stores the text of a file that is written here, in case it is run later.
    fn remember_written(&mut self, stage: &Stage, call: &Call, context: &Context) {
        for file in sources::downloads(call.name().unwrap_or_default(), call.args()) {
            self.session.write(&self.state.locate(file.text()), FETCHED, false);
        }
        let target = call.redirects.iter().find(|redirect| {
            matches!(redirect.kind, RedirectKind::Write | RedirectKind::Append)
                && redirect.descriptor == 1
        });
        let tee = (call.name() == Some("tee")).then(|| call.args().last()).flatten();
        let by_redirect =
            target.map(|redirect| (&redirect.target, redirect.kind == RedirectKind::Append));
        let paths: Vec<(&str, bool)> = by_redirect
            .into_iter()
            .chain(tee.map(|path| (path, false)))
            .map(|(path, append)| (path.text(), append))
            .filter(|(path, _)| !path.starts_with("/dev/") && !path.starts_with(UNKNOWN))
            .collect();
        if paths.is_empty() {
            return;
        }
        let input = context.input.as_deref();
        let printed = output::of_stage(stage, input, self.expander());
        let is_fetched = || {
            let takes_in = input.is_some_and(|text| text.contains(FETCHED));
            takes_in || call.words.iter().take(4).any(|name| sources::is_source(name, &call.words))
        };
        if let Some(text) = printed.or_else(|| is_fetched().then(|| Word::from(FETCHED))) {
            for (path, append) in paths {
                self.session.write(&self.state.locate(path), text.text(), append);
            }
        }
    }

    /// Returns the text of a script: a file that the line has written, or the standard input.
    pub(super) fn script(&self, path: &str, call: &Call, context: &Context) -> Option<Rc<str>> {
        match path {
            "-" | "/dev/stdin" | "/dev/fd/0" => self.standard_input(call, context),
            path => self.expander().file(path),
        }
    }

    /// Returns the standard input of a call: a here-document, a file written before, or a pipe.
    pub(super) fn standard_input(&self, call: &Call, context: &Context) -> Option<Rc<str>> {
        let mut redirects = call.redirects.iter().rev();
        if let Some(redirect) = redirects.clone().find(|redirect| is_text(redirect)) {
            return Some(redirect.target.text().into());
        }
        match redirects.find(|redirect| redirect.kind == RedirectKind::Read) {
            Some(redirect) => self.expander().file(redirect.target.text()),
            None => context.input.clone(),
        }
    }
}

fn appended(before: &Value, value: Value) -> Value {
    match (before, value) {
        (Value::Scalar(before), Value::Scalar(more)) => {
            Value::Scalar(Word::from(format!("{}{}", before.text(), more.text())))
        }
        (Value::Array(before), Value::Array(more)) => {
            Value::Array(before.iter().cloned().chain(more).collect())
        }
        (_, value) => value,
    }
}
