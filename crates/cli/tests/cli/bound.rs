//! What the theorem allows, and what is measured.

use crate::place::Place;
use crate::shared::{at, shared};

#[test]
fn a_model_within_the_theorem_has_a_bound_and_a_measured_gap() {
    let place = Place::new();
    let data = at("data");
    place.run(&format!("train pls {data} -o pls --dim 5 --set weighting=mean --quiet")).fine();
    let said = place.run(&format!("bound pls {data}")).silent();
    said.shows(&["training queries", "with probability 0.9", "as published", "gap to training"]);
    let json = place.run(&format!("bound pls {data} --delta 0.01 --format json")).silent().json();
    let bound = &json[0];
    assert_eq!((bound["method"].as_str(), bound["sample"]["d"].as_u64()), (Some("pls"), Some(5)));
    assert_eq!(bound["probability"], 0.98);
    assert_eq!(bound["broken"].as_array().unwrap().len(), 0, "{bound}");
    assert_eq!(bound["published"], bound["tighter"]);
    let number = |key: &str| bound["published"][key].as_f64().unwrap();
    assert!((number("c") - 5f64.sqrt()).abs() < 1e-12);
    for gap in bound["held_out"].as_array().unwrap() {
        assert!(gap["gap"].as_f64().unwrap().abs() <= number("bound_at_one"), "{gap}");
    }
}

#[test]
fn what_the_theorem_does_not_cover_is_said() {
    let data = at("data");
    let place = Place::new();
    place.run(&format!("train rmls+bm25 {data} -o sums --dim 10 --set rmls.weighting=sum")).fine();
    // A mix is asked for its learnt part.
    let said = place.run(&format!("bound sums {data}")).silent();
    let parts =
        ["does not hold for this model: weighting is sum", "measured after training", "vacuous"];
    said.shows(&parts);
    shared()
        .run(&format!("bound bm25 {data}"))
        .refused(1, &["no bound is known for bm25", "pls and rmls"]);
    shared().run(&format!("bound rmls {data} --delta 0.7")).refused(2, &["--delta 0.7"]);
    let place = Place::new();
    place.run("synth demo --scale 0.2 --seed 3 -o other").silent();
    place
        .run(&format!("bound {} other", at("rmls")))
        .refused(1, &["other", "is not the dataset that the model was trained on"]);
}
