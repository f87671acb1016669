//! Decides what comes next in a plan when the agent wants to stop, and words the instruction.

use std::collections::BTreeSet;

use camino::Utf8PathBuf;

use super::unmet::{first_of, quoted};
use crate::loop_progress::LoopProgress;
use ralph_base::listing::counted;
use ralph_core::plan::{Next, Plan, Story, StoryCounts};

/// The maximum length of a story's description in an instruction; the plan has the rest.
const MOST_DETAILS: usize = 6000;

/// How many remaining stories are named.
const NAMED: usize = 10;

/// The iteration count of a loop, and its limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IterationCount {
    /// The iteration that just ended.
    pub iteration: u64,
    /// The last one that may be started; 0 means no limit.
    pub limit: u64,
}

impl IterationCount {
    /// Reads it from `progress.txt`, with the configured limit as a default.
    pub fn of(progress: &LoopProgress, configured: u64) -> Self {
        let limit = progress.max_iterations.unwrap_or(configured);
        Self { iteration: progress.iteration.unwrap_or(0), limit }
    }

    fn is_spent(self) -> bool {
        self.limit > 0 && self.iteration >= self.limit
    }

    /// Returns how often a session may be continued, which we count ourselves: the blocked agent
    /// can change the files.
    pub fn continuations(self) -> u64 {
        if self.limit == 0 { u64::MAX } else { self.limit }
    }
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep<'a> {
    /// This story.
    GoOn(&'a Story),
    /// Nothing: all is done.
    Complete,
    /// Nothing, because no iteration is left; these stories remain.
    ReachedLimit(Vec<String>),
    /// Nothing, because none of these stories can be worked on.
    Stuck(Vec<String>),
}

/// Decides what comes next. A complete plan is complete even after the last iteration.
pub fn next_step<'a>(
    plan: &'a Plan,
    set_aside: &BTreeSet<String>,
    count: IterationCount,
) -> NextStep<'a> {
    match plan.next_story(set_aside) {
        Next::Complete => NextStep::Complete,
        Next::Stuck { waiting, blocked } => {
            NextStep::Stuck(waiting.into_iter().chain(blocked).map(in_words).collect())
        }
        Next::Story(_) if count.is_spent() => NextStep::ReachedLimit(
            plan.stories()
                .iter()
                .filter(|story| story.state == ralph_core::plan::State::Open && !story.optional)
                .map(in_words)
                .collect(),
        ),
        Next::Story(story) => NextStep::GoOn(story),
    }
}

/// Describes the remaining stories, for the journal.
pub fn remaining(stories: &[String]) -> String {
    let count = counted(stories.len(), "story remains", "stories remain");
    format!("{count}: {}", first_of(stories, NAMED))
}

fn in_words(story: &Story) -> String {
    format!("{} ({})", story.id, quoted(&story.title))
}

/// Who ticks a finished story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ticking {
    /// The agent, in the plan; it describes its work in the progress file.
    Agent {
        /// The file in which the agent describes its work.
        progress: Utf8PathBuf,
    },
    /// We do, once the checks have passed.
    Us,
}

