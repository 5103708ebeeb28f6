//! Which features words become.

use super::*;
use crate::text::AnalyzerParams;

fn counts_of(texts: &[&str], preparation: &Preparation) -> Counts {
    let dir = tempfile::tempdir().unwrap();
    let ids: Vec<String> = (0..texts.len()).map(|i| format!("d{i}")).collect();
    let documents: Vec<_> = texts
        .iter()
        .zip(&ids)
        .map(|(text, id)| (id.as_str(), serde_json::json!({ "title": text })))
        .collect();
    let clicks = [(0, 3, 1.0)];
    let fixture =
        Fixture { documents: &documents, queries: &["crab"], clicks: &clicks, held_out: &[] };
    Counts::of(&fixture.open(&dir.path().join("d")), preparation, &Run::silent()).unwrap()
}

const TEXTS: [&str; 5] =
    ["tensor manifold riemann", "manifold tensor", "tensor manifold", "crab shell", "crab sea"];

fn bins_of(counts: &Counts, params: &Ssi) -> Vec<Bins> {
    Bins::of(params, counts, &Run::silent()).unwrap()
}

/// What becomes of the term `term` in a place.
fn of(counts: &Counts, bins: &Bins, place: usize, term: &str) -> Vec<(String, f32)> {
    let row = bins.to[place].row(counts.vocabulary.id(term).unwrap() as usize);
    let name = |f: u32| counts.vocabulary.term(bins.word(f as usize)).to_owned();
    let mut found: Vec<_> = row.iter().map(|(f, share)| (name(f), share)).collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn owned(pairs: &[(&str, f32)]) -> Vec<(String, f32)> {
    pairs.iter().map(|&(word, share)| (word.to_owned(), share)).collect()
}

#[test]
fn words_become_those_they_occur_with_most() {
    let counts = counts_of(&TEXTS, &Preparation::default());
    let id = |word: &str| counts.read_query(word).indices[0];
    let term = |word: &str| counts.vocabulary.term(id(word)).to_owned();
    let (tensor, manifold, crab) = (term("tensor"), term("manifold"), term("crab"));
    let with = |bins| bins_of(&counts, &Ssi { frequent: 3, bins, ..Ssi::default() });
    // The three most frequent: tensor and manifold in three documents, crab in two.
    let mut frequent = vec![id("tensor"), id("manifold"), id("crab")];
    frequent.sort_unstable();
    assert_eq!(with(0)[0].words, frequent);
    assert_eq!(of(&counts, &with(0)[0], 0, &term("riemann")), []);
    let one = with(1);
    for word in [&tensor, &manifold, &crab] {
        assert_eq!(of(&counts, &one[0], 0, word), owned(&[(word, 1.0)]));
    }
    assert_eq!(of(&counts, &one[0], 0, &term("shell")), owned(&[(&crab, 1.0)]));
    let both = owned(&[(&manifold, 0.5), (&tensor, 0.5)]);
    assert_eq!(of(&counts, &with(2)[0], 0, &term("riemann")), both);
}

#[test]
fn exact_bins_have_a_place_each_and_rare_words_a_view() {
    let counts = counts_of(&TEXTS, &Preparation::default());
    let term = |word: &str| counts.vocabulary.term(counts.read_query(word).indices[0]).to_owned();
    let params = Ssi { frequent: 3, bins: 2, exact: true, ..Ssi::default() };
    let bins = bins_of(&counts, &params);
    assert_eq!((bins.len(), bins[0].places()), (1, 2));
    let (tensor, manifold, crab) = (term("tensor"), term("manifold"), term("crab"));
    let half = 0.5f32.sqrt();
    // A word is its own first; the two always occur together.
    assert_eq!(of(&counts, &bins[0], 0, &tensor), owned(&[(&tensor, half)]));
    assert_eq!(of(&counts, &bins[0], 1, &tensor), owned(&[(&manifold, half)]));
    // Fewer bins where it occurs with fewer.
    assert_eq!(of(&counts, &bins[0], 0, &term("shell")), owned(&[(&crab, 1.0)]));
    assert_eq!(of(&counts, &bins[0], 1, &term("shell")), []);
    let mixed = bins_of(&counts, &Ssi { rare: true, ..params });
    assert_eq!((mixed.len(), mixed[0].places(), mixed[1].places()), (2, 1, 2));
    assert_eq!(of(&counts, &mixed[0], 0, &tensor), owned(&[(&tensor, 1.0)]));
    assert_eq!(of(&counts, &mixed[0], 0, &term("riemann")), []);
    assert_eq!(of(&counts, &mixed[1], 0, &tensor), []);
    assert_eq!(of(&counts, &mixed[1], 0, &term("shell")), owned(&[(&crab, 1.0)]));
}

#[test]
fn two_grams_become_the_words_they_occur_with_most() {
    let analyzer = AnalyzerParams { word_ngrams: 2, ..AnalyzerParams::default() };
    let preparation = Preparation { analyzer, ..Preparation::default() };
    let texts = [
        "pearl harbor battleship",
        "pearl harbor battleship",
        "battleship",
        "pearl oyster",
        "crab oyster",
    ];
    let counts = counts_of(&texts, &preparation);
    let term = |word: &str| counts.vocabulary.term(counts.read_query(word).indices[0]).to_owned();
    let gram = format!("{} {}", term("pearl"), term("harbor"));
    assert!(counts.vocabulary.id(&gram).is_some());
    for n in [2, 3, 5] {
        let bins = bins_of(&counts, &Ssi { frequent: n, bins: 2, ..Ssi::default() });
        // No 2-gram is a bin, though it is as frequent as some of the words.
        let words = &bins[0].words;
        assert!(words.iter().all(|&word| !counts.vocabulary.term(word).contains(' ')));
    }
    // In 3 documents each: pearl and battleship; harbor and oyster in 2. DICE of the 2-gram with
    // harbor 1, with pearl and battleship 4/5, with oyster 0.
    let bins = bins_of(&counts, &Ssi { frequent: 4, bins: 3, ..Ssi::default() });
    let third = 1.0 / 3.0;
    let mut expected =
        owned(&[(&term("harbor"), third), (&term("pearl"), third), (&term("battleship"), third)]);
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(of(&counts, &bins[0], 0, &gram), expected);
}

#[test]
fn a_view_is_the_vectors_times_the_bins() {
    let counts = counts(&[]);
    let params = Ssi { frequent: 5, bins: 2, exact: true, ..Ssi::default() };
    let bench = Bench::of(&params, &counts);
    let bins = bins_of(&counts, &params);
    let featurizer = Featurizer::new(&counts, &Features::words()).unwrap();
    let y = Naive::of(&featurizer.docs(&counts).unwrap());
    for place in 0..2 {
        let expected = y.times(&Naive::of(&bins[0].to[place]));
        for doc in 0..12 {
            let triple = Triple { query: 0, good: doc, bad: 0 };
            let [_, row, _] = bench.data.rows(0, triple, place);
            for f in 0..5 {
                let found = f64::from(row.get(f as u32));
                assert!((found - expected.get(doc as usize, f)).abs() < 1e-6);
            }
        }
    }
}
