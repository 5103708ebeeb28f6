//! The topics of a model, for people, programs and browsers.

use serde_json::Value;

use crate::place::Place;
use crate::shared::{at, shared};

/// A folder with the models `lsi` (8 topics), `mix` (lsi+bm25) and `bltm` (4 topics).
fn trained() -> Place {
    let place = Place::new();
    let data = at("data");
    place.run(&format!("train lsi {data} -o lsi --dim 8")).fine();
    place.run(&format!("train bm25+lsi {data} -o mix --dim 5")).fine();
    place.run(&format!("train bltm {data} -o bltm --dim 4 --set iterations=3")).fine();
    place
}

fn numbers(json: &Value, key: &str) -> Vec<f64> {
    let topics = json["topics"].as_array().unwrap();
    topics.iter().map(|topic| topic[key].as_f64().unwrap()).collect()
}

#[test]
fn topics_for_people_programs_and_browsers() {
    let place = trained();

    // A table: figures first, then topics side by side.
    let said = place.run("topics lsi --words 3").silent();
    let said = said.shows(&[
        "lsi_dt: 8 topics in 660 documents, ",
        "AvgComp ",
        "mean NPMI ",
        "weights have signs",
        "topic 1 ",
        "topic 8 ",
        "· NPMI",
        "· words",
    ]);
    let widest = said.out.lines().skip(4).map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 100, "{widest} signs:\n{}", said.out);
    // Two blocks of four topics: heading, two figures, three words.
    assert_eq!(said.out.lines().count(), 4 + 2 * 6 + 1, "{}", said.out);

    let json = place.run("topics lsi --format json --words 6").silent().json();
    assert_eq!(json["all"]["topics"], 8);
    assert_eq!((&json["method"], &json["signed"]), (&"lsi_dt".into(), &true.into()));
    for topic in json["topics"].as_array().unwrap() {
        let words = topic["words"].as_array().unwrap();
        let weights: Vec<f64> = words.iter().map(|w| w["weight"].as_f64().unwrap()).collect();
        assert_eq!(weights.len(), 6);
        assert!(weights.is_sorted_by(|a, b| a >= b) && weights[5] > 0.0, "{topic}");
        assert!((-1.0..=1.0).contains(&topic["npmi"].as_f64().unwrap()));
        assert!(topic.get("place").is_none() && topic.get("documents").is_none());
    }
    assert!((numbers(&json, "share").iter().sum::<f64>() - 1.0).abs() < 1e-6);
    let strongest: f64 = numbers(&json, "strongest_in").iter().sum();
    assert_eq!(strongest, 660.0 - json["documents_without"].as_f64().unwrap());

    // Orders and a part of them.
    let by_share = place.run("topics lsi --format json --sort share --top 3").silent().json();
    let shares = numbers(&by_share, "share");
    assert!(shares.len() == 3 && shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
    let by_npmi = place.run("topics lsi --format json --sort coherence").silent().json();
    assert!(numbers(&by_npmi, "npmi").is_sorted_by(|a, b| a >= b));
    let all = numbers(&json, "topic");
    assert!(all.is_sorted() && all.len() == 8);

    // Markdown has a topic a row; documents come with their titles.
    let said = place.run("topics bltm --format markdown --documents").silent();
    let said = said.shows(&[
        "bltm: 4 topics in 660 documents",
        "| strongest in |",
        "| heaviest words ",
        "| document ",
        "| title ",
    ]);
    assert!(!said.out.contains("weights have signs"), "{}", said.out);
    place.run("topics bltm --format latex").silent().shows(&["\\begin{tabular}{lrrrrl}"]);
    let json = place.run("topics bltm --documents --format json").silent().json();
    for topic in json["topics"].as_array().unwrap() {
        let documents = topic["documents"].as_array().unwrap();
        let weights: Vec<f64> = documents.iter().map(|d| d["weight"].as_f64().unwrap()).collect();
        assert!(weights.len() <= 5 && weights.is_sorted_by(|a, b| a >= b), "{topic}");
    }

    // Words as they are written.
    let words = |line: &str| {
        let json = place.run(line).silent().json();
        json["topics"][1]["words"].as_array().unwrap().clone()
    };
    let (stems, whole) =
        (words("topics lsi --format json"), words("topics lsi --format json --whole-words"));
    let find = |list: &[Value], word: &str| list.iter().position(|found| found["word"] == word);
    assert_eq!(find(&stems, "medicin"), find(&whole, "medicine"), "{whole:?}");
    assert!(find(&whole, "medicine").is_some() && find(&whole, "medicin").is_none());

    // The part of a mix.
    let json = place.run("topics mix --format json").silent().json();
    assert_eq!((&json["method"], &json["all"]["topics"]), (&"lsi_dt".into(), &5.into()));
    let named = place.run("topics mix --part lsi --format json").silent().json();
    assert_eq!(json, named);
    place.run("topics mix --part bm25").refused(1, &["bm25 has no topics", "lsi"]);
    place.run("topics mix --part pls").refused(1, &["no part is called \"pls\"", "bm25, lsi_dt"]);

    // Topics of a text.
    let said = place.ask("topics lsi --text", &["heart attack"]).silent();
    said.shows(&["topic", "weight", "share", "words", "cardiolog"]);
    let json = place.ask("topics bltm --format json --text", &["heart attack"]).silent().json();
    assert_eq!(json["text"], "heart attack");
    let shares = numbers(&json, "share");
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{shares:?}");
    assert!(shares.is_sorted_by(|a, b| a >= b));
    let said = place.ask("topics lsi --text", &["heart zyxwv"]).fine();
    assert_eq!(said.err, "warning: the model does not know zyxwv\n");
    place.run("topics lsi --text zyxwv").refused(1, &["analyses to nothing"]);

    // A page.
    let said = place.run("topics lsi --html topics.html --top 6 --quiet").silent();
    said.shows(&["topic 1 "]);
    let html = std::fs::read_to_string(place.path("topics.html")).unwrap();
    for text in [
        "<h1>Topics of lsi</h1>",
        "<h2>Map</h2>",
        "<a href=\"#topic-1\" aria-label=\"Topic 1: ",
        "id=\"topic-6\"",
        "Share of the documents",
        "NPMI of 10 words",
        "Documents: ",
    ] {
        assert!(html.contains(text), "no {text}");
    }
    assert!(!html.contains("id=\"topic-7\"") && !html.contains("<script"), "of six topics");
    assert!(!html.contains("NaN"));
    place.run("topics lsi --html topics.html").refused(1, &["already exists", "--force"]);
    let again = place.run("topics bltm --html topics.html --force").fine();
    assert!(again.err.contains("wrote topics.html"), "{}", again.err);
    place.run("topics lsi --html -").refused(2, &["--html -"]);

    // Without the dataset there are no titles, and that is said.
    let said = place.run("topics lsi --documents --dataset nowhere").shows(&["document"]);
    assert!(said.err.starts_with("warning: no titles"), "{}", said.err);
    assert_eq!(
        place.run("topics lsi --top 0 --format json").silent().json()["topics"],
        Value::Array(vec![])
    );
}

#[test]
fn a_model_without_topics_says_who_has_some() {
    let place = shared();
    place.run("topics bm25").refused(1, &["bm25 has no topics", "lsi", "bltm"]);
    place.run("topics rmls").refused(1, &["rmls has no topics", "features.doc_clicks=0"]);
    place.run("topics nowhere").refused(1, &["nowhere"]);
    place.run("topics").refused(2, &["<MODEL>"]);
    place.run("topics bm25 --words 0").refused(2, &["--words"]);
    place.run("topics bm25 --sort size").refused(2, &["--sort", "share"]);
    place.run("topics bm25 --force").refused(2, &["--html"]);
}

#[test]
fn without_classes_there_is_no_class_to_ask_for() {
    let place = Place::new();
    place.run(&format!("train lsi {} -o lsi --dim 3", at("data"))).fine();
    place.run("topics lsi --class autos").refused(1, &["no class is called \"autos\"", "lsi_dt"]);
    let json = place.run("topics lsi --class shared --format json").silent().json();
    assert_eq!(json["topics"].as_array().unwrap().len(), 3);
}
