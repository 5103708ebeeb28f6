//! The whole path in one command.

use crate::place::Place;
use crate::service::Service;

#[test]
fn the_demo_beats_bm25_explains_itself_and_says_what_to_type_next() {
    let place = Place::new();
    let said = place.run("demo -o kept").silent().shows(&[
        "query  |  doc  |  clicks",
        "nDCG@1",
        "nDCG@5",
        "(the best mix on validation) beats BM25 alone",
        "p < 0.01 each",
        "share no word",
        "liken import --clicks clicks.tsv --documents documents.jsonl -o data",
        "liken compare data",
        "liken search model \"your query\"",
        "All files are in kept",
    ]);
    for row in ["bm25", "vsm", "lm", "pls", "rmls", "association", "pls+bm25", "rmls+bm25"] {
        assert!(said.out.lines().any(|line| line.split(' ').next() == Some(row)), "{row}");
    }
    assert_eq!(said.out.matches("They share no word.").count(), 2, "{}", said.out);

    // What it kept is what it advertises.
    place.run("info kept/data").silent();
    place.ask("similar kept/model -k 3 --query", &["heart attack"]).silent();
    let files = place.path("kept");
    let names = |folder: &str| std::fs::read_dir(files.join(folder)).unwrap().count();
    assert_eq!((names(""), names("log")), (3, 6));

    let before = place.run("info kept/model --format json").silent().out;
    place.run("demo -o kept").refused(1, &["kept/log: already exists", "--force"]);
    // Whatever is there is refused before anything is written.
    std::fs::remove_dir_all(place.path("kept/log")).unwrap();
    place.run("demo -o kept").refused(1, &["kept/data: already exists"]);
    assert!(!place.path("kept/log").exists());
    place.run("demo -o kept --force").silent();
    assert_eq!(place.run("info kept/model --format json").silent().out, before);
    assert_eq!(place.names(), ["kept"]);
}

#[test]
fn a_demo_whose_reader_goes_away_ends_quietly() {
    let place = Place::new();
    let said = place.bash("liken demo --quiet | head -1; exit ${PIPESTATUS[0]}").silent();
    assert_eq!(said.out.lines().count(), 1);
    assert!(place.names().is_empty());
}

#[test]
fn a_demo_can_be_searched() {
    let place = Place::new();
    let service = Service::start(&place, "demo --serve -o kept --log-format none");
    assert!(service.said.contains("5. Serve: search with BM25 and RMLS"));
    let found = service.search("heart attack", &["bm25", "rmls"]);
    assert_eq!(found["models"].as_array().unwrap().len(), 2);
    assert_eq!(found["hits"].as_array().unwrap().len(), 10);
    assert!(service.get("/").text.starts_with("<!DOCTYPE html>"));
    // It is not replaced under those who search it.
    let words = format!("process {} writes to this index", service.id());
    place.run("demo --serve -o kept --force").refused(1, &[&words]);
    service.stop();
    place.run("info kept/index").silent().shows(&["model       bm25", "model       rmls"]);
    // What nobody keeps is gone when it ends.
    let service = Service::start(&place, "demo --serve --log-format none");
    assert_eq!(service.get("/health").status, 200);
    service.stop();
}
