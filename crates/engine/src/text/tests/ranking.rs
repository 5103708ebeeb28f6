//! Candidates against scores computed one by one.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

#[test]
fn phrases_stand_side_by_side_with_free_places_for_stop_words() {
    let dir = tempfile::tempdir().unwrap();
    let index = TextIndex::create(dir.path()).unwrap();
    let mut writer = index.writer().unwrap();
    for (no, text) in [
        "distance - - sun",
        "distance sun",
        "sun - - distance",
        "x distance y z sun",
        "distance - | - sun",
        "distance | sun",
        "a b a b c",
        "sun",
    ]
    .iter()
    .enumerate()
    {
        writer.add(no as u32, &tokens(text), &Map::new()).unwrap();
    }
    writer.commit(1).unwrap();
    let snapshot = index.snapshot();
    let search = |terms: &[(usize, &str)]| found(&snapshot, &phrase(terms));
    assert_eq!(search(&[(0, "distance"), (3, "sun")]), [0, 3]);
    assert_eq!(search(&[(5, "distance"), (8, "sun")]), [0, 3], "only differences count");
    assert_eq!(search(&[(0, "distance"), (1, "sun")]), [1]);
    assert_eq!(search(&[(0, "a"), (1, "b"), (2, "c")]), [6]);
    assert_eq!(search(&[(0, "c"), (1, "b")]), [0; 0]);
    assert_eq!(search(&[(2, "sun")]), [0, 1, 2, 3, 4, 5, 7], "one word");
    assert_eq!(search(&[(0, "sun"), (1, "unknown")]), [0; 0]);
    assert_eq!(search(&[]), [0; 0]);
    // Phrases of hundreds of words do not reach into the next text.
    let far = tokens::APART;
    assert_eq!(search(&[(0, "distance"), (far + 1, "sun")]), search(&[(0, "distance")]));
    // Further words raise scores; the phrase must be there.
    let mut both = phrase(&[(0, "distance"), (3, "sun")]);
    both.terms = vec!["x".into(), "a".into()];
    let scored = best_first(snapshot.candidates(&both, 10, None, None).unwrap());
    assert_eq!(scored.iter().map(|c| c.0).collect::<Vec<_>>(), [3, 0]);
    both.phrases.push(vec![(0, "y".into()), (1, "z".into())]);
    assert_eq!(found(&snapshot, &both), [3]);
}

/// BM25 with exact lengths and the statistics of all documents, deleted ones included.
fn bm25(documents: &[Vec<u8>], query: &[u8]) -> Vec<f64> {
    let n = documents.len() as f64;
    let average = documents.iter().map(Vec::len).sum::<usize>() as f64 / n;
    let score = |document: &Vec<u8>| {
        let of_word = |word: &u8| {
            let with = documents.iter().filter(|d| d.contains(word)).count() as f64;
            let times = document.iter().filter(|w| *w == word).count() as f64;
            let idf = (1.0 + (n - with + 0.5) / (with + 0.5)).ln();
            let norm = 1.2 * (0.25 + 0.75 * document.len() as f64 / average);
            idf * 2.2 * times / (times + norm)
        };
        query.iter().map(of_word).sum()
    };
    documents.iter().map(score).collect()
}

