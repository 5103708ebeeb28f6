//! The parameters of the search page: read, checked, and written into links.

use liken_engine::{Limits, checks};
use serde_json::Value;

use super::format::address;
use crate::api::types::{DiversifySpec, FusionMethod, FusionSpec, SearchRequest};
use crate::problem::Problem;

/// The most columns side by side.
pub const MOST_COLUMNS: usize = 4;

/// The most hits of a column on a page.
pub const MOST_HITS: usize = 100;

/// The parameters of the search page and of explanations.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchParams {
    /// `q`: the query.
    pub query: String,
    /// `m`: the columns, each a model or a fusion such as `bm25+rmls`.
    pub columns: Vec<String>,
    /// `k`: the number of hits of a column.
    pub k: usize,
    /// `offset`: the number of better hits that are skipped.
    pub offset: usize,
    /// `filter`: a condition on fields, as JSON.
    pub filter: String,
    /// `fusion`: the method of fusion.
    pub fusion: Option<FusionMethod>,
    /// `diversify`: the weight of relevance against novelty.
    pub diversify: Option<f64>,
    /// `ranker`: the name of a ranker, or `none`.
    pub ranker: String,
    /// `id`: a document, for explanations.
    pub id: String,
    /// `fragment`: whether the script wants the explanation alone, without the page.
    pub fragment: bool,
}

impl Default for SearchParams {
    fn default() -> Self {
        SearchParams {
            query: String::new(),
            columns: Vec::new(),
            k: 10,
            offset: 0,
            filter: String::new(),
            fusion: None,
            diversify: None,
            ranker: String::new(),
            id: String::new(),
            fragment: false,
        }
    }
}

/// The methods of fusion: names in addresses, and descriptions.
pub const FUSIONS: [(&str, &str, FusionMethod); 3] = [
    ("z_score", "standardised scores", FusionMethod::ZScore),
    ("min_max", "scores scaled to 0–1", FusionMethod::MinMax),
    ("rrf", "reciprocal ranks", FusionMethod::Rrf),
];

/// The name of a method of fusion in addresses.
pub fn fusion_name(method: FusionMethod) -> &'static str {
    FUSIONS.iter().find(|(_, _, m)| *m == method).map_or("z_score", |(name, _, _)| name)
}

impl SearchParams {
    /// Reads the parameters of an address; unknown ones are ignored.
    pub fn read(parameters: &[(String, String)]) -> Result<Self, Problem> {
        let mut ask = SearchParams::default();
        for (name, value) in parameters {
            let value = value.trim();
            match name.as_str() {
                "q" => ask.query = value.to_owned(),
                "m" if !value.is_empty() => ask.columns.push(value.to_owned()),
                "k" if !value.is_empty() => {
                    ask.k = number(name, value)?;
                    checks::number(name, ask.k, MOST_HITS)?;
                }
                "offset" if !value.is_empty() => ask.offset = number(name, value)?,
                "filter" => ask.filter = value.to_owned(),
                "fusion" if !value.is_empty() => {
                    let known = FUSIONS.iter().find(|(name, _, _)| *name == value);
                    let (_, _, method) = known.ok_or_else(|| {
                        let names = FUSIONS.map(|(name, _, _)| name).join(", ");
                        Problem::bad(format!("fusion is {value:?}: expected one of {names}"))
                    })?;
                    ask.fusion = Some(*method);
                }
                "diversify" if !value.is_empty() => {
                    let lambda = number(name, value)?;
                    checks::lambda(name, lambda)?;
                    ask.diversify = Some(lambda);
                }
                "ranker" => ask.ranker = value.to_owned(),
                "id" => ask.id = value.to_owned(),
                "fragment" => ask.fragment = !value.is_empty(),
                _ => {}
            }
        }
        checks::offset(ask.offset, ask.k, &Limits::default())?;
        if ask.columns.len() > MOST_COLUMNS {
            return Err(Problem::bad(format!(
                "the address has {} columns: expected at most {MOST_COLUMNS}; remove some of the \
                 `m=`",
                ask.columns.len()
            )));
        }
        Ok(ask)
    }

    /// The search request of a column.
    pub fn request(&self, models: &[String]) -> Result<SearchRequest, Problem> {
        let filter = match self.filter.as_str() {
            "" => None,
            text => Some(serde_json::from_str::<Value>(text).map_err(|error| {
                Problem::bad(format!(
                    "the filter is not JSON such as {{\"year\": {{\"gte\": 2000}}}}: {error}"
                ))
            })?),
        };
        Ok(SearchRequest {
            query: self.query.clone(),
            k: Some(self.k),
            offset: self.offset,
            models: models.to_vec(),
            fusion: self.fusion.map(|method| FusionSpec { method, ..FusionSpec::default() }),
            ranker: Some(self.ranker.clone()).filter(|name| !name.is_empty()),
            diversify: self.diversify.map(|lambda| DiversifySpec { lambda }),
            filter,
            ..SearchRequest::default()
        })
    }

