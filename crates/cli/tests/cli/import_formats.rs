//! Foreign formats and encodings: what is read, and what is refused where it stands.

use std::io::Write;

use liken::data::{Dataset, RelevanceSource};

use crate::place::{Place, Said};

const DOCUMENTS: &str = "id\ttitle\nd1\tone\nd2\ttwo\nd3\tthree\n";

const SMART: &str =
    ".I 1\n.T\nwings\n.W\n.5 of the flow\nover wings\n.I 2\n.T\nheat\n.W\nslabs\n.X\n1 2\n";

const SMART_QUERIES: &str = ".I 001\n.W\nflow over wings\n.I 007\n.W\nheat in slabs\n";

fn grades(data: &Dataset) -> Vec<(String, String, f32)> {
    let mut all = Vec::new();
    for (i, row) in data.test.rows().enumerate() {
        for (&doc, &grade) in row.indices.iter().zip(row.values) {
            let query = data.queries.get(i).unwrap().id;
            all.push((query, data.documents.get(doc as usize).unwrap().id, grade));
        }
    }
    all
}

fn pair(query: &str, doc: &str, grade: f32) -> (String, String, f32) {
    (query.into(), doc.into(), grade)
}

/// Imports judgments alone, all of them for the test.
fn judged(place: &Place, flags: &str) -> Said {
    place.run(&format!("import {flags} --validation 0 --test 1 -o data --force"))
}

#[test]
fn a_smart_collection_is_recognised_and_its_queries_can_be_numbered() {
    let place = Place::with(&[
        ("c.all", SMART),
        ("c.qry", SMART_QUERIES),
        ("c.rel", "1 1 1\n1 2 -1\n2 2 3\n"),
    ]);
    let line = "--documents c.all --queries c.qry --judgments c.rel";
    judged(&place, line)
        .refused(1, &["c.rel:1: ", "the unknown query \"1\"", "--columns queries:id=position"]);
    let line = format!("{line} --columns queries:id=position");
    judged(&place, &line).refused(1, &["c.rel:2: ", "found -1", "--grades -1=0"]);
    let said = judged(&place, &format!("{line} --grades 1=4,3=2,-1=0"));
    said.shows(&[
        "note: c.all: read as smart, by its content",
        "note: c.rel: read as qrels, by its content",
        "only methods that learn from documents alone can be trained",
    ]);
    let data = place.dataset("data");
    assert_eq!(grades(&data), [pair("1", "1", 4.0), pair("1", "2", 0.0), pair("2", "2", 2.0)]);
    let document = data.documents.get(0).unwrap();
    assert_eq!(document.fields["body"], ".5 of the flow\nover wings");
    assert_eq!(data.documents.get(1).unwrap().fields["x"], "1 2");
    assert_eq!(data.queries.get(0).unwrap().text, "flow over wings");
}

#[test]
fn trec_files_are_read() {
    let place = Place::with(&[
        (
            "docs.sgml",
            "<DOC>\n<DOCNO> A-1 </DOCNO>\n<TEXT>wings &amp; flow</TEXT>\n</DOC>\n<DOC><DOCNO>A-2</DOCNO>heat</DOC>\n",
        ),
        ("topics", "<top>\n<num> Number: 301\n<title> Wings\n<desc> Description:\nFlow.\n</top>\n"),
        ("q.txt", "301 0 A-1 1\n301 0 A-2 0\n"),
    ]);
    judged(&place, "--documents docs.sgml --queries topics --judgments q.txt").fine();
    let data = place.dataset("data");
    assert_eq!(grades(&data), [pair("301", "A-1", 1.0), pair("301", "A-2", 0.0)]);
    assert_eq!(data.documents.get(0).unwrap().fields["body"], "wings & flow");
    assert_eq!(data.queries.get(0).unwrap().text, "Wings");
    judged(
        &place,
        "--documents docs.sgml --queries topics --judgments q.txt --columns queries:text=desc",
    )
    .fine();
    assert_eq!(place.dataset("data").queries.get(0).unwrap().text, "Flow.");
}

