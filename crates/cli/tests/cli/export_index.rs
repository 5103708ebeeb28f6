//! What came into an index while it was served comes out again, and what an index is.

use std::fs;

use serde_json::{Value, json};

use crate::place::Place;
use crate::service::Service;
use crate::shared::{at, shared};

/// A served index with clicks, pages and grades.
fn used() -> (Place, Service) {
    let place = Place::new();
    let (data, bm25, rmls) = (at("data"), at("bm25"), at("rmls"));
    place.run(&format!("index {data} --model {bm25} --model learnt={rmls} -o index")).silent();
    let service = Service::start(&place, "serve index --log-format none");
    let mut events = Vec::new();
    for visit in 0..30 {
        let (first, second) = (format!("d{:04}", visit % 10 + 1), "d0020");
        let (session, time) = (format!("visit {visit}"), 1_763_215_600.0 + f64::from(visit));
        let query = format!("query \"{}\"\twith a tab", visit % 10);
        events.push(json!({ "kind": "impression", "query": query, "shown": [first, second],
            "session": session, "time": time }));
        events.push(json!({ "kind": "click", "query": query, "id": first, "rank": 1,
            "session": session, "time": time + 5.0 }));
    }
    assert_eq!(service.post("/events", &json!(events)).json()["written"], 60);
    let grade = |query: &str, id: &str, grade: u8, judge: &str| json!({ "query": query, "id": id, "grade": grade, "judge": judge });
    // What no qrels could hold is refused, with all that came with it.
    let blank = grade("cheap\tflights", "white space", 1, "ann");
    service.post("/judgments", &json!([blank])).refused(400, &["white space", "qrels"]);
    let grades = json!([
        grade("heart attack", "d0001", 3, "ann"),
        grade("heart attack", "d0001", 2, "bob"),
        grade("heart attack", "d0002", 0, "ann"),
        grade("cheap\tflights", "d0003", 1, "ann"),
    ]);
    assert_eq!(service.post("/judgments", &grades).json()["written"], 4);
    let documents = json!([
        { "id": "new", "title": "Heart", "year": 2001, "tags": ["a", "b"] },
        { "id": "d0002", "title": "replaced" },
    ]);
    service.put("/documents?wait=true", &documents).json();
    service.ask("DELETE", "/documents/d0005?wait=true", None).json();
    (place, service)
}

/// The line to type that was printed, for [`Place::run`].
fn to_read_it(out: &str) -> String {
    let line = out.lines().find_map(|line| line.strip_prefix("to import it: liken ")).unwrap();
    line.to_owned()
}

