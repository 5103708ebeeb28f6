//! Parameters as data: a struct is read, changed and documented by the names of its fields, so that
//! the command line, files and the help text follow the struct.

pub(crate) mod check;

use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::suggest::{closest, did_you_mean};
use crate::{Error, Result};

/// The documentation of one parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParamDoc {
    /// The key, as in a file: `features.doc_clicks`.
    pub key: String,
    /// Its default, as it would be typed.
    pub default: String,
    /// Its description, with one line per value where it takes few.
    pub about: String,
}

fn wrong_setting(error: serde_json::Error) -> Error {
    Error::Setting { problem: with_suggestion(error.to_string()) }
}

/// What serde says of an unknown field or value, with the known one that may have been meant.
fn with_suggestion(problem: String) -> String {
    let mut names = problem.split('`').skip(1).step_by(2);
    let meant = match names.next() {
        Some(typed) if problem.starts_with("unknown ") => closest(typed, names),
        _ => None,
    };
    match meant {
        Some(name) => format!("{problem}; did you mean {name}?"),
        None => problem,
    }
}

/// Parameters as JSON.
pub(crate) fn to_json(params: &impl Serialize) -> Result<Value> {
    serde_json::to_value(params).map_err(wrong_setting)
}

/// `params` after a change of their JSON.
pub(crate) fn edited<T: Serialize + DeserializeOwned>(
    params: &T,
    change: impl FnOnce(&mut Value) -> Result<()>,
) -> Result<T> {
    let mut value = to_json(params)?;
    change(&mut value)?;
    serde_json::from_value(value).map_err(wrong_setting)
}

/// Sets the place that `key` names in `params` to `value`, parsed as TOML, else taken as text.
pub fn set_key(params: &mut Value, key: &str, value: &str) -> Result<()> {
    let parsed = toml::from_str::<Map<String, Value>>(&format!("value = {value}"))
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::String(value.to_owned()));
    if parsed.is_null() {
        // TOML knows nan and inf; JSON, in which parameters are kept, does not.
        return Err(Error::Setting { problem: format!("{value}: expected a finite number") });
    }
    let mut place = params;
    for name in key.split('.') {
        if place.is_null() {
            // An optional table that is not there yet.
            *place = Value::Object(Map::new());
        }
        let Value::Object(table) = place else {
            return Err(Error::parameter(key, value, "the key of a single parameter"));
        };
        place = table.entry(name).or_insert_with(|| Value::Object(Map::new()));
    }
    *place = parsed;
    Ok(())
}

/// Overwrites the values of `into` by those of `table`, recursively.
pub fn merge(into: &mut Value, table: &Map<String, Value>) {
    if let Value::Object(known) = into {
        for (key, value) in table {
            match (known.get_mut(key), value) {
                (Some(inner @ Value::Object(_)), Value::Object(table)) => merge(inner, table),
                _ => known.extend([(key.clone(), value.clone())]),
            }
        }
    }
}

/// Every parameter of `T`, with its default.
pub(crate) fn docs<T: JsonSchema + Default + Serialize>() -> Vec<ParamDoc> {
    let schema = schema_for!(T).to_value();
    let defaults = serde_json::to_value(T::default()).unwrap_or(Value::Null);
    let mut found = Vec::new();
    collect_docs(&schema, &schema, &defaults, "", &mut found);
    found
}

/// The method called `name` among `known`, with its defaults; `kind` names the role in the error.
pub(crate) fn find_named<'a, T: 'a>(
    kind: &'static str,
    name: &str,
    known: impl Iterator<Item = &'a Named<T>> + Clone,
) -> Result<T> {
    let found = known.clone().find(|(of, ..)| *of == name);
    found.map(|(_, _, make)| make()).ok_or_else(|| {
        let known: Vec<&str> = known.map(|&(name, ..)| name).collect();
        Error::Unknown {
            kind,
            name: name.to_owned(),
            advice: did_you_mean(
                name,
                known.iter().copied(),
                &format!("there are {}", known.join(", ")),
            ),
        }
    })
}

/// The name of a method, one sentence about it, and a constructor of its default parameters.
pub(crate) type Named<T> = (&'static str, &'static str, fn() -> T);

