//! Grades, and what they are as qrels.

use proptest::prelude::*;

use super::*;
use crate::store::judgments::replace;
use crate::types::Judgment;

fn judgment(query: &str, id: &str, judge: Option<&str>, grade: Option<u8>) -> Judgment {
    let judge = judge.map(str::to_owned);
    Judgment { query: query.into(), id: id.into(), grade, judge }
}

fn exported(store: &Store) -> (String, String, ExportReport) {
    let (mut qrels, mut queries) = (Vec::new(), Vec::new());
    let exported = store.export_qrels(&mut qrels, &mut queries).unwrap();
    (String::from_utf8(qrels).unwrap(), String::from_utf8(queries).unwrap(), exported)
}

#[test]
fn qrels_have_stable_queries_and_medians() {
    let (_folder, store) = fresh();
    let given = [
        ("fresh bread", "d1", None, Some(1)),
        ("fresh bread", "d1", Some("ann"), Some(2)),
        ("old\tnews\n", "d2", Some("ann"), Some(3)),
        ("fresh bread", "d0", Some("ann"), Some(0)),
        ("fresh bread", "d0", Some("bob"), Some(4)),
        ("fresh bread", "d0", Some("cid"), Some(1)),
    ];
    let given = given.map(|(query, id, judge, grade)| judgment(query, id, judge, grade));
    store.judge(given.to_vec()).unwrap();
    // Ids with white space were kept once.
    let kept = judgment("fresh bread", "d 3", None, Some(1));
    store.write(Space::Reserve, move |connection| replace(connection, &kept, 0.0)).unwrap();
    let (qrels, queries, said) = exported(&store);
    assert_eq!(qrels, "q1 0 d0 1\nq1 0 d1 2\nq2 0 d2 3\n");
    assert_eq!(queries, "q1\tfresh bread\nq2\told news\n");
    assert_eq!((said.taken, said.lines, said.left_out), (4, 3, 1));

    // Taken back, all of the first query: the second keeps its id.
    let back: Vec<Judgment> =
        given.iter().map(|one| Judgment { grade: None, ..one.clone() }).collect();
    let back: Vec<Judgment> = back.into_iter().filter(|one| one.query != "old\tnews\n").collect();
    assert_eq!(store.judge(back).unwrap().replaced, 5);
    let (qrels, queries, _) = exported(&store);
    assert_eq!((qrels.as_str(), queries.as_str()), ("q2 0 d2 3\n", "q2\told news\n"));
    store.judge(vec![judgment("fresh bread", "d1", None, Some(0))]).unwrap();
    assert_eq!(exported(&store).0, "q1 0 d1 0\nq2 0 d2 3\n");
}

#[test]
fn judgments_have_limits() {
    let (_folder, store) = fresh();
    for (query, id, judge, grade) in [
        (" ", "d", None, 1),
        ("q", "", None, 1),
        ("q\0", "d", None, 1),
        ("q", "d", Some("a\n"), 1),
        ("q", "d e", None, 1),
        ("q", "d", None, 101),
    ] {
        let bad = store.judge(vec![judgment(query, id, judge, Some(grade))]);
        assert!(matches!(bad, Err(StoreError::Bad(_))), "{query:?} {id:?} {judge:?} {grade}");
    }
    assert!(store.judgments(None).unwrap().is_empty());
    store.judge(vec![judgment(" q\n", "d", None, Some(1))]).unwrap();
    store.judge(vec![judgment("q", "d", None, Some(2))]).unwrap();
    let found = store.judgments(Some("q ")).unwrap();
    assert_eq!(found, [judgment("q", "d", None, Some(2))], "blanks around it make no other query");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn one_grade_of_each_judge_stands(
        given in prop::collection::vec((0u8..3, 0u8..3, 0u8..3, prop::option::of(0u8..5)), 0..40),
    ) {
        let (_folder, store) = fresh();
        let mut model: BTreeMap<(String, String, Option<String>), u8> = BTreeMap::new();
        let mut order: Vec<String> = Vec::new();
        for (query, id, judge, grade) in given {
            let (query, id) = (format!("query {query}"), format!("d{id}"));
            let judge = (judge > 0).then(|| format!("judge {judge}"));
            let key = (query.clone(), id.clone(), judge.clone());
            let before = match grade {
                Some(grade) => model.insert(key, grade),
                None => model.remove(&key),
            };
            if grade.is_some() && !order.contains(&query) {
                order.push(query.clone());
            }
            let written = store.judge(vec![judgment(&query, &id, judge.as_deref(), grade)]).unwrap();
            prop_assert_eq!(written.replaced, usize::from(before.is_some()));
        }
        let found: BTreeMap<_, _> = store.judgments(None).unwrap().into_iter()
            .map(|one| ((one.query, one.id, one.judge), one.grade.unwrap())).collect();
        prop_assert_eq!(&found, &model);
        for query in &order {
            let of_query = store.judgments(Some(query)).unwrap();
            prop_assert_eq!(of_query.len(), model.keys().filter(|key| &key.0 == query).count());
        }
        // Each line of the qrels against all grades of its pair.
        let (qrels, queries, said) = exported(&store);
        let pairs: BTreeSet<_> = model.keys().map(|(query, id, _)| (query, id)).collect();
        prop_assert_eq!(qrels.lines().count(), pairs.len());
        prop_assert_eq!(said.lines, pairs.len());
        for line in queries.lines() {
            let (id, text) = line.split_once('\t').unwrap();
            let place = order.iter().position(|query| query == text).unwrap();
            prop_assert_eq!(id, format!("q{}", place + 1));
        }
        for line in qrels.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            let query = &order[fields[0][1..].parse::<usize>().unwrap() - 1];
            let mut grades: Vec<f64> = model.iter()
                .filter(|((q, id, _), _)| q == query && id == fields[2])
                .map(|(_, grade)| f64::from(*grade)).collect();
            grades.sort_by(f64::total_cmp);
            let n = grades.len();
            let median = if n % 2 == 1 { grades[n / 2] } else { (grades[n / 2 - 1] + grades[n / 2]) / 2.0 };
            prop_assert_eq!(fields[3].parse::<f64>().unwrap(), median.ceil());
        }
    }
}
