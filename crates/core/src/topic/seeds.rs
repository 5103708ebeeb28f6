//! Initial documents of topics and clusters by k-means++ (Arthur and Vassilvitskii, 2007): each is drawn
//! from a sample with a probability that grows with its distance to those drawn before.

use std::collections::HashMap;

use crate::random::Random;
use crate::sparse::Row;

/// Documents of the sample per seed, and the least size of the sample.
const CANDIDATES: usize = 10;
const FEWEST: usize = 200;

/// `n` of the documents that have words; with repetitions if there are too few.
pub(super) fn seeds<'a>(
    docs: std::ops::Range<usize>,
    row: impl Fn(usize) -> Row<'a>,
    n: usize,
    mut random: Random,
) -> Vec<usize> {
    let mut some: Vec<usize> = docs.filter(|&doc| !row(doc).is_empty()).collect();
    random.shuffle(&mut some);
    some.truncate((CANDIDATES * n).max(FEWEST));
    if some.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::with_capacity(n);
    let mut left = vec![1.0f64; some.len()];
    while found.len() < n {
        // If all equal earlier seeds, for example with more topics than documents, any will do.
        let at = draw(&left, &mut random).unwrap_or(found.len() % some.len());
        found.push(some[at]);
        let seed = row(some[at]);
        let words: HashMap<u32, f32> = seed.iter().collect();
        let norm = seed.norm();
        for (left, &doc) in left.iter_mut().zip(&some) {
            let inner = row(doc)
                .iter()
                .map(|(term, d)| words.get(&term).map_or(0.0, |&s| f64::from(s) * f64::from(d)));
            let cosine = inner.sum::<f64>() / (norm * row(doc).norm());
            let distance = (1.0 - cosine).clamp(0.0, 1.0);
            *left = left.min(if distance > 1e-6 { distance * distance } else { 0.0 });
        }
    }
    found
}

/// The index of one of `weights`, drawn with probabilities in proportion to them.
fn draw(weights: &[f64], random: &mut Random) -> Option<usize> {
    let total: f64 = weights.iter().sum();
    let mut left = random.uniform() * total;
    let last = weights.iter().rposition(|&weight| weight > 0.0)?;
    let found = weights.iter().position(|&weight| {
        left -= weight;
        weight > 0.0 && left < 0.0
    });
    Some(found.unwrap_or(last))
}
