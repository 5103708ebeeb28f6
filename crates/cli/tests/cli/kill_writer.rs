//! Somebody who writes to a service that may be killed at any moment, and knows what must be there
//! afterwards.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::service::{Answer, Client};

/// Ids that a writer uses, over and over.
const IDS: u64 = 30;

/// Random numbers (SplitMix64).
pub struct Random(pub u64);

impl Random {
    /// Less than `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// FNV-1a.
fn checksum(parts: &[&str]) -> String {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    let sum = bytes.fold(0xcbf2_9ce4_8422_2325u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{sum:016x}")
}

/// Whether the fields of a document belong together.
pub fn is_whole(id: &str, fields: &Value) -> bool {
    let text = |name: &str| fields[name].as_str().unwrap_or_default();
    fields["check"] == checksum(&[id, text("title"), text("body"), &fields["number"].to_string()])
}

/// What a writer knows to be there, or not (`None`).
pub type Documents = BTreeMap<String, Option<Value>>;

/// One request that was sent.
pub enum Write {
    /// Documents as they are afterwards, all or none of them.
    Documents(Documents),
    /// Events.
    Events(Vec<Value>),
}

pub struct Writer {
    name: usize,
    random: Random,
    number: u64,
    pub documents: Documents,
    /// By session, which is the event's own.
    pub events: BTreeMap<String, Value>,
    /// What may or may not have been done.
    pub pending: Option<Write>,
    pub acknowledged: usize,
}

impl Writer {
    pub fn new(name: usize, seed: u64) -> Self {
        let random = Random(seed.wrapping_mul(1_000).wrapping_add(name as u64));
        Writer {
            name,
            random,
            number: 0,
            documents: Documents::new(),
            events: BTreeMap::new(),
            pending: None,
            acknowledged: 0,
        }
    }

    fn some_id(&mut self) -> String {
        format!("k{}-{}", self.name, self.random.below(IDS))
    }

    /// A document that search finds by "heart".
    fn document(&mut self, id: &str) -> Value {
        self.number += 1;
        let number = self.number;
        let words = ["attack", "rate", "valve", "doctor", "surgery", "flights"];
        let mut some = |n: u64| -> String {
            let words: Vec<&str> =
                (0..n).map(|_| words[self.random.below(words.len() as u64) as usize]).collect();
            words.join(" ")
        };
        let (title, body) = (format!("heart {}", some(3)), some(1 + number % 400));
        let check = checksum(&[id, &title, &body, &number.to_string()]);
        json!({ "title": title, "body": body, "number": number, "check": check })
    }

    /// Writes until the service goes away.
    pub fn work(&mut self, client: &Client) {
        assert!(self.pending.is_none());
        loop {
            let (write, answer) = self.write(client);
            match answer {
                Some(answer) => {
                    assert_eq!(answer.status, 200, "{}", answer.text);
                    self.keep(write);
                    self.acknowledged += 1;
                }
                None => {
                    self.pending = Some(write);
                    return;
                }
            }
        }
    }

    fn write(&mut self, client: &Client) -> (Write, Option<Answer>) {
        match self.random.below(10) {
            0..=3 => {
                let id = self.some_id();
                let document = self.document(&id);
                let wait = self.random.below(3) == 0;
                let path = format!("/documents/{id}?wait={wait}");
                let answer = client.try_ask("PUT", &path, Some(&document));
                if wait && answer.as_ref().is_some_and(|answer| answer.status == 200) {
                    finds(client, &id, &document);
                }
                (Write::Documents([(id, Some(document))].into()), answer)
            }
            4..=5 => {
                let ids: BTreeSet<String> = (0..8).map(|_| self.some_id()).collect();
                let documents: Documents =
                    ids.into_iter().map(|id| (id.clone(), Some(self.document(&id)))).collect();
                let body: Vec<Value> =
                    documents.iter().map(|(id, body)| with_id(id, body)).collect();
                let answer = client.try_ask("PUT", "/documents", Some(&body.into()));
                (Write::Documents(documents), answer)
            }
            6 => {
                let id = self.some_id();
                let answer = client.try_ask("DELETE", &format!("/documents/{id}"), None);
                (Write::Documents([(id, None)].into()), answer)
            }
            7 => {
                let ids: BTreeSet<String> = (0..3).map(|_| self.some_id()).collect();
                let answer =
                    client.try_ask("POST", "/documents/delete", Some(&json!({ "ids": ids })));
                (Write::Documents(ids.into_iter().map(|id| (id, None)).collect()), answer)
            }
            _ => {
                let n = 1 + self.random.below(4);
                let events: Vec<Value> = (0..n).map(|_| self.event()).collect();
                let answer = client.try_ask("POST", "/events", Some(&json!(events)));
                (Write::Events(events), answer)
            }
        }
    }

    fn event(&mut self) -> Value {
        self.number += 1;
        let (id, session) = (self.some_id(), format!("w{}-{}", self.name, self.number));
        let shown = vec![id.clone(); 1 + self.random.below(5) as usize];
        json!({ "kind": "click", "query": "heart", "id": id, "rank": 1, "shown": shown,
                "session": session, "time": self.number as f64 })
    }

    fn keep(&mut self, write: Write) {
        match write {
            Write::Documents(documents) => self.documents.extend(documents),
            Write::Events(events) => self.events.extend(events.into_iter().map(named)),
        }
    }

    /// Compares all documents and events with what must be there; what was not acknowledged must
    /// be there as a whole or not at all.
    pub fn compare(&mut self, client: &Client, events: &BTreeMap<String, Value>) {
        let mut there = Documents::new();
        for i in 0..IDS {
            let id = format!("k{}-{i}", self.name);
            let answer = client.get(&format!("/documents/{id}"));
            let document = (answer.status != 404).then(|| {
                let mut document = answer.json();
                let own = document.as_object_mut().unwrap().remove("id");
                assert_eq!(own, Some(id.clone().into()));
                assert!(is_whole(&id, &document), "{id} is torn: {document}");
                document
            });
            there.insert(id, document);
        }
        let prefix = format!("w{}-", self.name);
        let own: BTreeMap<&String, &Value> =
            events.iter().filter(|(session, _)| session.starts_with(&prefix)).collect();
        let mut before = self.documents.clone();
        let complete = |documents: &mut Documents| {
            for id in there.keys() {
                documents.entry(id.clone()).or_default();
            }
        };
        complete(&mut before);
        match self.pending.take() {
            Some(Write::Documents(documents)) => {
                let mut after = before.clone();
                after.extend(documents);
                assert!(there == before || there == after, "{}", difference(&there, &before));
                assert!(own.into_iter().eq(&self.events));
            }
            Some(Write::Events(sent)) => {
                let mut after = self.events.clone();
                after.extend(sent.into_iter().map(named));
                assert_eq!(there, before, "{}", difference(&there, &before));
                let done = own.iter().map(|(&id, &event)| (id, event)).eq(&after);
                assert!(done || own.into_iter().eq(&self.events));
                if done {
                    self.events = after;
                }
            }
            None => {
                assert_eq!(there, before, "{}", difference(&there, &before));
                assert!(own.into_iter().eq(&self.events));
            }
        }
        self.documents = there;
    }
}

/// Search must find a document that was waited for, as the only one of its checksum.
fn finds(client: &Client, id: &str, document: &Value) {
    let ask = json!({ "query": "heart", "filter": { "check": document["check"] } });
    if let Some(answer) = client.try_ask("POST", "/search", Some(&ask)) {
        let found = answer.json();
        assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{id}: {found}");
        assert_eq!(
            (&found["hits"][0]["id"], &found["hits"][0]["document"]),
            (&id.into(), document)
        );
    }
}

/// Where two differ.
fn difference(there: &Documents, expected: &Documents) -> String {
    let differs = |(id, document): (&String, &Option<Value>)| {
        let other = &expected[id];
        (document != other).then(|| format!("{id}: found {document:?}, expected {other:?}\n"))
    };
    there.iter().filter_map(differs).collect()
}

fn with_id(id: &str, body: &Option<Value>) -> Value {
    let mut document = Map::from_iter([("id".to_owned(), Value::from(id))]);
    document.extend(body.as_ref().unwrap().as_object().unwrap().clone());
    document.into()
}

pub fn named(event: Value) -> (String, Value) {
    (event["session"].as_str().unwrap().to_owned(), event)
}