#[test]
fn json_documents_have_paths_and_a_list_makes_rows() {
    let documents = r#"[ { "key": "d1", "labels": { "pt": "um", "en": "one" }, "also": ["a", "b"] },
        { "key": "d2", "labels": { "en": "two" } } ]"#;
    let log = r#"{ "q": "first", "hits": [ { "doc": "d1", "n": 9 }, { "doc": "d2", "n": 4 } ] }
        { "q": "second", "hits": [] }
        { "q": "third", "hits": [ { "doc": "d2", "n": 5 } ] }"#;
    let place = Place::with(&[("d.json", documents), ("log.json", log)]);
    let line = "import --clicks log.json --documents d.json --columns query=q,doc=hits.doc,clicks=hits.n --columns documents:id=key,title=labels.pt --split edges --validation 0 --test 0.1 -o data";
    place.run(line).fine();
    let data = place.dataset("data");
    assert_eq!((data.clicks.nnz() + data.test.nnz(), data.queries.len()), (3, 2));
    assert_eq!(data.documents.get(0).unwrap().fields["title"], "um");
    assert!(!data.documents.get(1).unwrap().fields.contains_key("title"));
    place.file("two.json", r#"{ "q": "a", "x": [{ "doc": "d1" }], "y": [{ "n": 1 }] }"#);
    place
        .run("import --clicks two.json --documents d.json --columns query=q,doc=x.doc,clicks=y.n --columns documents:id=key -o two")
        .refused(1, &["two.json:1: ", "columns from one list of objects", "both x and y"]);
}

#[test]
fn bags_tags_and_classes_are_read_in_the_format_of_lda_c() {
    let place = Place::with(&[
        ("bags.dat", "2 0:1 2:3\n1 1:2\n0\n"),
        ("words.txt", "flow\nheat\nwing\n"),
        ("classes.txt", "a\nb\na\n"),
        ("tags.dat", "wing-flow\nheat_slab\n"),
        ("items.dat", "2 0 1\n1 1\n"),
    ]);
    let line = "import --documents bags.dat --vocabulary words.txt --classes classes.txt --queries tags.dat --input-format queries:lines --links items.dat --split edges --validation 0 --test 0.1 -o data";
    place.run(line).fine();
    let data = place.dataset("data");
    assert_eq!(data.documents.get(0).unwrap().fields["body"]["wing"], 3);
    assert_eq!(data.documents.get(2).unwrap().fields["class"], "a");
    assert_eq!(data.queries.get(1).unwrap().text, "heat_slab");
    assert_eq!(data.clicks.nnz() + data.test.nnz(), 3);
    let names: Vec<&str> = data.about().sources.iter().map(|source| &*source.name).collect();
    assert_eq!(names, ["tags.dat", "words.txt", "classes.txt", "bags.dat", "items.dat"]);
    place.run("train bm25 data -o model").fine();
    place.run("search model wing_flow").shows(&["\n1 "]);
    place
        .run("import --documents bags.dat -o none")
        .refused(1, &["bags.dat: holds numbers of words", "--vocabulary FILE"]);
}

#[test]
fn orcas_needs_no_header_and_no_counts() {
    let place = Place::with(&[(
        "orcas.tsv",
        "1\tgithub\tD1\thttps://github.com\n2\twings\tD2\thttp://w.org\n3\tgithub\tD2\thttp://w.org\n",
    )]);
    place.run("import --clicks orcas.tsv --preset orcas --validation 0 --test 0.3 -o data").fine();
    let data = place.dataset("data");
    assert_eq!((data.queries.len(), data.documents.len()), (2, 2));
    assert_eq!(data.about().min_clicks, None);
    place
        .run("import --links orcas.tsv --preset orcas -o out")
        .refused(2, &["--preset is for the clicks, but there is no --clicks"]);
    place.run("import --help").shows(&["orcas"]);
}

#[test]
fn documents_can_be_made_from_their_texts() {
    let pairs = "ａ\tａ ｔｅｘｔ\t2\nａ\tanother\t0\nb\tａ ｔｅｘｔ \t1\nc\tanother\t3\n";
    let place = Place::with(&[("pairs.txt", pairs)]);
    let line = "import --judgments pairs.txt --input-format tsv --no-header --columns judgments:query=0,doc=1,grade=2 --doc-text title";
    place.run(&format!("{line} --validation 0 --test 1 -o data")).fine();
    let data = place.dataset("data");
    assert_eq!((data.documents.len(), data.test.nnz(), data.clicks.nnz()), (2, 4, 0));
    let document = data.documents.get(0).unwrap();
    assert_eq!(document.fields["title"], "ａ ｔｅｘｔ");
    assert_eq!(document.id.len(), 16);
    place.run(&format!("{line} --split queries --validation 0 --test 0.3 -o learnt")).fine();
    let learnt = place.dataset("learnt");
    assert_eq!(learnt.about().evidence, RelevanceSource::Judgments);
    assert!(learnt.clicks.nnz() > 0 && learnt.clicks.values().iter().all(|&weight| weight > 0.0));
    place.run(&format!("{line} --documents d.tsv -o out")).refused(2, &["--doc-text"]);
}

