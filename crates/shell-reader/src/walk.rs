//! Walks the tree in execution order, and records each simple command.

use std::ops::Range;
use std::rc::Rc;

use super::context::Context;
use super::expand::Expander;
use super::sources::is_source;
use super::state::{Session, State};
use super::status_effect::{self, AfterFailure, PassedOn};
use super::tree::{Body, Item, List, Operation, Part, Pipeline, RawRedirect, RawWord, Stage};
use super::{
    Command, Effect, FETCHED, Reach, Redirect, RedirectKind, Script, Word, output, parser,
};

/// The maximum nesting of lists, functions and texts to follow.
pub(super) const MAX_DEPTH: usize = 60;
/// The maximum number of loop rounds, followed by one round with an unknown word.
const MAX_ROUNDS: usize = 12;
/// The maximum number of redirections passed on to the commands of a group.
const MAX_INHERITED: usize = 16;

/// Collects everything that a line would run.
pub(super) struct Walker {
    pub(super) session: Session,
    pub(super) state: State,
    pub(super) commands: Vec<Command>,
    /// The index in `commands` of the command that is being followed.
    pub(super) current: usize,
}

impl Walker {
    /// Creates a walker for a line of this length.
    pub(super) fn new(length: usize, environment: &[(&str, &str)]) -> Self {
        Self {
            session: Session::new(length),
            state: State::new(environment),
            commands: Vec::new(),
            current: 0,
        }
    }

    /// Reads the whole line.
    pub(super) fn read(mut self, command: &str) -> Script {
        self.run_text(command, None, &Context::default());
        let complete = self.session.is_complete();
        Script { commands: self.commands, complete }
    }

    /// Parses a text and follows it in the current state.
    pub(super) fn run_text(&mut self, text: &str, place: Option<Range<usize>>, context: &Context) {
        // The line itself is read once; texts in it may be read many times.
        if place.is_some() && !self.session.spend(1 + text.len() / 4) {
            return;
        }
        let (list, complete) = parser::parse(text, place);
        if !complete {
            self.session.note_incomplete();
        }
        self.list(&list, context);
    }

