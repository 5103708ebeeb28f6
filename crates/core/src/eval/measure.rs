//! Measures of one query's ranking against its judgments, as pure functions.
//!
//! With r_i the grade of the document at rank i (from 1) and R the number of relevant
//! judgments, grades from `relevant_from` on being relevant:
//!
//! ```text
//! nDCG@k    Σ_{i ≤ k} gain(r_i) / log2(i + 1), over the same sum for the judgments sorted
//! ERR@k     Σ_{i ≤ k} 1/i · p_i Π_{j < i} (1 − p_j) with p_i = (2^r_i − 1) / 2^max_grade
//! AP@k      1/R Σ_{i ≤ k, relevant} (relevant in the first i) / i
//! P@k       (relevant in the first k) / k, however few were retrieved
//! R@k       (relevant in the first k) / R
//! Rprec     (relevant in the first R) / R
//! Success@k 1 if one of the first k is relevant, else 0
//! RR@k      1 / rank of the first relevant one, 0 if there is none in the first k
//! RankLoss  (pairs the wrong way + ½ pairs tied) / pairs of judged documents of unlike grade
//! RankLossAll (pairs the wrong way + ½ pairs tied) / pairs of a relevant and another candidate
//! Judged@k  (judged in the first k, grades from 0 on) / documents there, at most k
//! ```
//! These are trec_eval's definitions (its nDCG has linear gain) and gdeval's ERR, so a document
//! without a judgment is not relevant, and nDCG without a cut divides by the ideal over all
//! judgments even where the ranking is shorter. [`Variant`] has other gains and discounts, and
//! judgments of the ranked documents alone. A grade below zero is worth as much as grade 0, except
//! that rank loss ranks it below 0, and that for Judged it means that the document was pooled, but
//! not judged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ideal, Variant};
use crate::ranking::{Hit, unsigned_zero};
use crate::sparse::Row;

/// A measure; the cut `k` is the number of documents from the top that count, at least 1; `None` means
/// all. As text: `nDCG@10`, `AP`, `P@5`, `R@100`, `RR@10`, `ERR@20`,
/// `Rprec`, `Success@5`, `Judged@10`, `RankLoss`, `RankLossAll`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Measure {
    /// Normalised discounted cumulative gain.
    Ndcg {
        /// Ranks counted; all without a cut.
        k: Option<usize>,
    },
    /// Average precision; its mean over queries is MAP.
    Ap {
        /// Ranks counted; all without a cut.
        k: Option<usize>,
    },
    /// Precision.
    P {
        /// Ranks counted.
        k: usize,
    },
    /// Recall.
    R {
        /// Ranks counted.
        k: usize,
    },
    /// Reciprocal rank; its mean over queries is MRR.
    Rr {
        /// Ranks counted; all without a cut.
        k: Option<usize>,
    },
    /// Expected reciprocal rank of the document at which a user stops who reads from the top and is
    /// satisfied with a probability that grows with the grade.
    Err {
        /// Ranks counted; all without a cut.
        k: Option<usize>,
    },
    /// Precision at the number of relevant documents.
    Rprec,
    /// Whether a relevant document was found.
    Success {
        /// Ranks counted.
        k: usize,
    },
    /// The share of judged documents: how far the other measures can be trusted.
    Judged {
        /// Ranks counted.
        k: usize,
    },
    /// The share of discordant pairs of judged documents.
    RankLoss,
    /// The share of discordant pairs of a relevant and any other ranked document, judged or not:
    /// the quantity that sampled triples (query, relevant, other) estimate.
    RankLossAll,
}

