//! A map of topics: points in the plane whose distances approximate those of the topics.
//!
//! The distance of two topics with non-negative weights, which are distributions p and q over words,
//! is the square root of the Jensen–Shannon divergence, a metric between 0 and √ln 2:
//!
//! ```text
//! JS(p, q) = ½·Σ_w p_w·ln(2p_w/(p_w+q_w)) + ½·Σ_w q_w·ln(2q_w/(p_w+q_w))
//!          = ln 2 − ½·Σ_{w in both} [ p_w·ln((p_w+q_w)/p_w) + q_w·ln((p_w+q_w)/q_w) ]
//! ```
//! Only common words contribute, which keeps sparse topics cheap. The distance of signed topics is
//! √(2 − 2·cos) with the cosine of their absolute weights, since the sign of a topic is arbitrary.
//!
//! The points are those of classical multidimensional scaling (Torgerson 1952): the two leading
//! eigenvectors of −½·J·D²·J with J = I − 11ᵀ/n, each times the root of its eigenvalue.

use faer::Mat;
use rayon::prelude::*;

use crate::linalg::symmetric_eigen;
use crate::sparse::Csr;
use crate::{Result, Run};

/// The distance of two topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distance {
    /// The square root of the Jensen–Shannon divergence, for non-negative weights.
    JensenShannon,
    /// √(2 − 2·cos) of the absolute weights.
    Cosine,
}

/// The distances between all topics by rows; `topics` is topics × words. Rows are scaled as the
/// distance requires; a topic without words has the largest distance to all others.
pub fn distances(topics: &Csr, distance: Distance, run: &Run<'_>) -> Result<Vec<f64>> {
    let n = topics.n_rows();
    let scales: Vec<f64> = topics
        .rows()
        .map(|row| {
            let size = match distance {
                Distance::JensenShannon => row.values.iter().map(|&w| f64::from(w.max(0.0))).sum(),
                Distance::Cosine => row.norm(),
            };
            if size > 0.0 { 1.0 / size } else { 0.0 }
        })
        .collect();
    let words = topics.transpose();
    let mut found = vec![0.0f64; n * n];
    found.par_chunks_mut(n.max(1)).enumerate().try_for_each(|(a, row)| {
        run.check()?;
        // The contributions of common words, for all other topics at once.
        for (word, weight) in topics.row(a).iter() {
            let p = weigh(weight, scales[a], distance);
            if p == 0.0 {
                continue;
            }
            for (b, weight) in words.row(word as usize).iter() {
                let q = weigh(weight, scales[b as usize], distance);
                if q > 0.0 {
                    row[b as usize] += match distance {
                        Distance::Cosine => p * q,
                        Distance::JensenShannon => {
                            0.5 * (p * (q / p).ln_1p() + q * (p / q).ln_1p())
                        }
                    };
                }
            }
        }
        for (b, common) in row.iter_mut().enumerate() {
            let squared = match distance {
                Distance::JensenShannon => std::f64::consts::LN_2 - *common,
                Distance::Cosine => 2.0 - 2.0 * *common,
            };
            // Rounding may make it negative.
            *common = if a == b { 0.0 } else { squared.max(0.0).sqrt() };
        }
        Ok(())
    })?;
    Ok(found)
}

fn weigh(weight: f32, scale: f64, distance: Distance) -> f64 {
    match distance {
        Distance::JensenShannon => f64::from(weight.max(0.0)) * scale,
        Distance::Cosine => f64::from(weight).abs() * scale,
    }
}

