//! An index is made, served, asked over HTTP, and ended.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::place::Place;
use crate::service::{Service, until};
use crate::shared::{at, shared};

/// Queries that were searched before, new ones, and one with a word that nobody knows.
const QUERIES: [&str; 6] =
    ["heart attack", "cheap flights", "heart", "zyxwv heart", "flights to rome", "how to jog"];

/// A folder with an index of the shared log.
fn indexed(models: &[&str]) -> Place {
    let place = Place::new();
    let models: Vec<String> = models.iter().map(|name| format!("--model {}", at(name))).collect();
    place.run(&format!("index {} {} -o index", at("data"), models.join(" "))).silent();
    place
}

/// Ids with the bits of their scores.
fn scores(hits: &Value) -> Vec<(String, u64)> {
    let hits = hits.as_array().unwrap().iter();
    let pair = |hit: &Value| {
        (hit["id"].as_str().unwrap().to_owned(), hit["score"].as_f64().unwrap().to_bits())
    };
    hits.map(pair).collect()
}

#[test]
fn an_index_is_made_served_and_searched() {
    let place = Place::new();
    let line = format!("index {} --model {} --model {}", at("data"), at("bm25"), at("rmls"));
    place.run(&format!("{line} -o index")).silent().shows(&[
        "bm25 ",
        "rmls ",
        "exact",
        "660 documents",
        "to serve it: liken serve index",
    ]);
    let json = place.run(&format!("{line} -o index --force --format json")).silent().json();
    assert_eq!((&json["documents"], json["models"].as_array().unwrap().len()), (&660.into(), 2));
    let service = Service::start(&place, "serve index --log-format none");
    assert!(service.said.starts_with("660 documents; bm25 "), "{}", service.said);
    assert!(service.said.ends_with("(Ctrl-C ends it)\n"), "{}", service.said);
    assert!(service.url.starts_with("http://127.0.0.1:"), "{}", service.url);
    let status = service.get("/ready").json();
    assert_eq!((&status["status"], &status["documents"]), (&"ok".into(), &660.into()));
    // The first model answers unless others are asked for.
    let found = service.search("heart attack", &[]);
    assert_eq!(found["models"], json!([status["models"][0]]));
    assert_eq!(found["hits"][0]["rank"], 1);
    let both = service.search("heart attack", &["bm25", "rmls"]);
    assert_eq!(both["models"], status["models"]);
    assert_eq!(both["fusion"]["method"], "z_score");
    service.post("/search", &json!({ "query": "heart", "kk": 1 })).refused(400, &["kk"]);
    service.get("/documents/nobody").refused(404, &["nobody"]);
    // People get a page.
    assert!(service.get("/").text.starts_with("<!DOCTYPE html>"));
    let said = service.stop();
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", ""));
}

#[test]
fn scores_are_those_of_search_to_the_last_bit() {
    let place = indexed(&["bm25", "rmls", "mix"]);
    let service = Service::start(&place, "serve index --log-format none");
    for (name, model) in [("bm25", "bm25"), ("rmls", "rmls"), ("rmls-bm25", "mix")] {
        for query in QUERIES {
            let line = format!("search {} -k 10 --format json", at(model));
            let expected = place.ask(&line, &[query]).fine().json();
            let found = service.search(query, &[name]);
            assert_eq!(scores(&found["hits"]), scores(&expected["hits"]), "{name}: {query}");
            assert_eq!(found["unknown_words"], expected["unknown_words"]);
            for (hit, expected) in
                found["hits"].as_array().unwrap().iter().zip(expected["hits"].as_array().unwrap())
            {
                let mut document = expected["document"].clone();
                document.as_object_mut().unwrap().remove("id");
                assert_eq!(hit["document"], document);
                assert_eq!(hit["scores"][name], hit["score"]);
            }
        }
    }
}

