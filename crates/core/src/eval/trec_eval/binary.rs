//! Measures of binary relevance. R is the number of relevant judgments; a value divided by R is 0 if
//! R is.

use super::graded::{Graded, NOT_POOLED, UNJUDGED};

/// trec_eval adds it to estimates to avoid a division by zero.
const INFAP_EPSILON: f64 = 0.00001;

fn over(numerator: f64, denominator: usize) -> f64 {
    if denominator == 0 { 0.0 } else { numerator / denominator as f64 }
}

/// Σ over the relevant documents in the first `k` of (relevant so far) / rank.
pub(super) fn sum_of_precisions(graded: &Graded<'_>, k: usize) -> f64 {
    let ranks = &graded.relevant[..graded.found(k)];
    (1u32..).zip(ranks).fold(0.0, |sum, (found, &rank)| sum + f64::from(found) / rank as f64)
}

/// Average precision.
pub(super) fn average_precision(graded: &Graded<'_>, k: usize) -> f64 {
    over(sum_of_precisions(graded, k), graded.n_relevant)
}

/// The share of the first `k` that is relevant, however few were retrieved.
pub(super) fn precision(graded: &Graded<'_>, k: usize) -> f64 {
    over(graded.found(k) as f64, k)
}

/// The share of the relevant documents that is among the first `k`.
pub(super) fn recall(graded: &Graded<'_>, k: usize) -> f64 {
    over(graded.found(k) as f64, graded.n_relevant)
}

/// Precision divided by the best possible at `k`.
pub(super) fn relative_precision(graded: &Graded<'_>, k: usize) -> f64 {
    over(graded.found(k) as f64, k.min(graded.n_relevant))
}

/// 1 over the rank of the first relevant document if that is at most `k`.
pub(super) fn reciprocal_rank(graded: &Graded<'_>, k: usize) -> f64 {
    graded.relevant.first().filter(|&&rank| rank <= k).map_or(0.0, |&rank| 1.0 / rank as f64)
}

/// Whether there is a relevant document among the first `k`.
pub(super) fn success(graded: &Graded<'_>, k: usize) -> f64 {
    if graded.found(k) > 0 { 1.0 } else { 0.0 }
}

/// Precision at ⌊multiple·R + 0.9⌋.
pub(super) fn precision_at_multiple(graded: &Graded<'_>, multiple: f64) -> f64 {
    precision(graded, (multiple * graded.n_relevant as f64 + 0.9) as usize)
}

/// The best precision at or below the rank where `recall` is reached: that of the n-th relevant
/// document, with n = recall·R rounded, halves up (trec_eval 10; earlier versions added 0.9 and
/// truncated).
pub(super) fn interpolated_precision(graded: &Graded<'_>, recall: f64) -> f64 {
    let from = ((recall * graded.n_relevant as f64).round() as usize).max(1) - 1;
    let ranks = graded.relevant.iter().enumerate().skip(from);
    ranks.map(|(before, &rank)| (before + 1) as f64 / rank as f64).fold(0.0, f64::max)
}

/// The mean of the interpolated precision at several recalls.
pub(super) fn mean_interpolated_precision(graded: &Graded<'_>, recalls: &[f64]) -> f64 {
    // From the highest recall down, in trec_eval's order of summation.
    let sum = recalls.iter().rev().fold(0.0, |sum, &at| sum + interpolated_precision(graded, at));
    over(sum, recalls.len())
}

/// 1/R Σ over the relevant retrieved of 1 − min(judged not relevant above, R) / min(N, R).
pub(super) fn bpref(graded: &Graded<'_>) -> f64 {
    let r = graded.n_relevant;
    let worst = graded.n_nonrelevant.min(r) as f64;
    let (mut above, mut sum) = (0, 0.0);
    for &grade in graded.grades.iter() {
        if grade >= graded.relevant_from {
            sum += if above > 0 { 1.0 - above.min(r) as f64 / worst } else { 1.0 };
        } else if grade >= 0 {
            above += 1;
        }
    }
    over(sum, r)
}

