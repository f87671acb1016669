//! Simple commands that another shell parser finds must be among those that we read.
//!
//! The other one is shuck-parser, written by other people for a linter. Only commands whose words
//! are fixed text are compared, because it does not expand anything.

use shuck_ast::{Command, CompoundCommand, Stmt, StmtSeq, Word, WordPart, WordPartNode};
use shuck_parser::parser::Parser;
use test_support::labelled_commands;

/// Collects the words of simple commands.
struct Collector<'s> {
    source: &'s str,
    found: Vec<Vec<String>>,
}

impl Collector<'_> {
    fn sequence(&mut self, statements: &StmtSeq) {
        for statement in &statements.stmts {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        match &statement.command {
            Command::Simple(simple) => {
                let words: Vec<&Word> = std::iter::once(&simple.name).chain(&simple.args).collect();
                words.iter().for_each(|word| self.substitutions(&word.parts));
                let braces = words.iter().any(|word| word.has_active_brace_expansion());
                let texts: Option<Vec<String>> = words
                    .iter()
                    .map(|word| word.try_static_text(self.source).map(|text| text.into_owned()))
                    .collect();
                if let Some(texts) = texts.filter(|texts| !braces && !texts[0].is_empty()) {
                    self.found.push(texts);
                }
            }
            Command::Binary(binary) => {
                self.statement(&binary.left);
                self.statement(&binary.right);
            }
            Command::Compound(compound) => self.compound(compound),
            _ => {}
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::If(conditional) => {
                self.sequence(&conditional.condition);
                self.sequence(&conditional.then_branch);
                for (condition, body) in &conditional.elif_branches {
                    self.sequence(condition);
                    self.sequence(body);
                }
                conditional.else_branch.iter().for_each(|body| self.sequence(body));
            }
            CompoundCommand::For(repeated) => self.sequence(&repeated.body),
            CompoundCommand::ArithmeticFor(repeated) => self.sequence(&repeated.body),
            CompoundCommand::While(repeated) => {
                self.sequence(&repeated.condition);
                self.sequence(&repeated.body);
            }
            CompoundCommand::Until(repeated) => {
                self.sequence(&repeated.condition);
                self.sequence(&repeated.body);
            }
            CompoundCommand::Case(case) => {
                case.cases.iter().for_each(|case| self.sequence(&case.body));
            }
            CompoundCommand::Subshell(list) | CompoundCommand::BraceGroup(list) => {
                self.sequence(list);
            }
            CompoundCommand::Time(timed) => {
                timed.command.iter().for_each(|statement| self.statement(statement));
            }
            CompoundCommand::Coproc(coproc) => self.statement(&coproc.body),
            _ => {}
        }
    }

    fn substitutions(&mut self, parts: &[WordPartNode]) {
        for part in parts {
            match &part.kind {
                WordPart::DoubleQuoted { parts, .. } => self.substitutions(parts),
                WordPart::CommandSubstitution { body, .. }
                | WordPart::ProcessSubstitution { body, .. } => self.sequence(body),
                _ => {}
            }
        }
    }
}

/// The labelled commands, escapes resolved.
fn corpus() -> Vec<String> {
    labelled_commands("commands.tsv").into_iter().map(|row| row.command).collect()
}

#[test]
fn nothing_that_the_second_parser_finds_is_missed() {
    let (mut compared, mut missed) = (0, Vec::new());
    for command in corpus() {
        let parsed = Parser::new(&command).parse();
        // It neither follows aliases nor takes the backslash from a plain word.
        if parsed.is_err() || command.starts_with("alias ") {
            continue;
        }
        let mut collector = Collector { source: &command, found: Vec::new() };
        collector.sequence(&parsed.file.body);
        let ours: Vec<Vec<String>> = shell_reader::read(&command)
            .commands
            .iter()
            .map(|command| {
                std::iter::once(&command.program)
                    .chain(&command.args)
                    .map(|word| word.text().to_owned())
                    .collect()
            })
            .collect();
        for theirs in collector.found {
            compared += 1;
            let plain = |words: &Vec<String>| words.join(" ").replace('\\', "");
            if !ours.iter().any(|ours| plain(ours) == plain(&theirs)) {
                missed.push(format!("{command}\n  they found {theirs:?}\n  we read {ours:?}"));
            }
        }
    }
    assert!(missed.is_empty(), "{} of {compared}:\n{}", missed.len(), missed.join("\n"));
    assert!(compared > 300, "only {compared} commands were compared");
}
