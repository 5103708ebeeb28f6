//! The project's own experiments on real data; skipped, and counted, where it is absent.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::experiment::experiments;
use crate::place::Place;

/// The data folder, if `name` is in it: `LIKEN_DATA`, or the one beside the project. Where it is
/// absent, or `LIKEN_NO_DATA=1` asks to do without, the test is skipped; `LIKEN_SKIP_LOG` names a
/// file that counts the skipped.
pub fn data_with(name: &str) -> Option<PathBuf> {
    let data = std::env::var_os("LIKEN_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let unwanted = std::env::var_os("LIKEN_NO_DATA").is_some_and(|value| value == "1");
    if data.join(name).is_dir() && !unwanted {
        return Some(data);
    }
    if let Some(log) = std::env::var_os("LIKEN_SKIP_LOG") {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(log);
        let why = if unwanted { "LIKEN_NO_DATA" } else { "is not there" };
        writeln!(log.unwrap(), "data {name} ({why})").unwrap();
    }
    None
}

/// The project's experiment files that read tables of real data.
fn files_with_data() -> Vec<PathBuf> {
    let reads_data = |table: &toml::Table| {
        ["data", "folds"].iter().any(|&key| table.get(key).is_some_and(toml::Value::is_table))
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(experiments())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .filter(|path| {
            let file: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
            let settings = file.get("settings").and_then(toml::Value::as_array);
            let mut settings = settings.into_iter().flatten().filter_map(toml::Value::as_table);
            reads_data(&file) || settings.any(reads_data)
        })
        .collect();
    files.sort();
    files
}

#[test]
fn the_quick_experiments_on_real_data_have_not_moved() {
    let Some(data) = data_with("nfcorpus") else { return };
    let files = files_with_data();
    let mut arguments = vec!["--quick", "--data", data.to_str().unwrap()];
    arguments.extend(files.iter().map(|file| file.to_str().unwrap()));
    let said = Place::new().ask("experiment", &arguments);
    assert_eq!(said.code, Some(0), "{}\n{}", said.out, said.err);
    assert!(said.err.contains("rmls-words: RMLS collapses"), "{}", said.err);
    assert!(!said.out.contains("MOVED"), "{}", said.out);
    assert!(!said.out.contains("skipped"), "{}", said.out);
}

#[test]
fn models_of_nfcorpus_are_the_same_at_1_2_and_7_threads() {
    let Some(data) = data_with("nfcorpus") else { return };
    let place = Place::new();
    let import = place.ask("import beir", &[data.join("nfcorpus").to_str().unwrap(), "-o", "data"]);
    assert_eq!(import.code, Some(0), "{}", import.err);
    let identity = |threads: usize| {
        let model = format!("model-{threads}");
        let line = format!("train rmls+bm25 data -o {model} --dim 100 --threads {threads}");
        let trained = place.run(&line);
        assert_eq!(trained.code, Some(0), "{}", trained.err);
        let info = place.run(&format!("info {model} --format json")).json();
        info["identity"].as_str().unwrap().to_owned()
    };
    let one = identity(1);
    assert_eq!([&one, &one], [&identity(2), &identity(7)]);
}

/// nDCG@10 with linear gain of a run, by the book; queries without results count 0.
fn ndcg_at_10(qrels: &str, run: &str) -> f64 {
    let mut grades: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
    for line in qrels.lines().skip(1) {
        let [query, doc, grade] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        grades.entry(query).or_default().insert(doc, grade.parse().unwrap());
    }
    let mut ranked: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in run.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        ranked.entry(fields[0]).or_default().push(fields[2]);
    }
    let discounted = |grades: &mut dyn Iterator<Item = f64>| -> f64 {
        (2..12).zip(grades).map(|(i, grade)| grade / f64::from(i).log2()).sum()
    };
    let sum: f64 = grades
        .iter()
        .map(|(query, grades)| {
            let found = ranked.get(query).into_iter().flatten();
            let got = discounted(&mut found.map(|doc| grades.get(doc).copied().unwrap_or(0.0)));
            let mut ideal: Vec<f64> = grades.values().copied().collect();
            ideal.sort_by(|a, b| b.total_cmp(a));
            got / discounted(&mut ideal.into_iter())
        })
        .sum();
    sum / grades.len() as f64
}

#[test]
fn a_learnt_model_improves_the_first_hundred_of_bm25() {
    let Some(data) = data_with("nfcorpus") else { return };
    let place = Place::new();
    let folder = data.join("nfcorpus");
    place.ask("import beir", &[folder.to_str().unwrap(), "-o", "data"]).fine();
    place.run("train bm25 data -o bm25").fine();
    place.run("train 0.5*rmls+0.5*bm25 data -o mix --dim 100").fine();
    let dataset = place.dataset("data");
    let judged = (0..dataset.queries.len()).filter(|&i| !dataset.test.row(i).is_empty());
    let lines = judged.map(|i| dataset.queries.get(i).unwrap());
    let queries: String = lines.map(|query| format!("{}\t{}\n", query.id, query.text)).collect();
    place.file("test.tsv", queries);
    place.run("run bm25 --queries test.tsv -k 100 -o bm25.trec").fine();
    // With the texts of the dataset, and of the model itself.
    place.run("rerank mix bm25.trec --dataset data -o reranked.trec").silent();
    let read = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
    assert_eq!(place.run("rerank mix bm25.trec -o -").silent().out, read("reranked.trec"));
    let qrels = std::fs::read_to_string(folder.join("qrels/test.tsv")).unwrap();
    let (engine, model) =
        (ndcg_at_10(&qrels, &read("bm25.trec")), ndcg_at_10(&qrels, &read("reranked.trec")));
    assert!((engine - 0.3266).abs() < 0.002, "{engine}");
    assert!(model > engine + 0.02, "{model} after {engine}");
    place.run("fuse bm25.trec reranked.trec -o fused.trec").silent();
    assert!(ndcg_at_10(&qrels, &read("fused.trec")) > engine);
}

#[test]
fn topics_of_ap_have_few_words_and_are_as_coherent_as_those_of_lda() {
    let Some(data) = data_with("ap") else { return };
    let place = Place::new();
    let at = |name: &str| data.join("ap").join(name).to_str().unwrap().to_owned();
    let (documents, words) = (at("ap.dat"), at("vocab.txt"));
    place.ask("import", &["--documents", &documents, "--vocabulary", &words, "-o", "ap"]).fine();
    let topics = |method: &str, settings: &str| {
        let words = "--set preparation.analyzer.stem=false";
        place.run(&format!("train {method} ap --dim 20 {words} {settings} -o {method}")).fine();
        place.run(&format!("topics {method} --format json")).json()["all"].clone()
    };
    let rlsi = topics("rlsi", "--set lambda1=0.68 --set lambda2=0.1 --set sweeps=50 --seed 6");
    let lda = topics("lda", "");
    let figure = |of: &serde_json::Value, name: &str| of[name].as_f64().unwrap();
    // An empty topic would lower the first and be left out of the second.
    assert_eq!(rlsi["dead"], 0, "{rlsi}");
    assert!(figure(&rlsi, "avg_comp") < 0.02, "{rlsi}");
    assert!(figure(&rlsi, "npmi") >= figure(&lda, "npmi"), "{rlsi} {lda}");
    assert_eq!(lda["avg_comp"], 1.0);
}
