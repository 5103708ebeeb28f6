//! The list of a query that violates the margin most: it maximises
//!
//! ```text
//! 1 − AP(π) − 2/(|R||N|) Σ (s_i − s_j),   over i ∈ R, j ∈ N with j above i
//! ```
//! Within R and within N the rows are in order of falling score, so that only their merge is open:
//! how many of R stand above the j-th of N. With the first j − 1 of N above the i-th of R already
//! counted, putting the j-th there, too, adds
//!
//! ```text
//! δ_j(i) = 1/|R| · [i/(i + j − 1) − i/(i + j)] − 2/(|R||N|) · (s_i − s_j)
//! ```
//! which falls with j for each i. So every j can be placed on its own, where Σ_{i below it} δ_j(i)
//! is largest, and the places are in order (Yue et al., section 4.2). Therefore the middle one can
//! be placed first, and the others on its two sides: O((|R| + |N|) log |N|) instead of |R||N|.

use std::ops::Range;

/// The rows of a query that has relevant rows and others.
pub struct Query {
    rows: Range<usize>,
    /// Rows counted from the first.
    relevant: Vec<u32>,
    others: Vec<u32>,
}

impl Query {
    /// Nothing if all rows are relevant, or none.
    pub fn new(rows: Range<usize>, grades: &[f32], relevant_from: f32) -> Option<Self> {
        let (relevant, others): (Vec<u32>, Vec<u32>) = (0..rows.len() as u32)
            .partition(|&row| grades[rows.start + row as usize] >= relevant_from);
        let both = !relevant.is_empty() && !others.is_empty();
        both.then_some(Query { rows, relevant, others })
    }

    /// The rows in the table.
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// The violation of the margin by the most violated list at `scores` of the rows of the table,
    /// and its derivative by each row's score.
    pub fn violation(&self, scores: &[f64]) -> (f64, Vec<f64>) {
        let scores = &scores[self.rows.clone()];
        let (relevant, others) = (sorted(&self.relevant, scores), sorted(&self.others, scores));
        let of = |rows: &[u32]| rows.iter().map(|&row| scores[row as usize]).collect::<Vec<f64>>();
        let merge = Merge { relevant: of(&relevant), others: of(&others) };
        let above = merge.most_violated();
        let unit = merge.unit();
        let mut slopes = vec![0.0; scores.len()];
        for (&row, &above) in others.iter().zip(&above) {
            slopes[row as usize] = unit * (relevant.len() - above as usize) as f64;
        }
        for (&row, passed) in relevant.iter().zip(merge.passed(&above)) {
            slopes[row as usize] = -unit * passed as f64;
        }
        let pull = slopes.iter().zip(scores).fold(0.0, |sum, (slope, score)| sum + slope * score);
        (1.0 - merge.average_precision(&above) + pull, slopes)
    }
}

/// Rows by falling score.
fn sorted(rows: &[u32], scores: &[f64]) -> Vec<u32> {
    let mut rows = rows.to_vec();
    rows.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]).then(a.cmp(&b)));
    rows
}

/// The falling scores of the relevant rows and of the others.
struct Merge {
    relevant: Vec<f64>,
    others: Vec<f64>,
}

impl Merge {
    /// 2/(|R||N|).
    fn unit(&self) -> f64 {
        2.0 / (self.relevant.len() as f64 * self.others.len() as f64)
    }

    /// How many relevant rows stand above each of the others in the most violated list; of several
    /// such lists, the one with the largest numbers.
    fn most_violated(&self) -> Vec<u32> {
        let mut above = vec![0; self.others.len()];
        let all = (0..self.others.len(), 0, self.relevant.len());
        let mut open = vec![all];
        while let Some((range, least, most)) = open.pop() {
            if range.is_empty() {
                continue;
            }
            let middle = range.start + range.len() / 2;
            let place = self.place(middle, least, most);
            above[middle] = place as u32;
            open.push((range.start..middle, least, place));
            open.push((middle + 1..range.end, place, most));
        }
        above
    }

    /// The number of relevant rows, from `least` to `most`, that should stand above the other row `j`.
    fn place(&self, j: usize, least: usize, most: usize) -> usize {
        let n_relevant = self.relevant.len() as f64;
        let unit = self.unit();
        let (mut best, mut most_gained, mut gained) = (most, 0.0, 0.0);
        for above in (least..most).rev() {
            // One more relevant row below: the one at `above`, counted from 0.
            let (i, j1) = ((above + 1) as f64, (j + 1) as f64);
            let lost = i / (i + j1 - 1.0) - i / (i + j1);
            gained += lost / n_relevant - unit * (self.relevant[above] - self.others[j]);
            if gained > most_gained {
                (best, most_gained) = (above, gained);
            }
        }
        best
    }

