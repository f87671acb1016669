//! Events as they may be kept: what agents, commands and tests said goes into the journal without
//! the keys in it.

use super::event::{Event, HookFailure};
use crate::secrets::mask;

impl Event {
    /// The same event, its free texts without keys. Ids, names and numbers stay as they are.
    #[must_use]
    pub fn masked(&self) -> Self {
        let mut event = self.clone();
        for text in event.free_texts() {
            *text = mask(text);
        }
        event
    }

    fn free_texts(&mut self) -> Vec<&mut String> {
        match self {
            Self::Denied { target: text, .. }
            | Self::RolledBack { why: text, .. }
            | Self::NotRolledBack { why: text }
            | Self::Prompt { prompt: text }
            | Self::StorySetAside { why: text }
            | Self::ToolCall { call: text }
            | Self::IterationStarted { title: text, .. }
            | Self::Checked { check: text, .. } => vec![text],
            Self::Verdict { tests: texts, .. }
            | Self::StopBlocked { reasons: texts, .. }
            | Self::PlanRepaired { findings: texts } => texts.iter_mut().collect(),
            Self::StopAllowed { note: text, .. } | Self::LoopFinished { reason: text, .. } => {
                text.iter_mut().collect()
            }
            Self::HookError { failure } => {
                failure.hook_event.iter_mut().chain([&mut failure.error]).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl HookFailure {
    /// The same failure, its texts without keys.
    #[must_use]
    pub fn masked(&self) -> Self {
        let hook_event = self.hook_event.as_deref().map(mask);
        Self { hook_event, error: mask(&self.error), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::StopFacts;
    use super::*;

    const KEY: &str = "sk-ant-api03-0123456789abcdef0123";

    fn check(event: &Event) {
        let kept = serde_json::to_string(&event.masked()).unwrap();
        assert!(!kept.contains(KEY) && kept.contains("[masked]"), "{kept}");
    }

    #[test]
    fn no_event_keeps_a_key() {
        let text = || format!("curl -H 'x-api-key: {KEY}' host");
        check(&Event::Denied {
            rule: "disk".into(),
            tool: "Bash".into(),
            target: text(),
            asked: false,
        });
        check(&Event::RolledBack { to: "a".into(), saved_as: "b".into(), why: text() });
        check(&Event::StopBlocked {
            reasons: vec!["fine".into(), text()],
            stop: StopFacts::default(),
        });
        check(&Event::StopAllowed {
            status: "x".into(),
            note: Some(text()),
            stop: StopFacts::default(),
        });
        check(&Event::Prompt { prompt: text() });
        check(&Event::StorySetAside { why: text() });
        check(&Event::LoopFinished { finish_type: "error".into(), reason: Some(text()) });
        check(&Event::PlanRepaired { findings: vec![text()] });
        let failure = HookFailure { hook_event: None, phase: "parsing".into(), error: text() };
        check(&Event::HookError { failure });
        check(&Event::Verdict {
            verdict: "failed".into(),
            runner: None,
            passed: None,
            failed: None,
            tests: vec![text()],
        });
    }

    #[test]
    fn ids_stay_readable() {
        let saved_as = "refs/ralph/discarded/20260102-030405-678-US-001".to_owned();
        let to = "3c42706aa11bb22cc33dd44ee55ff66778899aab".to_owned();
        let event = Event::RolledBack { to, saved_as, why: "test_a.py::test_b failed".into() };
        assert_eq!(event.masked(), event);
    }
}
