//! Measures of diversity and novelty. A query has subtopics (the facets of a broad one, the
//! meanings of an ambiguous one), a document answers some of them, and every answer to a subtopic
//! reduces the gain of further answers below it.
//!
//! With J(d, s) = 1 if the document d answers the subtopic s, and c(s, i) documents before rank i
//! that answer it, the gain at rank i is
//! ```text
//! g(i) = Σ_s J(d_i, s)·(1 − α)^c(s, i)
//! ```
//! and with n the number of subtopics that some judged document answers,
//! ```text
//! α-DCG@k   = Σ g(i)/log2(i + 1) / Σ n·(1 − α)^(i−1)/log2(i + 1)      i = 1 … k
//! ERR-IA@k  = Σ g(i)/i           / Σ n·(1 − α)^(i−1)/i
//! α-nDCG@k, nERR-IA@k            the same, divided by that of the ideal ranking
//! P-IA@k    = Σ_i Σ_s J(d_i, s) / (k·n)
//! StRecall@k = subtopics answered among the first k / n
//! ```
//! The optimal ranking is NP-hard to find; the ideal one is made greedily, by largest gain.
//! Sources: Clarke et al., Novelty and diversity in information retrieval evaluation, SIGIR
//! 2008 (α-nDCG); Chapelle et al., Expected reciprocal rank for graded relevance, CIKM 2009
//! (ERR-IA); Zhai et al., Beyond independent relevance, SIGIR 2003 (subtopic recall); and TREC's
//! ndeval, whose definitions these are. ndeval divides from the second rank on, so that its
//! ERR-IA@1 and α-DCG@1 can exceed 1; here they are divided, too.

mod name;

#[cfg(test)]
mod tests;

pub(crate) use name::{MOST, alpha};

/// The default of [`DiversityMeasure::alpha`].
pub const ALPHA: f64 = 0.5;

/// A measure of diversity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiversityMeasure {
    /// Its formula.
    pub kind: DiversityKind,
    /// Ranks counted.
    pub k: usize,
    /// The share of a subtopic's gain that every answer removes, from 0 to 1.
    pub alpha: f64,
}

/// The formula of a measure of diversity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiversityKind {
    /// Discounted gain, divided by that of the ideal ranking.
    AlphaNdcg,
    /// Discounted gain, divided by that of documents which answer every subtopic.
    AlphaDcg,
    /// Expected reciprocal rank over the subtopics, divided by that of documents which answer all.
    ErrIa,
    /// The same, divided by that of the ideal ranking.
    NerrIa,
    /// Precision, averaged over the subtopics.
    PIa,
    /// The share of the subtopics that are answered.
    StRecall,
}

impl Default for DiversityMeasure {
    fn default() -> Self {
        DiversityMeasure { kind: DiversityKind::AlphaNdcg, k: 10, alpha: ALPHA }
    }
}

/// The subtopics that the judged documents of a query answer.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedSubtopics {
    /// For every document, in the byte order of the ids, the numbers of its subtopics, each once.
    docs: Vec<Vec<u32>>,
    /// The number of subtopics with an answer.
    n_answered: usize,
    /// One more than the largest number of a subtopic.
    n_numbers: usize,
}

impl JudgedSubtopics {
    /// From the subtopics of every document, in the byte order of the ids.
    pub fn new(mut docs: Vec<Vec<u32>>) -> Self {
        let mut all: Vec<u32> = Vec::new();
        for doc in &mut docs {
            doc.sort_unstable();
            doc.dedup();
            all.extend(&*doc);
        }
        all.sort_unstable();
        all.dedup();
        let n_numbers = all.last().map_or(0, |&last| last as usize + 1);
        JudgedSubtopics { docs, n_answered: all.len(), n_numbers }
    }

    /// The subtopics of the document at `place`.
    pub fn subtopics(&self, place: usize) -> &[u32] {
        &self.docs[place]
    }

    /// The first `k` documents of the ideal ranking, greedily by gain, of equal gains the largest id,
    /// as in ndeval.
    fn ideal(&self, alpha: f64, k: usize) -> Vec<&[u32]> {
        let order = greedy(&self.docs, self.n_numbers, alpha, k, true);
        order.into_iter().map(|place| self.subtopics(place)).collect()
    }
}

