//! The members of a JSON object as they are written, for edits that touch no other byte.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object in the order of the text, repeated ones included, each value as it is
/// written.
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