    /// How many of the others stand above each relevant row: those with at most i relevant rows
    /// above them stand above the i-th, counted from 0.
    fn passed(&self, above: &[u32]) -> impl Iterator<Item = usize> {
        (0..self.relevant.len()).map(|i| above.partition_point(|&above| above as usize <= i))
    }

    fn average_precision(&self, above: &[u32]) -> f64 {
        let precisions =
            (1..).zip(self.passed(above)).map(|(i, passed)| i as f64 / (i + passed) as f64);
        precisions.fold(0.0, |sum, precision| sum + precision) / self.relevant.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Calls `with` on every order of `items`.
    fn orders(items: &mut Vec<usize>, fixed: usize, with: &mut impl FnMut(&[usize])) {
        if fixed == items.len() {
            return with(items);
        }
        for at in fixed..items.len() {
            items.swap(fixed, at);
            orders(items, fixed + 1, with);
            items.swap(fixed, at);
        }
    }

    /// 1 − AP + ⟨w, Φ(π) − Φ(π*)⟩ of a list, pair by pair.
    fn plain(order: &[usize], relevant: &[bool], scores: &[f64]) -> f64 {
        let n_relevant = relevant.iter().filter(|&&r| r).count() as f64;
        let pairs = n_relevant * (relevant.len() as f64 - n_relevant);
        let (mut found, mut precision, mut phi) = (0.0, 0.0, 0.0);
        for (rank, &row) in order.iter().enumerate() {
            if relevant[row] {
                found += 1.0;
                precision += found / (rank + 1) as f64;
            } else {
                let below = order[rank + 1..].iter().filter(|&&other| relevant[other]);
                phi -= below.map(|&other| 2.0 * (scores[other] - scores[row])).sum::<f64>();
            }
        }
        1.0 - precision / n_relevant + phi / pairs
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn it_is_the_worst_of_all_lists(
            rows in proptest::collection::vec((any::<bool>(), -6i32..6), 2..9),
            scale in 0.05f64..4.0,
        ) {
            let relevant: Vec<bool> = rows.iter().map(|&(r, _)| r).collect();
            let grades: Vec<f32> = relevant.iter().map(|&r| f32::from(u8::from(r))).collect();
            let scores: Vec<f64> = rows.iter().map(|&(_, s)| scale * f64::from(s)).collect();
            let Some(query) = Query::new(0..rows.len(), &grades, 1.0) else { return Ok(()) };
            let (found, slopes) = query.violation(&scores);
            let mut worst = f64::NEG_INFINITY;
            let mut items: Vec<usize> = (0..rows.len()).collect();
            orders(&mut items, 0, &mut |order| {
                worst = worst.max(plain(order, &relevant, &scores));
            });
            prop_assert!((found - worst).abs() < 1e-12, "{} is not {}", found, worst);
            // What it loses beside its slopes is 1 − AP of a list, the same at other scores.
            let lacking = found - slopes.iter().zip(&scores).map(|(a, s)| a * s).sum::<f64>();
            prop_assert!((-1e-12..=1.0).contains(&lacking));
        }

        #[test]
        fn halving_places_as_looking_everywhere_does(
            relevant in proptest::collection::vec(-40i32..40, 1..40),
            others in proptest::collection::vec(-40i32..40, 1..40),
        ) {
            let falling = |mut scores: Vec<i32>| {
                scores.sort_unstable_by(|a, b| b.cmp(a));
                scores.into_iter().map(|s| f64::from(s) / 7.0).collect::<Vec<f64>>()
            };
            let merge = Merge { relevant: falling(relevant), others: falling(others) };
            // Places may differ where rounding decides between two that gain the same.
            let gained = |j: usize, above: u32| {
                let (n, m) = (merge.relevant.len() as f64, merge.others.len() as f64);
                let below = above as usize..merge.relevant.len();
                let pairs = below.map(|i| {
                    let (i1, j1) = ((i + 1) as f64, (j + 1) as f64);
                    (i1 / (i1 + j1 - 1.0) - i1 / (i1 + j1)) / n
                        - 2.0 / (n * m) * (merge.relevant[i] - merge.others[j])
                });
                pairs.sum::<f64>()
            };
            let halving = merge.most_violated();
            prop_assert!(halving.is_sorted());
            for (j, &above) in halving.iter().enumerate() {
                let most = (0..=merge.relevant.len() as u32).map(|above| gained(j, above));
                let most = most.fold(f64::NEG_INFINITY, f64::max);
                prop_assert!((gained(j, above) - most).abs() < 1e-12);
            }
        }
    }
}
