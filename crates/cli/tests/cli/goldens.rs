//! Nothing that is computed changes unnoticed: models of every method, their rankings and
//! explanations, rankers and answers of the service on the demo log, beside files that hold what
//! they were. `golden_files.rs` says how to write the files anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::golden_files::{CHECKSUM, Goldens};
use crate::place::Place;
use crate::service::Service;
use crate::shared::remove_at_exit;

/// Searched often, rarely, never; across concepts; with a word that nobody knows.
const QUERIES: [&str; 6] = [
    "heart attack",
    "cheap flights",
    "tick on dog",
    "how to fall asleep on a plane",
    "zyxwv gym",
    "troponin",
];

/// What is explained: a document in the words of the query, and one in other words.
const EXPLAINED: [(&str, &str); 2] =
    [("heart attack", "d0001"), ("myocardial infarction", "d0002")];

static DEMO: OnceLock<Place> = OnceLock::new();

/// Every model: each method by name, and mixes.
fn models() -> impl Iterator<Item = &'static str> {
    // Two names are further ones of methods that are there.
    let methods = liken::matchers::methods().map(|(name, _)| name);
    methods
        .filter(|&name| name != "lm-dirichlet" && name != "lsi")
        .chain(["rmls+bm25", "rrf:pls+bm25"])
}

/// The name of a model's folder.
fn folder(model: &str) -> String {
    model.replace([':', '+'], "-")
}

/// A folder with the demo log as `data` and all models, with defaults but where that takes long.
fn demo() -> &'static Place {
    DEMO.get_or_init(|| {
        remove_at_exit(&DEMO);
        let place = Place::new();
        place.run("synth demo -o data").silent();
        for model in models() {
            let settings = match model {
                "pls" | "mpls" | "square" | "rmls" | "rmls+bm25" | "rrf:pls+bm25" => "--dim 64",
                "svdfeature" => "--set epochs=4",
                "bltm" => "--set iterations=20",
                _ => "",
            };
            let name = folder(model);
            place.run(&format!("train {model} data -o {name} {settings}")).fine();
        }
        let lines = QUERIES.iter().enumerate().map(|(n, text)| format!("q{}\t{text}\n", n + 1));
        place.file("queries.tsv", lines.collect::<String>());
        place.run("features data --model bm25 --model rmls -o rows.csv").fine();
        place
    })
}

#[test]
fn models_are_the_same_tensors() {
    let place = demo();
    let mut goldens = Goldens::new("tensors");
    goldens.check("data.txt", &tensors(&place.path("data")));
    for model in models() {
        let name = folder(model);
        goldens.check(&format!("{name}.txt"), &tensors(&place.path(&name)));
    }
    goldens.finish();
}

#[test]
fn runs_have_the_same_scores() {
    let place = demo();
    let mut goldens = Goldens::new("runs");
    for model in models() {
        let name = folder(model);
        let said = place.run(&format!("run {name} --queries queries.tsv -k 10 -o -")).fine();
        goldens.check(&format!("{name}.trec"), &said.out);
    }
    let new =
        "{\"id\":\"new\",\"title\":\"Heart attack on a plane\",\"body\":\"Cheap flights.\"}\n";
    let with_new = Place::with(&[("new.jsonl", new)]);
    let (queries, documents) = (place.path("queries.tsv"), with_new.path("new.jsonl"));
    let files =
        [["--queries", queries.to_str().unwrap()], ["--documents", documents.to_str().unwrap()]]
            .concat();
    for name in ["bm25", "rmls-bm25"] {
        let said = place.ask(&format!("run {name} -k 5 -o -"), &files).fine();
        goldens.check(&format!("{name}-new.trec"), &said.out);
    }
    goldens.finish();
}

#[test]
fn explanations_say_the_same() {
    let place = demo();
    let mut goldens = Goldens::new("explanations");
    for name in [
        "bm25",
        "lm",
        "dependence",
        "rmls",
        "ssi",
        "svdfeature",
        "lda",
        "nmf",
        "translation",
        "clicked",
        "feedback",
        "rm3",
        "ridge",
        "rmls-bm25",
        "rrf-pls-bm25",
    ] {
        let found: Vec<Value> = EXPLAINED
            .map(|(query, doc)| {
                let line = format!("explain {name} -n 6 --format json --doc {doc}");
                place.ask(&line, &["--query", query]).fine().json()
            })
            .into();
        goldens.check(&format!("{name}.json"), &pretty(found.into()));
    }
    goldens.finish();
}

