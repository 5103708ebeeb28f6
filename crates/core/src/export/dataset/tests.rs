use std::fs;
use std::io::Write;
use std::path::PathBuf;

use serde_json::json;

use super::*;
use crate::data::fixture::real_data;
use crate::data::{
    DatasetAbout, DatasetWriter, Document, Import, Query, RelevanceSource, SplitBy, Table,
};
use crate::sparse::Csr;

/// Documents with every kind of value, queries that want care, fractions and a grade of 0.
fn dataset(path: &Path, plain: bool, evidence: RelevanceSource) -> Dataset {
    let mut writer = DatasetWriter::create(path, false).unwrap();
    let texts = if plain { ["a & b", "c"] } else { ["a\tb", "\"c\nd"] };
    for (id, text) in ["q one", "q,2"].iter().zip(texts) {
        writer.query(&Query { id: (*id).into(), text: text.into(), clicks: 9.0 }).unwrap();
    }
    let mut documents = vec![
        ("d1", json!({ "title": "One <b>", "body": "text\nmore", "url": "http://a.org" })),
        ("d2", json!({ "title": "Zwei", "body": "ä & ö" })),
    ];
    if !plain {
        documents.push(("d3", json!({ "body": { "word": 2 }, "year": 1984, "open": true })));
        documents.push(("d4", json!({ "title": ["a", "b"], "year": -3, "price": 1.5 })));
    }
    for (id, fields) in &documents {
        let fields = fields.as_object().unwrap().clone();
        writer.document(&Document { id: (*id).into(), fields }).unwrap();
    }
    let n = documents.len();
    let matrix = |entries: &[(u32, u32, f32)]| Csr::from_triplets(2, n, entries.to_vec()).unwrap();
    let clicks = if plain { [(0, 0, 3.0), (1, 1, 1.0)] } else { [(0, 0, 0.1), (1, 1, 3.5)] };
    let about = DatasetAbout::as_given(evidence);
    let (validation, test) = (matrix(&[(0, 1, 1.0)]), matrix(&[(1, 0, 0.0), (1, 1, 1.0)]));
    writer.finish(&matrix(&clicks), &validation, &test, &[], about).unwrap();
    Dataset::open(path).unwrap()
}

fn export(dataset: &Dataset, format: DatasetFormat, target: &Path) -> DatasetExportAbout {
    let export = DatasetExport { dataset, format, number_queries: false };
    export.write(target, false, &Run::silent()).unwrap().0
}

/// The dataset that the options in `about.json` import.
fn import(folder: &Path, about: &DatasetExportAbout, target: &Path) -> Dataset {
    let mut import = Import::default();
    let table = |name: &String| Some(Table::new(folder.join(name)));
    for (&name, value) in &about.import {
        match name {
            "beir" => import.beir = Some(folder.join(value)),
            "clicks" => import.clicks = table(value),
            "documents" => import.documents = table(value),
            "queries" => import.queries = table(value),
            "judgments" => import.judgments = table(value),
            "min_clicks" => import.min_clicks = value.parse().ok(),
            other => panic!("{other}"),
        }
    }
    import.run(target, false, &Run::silent()).unwrap();
    Dataset::open(target).unwrap()
}

fn same(a: &Dataset, b: &Dataset) {
    assert_eq!((&a.clicks, &a.validation, &a.test), (&b.clicks, &b.validation, &b.test));
    assert_eq!((a.queries.len(), a.documents.len()), (b.queries.len(), b.documents.len()));
    for (a, b) in a.queries.iter().zip(b.queries.iter()) {
        let (a, b) = (a.unwrap(), b.unwrap());
        assert_eq!((a.id, a.text), (b.id, b.text));
    }
    for (a, b) in a.documents.iter().zip(b.documents.iter()) {
        assert_eq!(a.unwrap(), b.unwrap());
    }
}

const FORMATS: [DatasetFormat; 2] = [DatasetFormat::Tsv, DatasetFormat::Parquet];

#[test]
fn tables_give_the_same_dataset_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: String| -> PathBuf { dir.path().join(name) };
    for (n, (plain, evidence)) in [
        (true, RelevanceSource::Judgments),
        (false, RelevanceSource::Judgments),
        (true, RelevanceSource::HeldOutClicks),
        (false, RelevanceSource::HeldOutClicks),
    ]
    .into_iter()
    .enumerate()
    {
        let dataset = dataset(&path(format!("data{n}")), plain, evidence);
        for format in FORMATS {
            let out = path(format!("{format:?}{n}"));
            let about = export(&dataset, format, &out);
            let back = import(&out, &about, &path(format!("{format:?}{n}-back")));
            same(&dataset, &back);
            // The clicks of the queries are more than those of the pairs.
            let queries =
                |dataset: &Dataset| fs::read(dataset.folder.file("queries.jsonl")).unwrap();
            assert_eq!(queries(&dataset), queries(&back));
            assert_eq!(back.about().evidence, evidence);
            assert_eq!(back.about().split.by, SplitBy::Given);
        }
    }
}