#[test]
fn chosen_models_answer_searches_that_name_none() {
    let place = indexed(&["bm25", "rmls"]);
    let service = Service::start(&place, "serve index --models rmls --log-format none");
    let expected = service.search("heart attack", &["rmls"]);
    assert_eq!(service.search("heart attack", &[])["hits"], expected["hits"]);
    drop(service);
    let service = Service::start(&place, "serve index --models bm25,rmls --log-format json");
    let expected = service.search("heart attack", &["bm25", "rmls"]);
    assert_eq!(service.search("heart attack", &[])["hits"], expected["hits"]);
    // One line a request, and the query is nobody's business.
    let said = service.stop();
    let lines: Vec<Value> =
        said.err.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2, "{}", said.err);
    assert!(!said.err.contains("heart"), "{}", said.err);
    place
        .run("serve index --models bm25,pls")
        .refused(2, &["error: --models: the index has no model \"pls\"", "bm25, rmls"]);
}

#[test]
fn what_was_written_is_found_and_survives_a_stop() {
    let place = indexed(&["bm25", "rmls"]);
    let service = Service::start(&place, "serve index --log-format none");
    let document = json!({ "title": "heart heart attack", "year": 2001 });
    let written = service.put("/documents/new%2F1?wait=true", &document).json();
    assert_eq!((&written["written"], &written["replaced"]), (&1.into(), &0.into()));
    let deleted = service.ask("DELETE", "/documents/d0001?wait=true", None).json();
    assert_eq!(deleted["replaced"], 1);
    let ask = json!({ "query": "heart attack", "k": 1000, "filter": { "year": { "gte": 2001 } } });
    let before = service.post("/search", &ask).json();
    assert_eq!(before["hits"][0]["id"], "new/1");
    let full = |service: &Service| {
        let mut found = service.search("heart attack", &["bm25", "rmls"]);
        found.as_object_mut().unwrap().remove("took_ms");
        found
    };
    let all = full(&service);
    service.stop();
    let service = Service::start(&place, "serve index --log-format none");
    assert_eq!(service.get("/ready").json()["documents"], 660);
    assert_eq!(service.post("/search", &ask).json()["hits"], before["hits"]);
    assert_eq!(full(&service), all);
    assert_eq!(service.get("/documents/new%2F1").json()["year"], 2001);
    service.get("/documents/d0001").refused(404, &["d0001"]);
}

#[test]
fn a_model_of_another_dataset_answers_for_the_documents_of_the_index() {
    let place = Place::new();
    place.run("synth demo --scale 0.2 --seed 2 -o other").silent();
    place.run("train bm25 other -o other-bm25").silent();
    place.run(&format!("index {} --model other-bm25 -o index", at("data"))).silent();
    let service = Service::start(&place, "serve index --log-format none");
    let found = service.search("heart attack", &[]);
    // Every hit is a document of this dataset with a word of the query, whatever the other has.
    let data = shared().dataset("data");
    let documents: std::collections::HashMap<String, _> =
        data.documents.iter().map(|document| document.unwrap()).map(|d| (d.id, d.fields)).collect();
    let hits = found["hits"].as_array().unwrap();
    assert!(!hits.is_empty());
    for hit in hits {
        let fields = &documents[hit["id"].as_str().unwrap()];
        assert_eq!(hit["document"].as_object().unwrap(), fields);
        let text = hit["document"].to_string().to_lowercase();
        assert!(text.contains("heart") || text.contains("attack"), "{text}");
    }
}

#[test]
fn only_one_serves_an_index() {
    let place = indexed(&["bm25"]);
    let service = Service::start(&place, "serve index --log-format none");
    let words = format!("process {} writes to this index", service.id());
    place.run("serve index --port 0").refused(1, &["error: index", &words, "stop it"]);
    // Nor is it replaced under the one who serves it.
    let line = format!("index {} --model {} -o index --force", at("data"), at("bm25"));
    place.run(&line).refused(1, &[&words]);
    assert_eq!(service.get("/ready").json()["documents"], 660);
    // The address is taken, too.
    place.run(&format!("index {} --model {} -o second", at("data"), at("bm25"))).silent();
    let port = service.url.rsplit(':').next().unwrap();
    place.run(&format!("serve second --port {port}")).refused(
        1,
        &["error: cannot listen on 127.0.0.1", "another program listens there", "--port"],
    );
    service.kill();
    // A lock ends with its process, however that ended.
    Service::start(&place, "serve index --log-format none").stop();
    place.run(&line).silent();
}

