//! One more story at the end of a plan, written as its neighbours are.

use super::added::Added;
use super::ids::{self, Rank};
use super::story::{Format, Plan, State, Story};
use ralph_base::lines;
use serde_json::{Value, json};

impl Plan {
    /// This plan with one more open story behind the others: its id, and the new bytes. None if the
    /// plan would read differently with it, or its last story shows no id that can be counted on from.
    pub fn with_story(&self, title: &str, details: &str) -> Option<(String, Vec<u8>)> {
        let is_wanted = |story: &&Story| !story.optional;
        let peer = self.stories.iter().rfind(is_wanted).or(self.stories.last())?;
        let text = match self.format {
            Format::Markdown => self.markdown_story(peer, title, details)?,
            Format::Prd => format!("{{\"userStories\": [{}]}}", self.object(peer, title, details)?),
            Format::FeatureList => {
                format!("{{\"features\": [{}]}}", self.object(peer, title, details)?)
            }
        };
        let alone = Self::parse(&self.path, text.into_bytes(), &self.options).ok()?;
        let [story] = alone.stories.as_slice() else { return None };
        let plan = self.extended(&[Added::new(&alone, story, State::Open)]);
        let is_added = plan.stories.len() > self.stories.len();
        is_added.then(|| (story.id.clone(), plan.bytes))
    }

    fn markdown_story(&self, peer: &Story, title: &str, details: &str) -> Option<String> {
        let (line, own_box) = self.first_line(peer);
        let label = match self.written_id(peer) {
            _ if peer.is_named_by_title() => title.to_owned(),
            Some((id, Rank::Number)) => format!("{}. {title}", self.next_id(&id)?),
            Some((id, _)) => format!("{}: {title}", self.next_id(&id)?),
            None => return None,
        };
        let indent: String = line.chars().take_while(|c| c.is_whitespace()).collect();
        let level = line.trim_start().chars().take_while(|c| *c == '#').count();
        let bullet = line.trim_start().chars().next().filter(|c| "-*+".contains(*c));
        let noted = |by: &str| -> String {
            let lines = details.lines().map(|line| format!("{by}{line}"));
            lines.map(|line| format!("\n{}", line.trim_end())).collect()
        };
        let marks = "#".repeat(level);
        Some(match (level, own_box) {
            (0, _) => {
                let bullet = bullet.unwrap_or('-');
                format!("{indent}{bullet} [ ] {label}{}", noted(&format!("{indent}  ")))
            }
            (_, Some(_)) if details.is_empty() => format!("{marks} [ ] {label}"),
            (_, Some(_)) => format!("{marks} [ ] {label}\n{}", noted("")),
            (_, None) => format!("{marks} {label}\n\n- [ ] {title}{}", noted("  ")),
        })
    }

    /// The first line of a story, and where in it the box is, if one is there.
    fn first_line(&self, story: &Story) -> (String, Option<usize>) {
        let line = lines::lines(self.section(story)).next().map_or(&[][..], |line| line.text);
        let mark = self.marks(story).first().map(|mark| mark.end - story.span.start);
        let text = String::from_utf8_lossy(line).into_owned();
        (text, mark.filter(|end| *end < line.len()))
    }

    /// The id of a story as it is written in front of its title.
    fn written_id(&self, story: &Story) -> Option<(String, Rank)> {
        let (line, own_box) = self.first_line(story);
        let behind = match own_box {
            Some(end) => line.get(end..)?.trim_start_matches(']'),
            None => line.trim_start().trim_start_matches('#'),
        };
        let found = ids::leading(behind.trim_start())?;
        (ids::safe(found.id) == story.id).then(|| (found.id.to_owned(), found.rank))
    }

    /// The next number behind an id that no story has.
    fn next_id(&self, id: &str) -> Option<String> {
        let digits = id.chars().rev().take_while(char::is_ascii_digit).count();
        let (before, number) = id.split_at_checked(id.len() - digits)?;
        let number: u64 = number.parse().ok()?;
        let ids = (number..).skip(1).map(|number| format!("{before}{number:0digits$}"));
        ids.take(self.stories.len() + 1).find(|id| self.story(id).is_none())
    }

