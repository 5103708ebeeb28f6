//! One file per matcher, and what they have in common: parameters that are defined once, a
//! fitted form that scores, and an explanation.

mod bilinear;
mod bm25;
mod direct;
mod explain;
mod init;
mod lexical;
mod lm;
mod lsi;
mod map;
mod mix;
mod model;
mod mpls;
mod neighbours;
mod params;
mod pls;
mod ridge;
mod rmls;
mod square;
mod vsm;

#[cfg(test)]
mod tests;

pub use bilinear::{Bilinear, Maps, PairContribution};
pub use bm25::{Bm25, Bm25Field};
pub use direct::Direct;
pub use explain::{Explanation, Line, PartExplanation};
pub use init::{Begun, Known};
pub use lexical::Lexical;
pub use lm::{Lm, Smoothing};
pub use lsi::{LsiDt, LsiQd, Similarity};
pub use map::Map;
pub use mix::{Mixture, standardise, weight_grid};
pub use model::{Model, ModelAbout, Part, Trained};
pub use mpls::{Alpha, KindReport, Kinds, Mpls, MplsReport, Validate};
pub use neighbours::{Neighbour, Neighbours};
pub use params::{METHODS, ParamDoc, Params, merge, preparation_docs, set_key};
pub use pls::{Pls, PlsReport};
pub use ridge::{QueryFeatures, Ridge, RidgeReport};
pub(crate) use rmls::bytes as rmls_bytes;
pub use rmls::{Penalty, Rmls, RmlsReport, RmlsStep, Start};
pub use square::{Square, SquareReport};
pub use vsm::Vsm;

use serde::{Deserialize, Serialize};

use crate::features::{Counts, Featurizer, QueryTerms, Weighted};
use crate::linalg::{Panels, dot};
use crate::sparse::{Csr, Row};
use crate::{Result, Run};

/// A fitted matcher over the documents of its counts.
pub enum Matcher {
    /// VSM, BM25 or a language model.
    Lexical(Lexical),
    /// PLS, RMLS, LSI, MPLS or the square loss at rank d.
    Bilinear(Box<Bilinear>),
    /// Ridge regression: weights from query features to documents.
    Direct(Box<Direct>),
}

/// What a fit says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum FitReport {
    /// Nothing was learnt.
    Lexical,
    /// PLS or LSI.
    Pls(PlsReport),
    /// PLS with several kinds of features.
    Mpls(MplsReport),
    /// RMLS, half-sweep by half-sweep.
    Rmls(RmlsReport),
    /// The square loss at rank d.
    Square(SquareReport),
    /// Ridge regression.
    Ridge(RidgeReport),
}

impl FitReport {
    /// What a user should be warned of.
    pub fn warnings(&self) -> Vec<String> {
        match self {
            FitReport::Lexical => Vec::new(),
            FitReport::Pls(report) => report.warnings(),
            FitReport::Mpls(report) => report.warnings(),
            FitReport::Rmls(report) => report.warnings(),
            FitReport::Square(report) => report.warnings(),
            FitReport::Ridge(report) => report.warnings(),
        }
    }
}

/// Scores the candidates of a query: all documents for `None`.
pub type Score<'a> = dyn Fn(u32, Option<&[u32]>) -> Vec<f32> + Sync + 'a;

/// Says how good scores are on validation data; higher is better. Whoever fits a matcher
/// brings the judge, so that no matcher needs to know how rankings are measured.
pub type Judge<'a> = dyn Fn(&Score<'_>) -> f64 + 'a;

impl Matcher {
    /// Fits `params` to `counts`. `judge`, where there is any, decides when to stop.
    pub fn fit(
        params: &Params,
        counts: &Counts,
        judge: Option<&Judge<'_>>,
        run: &Run<'_>,
    ) -> Result<(Self, FitReport)> {
        Matcher::fit_from(params, counts, None, judge, run)
    }