#[test]
fn what_cannot_be_served_is_said() {
    let place = indexed(&["bm25"]);
    let words = ["is not an index", "`liken index DATASET --model MODEL -o INDEX` builds an index"];
    for folder in [at("data"), at("bm25"), "nothing".into()] {
        place.run(&format!("serve {folder}")).refused(1, &words);
        place.run(&format!("key list {folder}")).refused(1, &words);
    }
    place
        .run("serve index --host 0.0.0.0 --port 0")
        .refused(1, &["error: 0.0.0.0 can be reached by others", "liken key add", "--allow-open"]);
    for (option, words) in [
        ("--timeout 0", "more than 0"),
        ("--port 70000", "70000"),
        ("--host here", "here"),
        ("--reserve much", "500MiB"),
        ("--log-format xml", "xml"),
        ("--cors not-a-site", "not-a-site"),
    ] {
        place.run(&format!("serve index {option}")).refused(2, &["error: ", words]);
    }
    let data = at("data");
    place.run(&format!("index {data} -o x")).refused(2, &["--model"]);
    place.run(&format!("index {data} --model =x -o x")).refused(2, &["NAME=FOLDER"]);
    place.run(&format!("index {data} --model nothing -o x")).refused(1, &["error: nothing: "]);
    let twice = format!("index {data} --model {0} --model {0} -o x", at("bm25"));
    place.run(&twice).refused(1, &["error: two models are called \"bm25\"", "bm25-2"]);
    let line = format!("index {data} --model {} -o", at("bm25"));
    place.run(&format!("{line} index")).refused(1, &["error: index: already exists", "--force"]);
    // Only an index is replaced by an index.
    place.file("mine/notes.txt", "x");
    place.run(&format!("{line} mine --force")).refused(1, &["mine: "]);
    place.file("damaged/index.json", "{");
    place.run("serve damaged").refused(1, &["index.json is damaged"]);
    place.file(
        "later/index.json",
        fs_read(&place, "index/index.json").replace("\"format\": 1", "\"format\": 99"),
    );
    place.run("serve later").refused(1, &["format 99", "up to 1"]);
    assert!(!place.path("x").exists());
}

fn fs_read(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path(name)).unwrap()
}

/// The head of a search, and the first half of its body, on a connection that stays open. The
/// service is at work on it when this returns; the other half comes back.
fn half_a_search(service: &Service) -> (TcpStream, String) {
    let body = json!({ "query": "heart attack", "k": 2 }).to_string();
    let (first, second) = body.split_at(body.len() / 2);
    let address = service.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{first}",
        body.len()
    )
    .unwrap();
    // Those who count are counted, too.
    until("the search has begun", || {
        service.get("/metrics").text.contains("\nliken_requests_in_flight 2\n")
    });
    (stream, second.to_owned())
}

#[cfg(unix)]
fn until_closed(service: &Service) {
    let address = service.url.strip_prefix("http://").unwrap();
    until("nobody is let in", || TcpStream::connect(address).is_err());
}

#[cfg(unix)]
#[test]
fn a_stop_finishes_requests_that_run() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let place = indexed(&["bm25"]);
        let service = Service::start(&place, "serve index --timeout 600 --log-format none");
        // Somebody has a connection open and says nothing; that must hold up nobody.
        assert_eq!(service.get("/health").status, 200);
        let (mut stream, rest) = half_a_search(&service);
        service.signal(signal);
        until_closed(&service);
        stream.write_all(rest.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("\"rank\":2"), "{answer}");
        let said = service.wait();
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    }
}

#[cfg(unix)]
#[test]
fn a_second_ctrl_c_ends_it_at_once() {
    let place = indexed(&["bm25"]);
    let service = Service::start(&place, "serve index --timeout 600 --log-format none");
    let _half = half_a_search(&service);
    service.signal(libc::SIGINT);
    until_closed(&service);
    service.signal(libc::SIGINT);
    assert_eq!(service.wait().code, Some(130));
}

