//! Notifications: the examples of the documentation against a real server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use test_support::fixtures;

use crate::stage::{ONE, Stage};

/// Starts a server on loopback; returns its address, and the head and body of each request.
fn server() -> (String, Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                reader.read_line(&mut head).unwrap();
            }
            let length = head.lines().find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok()
            });
            let mut body = vec![0; length.unwrap_or(0)];
            reader.read_exact(&mut body).unwrap();
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            reader.into_inner().write_all(answer).unwrap();
            sender.send((head, String::from_utf8(body).unwrap())).unwrap();
        }
    });
    (address, requests)
}

/// The command in the documentation that contains this address.
fn example(address: &str) -> String {
    let page = fs_err::read_to_string(fixtures().parent().unwrap().join("docs/watching.md"));
    let page = page.unwrap();
    let line = page.lines().find(|line| line.starts_with("command = ") && line.contains(address));
    let value: toml::Table = line.expect("an example").parse().unwrap();
    value["command"].as_str().unwrap().to_owned()
}

#[test]
fn a_blocked_story_and_the_end_reach_a_webhook() {
    let (address, requests) = server();
    let stage = Stage::new("says-blocked", ONE);
    let url = "https://hooks.slack.com/services/T000/B000/XXXX";
    let command = example(url).replace(url, &address);
    stage.run(&["--notify", &command]).ended(8);
    let shown: Vec<serde_json::Value> = requests
        .try_iter()
        .inspect(|(head, _)| assert!(head.contains("application/json"), "{head}"))
        .map(|(_, body)| serde_json::from_str(&body).unwrap())
        .collect();
    let [blocked, end] = &shown[..] else { panic!("{shown:#?}") };
    assert_eq!((&blocked["event"], &blocked["story"]), (&"blocked".into(), &"US-001".into()));
    let text = blocked["text"].as_str().unwrap();
    assert!(text.starts_with("repo: US-001 is blocked: the agent says: "), "{text}");
    assert_eq!((&end["event"], &end["finish_type"]), (&"finished".into(), &"blocked".into()));
    let report = end["report"].as_str().unwrap();
    assert!(report.ends_with(".html") && std::path::Path::new(report).is_file(), "{report}");
    let lifecycle = stage.events().iter().filter(|event| *event == "lifecycle").count();
    assert_eq!(lifecycle, 2);
}

#[test]
fn ntfy_gets_a_title_and_a_message() {
    let (address, requests) = server();
    let url = "https://ntfy.sh/your-topic";
    let command = example(url).replace(url, &address);
    Stage::new("works", ONE).run(&["--notify", &command]).ended(0);
    let (head, body) = requests.try_recv().unwrap();
    assert!(head.contains("Title: Ralph: finished"), "{head}");
    assert_eq!(body, "repo: the run ended: complete");
}

#[test]
fn a_desktop_is_notified_with_the_variables() {
    let stage = Stage::new("works", ONE);
    let bin = stage.note_path("bin");
    fs_err::create_dir_all(&bin).unwrap();
    let program = "#!/bin/sh\nprintf '%s|' \"$@\" >>$AGENT_NOTES/shown; echo shown\n";
    crate::stage::executable(&bin.join("notify-send"), program);
    let command = format!("PATH={bin}:$PATH; {}", example("notify-send"));
    let ran = stage.run(&["--notify", &command]);
    ran.ended(0).says("[notify] shown");
    assert_eq!(stage.note("shown"), "Ralph: finished|repo: the run ended: complete|");
}

#[test]
fn a_usage_limit_is_notified_when_the_wait_begins() {
    let stage = Stage::new("meets-limit", ONE);
    let command = "echo \"$RALPH_EVENT: $RALPH_REASON\" >>$AGENT_NOTES/shown";
    stage.run(&["--notify", command]).ended(0);
    let shown = stage.note("shown");
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("waiting: usage limit reached; the run continues at "), "{shown}");
    assert_eq!(lines[1..], ["finished: "], "{shown}");
}

#[test]
fn a_failing_or_hanging_command_does_not_stop_the_run() {
    let stage = Stage::new("works", ONE);
    stage.run(&["--notify", "exit 3"]).ended(0).says("the notify command failed (exit code 3)");
    let stage = Stage::new("works", ONE);
    let ran = stage.run(&["--notify", "sleep 600", "--hook-timeout", "1"]);
    ran.ended(0).says("the notify command timed out");
}
