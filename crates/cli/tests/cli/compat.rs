//! What earlier versions wrote to disk still opens, and gives the same scores. Each folder of
//! `tests/compat` was made by `scripts/make-compat.sh` with a binary of its time, and never changes.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::golden_files::{difference, is_from_here};
use crate::place::Place;
use crate::service::Service;

/// What an earlier version wrote.
struct Written {
    folder: PathBuf,
    exact: bool,
}

/// Every version that has a folder.
fn versions() -> Vec<Written> {
    let all = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat")).unwrap();
    let folders = all.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let versions: Vec<Written> =
        folders.map(|folder| Written { exact: is_from_here(&folder), folder }).collect();
    assert!(!versions.is_empty());
    versions
}

impl Written {
    /// A copy, for nothing may be written to the original.
    fn copy(&self) -> Place {
        let place = Place::new();
        copy_folder(&self.folder, &place.path(""));
        place
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap()
    }

    /// Names in the folder `name`, sorted.
    fn names(&self, name: &str) -> Vec<String> {
        let entries = fs::read_dir(self.folder.join(name)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// What comes out now must be what the file `name` holds.
    #[track_caller]
    fn expects(&self, name: &str, found: &str) {
        if let Some(lines) = difference(&self.read(name), found, self.exact) {
            panic!("{}: (- then, + now)\n{lines}", self.folder.join(name).display());
        }
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn models_open_and_give_the_scores_that_they_gave() {
    for written in versions() {
        let place = written.copy();
        let models = written.names("models");
        assert!(models.len() > 30, "{models:?}");
        for model in models {
            place.run(&format!("info models/{model}")).silent();
            let run = place.run(&format!("run models/{model} --queries queries.tsv -k 10 -o -"));
            written.expects(&format!("runs/{model}.trec"), &run.fine().out);
            let query = ["--query", "heart attack"];
            place.ask(&format!("search models/{model}"), &query[1..]).fine();
            place.ask(&format!("explain models/{model} --doc d000"), &query).fine();
        }
        let line = "run models/bm25 --queries queries.tsv --documents new.jsonl -k 10 -o -";
        written.expects("with-new.trec", &place.run(line).fine().out);
        place.ask("similar models/rmls", &["--query", "heart attack"]).fine();
        place.run("topics models/lda").fine();
        place.run("export models/rmls --vectors npy -o vectors").fine();
        let init = "--init models/rmls --dim 4 --set sweeps=3 --set features.query_clicks=0.3";
        place.run(&format!("train rmls data -o newer {init}")).fine();
    }
}

#[test]
fn datasets_open_and_grow() {
    for written in versions() {
        let place = written.copy();
        place.run("info data").silent();
        place.run("stats data").fine();
        let line = "compare data --models bm25,pls --dim 4 --measures AP --format json";
        place.run(line).fine().json();
        let clicks = |place: &Place| place.dataset("data").clicks.values().iter().sum::<f32>();
        let before = clicks(&place);
        place.run("import --events last-day.tsv --judgments judgments.tsv --append data").fine();
        assert!(clicks(&place) > before);
        place.run("experiment experiment.toml").fine();
    }
}

#[test]
fn rankers_runs_and_ways_to_diversify_open_and_give_the_same() {
    for written in versions() {
        let place = written.copy();
        let rankers = written.names("rankers");
        assert!(rankers.len() > 10, "{rankers:?}");
        for ranker in rankers {
            place.run(&format!("info rankers/{ranker}")).silent();
            let scores = place.run(&format!("rank predict rankers/{ranker} rows.csv -o -")).fine();
            written.expects(&format!("scores/{ranker}.txt"), &scores.out);
            place.run(&format!("rank eval rows.csv rankers/{ranker}")).fine();
        }
        place.run("info runs/bm25.trec").silent();
        written.expects(
            "fused.trec",
            &place.run("fuse runs/bm25.trec runs/rmls.trec -o -").fine().out,
        );
        let line = "diversify facets.trec --model models/rmls --method diversify.json -o -";
        written.expects("diversified.trec", &place.run(line).fine().out);
    }
}

#[test]
fn tunings_go_on() {
    for written in versions() {
        let place = written.copy();
        let line = "tune pls data --grid grid.toml --dim 4 -o tuning";
        place.run(line).fine();
        // Nothing was tried again.
        let journal = fs::read_to_string(place.path("tuning/journal.jsonl")).unwrap();
        assert_eq!(journal, written.read("tuning/journal.jsonl"));
        place.run("train pls data -o tuned --params tuning/best.toml").fine();
    }
}

#[test]
fn indexes_are_served_with_all_that_came_into_them() {
    for written in versions() {
        let place = written.copy();
        place.run("info index").silent();
        let keys = place.run("key list index").silent().out;
        assert!(["reader", "writer", "gone"].iter().all(|name| keys.contains(name)), "{keys}");
        let service = Service::start(&place, "serve index --log-format none");
        let asked = service.with_key(written.read("key.txt").trim());
        let search = |body: &Value| asked.post("/search", body).json()["hits"].clone();
        let mut run = String::new();
        for (n, body) in written.read("searches.jsonl").lines().enumerate() {
            for hit in search(&serde_json::from_str(body).unwrap()).as_array().unwrap() {
                // Reading JSON may cost a float its last bit.
                let (id, score) = (hit["id"].as_str().unwrap(), hit["score"].as_f64().unwrap());
                run.push_str(&format!("s{} Q0 {id} {} {score:.9} index\n", n + 1, hit["rank"]));
            }
        }
        written.expects("index.trec", &run);
        assert!(asked.get("/compare").text.contains("brought"));
        asked.get("/documents/d010").refused(404, &["d010"]);
        // It can be written to, and remembers.
        let writer = service.with_key(written.read("write-key.txt").trim());
        let document = json!({ "title": "another heart attack" });
        writer.put("/documents/newer?wait=true", &document).json();
        let body = json!({ "query": "another heart attack", "models": ["bm25"] });
        assert_eq!(search(&body)[0]["id"], "newer");
        writer.ask("DELETE", "/documents/newer?wait=true", None).json();
        drop(service);
        for what in ["events", "documents"] {
            let said = place.run(&format!("export index --{what} -")).fine();
            written.expects(&format!("index-{what}.jsonl"), &said.out);
        }
        place.run("export index --judgments judged").fine();
        for name in written.names("index-judgments") {
            let now = fs::read_to_string(place.path("judged").join(&name)).unwrap();
            written.expects(&format!("index-judgments/{name}"), &now);
        }
    }
}
