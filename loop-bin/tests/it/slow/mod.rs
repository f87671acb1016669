//! Slow tests: kills, hostile agents, several workers, pull requests, unusual projects.

mod access;
mod copy_has_what_it_needs;
mod crash_points;
mod credentials;
mod done_means_done;
mod files_git_cannot_add;
mod fleet;
mod git_hooks;
mod gitlab;
mod goes_on_after_a_kill;
mod home_folder;
mod in_place;
mod kept_attempts;
mod limits;
mod links;
mod nested;
mod nothing_is_paid_twice;
mod observers;
mod odd_starts;
mod one_bad_act_costs_one_attempt;
mod own_git;
mod passed_hooks;
mod plan_edits;
mod planning;
mod progress_words;
mod real_projects;
mod same_ids;
mod scripts;
mod second_look;
mod signals;
mod steps;
mod story_requests;
mod target;
mod unruly_agents;
mod unusual_projects;
mod user_work_survives;
mod verifiers;
mod view;
mod waiting_work;
mod workers;

use test_support::TestRepo;

use crate::stage::Stage;

/// The environment variable that kills the loop at a point, or makes its writes fail.
const FAULT: &str = "RALPH_INTERNAL__FAULT";

impl Stage {
    /// A project with a committed plan.
    pub(crate) fn committed(agent: &str, plan: &str) -> Self {
        let stage = Self::new(agent, plan);
        stage.repo.commit_all("the plan");
        stage
    }

    /// These files have these texts.
    #[track_caller]
    pub(crate) fn has(&self, files: &[(&str, &str)]) {
        for (name, text) in files {
            assert_eq!(self.read(name), *text, "{name}");
        }
    }

    /// Commits a submodule at this path; returns the repository where it comes from.
    pub(crate) fn submodule(&self, path: &str) -> TestRepo {
        let library = TestRepo::new();
        let url = library.root().as_str();
        let allow = ["-c", "protocol.file.allow=always"];
        self.repo.git([&allow[..], &["submodule", "--quiet", "add", url, path]].concat());
        self.repo.git(["commit", "-qm", "a submodule"]);
        library
    }

    /// A story for each of these acts, and one more; the agent acts in its first attempt at each.
    pub(crate) fn acting(acts: &[&str]) -> Self {
        let story = |n: usize| format!("- [ ] US-{n:03}: Story\n");
        let plan: String = (1..=acts.len() + 1).map(story).collect();
        let stage = Self::new("acts", &plan);
        for (n, act) in (1..).zip(acts) {
            stage.repo.write(format!(".git/acts/US-{n:03}"), act);
        }
        stage
    }

    /// Each of those stories has landed, in order, and the project contains nothing else.
    #[track_caller]
    pub(crate) fn has_landed(&self, acts: usize) {
        let ids: Vec<String> = (1..=acts + 1).map(|n| format!("US-{n:03}")).collect();
        let stories = ids.iter().rev().map(|id| format!("feat({id}): Story"));
        assert_eq!(self.subjects(), stories.chain(["first".to_owned()]).collect::<Vec<_>>());
        let files: String = ids.iter().map(|id| format!("{id}.txt\n")).collect();
        let expected = format!(".gitignore\n{files}a.txt\nsrc/lib.rs\n");
        assert_eq!(self.repo.git(["ls-tree", "-r", "--name-only", "HEAD"]), expected);
        assert_eq!(self.repo.git(["ls-files"]), expected);
        assert!(!self.plan().contains("[ ]"), "{}", self.plan());
        self.is_clean();
    }
}