    pub(super) fn expander(&self) -> Expander<'_> {
        Expander::new(&self.state, &self.session)
    }

    pub(super) fn list(&mut self, list: &List, context: &Context) {
        if context.depth >= MAX_DEPTH {
            self.session.note_incomplete();
            return;
        }
        if !self.session.spend(1 + context.way.len() / 4) {
            return;
        }
        let context = Context { depth: context.depth + 1, ..context.clone() };
        for place in 0..list.items.len() {
            self.item(list, place, &context);
        }
    }

    fn item(&mut self, list: &List, place: usize, context: &Context) {
        let Some(item) = list.items.get(place) else { return };
        if !self.session.spend(1) {
            return;
        }
        let passed_on = status_effect::passed_on(list, place);
        let seen = place + 1 == list.items.len() || passed_on == Some(PassedOn::Last);
        let background = item.background.then(|| context.via(Reach::Background).masked());
        let context = background.as_ref().unwrap_or(context);
        for (at, (_, pipeline)) in item.chain.iter().enumerate() {
            let effect = match status_effect::after_failure(&item.chain, at) {
                AfterFailure::Ends(ended) => context.effect_of(ended),
                AfterFailure::ChainFails if seen => context.effect,
                AfterFailure::ChainFails
                    if self.state.exits_on_failure && at + 1 == item.chain.len() =>
                {
                    context.effect
                }
                AfterFailure::Saved(name)
                    if status_effect::variable_passed_on(list, place, name) =>
                {
                    context.effect
                }
                _ => Effect::Ignored,
            };
            let visible_stage = match passed_on {
                Some(PassedOn::Stage(stage)) if item.chain.len() == 1 => {
                    Some((stage, context.effect))
                }
                _ => None,
            };
            self.pipeline(pipeline, visible_stage, context.clone().with_effect(effect));
        }
    }

    fn pipeline(
        &mut self,
        pipeline: &Pipeline,
        visible: Option<(usize, Effect)>,
        mut context: Context,
    ) {
        if pipeline.negated {
            context.effect = Effect::Ignored;
        }
        let [stage] = pipeline.stages.as_slice() else {
            self.stages(&pipeline.stages, visible, &context);
            return;
        };
        self.stage(stage, &context);
    }

    fn stages(&mut self, stages: &[Stage], visible: Option<(usize, Effect)>, context: &Context) {
        let mut input = context.input.clone();
        for (place, stage) in stages.iter().enumerate() {
            let last = place + 1 == stages.len();
            let effect = match visible {
                Some((at, effect)) if at == place => effect,
                _ if last || self.state.pipe_fails => context.effect,
                _ => Effect::Ignored,
            };
            let mut inner = context.via(Reach::Pipe { last }).with_effect(effect).in_child();
            inner.input = input.clone();
            let known = input.as_deref();
            let printed = if last { None } else { output::of_stage(stage, known, self.expander()) };
            // Each stage is a process of its own: its assignments are lost when it ends.
            let before = self.state.clone();
            let first = self.commands.len();
            self.stage(stage, &inner);
            self.state = before;
            let is_fetched = known.is_some_and(|text| text.contains(FETCHED))
                || self.commands.iter().skip(first).any(|one| is_source(&one.program, &one.args));
            let printed = printed.or_else(|| is_fetched.then(|| Word::from(FETCHED)));
            input = printed.map(|text| text.text().into());
        }
    }

    pub(super) fn stage(&mut self, stage: &Stage, context: &Context) {
        match &stage.body {
            Body::Simple { assignments, words } => {
                self.simple(stage, assignments, words, context);
                return;
            }
            Body::Function { name, body } => {
                self.state.define(name, Rc::clone(body), &self.session);
                return;
            }
            _ => {}
        }
        let mut context = context.clone();
        let mut own = self.redirects(&stage.redirects);
        self.visit_redirects(&stage.redirects, &context);
        own.retain(|redirect| {
            let text = match redirect.kind {
                _ if is_text(redirect) => Some(redirect.target.text().into()),
                RedirectKind::Read => self.expander().file(redirect.target.text()),
                _ => None,
            };
            let is_other = text.is_none();
            context.input = text.or_else(|| context.input.take());
            is_other
        });
        if !own.is_empty() {
            own.extend(context.redirects.iter().flat_map(|outer| outer.iter().cloned()));
            own.truncate(MAX_INHERITED);
            context.redirects = Some(Rc::new(own));
        }
        self.compound(stage, &context);
    }

    fn compound(&mut self, stage: &Stage, context: &Context) {
        match &stage.body {
            Body::Group { list, subshell } => {
                let before = subshell.then(|| self.state.clone());
                let inner = context.via(Reach::Group);
                self.list(list, &if *subshell { inner.in_child() } else { inner });
                if let Some(before) = before {
                    self.state = before;
                }
            }
            Body::If { arms, otherwise } => self.conditional(arms, otherwise.as_ref(), context),
            Body::While { condition, body } => {
                let mut inner = context.via(Reach::Conditional).masked();
                for input in rounds(condition, context.input.as_ref()) {
                    inner.input = input;
                    self.list(condition, &inner);
                    self.list(body, &self.loop_context(&inner, context));
                }
            }
            Body::For { name, words, body } => self.for_loop(name, words.as_deref(), body, context),
            Body::Case { subject, arms } => self.case(subject, arms, context),
            Body::Test(words) => self.visit(words, context, Effect::Ignored),
            Body::Simple { .. } | Body::Function { .. } => {}
        }
    }

    /// Returns a loop body's context: only the last round decides the status, except with `set -e`.
    fn loop_context(&self, inner: &Context, context: &Context) -> Context {
        let effect = if self.state.exits_on_failure { context.effect } else { inner.effect };
        inner.clone().with_effect(effect)
    }

    fn conditional(&mut self, arms: &[(List, List)], otherwise: Option<&List>, context: &Context) {
        let mut after: Option<State> = None;
        for (condition, body) in arms {
            let negated = matches!(condition.items.as_slice(), [Item { chain, .. }] if matches!(chain.as_slice(), [(_, only)] if only.negated));
            let on_failure =
                if negated { Some(body) } else { otherwise.filter(|_| arms.len() == 1) };
            match on_failure
                .and_then(status_effect::list_ends)
                .map(|ended| context.effect_of(ended))
            {
                Some(effect) if negated => {
                    self.negated_condition(condition, &context.clone().with_effect(effect));
                }
                Some(effect) => self.list(condition, &context.clone().with_effect(effect)),
                None => self.list(condition, &context.clone().masked()),
            }
            let before = self.state.clone();
            self.list(body, &context.via(Reach::Conditional));
            let taken = std::mem::replace(&mut self.state, before);
            match &mut after {
                Some(after) => after.merge(&taken, &self.session),
                None => after = Some(taken),
            }
        }
        if let Some(otherwise) = otherwise {
            self.list(otherwise, &context.via(Reach::Conditional));
        }
        if let Some(mut after) = after {
            if otherwise.is_some() {
                after.merge(&self.state, &self.session);
            }
            self.state = after;
        }
    }

    /// Follows `if ! a; then exit 1; fi`, where a failure of `a` is a failure of the line.
    fn negated_condition(&mut self, condition: &List, context: &Context) {
        for item in &condition.items {
            for (_, pipeline) in &item.chain {
                let plain = Pipeline { negated: false, ..pipeline.clone() };
                self.pipeline(&plain, None, context.clone());
            }
        }
    }

    fn for_loop(&mut self, name: &str, words: Option<&[RawWord]>, body: &List, context: &Context) {
        let values: Vec<Word> = match words {
            Some(words) => {
                self.visit(words, context, Effect::Ignored);
                self.expander().fields(words)
            }
            None => self.state.parameters.iter().skip(1).cloned().collect(),
        };
        let inner = self.loop_context(&context.via(Reach::Conditional).masked(), context);
        let rounds = if values.is_empty() { vec![Word::unknown()] } else { values };
        for (round, value) in rounds.iter().enumerate() {
            let last = round == MAX_ROUNDS;
            let value = if last { Word::unknown() } else { value.clone() };
            self.state.set_scalar(name, value, &self.session);
            self.list(body, &inner);
            if last || !self.session.spend(1) {
                break;
            }
        }
    }

    fn case(&mut self, subject: &RawWord, arms: &[(Vec<RawWord>, List)], context: &Context) {
        self.visit(std::slice::from_ref(subject), context, Effect::Ignored);
        let before = self.state.clone();
        let mut after = before.clone();
        for (patterns, body) in arms {
            self.visit(patterns, context, Effect::Ignored);
            self.list(body, &context.via(Reach::Conditional));
            let taken = std::mem::replace(&mut self.state, before.clone());
            after.merge(&taken, &self.session);
        }
        self.state = after;
    }

    /// Follows the substitutions in words; `effect` is the effect of their status.
    pub(super) fn visit(&mut self, words: &[RawWord], context: &Context, effect: Effect) {
        for word in words {
            self.visit_parts(&word.parts, context, effect);
        }
    }

    pub(super) fn visit_redirects(&mut self, redirects: &[RawRedirect], context: &Context) {
        for redirect in redirects {
            if let Some(target) = redirect.word() {
                self.visit_parts(&target.parts, context, Effect::Ignored);
            }
        }
    }

    fn visit_parts(&mut self, parts: &[Part], context: &Context, effect: Effect) {
        for part in parts {
            match part {
                Part::Substitution { body, .. } | Part::Process(body) => {
                    let process = matches!(part, Part::Process(_));
                    let effect = if process { Effect::Ignored } else { effect };
                    let mut inner = context.via(Reach::Substitution).with_effect(effect).in_child();
                    inner.input = None;
                    inner.redirects = None;
                    let before = self.state.clone();
                    self.list(body, &inner);
                    self.state = before;
                }
                Part::Arithmetic(word) => self.visit_parts(&word.parts, context, effect),
                Part::Variable(variable) => match &variable.operation {
                    Operation::Default { word, assigns } => {
                        self.visit_parts(&word.parts, context, effect);
                        if *assigns && self.state.variable(&variable.name).is_none() {
                            let value = self.expander().value(word);
                            self.state.set_scalar(&variable.name, value, &self.session);
                        }
                    }
                    Operation::Alternative(word) | Operation::Other(word) => {
                        self.visit_parts(&word.parts, context, effect);
                    }
                    Operation::Value => {}
                },
                Part::Plain(_) | Part::Quoted(_) | Part::Opaque => {}
            }
        }
    }

    pub(super) fn redirects(&self, redirects: &[RawRedirect]) -> Vec<Redirect> {
        let expander = self.expander();
        redirects
            .iter()
            .map(|redirect| Redirect {
                kind: redirect.kind,
                target: redirect.word().map_or_else(|| Word::from(""), |word| expander.value(word)),
                descriptor: redirect.descriptor,
            })
            .collect()
    }
}

