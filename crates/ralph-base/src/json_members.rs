//! Splits a JSON object into its members as raw text, for edits that keep all other bytes.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

/// Returns the members of an object in source order, duplicates included, each value as raw text.
pub fn members(object: &str) -> serde_json::Result<Vec<(String, &RawValue)>> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(String, &'de RawValue)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found = Vec::new();
            while let Some(member) = map.next_entry()? {
                found.push(member);
            }
            Ok(found)
        }
    }
    serde_json::Deserializer::from_str(object).deserialize_map(Members)
}
