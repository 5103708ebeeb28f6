//! Continuing from a model when the log has grown: the rows of its maps are put where the
//! same features stand now. A term is known by itself, a clicked document by its id, a query
//! by its id and text, or by its text alone. Rows of features that the model did not know are
//! zero; the next product with C fills them.

use std::collections::HashMap;

use serde::Serialize;

use super::{Bilinear, Map, Maps, Model, Params};
use crate::features::{Counts, Features, Featurizer, Preparation};
use crate::linalg::Dense;
use crate::sparse::Csr;
use crate::{Error, Result};

/// Earlier maps in the place of today's features.
pub struct MatchedMaps {
    /// The maps.
    pub maps: Maps,
    /// How much of them was there before.
    pub known: Known,
}

/// How many features an earlier model knew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Known {
    /// Query features that it knew, and all there are now.
    pub query_features: (usize, usize),
    /// Document features that it knew, and all there are now.
    pub doc_features: (usize, usize),
}

impl Model {
    /// What the fit of `params` to text read as `preparation` says can begin with; nothing for
    /// methods that learn nothing. `nth` counts the parts of that method. An error if the method
    /// cannot begin with a model, or if what this model learnt means something else than what is
    /// to be learnt.
    pub fn check_warm_start(
        &self,
        params: &Params,
        nth: usize,
        preparation: &Preparation,
    ) -> Result<Option<&Maps>> {
        let Some((features, dim)) = shape(params) else {
            if params.learns() {
                return Err(Error::Unusable {
                    path: self.about.name.clone().into(),
                    problem: format!("training of {} cannot begin with a model", params.name()),
                    advice: "pls and rmls can; train this one without `init`".into(),
                });
            }
            return Ok(None);
        };
        let refuse = |what: &str, has: String, asked: String, advice: String| {
            Err(Error::Unusable {
                path: self.about.name.clone().into(),
                problem: format!(
                    "training cannot begin with this model: its {what} {has}, but asked for is {asked}"
                ),
                advice,
            })
        };
        let same_method = |part: &&super::Part| part.params.name() == params.name();
        let Some(part) = self.parts.iter().filter(same_method).nth(nth) else {
            let methods: Vec<&str> = self.parts.iter().map(|part| part.params.name()).collect();
            return refuse(
                "method is",
                methods.join("+"),
                params.name().into(),
                format!("train {} without `init`, or name the model's own method", params.name()),
            );
        };
        let (old, new) = (&self.counts.preparation, preparation);
        if old.analyzer != new.analyzer {
            return refuse(
                "text is read with",
                json(&old.analyzer),
                json(&new.analyzer),
                "give the settings of the model, or train without `init`".into(),
            );
        }
        if old.fields != new.fields {
            return refuse(
                "fields are",
                old.fields.join(","),
                new.fields.join(","),
                format!("set `fields = {}`, or train without `init`", old.fields.join(",")),
            );
        }
        let Some((old_features, old_dim)) = shape(&part.params) else { return Ok(None) };
        if old_features != features {
            return refuse(
                "features are",
                json(old_features),
                json(features),
                "set features.* as the model has them, or train without `init`".into(),
            );
        }
        if old_dim != dim {
            return refuse(
                "dim is",
                old_dim.to_string(),
                dim.to_string(),
                format!("set `dim = {old_dim}`, or train without `init`"),
            );
        }
        if let (Params::Rmls(old), Params::Rmls(new)) = (&part.params, params) {
            let rows = |p: &super::Rmls| {
                let numbers = [
                    p.beta, p.gamma, p.rho_x, p.rho_y, p.lambda_x, p.lambda_y, p.theta_x, p.theta_y,
                ];
                format!(
                    "{}; beta, gamma, rho, lambda and theta {}",
                    json(&p.penalty),
                    numbers.map(|number| number.to_string()).join(", ")
                )
            };
            if rows(old) != rows(new) {
                return refuse(
                    "rows are made with penalty",
                    rows(old),
                    rows(new),
                    "set them as the model has them, or train without `init`".into(),
                );
            }
        }
        Ok(part.matcher.bilinear().map(Bilinear::maps))
    }

    /// The maps that [`Model::check_warm_start`] finds, in the place of the features of `counts`.
    pub fn warm_start(
        &self,
        params: &Params,
        nth: usize,
        counts: &Counts,
    ) -> Result<Option<MatchedMaps>> {
        let Some(maps) = self.check_warm_start(params, nth, &counts.preparation)? else {
            return Ok(None);
        };
        match shape(params) {
            Some((features, _)) => align(&self.counts, maps, counts, features).map(Some),
            None => Ok(None),
        }
    }
}

/// Features and dimension of a method that learns.
fn shape(params: &Params) -> Option<(&Features, usize)> {
    match params {
        Params::Pls(pls) => Some((&pls.features, pls.dim)),
        Params::Rmls(rmls) => Some((&rmls.features, rmls.dim)),
        _ => None,
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// The rows of `maps`, which belong to the features of `old`, as rows of those of `new`.
fn align(old: &Counts, maps: &Maps, new: &Counts, features: &Features) -> Result<MatchedMaps> {
    let featurizer = Featurizer::new(new, features)?;
    let old_docs: HashMap<&str, usize> = old.doc_ids.iter().map(String::as_str).zip(0..).collect();
    let term = |t: usize| old.vocabulary.id(new.vocabulary.term(t as u32)).map(|id| id as usize);
    let doc = |j: usize| old_docs.get(new.doc_ids[j].as_str()).copied();
    let query =
        |i: usize| old.find_query(&new.query_ids[i], &new.query_texts[i]).map(|i| i as usize);
    // Terms come first on both sides, then the clicked documents or queries, if they count.
    let place =
        |f: usize, other: &dyn Fn(usize) -> Option<usize>| match f.checked_sub(new.n_terms()) {
            None => term(f),
            Some(at) => other(at).map(|at| old.n_terms() + at),
        };
    let x: Vec<Option<usize>> = (0..featurizer.d_x()).map(|u| place(u, &doc)).collect();
    let y: Vec<Option<usize>> = (0..featurizer.d_y()).map(|v| place(v, &query)).collect();
    let count = |places: &[Option<usize>]| (places.iter().flatten().count(), places.len());
    Ok(MatchedMaps {
        known: Known { query_features: count(&x), doc_features: count(&y) },
        maps: Maps { l_x: moved(&maps.l_x, &x)?, l_y: moved(&maps.l_y, &y)? },
    })
}

/// The rows of `map` at their new places; zero where there was none.
fn moved(map: &Map, places: &[Option<usize>]) -> Result<Map> {
    Ok(match map {
        Map::Dense(map) => {
            let mut new = Dense::zeros(places.len(), map.n_cols());
            for (i, &from) in places.iter().enumerate() {
                if let Some(from) = from {
                    new.row_mut(i).copy_from_slice(map.row(from));
                }
            }
            Map::Dense(new)
        }
        Map::Sparse(map) => {
            let (mut starts, mut indices, mut values) = (vec![0u64], Vec::new(), Vec::new());
            for &from in places {
                if let Some(from) = from {
                    indices.extend_from_slice(map.row(from).indices);
                    values.extend_from_slice(map.row(from).values);
                }
                starts.push(indices.len() as u64);
            }
            Map::Sparse(Csr::new(map.n_cols(), starts, indices, values)?)
        }
    })
}
