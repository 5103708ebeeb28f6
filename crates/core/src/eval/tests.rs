//! The measures against trec_eval's own test suite, to the last printed digit.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::{Gain, Measure, Variant};
use crate::data::fixture::real_data;
use crate::ranking::{Hit, tie_rank, top_k};
use crate::sparse::Row;

/// Values by query and second key, in the order of the queries.
type Table<V> = BTreeMap<String, BTreeMap<String, V>>;

/// MeasureColumn `value` of a file in columns, by the columns `query` and `key`.
fn table<V: std::str::FromStr>(path: &Path, [query, key, value]: [usize; 3]) -> Table<V> {
    let mut table: Table<V> = BTreeMap::new();
    for line in fs::read_to_string(path).unwrap().lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // Files of expected values also hold names and counts, which nobody asks for.
        if let Ok(value) = fields[value].parse() {
            table
                .entry(fields[query].to_owned())
                .or_default()
                .insert(fields[key].to_owned(), value);
        }
    }
    table
}

struct Judged {
    hits: Vec<Hit>,
    docs: Vec<u32>,
    grades: Vec<f32>,
}

/// Ranks the documents of a run's query among themselves and numbers the judged ones.
fn judged(grades: &BTreeMap<String, f32>, run: Option<&BTreeMap<String, f32>>) -> Judged {
    let scored = run.into_iter().flatten();
    let mut ids: Vec<String> =
        scored.map(|(id, _)| id.clone()).chain(grades.keys().cloned()).collect();
    ids.sort_unstable();
    ids.dedup();
    let score = |id: &String| run.and_then(|run| run.get(id)).copied();
    let scores: Vec<f32> = ids.iter().map(|id| score(id).unwrap_or(f32::INFINITY)).collect();
    let numbered = || (0u32..).zip(&ids);
    let absent: Vec<u32> =
        numbered().filter(|(_, id)| score(id).is_none()).map(|(doc, _)| doc).collect();
    let (docs, grades) = numbered().filter_map(|(doc, id)| Some((doc, *grades.get(id)?))).unzip();
    Judged { hits: top_k(&scores, usize::MAX, &tie_rank(&ids), &absent), docs, grades }
}

/// Compares every measure we know in `expected` with ours: per query where it has queries,
/// and the mean. Queries without a run count, as under `-c`; `n_measures` must be found.
fn compare(
    qrels: &str,
    run: &str,
    expected: &str,
    n_measures: usize,
    relevant_from: f32,
    depth: usize,
) {
    let Some(folder) = real_data("trec_eval") else { return };
    let qrels: Table<f32> = table(&folder.join(qrels), [0, 2, 3]);
    let run: Table<f32> = table(&folder.join(run), [0, 2, 4]);
    let expected: Table<String> = table(&folder.join(expected), [1, 0, 2]);
    let variant = Variant { gain: Gain::Linear, relevant_from, ..Variant::default() };
    let queries: BTreeMap<&str, Judged> = qrels
        .iter()
        .map(|(query, grades)| (query.as_str(), judged(grades, run.get(query))))
        .collect();
    let of = |measure: Measure, query: &Judged| {
        let judged = Row { indices: &query.docs, values: &query.grades };
        measure.of(&query.hits[..query.hits.len().min(depth)], judged, &variant).unwrap()
    };
    let mut compared = 0;
    for (query, values) in &expected {
        for (name, value) in values {
            let Ok(measure) = name.parse::<Measure>() else { continue };
            let ours = match queries.get(query.as_str()) {
                Some(judged) => of(measure, judged),
                None => {
                    queries.values().map(|q| of(measure, q)).sum::<f64>() / queries.len() as f64
                }
            };
            assert_eq!(format!("{ours:.4}"), *value, "{name} of query {query}");
            compared += 1;
        }
    }
    assert_eq!(compared, n_measures * expected.len());
}

/// What the default files hold of ours: map, recip_rank, Rprec, nine cuts of P.
const DEFAULT: usize = 12;
/// What `-m all_trec` adds: nine cuts of map, of recall and of ndcg, ndcg itself, and success at
/// 1, 5 and 10.
const ALL: usize = DEFAULT + 31;

#[test]
fn measures_print_as_trec_eval_prints_them() {
    compare("qrels.test", "results.test", "out.test", DEFAULT, 1.0, usize::MAX);
    compare("qrels.test", "results.test", "out.test.a", ALL, 1.0, usize::MAX);
    compare("qrels.test", "results.test", "out.test.aq", ALL, 1.0, usize::MAX);
}

#[test]
fn grades_from_two_on_are_relevant_as_in_trec_eval_l2() {
    compare("qrels.rel_level", "results.test", "out.test.aql", ALL, 2.0, usize::MAX);
}

#[test]
fn missing_queries_and_short_runs_print_as_in_trec_eval_c() {
    compare("qrels.test", "results.trunc", "out.test.aqc", ALL, 1.0, usize::MAX);
    compare("qrels.test", "results.trunc", "out.test.aqcM", ALL, 1.0, 100);
}