    /// Fits `params` to `counts`, beginning with earlier maps ([`Model::begin`]).
    pub fn fit_from(
        params: &Params,
        counts: &Counts,
        init: Option<Maps>,
        judge: Option<&Judge<'_>>,
        run: &Run<'_>,
    ) -> Result<(Self, FitReport)> {
        Ok(match params {
            Params::Vsm(vsm) => (Matcher::Lexical(vsm.fit(counts)?), FitReport::Lexical),
            Params::Bm25(bm25) => (Matcher::Lexical(bm25.fit(counts)?), FitReport::Lexical),
            Params::Lm(lm) => (Matcher::Lexical(lm.fit(counts)?), FitReport::Lexical),
            Params::Pls(pls) => {
                let featurizer = Featurizer::new(counts, &pls.features)?;
                let data = Weighted::of(counts, &featurizer, pls.weighting, pls.response)?
                    .with_negatives(&pls.negatives, &counts.held_out_documents, pls.seed)?;
                let start = init.map(|maps| maps.l_y.into_dense());
                let (maps, report) = pls.fit_from(data, start.as_ref(), run)?;
                let fitted = Bilinear::new(counts, &pls.features, maps)?;
                (Matcher::Bilinear(Box::new(fitted)), FitReport::Pls(report))
            }
            Params::LsiDt(lsi) => {
                let (maps, report) = lsi.fit(counts, run)?;
                (Matcher::restore(params, counts, Some(maps))?, FitReport::Pls(report))
            }
            Params::LsiQd(lsi) => {
                let (maps, report) = lsi.fit(counts, run)?;
                (Matcher::restore(params, counts, Some(maps))?, FitReport::Pls(report))
            }
            Params::Mpls(mpls) => {
                let featurizer = Featurizer::new(counts, &mpls.features())?;
                let (maps, report) = match judge.filter(|_| mpls.alpha == Alpha::Tuned) {
                    Some(judge) => {
                        let (x, y) = (featurizer.queries(counts)?, featurizer.docs(counts)?);
                        let validate = |maps: &Maps| judge_maps(judge, &x, &y, maps);
                        mpls.fit(counts, Some(&validate), run)?
                    }
                    None => mpls.fit(counts, None, run)?,
                };
                (Matcher::restore(params, counts, Some(maps))?, FitReport::Mpls(report))
            }
            Params::Rmls(rmls) => {
                let featurizer = Featurizer::new(counts, &rmls.features)?;
                let data = Weighted::of(counts, &featurizer, rmls.weighting, rmls.response)?
                    .with_negatives(&rmls.negatives, &counts.held_out_documents, rmls.seed)?;
                let (maps, report) = match judge {
                    Some(judge) => {
                        let (x, y) = (featurizer.queries(counts)?, data.y.clone());
                        let mut validate =
                            |l_x: &Panels, l_y: &Panels| judge_panels(judge, &x, &y, l_x, l_y, run);
                        rmls.fit_from(data, init, run, Some(&mut validate))?
                    }
                    None => rmls.fit_from(data, init, run, None)?,
                };
                let fitted = Bilinear::new(counts, &rmls.features, maps)?;
                (Matcher::Bilinear(Box::new(fitted)), FitReport::Rmls(report))
            }
            Params::Square(square) => {
                let featurizer = Featurizer::new(counts, &square.features)?;
                let data = Weighted::of(counts, &featurizer, square.weighting, square.response)?;
                let (maps, report) = square.fit(data, run)?;
                let fitted = Bilinear::new(counts, &square.features, maps)?;
                (Matcher::Bilinear(Box::new(fitted)), FitReport::Square(report))
            }
            Params::Ridge(ridge) => {
                let features = ridge.features.both_sides();
                let featurizer = Featurizer::new(counts, &features)?;
                let data = Weighted::of(counts, &featurizer, ridge.weighting, ridge.response)?;
                let (weights, report) = ridge.fit(&data, run)?;
                let fitted = Direct::new(counts, &features, weights)?;
                (Matcher::Direct(Box::new(fitted)), FitReport::Ridge(report))
            }
        })
    }

    /// Puts a matcher together again from what a model folder keeps.
    pub fn restore(params: &Params, counts: &Counts, maps: Option<Maps>) -> Result<Self> {
        let without = |what: &str| crate::Error::Structure {
            problem: format!("a {} model without its {what}", params.name()),
        };
        let features = match params {
            Params::Vsm(vsm) => return Ok(Matcher::Lexical(vsm.fit(counts)?)),
            Params::Bm25(bm25) => return Ok(Matcher::Lexical(bm25.fit(counts)?)),
            Params::Lm(lm) => return Ok(Matcher::Lexical(lm.fit(counts)?)),
            Params::Ridge(_) => return Err(without("weights")),
            learnt => learnt.features().unwrap_or_default(),
        };
        let maps = maps.ok_or_else(|| without("maps"))?;
        let mut fitted = Bilinear::new(counts, &features, maps)?;
        if matches!(params, Params::LsiDt(lsi) if lsi.similarity == Similarity::Cosine) {
            fitted = fitted.with_cosine();
        }
        Ok(Matcher::Bilinear(Box::new(fitted)))
    }