#[test]
fn every_verb_says_what_it_can_do_without_training_pairs() {
    let place = Place::with(&[
        ("c.all", SMART),
        ("c.qry", SMART_QUERIES),
        ("c.rel", "001 1 1\n007 2 1\n"),
        ("q.tsv", "q1\twings\n"),
    ]);
    judged(&place, "--documents c.all --queries c.qry --judgments c.rel").fine();
    place.run("import --documents c.all -o alone").shows(&["0 queries, 2 documents"]);
    for data in ["data", "alone"] {
        place.run(&format!("stats {data}")).shows(&["distinct words per document"]);
        place.run(&format!("stats {data} --format json")).fine().json();
        place.run(&format!("info {data}")).shows(&["0 pairs, 0 clicks"]);
        for model in ["bm25", "vsm", "lm"] {
            place.run(&format!("train {model} {data} -o m --force")).fine();
            place.run("search m wings").shows(&["wings"]);
            place.run("run m --queries q.tsv -o run.txt --force").fine();
        }
        for model in ["pls", "rmls"] {
            let said = place.run(&format!("train {model} {data} -o m --force"));
            said.refused(1, &["there are no training clicks", "train bm25, vsm, lm or lsi_dt"]);
        }
    }
    let said = place.run("compare data").shows(&["bm25", "vsm", "lm"]);
    assert!(
        said.err.contains("left out: pls, rmls, association, pls+bm25, rmls+bm25"),
        "{}",
        said.err
    );
    place.run("compare data --models bm25,pls").refused(1, &["there are no training clicks"]);
    place.run("compare alone").refused(1, &["no test queries to measure on", "with judgments"]);
    place.run("import --queries c.qry -o out").refused(2, &["required"]);
}

#[test]
fn judged_pairs_are_learnt_from_where_the_split_leaves_some() {
    let judgments = "query\tdoc\tgrade\tsplit\na\td1\t2\ttrain\na\td2\t0\ttrain\nb\td2\t1\tdev\nc\td3\t1\ttest\n";
    let place = Place::with(&[("j.tsv", judgments), ("d.tsv", DOCUMENTS)]);
    place.run("import --judgments j.tsv --documents d.tsv -o given").shows(&[
        "judged pairs",
        "2 judgments in the training split, where pairs of a grade above 0",
    ]);
    let given = place.dataset("given");
    assert_eq!((given.clicks.nnz(), given.clicks.values()), (1, &[2.0][..]));
    assert_eq!(grades(&given), [pair("c", "d3", 1.0)]);
    assert_eq!(given.validation.nnz(), 1);
    place.run("import --judgments j.tsv --documents d.tsv --split judgments -o dealt").fine();
    let dealt = place.dataset("dealt");
    assert_eq!((dealt.clicks.nnz(), dealt.validation.nnz() + dealt.test.nnz()), (0, 4));
    assert_eq!(dealt.queries.get(0).unwrap().clicks, 0.0);
}

fn gb18030(text: &str) -> Vec<u8> {
    encoding_rs::GB18030.encode(text).0.into_owned()
}

