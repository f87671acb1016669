//! Fields of the client's input that may be of another type than we expect: then they count as
//! missing instead of spoiling the rest.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A value of any type.
pub(super) fn value<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).unwrap_or_default())
}

/// A text. It may be long, so it is read once and not looked over before.
pub(super) fn text<'de, D>(deserializer: D) -> Result<String, D::Error>
where
    D: Deserializer<'de>,
{
    Ok(optional_text(deserializer)?.unwrap_or_default())
}

/// The same where a text that is missing is none.
pub(super) fn optional_text<'de, D>(deserializer: D) -> Result<Option<String>, D::Error>
where
    D: Deserializer<'de>,
{
    Ok(deserializer.deserialize_any(Either::<IgnoredAny>(PhantomData))?.0)
}

/// An object, all of whose own fields are as lenient; read once, like a text.
pub(super) fn object<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(deserializer.deserialize_any(Either(PhantomData))?.1)
}

/// A text or an object, whichever it is; neither if it is something else.
struct Either<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
    type Value = (Option<String>, Option<T>);

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok((Some(text.to_owned()), None))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok((None, None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok((None, None))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok((None, None))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok((None, None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok((None, None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok((None, None))
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Self::Value, A::Error> {
        Ok((None, Some(T::deserialize(MapAccessDeserializer::new(object))?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Fields {
        #[serde(default, deserialize_with = "optional_text")]
        a: Option<String>,
        #[serde(default, deserialize_with = "text")]
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
