use std::collections::{HashMap, HashSet};
use std::fs;

use rust_stemmers::{Algorithm, Stemmer};
use serde_json::Value;

use super::*;
use crate::data::Document;

/// Title and body, stemmed, without stop words.
fn terms(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let stop = stop_words::get("en");
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && !stop.contains(word))
        .map(|word| stemmer.stem(word).into_owned())
        .collect()
}

fn text_of(document: &Document) -> String {
    ["title", "body"].map(|field| document.fields[field].as_str().unwrap()).join(" ")
}

/// Plain BM25 (k1 = 1.2, b = 0.75).
fn bm25(documents: &[Document], queries: &[String]) -> Result<Vec<Vec<u32>>> {
    let mut postings: HashMap<String, HashMap<u32, f64>> = HashMap::new();
    let mut lengths = Vec::new();
    for (number, document) in (0..).zip(documents) {
        let words = terms(&text_of(document));
        lengths.push(words.len() as f64);
        for word in words {
            *postings.entry(word).or_default().entry(number).or_default() += 1.0;
        }
    }
    let n = documents.len() as f64;
    let mean = lengths.iter().sum::<f64>() / n;
    let rank = |query: &String| {
        let mut scores: HashMap<u32, f64> = HashMap::new();
        for list in terms(query).iter().filter_map(|word| postings.get(word)) {
            let df = list.len() as f64;
            let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
            for (&document, &tf) in list {
                let norm = 0.25 + 0.75 * lengths[document as usize] / mean;
                *scores.entry(document).or_default() += idf * tf / (tf + 1.2 * norm);
            }
        }
        let mut ranked: Vec<(u32, f64)> = scores.into_iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked.iter().take(PAGE).map(|&(document, _)| document).collect()
    };
    Ok(queries.iter().map(rank).collect())
}

fn default_log() -> DemoLog {
    Demo::default().build(&bm25, &Run::silent()).unwrap()
}

/// Small enough to build twice, without an engine worth the name.
fn small(seed: u64) -> DemoLog {
    let demo = Demo {
        documents: 1_200,
        queries: 1_500,
        searches: 5_000,
        judged: 400,
        seed,
        ..Demo::default()
    };
    let engine = |_: &[Document], queries: &[String]| {
        Ok((0..queries.len() as u32).map(|q| (q % 100..q % 100 + 10).collect()).collect())
    };
    demo.build(&engine, &Run::silent()).unwrap()
}

#[test]
fn the_log_has_the_sizes_asked_for() {
    let log = default_log();
    let demo = Demo::default();
    assert_eq!(log.documents.len(), demo.documents);
    assert_eq!(log.queries.len(), demo.queries + demo.unseen);
    assert_eq!(log.searches.iter().map(|&n| n as usize).sum::<usize>(), demo.searches);
    assert!(log.searches[demo.queries..].iter().all(|&n| n == 0));
    let distinct: HashSet<&String> = log.queries.iter().collect();
    assert_eq!(distinct.len(), log.queries.len());
    let urls: HashSet<&Value> = log.documents.iter().map(|d| &d.fields["url"]).collect();
    assert_eq!(urls.len(), log.documents.len());
    for concept in log.documents_by_concept() {
        assert!((4..=20).contains(&concept.len()), "{}", concept.len());
    }
}

#[test]
fn queries_mostly_use_the_peoples_words_and_few_are_misspelt() {
    let log = default_log();
    let share = |what: &dyn Fn(&QueryTruth) -> bool| {
        log.query_truths.iter().filter(|truth| what(truth)).count() as f64
            / log.queries.len() as f64
    };
    assert!((0.55..0.8).contains(&share(&|truth| truth.wording == Wording::People)));
    assert!((0.08..0.3).contains(&share(&|truth| truth.wording == Wording::Pages)));
    assert!((0.08..0.3).contains(&share(&|truth| truth.wording == Wording::Both)));
    let misspelt = share(&|truth| truth.misspelt);
    assert!((0.02..0.07).contains(&misspelt), "{misspelt}");
}