#[test]
fn encodings_are_detected_or_said_and_bad_lines_are_never_mended() {
    let place = Place::with(&[("d.tsv", DOCUMENTS)]);
    let rows: String = (0..20).map(|i| format!("爱回家第{i}集\td1\t9\n")).collect();
    let clicks = format!("query\tdoc\tclicks\n{rows}新年\td2\t9\n");
    place.file("c.tsv", gb18030(&clicks));
    let line = "import --clicks c.tsv --documents d.tsv -o data --force";
    place.run(line).shows(&["c.tsv: read as gb18030 (detected; set `--encoding NAME` to be sure)"]);
    assert!(place.dataset("data").queries.get(0).unwrap().text.starts_with("爱回家第"));
    let identity = place.dataset("data").queries.get(3).unwrap();
    for encoding in ["gb18030", "clicks:GBK"] {
        let said = place.run(&format!("{line} --encoding {encoding}")).fine();
        assert!(!said.out.contains("read as"), "{}", said.out);
        assert_eq!(place.dataset("data").queries.get(3).unwrap(), identity);
    }

    // One line in another encoding.
    let mixed = [&gb18030(&clicks)[..], "旅行\td3\t9\n".as_bytes(), b"\xff\td1\t9\n"].concat();
    place.file("c.tsv", &mixed);
    let line = format!("{line} --encoding gb18030");
    place.run(&line).refused(1, &["c.tsv:", "expected text in gb18030", "--encoding NAME"]);
    let said = place.run(&format!("{line} --lenient")).fine();
    assert!(said.out.contains("not in the encoding of the file"), "{}", said.out);
    assert!(said.out.contains("c.tsv:24: expected text in gb18030"), "{}", said.out);

    for (name, little, mark) in [("a", true, true), ("b", false, true), ("c", true, false)] {
        let units = clicks.encode_utf16();
        let bytes = units.flat_map(|u| if little { u.to_le_bytes() } else { u.to_be_bytes() });
        let mark: &[u8] = match (mark, little) {
            (false, _) => b"",
            (_, true) => b"\xff\xfe",
            (_, false) => b"\xfe\xff",
        };
        place.file("c.tsv", [mark, &bytes.collect::<Vec<u8>>()].concat());
        place.run("import --clicks c.tsv --documents d.tsv -o data --force").fine();
        assert_eq!(place.dataset("data").queries.get(3).unwrap(), identity, "{name}");
    }
    place
        .run("import --clicks c.tsv --encoding klingon -o out")
        .refused(2, &["klingon", "gb18030"]);
    place
        .run("import --clicks c.tsv --encoding links:gbk -o out")
        .refused(2, &["--encoding is for the links, but there is no --links"]);
}

#[test]
fn latin_text_is_not_guessed_but_can_be_said() {
    let place = Place::with(&[("d.tsv", DOCUMENTS)]);
    place
        .file("c.csv", b"query,doc,clicks\ncaf\xe9,d1,9\n\"na\xefve, \xe9l\xe8ve\",d2,9\nx,d3,9\n");
    let line =
        "import --clicks c.csv --documents d.tsv --split edges --validation 0 --test 0 -o data";
    place.run(line).refused(1, &["c.csv:2: ", "invalid UTF-8", "--encoding latin1"]);
    place.run(&format!("{line} --encoding latin1")).fine();
    assert_eq!(place.dataset("data").queries.get(1).unwrap().text, "naïve, élève");
}

/// Imports one hostile table of documents.
#[track_caller]
fn documents_refused(name: &str, bytes: &[u8], flags: &str, words: &[&str]) {
    let place = Place::with(&[("words.txt", "a\nb\n")]);
    place.file(name, bytes);
    place.run(&format!("import --documents {name} {flags} -o out/data")).refused(1, words);
    assert!(!place.path("out/data").exists());
}

#[test]
fn hostile_documents_are_refused_where_they_stand() {
    documents_refused(
        "d.all",
        b"text\n.I 1\n",
        "--input-format smart",
        &["d.all:1: ", "begins with .I"],
    );
    documents_refused(
        "d.all",
        b".I 1\n.W\nx\n.I 1\n.W\ny\n",
        "",
        &["d.all:4: ", "another content"],
    );
    documents_refused("d.sgml", b"<DOC>\n<DOCNO>1</DOCNO>\n", "", &["d.sgml:1: ", "</doc>"]);
    documents_refused(
        "d.json",
        b"[{\"id\": 1},\n{\"id\": 2, \"ti",
        "",
        &["d.json:2: ", "the end of the file"],
    );
    documents_refused("d.json", b"[]", "", &["has no rows"]);
    let ldac = "--input-format ldac --vocabulary words.txt";
    documents_refused("d.dat", b"2 0:1\n", ldac, &["d.dat:1: ", "2 entries"]);
    documents_refused("d.dat", b"1 0:1\n1 2:1\n", ldac, &["d.dat:2: ", "a term below 2"]);
    documents_refused("d.tsv", b"id\ttitle\nd1\ta\0b\n", "", &["d.tsv:2: ", "a zero byte"]);
    documents_refused("d.csv", b"id,title\nd1,a\0b\n", "", &["d.csv:2: ", "a zero byte"]);
    documents_refused(
        "d.tsv",
        b"id\ttitle\rd1\ta\rd2\tb\r",
        "",
        &["d.tsv: ", "carriage returns", "tr "],
    );
    documents_refused(
        "d.txt",
        b"one\ntwo\n",
        "",
        &["d.txt: has neither a known file extension", "documents:FORMAT"],
    );
    let place = Place::with(&[("d.qrels", "1 2 3\n")]);
    place
        .run("import --documents d.qrels -o out")
        .refused(2, &["documents:qrels", "judgments or links"]);
    let endless = [b".I 1\n.W\n".as_slice(), &vec![b'x'; (64 << 20) + 1]].concat();
    documents_refused("d.all", &endless, "", &["d.all:3: ", "at most 64 MiB"]);

    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zipped.write_all(SMART.repeat(50).as_bytes()).unwrap();
    let zipped = zipped.finish().unwrap();
    documents_refused("d.all.gz", &zipped[..zipped.len() / 2], "", &["truncated: the gzip data"]);
}