    /// A story as a JSON object, on as many lines as its neighbour.
    fn object(&self, peer: &Story, title: &str, details: &str) -> Option<String> {
        let section = self.section(peer);
        let known: Value = serde_json::from_slice(section).ok()?;
        let next = self.next_id(&peer.id)?;
        let number =
            next.parse::<u64>().ok().filter(|_| known.get("id").is_some_and(Value::is_u64));
        let mut members = vec![("id", number.map_or_else(|| json!(next), Value::from))];
        if self.format == Format::Prd {
            members.push(("title", json!(title)));
            members.push(("description", json!(details)));
            let last = self.stories.iter().filter_map(|story| story.priority).max();
            members.extend(last.map(|last| ("priority", json!(last.saturating_add(1)))));
        } else {
            let steps: Vec<&str> = details.lines().filter(|line| !line.trim().is_empty()).collect();
            members.extend([("description", json!(title)), ("steps", json!(steps))]);
        }
        members.push(("passes", json!(false)));
        let members = members.iter().map(|(name, value)| format!("\"{name}\": {value}"));
        let members: Vec<String> = members.collect();
        let text = String::from_utf8_lossy(section);
        let indent =
            |line: &str| -> String { line.chars().take_while(|c| c.is_whitespace()).collect() };
        let mut rest = text.lines().skip(1);
        Some(match (rest.next(), text.lines().next_back()) {
            (Some(first), Some(last)) => {
                let (inner, outer) = (indent(first), indent(last));
                format!("{{\n{inner}{}\n{outer}}}", members.join(&format!(",\n{inner}")))
            }
            _ => format!("{{{}}}", members.join(", ")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Options;

    /// Expects the new story at the end of what was there.
    #[track_caller]
    fn check(path: &str, plan: &str, id: &str, expected: &str) {
        let options = Options::default();
        let plan = Plan::parse(path.into(), plan.as_bytes().to_vec(), &options).unwrap();
        let (found, bytes) = plan.with_story("Say no", "politely\ntwice").unwrap();
        assert_eq!((found.as_str(), String::from_utf8(bytes).unwrap().as_str()), (id, expected));
    }

    #[track_caller]
    fn check_appended(plan: &str, id: &str, added: &str) {
        check("plan.md", plan, id, &format!("{}{added}", plan.trim_end_matches('\n')));
    }

    #[test]
    fn a_story_is_written_as_its_neighbours_are() {
        let noted = "Say no\n  politely\n  twice\n";
        check_appended("- [x] US-009: A\n", "US-010", &format!("\n- [ ] US-010: {noted}"));
        check_appended("* [ ] Task 1: A\n", "Task-2", &format!("\n* [ ] Task 2: {noted}"));
        check_appended("# Plan\n\n- [ ] Do this\n", "say-no", &format!("\n- [ ] {noted}"));
        let heading = "# Plan\n\n### US-1: A\n\n- [x] a\n\n### US-2: B\n\n- [ ] b\n";
        let added = format!("\n\n### US-3: Say no\n\n- [ ] {noted}");
        check_appended(heading, "US-3", &added);
        let boxed = "## [!] US-001: A\n\nhow\n";
        check_appended(boxed, "US-002", "\n\n## [ ] US-002: Say no\n\npolitely\ntwice\n");
        check_appended("## 1. A\n\n- [ ] a\n", "2", &format!("\n\n## 2. Say no\n\n- [ ] {noted}"));
    }

    #[test]
    fn it_stands_before_what_is_optional() {
        let (head, tail) = ("- [ ] US-001: A\n", "\n## Future Work\n\n- [ ] US-002: B\n");
        let expected = format!("{head}- [ ] US-003: Say no\n  politely\n  twice\n{tail}");
        check("plan.md", &format!("{head}{tail}"), "US-003", &expected);
    }

    #[test]
    fn line_endings_stay() {
        let expected = "- [ ] US-001: A\r\n- [ ] US-002: Say no\r\n  politely\r\n  twice\r\n";
        check("plan.md", "- [ ] US-001: A\r\n", "US-002", expected);
    }

    #[test]
    fn a_json_story_has_the_members_of_its_format() {
        let one = r#"{"userStories": [{"id": "US-001", "title": "A", "priority": 3}]}"#;
        let new = r#"{"id": "US-002", "title": "Say no", "description": "politely\ntwice", "priority": 4, "passes": false}"#;
        check("prd.json", one, "US-002", &one.replace("}]", &format!("}},{new}]")));
        let list = "{\n  \"features\": [\n    {\n      \"id\": 1,\n      \"description\": \"A\"\n    }\n  ]\n}\n";
        let new = ",\n    {\n      \"id\": 2,\n      \"description\": \"Say no\",\n      \
                   \"steps\": [\"politely\",\"twice\"],\n      \"passes\": false\n    }";
        check("feature_list.json", list, "2", &list.replace("\n    }", &format!("\n    }}{new}")));
    }

    #[test]
    fn what_would_read_differently_is_refused() {
        let parse = |text: &str| {
            Plan::parse("plan.md".into(), text.as_bytes().to_vec(), &Options::default()).unwrap()
        };
        let plan = parse("### US-001: A\n\n- [ ] a\n");
        assert_eq!(plan.with_story("B", "### US-002: C\n- [ ] c"), None);
        assert_eq!(plan.with_story("B", "```"), None);
        assert_eq!(parse("- [ ] Do this\n").with_story("Do this", ""), None);
        assert_eq!(parse("## Backlog\n\n- [ ] US-001: A\n").with_story("B", ""), None);
    }
}