#[test]
fn clicks_fall_with_position_and_follow_the_truth() {
    let log = default_log();
    let total: u64 = log.clicks.iter().map(|&(_, _, clicks)| u64::from(clicks)).sum();
    assert_eq!(log.clicks_by_position.iter().sum::<u64>(), total);
    assert!(log.clicks_by_position.is_sorted_by(|a, b| a > b), "{:?}", log.clicks_by_position);
    let mut by_grade = [0u64; 5];
    for &(query, document, clicks) in &log.clicks {
        by_grade[log.grade(query as usize, document as usize) as usize] += u64::from(clicks);
    }
    assert!(by_grade[0] > 0, "some clicks are noise");
    let good = by_grade[2..].iter().sum::<u64>() as f64 / total as f64;
    assert!((0.85..0.99).contains(&good), "{by_grade:?}");
}

#[test]
fn the_click_filter_leaves_a_head_and_takes_much_of_the_tail() {
    let log = default_log();
    let kept: Vec<_> = log.clicks.iter().filter(|&&(_, _, clicks)| clicks > 3).collect();
    let lost = 1.0 - kept.len() as f64 / log.clicks.len() as f64;
    assert!((0.4..0.85).contains(&lost), "{lost}");
    assert!(kept.len() > 5_000, "{}", kept.len());
    let clicks_of = |part: std::ops::Range<u32>| {
        let inside = log.clicks.iter().filter(|(query, ..)| part.contains(query));
        inside.map(|&(_, _, clicks)| u64::from(clicks)).sum::<u64>() / part.len() as u64
    };
    assert!(clicks_of(0..50) > 300, "{}", clicks_of(0..50));
    assert!(clicks_of(2_500..4_000) < 30, "{}", clicks_of(2_500..4_000));
    assert!(log.clicks.iter().any(|&(_, _, clicks)| clicks > 500));
}

#[test]
fn judgments_hold_the_truth_for_seen_and_unseen_queries() {
    let log = default_log();
    let demo = Demo::default();
    let mut pools: HashMap<u32, Vec<u8>> = HashMap::new();
    for &(query, document, grade) in &log.judgments {
        assert_eq!(grade, log.grade(query as usize, document as usize));
        pools.entry(query).or_default().push(grade);
    }
    assert!(log.judgments.is_sorted_by(|a, b| (a.0, a.1) < (b.0, b.1)));
    assert_eq!(pools.len(), demo.judged);
    let unseen = pools.keys().filter(|&&query| query as usize >= demo.queries).count();
    assert_eq!(unseen, demo.judged / 4);
    let mean = log.judgments.len() as f64 / pools.len() as f64;
    assert!((10.0..=20.0).contains(&mean), "{mean}");
    for grade in 0..=4 {
        let share = log.judgments.iter().filter(|judgment| judgment.2 == grade).count() as f64
            / log.judgments.len() as f64;
        assert!((0.05..0.5).contains(&share), "grade {grade}: {share}");
    }
    let answered = pools.values().filter(|grades| grades.contains(&4)).count();
    assert!(answered as f64 > 0.9 * pools.len() as f64, "{answered}");
}

#[test]
fn most_typical_queries_share_no_word_with_most_pages_on_them() {
    let log = default_log();
    let about = log.documents_by_concept();
    let apart = log.query_truths.iter().zip(&log.queries).filter(|(truth, query)| {
        let asked: HashSet<String> = terms(query).into_iter().collect();
        let pages = &about[truth.concept];
        let silent = pages.iter().filter(|&&document| {
            terms(&text_of(&log.documents[document as usize])).iter().all(|t| !asked.contains(t))
        });
        truth.wording == Wording::People && truth.facet == 0 && 2 * silent.count() > pages.len()
    });
    let plain = |truth: &&QueryTruth| truth.wording == Wording::People && truth.facet == 0;
    let plain = log.query_truths.iter().filter(plain).count();
    assert!(apart.count() as f64 > 0.6 * plain as f64);
}

