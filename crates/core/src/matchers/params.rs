//! The closed set of methods and their parameters. Each is defined once, as a struct; what
//! the command line, a TOML file and `--help` know of it is read off that struct.

use schemars::{JsonSchema, schema_for};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Bm25, Kinds, Lm, LsiDt, LsiQd, Mpls, Pls, Ridge, Rmls, Smoothing, Square, Vsm};
use crate::features::{Features, Preparation};
use crate::{Error, Result};

/// Every method by name, with one sentence about it.
pub const METHODS: [(&str, &str); 12] = [
    ("bm25", "BM25 as Lucene computes it: the lexical baseline"),
    ("vsm", "vector space model: tf-idf cosine"),
    ("lm", "query likelihood with Dirichlet smoothing (also as lm-dirichlet)"),
    ("lm-dirichlet", "query likelihood with Dirichlet smoothing"),
    ("lm-jm", "query likelihood with Jelinek–Mercer smoothing"),
    ("pls", "partial least squares: orthonormal maps learnt from clicks"),
    ("lsi_dt", "latent semantic indexing of documents and terms: learns from documents alone"),
    ("lsi_qd", "latent semantic indexing of clicks: only knows queries that have some"),
    ("mpls", "PLS with a model for words and one for clicks, or other ways to join the two"),
    (
        "rmls",
        "regularised mapping to latent structures: maps with rows of unit norm, sparse if asked",
    ),
    ("square", "square loss over all pairs: from PLS towards canonical correlation by one knob"),
    ("ridge", "square loss without a bottleneck: weights from query words to documents"),
];

/// The parameters of one method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", content = "params", rename_all = "lowercase")]
pub enum Params {
    /// Vector space model.
    Vsm(Vsm),
    /// BM25.
    Bm25(Bm25),
    /// Language model.
    Lm(Lm),
    /// Partial least squares.
    Pls(Pls),
    /// Regularised mapping to latent structures.
    Rmls(Rmls),
    /// Latent semantic indexing of documents and terms.
    #[serde(rename = "lsi_dt")]
    LsiDt(LsiDt),
    /// Latent semantic indexing of queries and documents.
    #[serde(rename = "lsi_qd")]
    LsiQd(LsiQd),
    /// PLS with several kinds of features.
    Mpls(Mpls),
    /// The square loss at rank d.
    Square(Square),
    /// The square loss at full rank: ridge regression.
    Ridge(Ridge),
}

/// One parameter, for people.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParamDoc {
    /// The key, as after `--set` or in a file: `features.doc_clicks`.
    pub key: String,
    /// Its default, as it would be typed.
    pub default: String,
    /// What it does, with the values it takes where they are few.
    pub about: String,
}

impl Params {
    /// The method called `name`, with its defaults.
    pub fn named(name: &str) -> Result<Self> {
        Ok(match name {
            "vsm" => Params::Vsm(Vsm::default()),
            "bm25" => Params::Bm25(Bm25::default()),
            "lm" | "lm-dirichlet" => Params::Lm(Lm::default()),
            "lm-jm" => Params::Lm(Lm { smoothing: Smoothing::Jm, ..Lm::default() }),
            "pls" => Params::Pls(Pls::default()),
            "rmls" => Params::Rmls(Rmls::default()),
            "lsi_dt" => Params::LsiDt(LsiDt::default()),
            "lsi_qd" => Params::LsiQd(LsiQd::default()),
            "mpls" => Params::Mpls(Mpls::default()),
            "square" => Params::Square(Square::default()),
            "ridge" => Params::Ridge(Ridge::default()),
            _ => {
                let known: Vec<&str> = METHODS.iter().map(|&(name, _)| name).collect();
                return Err(Error::Unknown {
                    kind: "method",
                    name: name.to_owned(),
                    advice: format!("there are {}", known.join(", ")),
                });
            }
        })
    }

