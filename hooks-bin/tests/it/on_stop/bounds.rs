//! For any state files and any number of stops, with or without work between them: the number of
//! blocks is bounded, and a stop follows.

use proptest::collection::vec;
use proptest::prelude::*;
use ralph_base::env::Env;
use ralph_hooks::harness::serve;
use ralph_hooks::on_stop::HOOK;
use serde_json::{Value, json};
use test_support::Scratch;

/// The highest iteration limit in `progress.txt`.
const MOST_ITERATIONS: u64 = 5;

/// Generates the content of a state file.
fn content() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("rubbish".to_owned()),
        "\\PC{0,40}",
        any_json().prop_map(|value| value.to_string()),
        (any::<bool>(), any::<bool>(), 0u64..40).prop_map(|(done, met, iteration)| {
            json!({
                "verified_done": done, "phase": "x", "conditions": {"quality_passed": met},
                "iteration": iteration, "max_iterations": 25, "last_result": "failed",
                "status": "pending", "version": 1, "verdict": "failed", "total": iteration,
            })
            .to_string()
        }),
        vec(any::<bool>(), 1..4).prop_map(|passes| {
            let features = passes.iter().enumerate();
            let features: Vec<Value> = features
                .map(|(id, passes)| json!({"id": id, "description": "x", "passes": passes}))
                .collect();
            json!({"features": features}).to_string()
        }),
        (0u64..6, 1..=MOST_ITERATIONS)
            .prop_map(|(at, most)| { format!("- Iteration: {at}\n- Max Iterations: {most}\n") }),
        Just("- [ ] US-001: x\n".to_owned()),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    const KEYS: &[&str] = &["verified_done", "conditions", "stages", "rows", "iteration", "x"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,10}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        let key = proptest::sample::select(KEYS).prop_map(str::to_owned);
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map(key, inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// The files that may be written between two stops.
const FILES: [&str; 10] = [
    "project/.ralph/state/s1/orchestrator.json",
    "project/.ralph/state/s1/loop.json",
    "project/.ralph/state/s1/quality-gate.json",
    "project/.ralph/state/s1/tasks/1.json",
    "project/.ralph/state/s1/verdict.json",
    "project/.ralph/state/s1/blocks.json",
    "project/.ralph/state/s1/stop.json",
    "project/.ralph/PRD-1/plan.md",
    "loop/feature_list.json",
    "loop/progress.txt",
];

/// Events between two stops: files are written or removed, and perhaps a tool is called.
#[derive(Debug, Clone)]
struct Between {
    files: Vec<(usize, Option<String>)>,
    works: bool,
    new_turn: bool,
}

fn between() -> impl Strategy<Value = Between> {
    let file = (0..FILES.len(), proptest::option::weighted(0.9, content()));
    (vec(file, 0..3), any::<bool>(), proptest::bool::weighted(0.1))
        .prop_map(|(files, works, new_turn)| Between { files, works, new_turn })
}

struct World {
    scratch: Scratch,
    env: Env,
}

impl World {
    fn new(max_blocks: u64, max_idle: u64, iterations: u64) -> Self {
        let scratch = Scratch::new();
        let config = format!(
            "[stop]\nmax_blocks = {max_blocks}\nmax_idle_blocks = {max_idle}\n\
             [loop]\nmax_iterations = {iterations}\n[session]\nstories_per_session = 9\n"
        );
        scratch.file("project/.ralph/config.toml", config);
        scratch.file("project/.ralph/current-story", "US-001\n");
        scratch.file("transcript.jsonl", "");
        scratch.dir("loop");
        let env = Env::of([
            ("RALPH_ROOT", scratch.path("project").as_str()),
            ("HOME", scratch.path("home").as_str()),
            ("RALPH_LOOP_DIR", scratch.path("loop").as_str()),
            ("RALPH_RUN", "r1"),
        ]);
        Self { scratch, env }
    }

    fn happen(&self, between: &Between) {
        for (at, content) in &between.files {
            let path = self.scratch.path(FILES[*at]);
            match content {
                Some(content) => drop(self.scratch.file(FILES[*at], content)),
                None => drop(fs_err::remove_file(path)),
            }
        }
        let block =
            if between.works { json!({"type": "tool_use"}) } else { json!({"type": "text"}) };
        let usage = json!({"input_tokens": 10, "output_tokens": 1});
        let line = json!({"type": "assistant", "message": {"content": [block], "usage": usage}});
        let before = self.scratch.read("transcript.jsonl");
        self.scratch.file("transcript.jsonl", format!("{before}{line}\n"));
    }

    /// Returns whether a stop is blocked.
    fn stop(&self, active: bool) -> bool {
        let input = json!({
            "hook_event_name": "Stop", "session_id": "s1", "stop_hook_active": active,
            "transcript_path": self.scratch.path("transcript.jsonl").as_str(),
        });
        let reply = serve(&HOOK, &self.env, None, Ok(input.to_string().as_bytes()));
        assert_eq!(reply.exit_code, 0);
        reply.stdout.is_some_and(|text| text.contains("\"decision\""))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// After a block, the client continues with `stop_hook_active`; a new turn begins after a stop,
    /// or when the user starts one.
    #[test]
    fn consecutive_blocks_are_bounded_for_any_state_files(
        steps in vec(between(), 1..40),
        max_blocks in 0u64..4,
        max_idle in 0u64..4,
        iterations in 1u64..5,
    ) {
        let world = World::new(max_blocks, max_idle, iterations);
        let (mut active, mut row, mut idle_row) = (false, 0u64, 0u64);
        for step in &steps {
            if step.new_turn {
                (active, row, idle_row) = (false, 0, 0);
            }
            world.happen(step);
            let blocked = world.stop(active);
            // A change of the counters restarts the count.
            let counters = |(at, _): &(usize, _)| FILES[*at].ends_with("blocks.json");
            let anew = !blocked || step.files.iter().any(counters);
            row = if anew { u64::from(blocked) } else { row + 1 };
            let nothing_done = !step.works && step.files.is_empty();
            idle_row = if blocked && nothing_done { idle_row + 1 } else { u64::from(blocked) };
            active = blocked;
            prop_assert!(idle_row <= max_idle.max(1), "{idle_row} idle blocks in a row");
            let most = max_blocks.max(1) + MOST_ITERATIONS.max(iterations);
            prop_assert!(row <= most, "{row} blocks in a row");
        }
        // Without further changes, the session stops within the configured number of blocks.
        let rest = Between { files: Vec::new(), works: false, new_turn: false };
        let mut further = 0;
        while active {
            world.happen(&rest);
            active = world.stop(active);
            further += 1;
            prop_assert!(further <= max_idle + 1, "{further}");
        }
    }

    /// The agent is always busy, the state files always say "not done", and the agent may reset the
    /// iteration counter before each stop.
    #[test]
    fn a_busy_session_that_is_never_done_still_stops(
        max_blocks in 0u64..4,
        iterations in 1u64..8,
        with_list in any::<bool>(),
        sets_back in any::<bool>(),
    ) {
        let world = World::new(max_blocks, 2, iterations);
        let session = "project/.ralph/state/s1";
        world.scratch.file(&format!("{session}/loop.json"), r#"{"last_error":"x"}"#);
        world.scratch.file(&format!("{session}/quality-gate.json"), r#"{"last_result":"failed"}"#);
        if with_list {
            let list = r#"{"features":[{"id":1,"description":"x","passes":false}]}"#;
            world.scratch.file("loop/feature_list.json", list);
        }
        let progress = format!("- Iteration: 0\n- Max Iterations: {iterations}\n");
        let files = if sets_back { vec![(FILES.len() - 1, Some(progress))] } else { Vec::new() };
        let busy = Between { files, works: true, new_turn: false };
        let (mut active, mut blocks) = (false, 0);
        loop {
            world.happen(&busy);
            active = world.stop(active);
            if !active {
                break;
            }
            blocks += 1;
            prop_assert!(blocks <= max_blocks + iterations, "{blocks}");
        }
        let expected = if with_list { iterations } else { max_blocks };
        prop_assert_eq!(blocks, expected);
    }
}