#[test]
fn a_seed_gives_the_same_log_and_the_same_files() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (dir.path().join("one"), dir.path().join("new/two"));
    let log = small(7);
    assert_eq!(log, small(7));
    assert_ne!(log.clicks, small(8).clicks);
    log.write_raw(&one, false).unwrap();
    small(7).write_raw(&two, false).unwrap();
    for name in ["clicks.tsv", "documents.jsonl", "judgments.tsv"] {
        assert_eq!(fs::read(one.join(name)).unwrap(), fs::read(two.join(name)).unwrap());
    }
    let clicks = fs::read_to_string(one.join("clicks.tsv")).unwrap();
    assert!(clicks.starts_with("query\tdoc\tclicks\n"));
    assert!(clicks.lines().all(|line| line.split('\t').count() == 3));
    assert_eq!(clicks.lines().count(), log.clicks.len() + 1);
}

#[test]
fn a_raw_folder_replaces_only_its_like() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("raw");
    let log = small(7);
    log.write_raw(&target, false).unwrap();
    assert!(matches!(log.write_raw(&target, false), Err(Error::Exists { .. })));
    log.write_raw(&target, true).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left behind");
    fs::create_dir(target.join("mine")).unwrap();
    assert!(matches!(log.write_raw(&target, true), Err(Error::Unusable { .. })));
    assert!(target.join("mine").is_dir());
}

#[test]
fn senseless_sizes_are_refused() {
    let build = |demo: Demo| demo.build(&bm25, &Run::silent()).unwrap_err().to_string();
    let none = Demo { documents: 0, ..Demo::default() };
    assert!(build(none).starts_with("documents = 0: expected at least"));
    let many = Demo { judged: 100_000, ..Demo::default() };
    assert!(build(many).starts_with("judged = 100000"));
    let wrong = Demo { misspelt: 2.0, ..Demo::default() };
    assert!(build(wrong).starts_with("misspelt = 2"));
    let endless = Demo { queries: 1_000_000, ..Demo::default() };
    assert!(build(endless).starts_with("queries = 1000400"));
}

#[test]
fn a_cancelled_build_stops() {
    let run = Run::new(&|_| {}, &|| true);
    let log = Demo::default().build(&bm25, &run);
    assert!(matches!(log, Err(Error::Cancelled)));
}

#[test]
fn broad_queries_are_answered_by_facet() {
    let log = small(1);
    let queries = log.broad_queries();
    assert!(queries.len() > log.concepts.concepts.len(), "{}", queries.len());
    let mut facets = 0;
    for &query in &queries {
        let truth = &log.query_truths[query];
        assert_eq!((truth.facet, truth.misspelt), (0, false));
        let mut answered = HashSet::new();
        for document in 0..log.documents.len() {
            let Some((facet, grade)) = log.answer(query, document) else {
                assert_eq!(log.grade(query, document), 0);
                continue;
            };
            assert_eq!(grade > 0, log.grade(query, document) > 1);
            assert_eq!(facet, log.document_truths[document].facet + 1);
            if grade > 0 {
                answered.insert(facet);
            }
        }
        facets += answered.len();
    }
    assert!(facets > 2 * queries.len(), "{facets} {}", queries.len());
    let dir = tempfile::tempdir().unwrap();
    log.write_raw(&dir.path().join("raw"), false).unwrap();
    let read = |name: &str| fs::read_to_string(dir.path().join("raw").join(name)).unwrap();
    assert_eq!(read("facets.tsv").lines().count(), queries.len());
    let of = |name: &str| -> HashSet<String> {
        read(name).lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
    };
    let (train, test) = (of("facets-train.qrels"), of("facets-test.qrels"));
    assert!(train.is_disjoint(&test) && train.len() + test.len() == queries.len());
}
