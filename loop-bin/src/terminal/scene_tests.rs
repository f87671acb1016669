//! The status lines at different terminal widths.

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + second).unwrap()
}

fn scene() -> Scene {
    Scene {
        workers: vec![Worker {
            story: Some("US-007".into()),
            title: "Let people sign in with a code that is sent to them".into(),
            attempt: 2,
            attempts: 3,
            since: Some(at(0)),
            doing: "Edit: crates/account/src/session/one_time_code.rs".into(),
            context: Some(41),
            ..Worker::default()
        }],
        totals: Totals {
            done: 6,
            blocked: 1,
            left: 4,
            cost_usd: 2.4,
            max_cost_usd: 10.0,
            story_s: Some(500.0),
        },
    }
}

impl Scene {
    fn lines(&self, now: Timestamp, columns: usize) -> [String; 2] {
        [self.workers[0].line(now, columns), self.totals_line(now, columns)]
    }
}

fn drawn(scene: &Scene, widths: &[usize]) -> String {
    let mut text = String::new();
    for &columns in widths {
        let lines = scene.lines(at(252), columns);
        assert!(lines.iter().all(|line| columns_of(line) <= columns), "{lines:#?}");
        text += &format!("{columns}\n{}\n{}\n", lines[0], lines[1]);
    }
    text
}

#[test]
fn the_current_activity_is_visible_at_any_width() {
    insta::assert_snapshot!(drawn(&scene(), &[40, 60, 80, 120, 200]), @r"
    40
    US-007  2/3  4:12  Edit: …/one_time_cod…
    6 done, 1 blocked, 4 left  $2.40 of $10…
    60
    US-007  2/3  4:12  Edit: …/one_time_code.rs
    6 done, 1 blocked, 4 left  $2.40 of $10.00  about 29 m left
    80
    US-007  attempt 2 of 3  4:12  Edit: crates/account/src/session/one_time_code.rs
    6 done, 1 blocked, 4 left  $2.40 of $10.00  about 29 m left
    120
    US-007 Let people sign…  attempt 2 of 3  4:12  context 41%  Edit: crates/account/src/session/one_time_code.rs
    6 done, 1 blocked, 4 left  $2.40 of $10.00  about 29 m left
    200
    US-007 Let people sign in with a code t…  attempt 2 of 3  4:12  context 41%  Edit: crates/account/src/session/one_time_code.rs
    6 done, 1 blocked, 4 left  $2.40 of $10.00  about 29 m left
    ");
}

#[test]
fn a_refused_call_and_a_long_name_fit() {
    let mut scene = scene();
    scene.workers[0].story =
        Some("Write the page that says how to install it on a telephone".into());
    scene.workers[0].title = String::new();
    scene.workers[0].doing = "Bash: git push origin main".into();
    scene.workers[0].is_refused = true;
    scene.totals = Totals { left: 2, ..Totals::default() };
    insta::assert_snapshot!(drawn(&scene, &[40, 120]), @r"
    40
    Write the…  2/3  4:12  refused: Bash: g…
    0 done, 2 left
    120
    Write the page that say…  attempt 2 of 3  4:12  context 41%  refused: Bash: git push origin main
    0 done, 2 left
    ");
}

#[test]
fn a_wait_counts_down() {
    let mut scene = scene();
    scene.workers[0] = Worker {
        doing: "usage limit reached".into(),
        until: Some(at(252 + 3725)),
        ..Worker::default()
    };
    assert_eq!(scene.lines(at(252), 60)[0], "usage limit reached; continuing in 1:02:05");
    assert_eq!(scene.lines(at(9999), 60)[0], "usage limit reached; continuing in 0:00");
}

#[test]
fn an_overlong_story_does_not_reduce_the_time_left_for_others() {
    let totals = scene().totals;
    let left = |seconds| totals.time_left(Duration::from_secs(seconds)).unwrap().as_secs();
    assert_eq!([left(0), left(100), left(5000)], [2000, 1900, 1500]);
    let last = Totals { left: 1, ..totals };
    assert_eq!(last.time_left(Duration::from_secs(5000)), None);
}

#[test]
fn no_width_is_too_small() {
    for columns in 0..40 {
        let lines = scene().lines(at(252), columns);
        assert!(lines.iter().all(|line| columns_of(line) <= columns), "{lines:#?}");
    }
}