impl Measure {
    /// The value for one query, between 0 and 1.
    ///
    /// `hits` is the ranking, best first, each document once; `judged` holds the grades by
    /// document number. `None` leaves the query out of the mean: it has no relevant document (for nDCG
    /// and ERR: no grade above zero) and `variant.empty` is skip.
    ///
    /// Where `variant.ideal` is candidates, `hits` must hold all of them, not the best alone:
    /// judgments of other documents are ignored.
    ///
    /// Rank loss is `None` where no two judged documents differ in grade, in every variant, since a
    /// loss of 0 without a pair would be misleading.
    /// Documents with equal scores are tied; those absent from `hits` are tied with each
    /// other and below all that are present.
    pub fn of(&self, hits: &[Hit], judged: Row<'_>, variant: &Variant) -> Option<f64> {
        let among_hits;
        let judged = match variant.ideal {
            Ideal::Judgments => judged,
            Ideal::Candidates => {
                among_hits = among(hits, judged);
                Row { indices: &among_hits.0, values: &among_hits.1 }
            }
        };
        let cut = &hits[..self.depth().unwrap_or(usize::MAX).min(hits.len())];
        // `value` gets the ranks of the relevant documents found, and the number of relevant ones.
        let of_ranks = |value: &dyn Fn(&[f64], f64) -> f64| {
            let relevant = |grade: f32| grade >= variant.relevant_from;
            let n_relevant = judged.values.iter().filter(|&&grade| relevant(grade)).count();
            if n_relevant == 0 {
                return variant.empty.value();
            }
            let found = graded(cut, judged).filter(|&(_, grade)| relevant(grade));
            // `take` stops reading at the last relevant document.
            let ranks: Vec<f64> = found.take(n_relevant).map(|(rank, _)| rank as f64).collect();
            Some(value(&ranks, n_relevant as f64))
        };
        match *self {
            Measure::Ndcg { k } => ndcg(cut, judged, k, variant),
            Measure::Ap { .. } => of_ranks(&|ranks, n_relevant| {
                let precisions = (1..).zip(ranks).map(|(found, rank)| f64::from(found) / rank);
                sum(precisions) / n_relevant
            }),
            Measure::P { k } => of_ranks(&|ranks, _| ranks.len() as f64 / k.max(1) as f64),
            Measure::R { .. } => of_ranks(&|ranks, n_relevant| ranks.len() as f64 / n_relevant),
            Measure::Rr { .. } => of_ranks(&|ranks, _| ranks.first().map_or(0.0, |r| r.recip())),
            Measure::Err { .. } => err(cut, judged, variant),
            Measure::Rprec => of_ranks(&|ranks, n_relevant| {
                ranks.iter().filter(|&&rank| rank <= n_relevant).count() as f64 / n_relevant
            }),
            Measure::Success { .. } => {
                of_ranks(&|ranks, _| if ranks.is_empty() { 0.0 } else { 1.0 })
            }
            Measure::Judged { .. } => {
                let judged = graded(cut, judged).filter(|&(_, grade)| grade >= 0.0).count();
                Some(judged as f64 / cut.len().max(1) as f64)
            }
            Measure::RankLoss => rank_loss(hits, judged),
            Measure::RankLossAll => rank_loss_all(hits, judged, variant.relevant_from),
        }
    }

    /// Whether higher is better: for all but the rank losses.
    pub fn higher_is_better(&self) -> bool {
        !matches!(self, Measure::RankLoss | Measure::RankLossAll)
    }

    /// The place of the best value; of equal ones the first.
    pub(crate) fn best_of(&self, values: &[f64]) -> usize {
        let better = |a: f64, b: f64| if self.higher_is_better() { a > b } else { a < b };
        (1..values.len()).fold(0, |best, i| if better(values[i], values[best]) { i } else { best })
    }

    /// The number of documents from the top that count; `None` for all.
    pub fn depth(&self) -> Option<usize> {
        match *self {
            Measure::Ndcg { k } | Measure::Ap { k } | Measure::Rr { k } | Measure::Err { k } => k,
            Measure::P { k }
            | Measure::R { k }
            | Measure::Success { k }
            | Measure::Judged { k } => Some(k),
            Measure::Rprec | Measure::RankLoss | Measure::RankLossAll => None,
        }
    }
}

/// The judged documents among `hits` in order, as (rank from 1, grade).
fn graded(hits: &[Hit], judged: Row<'_>) -> impl Iterator<Item = (usize, f32)> {
    hits.iter().enumerate().filter_map(move |(i, hit)| {
        let at = judged.indices.binary_search(&hit.doc).ok()?;
        Some((i + 1, judged.values[at]))
    })
}

/// The judgments of the documents in `hits`.
fn among(hits: &[Hit], judged: Row<'_>) -> (Vec<u32>, Vec<f32>) {
    let mut ranked: Vec<u32> = hits.iter().map(|hit| hit.doc).collect();
    ranked.sort_unstable();
    let judgments = judged.indices.iter().copied().zip(judged.values.iter().copied());
    judgments.filter(|(doc, _)| ranked.binary_search(doc).is_ok()).unzip()
}

/// From 0, since `Iterator::sum` starts at −0, which prints with its sign.
fn sum(terms: impl Iterator<Item = f64>) -> f64 {
    terms.fold(0.0, |sum, term| sum + term)
}