fn word(number: u8) -> String {
    format!("w{number}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Lengths up to 40 words are exact in tantivy's norms, so are scores up to rounding.
    #[test]
    fn candidates_are_the_best_by_bm25(
        documents in prop::collection::vec(prop::collection::vec(0u8..12, 1..30), 1..60),
        query in prop::collection::vec(0u8..14, 0..6),
        depth in 0usize..20,
        cuts in prop::collection::vec(0usize..60, 0..4),
        removed in prop::collection::vec(0usize..60, 0..8),
        dead in prop::collection::vec(0usize..60, 0..8),
        modulus in 1u32..30,
        filtered: bool,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let index = TextIndex::create(dir.path()).unwrap();
        // No merges: they would drop the removed documents from the statistics at their own pace.
        let mut writer = index.batch_writer(1).unwrap();
        for (no, document) in documents.iter().enumerate() {
            let text: Vec<_> = document.iter().map(|&w| word(w)).collect();
            let fields = map(json!({"m": no as u32 % modulus}));
            writer.add(no as u32, &tokens(&text.join(" ")), &fields).unwrap();
            if cuts.contains(&no) {
                writer.commit(1).unwrap();
            }
        }
        writer.commit(2).unwrap();
        removed.iter().for_each(|&no| writer.remove(no as u32));
        writer.commit(3).unwrap();
        let snapshot = index.snapshot();
        prop_assume!(snapshot.documents() + removed.len() >= documents.len());

        let is_dead = |no: u32| dead.contains(&(no as usize));
        let filter = filter(json!({"m": 0}));
        let text = TextQuery { terms: query.iter().map(|&w| word(w)).collect(), phrases: vec![] };
        let got = snapshot
            .candidates(&text, depth, filtered.then_some(&filter), Some(&is_dead))
            .unwrap();
        let got = best_first(got);
        let scores = bm25(&documents, &query);
        let allowed = |no: usize| {
            scores[no] > 0.0
                && !removed.contains(&no)
                && !dead.contains(&no)
                && (!filtered || (no as u32).is_multiple_of(modulus))
        };
        let mut expected: Vec<usize> = (0..documents.len()).filter(|&no| allowed(no)).collect();
        expected.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        prop_assert_eq!(got.len(), expected.len().min(depth));
        let mut seen = HashMap::new();
        for (&(no, score), &place) in got.iter().zip(&expected) {
            prop_assert!(allowed(no as usize), "{} is not allowed", no);
            prop_assert!(seen.insert(no, ()).is_none(), "{} twice", no);
            // The same score as the one that belongs here, whichever of equal ones it is. A segment
            // that only held removed documents may be gone with its share in the statistics.
            if removed.is_empty() {
                prop_assert!((f64::from(score) - scores[place]).abs() < 1e-4);
                prop_assert!((f64::from(score) - scores[no as usize]).abs() < 1e-4);
            }
        }
    }
}

#[test]
fn few_allowed_documents_are_found_among_many() {
    let dir = tempfile::tempdir().unwrap();
    let index = TextIndex::create(dir.path()).unwrap();
    let mut writer = index.batch_writer(1).unwrap();
    for no in 0..20_000u32 {
        let text =
            format!("a {} {}", if no % 2 == 0 { "b" } else { "c" }, "d ".repeat(no as usize % 7));
        writer.add(no, &tokens(&text), &map(json!({"rare": no % 4_000, "half": no % 2}))).unwrap();
    }
    writer.finish(1).unwrap();
    let snapshot = index.snapshot();
    let query = words(&["a", "b", "d", "b"]);
    let all = best_first(snapshot.candidates(&query, 20_000, None, None).unwrap());
    assert_eq!(all.len(), 20_000);
    // Once looking documents up, once reading lists: the same scores as without a filter.
    for (said, keeps) in [
        (json!({"rare": 17}), Box::new(|no: u32| no % 4_000 == 17) as Box<dyn Fn(u32) -> bool>),
        (json!({"half": 0}), Box::new(|no: u32| no.is_multiple_of(2))),
    ] {
        for depth in [3, 30_000] {
            let got =
                snapshot.candidates(&query, depth, Some(&filter(said.clone())), None).unwrap();
            let got = best_first(got);
            let kept: Vec<_> = all.iter().copied().filter(|c| keeps(c.0)).collect();
            assert_eq!(got.len(), kept.len().min(depth));
            for (got, kept) in got.iter().zip(&kept) {
                assert!((got.1 - kept.1).abs() < 1e-5 && keeps(got.0));
            }
        }
    }
}

#[test]
fn long_queries_are_answered_by_their_rarest_words() {
    let dir = tempfile::tempdir().unwrap();
    let index = TextIndex::create(dir.path()).unwrap();
    let mut writer = index.writer().unwrap();
    for no in 0..200u32 {
        writer.add(no, &tokens(&format!("common w{no}")), &Map::new()).unwrap();
    }
    writer.add(200, &tokens("common"), &Map::new()).unwrap();
    writer.commit(1).unwrap();
    let mut terms: Vec<String> = (0..1000).map(|n| format!("w{n}")).collect();
    terms.push("common".into());
    let query = TextQuery { terms, phrases: Vec::new() };
    let got = index.snapshot().candidates(&query, 1000, None, None).unwrap();
    assert_eq!(got.len(), 128);
    assert!(got.iter().all(|c| c.0 != 200));
}
