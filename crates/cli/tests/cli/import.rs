//! Good tables of every kind become datasets.

use std::collections::BTreeSet;
use std::io::Write;

use liken::data::{Dataset, RelevanceSource, SplitBy};
use liken::sparse::Csr;

use crate::place::Place;

const DOCUMENTS: &str = "id\ttitle\tbody\turl\tlang\n\
    d1\tRust\tA language\thttp://rust.org\ten\n\
    d2\tPython\tA snake\thttp://python.org\ten\n\
    d3\tGo\tA game\thttp://go.org\tde\n";

/// A log of `n` queries with two documents each, and its documents.
fn log(n: usize) -> (String, String) {
    let mut clicks = "query\tdoc\tclicks\n".to_owned();
    let mut documents = "id\ttitle\n".to_owned();
    for i in 0..n {
        clicks.push_str(&format!("query {i}\td{i}\t9\nquery {i}\td{}\t5\n", (i + 1) % n));
        documents.push_str(&format!("d{i}\tDocument {i}\n"));
    }
    (clicks, documents)
}

fn place_with_log(n: usize) -> Place {
    let (clicks, documents) = log(n);
    Place::with(&[("clicks.tsv", &clicks), ("docs.tsv", &documents)])
}

/// (query, document) → value, by name.
fn named(data: &Dataset, matrix: &Csr) -> BTreeSet<(String, String, String)> {
    let mut pairs = BTreeSet::new();
    for (i, row) in matrix.rows().enumerate() {
        for (doc, value) in row.iter() {
            let query = data.queries.get(i).unwrap().id;
            pairs.insert((query, data.documents.get(doc as usize).unwrap().id, value.to_string()));
        }
    }
    pairs
}

fn pairs(triples: &[(&str, &str, &str)]) -> BTreeSet<(String, String, String)> {
    triples.iter().map(|(q, d, v)| (q.to_string(), d.to_string(), v.to_string())).collect()
}

/// Clicks where one query is spelt three ways, with a given split.
const SPELT: &str = "query\tdoc\tclicks\tsplit\n\
    Rust\td1\t4\ttrain\nrust\td1\t3\ttrain\n RUST \td2\t2\ttrain\n\
    python\td2\t7\tdev\nsnake\td2\t1\ttest\ngo\td3\t8\ttrain\n";

#[test]
fn tsv_is_aggregated_by_identity_and_shown_in_its_most_frequent_spelling() {
    let place = Place::with(&[("clicks.tsv", SPELT), ("docs.tsv", DOCUMENTS)]);
    place.run("import --clicks clicks.tsv --documents docs.tsv -o data").fine();
    let data = place.dataset("data");
    let query = data.queries.get(0).unwrap();
    assert_eq!((query.id.as_str(), query.text.as_str(), query.clicks), ("rust", "Rust", 9.0));
    assert_eq!(named(&data, &data.clicks), pairs(&[("rust", "d1", "7"), ("go", "d3", "8")]));
    assert_eq!(named(&data, &data.validation), pairs(&[("python", "d2", "1")]));
    assert_eq!(named(&data, &data.test), pairs(&[("snake", "d2", "1")]));
    assert_eq!(data.about().evidence, RelevanceSource::HeldOutClicks);
    assert_eq!(data.about().split.by, SplitBy::Given);
    assert_eq!(data.about().min_clicks, Some(4.0));
    let document = data.documents.get(2).unwrap();
    assert_eq!(document.fields["lang"], "de");
    assert_eq!(data.about().sources[1].bytes, SPELT.len() as u64);
}

