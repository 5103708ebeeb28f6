//! Warm start from a model when the log has grown: the rows of its maps move to the current places of
//! the same features. Terms are matched by themselves, clicked documents by id, queries by id and
//! text, or by text alone. Rows of new features are zero; the next product with C fills them.

use std::collections::HashMap;

use serde::Serialize;

use super::sparse_vector::vector_of;
use super::{Bilinear, KnownFeatures, Map, Maps, Model, Params};
use crate::features::{Counts, Features, Featurizer, Preparation};
use crate::linalg::Dense;
use crate::sparse::Csr;
use crate::{Error, Result};

/// Earlier maps, aligned with the features of a fit.
pub struct MatchedMaps {
    /// The aligned maps.
    pub maps: Maps,
    /// Number of their rows from the earlier model.
    pub known: KnownFeatures,
}

impl Model {
    /// The maps from which the fit of `params` to text read as `preparation` says can start; `None`
    /// for methods that learn nothing. `nth` counts the parts of that method. An error if the method
    /// has no warm start, or if this model was learnt in another way than the fit.
    pub fn check_warm_start(
        &self,
        params: &Params,
        nth: usize,
        preparation: &Preparation,
    ) -> Result<Option<&Maps>> {
        let unusable = |problem: String, advice: String| {
            let path = self.about.name.clone().into();
            Err(Error::Unusable { path, problem, advice })
        };
        let Some((features, dim)) = shape(params) else {
            if params.learns() {
                return unusable(
                    format!("{} has no warm start", params.name()),
                    "pls and rmls have one; train this one without `init`".into(),
                );
            }
            return Ok(None);
        };
        let refuse = |what: &str, has: &str, asked: &str, advice: String| {
            unusable(
                format!("no warm start with this model: its {what} {has}, but expected {asked}"),
                advice,
            )
        };
        let same_method = |part: &&super::Part| part.params.name() == params.name();
        let Some(part) = self.parts.iter().filter(same_method).nth(nth) else {
            let methods: Vec<&str> = self.parts.iter().map(|part| part.params.name()).collect();
            let name = params.name();
            return refuse(
                "method is",
                &methods.join("+"),
                name,
                format!("train {name} without `init`, or name the model's own method"),
            );
        };
        let Some((old_features, old_dim)) = shape(&part.params) else { return Ok(None) };
        let old = &self.counts.preparation;
        let same = "use the model's settings, or train without `init`";
        let fields = [old, preparation].map(|preparation| preparation.fields.join(","));
        let mut compared = vec![
            (
                "text is read with",
                [json(&old.analyzer), json(&preparation.analyzer)],
                same.to_owned(),
            ),
            ("fields are", fields.clone(), set_or_train(&format!("fields = {}", fields[0]))),
            ("features are", [json(old_features), json(features)], same.to_owned()),
            (
                "dim is",
                [old_dim, dim].map(|dim| dim.to_string()),
                set_or_train(&format!("dim = {old_dim}")),
            ),
        ];
        if let (Params::Rmls(old), Params::Rmls(new)) = (&part.params, params) {
            compared.push(("rows are made with penalty", [old, new].map(penalty), same.to_owned()));
        }
        match compared.into_iter().find(|(_, [has, asked], _)| has != asked) {
            Some((what, [has, asked], advice)) => refuse(what, &has, &asked, advice),
            None => Ok(part.matcher.bilinear().map(Bilinear::maps)),
        }
    }

    /// The maps of [`Model::check_warm_start`], aligned with the features of `counts`.
    pub fn warm_start(
        &self,
        params: &Params,
        nth: usize,
        counts: &Counts,
    ) -> Result<Option<MatchedMaps>> {
        let Some(maps) = self.check_warm_start(params, nth, &counts.preparation)? else {
            return Ok(None);
        };
        let features = shape(params).map(|(features, _)| features);
        features.map(|features| align(&self.counts, maps, counts, features)).transpose()
    }
}

/// The features and the dimension of a method with a warm start.
fn shape(params: &Params) -> Option<(&Features, usize)> {
    match params {
        Params::Pls(pls) => Some((&pls.features, pls.dim)),
        Params::Rmls(rmls) => Some((&rmls.features, rmls.dim)),
        _ => None,
    }
}

fn set_or_train(setting: &str) -> String {
    format!("set `{setting}`, or train without `init`")
}

/// All that determines the rows of RMLS besides features and dimension.
fn penalty(rmls: &super::Rmls) -> String {
    let &super::Rmls { beta, gamma, rho_x, rho_y, lambda_x, lambda_y, theta_x, theta_y, .. } = rmls;
    let numbers = [beta, gamma, rho_x, rho_y, lambda_x, lambda_y, theta_x, theta_y];
    let numbers = numbers.map(|number| number.to_string()).join(", ");
    format!("{}; beta, gamma, rho, lambda and theta {numbers}", json(&rmls.penalty))
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
    // On both sides terms come first, then the clicked documents or queries, if they are features.
    let place =
        |f: usize, other: &dyn Fn(usize) -> Option<usize>| match f.checked_sub(new.n_terms()) {
            None => term(f),
            Some(at) => other(at).map(|at| old.n_terms() + at),
        };
    let x: Vec<Option<usize>> = (0..featurizer.d_x()).map(|u| place(u, &doc)).collect();
    let y: Vec<Option<usize>> = (0..featurizer.d_y()).map(|v| place(v, &query)).collect();
    let count = |places: &[Option<usize>]| (places.iter().flatten().count(), places.len());
    Ok(MatchedMaps {
        known: KnownFeatures { query_features: count(&x), doc_features: count(&y) },
        maps: Maps { l_x: with_rows_at(&maps.l_x, &x)?, l_y: with_rows_at(&maps.l_y, &y)? },
    })
}

/// A map whose row i is row `places[i]` of `map`, or zero.
fn with_rows_at(map: &Map, places: &[Option<usize>]) -> Result<Map> {
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
        Map::Sparse(map) => Map::Sparse(Csr::by_rows(map.n_cols(), places.len(), |i| {
            Ok(places[i].map_or_else(Default::default, |from| vector_of(map.row(from))))
        })?),
    })
}
