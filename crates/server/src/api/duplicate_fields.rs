//! Detects names that occur twice in one object. serde_json would silently keep the last of them.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Any JSON value whose objects have each name once. It stores nothing.
pub(super) struct UniqueFields;

impl<'de> Deserialize<'de> for UniqueFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueFields)
    }
}

/// The functions of a visitor that accept scalars.
macro_rules! accept {
    ($($visit:ident: $scalar:ty),*) => {
        $(fn $visit<E>(self, _: $scalar) -> Result<UniqueFields, E> {
            Ok(UniqueFields)
        })*
    };
}

impl<'de> Visitor<'de> for UniqueFields {
    type Value = UniqueFields;

    accept!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<UniqueFields, E> {
        Ok(UniqueFields)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<UniqueFields, A::Error> {
        while list.next_element::<UniqueFields>()?.is_some() {}
        Ok(UniqueFields)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<UniqueFields, A::Error> {
        let mut names: HashSet<String> = HashSet::new();
        while let Some(name) = object.next_key::<String>()? {
            if let Some(name) = names.replace(name) {
                let shown: String = name.chars().take(64).collect();
                return Err(A::Error::custom(format!("the field `{shown}` is given twice")));
            }
            object.next_value::<UniqueFields>()?;
        }
        Ok(UniqueFields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_once_in_an_object() {
        let once =
            |text: &str| serde_json::from_str::<UniqueFields>(text).map_err(|e| e.to_string());
        for good in [r#"{"a": {"a": [1, {"a": null}]}, "b": {"a": -1.5}}"#, "[]", "7", r#""x""#] {
            assert!(once(good).is_ok(), "{good}");
        }
        for bad in [r#"{"a": 1, "a": 1}"#, r#"[{"x": {"a": 1, "b": 2, "\u0061": 3}}]"#] {
            let reason = once(bad).err().unwrap();
            assert!(reason.contains("the field `a` is given twice"), "{reason}");
        }
    }
}
