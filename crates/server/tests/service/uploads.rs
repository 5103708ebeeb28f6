//! Uploads with good and bad documents.

use serde_json::{Value, json};

use crate::world::{Answer, Service};

const LINES: &str = "application/x-ndjson";

/// Good documents in lines 1, 5, 8 and 9; line 3 is empty.
const MIXED: &str = "{\"id\": \"good1\", \"title\": \"waax\"}\n\
    {\"title\": \"no id\"}\n\
    \n\
    not JSON\n\
    {\"_id\": \"good2\"}\n\
    {\"id\": \"\"}\n\
    {\"id\": \"cut\n\
    {\"id\": \"d00\", \"title\": \"replaced\"}\n\
    {\"id\": 17}\n\
    [1]\n";

/// Whether there is a document of that name.
fn there(service: &Service, id: &str) -> bool {
    service.send("GET", &format!("/documents/{id}"), None, None).status == 200
}

fn upload(service: &Service, method: &str, query: &str, body: (&str, &str)) -> Answer {
    service.send(method, &format!("/documents{query}"), None, Some(body))
}

/// Places of the bad ones that are shown, each with a word of the reason.
#[track_caller]
fn shown(answer: &Value, expected: &[(usize, &str)]) {
    let examples = answer["examples"].as_array().unwrap();
    assert_eq!(examples.len(), expected.len(), "{answer}");
    for (example, (line, word)) in examples.iter().zip(expected) {
        assert_eq!(example["line"], *line, "{answer}");
        assert!(example["detail"].as_str().unwrap().contains(word), "{word}: {example}");
    }
}

#[test]
fn a_lenient_upload_takes_the_good_lines_and_names_the_bad_ones() {
    for (method, flag) in [("PUT", "lenient=true"), ("POST", "lenient=1"), ("PUT", "lenient")] {
        let service = Service::start();
        let query = format!("?wait=true&{flag}");
        let answer = upload(&service, method, &query, (LINES, MIXED)).json();
        let counts = ["written", "replaced", "refused"].map(|name| answer[name].as_u64().unwrap());
        assert_eq!(counts, [4, 1, 5], "{answer}");
        let bad = [
            (2, "the id is missing"),
            (4, "not JSON"),
            (6, "id is empty"),
            (7, "breaks off"),
            (10, "expected an object"),
        ];
        shown(&answer, &bad);
        for good in ["good1", "good2", "17"] {
            assert!(there(&service, good), "{good}");
        }
        let replaced = service.send("GET", "/documents/d00", None, None).json();
        assert_eq!(replaced["title"], "replaced");
        // They are found at once, since it was waited for.
        let found = service.post("/search", &json!({ "query": "waax", "k": 100 }));
        let hits = found["hits"].as_array().unwrap();
        assert!(hits.iter().any(|hit| hit["id"] == "good1"), "{found}");
        assert_eq!(service.send("GET", "/ready", None, None).json()["documents"], 63);
    }
}

#[test]
fn a_strict_upload_with_a_bad_line_writes_nothing() {
    let service = Service::start();
    for query in ["", "?lenient=false", "?lenient=0"] {
        let answer = upload(&service, "PUT", query, (LINES, MIXED));
        assert_eq!(answer.status, 400);
        let detail = answer.detail();
        for words in ["nothing was written", "line 2: the id is missing", "line 4: ", "line 10: "] {
            assert!(detail.contains(words), "{words}: {detail}");
        }
    }
    for id in ["good1", "good2", "17"] {
        assert!(!there(&service, id), "{id}");
    }
    let status = service.send("GET", "/ready", None, None).json();
    assert_eq!((&status["documents"], &status["written"]), (&60.into(), &0.into()));
}

#[test]
fn lists_are_counted_by_their_places() {
    let service = Service::start();
    let list = json!([{ "id": "a" }, { "x": 1 }, "text", { "id": "b" }]).to_string();
    let body = ("application/json", list.as_str());
    let answer = upload(&service, "PUT", "", body);
    assert_eq!(answer.status, 400);
    assert!(answer.detail().contains("number 2: ") && answer.detail().contains("number 3: "));
    assert!(!there(&service, "a"));
    let answer = upload(&service, "PUT", "?lenient=true", body).json();
    assert_eq!((&answer["written"], &answer["refused"]), (&2.into(), &2.into()));
    shown(&answer, &[(2, "the id is missing"), (3, "expected an object")]);
    assert!(there(&service, "a") && there(&service, "b"));
    // What is no list at all is refused as a whole, however lenient.
    let cut = upload(&service, "PUT", "?lenient=true", ("application/json", "[{\"id\": \"c\"}, "));
    assert_eq!(cut.status, 400);
    assert!(!there(&service, "c"));
}

#[test]
fn all_bad_lines_are_counted_and_ten_are_shown() {
    let service = Service::start();
    let lines = "{\"x\": 1}\n".repeat(25) + "{\"id\": \"last\"}\n";
    let answer = upload(&service, "PUT", "?lenient=true", (LINES, &lines)).json();
    assert_eq!((&answer["written"], &answer["refused"]), (&1.into(), &25.into()));
    let bad: Vec<(usize, &str)> = (1..=10).map(|line| (line, "the id is missing")).collect();
    shown(&answer, &bad);
    assert!(there(&service, "last"));
    let none = upload(&service, "PUT", "?lenient=true", (LINES, "x\n")).json();
    assert_eq!((&none["written"], &none["refused"]), (&0.into(), &1.into()));
    let empty = upload(&service, "PUT", "?lenient=true", (LINES, "\n\n"));
    assert_eq!(empty.status, 400, "nothing was sent");
}
