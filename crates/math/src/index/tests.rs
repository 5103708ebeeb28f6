use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::linalg::dot;
use crate::random::Random;

/// Embeddings around a few centres, with lengths that differ and some that are alike.
fn drawn(n: usize, dim: usize, seed: u64) -> Vec<f32> {
    let mut random = Random::new(seed, 9);
    let centres: Vec<f32> = (0..7 * dim).map(|_| random.normal() as f32).collect();
    let mut values: Vec<f32> = Vec::new();
    for at in 0..n {
        if at % 5 == 4 {
            values.extend_from_within((at - 4) * dim..(at - 3) * dim);
            continue;
        }
        let centre = random.below(7) as usize * dim;
        let length = (0.5 * random.normal()).exp() as f32;
        let row = (0..dim).map(|j| length * (centres[centre + j] + 0.5 * random.normal() as f32));
        values.extend(row);
    }
    values
}

fn write(folder: &Path, values: &[f32], dim: usize) {
    let embedding = |doc: usize, row: &mut [f32]| row.copy_from_slice(&values[doc * dim..][..dim]);
    let path = folder.join(EMBEDDINGS_FILE);
    Embeddings::write(&path, values.len() / dim, dim, &Run::silent(), embedding).unwrap();
}

fn listed(folder: &Path, values: &[f32], dim: usize) -> EmbeddingIndex {
    write(folder, values, dim);
    let params = IndexParams { exact_below: 0, ..IndexParams::default() };
    EmbeddingIndex::build(folder, &params, &[], &Run::silent()).unwrap()
}

/// Every embedding scored and sorted.
fn oracle(values: &[f32], query: &[f32], k: usize, allowed: impl Fn(u32) -> bool) -> Vec<Hit> {
    let rows = (0..).zip(values.chunks_exact(query.len()));
    let mut hits: Vec<Hit> = rows
        .map(|(doc, row)| Hit { doc, score: dot(query, row) })
        .filter(|hit| allowed(hit.doc) && hit.score.is_finite())
        .collect();
    // Stable, so that lower numbers come first.
    hits.sort_by(|a, b| b.score.partial_cmp(&a.score).unwrap());
    hits.truncate(k);
    hits
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_exact_search_is_a_sort(
        n in 0usize..300, dim in 1usize..40, k in 0usize..40, keep in 1u32..5, seed: u64,
        spoilt in prop::collection::vec((0usize..300, prop_oneof![
            Just(f32::NAN), Just(f32::INFINITY), Just(f32::MAX), Just(-0.0)
        ]), 0..4),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut values = drawn(n, dim, seed);
        for (at, value) in spoilt {
            if at < n {
                values[at * dim] = value;
            }
        }
        write(folder.path(), &values, dim);
        let embeddings = Embeddings::open(&folder.path().join(EMBEDDINGS_FILE)).unwrap();
        embeddings.verify().unwrap();
        let queries = drawn(3, dim, seed ^ 1);
        let each = embeddings.nearest_to_each(&queries, k);
        // Numbers beyond the last are nobody's.
        let allowed: DocSet = (0..n as u32 + 70).filter(|doc| doc % keep == 0).collect();
        for (query, of_each) in queries.chunks_exact(dim).zip(each) {
            let all = oracle(&values, query, k, |_| true);
            prop_assert_eq!(&embeddings.nearest(query, k, None), &all);
            prop_assert_eq!(&of_each, &all);
            let some = oracle(&values, query, k, |doc| allowed.contains(doc));
            prop_assert_eq!(&embeddings.nearest(query, k, Some(&allowed)), &some);
        }
    }

    #[test]
    fn lists_gone_through_to_the_end_are_the_exact_search(
        n in 1usize..400, dim in 1usize..30, k in 0usize..30, keep in 1u32..5, seed: u64,
        spoilt in 0usize..400,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut values = drawn(n, dim, seed);
        if spoilt < n {
            values[spoilt * dim] = f32::NAN;
        }
        let index = listed(folder.path(), &values, dim);
        let lists = index.lists.as_ref().unwrap();
        prop_assert_eq!(lists.n_coded(), n - usize::from(spoilt < n));
        let all = Effort { probes: usize::MAX, rescore: usize::MAX };
        let allowed: DocSet = (0..n as u32).filter(|doc| doc % keep == 0).collect();
        for query in drawn(3, dim, seed ^ 1).chunks_exact(dim) {
            prop_assert_eq!(
                lists.nearest(&index.embeddings, query, k, None, all),
                oracle(&values, query, k, |_| true)
            );
            prop_assert_eq!(
                lists.nearest(&index.embeddings, query, k, Some(&allowed), all),
                oracle(&values, query, k, |doc| allowed.contains(doc))
            );
        }
    }

    #[test]
    fn a_filter_is_kept_and_filled(
        n in 1usize..600, dim in 1usize..30, k in 0usize..60, seed: u64, share in 0u64..101,
        probes in 0usize..5, rescore in 0usize..3,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let values = drawn(n, dim, seed);
        let index = listed(folder.path(), &values, dim);
        let lists = index.lists.as_ref().unwrap();
        let mut random = Random::new(seed, 3);
        let allowed: DocSet = (0..n as u32).filter(|_| random.below(100) < share).collect();
        for query in drawn(3, dim, seed ^ 1).chunks_exact(dim) {
            let effort = Effort { probes, rescore };
            let by_lists = lists.nearest(&index.embeddings, query, k, Some(&allowed), effort);
            for hits in [by_lists, index.nearest(query, k, Some(&allowed))] {
                prop_assert_eq!(hits.len(), k.min(allowed.len()));
                prop_assert!(hits.iter().all(|hit| allowed.contains(hit.doc)));
                let scores = |hit: &Hit| hit.score == dot(query, index.embeddings.row(hit.doc as usize));
                prop_assert!(hits.iter().all(scores));
                prop_assert!(hits.is_sorted_by(|a, b| best::order(a, b).is_lt()));
            }
        }
    }
}