/// Inferred average precision: precision is estimated from the judged documents of the pool.
pub(super) fn inferred_ap(graded: &Graded<'_>) -> f64 {
    let (mut relevant, mut nonrelevant, mut unjudged) = (0u32, 0u32, 0u32);
    let mut sum = 0.0;
    for (before, &grade) in graded.grades.iter().enumerate() {
        match grade {
            NOT_POOLED => {}
            UNJUDGED => unjudged += 1,
            grade if grade < graded.relevant_from => nonrelevant += 1,
            _ => {
                if before == 0 {
                    sum += 1.0;
                } else {
                    let above = before as f64;
                    let pooled = f64::from(relevant + nonrelevant + unjudged) / above;
                    let good = (f64::from(relevant) + INFAP_EPSILON)
                        / (f64::from(relevant + nonrelevant) + 2.0 * INFAP_EPSILON);
                    sum += 1.0 / (above + 1.0) + above / (above + 1.0) * pooled * good;
                }
                relevant += 1;
            }
        }
    }
    over(sum, graded.n_relevant)
}

/// 1/R Σ over the relevant retrieved of 1 / log2(2 + others above).
pub(super) fn binary_g(graded: &Graded<'_>) -> f64 {
    let ranks = (1..).zip(&graded.relevant);
    let sum = ranks.fold(0.0, |sum, (found, &rank)| sum + 1.0 / ((2 + rank - found) as f64).log2());
    over(sum, graded.n_relevant)
}

/// log((1 + s) / (1 + R − s)) with s the sum of precisions (Robertson's smoothed AP).
pub(super) fn yaap(graded: &Graded<'_>) -> f64 {
    let sum = sum_of_precisions(graded, usize::MAX);
    ((1.0 + sum) / (1.0 + graded.n_relevant as f64 - sum)).ln()
}

/// The sum of the four cells of the contingency table by `weights`: relevant retrieved, others
/// retrieved, relevant missed, others missed (which needs the size of the collection).
pub(super) fn utility(graded: &Graded<'_>, weights: [f64; 4], n_docs: u64) -> f64 {
    if !graded.present {
        return 0.0;
    }
    let (found, retrieved) = (graded.relevant.len() as f64, graded.n_retrieved() as f64);
    let relevant = graded.n_relevant as f64;
    weights[0] * found
        + weights[1] * (retrieved - found)
        + weights[2] * (relevant - found)
        + weights[3] * (n_docs as f64 + found - retrieved - relevant)
}

/// The share of the retrieved that is relevant.
pub(super) fn set_precision(graded: &Graded<'_>) -> f64 {
    precision(graded, graded.n_retrieved())
}

/// Recall × precision of everything retrieved.
pub(super) fn set_ap(graded: &Graded<'_>) -> f64 {
    let found = graded.relevant.len() as f64;
    over(found * found, graded.n_retrieved() * graded.n_relevant)
}

/// (x + 1)·P·R / (x·P + R) of everything retrieved.
pub(super) fn set_f(graded: &Graded<'_>, x: f64) -> f64 {
    if graded.relevant.is_empty() {
        return 0.0;
    }
    let (p, r) = (set_precision(graded), recall(graded, usize::MAX));
    (x + 1.0) * p * r / (x * p + r)
}

/// The number of unjudged documents among the first `k`, divided by `k`.
pub(super) fn unjudged(graded: &Graded<'_>, k: usize) -> f64 {
    over(graded.grades.iter().take(k).filter(|&&grade| grade < 0).count() as f64, k)
}

/// The share of judged documents among the first `k`.
pub(super) fn judged(graded: &Graded<'_>, k: usize) -> f64 {
    let first = &graded.grades[..k.min(graded.n_retrieved())];
    over(first.iter().filter(|&&grade| grade >= 0).count() as f64, first.len())
}

/// The gain of rank-biased precision if every unjudged document had the highest gain.
pub(super) fn rbp_residual(graded: &Graded<'_>, p: f64) -> f64 {
    let (mut sum, mut weight, mut any) = (0.0, 1.0, false);
    for &grade in graded.grades.iter() {
        if grade < 0 {
            sum += weight;
            any = true;
        }
        weight *= p;
    }
    if any { weight + (1.0 - p) * sum } else { 0.0 }
}

/// The first `k` grades as one character each.
pub(super) fn relevance_string(graded: &Graded<'_>, k: usize) -> String {
    let sign = |&grade: &i32| match grade {
        NOT_POOLED => '-',
        UNJUDGED => '.',
        0..=9 => char::from(b'0' + grade as u8),
        10.. => '>',
        _ => '<',
    };
    graded.grades.iter().take(k).map(sign).collect()
}
