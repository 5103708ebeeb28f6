//! Another engine's results, re-scored.

use std::collections::HashMap;

use crate::place::Place;
use crate::shared::{at, shared};

const QUERIES: &str = "q1\theart attack\nq2\tcheap flights\n";

fn rows(out: &str) -> Vec<(String, String, f32)> {
    out.lines()
        .map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            (fields[0].into(), fields[2].into(), fields[4].parse().unwrap())
        })
        .collect()
}

fn docs(out: &str, query: &str) -> Vec<String> {
    rows(out).into_iter().filter(|row| row.0 == query).map(|row| row.1).collect()
}

/// A place with the results of BM25 for two queries.
fn place() -> Place {
    let place = Place::with(&[("q.tsv", QUERIES)]);
    place.run(&format!("run {} --queries q.tsv -k 30 -o bm25.trec", at("bm25"))).fine();
    place
}

fn line(model: &str, more: &str) -> String {
    format!("rerank {} bm25.trec --queries q.tsv -o - {more}", at(model))
}

#[test]
fn documents_get_the_models_own_scores() {
    let place = place();
    for model in ["rmls", "mix"] {
        let run = place.run(&format!("run {} --queries q.tsv -k 1000 -o -", at(model))).fine();
        let scores: HashMap<(String, String), f32> =
            rows(&run.out).into_iter().map(|(q, d, score)| ((q, d), score)).collect();
        let said = place.run(&line(model, "")).silent();
        let found = rows(&said.out);
        assert_eq!(found.len(), 60);
        for (query, doc, score) in &found {
            assert_eq!(scores[&(query.clone(), doc.clone())], *score, "{model} {query} {doc}");
        }
        assert!(found.is_sorted_by(|a, b| a.0 < b.0 || a.2 >= b.2));
        for threads in [1, 7] {
            let again = place.run(&line(model, &format!("--threads {threads}"))).silent();
            assert_eq!(again.out, said.out);
        }
    }
    // The model's own results in its own order; the tag is the model's name.
    let engine = std::fs::read_to_string(place.path("bm25.trec")).unwrap();
    assert_eq!(place.run(&line("bm25", "")).silent().out, engine);
}

#[test]
fn a_mix_lies_between_and_depth_leaves_the_rest() {
    let place = place();
    let engine = std::fs::read_to_string(place.path("bm25.trec")).unwrap();
    let of = |more: &str| place.run(&line("rmls", more)).silent().out;
    for query in ["q1", "q2"] {
        assert_eq!(docs(&of("--mix 1"), query), docs(&engine, query));
        assert_ne!(docs(&of(""), query), docs(&engine, query));
        let ten = docs(&of("--depth 10"), query);
        assert_eq!(ten[10..], docs(&engine, query)[10..]);
        let mut first = [ten[..10].to_vec(), docs(&engine, query)[..10].to_vec()];
        first.iter_mut().for_each(|docs| docs.sort());
        assert_eq!(first[0], first[1]);
    }
    let mixed = of("--mix 0.5");
    assert_ne!(mixed, of("--mix 0.5 --normalise min-max"));
    assert!(mixed != of("") && mixed.ends_with(" rmls\n"), "{mixed}");
    for more in ["--mix 2", "--mix=-0.1", "--mix NaN"] {
        place.run(&line("rmls", more)).refused(2, &["--mix", "from 0 to 1"]);
    }
    let said = place.run(&line("rmls", "--mix 0.5 --normalise max"));
    said.refused(2, &["--normalise max", "may be negative"]);
}

#[test]
fn texts_of_queries_come_from_a_dataset_or_from_the_model() {
    let place = Place::new();
    let dataset = shared().dataset("data");
    let query = dataset.queries.get(0).unwrap();
    place.file("run.trec", format!("{} Q0 d0001 1 2 e\n{} Q0 d0002 2 1 e\n", query.id, query.id));
    let own = place.run(&format!("rerank {} run.trec -o -", at("mix"))).silent().out;
    let given = format!("rerank {} run.trec --dataset {} -o -", at("mix"), at("data"));
    assert_eq!(place.run(&given).silent().out, own);
    place.file("q.tsv", format!("{}\t{}\n", query.id, query.text));
    let file = format!("rerank {} run.trec --queries q.tsv -o -", at("mix"));
    assert_eq!(place.run(&file).silent().out, own);
    place.run(&format!("{file} --dataset {}", at("data"))).refused(2, &["--dataset", "--queries"]);
}

