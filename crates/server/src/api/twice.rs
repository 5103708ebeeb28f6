//! Names that stand twice in one object. The reader of JSON would keep the last of them and say
//! nothing, and what was meant would be a guess.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Any value, all objects of which name each of their fields once. Nothing of it is kept.
pub(super) struct Once;

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Look)
    }
}

struct Look;

impl<'de> Visitor<'de> for Look {
    type Value = Once;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_str<E>(self, _: &str) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_unit<E>(self) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Once, A::Error> {
        while list.next_element::<Once>()?.is_some() {}
        Ok(Once)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Once, A::Error> {
        let mut names: HashSet<String> = HashSet::new();
        while let Some(name) = object.next_key::<String>()? {
            if names.contains(&name) {
                let shown: String = name.chars().take(64).collect();
                return Err(A::Error::custom(format!("the field `{shown}` is given twice")));
            }
            names.insert(name);
            object.next_value::<Once>()?;
        }
        Ok(Once)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_once_in_an_object() {
        let once = |text: &str| serde_json::from_str::<Once>(text).map_err(|e| e.to_string());
        for good in [r#"{"a": {"a": [1, {"a": null}]}, "b": {"a": -1.5}}"#, "[]", "7", r#""x""#] {
            assert!(once(good).is_ok(), "{good}");
        }
        for bad in [r#"{"a": 1, "a": 1}"#, r#"[{"x": {"a": 1, "b": 2, "\u0061": 3}}]"#] {
            let reason = once(bad).err().unwrap();
            assert!(reason.contains("the field `a` is given twice"), "{reason}");
        }
    }
}