/// Points in the plane for `n` items with these distances (n × n, symmetric). The result is unique:
/// the item farthest out along an axis is on its positive side. `None` if the eigenvalues do not
/// converge.
pub fn classical_mds(distances: &[f64], n: usize) -> Option<Vec<[f64; 2]>> {
    let squared = |i: usize, j: usize| distances[i * n + j].powi(2);
    let means: Vec<f64> =
        (0..n).map(|i| (0..n).map(|j| squared(i, j)).sum::<f64>() / n as f64).collect();
    let all = means.iter().sum::<f64>() / n.max(1) as f64;
    let centred = Mat::from_fn(n, n, |i, j| -0.5 * (squared(i, j) - means[i] - means[j] + all));
    if n == 0 {
        return Some(Vec::new());
    }
    let eigen = symmetric_eigen(&centred)?;
    let mut places = vec![[0.0; 2]; n];
    // Eigenvalues that are zero up to rounding.
    let least = 1e-12 * eigen.values[0].max(0.0);
    for axis in 0..n.min(2) {
        let value = eigen.values[axis];
        if value <= least {
            continue;
        }
        let column = |i: usize| eigen.vectors[(i, axis)] * value.sqrt();
        // The first of those that are farthest, up to rounding.
        let most = (0..n).map(|i| column(i).abs()).fold(0.0, f64::max);
        let first = (0..n).find(|&i| column(i).abs() >= most * (1.0 - 1e-9)).unwrap_or(0);
        let sign = if column(first) < 0.0 { -1.0 } else { 1.0 };
        places.iter_mut().enumerate().for_each(|(i, place)| place[axis] = sign * column(i));
    }
    Some(places)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::oracle::{random_csr, same_at_any_thread_count};

    fn apart(a: [f64; 2], b: [f64; 2]) -> f64 {
        ((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)).sqrt()
    }

    #[test]
    fn places_in_the_plane_are_found_again() {
        let points = [[0.0, 0.0], [3.0, 0.0], [0.0, 4.0], [-2.0, 1.0], [5.0, 5.0]];
        let n = points.len();
        let distances: Vec<f64> =
            (0..n * n).map(|at| apart(points[at / n], points[at % n])).collect();
        let places = classical_mds(&distances, n).unwrap();
        for i in 0..n {
            for j in 0..n {
                assert!((apart(places[i], places[j]) - distances[i * n + j]).abs() < 1e-9);
            }
        }
        for axis in 0..2 {
            let far = places.iter().map(|p| p[axis]).max_by(|a, b| a.abs().total_cmp(&b.abs()));
            assert!(far.unwrap() > 0.0);
        }
    }

    #[test]
    fn few_topics_have_places_too() {
        assert_eq!(classical_mds(&[], 0).unwrap(), Vec::<[f64; 2]>::new());
        assert_eq!(classical_mds(&[0.0], 1).unwrap(), [[0.0, 0.0]]);
        let two = classical_mds(&[0.0, 2.0, 2.0, 0.0], 2).unwrap();
        assert!((apart(two[0], two[1]) - 2.0).abs() < 1e-12);
        // Topics that are all the same lie on one another.
        assert_eq!(classical_mds(&[0.0; 9], 3).unwrap(), [[0.0; 2]; 3]);
    }

    #[test]
    fn a_topic_without_words_is_as_far_as_can_be() {
        let topics = Csr::from_triplets(3, 2, vec![(0, 0, 2.0), (0, 1, 2.0), (1, 1, 1.0)]).unwrap();
        let js = distances(&topics, Distance::JensenShannon, &Run::silent()).unwrap();
        assert!((js[2].powi(2) - std::f64::consts::LN_2).abs() < 1e-12);
        let cosine = distances(&topics, Distance::Cosine, &Run::silent()).unwrap();
        assert!((cosine[2].powi(2) - 2.0).abs() < 1e-12);
        assert!((cosine[1].powi(2) - (2.0 - 2.0 * 0.5f64.sqrt())).abs() < 1e-12);
    }

    #[test]
    fn the_same_at_any_number_of_threads() {
        let topics = random_csr(50, 200, 20, 3);
        for distance in [Distance::JensenShannon, Distance::Cosine] {
            same_at_any_thread_count(|| {
                let found = distances(&topics, distance, &Run::silent()).unwrap();
                let places = classical_mds(&found, 50).unwrap();
                (found, places)
            });
        }
    }

    /// KL of two rows against their middle, word by word.
    fn brute(p: &[f64], q: &[f64]) -> f64 {
        let kl = |a: &[f64], b: &[f64]| -> f64 {
            a.iter()
                .zip(b)
                .filter(|(a, _)| **a > 0.0)
                .map(|(&a, &b)| a * (a / (0.5 * (a + b))).ln())
                .sum()
        };
        (0.5 * kl(p, q) + 0.5 * kl(q, p)).max(0.0).sqrt()
    }

    proptest! {
        #[test]
        fn sparse_is_dense(seed in 0u64..300, n in 1usize..9, per_topic in 1usize..15) {
            let signed = random_csr(n, 12, per_topic, seed);
            let topics = signed.map(|_, _, w| w.abs() + 0.01).unwrap();
            let found = distances(&topics, Distance::JensenShannon, &Run::silent()).unwrap();
            let cosine = distances(&signed, Distance::Cosine, &Run::silent()).unwrap();
            let dense = |row: usize, of: &Csr| -> Vec<f64> {
                (0..12).map(|w| f64::from(of.row(row).get(w)).abs()).collect()
            };
            for i in 0..n {
                for j in 0..n {
                    let (p, q) = (dense(i, &topics), dense(j, &topics));
                    let (sp, sq) = (p.iter().sum::<f64>(), q.iter().sum::<f64>());
                    let p: Vec<f64> = p.iter().map(|w| w / sp).collect();
                    let q: Vec<f64> = q.iter().map(|w| w / sq).collect();
                    // The root of a number that is zero but for rounding.
                    prop_assert!((found[i * n + j].powi(2) - brute(&p, &q).powi(2)).abs() < 1e-12);
                    prop_assert_eq!(found[i * n + j].to_bits(), found[j * n + i].to_bits());
                    let (p, q) = (dense(i, &signed), dense(j, &signed));
                    let dot: f64 = p.iter().zip(&q).map(|(a, b)| a * b).sum();
                    let norm = |a: &[f64]| a.iter().map(|a| a * a).sum::<f64>().sqrt();
                    let expected = if i == j { 0.0 } else { 2.0 - 2.0 * dot / norm(&p) / norm(&q) };
                    prop_assert!((cosine[i * n + j].powi(2) - expected).abs() < 1e-9);
                }
            }
        }
    }
}
