//! Measures for which a document has a gain: DCG and its relatives, G, RBP and ERR.

use std::sync::LazyLock;

use super::graded::Graded;

/// The gain of a grade.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Gains {
    /// The grade itself, trec_eval's default.
    #[default]
    Linear,
    /// 2^g − 1.
    Exp,
    /// The grade itself except for those listed (`ndcg.1=3,2=9`).
    Given(Vec<(i32, f64)>),
}

impl Gains {
    /// The gain of a grade, divided by 2^`scale` where it is exponential. In a ratio of sums the
    /// scale cancels, and prevents overflow with grades in the thousands.
    fn of(&self, grade: i32, scale: i32) -> f64 {
        match self {
            Gains::Given(given) => match given.iter().find(|&&(at, _)| at == grade) {
                Some(&(_, gain)) => gain,
                None => f64::from(grade.max(0)),
            },
            Gains::Linear => f64::from(grade.max(0)),
            Gains::Exp => {
                let scale = f64::from(scale);
                (f64::from(grade.max(0)) - scale).exp2() - (-scale).exp2()
            }
        }
    }

    /// Ranks (from 1) and gains of the documents with a gain, best first.
    fn gaining<'g>(
        &'g self,
        graded: &'g Graded<'_>,
        scale: i32,
    ) -> impl Iterator<Item = (usize, f64)> + 'g {
        // Only given gains may be those of grades that are not above zero.
        let (some, all) = match self {
            Gains::Given(_) => (&[][..], &graded.grades[..]),
            _ => (&graded.gaining[..], &[][..]),
        };
        let all = (1..).zip(all.iter().copied());
        let ranked = some.iter().copied().chain(all);
        let gains = ranked.map(move |(rank, grade)| (rank, self.of(grade, scale)));
        gains.filter(|&(_, gain)| gain != 0.0)
    }

    /// The positive gains of the judgments, the highest first, with their numbers.
    fn ideal(&self, graded: &Graded<'_>, scale: i32) -> Vec<(f64, usize)> {
        let mut levels: Vec<(f64, usize)> = graded
            .grade_counts
            .iter()
            .map(|&(grade, n)| (self.of(grade, scale), n))
            .filter(|&(gain, _)| gain > 0.0)
            .collect();
        levels.sort_by(|a, b| b.0.total_cmp(&a.0));
        levels.dedup_by(|next, last| {
            let same = next.0 == last.0;
            if same {
                last.1 += next.1;
            }
            same
        });
        levels
    }
}

/// log2(rank + 1) of the first ranks.
static LOGS: LazyLock<Vec<f64>> =
    LazyLock::new(|| (0..4096).map(|rank: u32| f64::from(rank + 1).log2()).collect());

fn discounted(gain: f64, rank: usize) -> f64 {
    gain / LOGS.get(rank).copied().unwrap_or_else(|| ((rank + 1) as f64).log2())
}

/// Σ gain / log2(rank + 1) over the first `k`; the gains are those under `scale`, 0 for themselves.
pub(super) fn dcg(graded: &Graded<'_>, k: usize, gains: &Gains, scale: i32) -> f64 {
    let gaining = gains.gaining(graded, scale).take_while(|&(rank, _)| rank <= k);
    gaining.fold(0.0, |sum, (rank, gain)| sum + discounted(gain, rank))
}

/// [`dcg`] of the judgments in the best order.
pub(super) fn ideal_dcg(graded: &Graded<'_>, k: usize, gains: &Gains, scale: i32) -> f64 {
    let ideal = gains.ideal(graded, scale);
    let gains = ideal.iter().flat_map(|&(gain, n)| std::iter::repeat_n(gain, n));
    (1..=k).zip(gains).fold(0.0, |sum, (rank, gain)| sum + discounted(gain, rank))
}

/// DCG divided by the ideal DCG.
pub(super) fn ndcg(graded: &Graded<'_>, k: usize, gains: &Gains) -> f64 {
    let scale = graded.highest();
    ratio(dcg(graded, k, gains, scale), ideal_dcg(graded, k, gains, scale))
}

fn ratio(got: f64, best: f64) -> f64 {
    if best > 0.0 { got / best } else { 0.0 }
}

/// nDCG at the rank of each document with a gain, averaged over all that have one; those not
/// retrieved count the DCG at the end over the whole ideal.
pub(super) fn ndcg_rel(graded: &Graded<'_>, gains: &Gains) -> f64 {
    let ideal = gains.ideal(graded, 0);
    let mut ideal_gains =
        (1..).zip(ideal.iter().flat_map(|&(gain, n)| std::iter::repeat_n(gain, n)));
    let n_gaining: usize = ideal.iter().map(|&(_, n)| n).sum();
    let (mut got, mut best, mut sum, mut n_found) = (0.0, 0.0, 0.0, 0);
    let mut next = ideal_gains.next();
    for (rank, gain) in gains.gaining(graded, 0) {
        got += discounted(gain, rank);
        while let Some((at, gain)) = next.filter(|&(at, _): &(usize, f64)| at <= rank) {
            best += discounted(gain, at);
            next = ideal_gains.next();
        }
        if gain > 0.0 {
            sum += ratio(got, best);
            n_found += 1;
        }
    }
    while let Some((at, gain)) = next {
        best += discounted(gain, at);
        next = ideal_gains.next();
    }
    sum += (n_gaining as f64 - f64::from(n_found)) * ratio(got, best);
    if n_gaining == 0 || sum <= 0.0 { 0.0 } else { sum / n_gaining as f64 }
}