#[test]
fn rankers_give_the_same_scores() {
    let demo = demo();
    let (place, rows) = (Place::new(), demo.path("rows.csv"));
    let rows = rows.to_str().unwrap();
    let mut goldens = Goldens::new("rankers");
    let text = fs::read_to_string(rows).unwrap();
    let first: String = text.lines().take(6).map(|line| format!("{line}\n")).collect();
    goldens.check("rows.txt", &format!("{first}{}\n", checksum(text.as_bytes())));
    for (method, _) in liken::rank::rank_methods() {
        let settings = if method.ends_with("mart") { "--set trees=20" } else { "" };
        let train = format!("rank train {method} -o {method} {settings}");
        place.ask(&train, &[rows]).fine();
        let scores = place.ask(&format!("rank predict {method} -o -"), &[rows]).fine().out;
        let first: String = scores.lines().take(10).map(|line| format!("{line}\n")).collect();
        let all = checksum(scores.as_bytes());
        let learnt = tensors(&place.path(method));
        goldens.check(&format!("{method}.txt"), &format!("{learnt}{first}{all}\n"));
    }
    goldens.finish();
}

#[test]
fn the_service_answers_the_same() {
    let demo = demo();
    let place = Place::new();
    let at = |name: &str| demo.path(name).to_str().unwrap().to_owned();
    let set = "--set trees=20";
    place.run(&format!("rank train lambdamart {} -o trees {set}", at("rows.csv"))).fine();
    place.run(&format!("rank train regression {} -o linear", at("rows.csv"))).fine();
    place
        .run(&format!(
            "index {} --model bm25={} --model rmls={} --model mix={} --ranker trees=trees \
             --ranker linear=linear -o index",
            at("data"),
            at("bm25"),
            at("rmls"),
            at("rmls-bm25")
        ))
        .silent();
    let service = Service::start(&place, "serve index --log-format none");
    let mut goldens = Goldens::new("service");
    let mut check = |name: &str, answers: Vec<Value>| {
        goldens.check(&format!("{name}.json"), &pretty(answers.into()));
    };
    let search = |more: Value| -> Vec<Value> {
        let ask = |query: &str| {
            let mut body = json!({ "query": query, "k": 5, "fields": ["title"] });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            service.post("/search", &body).json()
        };
        QUERIES.map(ask).into()
    };
    let both = json!(["bm25", "rmls"]);
    check("search-bm25", search(json!({ "models": ["bm25"] })));
    check("search-rmls", search(json!({ "models": ["rmls"] })));
    check("search-mix", search(json!({ "models": ["mix"] })));
    for method in ["z_score", "min_max", "rrf"] {
        let fusion = json!({ "method": method, "weights": { "rmls": 2.0 } });
        check(&format!("search-{method}"), search(json!({ "models": both, "fusion": fusion })));
    }
    for ranker in ["trees", "linear"] {
        let asked = json!({ "models": both, "ranker": ranker, "log_features": true });
        check(&format!("search-ranker-{ranker}"), search(asked));
    }
    let filter = json!({ "class": "Heart and circulation" });
    check("search-filter", search(json!({ "models": both, "filter": filter })));
    let diversify = json!({ "lambda": 0.5 });
    check("search-diversify", search(json!({ "models": both, "diversify": diversify })));
    check("search-highlight", search(json!({ "highlight": true, "offset": 2, "k": 2 })));
    check("search-phrase", {
        let body = json!({ "query": "\"heart attack\" risk", "k": 5, "exclude_ids": ["d0001"] });
        vec![service.post("/search", &body).json()]
    });
    let explain = |more: Value| -> Vec<Value> {
        let ask = |(query, id): (&str, &str)| {
            let mut search = json!({ "query": query });
            search.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            service.post("/explain", &json!({ "search": search, "id": id, "most": 5 })).json()
        };
        EXPLAINED.map(ask).into()
    };
    check("explain-fused", explain(json!({ "models": both })));
    check("explain-mix", explain(json!({ "models": ["mix"] })));
    check("explain-ranker", explain(json!({ "models": both, "ranker": "trees" })));
    let similar = [
        json!({ "model": "rmls", "query": "heart attack", "k": 5 }),
        json!({ "model": "rmls", "id": "d0001", "k": 5 }),
        json!({ "model": "rmls", "word": "heart", "k": 5 }),
    ];
    check("similar", similar.iter().map(|body| service.post("/similar", body).json()).collect());
    let ids = json!(["d0003", "d0001", "d0100", "d2000", "nobody"]);
    let new = json!([{ "id": "new", "title": "Heart attack", "body": "What it is." }]);
    let rerank = |more: Value| {
        let mut body = json!({ "query": "heart attack", "ids": ids, "documents": new });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        service.post("/rerank", &body).json()
    };
    check(
        "rerank",
        vec![
            rerank(json!({ "models": ["bm25"] })),
            rerank(json!({ "models": both })),
            rerank(json!({ "models": both, "ranker": "linear", "documents": [] })),
        ],
    );
    // Documents that come later are scored beside those of training.
    let document = json!({ "title": "Heart attack on a plane", "class": "Heart and circulation" });
    service.put("/documents/later?wait=true", &document).json();
    service.ask("DELETE", "/documents/d0001?wait=true", None).json();
    check("search-later", search(json!({ "models": both })));
    goldens.finish();
}