/// The places of `docs`, greedily by gain, of equal gains the `last` or the first. Ends after `k`
/// documents, or when no document has a gain.
fn greedy(docs: &[Vec<u32>], n_numbers: usize, alpha: f64, k: usize, last: bool) -> Vec<usize> {
    let mut worth = vec![1.0f64; n_numbers];
    let mut taken = vec![false; docs.len()];
    let mut order = Vec::with_capacity(k.min(docs.len()));
    while order.len() < k {
        let mut best: Option<(usize, f64)> = None;
        for (place, doc) in docs.iter().enumerate().filter(|&(place, _)| !taken[place]) {
            let gain = doc.iter().fold(0.0, |gain, &s| gain + worth[s as usize]);
            let better = |&(_, most): &(usize, f64)| gain > most || (last && gain == most);
            if gain > 0.0 && best.as_ref().is_none_or(better) {
                best = Some((place, gain));
            }
        }
        let Some((place, _)) = best else { break };
        taken[place] = true;
        order.push(place);
        docs[place].iter().for_each(|&s| worth[s as usize] *= 1.0 - alpha);
    }
    order
}

/// The greedy order of candidates by the `subtopics` that they answer: always the largest gain, of
/// equal gains the first. Ends after `k` documents, or when none has a gain.
pub fn diverse_order(subtopics: &[Vec<u32>], alpha: f64, k: usize) -> Vec<usize> {
    let n_numbers = subtopics.iter().flatten().max().map_or(0, |&most| most as usize + 1);
    greedy(subtopics, n_numbers, alpha, k, false)
}

impl DiversityMeasure {
    /// The value of a ranking: `ranked` holds the subtopics of every document, best first. Subtopics
    /// that no judged document answers do not count; the value is 0 if none is answered.
    pub fn evaluate(&self, ranked: &[&[u32]], judged: &JudgedSubtopics) -> f64 {
        let n = judged.n_answered as f64;
        if n == 0.0 {
            return 0.0;
        }
        let ranked = &ranked[..ranked.len().min(self.k)];
        let sum = |docs: &[&[u32]], discount: fn(usize) -> f64| {
            let gains = gains(docs, judged.n_numbers, self.alpha);
            gains.zip(1..).fold(0.0, |sum, (gain, rank)| sum + gain * discount(rank))
        };
        // The gain of documents that answer every subtopic.
        let most = |discount: fn(usize) -> f64| {
            let (mut worth, mut sum) = (n, 0.0);
            for rank in 1..=self.k {
                sum += worth * discount(rank);
                worth *= 1.0 - self.alpha;
            }
            sum
        };
        let of_ideal = |discount: fn(usize) -> f64| {
            sum(ranked, discount) / sum(&judged.ideal(self.alpha, self.k), discount)
        };
        match self.kind {
            DiversityKind::AlphaNdcg => of_ideal(logarithmic),
            DiversityKind::AlphaDcg => sum(ranked, logarithmic) / most(logarithmic),
            DiversityKind::ErrIa => sum(ranked, reciprocal) / most(reciprocal),
            DiversityKind::NerrIa => of_ideal(reciprocal),
            DiversityKind::PIa => {
                let answers: usize = ranked.iter().map(|doc| doc.len()).sum();
                answers as f64 / (self.k as f64 * n)
            }
            DiversityKind::StRecall => {
                let mut seen = vec![false; judged.n_numbers];
                for &s in ranked.iter().copied().flatten() {
                    seen.get_mut(s as usize).into_iter().for_each(|seen| *seen = true);
                }
                seen.iter().filter(|&&seen| seen).count() as f64 / n
            }
        }
    }
}

/// The gain at every rank.
fn gains<'a>(
    ranked: &'a [&[u32]],
    n_numbers: usize,
    alpha: f64,
) -> impl Iterator<Item = f64> + use<'a> {
    let mut worth = vec![1.0f64; n_numbers];
    ranked.iter().map(move |doc| {
        doc.iter().fold(0.0, |gain, &s| match worth.get_mut(s as usize) {
            Some(worth) => {
                let gain = gain + *worth;
                *worth *= 1.0 - alpha;
                gain
            }
            None => gain,
        })
    })
}

fn logarithmic(rank: usize) -> f64 {
    1.0 / (rank as f64 + 1.0).log2()
}

fn reciprocal(rank: usize) -> f64 {
    1.0 / rank as f64
}
