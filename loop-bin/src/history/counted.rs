//! Things that came again and again. Pure.

use serde::Serialize;

/// How many different ones of a kind are kept; each has how often it came.
const MOST_KINDS: usize = 500;

/// How often each thing came, in the order in which they came first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Counted(pub(crate) Vec<Kind>);

/// One thing that came, perhaps several times.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Kind {
    /// Which rule, if one.
    pub(crate) rule: String,
    pub(crate) what: String,
    pub(crate) story: String,
    pub(crate) count: u64,
}

impl Counted {
    pub(super) fn note(&mut self, rule: &str, what: Option<&str>, story: &str) {
        let what = what.unwrap_or_default();
        let is_same = |one: &&mut Kind| one.what == what && one.rule == rule && one.story == story;
        if let Some(one) = self.0.iter_mut().find(is_same) {
            one.count += 1;
        } else if self.0.len() < MOST_KINDS {
            let (rule, what, story) = (rule.to_owned(), what.to_owned(), story.to_owned());
            self.0.push(Kind { rule, what, story, count: 1 });
        }
    }
}
