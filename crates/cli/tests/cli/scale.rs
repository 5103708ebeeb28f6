//! The papers' half year at a fiftieth of its size: 127,000 queries, 92,000 documents, sparse maps.

use serde_json::Value;

use crate::place::Place;

#[test]
fn a_fiftieth_of_half_a_year_trains_with_sparse_maps_in_little_memory() {
    let place = Place::new();
    place.run("synth half-year -o data --scale 0.02").fine();
    let fit = "--dim 256 --set start=random --set sweeps=2 --set penalty=relative --set rho_x=0.45 \
               --set rho_y=0.45 --set features.query_clicks=1";
    let said =
        place.run(&format!("train rmls data -o small {fit} --max-memory 1GiB --format json"));
    let json = said.fine().json();
    let steps = json["reports"][0]["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 4);
    for side in ["density_x", "density_y"] {
        let density = steps[1][side].as_f64().unwrap();
        assert!((0.01..0.3).contains(&density), "{side}: {density}");
    }
    // How much memory there is decides where the maps lie, not what they are.
    place.run(&format!("train rmls data -o large {fit}")).fine();
    let identity = |model: &str| -> Value {
        place.run(&format!("info {model} --format json")).silent().json()["identity"].clone()
    };
    assert!(identity("small").is_string());
    assert_eq!(identity("small"), identity("large"));
    let dense = 4 * 256 * (127_000 + 92_000);
    let bytes = std::fs::metadata(place.path("small/part-0.safetensors")).unwrap().len();
    assert!(bytes < dense / 2, "{bytes}");
    // What does not fit ends before it is begun, or as soon as that is seen, and leaves nothing.
    place
        .run(&format!("train rmls data -o none {fit} --max-memory 100MiB"))
        .refused(1, &["memory", "--max-memory"]);
    assert!(!place.path("none").exists());
}
