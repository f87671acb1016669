//! One journal of a bad night: three workers, two plans with the same ids, a blocked story, a wait,
//! refusals, and a loop that was killed and resumed. All renderings must have the same numbers.
#![expect(clippy::unwrap_used, reason = "tests fail loudly")]

use camino::Utf8Path;
use ralph_base::state::{Record, StateDir};
use ralph_core::git::Git;
use ralph_core::plan::{Options, Plan};
use regex::Regex;
use run_history::{Report, Run, RunHistory, Situation};
use test_support::TestRepo;

const PRD_1: &str =
    "- [x] US-001: Log in\n- [!] US-002: Log out\n- [ ] US-003: Reset (after US-002)\n";
const PRD_2: &str = "- [x] US-001: Export\n- [ ] US-002: Import\n";

/// The loop was killed in iteration 4; the loop that resumed the run repeated that iteration.
const JOURNAL: &str = include_str!("bad_night.jsonl");

struct Night {
    repo: TestRepo,
    history: RunHistory,
    situation: Situation,
}

impl Night {
    fn new() -> Self {
        let repo = TestRepo::new();
        let mut journal = JOURNAL.replace("<root>", repo.root().as_str());
        for number in 1..=2 {
            repo.write(format!("{number}.txt"), "x\n");
            repo.commit_all(&format!("feat: story {number}\n\nDone.\n\nRalph-Checks: npm test"));
            journal = journal.replace(&format!("<commit {number}>"), &repo.head());
        }
        repo.write(".ralph/events.jsonl", journal);
        let tree = repo.git(["rev-parse", "HEAD^{tree}"]);
        let message = "`npm test` failed\n\n    expected 1, got 2\n\n\
                       Ralph-Outcome: failed\nRalph-Cost: $1.0000\n";
        for (name, number) in [("PRD-1/US-002", 1), ("PRD-2/US-002", 1), ("US-009", 1)] {
            let base = repo.head();
            let commit = repo.git(["commit-tree", tree.trim(), "-p", &base, "-m", message]);
            let name = format!("refs/ralph/attempts/{name}/{number}");
            repo.git(["update-ref", &name, commit.trim()]);
        }
        let state = StateDir::of_project(repo.root());
        let mut history = RunHistory::open(repo.root(), &state).unwrap();
        let plans = [("PRD-1", PRD_1), ("PRD-2", PRD_2)].map(|(name, text)| {
            let path = repo.root().join(format!(".ralph/{name}/plan.md"));
            Plan::parse(&path, text.into(), &Options::default()).unwrap()
        });
        history.add_plans(&plans);
        history.add_attempts(&Git::at(repo.root().as_std_path())).unwrap();
        let waiting = Some(("1 commit waits on ralph/main".to_owned(), "ralph/main".to_owned()));
        let notes = vec!["merge request: a.md".to_owned()];
        let situation = Situation { waiting, notes, ..Situation::default() };
        Self { repo, history, situation }
    }

    fn run(&self) -> Run {
        self.history.find("last").unwrap()
    }

    fn report(&self) -> Report {
        let git = Git::at(self.repo.root().as_std_path());
        self.history.report(&self.run(), &self.situation, &git).unwrap()
    }

    /// Replaces the commit ids and local times in a text.
    fn stable(&self, text: &str) -> String {
        let ids = self.repo.git(["log", "--format=%H"]);
        let ids = ids.lines().flat_map(|id| [&id[..12], &id[..8]]);
        let text = ids.fold(text.to_owned(), |text, id| text.replace(id, "<commit>"));
        let day = Regex::new(r"\w{3} \d+ \w{3}, \d\d:\d\d").unwrap().replace_all(&text, "<day>");
        Regex::new(r"\d\d:\d\d").unwrap().replace_all(&day, "<time>").into_owned()
    }
}

#[test]
fn every_rendering_has_the_same_numbers() {
    let night = Night::new();
    let (history, run) = (&night.history, night.run());
    let needs = history.needs(Some(&run), &night.situation);
    let review = history.review(&run);
    let report = night.report();
    let json = serde_json::to_value(&report).unwrap();
    let lines = format!(
        "{}\n{}; {}\n{}\n{}\n{}",
        run.account(),
        history.what_remains(&needs, &review, &night.situation),
        needs.in_words(&review),
        history.cost(&run).receipt(),
        needs.lines().join("\n"),
        review.lines().join("\n"),
    );
    insta::assert_snapshot!("last_lines", lines);
    insta::assert_snapshot!("markdown", night.stable(&report.markdown().unwrap()));
    insta::assert_snapshot!("report_lines", night.stable(&report.lines().unwrap()));
    let list = |name: &str| json[name].as_array().unwrap().len();
    let stories = json["stories"].as_array().unwrap();
    let count = |state: &str| stories.iter().filter(|story| story["state"] == state).count();
    assert_eq!(count("blocked") + list("also_needed"), needs.count());
    let expected = (run.done(), review.others.len());
    assert_eq!((count("to review") + count("unchecked"), list("review")), expected);
    let html = report.html().unwrap();
    for state in ["to review", "unchecked"] {
        let badge = format!("badge {}\">{state}<", state.replace(' ', "-"));
        assert_eq!(
            html.matches(&badge).count(),
            2,
            "{state}: in the first list and in the details"
        );
    }
    let all = history.runs_json();
    assert_eq!(all.len(), 1, "a resumed run is one run");
    assert_eq!(all[0]["stories_done"], run.done());
    assert_eq!(all[0]["cost_usd"].as_f64(), history.cost(&run).cost_usd);
}

#[test]
fn live_counts_match_those_read_from_the_journal() {
    let night = Night::new();
    let text = night.repo.root().join(".ralph/events.jsonl");
    let text = fs_err::read_to_string(text).unwrap();
    let nowhere = StateDir::of_project(Utf8Path::new("/nowhere"));
    let mut live = RunHistory::open(night.repo.root(), &nowhere).unwrap();
    let path = night.repo.root().join(".ralph/PRD-1/plan.md");
    let open = PRD_1.replace("[x]", "[ ]").replace("[!]", "[ ]");
    live.add_plans([&Plan::parse(&path, open.into(), &Options::default()).unwrap()]);
    let mut seen = Vec::new();
    for line in text.lines().filter_map(|line| serde_json::from_str::<Record>(line).ok()) {
        live.take(&line);
        let counts = live.counts();
        seen.push((counts.done, counts.blocked, counts.open));
    }
    seen.dedup();
    assert_eq!(seen, [(0, 0, 3), (1, 0, 2), (1, 1, 1)], "they move when the event happens");
    assert_eq!(live.find("last"), night.history.find("last"));
}