/// Returns the instruction for the next story. `before` is the result of the previous one.
pub fn instruction(
    before: Option<&str>,
    plan: &Plan,
    story: &Story,
    count: IterationCount,
    ticking: &Ticking,
) -> String {
    let iteration = count.iteration.saturating_add(1);
    let limit = match count.limit {
        0 => "no limit".to_owned(),
        limit => limit.to_string(),
    };
    let StoryCounts { open, done, blocked, .. } = plan.counts();
    let all = counted(open + done + blocked, "story", "stories");
    let details: String = story.details.trim().chars().take(MOST_DETAILS).collect();
    let (id, title, path) = (&story.id, story.title.trim(), plan.path());
    let how = match ticking {
        Ticking::Agent { progress } => format!(
            "Read {progress} to see how far the work has come. When it works, set `passes` to true for \
             {id} in {path}, describe what you did in {progress}, and stop; the next story follows. \
             Do not change the other stories."
        ),
        Ticking::Us => format!(
            "When it works, stop: the checks will run, and the story will be committed and ticked \
             for you. Do not edit {path}."
        ),
    };
    let begin = format!("CONTINUATION: iteration {iteration}/{limit}. {done} of {all} done.");
    let next = format!("Next story: {id}: {title}");
    let lines = [begin.as_str(), before.unwrap_or_default(), &next, &details, &how];
    lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Returns `progress.txt` with the next iteration counted and every other byte unchanged. A loop
/// that continues after its limit is in progress again; the status `COMPLETE` is kept.
pub fn counted_up(progress: &[u8], count: IterationCount) -> Vec<u8> {
    let next = count.iteration.saturating_add(1).to_string();
    let counted = LoopProgress::set(progress, "Iteration", &next);
    match LoopProgress::parse(progress).status.as_deref() {
        Some("REACHED_LIMIT") => LoopProgress::set(&counted, "Status", "IN_PROGRESS"),
        _ => counted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::plan::Options;

    const FEATURES: &str = r#"{"total_features":3,"features":[
        {"id":1,"description":"Log in","steps":["open the form","type"],"passes":true},
        {"id":2,"description":"Log out","steps":["press the button"],"passes":false},
        {"id":3,"description":"Reset","steps":[],"passes":false}]}"#;

    fn plan(text: &str) -> Plan {
        let name = if text.starts_with('{') { "/p/feature_list.json" } else { "/p/plan.md" };
        Plan::parse(name.into(), text.as_bytes().to_vec(), &Options::default()).unwrap()
    }

    fn check(text: &str, iteration: u64, limit: u64, expected: &str) {
        let plan = plan(text);
        let found = match next_step(&plan, &BTreeSet::new(), IterationCount { iteration, limit }) {
            NextStep::GoOn(story) => format!("go on with {}", story.id),
            NextStep::Complete => "complete".to_owned(),
            NextStep::ReachedLimit(stories) => format!("limit; {}", remaining(&stories)),
            NextStep::Stuck(stories) => format!("stuck; {}", remaining(&stories)),
        };
        assert_eq!(found, expected, "{iteration}/{limit}");
    }

    #[test]
    fn stories_follow_up_to_the_iteration_limit() {
        check(FEATURES, 0, 2, "go on with 2");
        check(FEATURES, 1, 2, "go on with 2");
        check(FEATURES, 2, 2, "limit; 2 stories remain: 2 (Log out), 3 (Reset)");
        check(FEATURES, 99, 2, "limit; 2 stories remain: 2 (Log out), 3 (Reset)");
        check(FEATURES, 99, 0, "go on with 2");
        let done = FEATURES.replace("false", "true");
        check(&done, 2, 2, "complete");
        check(&done, 0, 0, "complete");
        check("- [!] US-001: a\n- [ ] US-002: b (depends: US-001)\n", 0, 5, {
            "stuck; 2 stories remain: US-002 (b), US-001 (a)"
        });
    }

    #[test]
    fn in_our_loop_the_agent_is_asked_not_to_edit_the_plan() {
        let plan = plan("- [x] US-001: a\n- [ ] US-002: b\n");
        let story = plan.story("US-002").unwrap();
        let before = Some("US-001 is done (commit abc1234).");
        let count = IterationCount { iteration: 1, limit: 0 };
        let text = instruction(before, &plan, story, count, &Ticking::Us);
        assert_eq!(
            text,
            "CONTINUATION: iteration 2/no limit. 1 of 2 stories done.\nUS-001 is done (commit \
             abc1234).\nNext story: US-002: b\nWhen it works, stop: the checks will run, and the \
             story will be committed and ticked for you. Do not edit /p/plan.md."
        );
    }

    #[test]
    fn counting_up_changes_only_the_iteration_and_a_reached_limit() {
        let before = "# x\r\n- Iteration: 1/5 \r\n- Max Iterations: 5\r\n- Status: running\u{0}end";
        let count = IterationCount::of(&LoopProgress::parse(before.as_bytes()), 50);
        assert_eq!(count, IterationCount { iteration: 1, limit: 5 });
        let after = counted_up(before.as_bytes(), count);
        assert_eq!(String::from_utf8(after).unwrap(), before.replace("1/5", "2/5"));
        for (status, expected) in [("REACHED_LIMIT", "IN_PROGRESS"), ("COMPLETE", "COMPLETE")] {
            let before = format!("- Iteration: 1\n- Status: {status}\n");
            let after = LoopProgress::parse(&counted_up(before.as_bytes(), count));
            assert_eq!(after.status.as_deref(), Some(expected));
        }
        let unknown = IterationCount::of(&LoopProgress::default(), 50);
        assert_eq!(unknown, IterationCount { iteration: 0, limit: 50 });
    }
}
