//! Fields of the client's input that may be of another type than we expect: then they count as
//! missing instead of spoiling the rest.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

#[derive(Deserialize)]
#[serde(untagged)]
enum Loosely<T> {
    AsExpected(T),
    Otherwise(IgnoredAny),
}

/// A value of the type that is expected, or the default in its place.
pub(super) fn value<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    match Loosely::deserialize(deserializer)? {
        Loosely::AsExpected(value) => Ok(value),
        Loosely::Otherwise(_) => Ok(T::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Fields {
        #[serde(default, deserialize_with = "value")]
        a: Option<String>,
        #[serde(default, deserialize_with = "value")]
        b: String,
        #[serde(default, deserialize_with = "value")]
        c: u8,
    }

    fn check(sent: &str, a: Option<&str>, b: &str, c: u8) {
        let fields: Fields = serde_json::from_str(sent).unwrap();
        assert_eq!((fields.a.as_deref(), fields.b.as_str(), fields.c), (a, b, c), "{sent}");
    }

    #[test]
    fn whatever_is_no_text_counts_as_missing() {
        check(r#"{"a":"x\ny","b":"z","c":7}"#, Some("x\ny"), "z", 7);
        check("{}", None, "", 0);
        for other in ["null", "true", "-1", "1", "1.5e300", "[1,[2]]", r#"{"d":{"e":"f"}}"#] {
            check(&format!(r#"{{"a":{other},"b":{other},"c":"7"}}"#), None, "", 0);
        }
    }

    #[test]
    fn broken_json_stays_an_error() {
        assert!(serde_json::from_str::<Fields>(r#"{"a":[1,}"#).is_err());
        assert!(serde_json::from_str::<Fields>(r#"{"a":"x"#).is_err());
    }
}