#[test]
fn the_same_log_in_every_format_gives_the_same_matrices() {
    let place = Place::with(&[("clicks.tsv", SPELT), ("docs.tsv", DOCUMENTS)]);
    place.run("import --clicks clicks.tsv --documents docs.tsv -o data").fine();
    let expected = place.dataset("data").folder.manifest.files["matrices.safetensors"].clone();
    let mut variants: Vec<(&str, Vec<u8>)> = vec![
        ("clicks.csv", SPELT.replace('\t', ",").into_bytes()),
        ("crlf.tsv", format!("\u{feff}{}", SPELT.replace('\n', "\r\n")).into_bytes()),
        ("bare.tsv", SPELT.trim_end().into()),
        ("two.tsv.zst", zstd::encode_all(SPELT.as_bytes(), 1).unwrap()),
    ];
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(SPELT.as_bytes()).unwrap();
    variants.push(("three.tsv.gz", gz.finish().unwrap()));
    let rows = SPELT.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let object = serde_json::json!({
            "split": cells[3], "query": cells[0], "doc": cells[1],
            "clicks": cells[2].parse::<f64>().unwrap(),
        });
        format!("{object}\n")
    });
    variants.push(("clicks.jsonl", rows.collect::<String>().into_bytes()));
    for (name, bytes) in &variants {
        place.file(name, bytes);
        place.run(&format!("import --clicks {name} --documents docs.tsv -o data --force")).fine();
        let files = place.dataset("data").folder.manifest.files;
        assert_eq!(files["matrices.safetensors"], expected, "{name}");
    }
    for (_, bytes) in &variants[3..5] {
        let line = "import --clicks - --input-format tsv --documents docs.tsv -o data --force";
        place.pipe(line, bytes).fine();
        let files = place.dataset("data").folder.manifest.files;
        assert_eq!(files["matrices.safetensors"], expected, "stdin");
    }
}

#[test]
fn quoted_csv_may_hold_commas_quotes_and_line_breaks() {
    let documents = "id,title,body\nd1,\"Hello, \"\"world\"\"\",\"two\nlines\"\nd2,b,\nd3,c,\n";
    let place = Place::with(&[("clicks.tsv", SPELT), ("docs.csv", documents)]);
    place.run("import --clicks clicks.tsv --documents docs.csv -o data").fine();
    let document = place.dataset("data").documents.get(0).unwrap();
    assert_eq!(document.fields["title"], "Hello, \"world\"");
    assert_eq!(document.fields["body"], "two\nlines");
}

#[test]
fn a_quotation_mark_in_tsv_is_a_character() {
    let documents = "id\ttitle\nd1\t\"open\nd2\tx\nd3\ty\n";
    let place = Place::with(&[("clicks.tsv", SPELT), ("docs.tsv", documents)]);
    place.run("import --clicks clicks.tsv --documents docs.tsv -o data").fine();
    let data = place.dataset("data");
    assert_eq!(data.documents.len(), 3);
    assert_eq!(data.documents.get(0).unwrap().fields["title"], "\"open");
}

