//! Rankers of a comparison: their method, features and training queries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::rank::features::Group;
use crate::rank::{Normalisation, Over, RankParams, Scale, rank_methods};
use crate::{Error, Result};

/// A ranker of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct RankerSpec {
    /// Name of its row in the comparison.
    pub name: String,
    /// Its features: groups, models and names of features, or `all`; a minus before a name excludes
    /// it. Empty means all.
    pub features: Vec<String>,
    /// The method and its parameters.
    pub params: RankParams,
    /// Normalisation of features. By default, linear methods get standardised features and trees
    /// get them as they are.
    pub normalisation: Option<Normalisation>,
}

impl RankerSpec {
    /// Reads `METHOD`, or `METHOD:FEATURE+FEATURE`, as in `mart:bm25+rmls`, or in `mart:-pls` for all
    /// but `pls`.
    pub fn parse(text: &str) -> Result<Self> {
        let (method, features) = text.split_once(':').unwrap_or((text, ""));
        let features = features.split('+').map(str::trim).filter(|name| !name.is_empty());
        Ok(RankerSpec {
            name: text.to_owned(),
            features: features.map(str::to_owned).collect(),
            params: RankParams::named(method.trim())?,
            normalisation: None,
        })
    }

    /// Whether `text` begins with a ranking method, so that it is a ranker and no matcher.
    pub fn is_one(text: &str) -> bool {
        let method = text.split(':').next().unwrap_or(text).trim();
        rank_methods().any(|(name, _)| name == method)
    }

    /// The ranker of a table in a file: `method`, `features`, `normalise`, and parameters of the
    /// method.
    pub fn of_table(name: &str, table: &Map<String, Value>) -> Result<Self> {
        let mut table = table.clone();
        let method = match table.remove("method") {
            Some(Value::String(method)) => method,
            Some(other) => return Err(Error::parameter("method", other, "a ranking method")),
            None => name.to_owned(),
        };
        let features = match table.remove("features") {
            None => Vec::new(),
            Some(given) => serde_json::from_value(given.clone())
                .map_err(|_| Error::parameter("features", given, "a list of names"))?,
        };
        let normalisation = match table.remove("normalise") {
            None => None,
            Some(given) => Some(
                serde_json::from_value(given)
                    .map_err(|error| Error::Setting { problem: format!("normalise: {error}") })?,
            ),
        };
        let mut params = RankParams::named(&method)?;
        params.merge(&table)?;
        params.check()?;
        Ok(RankerSpec { name: name.to_owned(), features, params, normalisation })
    }

    /// The models among its features: the names of no group and no feature.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        let bare = self.features.iter().map(|name| name.trim_start_matches('-').trim());
        bare.filter(|&name| {
            name != "all" && !name.contains('(') && Group::parse(&[name.to_owned()]).is_err()
        })
    }

    /// Normalisation of its features.
    pub(super) fn normalisation(&self) -> Normalisation {
        // Over all rows: a score must not depend on the other candidates.
        let alike = Normalisation { scale: Scale::ZScore, over: Over::All };
        let usual = if self.params.is_linear() { alike } else { Normalisation::default() };
        self.normalisation.unwrap_or(usual)
    }
}

/// The queries that rankers learn from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LearnFrom {
    /// Validation queries, as in the papers: no fit has learnt from their grades, though some choose
    /// their best step by them.
    #[default]
    Validation,
    /// Training queries, scored by models that were fitted without their clicks.
    Train,
    /// Both.
    Both,
}

/// Parameters of stacking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Stacking {
    /// Queries that rankers learn from: `validation`, `train` (by cross-fitting), or `both`.
    pub on: LearnFrom,
    /// Number of folds of these queries. A ranker learns from all folds but one, its validation; the scores of all such rankers are averaged.
    pub folds: usize,
    /// Number of folds of cross-fitting; every fold costs a fit of every model.
    pub cross_folds: usize,
    /// Maximum number of training queries; a random sample if there are more.
    pub queries: usize,
    /// If all documents are ranked, the ranker re-ranks this many of the best documents of every model; the rest follows in the order of BM25.
    pub depth: usize,
    /// Groups of features: bm25, vsm, lm, lm-jm, proximity, length, url, clicks, fields, models; a minus before one excludes it. Empty means all.
    pub groups: Vec<String>,
    /// Seed of the splits.
    pub seed: u64,
}

impl Default for Stacking {
    fn default() -> Self {
        Stacking {
            on: LearnFrom::Validation,
            folds: 5,
            cross_folds: 5,
            queries: 5000,
            depth: 100,
            groups: Vec::new(),
            seed: 1,
        }
    }
}

impl Stacking {
    /// Refuses values that make no sense.
    pub fn check(&self) -> Result<()> {
        for (name, value) in [("folds", self.folds), ("cross_folds", self.cross_folds)] {
            if value < 2 {
                return Err(Error::parameter(name, value, "2 or more"));
            }
        }
        for (name, value) in [("depth", self.depth), ("queries", self.queries)] {
            if value == 0 {
                return Err(Error::parameter(name, value, "1 or more"));
            }
        }
        Group::parse(&self.groups).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_ranker_is_read_as_written() {
        let spec = RankerSpec::parse("regression:bm25+-lm-jm").unwrap();
        assert_eq!(spec.features, ["bm25", "-lm-jm"]);
        assert_eq!(
            (spec.name.as_str(), spec.params.name()),
            ("regression:bm25+-lm-jm", "regression")
        );
        assert!(RankerSpec::parse("regression").unwrap().features.is_empty());
        assert!(RankerSpec::parse("bm25:all").is_err());
        assert!(RankerSpec::is_one("regression:all") && !RankerSpec::is_one("bm25"));
        let table = json!({ "method": "regression", "features": ["all", "-pls"], "penalty": 0.5 });
        let spec = RankerSpec::of_table("mine", table.as_object().unwrap()).unwrap();
        assert_eq!(spec.name, "mine");
        for wrong in [
            json!({ "method": "regression", "penalti": 1 }),
            json!({ "method": "regressio" }),
            json!({ "method": "regression", "features": 3 }),
            json!({ "method": "regression", "normalise": { "scale": "much" } }),
        ] {
            assert!(RankerSpec::of_table("x", wrong.as_object().unwrap()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_ranker_names_the_models_it_is_made_of() {
        for (text, models) in [
            ("regression", &[][..]),
            ("regression:bm25+rmls+length", &["rmls"]),
            ("regression:-pls", &["pls"]),
            ("regression:all+bm25(title)", &[]),
        ] {
            let spec = RankerSpec::parse(text).unwrap();
            assert_eq!(spec.models().collect::<Vec<_>>(), models, "{text}");
        }
    }
}