#[test]
fn what_is_not_known_keeps_its_order_and_is_told() {
    let place = Place::with(&[
        ("q.tsv", "q1\theart attack\nq3\tthe\n"),
        (
            "bm25.trec",
            "q1 Q0 x2 1 9 e\nq1 Q0 d0001 2 8 e\nq1 Q0 x1 3 7 e\nq1 Q0 d0002 4 6 e\n\
             q2 Q0 d0001 1 5 e\nq2 Q0 d0002 2 4.5 e\nq3 Q0 d0003 1 1 e\n",
        ),
    ]);
    let said = place.run(&line("mix", "")).fine();
    for words in [
        "1 of 3 queries has no text and keeps the engine's order: q2",
        "1 of 3 queries analyses to nothing and keeps the engine's order: \"the\"",
        "does not know 2 documents (2 results), which keep the engine's order below: x1, x2",
        "--documents FILE",
    ] {
        assert!(said.err.contains(words), "{}", said.err);
    }
    assert_eq!(docs(&said.out, "q1")[2..], ["x2", "x1"]);
    assert!(said.out.contains("q2 Q0 d0001 1 5.0 rmls+bm25\nq2 Q0 d0002 2 4.5 "), "{}", said.out);
    assert!(rows(&said.out).is_sorted_by(|a, b| a.0 < b.0 || a.2 >= b.2), "{}", said.out);
}

#[test]
fn new_documents_are_scored_by_their_words() {
    // A copy of a document under another name: BM25 cannot tell them apart.
    let original = shared().dataset("data").documents.get(0).unwrap();
    let mut copy = serde_json::json!(original.fields);
    copy["_id"] = "copy".into();
    let title = original.fields["title"].as_str().unwrap();
    let place = Place::with(&[
        ("q.tsv", &format!("q1\t{title}\n")),
        ("new.jsonl", &format!("{copy}\n\n{{\"id\": 7, \"title\": \"not asked for\"}}\n")),
        ("bm25.trec", &format!("q1 Q0 {} 1 9 e\nq1 Q0 copy 2 8 e\n", original.id)),
    ]);
    let said = place.run(&line("bm25", "--documents new.jsonl")).silent();
    let found = rows(&said.out);
    assert!(found[0].2 == found[1].2 && found[0].2 > 0.0, "{}", said.out);
    let said = place.run(&line("mix", "--documents new.jsonl")).silent();
    let alone = place.run(&line("mix", "")).fine();
    let score = |out: &str| rows(out).into_iter().find(|row| row.1 == original.id).unwrap().2;
    assert_eq!(score(&said.out), score(&alone.out));
    let known = format!("{{\"id\": \"{}\", \"title\": \"other\"}}\n", original.id);
    place.file("new.jsonl", format!("{copy}\n{known}"));
    let said = place.run(&line("mix", "--documents new.jsonl")).fine();
    let words = "new.jsonl: 1 document was in the training data, whose text is used: ";
    assert!(said.err.contains(words), "{}", said.err);
    assert_eq!(score(&said.out), score(&alone.out));
    place.file("new.jsonl", format!("{copy}\n\n{copy}\n"));
    let said = place.run(&line("mix", "--documents new.jsonl"));
    said.refused(1, &["new.jsonl:3", "each document once", "as in line 1"]);
    for (text, words) in [
        ("[1]\n", ["new.jsonl:1", "a JSON object"]),
        ("{\"title\": \"x\"}\n", ["new.jsonl:1", "an id"]),
    ] {
        place.file("new.jsonl", text);
        place.run(&line("bm25", "--documents new.jsonl")).refused(1, &words);
    }
}

#[test]
fn flags_are_those_of_eval_and_fuse() {
    let place = place();
    let engine = std::fs::read_to_string(place.path("bm25.trec")).unwrap();
    let said = place.ask(&line("rmls", "--tag"), &["a b"]);
    said.refused(2, &["--tag \"a b\"", "without white space"]);
    let twice = format!("rerank {} - --queries - -o -", at("rmls"));
    place.run(&twice).refused(2, &["only once"]);
    let expected = place.run(&line("rmls", "")).silent().out;
    place.file("bm25.trec", format!("{engine}hm\n"));
    place.run(&line("rmls", "")).refused(1, &["bm25.trec:61", "--lenient"]);
    let said = place.run(&line("rmls", "--lenient")).fine();
    assert!(said.err.contains("1 line skipped: fewer than six fields"), "{}", said.err);
    assert_eq!(said.out, expected);
}
