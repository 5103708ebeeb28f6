//! A service that is killed in the middle of writing loses nothing that it acknowledged.
//!
//! Writers put, replace and delete documents and send events, each within ids of its own, so that
//! each knows what must be there. The process is killed at a random moment and started again, and
//! everything is compared. `LIKEN_KILL_ROUNDS` says how often (6), `LIKEN_KILL_SEED` with which
//! random numbers (1).

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::kill_writer::{Random, Writer, is_whole, named};
use crate::place::Place;
use crate::service::{Client, Service};
use crate::shared::at;

const WRITERS: usize = 4;
const LINE: &str = "serve index --log-format none";

/// One who loads models and makes them active.
struct Changer {
    folders: [String; 2],
    /// The last version whose activation was acknowledged.
    active: Option<String>,
    /// Whether another one was under way.
    pending: bool,
}

impl Changer {
    fn work(&mut self, client: &Client) {
        for i in 0.. {
            let load = json!({ "name": "rmls", "path": self.folders[i % 2], "activate": true });
            self.pending = true;
            let Some(answer) = client.try_ask("POST", "/models", Some(&load)) else { return };
            self.active = Some(answer.json()["version"].as_str().unwrap().to_owned());
            self.pending = false;
        }
    }

    /// One version is active: the last that was acknowledged, or that which was under way.
    fn compare(&mut self, client: &Client) {
        let models = client.get("/models").json();
        let of_name = |model: &&Value| model["name"] == "rmls" && model["active"] == true;
        let active: Vec<&Value> = models.as_array().unwrap().iter().filter(of_name).collect();
        assert_eq!(active.len(), 1, "{models}");
        let version = active[0]["version"].as_str().unwrap();
        if let Some(expected) = &self.active
            && !self.pending
        {
            assert_eq!(version, expected);
        }
        let found = client.search("heart", &["rmls"]);
        assert_eq!(found["models"][0]["version"], version);
        self.active = Some(version.to_owned());
    }
}

/// All events by session; none may be there twice.
fn events(client: &Client) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    let mut last = 0;
    loop {
        let answer = client.get(&format!("/events?after={last}&limit=20000"));
        assert_eq!(answer.status, 200, "{}", answer.text);
        if answer.text.is_empty() {
            return all;
        }
        for line in answer.text.lines() {
            let mut event: Value = serde_json::from_str(line).unwrap();
            let number = event.as_object_mut().unwrap().remove("number").unwrap();
            assert!(number.as_u64().unwrap() > last, "{line}");
            last = number.as_u64().unwrap();
            let (session, event) = named(event);
            assert!(all.insert(session, event).is_none(), "twice: {line}");
        }
    }
}

/// Every document of the writers that a search finds, by id; each must be whole and there once.
fn found(answer: &Value) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for hit in answer["hits"].as_array().unwrap() {
        let (id, document) = (hit["id"].as_str().unwrap(), hit["document"].clone());
        if id.starts_with('k') {
            assert!(is_whole(id, &document), "{hit}");
            assert!(found.insert(id.to_owned(), document).is_none(), "{id} twice");
        }
    }
    found
}

/// Every document with the word, whatever its rank.
fn everything(models: &[&str]) -> Value {
    json!({ "query": "heart", "k": 1000, "candidate_depth": 10_000, "models": models })
}

fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().unwrap_or_else(|_| panic!("{name}={value}")))
}

#[test]
fn kill_9_loses_nothing_that_was_acknowledged() {
    let (rounds, seed) = (setting("LIKEN_KILL_ROUNDS", 6), setting("LIKEN_KILL_SEED", 1));
    let place = Place::new();
    let (data, bm25, rmls) = (at("data"), at("bm25"), at("rmls"));
    place.run(&format!("index {data} --model {bm25} --model {rmls} -o index")).silent();
    let mut random = Random(seed);
    let mut writers: Vec<Writer> = (0..WRITERS).map(|name| Writer::new(name, seed)).collect();
    place.run(&format!("train rmls {data} -o small --dim 10")).fine();
    let small = place.path("small").to_str().unwrap().to_owned();
    let mut changer = Changer { folders: [small, rmls], active: None, pending: false };
    let mut unsure = 0;
    for round in 0..rounds {
        let service = Service::start(&place, LINE);
        let moment = Duration::from_millis(random.below(400));
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for writer in &mut writers {
                let client = service.another();
                scope.spawn(move || writer.work(&client));
            }
            let (client, changer) = (service.another(), &mut changer);
            if round % 3 == 2 {
                scope.spawn(move || changer.work(&client));
            }
            let (reader, done) = (service.another(), &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let models = [&["bm25"][..], &["bm25", "rmls"]];
                    for models in models {
                        let answer = reader.try_ask("POST", "/search", Some(&everything(models)));
                        found(&match answer {
                            Some(answer) => answer.json(),
                            None => return,
                        });
                    }
                }
            });
            std::thread::sleep(moment);
            service.kill();
            done.store(true, Ordering::Relaxed);
        });
        unsure += writers.iter().filter(|writer| writer.pending.is_some()).count();
        // Some are killed again while they come back.
        while random.below(3) == 0 {
            let (mut child, _) = Service::spawn(&place, LINE);
            std::thread::sleep(Duration::from_millis(random.below(150)));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let service = Service::start(&place, LINE);
        let all = events(&service);
        for writer in &mut writers {
            writer.compare(&service, &all);
        }
        changer.compare(&service);
        let known: usize = writers.iter().map(|writer| writer.events.len()).sum();
        assert_eq!(all.len(), known, "round {round}");
        let standing: BTreeMap<String, Value> = writers
            .iter()
            .flat_map(|writer| &writer.documents)
            .filter_map(|(id, document)| Some((id.clone(), document.clone()?)))
            .collect();
        let status = service.settle();
        assert_eq!(status["documents"], 660 + standing.len(), "round {round}: {status}");
        for models in [&["bm25"][..], &["bm25", "rmls"]] {
            let found = found(&service.post("/search", &everything(models)).json());
            assert!(found == standing, "round {round}: search and documents differ");
        }
        service.kill();
    }
    let store = liken_engine::Layout::new(place.path("index")).store();
    let faults = liken_engine::store::Store::read_only(&store).unwrap().check().unwrap();
    assert!(faults.is_empty(), "{faults:?}");
    let acknowledged: usize = writers.iter().map(|writer| writer.acknowledged).sum();
    assert!(acknowledged > 0 && unsure > 0);
    if std::env::var_os("LIKEN_KILL_ROUNDS").is_some() {
        let mut err = std::io::stderr();
        let _ = writeln!(
            err,
            "{rounds} kills, {acknowledged} acknowledged writes: all there; {unsure} unsure: whole or not at all"
        );
    }
}
