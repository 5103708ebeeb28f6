//! A ranking task: which queries are judged, which documents are ranked for each, and what
//! their grades are.

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ideal, Measure, Variant};
use crate::data::{Dataset, SplitBy};
use crate::matchers::Score;
use crate::ranking::{Hit, top_k};
use crate::sparse::{Csr, Row};
use crate::{Error, Result};

/// Most queries that a judge looks at: enough to choose a sweep by, and the choice must not
/// cost more than the sweep.
const JUDGED_QUERIES: usize = 1000;

/// Which documents are ranked for a query.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Candidates {
    /// The judged documents if half of the queries or more have some judged bad, else all.
    #[default]
    Auto,
    /// All documents; one that is not judged counts as bad.
    All,
    /// The judged documents of the query alone, as in the RMLS papers.
    Judged,
}

impl Candidates {
    /// Decides `Auto` by looking at the judgments.
    pub fn resolve(self, judged: &Csr) -> Candidates {
        if self != Candidates::Auto {
            return self;
        }
        let rows = || judged.rows().filter(|row| !row.is_empty());
        let with_bad = rows().filter(|row| row.values.iter().any(|&grade| grade <= 0.0)).count();
        if with_bad * 2 >= rows().count().max(1) { Candidates::Judged } else { Candidates::All }
    }
}

/// A held-out part of a dataset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HeldOut {
    /// For choosing: parameters, weights, when to stop.
    Validation,
    /// For reporting, once everything is chosen.
    #[default]
    Test,
}

/// Refuses validation that cannot choose by `measure`: no query has a document that counts, so
/// every choice would score the same. `what_for` ends the sentence that says so.
pub fn check_choice(
    dataset: &Dataset,
    measure: Measure,
    variant: &Variant,
    what_for: &str,
    advice: &str,
) -> Result<()> {
    let from = variant.relevant_from;
    let (counts, grade): (&dyn Fn(f32) -> bool, String) = match measure {
        // These two look at no relevance.
        Measure::Judged { .. } | Measure::RankLoss => return Ok(()),
        Measure::Ndcg { .. } | Measure::Err { .. } => (&|g| g > 0.0, "a grade above 0".into()),
        _ => (&|g| g >= from, format!("a grade of {from} or more")),
    };
    if dataset.validation.values().iter().any(|&grade| counts(grade)) {
        return Ok(());
    }
    let path = dataset.folder.path.display();
    Err(Error::Empty {
        what: format!("no validation query of {path} has a relevant document ({grade}){what_for}"),
        advice: advice.to_owned(),
    })
}

/// A held-out part of a dataset, ready to be ranked and measured.
pub struct Task<'a> {
    judged: &'a Csr,
    excluded: Option<&'a Csr>,
    candidates: Candidates,
    queries: Vec<u32>,
    tie_rank: Vec<u32>,
    variant: Variant,
}

impl<'a> Task<'a> {
    /// The part `held_out` of `dataset`, whose documents are called `doc_ids`.
    pub fn new(
        dataset: &'a Dataset,
        held_out: HeldOut,
        doc_ids: &[String],
        candidates: Candidates,
        variant: Variant,
    ) -> Self {
        let judged = match held_out {
            HeldOut::Validation => &dataset.validation,
            HeldOut::Test => &dataset.test,
        };
        // Where pairs were dealt out, a query's training documents are no longer a question.
        let excluded = (dataset.about().split.by == SplitBy::Edges).then_some(&dataset.clicks);
        let queries =
            (0..judged.n_rows() as u32).filter(|&i| !judged.row(i as usize).is_empty()).collect();
        let candidates = candidates.resolve(judged);
        let tie_rank = variant.ties.rank(doc_ids);
        // Every judged document is a candidate, so both ideals are the same; this one can be had
        // from the best documents alone.
        let variant = Variant { ideal: Ideal::Judgments, ..variant };
        Task { judged, excluded, candidates, queries, tie_rank, variant }
    }

    /// The judged queries.
    pub fn queries(&self) -> &[u32] {
        &self.queries
    }

    /// What is ranked: never [`Candidates::Auto`].
    pub fn candidates(&self) -> Candidates {
        self.candidates
    }

    /// The documents to be ranked for the query at `place`; `None` means all.
    pub fn docs(&self, place: usize) -> Option<&'a [u32]> {
        match self.candidates {
            Candidates::Judged => Some(self.judged.row(self.queries[place] as usize).indices),
            Candidates::All | Candidates::Auto => None,
        }
    }

    /// The grades of the query at `place`.
    pub fn grades(&self, place: usize) -> Row<'a> {
        self.judged.row(self.queries[place] as usize)
    }

    /// Ranks the candidates of the query at `place` by their `scores` and measures the ranking.
    pub fn measure(&self, measures: &[Measure], place: usize, scores: &[f32]) -> Vec<Option<f64>> {
        let query = self.queries[place] as usize;
        let depth =
            measures.iter().map(|m| m.depth()).max_by_key(|depth| depth.unwrap_or(usize::MAX));
        let all_needed = measures.iter().any(|m| m.depth().is_none());
        let k = if all_needed { usize::MAX } else { depth.flatten().unwrap_or(usize::MAX) };
        let hits = match self.docs(place) {
            None => {
                let excluded = self.excluded.map_or(&[][..], |clicks| clicks.row(query).indices);
                top_k(scores, k, &self.tie_rank, excluded)
            }
            Some(docs) => {
                let ties: Vec<u32> = docs.iter().map(|&doc| self.tie_rank[doc as usize]).collect();
                let hits = top_k(scores, k, &ties, &[]);
                hits.into_iter().map(|hit| Hit { doc: docs[hit.doc as usize], ..hit }).collect()
            }
        };
        let judged = self.grades(place);
        measures.iter().map(|measure| measure.of(&hits, judged, &self.variant)).collect()
    }

    /// How many scores a judge looks at.
    pub(crate) fn judged_scores(&self) -> u64 {
        let step = self.queries.len().div_ceil(JUDGED_QUERIES).max(1);
        let places = (0..self.queries.len()).step_by(step);
        places.map(|at| self.docs(at).map_or(self.tie_rank.len(), <[u32]>::len) as u64).sum()
    }

    /// A judge of scores: their mean `measure`, over some of the queries if there are very many.
    /// Nothing if there is no query to judge by.
    pub fn judge(&self, measure: Measure) -> Option<impl Fn(&Score<'_>) -> f64> {
        let step = self.queries.len().div_ceil(JUDGED_QUERIES).max(1);
        let places: Vec<usize> = (0..self.queries.len()).step_by(step).collect();
        let judge = move |score: &Score<'_>| {
            let values: Vec<Option<f64>> = places
                .par_iter()
                .map(|&place| {
                    let scores = score(self.queries[place], self.docs(place));
                    self.measure(&[measure], place, &scores)[0]
                })
                .collect();
            super::significance::mean(&values.into_iter().flatten().collect::<Vec<_>>())
        };
        (!self.queries.is_empty()).then_some(judge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judged_candidates_are_chosen_when_bad_documents_are_judged() {
        let good = Csr::from_triplets(2, 2, vec![(0, 0, 1.0), (1, 1, 2.0)]).unwrap();
        let pooled = Csr::from_triplets(2, 2, vec![(0, 0, 1.0), (0, 1, 0.0)]).unwrap();
        assert_eq!(Candidates::Auto.resolve(&good), Candidates::All);
        assert_eq!(Candidates::Auto.resolve(&pooled), Candidates::Judged);
    }
}