#[test]
fn an_open_service_answers_to_its_numbers_and_to_listed_names() {
    let place = indexed(&["bm25"]);
    let line = "serve index --host 0.0.0.0 --allow-open --host-names search.example";
    let service = Service::start(&place, &format!("{line} --log-format none"));
    let port = service.url.rsplit(':').next().unwrap().to_owned();
    let status = |host: &str| {
        let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
        write!(stream, "GET /health HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    for host in [format!("127.0.0.1:{port}"), "10.1.2.3".into(), "search.example:80".into()] {
        assert!(status(&host).starts_with("HTTP/1.1 200 "), "{host}");
    }
    let refused = status("evil.example");
    assert!(refused.starts_with("HTTP/1.1 421 ") && refused.contains("host_names"), "{refused}");
}

#[test]
fn the_first_key_closes_a_service_that_runs() {
    let place = indexed(&["bm25"]);
    let service = Service::start(&place, "serve index --log-format none");
    let search = json!({ "query": "heart" });
    assert_eq!(service.post("/search", &search).status, 200);
    let key = place.run("key add index --name first").fine().out.trim().to_owned();
    // That there is no key may be remembered for a moment.
    until("the key is asked for", || service.post("/search", &search).status == 401);
    service.put("/documents/x", &json!({})).refused(401, &["API key", "write"]);
    service.get("/documents/d0001").refused(401, &["API key", "read"]);
    assert_eq!(service.with_key(&key).post("/search", &search).status, 200);
    service.with_key("lk_other").post("/search", &search).refused(401, &["not known"]);
}

#[test]
fn keys_say_who_may_do_what() {
    let place = indexed(&["bm25"]);
    let add = |name: &str, scope: &str| {
        let said = place.run(&format!("key add index --name {name} --scope {scope}")).fine();
        assert!(said.err.contains("only its checksum is stored"), "{}", said.err);
        said.out.trim().to_owned()
    };
    let reader = add("shop", "read");
    let service = Service::start(&place, "serve index --host 0.0.0.0 --log-format none");
    let port = service.url.rsplit(':').next().unwrap().to_owned();
    let open = crate::service::Client::new(&format!("http://127.0.0.1:{port}"));
    let search = json!({ "query": "heart" });
    open.post("/search", &search).refused(401, &["API key", "read"]);
    assert_eq!(open.get("/health").status, 200);
    // Keys that are made while it runs are known at once.
    let (writer, admin) = (add("crawler", "write"), add("me", "admin"));
    let clients = [&reader, &writer, &admin].map(|key| open.with_key(key));
    let (document, event) = (
        json!({ "title": "heart" }),
        json!([{
            "kind": "click", "query": "heart", "id": "d0001"
        }]),
    );
    let load = json!({ "name": "more", "path": at("rmls") });
    for (scope, client) in clients.iter().enumerate() {
        let expected = |needed: usize| if scope >= needed { 200 } else { 403 };
        assert_eq!(client.post("/search", &search).status, 200);
        assert_eq!(client.get("/documents/d0002").status, 200);
        assert_eq!(client.put("/documents/x", &document).status, expected(1));
        assert_eq!(client.post("/events", &event).status, expected(1));
        assert_eq!(client.ask("DELETE", "/documents/x", None).status, expected(1));
        assert_eq!(client.post("/models", &load).status, expected(2));
    }
    clients[0].put("/documents/x", &document).refused(403, &["scope is too small", "write"]);
    place.run("key add index --name shop").refused(1, &["error: there is a key called \"shop\""]);
    place.run("key revoke index --name crawler").silent().shows(&["crawler is revoked"]);
    clients[1].post("/search", &search).refused(401, &["not known, or no longer valid"]);
    assert_eq!(clients[0].post("/search", &search).status, 200);
    place.run("key revoke index --name crawler").refused(1, &["error: there is no key called"]);
    place.run("key list index").silent().shows(&[
        "name     scope  state",
        "shop     read   valid",
        "crawler  write  revoked",
        "me       admin  valid",
    ]);
    let listed = place.run("key list index --format json").silent();
    for key in [&reader, &writer, &admin] {
        assert!(!listed.out.contains(&key[3..]));
    }
    assert_eq!(listed.json()[2]["scope"], "admin");
    // Without a valid key it is closed, not open.
    for name in ["shop", "me"] {
        place.run(&format!("key revoke index --name {name}")).silent();
    }
    open.post("/search", &search).refused(401, &["API key"]);
    clients[2].post("/search", &search).refused(401, &["no longer valid"]);
}
