use super::*;
use crate::topic::bags::tests::two_topics;
use crate::topic::lda::LdaFit;
use crate::topic::plsi::PlsiFit;

#[test]
fn every_second_token_is_seen() {
    let row = Row { indices: &[0, 2, 3, 5, 7], values: &[1.0, 3.0, 2.0, 1.0, 9.0] };
    let [seen, rest] = halves(row, |term| term != 7);
    // 0 | 2 2 2 | 3 3 | 5: the first, third, fifth and seventh token.
    assert_eq!(seen, (vec![0, 2, 3, 5], vec![1.0, 1.0, 1.0, 1.0]));
    assert_eq!(rest, (vec![2, 3], vec![2.0, 1.0]));
}

#[test]
fn perplexity_is_that_of_the_formula() {
    let docs = two_topics(41);
    let held_out = two_topics(13);
    let lda = LdaFit {
        dim: 2,
        alpha: 0.1,
        eta: 0.1,
        iterations: 20,
        tolerance: 0.0,
        inner: 50,
        fold_in: 100,
        inner_tolerance: 1e-4,
        batch: 0,
        offset: 10.0,
        decay: 0.7,
        seed: 1,
    };
    let plsi =
        PlsiFit { dim: 2, iterations: 20, tolerance: 0.0, tempering: 1.0, fold_in: 50, seed: 1 };
    let run = Run::silent();
    let lda = lda.fit(&docs, &run).unwrap().topics;
    let plsi = plsi.fit(&docs, &run).unwrap().topics;
    for topics in [&lda as &dyn BagTopics, &plsi] {
        let found = completion(topics, &held_out, &run).unwrap();
        let (mut log, mut words) = (0.0, 0.0);
        for row in held_out.rows() {
            let tokens: Vec<u32> =
                row.iter().flat_map(|(w, n)| std::iter::repeat_n(w, n as usize)).collect();
            let seen: Vec<(u32, u32, f32)> =
                tokens.iter().step_by(2).map(|&w| (0, w, 1.0)).collect();
            let seen = Csr::from_triplets(1, 24, seen).unwrap();
            let mut theta = [0.0f32; 2];
            topics.fold_in(seen.row(0), &mut Workspace::new(2), &mut theta);
            for &w in tokens.iter().skip(1).step_by(2) {
                let row = topics.weights().row(w as usize);
                let total = |k: usize| -> f32 { (0..24).map(|w| topics.weights().row(w)[k]).sum() };
                let p: f32 = (0..2).map(|k| theta[k] * row[k] / total(k)).sum();
                log += f64::from(p).ln();
                words += 1.0;
            }
        }
        let expected = (-log / words).exp();
        assert_eq!((found.words, found.impossible), (words, 0.0));
        assert!((found.perplexity - expected).abs() < 1e-3 * expected, "{found:?} {expected}");
        // Two topics of thirteen words each.
        assert!(found.perplexity < 16.0, "{found:?}");
    }
}