    /// The address of the search page from `offset` on.
    pub fn at_offset(&self, offset: usize) -> String {
        let offset = offset.to_string();
        let mut parameters = self.shared();
        parameters.extend(self.columns.iter().map(|column| ("m", column.clone())));
        if offset != "0" {
            parameters.push(("offset", offset));
        }
        address("/", &parameters)
    }

    /// The address of the search page for another query.
    pub fn for_query(&self, query: &str) -> String {
        SearchParams { query: query.to_owned(), ..self.clone() }.at_offset(0)
    }

    /// The address of the explanation of a hit of a column.
    pub fn explanation(&self, column: &str, id: &str, fragment: bool) -> String {
        let mut parameters = self.shared();
        parameters.extend([("m", column.to_owned()), ("id", id.to_owned())]);
        if fragment {
            parameters.push(("fragment", "1".to_owned()));
        }
        address("/explain", &parameters)
    }

    /// The parameters of all addresses, without those that have their default.
    fn shared(&self) -> Vec<(&'static str, String)> {
        let default = SearchParams::default();
        let optional = [
            ("k", self.k.to_string(), default.k.to_string()),
            ("filter", self.filter.clone(), default.filter),
            ("fusion", self.fusion.map_or("", fusion_name).to_owned(), String::new()),
            (
                "diversify",
                self.diversify.map_or_else(String::new, |l| l.to_string()),
                String::new(),
            ),
            ("ranker", self.ranker.clone(), default.ranker),
        ];
        let given = optional.into_iter().filter(|(_, value, default)| value != default);
        let query = ("q", self.query.clone());
        std::iter::once(query).chain(given.map(|(name, value, _)| (name, value))).collect()
    }
}

/// The models of a column: the one of that name, or those between the plus signs. A plus sign
/// that was not encoded arrives as a space.
pub fn models_of(column: &str, known: &[String]) -> Vec<String> {
    if known.iter().any(|name| name == column) {
        return vec![column.to_owned()];
    }
    let names = column.split(['+', ' ']).map(str::trim);
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, Problem> {
    value.parse().map_err(|_| Problem::bad(format!("{name} is {value:?}: expected a number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(parameters: &[(&str, &str)]) -> Result<SearchParams, Problem> {
        let owned: Vec<(String, String)> =
            parameters.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        SearchParams::read(&owned)
    }

    /// Decodes an address as a browser's form would have written it.
    fn decoded(address: &str) -> Vec<(String, String)> {
        let uri: axum::http::Uri = address.parse().unwrap();
        axum::extract::Query::try_from_uri(&uri).unwrap().0
    }

    #[test]
    fn what_is_written_into_a_link_is_read_back() {
        let ask = SearchParams {
            query: "a&b=\"c\" + ü #%".into(),
            columns: vec!["bm25+rmls".into(), "my model".into()],
            k: 20,
            offset: 40,
            filter: r#"{"year": {"gte": 2000}}"#.into(),
            fusion: Some(FusionMethod::Rrf),
            diversify: Some(0.5),
            ranker: "none".into(),
            ..SearchParams::default()
        };
        assert_eq!(SearchParams::read(&decoded(&ask.at_offset(40))).unwrap(), ask);
        let of_hit =
            SearchParams::read(&decoded(&ask.explanation("rmls", "../<x>?", true))).unwrap();
        assert_eq!((of_hit.id.as_str(), of_hit.fragment), ("../<x>?", true));
        assert_eq!((of_hit.columns, of_hit.query), (vec!["rmls".to_owned()], ask.query));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_reason() {
        for (name, value, expected) in [
            ("k", "0", "from 1 to 100"),
            ("offset", "18446744073709551615", "together above 10000"),
            ("k", "1000000000", "from 1 to 100"),
            ("k", "ten", "number"),
            ("offset", "-1", "number"),
            ("fusion", "sum", "z_score, min_max, rrf"),
            ("diversify", "2", "from 0 to 1"),
            ("diversify", "NaN", "from 0 to 1"),
        ] {
            let problem = read(&[(name, value)]).unwrap_err();
            assert_eq!(problem.status, 400);
            assert!(problem.detail.contains(expected), "{name}={value}: {}", problem.detail);
        }
        assert_eq!(read(&[("m", "a"); 5]).unwrap_err().status, 400);
        let bad = read(&[("filter", "{year")]).unwrap().request(&[]).unwrap_err();
        assert!(bad.detail.contains("JSON"), "{}", bad.detail);
        assert_eq!(read(&[("k", ""), ("m", ""), ("utm", "x")]).unwrap(), SearchParams::default());
    }

    #[test]
    fn a_column_is_a_model_or_several() {
        let known = ["bm25".to_owned(), "rmls+bm25".to_owned()];
        assert_eq!(models_of("rmls+bm25", &known), ["rmls+bm25"]);
        assert_eq!(models_of("bm25+rmls", &known), ["bm25", "rmls"]);
        assert_eq!(models_of("bm25 rmls", &known), ["bm25", "rmls"]);
    }
}