fn ndcg(hits: &[Hit], judged: Row<'_>, k: Option<usize>, variant: &Variant) -> Option<f64> {
    let mut ideal: Vec<f32> = judged.values.iter().copied().filter(|&grade| grade > 0.0).collect();
    ideal.sort_unstable_by(|a, b| b.total_cmp(a));
    let Some(&highest) = ideal.first() else { return variant.empty.value() };
    let gain = |grade: f32| variant.gain.scaled(grade, highest);
    let discounted = |(rank, grade): (usize, f32)| gain(grade) * variant.discount.factor(rank);
    let n_positive = ideal.len();
    let found = graded(hits, judged).filter(|&(_, grade)| grade > 0.0).take(n_positive);
    let got = sum(found.map(discounted));
    let best = sum((1..).zip(ideal).take(k.unwrap_or(usize::MAX)).map(discounted));
    if best > 0.0 {
        // Rounding must not lift a nearly perfect ranking above a perfect one.
        Some((got / best).min(1.0))
    } else {
        // All grades are so small that 2^g is 1 in floating point, or have gain 0 in a table.
        variant.empty.value()
    }
}

fn err(hits: &[Hit], judged: Row<'_>, variant: &Variant) -> Option<f64> {
    if !judged.values.iter().any(|&grade| grade > 0.0) {
        return variant.empty.value();
    }
    let highest = f64::from(variant.max_grade);
    let mut reading = 1.0;
    let stops = graded(hits, judged).filter(|&(_, grade)| grade > 0.0).map(|(rank, grade)| {
        let grade = f64::from(grade).min(highest);
        let satisfied = (grade - highest).exp2() - (-highest).exp2();
        let stop = reading * satisfied / rank as f64;
        reading *= 1.0 - satisfied;
        stop
    });
    Some(sum(stops))
}

fn rank_loss(hits: &[Hit], judged: Row<'_>) -> Option<f64> {
    let mut grades: Vec<f32> = judged.values.iter().copied().map(unsigned_zero).collect();
    grades.sort_unstable_by(f32::total_cmp);
    let mut absent: Vec<u64> = grades.chunk_by(|a, b| a == b).map(|g| g.len() as u64).collect();
    grades.dedup();
    let pairs = unlike_pairs(&absent, &absent);
    if pairs == 0 {
        return None;
    }
    // Counts of documents by grade: in the groups of equal score so far, and, at the end, absent
    // from the ranking. Halves are counted to stay with integers.
    let mut above = vec![0u64; grades.len()];
    let mut here = vec![0u64; grades.len()];
    let mut wrong_halves = 0;
    for group in hits.chunk_by(|a, b| a.score == b.score) {
        let mut judged_here = false;
        for (_, grade) in graded(group, judged) {
            here[grades.partition_point(|&other| other < grade)] += 1;
            judged_here = true;
        }
        if !judged_here {
            continue;
        }
        wrong_halves += 2 * unlike_pairs(&above, &here) + unlike_pairs(&here, &here);
        for ((above, absent), here) in above.iter_mut().zip(&mut absent).zip(&mut here) {
            *above += *here;
            *absent -= *here;
            *here = 0;
        }
    }
    wrong_halves += 2 * unlike_pairs(&above, &absent) + unlike_pairs(&absent, &absent);
    Some(wrong_halves as f64 / (2 * pairs) as f64)
}

/// Relevant documents absent from `hits` are below all others; `None` without a relevant or without
/// another document.
fn rank_loss_all(hits: &[Hit], judged: Row<'_>, relevant_from: f32) -> Option<f64> {
    let n_relevant = judged.values.iter().filter(|&&grade| grade >= relevant_from).count() as u64;
    let relevant_in = |group: &[Hit]| {
        graded(group, judged).filter(|&(_, grade)| grade >= relevant_from).count() as u64
    };
    let mut found = 0;
    let mut others_above = 0;
    let mut wrong_halves = 0;
    for group in hits.chunk_by(|a, b| a.score == b.score) {
        let relevant = relevant_in(group);
        let others = group.len() as u64 - relevant;
        wrong_halves += relevant * (2 * others_above + others);
        found += relevant;
        others_above += others;
    }
    wrong_halves += 2 * (n_relevant - found) * others_above;
    let pairs = n_relevant * others_above;
    (pairs > 0).then(|| wrong_halves as f64 / (2 * pairs) as f64)
}

/// The number of pairs of one document of `worse` and one of higher grade of `better`, both
/// given as counts by ascending grade.
fn unlike_pairs(worse: &[u64], better: &[u64]) -> u64 {
    let mut lower = 0;
    let mut pairs = 0;
    for (worse, better) in worse.iter().zip(better) {
        pairs += lower * better;
        lower += worse;
    }
    pairs
}

#[cfg(test)]
mod tests;