#[test]
fn events_and_judgments_of_an_index_can_be_imported() {
    let (place, service) = used();
    // While it is served and after it, the same comes out.
    let events = place.run("export index --events events.jsonl").silent();
    assert!(events.out.contains("wrote events.jsonl: 60 events, 90 lines"), "{}", events.out);
    let documents = place.run("export index --documents documents.jsonl").silent();
    assert!(documents.out.contains("660 documents"), "{}", documents.out);
    let said = place.run("export index --judgments judged").silent();
    assert!(said.out.contains("judgments.qrels with 3 judged pairs"), "{}", said.out);
    service.stop();
    let read = |name: &str| fs::read_to_string(place.path(name)).unwrap();
    assert_eq!(place.run("export index --events -").silent().out, read("events.jsonl"));
    assert_eq!(place.run("export index --documents -").silent().out, read("documents.jsonl"));

    // The grade of two is the median of theirs, rounded up.
    assert_eq!(read("judged/judgments.qrels"), "q1 0 d0001 3\nq1 0 d0002 0\nq2 0 d0003 1\n");
    assert_eq!(read("judged/queries.tsv"), "q1\theart attack\nq2\tcheap flights\n");
    let exported: Vec<Value> =
        read("documents.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |id: &str| exported.iter().find(|document| document["id"] == id);
    let new = json!({ "id": "new", "title": "Heart", "year": 2001, "tags": ["a", "b"] });
    assert_eq!(of("new"), Some(&new));
    assert_eq!(of("d0002"), Some(&json!({ "id": "d0002", "title": "replaced" })));
    assert_eq!(of("d0005"), None);
    let original = shared().dataset("data").documents.get(0).unwrap();
    assert_eq!(of(&original.id), Some(&serde_json::to_value(&original).unwrap()));

    // The lines that are printed can be typed.
    let line = to_read_it(&events.out)
        .replace("-o data", "--documents documents.jsonl --lenient -o clicks");
    place.run(&format!("{line} --min-clicks 1 --validation 0 --test 0")).fine();
    let data = place.dataset("clicks");
    assert_eq!(data.documents.len(), 660);
    // Three visits a query, each with a click on the first of two; d0005 is gone, and with it the
    // query that had no other click.
    assert_eq!(data.clicks.values(), [3.0; 9]);
    let lists = data.impressions().unwrap();
    assert_eq!(lists.by_rank(2), [(27, 27), (27, 0)]);
    let line = to_read_it(&said.out).replace("-o data", "-o judged-data");
    place.run(&line).fine();
    let data = place.dataset("judged-data");
    assert_eq!(data.validation.nnz() + data.test.nnz(), 3);

    // A model of what was exported can be loaded into the index that it came from.
    place.run("train rmls clicks -o again --dim 5").fine();
    let service = Service::start(&place, "serve index --log-format none");
    let path = place.path("again").to_str().unwrap().to_owned();
    let load = json!({ "name": "learnt", "path": path, "activate": true });
    assert_eq!(service.post("/models", &load).json()["active"], true);
    let found = service.search("query with a tab", &["learnt"]);
    assert_eq!(found["hits"][0]["rank"], 1, "{found}");
}

#[test]
fn exports_of_an_index_are_careful() {
    let (place, service) = used();
    drop(service);
    for (line, words) in [
        ("export index --events log.tsv", ".jsonl"),
        ("export index --documents log", ".jsonl"),
        ("export index --events a.jsonl -o b", "cannot be used with"),
        ("export index --events a.jsonl --judgments b", "cannot be used with"),
        ("export index --events a.jsonl --min-score 0.5", "cannot be used with"),
        ("export index --format beir -o b", "is an index"),
        ("export index --vectors npy -o b", "is an index"),
    ] {
        place.run(line).refused(2, &[words]);
    }
    place.run(&format!("export {} --events a.jsonl", at("data"))).refused(1, &["is not an index"]);
    place.file("a.jsonl", "mine");
    place.file("judged/mine.txt", "mine");
    place.run("export index --events a.jsonl").refused(1, &["a.jsonl: already exists", "--force"]);
    place.run("export index --judgments judged").refused(1, &["already exists"]);
    place.run("export index --judgments judged --force").refused(1, &["holds more than that"]);
    place.run("export index --events a.jsonl --force").silent();
    fs::remove_file(place.path("judged/mine.txt")).unwrap();
    place.run("export index --judgments judged --force").fine();
    place.run("export index --judgments judged --force").fine();
    // Nothing comes of nothing.
    place.run(&format!("index {} --model {} -o empty", at("data"), at("bm25"))).silent();
    place.run("export empty --events e.jsonl").refused(1, &["no events", "POST /events"]);
    place.run("export empty --judgments e").refused(1, &["no judgments", "POST /judgments"]);
    assert!(!place.path("e.jsonl").exists() && !place.path("e").exists());
}

#[test]
fn info_describes_an_index() {
    let (place, service) = used();
    let version = service.get("/models").json()[0]["version"].as_str().unwrap().to_owned();
    for served in [Some(service), None] {
        place.run("info index").silent().shows(&[
            "index       index\n",
            "written by  liken 0.",
            "… with 660 documents",
            "documents   660, after ",
            &format!("model       bm25 {version}, active: bm25\n"),
            ", active: rmls of 40 dimensions, neighbours exact\n",
            "events      60\n",
            "judgments   4\n",
            "keys        none: open to everyone who can reach the service\n",
            "size        ",
            ": database ",
        ]);
        let json = place.run("info index --format json").silent().json();
        let count = |name: &str| json[name].as_u64().unwrap();
        assert_eq!(json["kind"], "index");
        assert_eq!(
            ["documents", "events", "judgments", "keys"].map(count),
            [660, 60, 4, 0],
            "{json}"
        );
        assert_eq!(
            (&json["models"][1]["name"], &json["models"][1]["dim"]),
            (&"learnt".into(), &40.into())
        );
        let identity = shared().run("info data --format json").silent().json()["identity"].clone();
        assert_eq!(json["about"]["dataset"], identity);
        for part in ["database", "text", "embeddings", "models", "dataset"] {
            assert!(json["bytes"][part].as_u64().unwrap() > 0, "{part}");
        }
        drop(served);
    }
    place.run("key add index --name a").fine();
    place.run("info index").silent().shows(&["keys        1 valid"]);
    place.file("index/index.json", "{");
    place.run("info index").refused(1, &["error: index: index.json is damaged"]);
}
