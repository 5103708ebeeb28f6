//! Which triples are drawn.

use super::*;
use crate::data::fixture::impressions;

#[test]
fn clicked_and_held_out_documents_are_never_drawn() {
    let counts = counts(&[3, 8]);
    for negative in [Negative::Uniform, Negative::Popularity, Negative::Bm25] {
        let params = Ssi { negative, ..Ssi::default() };
        let draws = Bench::of(&params, &counts).draws;
        let mut bad = [0; 12];
        for number in 0..3000 {
            let drawn = draws.draw(number).unwrap();
            let triple = drawn.triple;
            assert!(!drawn.shown);
            let clicks = counts.clicks.row(triple.query as usize);
            assert!(clicks.get(triple.good) > 0.0 && clicks.get(triple.bad) == 0.0);
            bad[triple.bad as usize] += 1;
        }
        assert_eq!((bad[3], bad[8]), (0, 0));
        assert!(bad.iter().filter(|&&n| n > 0).count() > 5, "{negative:?} {bad:?}");
    }
}

#[test]
fn a_query_for_which_all_was_clicked_has_no_triple() {
    let dir = tempfile::tempdir().unwrap();
    let documents = [
        ("a", serde_json::json!({ "title": "red" })),
        ("b", serde_json::json!({ "title": "blue" })),
    ];
    let clicks = [(0, 0, 1.0), (0, 1, 1.0)];
    let fixture =
        Fixture { documents: &documents, queries: &["red"], clicks: &clicks, held_out: &[] };
    let dataset = fixture.open(&dir.path().join("d"));
    let counts = Counts::of(&dataset, &Preparation::default(), &Run::silent()).unwrap();
    let (_, report) = fitted(&Ssi { epochs: 1, ..small(Form::LowRank) }, &counts).unwrap();
    let FitReport::Steps(report) = report else { unreachable!() };
    assert_eq!(report.steps[0][..2], [0.0, 0.0]);
}

/// Pages of results for query 0 and 1; query 0 was shown documents that it was clicked for
/// elsewhere (3) and one that is held out (8).
fn shown(counts: &mut Counts, dir: &std::path::Path) {
    counts.impressions = impressions(
        dir,
        (6, 12),
        &[
            (0, 3, &[(1, 1, false), (0, 2, true), (3, 3, false), (6, 4, true)]),
            (0, 1, &[(2, 1, false), (8, 2, false), (0, 3, true)]),
            (1, 5, &[(1, 1, true), (5, 2, false)]),
            (5, 2, &[(1, 0, false), (5, 0, true)]),
        ],
    );
}

#[test]
fn pages_of_results_give_negatives_as_often_as_they_were_shown() {
    let (mut counts, dir) = (counts(&[8]), tempfile::tempdir().unwrap());
    shown(&mut counts, dir.path());
    for next in [false, true] {
        let params = Ssi { negative: Negative::Impressions, next, ..Ssi::default() };
        let draws = Bench::of(&params, &counts).draws;
        let mut found = std::collections::BTreeMap::new();
        let mut others = 0;
        for number in 0..20_000 {
            let drawn = draws.draw(number).unwrap();
            let Triple { query, good, bad } = drawn.triple;
            assert!(counts.clicks.row(query as usize).get(good) > 0.0);
            assert!(counts.clicks.row(query as usize).get(bad) == 0.0 && bad != 8);
            if drawn.shown {
                *found.entry((query, good, bad)).or_insert(0u32) += 1;
            } else {
                assert!(query > 1 || !next && query == 1);
                others += 1;
            }
        }
        // Of the three clicked pairs of query 0, 3 and 3 and 1 of 7 pages.
        let of = |pair| f64::from(found.get(&pair).copied().unwrap_or(0));
        let [a, b, c] = [(0, 0, 1), (0, 6, 1), (0, 0, 2)].map(of);
        let all = a + b + c;
        for (part, share) in [(a, 3.0 / 7.0), (b, 3.0 / 7.0), (c, 1.0 / 7.0)] {
            assert!((part / all - share).abs() < 0.03, "{found:?}");
        }
        assert_eq!(found.len(), if next { 4 } else { 3 }, "{found:?}");
        assert_eq!(next, found.contains_key(&(1, 1, 5)));
        let shown: u32 = found.values().sum();
        assert_eq!(shown + others, 20_000);
        let params = Ssi { epochs: 1, steps: 300, dim: 3, ..params };
        let (_, report) = fitted(&params, &counts).unwrap();
        let FitReport::Steps(report) = report else { unreachable!() };
        let pairs =
            if next { "4 preference pairs of 2 queries" } else { "3 preference pairs of 1 " };
        assert!(report.notes.iter().any(|note| note.starts_with(pairs)), "{:?}", report.notes);
        let sources = report.notes.iter().find(|note| note.contains("triples from impressions"));
        let numbers: Vec<u32> =
            sources.unwrap().split(' ').filter_map(|word| word.parse().ok()).collect();
        assert_eq!(numbers.iter().sum::<u32>(), 300, "{:?}", report.notes);
        same_at_any_thread_count(|| scores(&*fitted(&params, &counts).unwrap().0, &counts));
    }
}

#[test]
fn where_pages_do_not_tell_it_is_said_what_to_do() {
    let (mut counts, dir) = (counts(&[]), tempfile::tempdir().unwrap());
    let params = Ssi { negative: Negative::Impressions, ..small(Form::LowRank) };
    let refused = |counts: &Counts| fitted(&params, counts).err().unwrap().to_string();
    let message = refused(&counts);
    assert!(message.contains("no impressions") && message.contains("`events = FILE`"), "{message}");
    counts.impressions =
        impressions(dir.path(), (6, 12), &[(0, 1, &[(1, 0, false), (0, 0, true)])]);
    let message = refused(&counts);
    assert!(message.contains("without ranks") && message.contains("`rank`"), "{message}");
    counts.impressions =
        impressions(dir.path(), (6, 12), &[(0, 1, &[(0, 1, true), (1, 2, false)])]);
    let message = refused(&counts);
    assert!(message.contains("next = true"), "{message}");
}