#[test]
fn json_documents_keep_their_values_and_bags_of_counts() {
    let documents = "{\"_id\": 1, \"text\": \"body\", \"words\": {\"a\": 2, \"b\": 1.5}, \"year\": 1999}\n\n\
        {\"id\": \"2\", \"tags\": [1, null], \"title\": \"t\"}\n";
    let clicks = "query,doc,split\na,1,train\nb,2,test\nc,2,validation\n";
    let place = Place::with(&[("clicks.csv", clicks), ("docs.jsonl", documents)]);
    let said = place.run("import --clicks clicks.csv --documents docs.jsonl -o data").fine();
    assert_eq!(said.err, "");
    let data = place.dataset("data");
    let first = serde_json::to_string(&data.documents.get(0).unwrap()).unwrap();
    assert_eq!(first, r#"{"id":"1","body":"body","words":{"a":2,"b":1.5},"year":1999}"#);
    assert_eq!(data.documents.get(1).unwrap().fields["tags"], serde_json::json!([1, null]));
    assert_eq!(data.about().min_clicks, None, "no counts, no filter");
}

#[test]
fn documents_without_text_where_it_is_read_are_warned_of_and_numbers_are_text() {
    let documents = "{\"id\": 1, \"title\": 1984}\n\
        {\"id\": 2, \"body\": [\"a list\", \"of texts\"]}\n\
        {\"id\": 3, \"ratings\": {\"a\": 1}}\n";
    let clicks = "query,doc,split\nx,1,train\ny,2,test\nz,2,validation\n";
    let place = Place::with(&[("clicks.csv", clicks), ("docs.jsonl", documents)]);
    let said = place.run("import --clicks clicks.csv --documents docs.jsonl -o data").fine();
    let warning =
        "without text in the fields that are read by default (title, body, url): 1 of 3 documents";
    assert!(said.err.contains(warning), "{}", said.err);
    place.run("train bm25 data -o model").fine();
    let found = place.run("search model 1984 --format json").fine().json();
    assert_eq!(found["hits"][0]["id"], "1");
}

#[test]
fn columns_are_mapped_by_name_and_by_position() {
    let clicks = "q;x\n".replace(';', "\t") + "rust\td1\nrust\td1\ngo\td3\n";
    let bare = "a\trust\td1\t9\nb\tgo\td3\t9\nc\tpython\td2\t9\n";
    let documents = "docno\tcontent\tlang\nd1\tone\ten\nd2\ttwo\ten\nd3\tthree\tde\n";
    let place = Place::with(&[
        ("c.tsv", &clicks),
        ("bare.tsv", bare),
        ("docs.tsv", documents),
        ("bare-docs.tsv", "d1\tx\tone\nd2\tx\ttwo\nd3\tx\tthree\n"),
    ]);
    place
        .run(
            "import --clicks c.tsv --columns query=q,doc=1 --documents docs.tsv \
              --columns documents:id=docno,body=content --validation 0 -o data",
        )
        .fine();
    let data = place.dataset("data");
    assert_eq!(data.documents.get(2).unwrap().fields["body"], "three");
    assert_eq!(data.documents.get(2).unwrap().fields["lang"], "de");
    assert_eq!(data.clicks.nnz() + data.test.nnz(), 2);
    let said = place
        .run(
            "import --clicks bare.tsv --documents bare-docs.tsv --no-header \
              --columns query=1,doc=2,clicks=3 --columns documents:id=0,body=2 -o data --force",
        )
        .fine();
    assert!(said.out.contains("columns 1 have no name"), "{}", said.out);
    let data = place.dataset("data");
    assert_eq!(data.documents.get(0).unwrap().fields["body"], "one");
    assert_eq!(data.about().counts.pairs, 1);
    place
        .run("import --clicks bare.tsv --documents docs.tsv --no-header=clicks \
              --columns query=1,doc=2,clicks=3 --columns documents:id=docno,body=content -o data --force")
        .fine();
}

#[test]
fn the_click_filter_spares_links_and_says_when_it_is_drastic() {
    let mut clicks = "query\tdoc\tclicks\tsplit\nlinked\td0\t1\ttrain\n".to_owned();
    for i in 0..30 {
        clicks.push_str(&format!("q{i}\td{i}\t{}\ttrain\n", if i == 0 { 4 } else { 3 }));
    }
    clicks.push_str("v\td1\t1\tdev\nt\td1\t1\ttest\n");
    let place =
        Place::with(&[("c.tsv", &clicks), ("l.tsv", "query\tdoc\nlinked\td0\nlinked\td1\n")]);
    let said = place.run("import --clicks c.tsv --links l.tsv -o data").fine();
    assert!(said.err.contains("warning: no documents were given: 30 documents"), "{}", said.err);
    assert!(said.err.contains("dropped 29 of 32 training pairs"), "{}", said.err);
    assert!(
        said.out.contains(
            "  liken import --clicks c.tsv --links l.tsv -o data --min-clicks 1 --force\n"
        ),
        "{}",
        said.out
    );
    let data = place.dataset("data");
    let expected = [("q0", "d0", "4"), ("linked", "d0", "2"), ("linked", "d1", "1")];
    assert_eq!(named(&data, &data.clicks), pairs(&expected));
    assert_eq!(data.about().counts.test, (1, 1), "held-out pairs are not filtered");
    assert_eq!(data.queries.len(), 4, "queries with nothing left are dropped");
    place.run("import --clicks c.tsv --links l.tsv -o data --min-clicks 1 --force").fine();
    assert_eq!(place.dataset("data").about().counts.pairs, 32);
}

#[test]
fn documents_made_from_clicks_have_a_url_where_their_id_is_one() {
    let place = Place::with(&[(
        "c.csv",
        "query,doc,split\na,https://x.org/a,train\nb,plain,dev\nc,plain,test\n",
    )]);
    place.run("import --clicks c.csv -o data").fine();
    let data = place.dataset("data");
    assert_eq!(data.documents.get(0).unwrap().fields["url"], "https://x.org/a");
    assert!(data.documents.get(1).unwrap().fields.is_empty());
    assert!(data.about().report.iter().any(|line| line.contains("without text")));
}

#[test]
fn signed_weights_are_kept_and_never_filtered() {
    let clicks =
        "query,doc,weight,split\na,d1,-1.5,train\na,d2,0.5,train\nb,d1,-1,dev\nb,d2,1,test\n";
    let place = Place::with(&[("c.csv", clicks), ("docs.tsv", DOCUMENTS)]);
    place.run("import --clicks c.csv --documents docs.tsv -o data").fine();
    let data = place.dataset("data");
    assert_eq!(named(&data, &data.clicks), pairs(&[("a", "d1", "-1.5"), ("a", "d2", "0.5")]));
    assert_eq!(named(&data, &data.validation), pairs(&[("b", "d1", "0")]));
    assert_eq!(data.about().min_clicks, None);
}

#[test]
fn every_split_deals_what_it_says_whatever_the_order_of_the_lines() {
    let place = place_with_log(40);
    let (clicks, _) = log(40);
    let mut lines: Vec<&str> = clicks.lines().collect();
    lines[1..].reverse();
    place.file("reversed.tsv", lines.join("\n"));
    for (by, sizes) in [
        ("queries", [(32, 64), (4, 8), (4, 8)]),
        ("edges", [(40, 64), (8, 8), (8, 8)]),
        ("documents", [(40, 64), (8, 8), (8, 8)]),
    ] {
        let line = format!("--documents docs.tsv --split {by} --seed 5 -o data --force");
        place.run(&format!("import --clicks clicks.tsv {line}")).fine();
        let data = place.dataset("data");
        let about = data.about();
        assert_eq!(about.split.by.name(), by);
        assert_eq!(about.counts.pairs, sizes[0].1, "{by}");
        assert_eq!(about.counts.validation.1, sizes[1].1, "{by}");
        assert_eq!(about.counts.test.1, sizes[2].1, "{by}");
        assert_eq!(data.held_out_documents.len(), if by == "documents" { 8 } else { 0 });
        let parts = [&data.clicks, &data.validation, &data.test].map(|part| named(&data, part));
        place.run(&format!("import --clicks reversed.tsv {line}")).fine();
        let again = place.dataset("data");
        let reversed =
            [&again.clicks, &again.validation, &again.test].map(|part| named(&again, part));
        assert_eq!(parts, reversed, "{by}");
    }
}

#[test]
fn judgments_are_dealt_in_halves_and_all_clicks_are_training() {
    let place = place_with_log(10);
    let mut judgments = "query\tdoc\tgrade\n".to_owned();
    for i in 0..6 {
        judgments.push_str(&format!("Query  {i}\td{i}\t2\nquery {i}\td9\t0\n"));
    }
    judgments.push_str("never clicked\td1\t1\n");
    place.file("j.tsv", judgments);
    place.run("import --clicks clicks.tsv --documents docs.tsv --judgments j.tsv -o data").fine();
    let data = place.dataset("data");
    assert_eq!(data.about().split.by, SplitBy::Judgments);
    assert_eq!(data.about().evidence, RelevanceSource::Judgments);
    assert_eq!(data.clicks.nnz(), 20);
    assert_eq!(data.about().counts.validation.0 + data.about().counts.test.0, 7);
    assert_eq!(data.validation.nnz() + data.test.nnz(), 13, "grade 0 is stored");
    assert_eq!(data.queries.len(), 11);
}

#[test]
fn a_table_of_queries_gives_ids_texts_and_splits_and_leaks_are_reported() {
    let queries = "id\ttext\tsplit\n1\tRed  Shoes\ttrain\n2\tred shoes\ttest\n3\tblue\tdev\n4\tunused\ttrain\n";
    let links = "query\tdoc\n1\td1\n2\td2\n3\td3\n";
    let place = Place::with(&[("q.tsv", queries), ("l.tsv", links), ("docs.tsv", DOCUMENTS)]);
    let said =
        place.run("import --queries q.tsv --links l.tsv --documents docs.tsv -o data").fine();
    assert!(said.err.contains("leak: 2 queries with different ids"), "{}", said.err);
    assert!(said.err.contains("1 of them across splits"), "{}", said.err);
    let data = place.dataset("data");
    assert_eq!(data.queries.len(), 4, "listed queries stay");
    assert_eq!(data.queries.get(0).unwrap().text, "Red  Shoes");
    assert_eq!(named(&data, &data.test), pairs(&[("2", "d2", "1")]));
}

fn beir(place: &Place, qrels: &[&str]) {
    let mut corpus = String::new();
    let mut queries = String::new();
    for i in 0..12 {
        corpus.push_str(&format!(
            "{{\"_id\": \"d{i}\", \"title\": \"t{i}\", \"text\": \"x\", \"metadata\": {{}}}}\n"
        ));
        queries.push_str(&format!("{{\"_id\": \"q{i}\", \"text\": \"query {i}\"}}\n"));
    }
    place.file("set/corpus.jsonl", corpus);
    place.file("set/queries.jsonl.zst", zstd::encode_all(queries.as_bytes(), 1).unwrap());
    for (at, name) in qrels.iter().enumerate() {
        let mut rows = "query-id\tcorpus-id\tscore\n".to_owned();
        for i in 4 * at..4 * at + 4 {
            let (next, bad) = ((i + 1) % 12, (i + 2) % 12);
            rows.push_str(&format!("q{i}\td{i}\t2\nq{i}\td{next}\t1\nq{i}\td{bad}\t0\n"));
        }
        place.file(&format!("set/qrels/{name}.tsv"), rows);
    }
}

#[test]
fn a_beir_folder_brings_its_own_split() {
    let place = Place::new();
    beir(&place, &["train", "dev", "test"]);
    let said = place.run("import beir set -o data").fine();
    assert!(said.out.contains("weight 0"), "{}", said.out);
    place.run("import set -o data --force").fine();
    let data = place.dataset("data");
    let about = data.about();
    assert_eq!(about.split.by, SplitBy::Given);
    assert_eq!((about.counts.queries, about.counts.documents, about.counts.pairs), (12, 12, 8));
    assert_eq!((about.counts.validation, about.counts.test.0), ((4, 12), 4));
    assert_eq!(about.min_clicks, None);
    assert_eq!(data.clicks.row(1).get(1), 2.0);
    assert_eq!(data.documents.get(3).unwrap().fields["body"], "x");
}

#[test]
fn a_beir_folder_without_training_is_split_as_asked() {
    let place = Place::new();
    beir(&place, &["test"]);
    place.file(
        "set/qrels/dev.tsv",
        "query-id\tcorpus-id\tscore\nq9\td1\t1\nq8\td2\t2\nq7\td3\t0\nq9\td1\t2\n",
    );
    place.run("import set -o data").refused(1, &["dev.tsv:5", "the grade 1, as in dev.tsv:2"]);
    place.run("import set --lenient -o data").fine();
    let data = place.dataset("data");
    assert_eq!(data.about().split.by, SplitBy::Queries);
    assert_eq!(data.about().evidence, RelevanceSource::Judgments);
    assert!(data.clicks.nnz() > 0 && data.validation.nnz() > 0 && data.test.nnz() > 0);
    place
        .run("import set --split given -o other")
        .refused(2, &["--split given", "no qrels/train.tsv"]);
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let place = place_with_log(30);
    let line = "import --clicks clicks.tsv --documents docs.tsv";
    place.run(&format!("{line} --threads 1 -o one")).fine();
    place.run(&format!("{line} --threads 7 -o two")).fine();
    let [one, two] = ["one", "two"].map(|name| place.dataset(name).folder.identity());
    assert_eq!(one, two);
}

#[test]
fn the_report_is_also_written_for_programs() {
    let place = place_with_log(30);
    let said = place.run("import --clicks clicks.tsv --documents docs.tsv --format json -o data");
    let report: serde_json::Value = serde_json::from_str(&said.fine().out).unwrap();
    assert_eq!(report["tables"][1]["rows"], 60);
    assert_eq!(report["about"]["counts"]["documents"], 30);
    assert!(place.run("import --help").fine().out.contains("Examples:"));
}