#[test]
fn the_recall_asked_for_is_reached_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let (n, dim) = (20_000, 24);
    let values = drawn(n, dim, 5);
    let queries = drawn(100, dim, 6);
    write(folder.path(), &values, dim);
    let params = IndexParams { exact_below: 1000, recall: 0.9, ..IndexParams::default() };
    let built = EmbeddingIndex::build(folder.path(), &params, &queries, &Run::silent()).unwrap();
    let report = built.report().unwrap().clone();
    assert!(report.recall_at_10 >= 0.9 && report.recall_at_100 >= 0.9, "{report:?}");
    assert!(report.probes <= report.probes_at_100, "{report:?}");
    assert!(report.probes_at_100 < report.lists / 2, "{report:?}");
    assert_eq!((report.lists, report.queries), (565, 100));
    let index = EmbeddingIndex::open(folder.path()).unwrap();
    assert_eq!(index.report(), Some(&report));
    let lists = index.lists.as_ref().unwrap();
    assert_eq!(lists.effort(10, 1.0).probes, report.probes);
    assert_eq!(lists.effort(100, 1.0).probes, report.probes_at_100);
    assert_eq!(lists.effort(10, 0.1), lists.effort(100, 1.0));
    assert_eq!(lists.effort(usize::MAX, 1.0).probes, report.lists);
    let mut shares = Vec::new();
    for query in queries.chunks_exact(dim) {
        let found = lists.nearest(&index.embeddings, query, 10, None, lists.effort(10, 1.0));
        shares.push(recall::found_share(&oracle(&values, query, 10, |_| true), &found));
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!((mean - report.recall_at_10).abs() < 1e-9, "{mean} {report:?}");
}

#[test]
fn small_indexes_have_no_lists_and_old_ones_go() {
    let folder = tempfile::tempdir().unwrap();
    listed(folder.path(), &drawn(200, 4, 1), 4);
    assert!(folder.path().join(LISTS_FILE).exists());
    let few = drawn(100, 4, 2);
    write(folder.path(), &few, 4);
    // Lists of other embeddings are refused.
    assert!(matches!(EmbeddingIndex::open(folder.path()), Err(Error::Damaged { .. })));
    let params = IndexParams::default();
    let index = EmbeddingIndex::build(folder.path(), &params, &[], &Run::silent()).unwrap();
    assert!(index.lists.is_none() && index.report().is_none());
    assert!(!folder.path().join(LISTS_FILE).exists());
    assert!(EmbeddingIndex::open(folder.path()).unwrap().lists.is_none());
    assert_eq!(index.nearest(&few[..4], 5, None), oracle(&few, &few[..4], 5, |_| true));
}

#[test]
fn the_files_do_not_depend_on_the_threads() {
    let values = drawn(3000, 19, 3);
    let files = [1, 2, 3].map(|threads| {
        let folder = tempfile::tempdir().unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| listed(folder.path(), &values, 19));
        [EMBEDDINGS_FILE, LISTS_FILE].map(|name| bytes(&folder.path().join(name)))
    });
    assert!(files[0] == files[1] && files[0] == files[2]);
}

#[test]
fn the_caller_can_stop_it_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &drawn(500, 8, 1), 8);
    let params = IndexParams { exact_below: 0, ..IndexParams::default() };
    let run = Run::new(&|_| {}, &|| true);
    let built = EmbeddingIndex::build(folder.path(), &params, &[], &run);
    assert!(matches!(built, Err(Error::Cancelled)));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn values_that_make_no_sense_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(EMBEDDINGS_FILE);
    for (n, dim) in [(1, 0), (1, 1 << 20), (1 << 33, 1)] {
        let written = Embeddings::write(&path, n, dim, &Run::silent(), |_, _| {});
        assert!(matches!(written, Err(Error::Parameter { .. })));
    }
    write(folder.path(), &drawn(20, 8, 1), 8);
    let wrong = [
        IndexParams { recall: f64::NAN, ..IndexParams::default() },
        IndexParams { recall: 0.0, ..IndexParams::default() },
        IndexParams { lists: Some(0), ..IndexParams::default() },
        IndexParams { reach: -1.0, ..IndexParams::default() },
    ];
    for params in wrong {
        let built = EmbeddingIndex::build(folder.path(), &params, &[], &Run::silent());
        assert!(matches!(built, Err(Error::Parameter { .. })), "{params:?}");
    }
    let queries = [0.0; 9];
    let params = IndexParams::default();
    let built = EmbeddingIndex::build(folder.path(), &params, &queries, &Run::silent());
    assert!(matches!(built, Err(Error::Parameter { .. })));
}

