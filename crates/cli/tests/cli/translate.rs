//! The translation table.

use crate::place::Place;
use crate::shared::{at, shared};

#[test]
fn translate_shows_the_table_in_both_directions() {
    let place = Place::new();
    place.run(&format!("train translation {} -o model", at("data"))).fine();
    place.run("translate model heart -k 3").silent().shows(&["w = heart", "q", "t(q|w)"]);
    let json = place.run("translate model heart insurance -k 3 --format json").silent().json();
    let words = json.as_array().unwrap();
    assert_eq!(words.len(), 2);
    for word in words {
        let found: Vec<f64> = word["translations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|found| found["probability"].as_f64().unwrap())
            .collect();
        assert!(!found.is_empty() && found.len() <= 3, "{word}");
        assert!(found.is_sorted_by(|a, b| a >= b) && found.iter().sum::<f64>() <= 1.0 + 1e-5);
    }
    let back = place.run("translate model heart --from-query").silent();
    back.shows(&["q = heart", "w", "P(w|q)"]);
    place.run("translate model zyxwv").refused(1, &["the word \"zyxwv\"", "does not occur"]);
    place.run("translate model the").refused(1, &["the word \"the\"", "stop word"]);
    place
        .ask("translate model", &["heart attack"])
        .refused(1, &["one word", "an argument of its own"]);
    place.run("translate model").refused(2, &["<WORD>"]);
}

#[test]
fn a_model_without_a_table_says_which_methods_have_one() {
    let place = shared();
    place
        .run("translate bm25 heart")
        .refused(1, &["bm25 has no translation table", "train translation"]);
}
