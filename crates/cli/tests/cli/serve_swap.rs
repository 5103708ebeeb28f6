//! Models are loaded, exchanged and taken back while many search: every request is answered, and
//! every answer is of one version a model.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::place::Place;
use crate::service::{Client, Service};
use crate::shared::at;

const CONNECTIONS: usize = 64;
const QUERIES: [&str; 4] = ["heart attack", "cheap flights", "heart", "how to jog"];
const CHOICES: [&[&str]; 3] = [&["learnt"], &["words"], &["words", "learnt"]];

/// What identifies an answer: query, choice of models.
type Asked = (usize, usize);
/// Versions that answered, and the hits with all scores.
type Hits = BTreeMap<(Asked, String), Value>;

fn ask(client: &Client, (query, choice): Asked) -> (String, Value) {
    let request =
        json!({ "query": QUERIES[query], "models": CHOICES[choice], "fields": ["title"] });
    let answer = client.post("/search", &request).json();
    let models = answer["models"].as_array().unwrap();
    let names: Vec<&str> = models.iter().map(|model| model["name"].as_str().unwrap()).collect();
    assert_eq!(names, CHOICES[choice]);
    (answer["models"].to_string(), answer["hits"].clone())
}

fn all_asked() -> Vec<Asked> {
    (0..QUERIES.len()).flat_map(|q| (0..CHOICES.len()).map(move |c| (q, c))).collect()
}

#[test]
fn answers_under_a_change_of_models_are_of_one_version_each() {
    let place = Place::new();
    place.run(&format!("train rmls {} -o small --dim 15", at("data"))).fine();
    place.run(&format!("train pls {} -o other --dim 30", at("data"))).fine();
    place.run(&format!("train bm25 {} -o flat --set b=0.1", at("data"))).fine();
    place
        .run(&format!(
            "index {} --model words={} --model learnt={} -o index",
            at("data"),
            at("bm25"),
            at("rmls")
        ))
        .silent();
    let folder = |name: &str| place.path(name).to_str().unwrap().to_owned();
    let learnt = [at("rmls"), folder("small"), folder("other")];
    let words = [at("bm25"), folder("flat")];
    let service = Service::start(&place, "serve index --log-format none");
    // Documents that no model was trained with are part of every version's answers, too.
    for i in 0..20 {
        let document = json!({ "title": format!("heart attack flights {i}"), "body": "jog" });
        service.put(&format!("/documents/new{i}"), &document).json();
    }
    service.settle();
    let load = |name: &str, path: &str, activate: bool| {
        let request = json!({ "name": name, "path": path, "activate": activate });
        service.post("/models", &request).json()["version"].as_str().unwrap().to_owned()
    };
    let activate = |name: &str, version: &str| {
        service.post(&format!("/models/{name}/activate"), &json!({ "version": version })).json()
    };
    let learnt_versions = learnt.clone().map(|path| load("learnt", &path, false));
    let words_versions = words.clone().map(|path| load("words", &path, false));

    // What every version says when nothing changes.
    let mut expected = Hits::new();
    for of_words in &words_versions {
        activate("words", of_words);
        for of_learnt in &learnt_versions {
            activate("learnt", of_learnt);
            for asked in all_asked() {
                let (models, hits) = ask(&service, asked);
                for (name, version) in [("words", of_words), ("learnt", of_learnt)] {
                    let is_asked = CHOICES[asked.1].contains(&name);
                    assert_eq!(models.contains(version.as_str()), is_asked, "{models}");
                }
                let before = expected.insert((asked, models), hits.clone());
                assert!(before.is_none_or(|before| before == hits));
            }
        }
    }
    assert_eq!(expected.len(), QUERIES.len() * (2 + 3 + 2 * 3));

    let (done, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let seen = std::thread::scope(|scope| {
        let searchers: Vec<_> = (0..CONNECTIONS)
            .map(|searcher| {
                let (client, expected) = (service.another(), &expected);
                let (done, answered) = (&done, &answered);
                scope.spawn(move || {
                    let mut seen = Vec::new();
                    let asked = all_asked();
                    for i in searcher.. {
                        let asked = asked[i % asked.len()];
                        let (models, hits) = ask(&client, asked);
                        let right = expected.get(&(asked, models.clone()));
                        assert_eq!(Some(&hits), right, "{asked:?} {models}");
                        seen.push((asked, models));
                        answered.fetch_add(1, Ordering::Relaxed);
                        if done.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                    seen
                })
            })
            .collect();
        let ends = Ends(&done);
        for round in 0..12 {
            // Every generation answers somebody.
            let patience = |more: usize| {
                let enough = answered.load(Ordering::Relaxed) + more;
                while answered.load(Ordering::Relaxed) < enough
                    && !searchers.iter().any(|searcher| searcher.is_finished())
                {
                    std::thread::yield_now();
                }
            };
            // The active one is loaded again, too: that must not pull the ground from under it.
            let name = load("learnt", &learnt[round % 3], true);
            assert_eq!(name, learnt_versions[round % 3]);
            patience(50);
            activate("words", &words_versions[round % 2]);
            patience(50);
            activate("learnt", &learnt_versions[(round + 1) % 3]);
            load("words", &words[(round + 1) % 2], false);
            patience(50);
            let back = service.post("/models/learnt/rollback", &json!(null)).json();
            assert_eq!(back["version"], learnt_versions[round % 3].as_str());
            patience(50);
            // New documents come without a change of anybody's score.
            let document = json!({ "title": format!("quite another thing {round}") });
            service.put(&format!("/documents/other{round}"), &document).json();
        }
        drop(ends);
        let seen = searchers.into_iter().flat_map(|searcher| searcher.join().unwrap());
        seen.collect::<std::collections::BTreeSet<_>>()
    });
    // The load met more than one version of each.
    for version in learnt_versions.iter().chain(&words_versions) {
        assert!(seen.iter().any(|(_, models)| models.contains(version.as_str())), "{version}");
    }
    let status = service.settle();
    assert_eq!(status["documents"], 660 + 20 + 12);
    assert_eq!(service.stderr(), "");
    // What is active stays so.
    let models = service.get("/ready").json()["models"].clone();
    service.kill();
    let service = Service::start(&place, "serve index --log-format none");
    assert_eq!(service.get("/ready").json()["models"], models);
    for asked in all_asked() {
        let (models, hits) = ask(&service, asked);
        assert_eq!(expected[&(asked, models)], hits);
    }
}

/// Tells searchers to end, also when the one who changes models fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
