//! Reads a plan of any format and prints its state.
//!
//! ```sh
//! cargo run --quiet -p ralph-loop-core --example read_plan -- .ralph/PRD-1/plan.md
//! ```

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a small program for people")]

use std::collections::BTreeSet;
use std::process::ExitCode;

use ralph_core::plan::{self, Next, Options, Plan, State};

/// One line a story, and what comes next.
fn describe(plan: &Plan) -> String {
    let mut lines: Vec<String> = plan
        .stories()
        .iter()
        .map(|story| {
            let mark = match story.state {
                State::Done => 'x',
                State::Blocked => '!',
                State::Open => ' ',
            };
            format!("[{mark}] {}: {}", story.id, story.title)
        })
        .collect();
    lines.push(match plan.next_story(&BTreeSet::new()) {
        Next::Story(story) => format!("next: {}", story.id),
        _ => "next: nothing".to_owned(),
    });
    lines.join("\n")
}

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: read_plan PLAN");
        return ExitCode::from(2);
    };
    match plan::load(path.as_str().into(), &Options::default()) {
        Ok(plan) => {
            println!("{}", describe(&plan));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stories_and_the_next_one_are_printed() {
        let text = b"- [x] A-1: Model\n- [!] A-2: View\n- [ ] A-3: Glue\n".to_vec();
        let plan = Plan::parse("plan.md".into(), text, &Options::default()).unwrap();
        let expected = "[x] A-1: Model\n[!] A-2: View\n[ ] A-3: Glue\nnext: A-3";
        assert_eq!(describe(&plan), expected);
    }
}