#[test]
fn queries_that_are_no_numbers_find_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let index = listed(folder.path(), &drawn(5000, 8, 1), 8);
    let lists = index.lists.as_ref().unwrap();
    for value in [f32::NAN, f32::INFINITY] {
        let query = [1.0, 0.5, value, 0.0, 1.0, 2.0, 3.0, 4.0];
        assert!(index.nearest(&query, 5, None).is_empty());
        assert!(lists.nearest(&index.embeddings, &query, 5, None, lists.effort(5, 1.0)).is_empty());
    }
    assert_eq!(index.nearest(&[0.0; 8], 5, None).len(), 5);
}

#[test]
fn equal_embeddings_and_zeros_can_be_dealt() {
    let folder = tempfile::tempdir().unwrap();
    for value in [0.0, 2.0] {
        let index = listed(folder.path(), &vec![value; 300 * 5], 5);
        let hits = index.lists.as_ref().unwrap().nearest(
            &index.embeddings,
            &[1.0; 5],
            3,
            None,
            Effort { probes: 1000, rescore: 1000 },
        );
        assert_eq!(hits.iter().map(|hit| hit.doc).collect::<Vec<_>>(), [0, 1, 2]);
    }
}

fn bytes(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    File::open(path).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

/// Writes over the file at `path` from byte `at` on.
fn spoil(path: &Path, at: u64, with: &[u8]) {
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(with).unwrap();
}

#[test]
fn damaged_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (n, dim) = (300, 8);
    let [embeddings, lists] = [EMBEDDINGS_FILE, LISTS_FILE].map(|name| folder.path().join(name));
    drop(listed(folder.path(), &drawn(n, dim, 1), dim));
    let sound = [&embeddings, &lists].map(|path| (path, bytes(path)));
    let refused = |what: &str| {
        let opened = EmbeddingIndex::open(folder.path());
        assert!(matches!(opened, Err(Error::Damaged { .. })), "{what}");
        for (path, bytes) in &sound {
            File::create(path).unwrap().write_all(bytes).unwrap();
        }
        assert!(EmbeddingIndex::open(folder.path()).is_ok());
    };
    for path in [&embeddings, &lists] {
        let len = bytes(path).len() as u64;
        for cut in [0, 1, 100, 128, 200, len - 1] {
            OpenOptions::new().write(true).open(path).unwrap().set_len(cut).unwrap();
            refused(&format!("cut to {cut}"));
        }
        OpenOptions::new().write(true).open(path).unwrap().set_len(len + 1).unwrap();
        refused("one byte more");
        for at in 0..128 {
            let old = bytes(path)[at as usize];
            spoil(path, at, &[old ^ 1 << (at % 8)]);
            refused(&format!("bit in byte {at} of the header"));
        }
    }
    let places = lists::Places::new(
        dim,
        EmbeddingIndex::open(folder.path()).unwrap().report().unwrap().lists,
        n,
    );
    spoil(&lists, places.docs as u64, &(n as u32).to_le_bytes());
    refused("a document that is none");
    let second = bytes(&lists)[places.docs + 4..places.docs + 8].to_vec();
    spoil(&lists, places.docs as u64, &second);
    refused("a document twice");
    spoil(&lists, places.starts as u64 + 8, &u64::MAX.to_le_bytes());
    refused("a list that begins beyond the end");
    for place in [places.centres, places.reaches, places.scales] {
        spoil(&lists, place as u64, &f32::NAN.to_le_bytes());
        refused("what is no number");
    }
    spoil(&embeddings, 128, &1e9f32.to_le_bytes());
    let index = EmbeddingIndex::open(folder.path()).unwrap();
    assert!(matches!(index.embeddings.verify(), Err(Error::Damaged { .. })));
}

#[test]
fn files_of_a_later_version_say_so() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &drawn(3, 2, 1), 2);
    let path = folder.path().join(EMBEDDINGS_FILE);
    let mut words = [0u64; 16];
    bytemuck::cast_slice_mut(&mut words).copy_from_slice(&bytes(&path)[..128]);
    words[1] = 2;
    words[15] = mapped::extend_checksum(0, &words[..15]);
    spoil(&path, 0, bytemuck::cast_slice(&words));
    assert!(matches!(Embeddings::open(&path), Err(Error::Newer { found: 2, .. })));
}
