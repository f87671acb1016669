//! Deserializes lists of strings; a single string counts as a list of one.
//!
//! ```
//! #[derive(serde::Deserialize)]
//! struct Verify {
//!     #[serde(deserialize_with = "ralph_base::texts::texts")]
//!     commands: Vec<String>,
//! }
//! let one: Verify = serde_json::from_str(r#"{"commands": "npm test"}"#)?;
//! let two: Verify = serde_json::from_str(r#"{"commands": ["npm test", "npm run lint"]}"#)?;
//! assert_eq!((one.commands.len(), two.commands.len()), (1, 2));
//! # Ok::<(), serde_json::Error>(())
//! ```

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

struct Texts(Vec<String>);

/// Deserializes a string or a list of strings.
pub fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Texts::deserialize(deserializer).map(|texts| texts.0)
}

/// Deserializes a map whose values are strings or lists of strings.
pub fn texts_by_name<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Vec<String>>, D::Error> {
    let named = BTreeMap::<String, Texts>::deserialize(deserializer)?;
    Ok(named.into_iter().map(|(name, texts)| (name, texts.0)).collect())
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrMore)
    }
}

struct OneOrMore;

impl<'de> Visitor<'de> for OneOrMore {
    type Value = Texts;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a string or a list of strings")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Texts, E> {
        Ok(Texts(vec![text.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Texts, A::Error> {
        let mut texts = Vec::new();
        while let Some(text) = list.next_element()? {
            texts.push(text);
        }
        Ok(Texts(texts))
    }
}