/// JSON for a file: without times and versions, which say nothing about what is computed.
fn pretty(mut value: Value) -> String {
    strip(&mut value);
    serde_json::to_string_pretty(&value).unwrap() + "\n"
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for volatile in ["took_ms", "version", "seconds"] {
                fields.remove(volatile);
            }
            fields.values_mut().for_each(strip);
            // By name, whatever order a feature of the JSON library keeps them in.
            let sorted: BTreeMap<String, Value> = std::mem::take(fields).into_iter().collect();
            fields.extend(sorted);
        }
        Value::Array(values) => values.iter_mut().for_each(strip),
        _ => {}
    }
}

/// What is in the safetensors files of a folder: what was learnt tensor by tensor, the rest file
/// by file. A norm stands beside checksums of floats, for machines that differ in last bits.
fn tensors(folder: &Path) -> String {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".safetensors"))
        .collect();
    names.sort();
    let mut text = String::new();
    for name in names {
        let bytes = fs::read(folder.join(&name)).unwrap();
        let all = read_tensors(&bytes);
        if name.starts_with("part-") || name.starts_with("ranker") {
            for tensor in all {
                let Tensor { name: array, dtype, shape, bytes } = &tensor;
                let norm = tensor.norm().map_or(String::new(), |norm| format!(" norm={norm:.6e}"));
                let sum = checksum(bytes);
                text.push_str(&format!("{name} {array} {dtype} {shape:?}{norm} {sum}\n"));
            }
        } else {
            let mut hasher = Sha256::new();
            for Tensor { name, dtype, shape, bytes } in &all {
                hasher.update(format!("{name} {dtype} {shape:?}\n"));
                hasher.update(bytes);
            }
            text.push_str(&format!("{name} {} tensors {}\n", all.len(), shown(hasher)));
        }
    }
    text
}

/// An array of a safetensors file.
struct Tensor<'a> {
    name: String,
    dtype: String,
    shape: Vec<u64>,
    bytes: &'a [u8],
}

impl Tensor<'_> {
    /// The Euclidean norm of floats.
    fn norm(&self) -> Option<f64> {
        let squares: f64 = match self.dtype.as_str() {
            "F32" => {
                let values =
                    self.bytes.chunks_exact(4).map(|c| f32::from_le_bytes(c.try_into().unwrap()));
                values.map(|value| f64::from(value).powi(2)).sum()
            }
            "F64" => {
                let values =
                    self.bytes.chunks_exact(8).map(|c| f64::from_le_bytes(c.try_into().unwrap()));
                values.map(|value| value.powi(2)).sum()
            }
            _ => return None,
        };
        Some(squares.sqrt())
    }
}

/// The arrays of a safetensors file, by name: eight bytes with the length of a JSON header, the
/// header, the data.
fn read_tensors(file: &[u8]) -> Vec<Tensor<'_>> {
    let length = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let (header, data) = file[8..].split_at(length);
    let header: Map<String, Value> = serde_json::from_slice(header).unwrap();
    let mut tensors: Vec<Tensor<'_>> = header
        .into_iter()
        .filter(|(name, _)| name != "__metadata__")
        .map(|(name, about)| {
            let numbers = |key: &str| -> Vec<u64> {
                about[key].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect()
            };
            let place = numbers("data_offsets");
            let bytes = &data[place[0] as usize..place[1] as usize];
            let dtype = about["dtype"].as_str().unwrap().to_owned();
            Tensor { name, dtype, shape: numbers("shape"), bytes }
        })
        .collect();
    tensors.sort_by(|a, b| a.name.cmp(&b.name));
    tensors
}

fn checksum(bytes: &[u8]) -> String {
    shown(Sha256::new().chain_update(bytes))
}

/// Half of a checksum is enough to see a change.
fn shown(hasher: Sha256) -> String {
    let hex: String = hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("{CHECKSUM}{hex}")
}