    /// The same for weights from query features to documents.
    pub fn restore_weights(params: &Params, counts: &Counts, weights: Csr) -> Result<Self> {
        let Params::Ridge(ridge) = params else { return Matcher::restore(params, counts, None) };
        let fitted = Direct::new(counts, &ridge.features.both_sides(), weights)?;
        Ok(Matcher::Direct(Box::new(fitted)))
    }

    /// The maps that were learnt, if any were.
    pub fn maps(&self) -> Option<&Maps> {
        match self {
            Matcher::Lexical(_) | Matcher::Direct(_) => None,
            Matcher::Bilinear(bilinear) => Some(bilinear.maps()),
        }
    }

    /// Scores every document.
    pub fn score_all(&self, counts: &Counts, query: &QueryTerms, out: &mut [f32]) {
        match self {
            Matcher::Lexical(lexical) => lexical.score_all(query, out),
            Matcher::Bilinear(bilinear) => bilinear.score_all(counts, query, out),
            Matcher::Direct(direct) => direct.score_all(counts, query, out),
        }
    }

    /// Scores the documents `docs`, one score each; the same bits as [`Matcher::score_all`].
    pub fn score_some(&self, counts: &Counts, query: &QueryTerms, docs: &[u32], out: &mut [f32]) {
        match self {
            Matcher::Lexical(lexical) => lexical.score_some(query, docs, out),
            Matcher::Bilinear(bilinear) => bilinear.score_some(counts, query, docs, out),
            Matcher::Direct(direct) => direct.score_some(counts, query, docs, out),
        }
    }

    /// Scores the candidates of a query: `docs`, or all documents.
    pub fn scores(&self, counts: &Counts, query: &QueryTerms, docs: Option<&[u32]>) -> Vec<f32> {
        let mut scores = vec![0.0; docs.map_or(counts.n_docs(), <[u32]>::len)];
        match docs {
            Some(docs) => self.score_some(counts, query, docs, &mut scores),
            None => self.score_all(counts, query, &mut scores),
        }
        scores
    }
}

/// What `judge` says of a pair of maps.
fn judge_maps(judge: &Judge<'_>, x: &Csr, y: &Csr, maps: &Maps) -> f64 {
    let docs = maps.l_y.images(y);
    judge(&|query, candidates| {
        let image = bilinear::image_of(x.row(query as usize), &maps.l_x);
        let score = |doc: usize| dot(&image, docs.row(doc));
        scores_of(candidates, y.n_rows(), score)
    })
}

/// What `judge` says of a pair of maps while they are made. Where there is no room for the
/// images of all documents, each is made when it is asked for.
fn judge_panels(
    judge: &Judge<'_>,
    x: &Csr,
    y: &Csr,
    l_x: &Panels,
    l_y: &Panels,
    run: &Run<'_>,
) -> Result<f64> {
    let dim = l_x.n_cols();
    let image = |row: Row<'_>, map: &Panels| {
        let (mut image, mut feature) = (vec![0.0f32; dim], vec![0.0f32; dim]);
        for (v, value) in row.iter() {
            map.row_into(v as usize, &mut feature);
            image.iter_mut().zip(&feature).for_each(|(sum, &entry)| *sum += value * entry);
        }
        image
    };
    let bytes = 4 * (y.n_rows() * dim) as u64;
    let docs = if 2 * bytes <= run.memory_left() { Some(l_y.images(y)?) } else { None };
    Ok(judge(&|query, candidates| {
        let query = image(x.row(query as usize), l_x);
        let score = |doc: usize| match &docs {
            Some(docs) => dot(&query, docs.row(doc)),
            None => dot(&query, &image(y.row(doc), l_y)),
        };
        scores_of(candidates, y.n_rows(), score)
    }))
}

/// The score of every candidate: of all `n_docs` documents for `None`.
fn scores_of(candidates: Option<&[u32]>, n_docs: usize, score: impl Fn(usize) -> f32) -> Vec<f32> {
    match candidates {
        Some(candidates) => candidates.iter().map(|&doc| score(doc as usize)).collect(),
        None => (0..n_docs).map(score).collect(),
    }
}