    /// The method's name.
    pub fn name(&self) -> &'static str {
        match self {
            Params::Vsm(_) => "vsm",
            Params::Bm25(_) => "bm25",
            Params::Lm(Lm { smoothing: Smoothing::Dirichlet, .. }) => "lm",
            Params::Lm(Lm { smoothing: Smoothing::Jm, .. }) => "lm-jm",
            Params::Pls(_) => "pls",
            Params::Rmls(_) => "rmls",
            Params::LsiDt(_) => "lsi_dt",
            Params::LsiQd(_) => "lsi_qd",
            Params::Mpls(_) => "mpls",
            Params::Square(_) => "square",
            Params::Ridge(_) => "ridge",
        }
    }

    /// Whether fitting learns maps: from clicks, or in `lsi_dt` from documents.
    pub fn learns(&self) -> bool {
        !matches!(self, Params::Vsm(_) | Params::Bm25(_) | Params::Lm(_))
    }

    /// The features of a method that learns maps or weights.
    pub fn features(&self) -> Option<Features> {
        Some(match self {
            Params::Vsm(_) | Params::Bm25(_) | Params::Lm(_) => return None,
            Params::Pls(params) => params.features.clone(),
            Params::Rmls(params) => params.features.clone(),
            Params::LsiDt(params) => params.features(),
            Params::LsiQd(params) => params.features(),
            Params::Mpls(params) => params.features(),
            Params::Square(params) => params.features.clone(),
            Params::Ridge(params) => params.features.both_sides(),
        })
    }

    /// The latent dimensions of the maps that the method learns, if it learns maps.
    pub fn dim(&self) -> Option<usize> {
        match self {
            Params::Vsm(_) | Params::Bm25(_) | Params::Lm(_) | Params::Ridge(_) => None,
            Params::Pls(params) => Some(params.dim),
            Params::Rmls(params) => Some(params.dim),
            Params::LsiDt(params) => Some(params.dim),
            Params::LsiQd(params) => Some(params.dim),
            // The maps of both kinds, side by side.
            Params::Mpls(params) if params.kinds == Kinds::Com => Some(2 * params.dim),
            Params::Mpls(params) => Some(params.dim),
            Params::Square(params) => Some(params.dim),
        }
    }

    /// Whether the method has latent dimensions.
    pub fn has_dim(&self) -> bool {
        self.dim().is_some()
    }

    /// Refuses values that make no sense.
    pub fn check(&self) -> Result<()> {
        match self {
            Params::Vsm(_) => Ok(()),
            Params::Bm25(params) => params.check(),
            Params::Lm(params) => params.check(),
            Params::Pls(params) => params.check(),
            Params::Rmls(params) => params.check(),
            Params::LsiDt(params) => params.check(),
            Params::LsiQd(params) => params.check(),
            Params::Mpls(params) => params.check(),
            Params::Square(params) => params.check(),
            Params::Ridge(params) => params.check(),
        }
    }

    /// Sets the parameter `key` (dots lead into tables) to `value`, written as in TOML; a
    /// bare word is text. Whether all of them make sense together is for [`Params::check`].
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        self.edit(|params| set_key(params, key, value))
    }

    /// Sets every parameter that `table` names.
    pub fn merge(&mut self, table: &Map<String, Value>) -> Result<()> {
        self.edit(|params| {
            merge(params, table);
            Ok(())
        })
    }

    /// Sets the seed, where the method has one.
    pub fn seed(&mut self, seed: u64) {
        match self {
            Params::Pls(params) => params.seed = seed,
            Params::Rmls(params) => params.seed = seed,
            Params::LsiDt(params) => params.seed = seed,
            Params::LsiQd(params) => params.seed = seed,
            Params::Mpls(params) => params.seed = seed,
            Params::Square(params) => params.seed = seed,
            Params::Vsm(_) | Params::Bm25(_) | Params::Lm(_) | Params::Ridge(_) => {}
        }
    }

    /// Every parameter of the method, with its default.
    pub fn docs(&self) -> Vec<ParamDoc> {
        match self {
            Params::Vsm(_) => docs::<Vsm>(),
            Params::Bm25(_) => docs::<Bm25>(),
            Params::Lm(_) => docs::<Lm>(),
            Params::Pls(_) => docs::<Pls>(),
            Params::Rmls(_) => docs::<Rmls>(),
            Params::LsiDt(_) => docs::<LsiDt>(),
            Params::LsiQd(_) => docs::<LsiQd>(),
            Params::Mpls(_) => docs::<Mpls>(),
            Params::Square(_) => docs::<Square>(),
            Params::Ridge(_) => docs::<Ridge>(),
        }
    }

    fn edit(&mut self, change: impl FnOnce(&mut Value) -> Result<()>) -> Result<()> {
        *self = match self {
            Params::Vsm(params) => Params::Vsm(edited(params, change)?),
            Params::Bm25(params) => Params::Bm25(edited(params, change)?),
            Params::Lm(params) => Params::Lm(edited(params, change)?),
            Params::Pls(params) => Params::Pls(edited(params, change)?),
            Params::Rmls(params) => Params::Rmls(edited(params, change)?),
            Params::LsiDt(params) => Params::LsiDt(edited(params, change)?),
            Params::LsiQd(params) => Params::LsiQd(edited(params, change)?),
            Params::Mpls(params) => Params::Mpls(edited(params, change)?),
            Params::Square(params) => Params::Square(edited(params, change)?),
            Params::Ridge(params) => Params::Ridge(edited(params, change)?),
        };
        Ok(())
    }
}

