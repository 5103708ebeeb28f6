use std::collections::BTreeSet;

use super::*;

/// Fifty queries with two documents each, a hundred documents with one query each, added in
/// the order of `queries`.
fn source(queries: impl Iterator<Item = u32>) -> (Queries, Interner, Vec<Edge>) {
    let (mut known, mut documents, mut edges) =
        (Queries::default(), Interner::default(), Vec::new());
    for i in queries {
        let query = known.find(&format!("query {i}")).unwrap();
        for j in [2 * i, 2 * i + 1] {
            let doc = documents.add(&format!("d{j}")).unwrap();
            edges.push(Edge { query, doc, weight: 5.0, linked: false });
        }
    }
    edges.sort_by_key(|edge| (edge.query, edge.doc));
    (known, documents, edges)
}

fn split(by: SplitBy) -> Split {
    Split { by, seed: 3, shares: (0.1, 0.2) }
}

type Named = BTreeSet<(String, String)>;

/// The named pairs in training, validation and test.
fn divide(split: Split, order: impl Iterator<Item = u32>, judged: &[(u32, u32)]) -> [Named; 3] {
    let (queries, documents, edges) = source(order);
    let judgments: Vec<Judgment> = judged
        .iter()
        .map(|(query, doc)| Judgment {
            query: queries.names.get(&format!("query {query}")).unwrap(),
            doc: documents.get(&format!("d{doc}")).unwrap(),
            grade: 2.0,
            part: None,
        })
        .collect();
    let given = vec![(Train, edges)];
    let divided = split.divide(given, &judgments, &queries, &documents);
    let name = |query: u32, doc: u32| {
        (queries.names.name(query).to_owned(), documents.name(doc).to_owned())
    };
    [
        divided.train.iter().map(|e| name(e.query, e.doc)).collect(),
        divided.validation.iter().map(|p| name(p.0, p.1)).collect(),
        divided.test.iter().map(|p| name(p.0, p.1)).collect(),
    ]
}

#[test]
fn the_order_of_the_lines_does_not_change_the_deal() {
    for by in [SplitBy::Queries, SplitBy::Edges, SplitBy::Documents] {
        let forwards = divide(split(by), 0..50, &[]);
        assert_eq!(forwards, divide(split(by), (0..50).rev(), &[]), "{by:?}");
        let other_seed = Split { seed: 4, ..split(by) };
        assert_ne!(forwards, divide(other_seed, 0..50, &[]), "{by:?}");
    }
}

#[test]
fn parts_have_the_sizes_asked_for() {
    let sizes = |by| divide(split(by), 0..50, &[]).map(|part| part.len());
    assert_eq!(sizes(SplitBy::Queries), [70, 10, 20]);
    assert_eq!(sizes(SplitBy::Edges), [70, 10, 20]);
    assert_eq!(sizes(SplitBy::Documents), [70, 10, 20]);
}

#[test]
fn a_held_out_query_has_nothing_in_training() {
    let [train, validation, test] = divide(split(SplitBy::Queries), 0..50, &[]);
    let queries = |part: &Named| part.iter().map(|(q, _)| q.clone()).collect::<BTreeSet<_>>();
    assert!(queries(&train).is_disjoint(&queries(&validation)));
    assert!(queries(&train).is_disjoint(&queries(&test)));
    assert!(queries(&validation).is_disjoint(&queries(&test)));
}

#[test]
fn a_held_out_pair_leaves_its_query_one_in_training() {
    let greedy = Split { shares: (0.4, 0.4), ..split(SplitBy::Edges) };
    let [train, ..] = divide(greedy, 0..50, &[]);
    let queries: BTreeSet<_> = train.iter().map(|(query, _)| query).collect();
    assert_eq!(queries.len(), 50);
}

#[test]
fn held_out_documents_are_listed() {
    let (queries, documents, edges) = source(0..50);
    let given = vec![(Train, edges)];
    let divided = split(SplitBy::Documents).divide(given, &[], &queries, &documents);
    assert_eq!(divided.held_out_documents.len(), 30);
    assert!(divided.held_out_documents.is_sorted());
    let held_out = |edge: &Edge| divided.held_out_documents.contains(&edge.doc);
    assert!(!divided.train.iter().any(held_out));
}

#[test]
fn judged_queries_are_dealt_in_halves_and_all_clicks_are_training() {
    let judged: Vec<(u32, u32)> = (0..11).map(|i| (i, 2 * i)).collect();
    let halves = Split { by: SplitBy::Judgments, seed: 0, shares: (0.5, 0.5) };
    let [train, validation, test] = divide(halves, 0..50, &judged);
    assert_eq!((train.len(), validation.len(), test.len()), (100, 6, 5));
}

#[test]
fn judgments_take_the_place_of_held_out_clicks() {
    let judged: Vec<(u32, u32)> = (0..50).map(|i| (i, 99 - i)).collect();
    for by in [SplitBy::Queries, SplitBy::Documents] {
        let (queries, documents, edges) = source(0..50);
        let judgments: Vec<Judgment> = judged
            .iter()
            .map(|&(query, doc)| Judgment { query, doc, grade: 3.0, part: None })
            .collect();
        let given = vec![(Train, edges)];
        let divided = split(by).divide(given, &judgments, &queries, &documents);
        assert_eq!(divided.evidence, RelevanceSource::Judgments);
        assert!(divided.validation.iter().chain(&divided.test).all(|pair| pair.2 == 3.0));
        assert_eq!(divided.dropped[0].count, 30);
        let used = divided.validation.len() + divided.test.len();
        assert_eq!(divided.dropped[1].count as usize + used, 50);
    }
}

#[test]
fn what_is_given_is_obeyed_and_the_rest_follows_its_query() {
    let (queries, documents, mut edges) = source(0..50);
    let test = edges.split_off(90);
    let validation = edges.split_off(80);
    let judge = |query, part| Judgment { query, doc: 0, grade: 1.0, part };
    let judgments = [
        judge(3, Some(Validation)),
        judge(41, None),
        judge(46, None),
        judge(7, None),
        judge(8, None),
    ];
    let given = vec![(Train, edges), (Validation, validation), (Test, test)];
    let halves = Split { by: SplitBy::Given, seed: 0, shares: (0.5, 0.5) };
    let divided = halves.divide(given, &judgments, &queries, &documents);
    assert_eq!(divided.train.len(), 80);
    let queries = |pairs: &[(u32, u32, f32)]| pairs.iter().map(|p| p.0).collect::<Vec<_>>();
    let (validation, test) = (queries(&divided.validation), queries(&divided.test));
    assert!(validation.contains(&3) && validation.contains(&41) && test.contains(&46));
    assert_eq!((validation.len(), test.len()), (3, 2));
    assert_eq!(divided.notes.len(), 1);
}

#[test]
fn parts_are_named_as_people_name_them() {
    assert_eq!(SplitName::parse(" Dev "), Some(Validation));
    assert_eq!(SplitName::parse("TEST"), Some(Test));
    assert_eq!(SplitName::parse("training"), Some(Train));
    assert_eq!(SplitName::parse("holdout"), None);
}