/// Declares the methods of one role (matchers, rankers) by one line per method: its name, its struct,
/// and one sentence. The result is an enum of the structs that derefs to the role's trait.
macro_rules! methods {
    ($(#[$about_set:meta])* $set:ident as dyn $role:path;
     $($name:literal $method:ident $about:literal)*) => {
        $(#[$about_set])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(tag = "method", content = "params")]
        pub enum $set {
            $(
                #[doc = $about]
                #[serde(rename = $name)]
                $method($method),
            )*
        }

        impl $set {
            const METHODS: &[$crate::params::Named<$set>] =
                &[$(($name, $about, || $set::$method($method::default()))),*];

            /// The name under which the method is listed.
            fn listed_name(&self) -> &'static str {
                match self { $($set::$method(_) => $name,)* }
            }

            /// Every parameter of the method, with its default.
            pub fn docs(&self) -> Vec<$crate::params::ParamDoc> {
                match self { $($set::$method(_) => $crate::params::docs::<$method>(),)* }
            }

            /// Sets the parameter `key` (dots lead into tables) to `value`, written as in TOML; a
            /// bare word is text. `check` says whether the parameters fit together.
            pub fn set(&mut self, key: &str, value: &str) -> $crate::Result<()> {
                self.edit(|params| $crate::params::set_key(params, key, value))
            }

            /// Sets every parameter that `table` names.
            pub fn merge(
                &mut self,
                table: &serde_json::Map<String, serde_json::Value>,
            ) -> $crate::Result<()> {
                self.edit(|params| {
                    $crate::params::merge(params, table);
                    Ok(())
                })
            }

            /// Sets the seed, if the method has one.
            pub fn set_seed(&mut self, value: u64) -> $crate::Result<()> {
                self.edit(|params| {
                    if let Some(seed) = params.get_mut("seed") {
                        *seed = value.into();
                    }
                    Ok(())
                })
            }

            fn edit(
                &mut self,
                change: impl FnOnce(&mut serde_json::Value) -> $crate::Result<()>,
            ) -> $crate::Result<()> {
                *self = match self {
                    $($set::$method(params) => {
                        $set::$method($crate::params::edited(params, change)?)
                    })*
                };
                Ok(())
            }
        }

        impl std::ops::Deref for $set {
            type Target = dyn $role;

            fn deref(&self) -> &Self::Target {
                match self { $($set::$method(params) => params,)* }
            }
        }
    };
}
pub(crate) use methods;

/// Reads and writes a type in files as text, by its `FromStr` and `Display`; to be used with
/// `#[serde(try_from = "String", into = "String")]`.
macro_rules! as_text {
    ($type:ty) => {
        impl TryFrom<String> for $type {
            type Error = $crate::Error;

            fn try_from(text: String) -> $crate::Result<Self> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.to_string()
            }
        }
    };
}
pub(crate) use as_text;

/// Walks the properties of `node`, following references into `root`.
fn collect_docs(
    root: &Value,
    node: &Value,
    defaults: &Value,
    prefix: &str,
    found: &mut Vec<ParamDoc>,
) {
    let Some(properties) = node["properties"].as_object() else { return };
    for (name, property) in properties {
        let key = format!("{prefix}{name}");
        let target = resolve(root, property);
        let default = &defaults[name];
        if target["properties"].is_object() {
            collect_docs(root, target, default, &format!("{key}."), found);
            continue;
        }
        let mut about = property["description"].as_str().unwrap_or_default().replace('\n', " ");
        for choice in target["oneOf"].as_array().into_iter().flatten() {
            let named = choice["const"].as_str().zip(choice["description"].as_str());
            if let Some((value, text)) = named {
                about.push_str(&format!("\n  {value}: {}", text.replace('\n', " ")));
            }
        }
        let default = match default {
            Value::Null => "none".to_owned(),
            other => other.to_string(),
        };
        found.push(ParamDoc { key, default, about });
    }
}

fn resolve<'a>(root: &'a Value, node: &'a Value) -> &'a Value {
    let reference = node["$ref"].as_str().or_else(|| {
        let options = node["anyOf"].as_array()?;
        options.iter().find_map(|option| option["$ref"].as_str())
    });
    reference.and_then(|path| root.pointer(path.trim_start_matches('#'))).unwrap_or(node)
}