/// Returns the standard input of `while read` in each round.
fn rounds(condition: &List, input: Option<&Rc<str>>) -> Vec<Option<Rc<str>>> {
    let chains = condition.items.iter().flat_map(|item| &item.chain);
    let mut stages = chains.flat_map(|(_, pipeline)| &pipeline.stages);
    let reads = stages.any(|stage| status_effect::program(stage) == Some("read"));
    match input {
        Some(text) if reads && text.lines().nth(1).is_some() => {
            text.lines().take(MAX_ROUNDS).map(|line| Some(line.into())).collect()
        }
        _ => vec![input.cloned()],
    }
}

/// Returns whether a redirection supplies text that is written on the line.
pub(super) fn is_text(redirect: &Redirect) -> bool {
    matches!(redirect.kind, RedirectKind::HereDocument | RedirectKind::HereString)
}

/// The maximum length, far beyond any real command line; a megabyte takes time to read.
const MAX_LENGTH: usize = 1 << 20;

/// Reads a command line as bash would; environment variables are unknown.
pub fn read(command: &str) -> Script {
    read_with(command, &[])
}

/// Reads a command line, given the values of some environment variables, such as `HOME`.
pub fn read_with(command: &str, variables: &[(&str, &str)]) -> Script {
    let walker = Walker::new(command.len(), variables);
    let end = (0..=MAX_LENGTH.min(command.len())).rev().find(|end| command.is_char_boundary(*end));
    let text = command.get(..end.unwrap_or_default()).unwrap_or_default();
    if text.len() < command.len() {
        walker.session.note_incomplete();
    }
    walker.read(text)
}
