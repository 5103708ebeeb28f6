//! From runs to candidates: the first results of a query, with relevance scores from runs and
//! similarities from models.

use std::collections::HashMap;

use super::{Candidates, JudgedCandidates, Relations};
use crate::eval::trec::{Ranked, RunHit, SubtopicJudgments};
use crate::fusion::Normalise;

/// The results of a query, some of which are candidates for diversification.
#[derive(Debug, Clone, PartialEq)]
pub struct Gathered<'a> {
    /// All results, in the order of the run.
    pub hits: Vec<RunHit<'a>>,
    /// The places of the candidates among them.
    pub places: Vec<usize>,
    /// Relevance scores and similarities of the candidates.
    pub candidates: Candidates,
}

impl<'a> Gathered<'a> {
    /// The candidates are the first `depth` results that a model knows. The relevance scores of a
    /// candidate are its score in the run, then its scores in `further` runs, each scaled so that
    /// the best candidate has 1 and the last 0; 0 if a run does not have it.
    pub fn new(
        run: Ranked<'a>,
        further: &[Option<Ranked<'_>>],
        relations: &Relations<'_>,
        depth: usize,
    ) -> Self {
        let hits: Vec<RunHit<'a>> = run.hits().collect();
        let first = hits.iter().take(depth).enumerate();
        let places: Vec<usize> =
            first.filter(|(_, hit)| relations.knows(hit.doc)).map(|(place, _)| place).collect();
        let docs: Vec<&str> = places.iter().map(|&place| hits[place].doc).collect();
        let width = 1 + further.len();
        let mut relevance = vec![0.0; docs.len() * width];
        let scores: Vec<f64> = places.iter().map(|&place| hits[place].score).collect();
        for (at, score) in Normalise::MinMax.of(&scores).into_iter().enumerate() {
            relevance[at * width] = score;
        }
        let numbers: HashMap<&str, usize> = docs.iter().copied().zip(0..).collect();
        for (column, run) in (1..).zip(further) {
            let found = run.iter().flat_map(|run| run.hits());
            let (found, scores): (Vec<usize>, Vec<f64>) =
                found.filter_map(|hit| Some((*numbers.get(hit.doc)?, hit.score))).unzip();
            for (at, score) in found.into_iter().zip(Normalise::MinMax.of(&scores)) {
                relevance[at * width + column] = score;
            }
        }
        let candidates = Candidates::new(relevance, relations.between(&docs));
        Gathered { hits, places, candidates }
    }

    /// All results: the first `k` candidates of `order`, then the others in the order of the run.
    pub fn ordered(&self, order: &[usize], k: usize) -> Vec<&'a str> {
        let chosen: Vec<usize> = order.iter().take(k).map(|&at| self.places[at]).collect();
        let mut taken = vec![false; self.hits.len()];
        chosen.iter().for_each(|&place| taken[place] = true);
        let others = (0..self.hits.len()).filter(|&place| !taken[place]);
        chosen.iter().copied().chain(others).map(|place| self.hits[place].doc).collect()
    }

    /// The candidates with the subtopics that they answer, by grades from `level` on.
    pub fn judged(&self, judged: SubtopicJudgments<'_>, level: i32) -> JudgedCandidates {
        let answered = judged.with_grade(level);
        let answers = |&place: &usize| judged.answers(&answered, self.hits[place].doc).to_vec();
        let subtopics = self.places.iter().map(answers).collect();
        JudgedCandidates { candidates: self.candidates.clone(), subtopics, judged: answered }
    }
}