#[test]
fn lenient_counts_what_it_skips_and_shows_samples() {
    let place = Place::with(&[
        ("d.all", "lost\n.I 1\n.W\nx\n.I 2\ny\n.I 3\n.W\nz\n"),
        ("q.lines", "first\nsecond\n"),
        ("j.qrels", "0 0 1 1\n1 0 3 1 5\n1 0 3 1\n"),
        (
            "d.json",
            "[{\"id\": \"1\", \"body\": \"x\"},\n7,\n{\"id\": \"3\", \"body\": \"y\"},\n{\"id\": ",
        ),
    ]);
    let line = "--queries q.lines --input-format queries:lines --judgments j.qrels --lenient";
    judged(&place, &format!("--documents d.all --input-format documents:smart {line}")).shows(&[
        "dropped 1 row of d.all: text outside a record",
        "d.all:1: expected",
        "dropped 1 row of d.all: text outside a field",
        "dropped 1 row of j.qrels: wrong number of fields",
        "j.qrels:2: expected query, iteration, document and grade",
    ]);
    assert_eq!(grades(&place.dataset("data")), [pair("0", "1", 1.0), pair("1", "3", 1.0)]);
    judged(&place, &format!("--documents d.json {line}")).shows(&[
        "dropped 1 row of d.json: not a JSON object",
        "d.json:2: expected a JSON object, found \"7,\"",
        "dropped 1 row of d.json: JSON cut off",
    ]);
    assert_eq!(place.dataset("data").documents.len(), 2);
}

#[test]
fn truth_values_and_fractions_of_zeros_are_whole_numbers() {
    let tsv = "query\tdoc\trank\tclicked\na b\td1\t1.0\t1.0\na b\td2\t2.0\t0.0\n";
    let json = "{\"query\":\"a b\",\"doc\":\"d1\",\"rank\":1.0,\"clicked\":true}\n{\"query\":\"a b\",\"doc\":\"d2\",\"rank\":2,\"clicked\":false}\n";
    let place = Place::with(&[("e.tsv", tsv), ("e.jsonl", json)]);
    for name in ["e.tsv", "e.jsonl"] {
        let line = format!(
            "import --events {name} --min-clicks 1 --validation 0 --test 0 --force -o data"
        );
        place.run(&line).fine();
        let lists = place.dataset("data").impressions().unwrap();
        assert_eq!(lists.by_rank(2), [(1, 1), (1, 0)], "{name}");
    }
}

#[test]
fn a_document_with_another_content_names_where_the_first_was() {
    let place = Place::with(&[
        ("e.tsv", "query\tdoc\na\td1\n"),
        ("f.tsv", "query\tdoc\nb\td1\n"),
        ("d.tsv", "id\ttitle\nd0\tnone\nd1\tone\n"),
        ("n.tsv", "id\ttitle\nd1\tother\n"),
    ]);
    let line = "import --events e.tsv --documents d.tsv --min-clicks 1 --validation 0 --test 0";
    place.run(&format!("{line} -o data")).fine();
    place
        .run("import --events f.tsv --documents n.tsv --append data")
        .refused(1, &["n.tsv:2: ", "as in document 2 of the dataset that is appended to"]);
}
