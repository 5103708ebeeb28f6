//! The square loss at rank d and without a bottleneck, from training to export.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::place::Place;
use crate::shared::at;

/// The hits of a search, best first: id, score, class.
fn hits(place: &Place, model: &str, query: &str) -> Vec<(String, f64, String)> {
    let found = place.ask(&format!("search {model} -k 5 --format json"), &[query]).fine().json();
    let hit = |hit: &Value| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&hit["id"]), hit["score"].as_f64().unwrap(), text(&hit["document"]["class"]))
    };
    let hits: Vec<_> = found["hits"].as_array().unwrap().iter().map(hit).collect();
    assert_eq!(hits.len(), 5);
    assert!(hits.is_sorted_by(|a, b| a.1 >= b.1), "{hits:?}");
    hits
}

#[test]
fn ridge_goes_the_whole_way() {
    let place = Place::new();
    let data = at("data");
    let said = place.run(&format!("train ridge {data} -o ridge")).fine();
    said.shows(&["ridge: ", " weights (", " query features to ", "% of the squared weights"]);
    let found = hits(&place, "ridge", "flight");
    assert!(found[0].1 > 0.0 && found.iter().all(|hit| hit.2 == "Travel"), "{found:?}");
    for (doc, score, _) in &found {
        let line = format!("explain ridge --query flight --format json --doc {doc}");
        let why = place.run(&line).fine().json();
        assert_eq!(why["score"].as_f64(), Some(*score));
        let lines = why["parts"][0]["contributions"].as_array().unwrap();
        assert!(lines.iter().any(|line| line["query"] == "flight"), "{why}");
    }
    // It has no space in which anything lies near anything.
    place.run("similar ridge --word flight").refused(1, &["no latent space", "rmls, pls"]);
    place.run("export ridge --vectors npy -o x").refused(1, &["no vectors", "rmls, pls"]);
    place.run("export ridge --synonyms solr -o x").refused(1, &["no synonyms", "rmls, pls"]);
    assert_eq!(place.names(), ["ridge"]);
}

/// The rows of a .npy file of 32-bit numbers with `dim` columns.
fn rows(bytes: &[u8], dim: usize) -> Vec<Vec<f64>> {
    let head = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let numbers = bytes[head..].chunks(4).map(|four| f32::from_le_bytes(four.try_into().unwrap()));
    let numbers: Vec<f64> = numbers.map(f64::from).collect();
    numbers.chunks(dim).map(<[f64]>::to_vec).collect()
}

#[test]
fn square_has_a_space_to_look_around_in() {
    let place = Place::new();
    let data = at("data");
    let said = place.run(&format!("train square {data} -o square --dim 100")).fine();
    said.shows(&["square: 100 dimensions after ", "solves of up to ", "% of the clicks explained"]);
    let near = place.run("similar square --word flight -k 3 --format json").fine().json();
    let names: Vec<&str> =
        near["documents"].as_array().unwrap().iter().map(|n| n["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"carrier") || names.contains(&"ticket"), "{near}");
    // A score is the dot product of what is exported.
    place.run("export square --vectors npy -o vectors").fine();
    let of = |kind: &str| {
        let ids = fs::read_to_string(place.path(&format!("vectors/{kind}.ids.txt"))).unwrap();
        let rows = rows(&fs::read(place.path(&format!("vectors/{kind}.npy"))).unwrap(), 100);
        assert_eq!(ids.lines().count(), rows.len());
        ids.lines().map(str::to_owned).zip(rows).collect::<BTreeMap<_, _>>()
    };
    let (documents, queries) = (of("documents"), of("queries"));
    let found = hits(&place, "square", "cheap flights");
    assert!(found.iter().all(|hit| hit.2 == "Travel"), "{found:?}");
    let query = &queries["cheap flights"];
    let score = |doc: &Vec<f64>| query.iter().zip(doc).map(|(a, b)| a * b).sum::<f64>();
    for (id, expected, _) in &found {
        assert!((score(&documents[id]) - expected).abs() < 1e-4, "{id}: {expected}");
    }
    let better = documents.values().filter(|doc| score(doc) > found[0].1 + 1e-4).count();
    assert_eq!(better, 0);
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    let place = Place::new();
    let data = at("data");
    for (method, line, words) in [
        ("ridge", "--dim 10", ["--dim is for models with latent dimensions", "ridge has none"]),
        ("ridge", "--set lambda=-1", ["--set lambda=-1", "0 or more"]),
        ("ridge", "--set mass=0", ["--set mass=0", "at most 1"]),
        ("ridge", "--set features.doc_clicks=1", ["doc_clicks", "query_clicks"]),
        ("square", "--set dim=0", ["--set dim=0", "train ridge"]),
        ("square", "--set lambda_y=-1", ["--set lambda_y=-1", "0 or more"]),
        ("square", "--set steps=0", ["--set steps=0", "1 or more"]),
    ] {
        place.run(&format!("train {method} {data} -o out {line}")).refused(2, &words);
    }
    assert!(place.names().is_empty());
    place
        .run(&format!("compare {data} --models ridge,square --dim 10 --measures nDCG@10"))
        .shows(&["ridge", "square"]);
}

#[test]
fn dimensions_beyond_the_rank_are_told() {
    let place = Place::new();
    place.file("clicks.tsv", "query\tdoc\tclicks\nred\ta\t9\ngreen\tb\t7\nblue\ta\t5\nred\tb\t4\n");
    place.file(
        "documents.jsonl",
        "{\"id\":\"a\",\"title\":\"apple\"}\n{\"id\":\"b\",\"title\":\"pear\"}\n",
    );
    place
        .run("import --clicks clicks.tsv --documents documents.jsonl --validation 0 --test 0 -o data")
        .fine();
    let said = place.run("train square data -o square --dim 50").fine();
    assert!(said.err.contains("the clicks have only 2 dimensions"), "{}", said.err);
    // "blue" clicked a alone.
    let found = place.run("search square blue --format json").json();
    let ids: Vec<&Value> = found["hits"].as_array().unwrap().iter().map(|hit| &hit["id"]).collect();
    assert_eq!(ids[0], "a", "{found}");
}
