use proptest::prelude::*;

use super::*;
use crate::oracle::same_at_any_thread_count;
use crate::random::Random;
use crate::topic::simd::copy_in;
use crate::topic::simd::tests::same_with_any_instructions;

/// Bags of words with empty documents, words that none has, and one word that is there for sure.
pub fn bags() -> impl Strategy<Value = Csr> {
    (1usize..7, 1usize..9).prop_flat_map(|(n_docs, n_terms)| {
        let cell = prop_oneof![2 => Just(0u8), 1 => 1u8..5];
        proptest::collection::vec(cell, n_docs * n_terms).prop_map(move |mut cells| {
            cells[0] = cells[0].max(1);
            let triplets = (0u32..).zip(cells).filter(|&(_, n)| n > 0);
            let n = n_terms as u32;
            let triplets = triplets.map(|(at, count)| (at / n, at % n, f32::from(count)));
            Csr::from_triplets(n_docs, n_terms, triplets.collect()).unwrap()
        })
    })
}

/// Documents of one of two topics, each with ten words of its own; the last three words belong to
/// both, the last document is empty.
pub fn two_topics(n_docs: usize) -> Csr {
    let mut random = Random::new(5, 0);
    let mut triplets = Vec::new();
    for d in 0..n_docs - 1 {
        for _ in 0..30 {
            let word = match random.below(10) {
                0 => 20 + random.below(3),
                _ => 10 * (d as u64 % 2) + random.below(10),
            };
            triplets.push((d as u32, word as u32, 1.0));
        }
    }
    Csr::from_triplets(n_docs, 24, triplets).unwrap()
}

/// Asserts that topics of [`two_topics`] are two, and that documents have one of them.
pub fn are_found(probabilities: &Dense, documents: &Dense) {
    let mass =
        |k: usize, words: Range<usize>| -> f32 { words.map(|w| probabilities.row(w)[k]).sum() };
    let first = if mass(0, 0..10) > 0.5 { 0 } else { 1 };
    assert!(mass(first, 0..10) > 0.8 && mass(1 - first, 10..20) > 0.8);
    assert!(mass(first, 10..20) < 0.02 && mass(1 - first, 0..10) < 0.02);
    let n_docs = documents.n_rows();
    for d in 0..n_docs - 1 {
        let own = if d % 2 == 0 { first } else { 1 - first };
        assert!(documents.row(d)[own] > 0.9, "{d}: {:?}", documents.row(d));
    }
    assert_eq!(documents.row(n_docs - 1), [0.5, 0.5]);
    assert_eq!(probabilities.row(23), [0.0, 0.0]);
}

fn rows(n_rows: usize, dim: usize, seed: u64) -> PaddedMatrix {
    let mut rows = PaddedMatrix::zeros(n_rows, dim);
    let mut random = Random::new(seed, 0);
    for i in 0..n_rows {
        let row: Vec<f32> = (0..dim).map(|_| random.uniform() as f32 + 0.01).collect();
        copy_in(&row, rows.row_mut(i));
    }
    rows
}

fn plain(rows: &PaddedMatrix, i: usize) -> Vec<f64> {
    let mut row = vec![0.0f32; rows.dim];
    copy_out(rows.row(i), &mut row);
    row.into_iter().map(f64::from).collect()
}

proptest! {
    #[test]
    fn an_accumulation_is_the_plain_sum(dim in 1usize..40, n in 0usize..300, seed in 0u64..100) {
        let matrix = rows(50, dim, seed);
        let own = rows(1, dim, seed + 1);
        let mut random = Random::new(seed, 7);
        let indices: Vec<u32> = (0..n).map(|_| random.below(50) as u32).collect();
        let values: Vec<f32> = (0..n).map(|_| 1.0 + random.below(4) as f32).collect();
        let entries = Row { indices: &indices, values: &values };
        let mut sums = Sums::new(matrix.lanes());
        let log = accumulate_with_log(entries, &matrix, own.row(0), &mut sums);
        let own_plain = plain(&own, 0);
        let (mut expected, mut expected_log) = (vec![0.0f64; dim], 0.0);
        for (index, n) in entries.iter() {
            let row = plain(&matrix, index as usize);
            let t: f64 = row.iter().zip(&own_plain).map(|(a, b)| a * b).sum();
            expected_log += f64::from(n) * t.ln();
            expected.iter_mut().zip(&row).for_each(|(sum, x)| *sum += f64::from(n) / t * x);
        }
        prop_assert!((log - expected_log).abs() <= 1e-5 * (n as f64 + expected_log.abs()));
        let found = sums.sum.clone();
        for (k, expected) in expected.iter().enumerate() {
            let found = f64::from(found[k / LANES].0[k % LANES]);
            prop_assert!((found - expected).abs() <= 1e-5 * (1.0 + expected), "{found} {expected}");
        }
        // Without the logarithm, and with the rows side by side, it is the same to the bit.
        accumulate(entries, &matrix, own.row(0), &mut sums);
        prop_assert_eq!(&sums.sum, &found);
        let mut workspace = Workspace::new(dim);
        for (index, n) in entries.iter() {
            workspace.push(n).copy_from_slice(matrix.row(index as usize));
        }
        accumulate_adjacent(&workspace.words, &workspace.counts, own.row(0), &mut sums);
        prop_assert_eq!(&sums.sum, &found);
        same_with_any_instructions(|| {
            let mut sums = Sums::new(matrix.lanes());
            let log = accumulate_with_log(entries, &matrix, own.row(0), &mut sums);
            (log, logs(&workspace.words, &workspace.counts, own.row(0)), sums.sum)
        });
    }
}

#[test]
fn columns_are_summed_alike_at_any_thread_count() {
    let matrix = rows(5000, 13, 3);
    let sums = same_at_any_thread_count(|| matrix.column_sums());
    for (k, sum) in sums.iter().enumerate() {
        let plain: f64 = (0..5000).map(|i| plain(&matrix, i)[k]).sum();
        assert!((sum - plain).abs() < 1e-6 * plain);
    }
    assert_eq!((matrix.to_dense().n_rows(), matrix.to_dense().n_cols()), (5000, 13));
}

#[test]
fn counts_below_zero_and_no_words_at_all_are_refused_and_memory_is_reckoned_with() {
    let bad = Csr::from_triplets(2, 3, vec![(0, 1, 2.0), (1, 2, -1.0)]).unwrap();
    let message = BagCorpus::new(&bad, 0, u64::MAX).err().unwrap().to_string();
    assert!(message.contains("document 1 has the count -1 for word 2"), "{message}");
    let message = BagCorpus::new(&Csr::empty(3, 3), 0, u64::MAX).err().unwrap().to_string();
    assert!(message.contains("no document has a word"), "{message}");
    let good = Csr::from_triplets(1, 1, vec![(0, 0, 1.0)]).unwrap();
    let message = BagCorpus::new(&good, 10 << 20, 1 << 20).err().unwrap().to_string();
    assert!(message.contains("10 MiB") && message.contains("`dim`"), "{message}");
}
