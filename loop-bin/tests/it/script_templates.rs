//! The templates of the lifecycle scripts that `init` writes: what their comments say is so.

use crate::stage::{ONE, Stage};

const SCRIPTS: [&str; 4] = ["started", "next_iteration", "post_iteration", "finished"];

/// A project whose scripts are the templates with all samples switched on, and programs that stand
/// in for what the samples start. The first line of each script checks the variables in its comments.
fn with_all_samples(hour: &str, on_battery: bool) -> Stage {
    let stage = Stage::new("works", ONE);
    stage.run(&["init"]).ended(0);
    for name in SCRIPTS {
        let template = stage.read(&format!(".ralph/hooks/{name}"));
        let variables =
            template.split(['#', '.', ' ', ',']).filter(|word| word.starts_with("RALPH_"));
        let checks: String = variables
            .map(|it| format!("[ -n \"${{{it}+x}}\" ] || echo {it} is missing\n"))
            .collect();
        assert!(checks.contains("RALPH_STARTED_AT"), "{template}");
        stage.script(name, &(checks + &template.replace("#   ", "")));
    }
    stage.script("custom/docker", "echo docker \"$@\"");
    stage.script("custom/date", &format!("[ \"$1\" = +%H ] && echo {hour}"));
    stage.script("custom/on_ac_power", if on_battery { "exit 1" } else { "" });
    stage
}

#[test]
fn the_samples_in_the_templates_do_what_they_say() {
    let stage = with_all_samples("05", false);
    let ran = stage.run(&[]);
    ran.ended(0).says("[started] docker compose up --detach --wait database");
    ran.says("[started] started on ").says(".ralph/PRD-1/plan.md");
    ran.says("[post_iteration] US-001: success after ").says("[finished] docker compose down");
    ran.says("[finished] complete: 1 commits in ");
    assert!(!ran.out.contains("is missing"), "{}", ran.out);
    assert!(stage.read(".ralph/logs/iterations.csv").starts_with("US-001,success,"));
}

#[test]
fn the_samples_in_the_templates_stop_a_run_or_skip_an_iteration() {
    let stage = with_all_samples("05", true);
    stage.run(&[]).ended(3).says("the started script stopped the loop");
    let stage = with_all_samples("06", false);
    stage.run(&[]).ended(3).says("the next_iteration script stopped the loop");
    // The second sample skips instead; the third one stops after ten commits.
    let text = stage.read(".ralph/hooks/next_iteration");
    let skips = text.replacen("-lt 6 ] || exit 2", "-lt 6 ]", 1);
    stage.script("next_iteration", &skips);
    stage.run(&["--max-iterations", "1"]).ended(0).says("the next_iteration script skipped this");
    let night = text.replace("-lt 6 ]", "-ge 6 ]");
    let enough = night.replace("$RALPH_COMMITS_MADE", "1$RALPH_COMMITS_MADE");
    stage.script("next_iteration", &enough);
    stage.run(&[]).ended(3).says("the next_iteration script stopped the loop");
    stage.script("next_iteration", &night);
    stage.run(&[]).ended(0).says("US-001 done");
}