#[test]
fn a_beir_folder_gives_the_same_dataset_back() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = dataset(&dir.path().join("data"), true, RelevanceSource::Judgments);
    let out = dir.path().join("beir");
    let about = export(&dataset, DatasetFormat::Beir, &out);
    same(&dataset, &import(&out, &about, &dir.path().join("back")));
    let train = fs::read_to_string(out.join("qrels/train.tsv")).unwrap();
    assert_eq!(train, "query-id\tcorpus-id\tscore\nq one\td1\t3\nq,2\td2\t1\n");
    assert!(about.warnings.is_empty());
}

#[test]
fn what_beir_and_trec_cannot_hold_is_refused_or_told() {
    let dir = tempfile::tempdir().unwrap();
    let rich = dataset(&dir.path().join("rich"), false, RelevanceSource::Judgments);
    let plain = dataset(&dir.path().join("plain"), true, RelevanceSource::Judgments);
    let refused = |dataset: &Dataset, format, number_queries| {
        let export = DatasetExport { dataset, format, number_queries };
        export.write(&dir.path().join("no"), false, &Run::silent()).unwrap_err().to_string()
    };
    let bag = refused(&rich, DatasetFormat::Beir, false);
    assert!(bag.contains("the field body of the document \"d3\" is a bag of counts"), "{bag}");
    let id = refused(&plain, DatasetFormat::Trec, false);
    assert!(id.contains("the query id \"q one\"") && id.contains("`number_queries`"), "{id}");
    assert!(refused(&rich, DatasetFormat::Trec, true).contains("d3"));
    assert!(!dir.path().join("no").exists());
    let mut whole = rounding::Rounding::default();
    assert_eq!([0.1, -0.2, 2.5, 3.0].map(|value| whole.weight(value)), [1, -1, 3, 3]);
    assert_eq!((whole.grade(0.4), whole.changed), (0, 4));
}

#[test]
fn trec_files_are_escaped_and_numbered() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = dataset(&dir.path().join("data"), true, RelevanceSource::Judgments);
    let out = dir.path().join("trec");
    let export =
        DatasetExport { dataset: &dataset, format: DatasetFormat::Trec, number_queries: true };
    let (about, files) = export.write(&out, false, &Run::silent()).unwrap();
    assert!(about.import.is_empty() && about.warnings.is_empty());
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let expected =
        ["documents.trec", "topics.trec", "qrels.train", "qrels.validation", "qrels.test"];
    assert_eq!(names, expected);
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    assert_eq!(
        read("documents.trec").split("<DOC>\n").nth(1).unwrap(),
        "<DOCNO>d1</DOCNO>\n<TITLE>One &lt;b&gt;</TITLE>\n<URL>http://a.org</URL>\n<TEXT>\ntext\nmore\n</TEXT>\n</DOC>\n"
    );
    let topic = "<top>\n<num> Number: q1\n<title> a &amp; b\n</top>\n";
    assert!(read("topics.trec").starts_with(topic));
    assert_eq!(read("qrels.test"), "q2 0 d1 0\nq2 0 d2 1\n");
}

#[test]
fn what_a_log_of_events_has_beside_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log.tsv");
    let head = "session\tquery\tdoc\trank\tclicked\n";
    let shown: String =
        (0..40).map(|n| format!("s{n}\tq{n}\ta\t1\ttrue\ns{n}\tq{n}\tb\t2\tfalse\n")).collect();
    let clicked: String = (0..40).map(|n| format!("q{n}\ta\n")).collect();
    for (name, text, words) in [
        ("shown", format!("{head}{shown}"), "its impressions and its appendable log"),
        ("clicked", format!("query\tdoc\n{clicked}"), "made from events: its appendable log"),
    ] {
        fs::File::create(&log).unwrap().write_all(text.as_bytes()).unwrap();
        let events = Some(Table::new(log.clone()));
        let import = Import { events, min_clicks: Some(1), ..Import::default() };
        let data = dir.path().join(name);
        import.run(&data, false, &Run::silent()).unwrap();
        let dataset = Dataset::open(&data).unwrap();
        let about = export(&dataset, DatasetFormat::Tsv, &dir.path().join(format!("{name}-out")));
        assert!(about.warnings.iter().any(|warning| warning.contains(words)), "{about:?}");
    }
}

/// A collection as it is published: import, export, import.
#[test]
fn nfcorpus_comes_back_from_every_format() {
    let Some(folder) = real_data("nfcorpus") else { return };
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let source = Import { beir: Some(folder), ..Import::default() };
    source.run(&data, false, &Run::silent()).unwrap();
    let dataset = Dataset::open(&data).unwrap();
    for format in [&[DatasetFormat::Beir], &FORMATS[..]].concat() {
        let out = dir.path().join(format!("{format:?}"));
        let about = export(&dataset, format, &out);
        same(&dataset, &import(&out, &about, &dir.path().join(format!("{format:?}-back"))));
    }
}
