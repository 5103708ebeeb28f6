//! Documents that come and go while searches run.

use super::*;

#[test]
fn documents_come_and_go_under_every_model() {
    for exact_below in [None, Some(0)] {
        come_and_go(exact_below);
    }
}

fn come_and_go(exact_below: Option<usize>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let building =
        IndexBuilder { exact_below, ..building(made(), &["bm25", "pls", "walk"], &path) };
    building.run(&Run::silent()).unwrap();
    let check = |engine: &Engine| {
        for models in [&["bm25"][..], &["pls"], &["bm25", "pls"]] {
            let found = engine.search(&ask("car insurance", models)).unwrap();
            assert!(ids(&found).contains(&"fresh"), "{models:?}: {found:?}");
            assert!(!ids(&found).contains(&"cars"), "{models:?}: {found:?}");
        }
        let status = engine.status();
        assert_eq!((status.documents, status.status.as_str()), (10, "ok"));
        assert_eq!(engine.document("fresh").unwrap().fields["title"], "insurance of a fast car");
        assert!(matches!(engine.document("cars").unwrap_err(), Error::NotFound(_)));
    };
    {
        let engine = Engine::open(&path, Settings::default()).unwrap();
        let first = engine.upsert(vec![document("fresh", "nothing yet")]).unwrap();
        assert_eq!((first.written, first.replaced), (1, 0));
        seen(&engine, engine.upsert(vec![document("fresh", "insurance of a fast car")]).unwrap());
        seen(&engine, engine.delete(&["cars".into()]).unwrap());
        check(&engine);
        let scores = engine.search(&ask("car insurance", &["pls"])).unwrap();
        // The same as where the model is made anew with the document.
        let model = Model::open(&made().join("pls")).unwrap();
        let model = model.with_documents(&[document("fresh", "insurance of a fast car")]).unwrap();
        let query = model.read_query("car insurance").unwrap();
        let expected = model.scores(&query)[10];
        let fresh = scores.hits.iter().find(|hit| hit.id == "fresh").unwrap();
        assert_eq!(fresh.score, f64::from(expected));
        let why = engine
            .explain(&ExplainRequest {
                search: ask("car insurance", &["bm25", "pls"]),
                id: "fresh".into(),
                most: None,
            })
            .unwrap();
        assert_eq!(why.shared_words, ["car", "insur"]);
    }
    // After a restart all is as it was.
    check(&reopened(&path));
}

#[test]
fn words_that_training_did_not_know_are_found_in_new_documents() {
    let engine = small();
    let new = vec![document("z1", "zebra"), document("z2", "zebra zebra insurance of a car")];
    seen(&engine, engine.upsert(new).unwrap());
    for models in [&["bm25"][..], &["bm25", "pls"]] {
        let found = engine.search(&ask("zebra", models)).unwrap();
        assert_eq!(found.hits.len(), 2, "{found:?}");
        assert!(found.hits.iter().all(|hit| hit.score == 0.0));
        assert_eq!(found.unknown_words, ["zebra"]);
        assert!(found.notes.iter().any(|note| note.contains("zebra")), "{:?}", found.notes);
        let both = engine.search(&ask("zebra insurance", models)).unwrap();
        assert!(ids(&both).contains(&"z1") && ids(&both).contains(&"home"), "{both:?}");
    }
    let search = ask("zebra insurance", &["bm25"]);
    let why = engine.explain(&ExplainRequest { search, id: "z1".into(), most: None }).unwrap();
    assert_eq!(why.shared_words, ["zebra"]);
    // What has learnt from clicks alone says nothing of it.
    assert!(engine.search(&ask("zebra", &["pls"])).unwrap().hits.is_empty());
}

#[test]
fn a_text_index_that_missed_changes_catches_up() {
    let (folder, path) = index(&["bm25"]);
    let text = Layout::new(&path).text();
    let before = folder.path().join("text-before");
    copy(&text, &before);
    {
        let engine = Engine::open(&path, Settings::default()).unwrap();
        let written = engine.upsert(vec![document("fresh", "insurance of a fast car")]).unwrap();
        assert!(engine.wait_for(written.sequence, Duration::from_secs(20)));
    }
    std::fs::remove_dir_all(&text).unwrap();
    std::fs::rename(&before, &text).unwrap();
    let engine = reopened(&path);
    let found = engine.search(&ask("\"fast car\"", &[])).unwrap();
    assert_eq!(ids(&found), ["fresh"]);
}

#[test]
fn a_request_sees_its_own_snapshot_to_the_end() {
    let (_folder, path) = index(&["bm25", "pls"]);
    let engine = Engine::open(&path, Settings::default()).unwrap();
    let state = engine.state();
    seen(&engine, engine.upsert(vec![document("cars", "something else")]).unwrap());
    seen(&engine, engine.upsert(vec![document("late", "came later")]).unwrap());
    seen(&engine, engine.delete(&["home".into()]).unwrap());
    // What went since is still there with its text, what came since is not.
    for (id, title) in [("cars", "Automobile policies compared"), ("home", "Insurance of houses")] {
        let no = engine.number_of(&state, id).unwrap();
        assert_eq!(engine.store.bodies(&[no]).unwrap()[0].as_ref().unwrap()["title"], title);
    }
    assert!(matches!(engine.number_of(&state, "late").unwrap_err(), Error::NotFound(_)));
    let mut request = ask("automobile insurance", &["bm25"]);
    request.exclude_ids = vec!["cars".into()];
    let asked = engine.resolve(&state, &request).unwrap();
    let ranked = engine.rank(&state, &asked, 0).unwrap();
    let found: Vec<&str> = ranked.order.iter().map(|&(no, _)| state.id(no)).collect();
    assert_eq!(found, ["home"]);
    // When nobody sees that snapshot any more, its texts go.
    let old = engine.number_of(&state, "cars").unwrap();
    drop(asked);
    drop(state);
    seen(&engine, engine.upsert(vec![document("more", "one more")]).unwrap());
    let started = Instant::now();
    while engine.store.bodies(&[old]).unwrap()[0].is_some() {
        assert!(started.elapsed().as_secs() < 20);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(engine.status().documents, 11);
}

#[test]
fn a_text_index_ahead_of_its_database_is_refused() {
    let (folder, path) = index(&["bm25"]);
    let (store, before) = (Layout::new(&path).store(), folder.path().join("before.sqlite"));
    std::fs::copy(&store, &before).unwrap();
    {
        let engine = Engine::open(&path, Settings::default()).unwrap();
        seen(&engine, engine.upsert(vec![document("fresh", "a fast car")]).unwrap());
    }
    drop(reopened(&path));
    for left in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{left}", store.display()));
    }
    std::fs::copy(&before, &store).unwrap();
    let started = Instant::now();
    let refused = loop {
        match Engine::open(&path, Settings::default()) {
            Err(Error::Unavailable(_)) if started.elapsed().as_secs() < 20 => {
                std::thread::sleep(Duration::from_millis(10));
            }
            other => break other.err().unwrap(),
        }
    };
    assert!(refused.to_string().contains("older copy"), "{refused}");
}

/// Opens an index that was open before: the thread that applies changes may hold it a moment longer
/// than its last user.
fn reopened(path: &Path) -> Arc<Engine> {
    let started = Instant::now();
    loop {
        match Engine::open(path, Settings::default()) {
            Ok(engine) => return engine,
            Err(Error::Unavailable(_)) if started.elapsed().as_secs() < 20 => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(problem) => panic!("{problem}"),
        }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