/// nDCG averaged over the ranks at which the gain of the ideal ranking drops, and over the end of the
/// ranking if that is more than one rank below the last of them.
pub(super) fn r_ndcg(graded: &Graded<'_>, gains: &Gains) -> f64 {
    if graded.n_relevant == 0 {
        return 0.0;
    }
    let (mut sum, mut points, mut rank, mut best) = (0.0, 0u32, 0, 0.0);
    for (gain, n) in gains.ideal(graded, 0) {
        for at in rank + 1..=rank + n {
            best += discounted(gain, at);
        }
        rank += n;
        sum += ratio(dcg(graded, rank, gains, 0), best);
        points += 1;
    }
    if rank + 1 < graded.n_retrieved() && points > 0 {
        sum += ratio(dcg(graded, usize::MAX, gains, 0), best);
        points += 1;
    }
    if points == 0 { 0.0 } else { sum / f64::from(points) }
}

/// Σ gain / log2(2 + cost so far − gain so far) over the sum of all gains, where the cost of a
/// rank is the ideal gain there, at least 1.
pub(super) fn normalised_gain(graded: &Graded<'_>, gains: &Gains) -> f64 {
    let ideal = gains.ideal(graded, 0);
    let total = ideal.iter().fold(0.0, |sum, &(gain, n)| {
        std::iter::repeat_n(gain, n).fold(sum, |sum, gain| sum + gain)
    });
    if total <= 0.0 {
        return 0.0;
    }
    let mut costs = ideal
        .iter()
        .flat_map(|&(gain, n)| std::iter::repeat_n(gain.max(1.0), n))
        .chain(std::iter::repeat(1.0));
    let (mut cost, mut gained, mut sum, mut rank_before) = (0.0, 0.0, 0.0, 0);
    for (rank, gain) in gains.gaining(graded, 0) {
        for _ in rank_before..rank {
            cost += costs.next().unwrap_or(1.0);
        }
        rank_before = rank;
        gained += gain;
        sum += gain / (2.0 + cost - gained).log2();
    }
    sum / total
}

/// Σ gain·p^(rank − 1).
fn geometric(gaining: impl Iterator<Item = (usize, f64)>, p: f64) -> f64 {
    let (mut sum, mut weight, mut at) = (0.0, 1.0, 1);
    for (rank, gain) in gaining {
        while at < rank {
            weight *= p;
            at += 1;
        }
        sum += gain * weight;
    }
    sum
}

/// (1 − p) Σ gain·p^(rank − 1), with gains outside of [0, 1] scaled to that range.
pub(super) fn rbp(graded: &Graded<'_>, k: usize, p: f64, gains: &Gains) -> f64 {
    let (mut low, mut high) = (0.0f64, 0.0f64);
    let given: &[(i32, f64)] = if let Gains::Given(given) = gains { given } else { &[] };
    // Of the grades without a given gain the highest has the largest.
    let own = (0..=graded.highest()).rev().find(|grade| given.iter().all(|(at, _)| at != grade));
    for gain in given.iter().map(|&(_, gain)| gain).chain(own.map(|grade| gains.of(grade, 0))) {
        (low, high) = (low.min(gain), high.max(gain));
    }
    let scaled = |gain: f64| {
        if low < 0.0 || high > 1.0 { (gain - low) / (high - low) } else { gain }
    };
    let sum = if low < 0.0 {
        // A gain of 0 is then above the lowest and counts, if the document was judged.
        let known = |grade: i32| grade >= 0 || given.iter().any(|&(at, _)| at == grade);
        let gain = |grade| if known(grade) { scaled(gains.of(grade, 0)) } else { 0.0 };
        geometric((1..).zip(graded.grades.iter().take(k).map(|&grade| gain(grade))), p)
    } else {
        let gaining = gains.gaining(graded, 0).take_while(|&(rank, _)| rank <= k);
        geometric(gaining.map(|(rank, gain)| (rank, scaled(gain))), p)
    };
    (1.0 - p) * sum
}

/// (1 − p) Σ p^(rank − 1) over the relevant documents.
pub(super) fn binary_rbp(graded: &Graded<'_>, k: usize, p: f64) -> f64 {
    let ranks = graded.relevant[..graded.found(k)].iter();
    (1.0 - p) * geometric(ranks.map(|&rank| (rank, 1.0)), p)
}

/// Expected reciprocal rank: the user stops at a document with probability (2^g − 1) / 2^highest.
pub(super) fn err(graded: &Graded<'_>, k: usize, highest: i32) -> f64 {
    let (mut sum, mut still_looking) = (0.0, 1.0);
    for &(rank, grade) in graded.gaining.iter().take_while(|&&(rank, _)| rank <= k) {
        let stops = (f64::from(grade.min(highest)).exp2() - 1.0) / f64::from(highest).exp2();
        sum += still_looking * stops / rank as f64;
        still_looking *= 1.0 - stops;
    }
    sum
}