/// Every parameter of how text is read, each key beginning with `preparation.`.
pub fn preparation_docs() -> Vec<ParamDoc> {
    let mut all = docs::<Preparation>();
    all.iter_mut().for_each(|doc| doc.key = format!("preparation.{}", doc.key));
    all
}

fn edited<T: Serialize + DeserializeOwned>(
    params: &T,
    change: impl FnOnce(&mut Value) -> Result<()>,
) -> Result<T> {
    let broken = |error: serde_json::Error| Error::Setting { problem: error.to_string() };
    let mut value = serde_json::to_value(params).map_err(broken)?;
    change(&mut value)?;
    serde_json::from_value(value).map_err(broken)
}

/// Sets the place that `key` names in `params` to `value`, read as TOML or as bare text.
pub fn set_key(params: &mut Value, key: &str, value: &str) -> Result<()> {
    let parsed = toml::from_str::<Map<String, Value>>(&format!("value = {value}"))
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::String(value.to_owned()));
    let mut place = params;
    for name in key.split('.') {
        if place.is_null() {
            // An optional table that is not there yet.
            *place = Value::Object(Map::new());
        }
        let table = match place {
            Value::Object(table) => table,
            _ => {
                return Err(Error::parameter(key, value, "a key that leads to a single parameter"));
            }
        };
        place = table.entry(name).or_insert_with(|| Value::Object(Map::new()));
    }
    *place = parsed;
    Ok(())
}

/// Lays `table` over `into`, table by table.
pub fn merge(into: &mut Value, table: &Map<String, Value>) {
    if let Value::Object(known) = into {
        for (key, value) in table {
            match (known.get_mut(key), value) {
                (Some(inner @ Value::Object(_)), Value::Object(table)) => merge(inner, table),
                _ => {
                    known.insert(key.clone(), value.clone());
                }
            }
        }
    }
}

fn docs<T: JsonSchema + Default + Serialize>() -> Vec<ParamDoc> {
    let schema = schema_for!(T).to_value();
    let defaults = serde_json::to_value(T::default()).unwrap_or(Value::Null);
    let mut found = Vec::new();
    collect_docs(&schema, &schema, &defaults, "", &mut found);
    found
}

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
            if let (Some(value), Some(text)) =
                (choice["const"].as_str(), choice["description"].as_str())
            {
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
