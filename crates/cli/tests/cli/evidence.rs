//! What is made of clicks, by what the log tells of the pages they were made on.

use liken::features::ClickEvidence;
use liken::matchers::Model;

use crate::place::Place;
use crate::shared::at;

/// A small demo log with every result shown, as the dataset `data`.
fn shown() -> Place {
    let place = Place::new();
    place.run("synth demo -o raw --events --scale 0.2 --bias 1 --shuffle 0.1").silent();
    let line = "import --events raw/events.tsv --documents raw/documents.jsonl --judgments raw/judgments.tsv -o data";
    place.run(line).shows(&["corrected (`liken train --evidence propensity`)"]);
    place
}

#[test]
fn what_was_used_is_said_and_kept() {
    let place = shown();
    let used = "clicks weighted by propensity (rank 1: 1.00, 2: ";
    let said = place.run("train pls data --dim 10 -o auto").silent();
    said.shows(&["evidence: ", used, "shown at several ranks", "factors from"]);
    place.run("info auto").shows(&["evidence    ", used]);
    place.run("train pls data --dim 10 -o asked --evidence propensity").shows(&[used]);
    place
        .run("train pls data --dim 10 -o rates --evidence rates")
        .shows(&["how often their documents"]);
    place
        .run("train pls data --dim 10 -o plain --evidence clicks")
        .shows(&["evidence: clicks unweighted\n"]);
    let [auto, asked, rates, plain] =
        ["auto", "asked", "rates", "plain"].map(|name| Model::open(&place.path(name)).unwrap());
    assert_eq!(auto.counts.clicks, asked.counts.clicks);
    assert_eq!(auto.counts.evidence, auto.about.evidence);
    assert_eq!(plain.counts.clicks, place.dataset("data").clicks);
    assert_eq!(rates.about.evidence.unwrap().used, ClickEvidence::Rates);
    assert_ne!(auto.counts.clicks, rates.counts.clicks);
    let json = place.run("info auto --format json").silent().json();
    let evidence = &json["manifest"]["about"]["evidence"];
    assert_eq!(evidence["used"], "propensity");
    let looks = evidence["propensities"]["by_rank"].as_array().unwrap();
    assert_eq!(looks.len(), 10);
    for (k, look) in (1..).zip(looks.iter().take(5)) {
        let look = look.as_f64().unwrap() * f64::from(k);
        assert!((0.8..1.25).contains(&look), "rank {k}: {look}");
    }
}

#[test]
fn comparisons_and_tunings_say_it_too() {
    let place = shown();
    let line = "compare data --models bm25,clicked --measures nDCG@10";
    place.run(line).shows(&["evidence: clicks weighted by propensity", "; bm25 does not use it\n"]);
    // Who weighs no click says nothing of weights.
    let said = place.run("compare data --models bm25,vsm --measures nDCG@10").fine();
    assert!(!said.out.contains("evidence"), "{}", said.out);
    let said = place.run("train bm25 data -o bm25").fine();
    assert!(!said.out.contains("evidence"), "{}", said.out);
    let json = place.run(&format!("{line} --evidence clicks --format json")).fine().json();
    assert_eq!(json["evidence"]["used"], "clicks");
    place.file("grid.toml", "preparation.evidence = [\"auto\", \"clicks\"]\n");
    let said = place.run("tune clicked data --grid grid.toml -o tuning");
    let best = liken::data::text_lines(&place.path("tuning/best.toml"), liken::Run::silent());
    let plain = best.unwrap().any(|line| line.unwrap().1.contains("\"clicks\""));
    let words = if plain { "as they are" } else { "weighted by propensity" };
    said.shows(&["preparation.evidence", &format!("evidence: clicks {words}")]);
}

#[test]
fn stats_shows_the_propensities_beside_the_rates() {
    let place = shown();
    let said = place.run("stats data").fine();
    let head = ["rank", "shown", "clicked", "rate", "of rank 1", "propensity", "effective clicks"];
    said.shows(&head);
    let json = place.run("stats data --format json").fine().json();
    assert_eq!(json["evidence"]["propensities"]["by_rank"][0], 1.0);
}

#[test]
fn evidence_that_the_log_does_not_have_is_refused() {
    let place = Place::new();
    let data = at("data");
    for evidence in ["rates", "propensity"] {
        for verb in [
            format!("train pls {data} -o model"),
            format!("compare {data}"),
            format!("tune pls {data} --budget 3 -o tuning"),
        ] {
            let words = ["was not made from a raw log", "--events", "--evidence clicks"];
            place.run(&format!("{verb} --evidence {evidence}")).refused(1, &words);
        }
    }
    place.run(&format!("compare {data} --evidence hearsay")).refused(2, &["hearsay", "propensity"]);
    place
        .run(&format!("compare {data} --set preparation.evidence=hearsay"))
        .refused(2, &["hearsay"]);
    assert!(!place.path("model").exists());
    // A table of clicks says nothing of it.
    let said = place.run(&format!("train bm25 {data} -o model")).silent();
    assert!(!said.out.contains("evidence"), "{}", said.out);
}

#[test]
fn only_the_demo_log_has_a_bias_to_set() {
    let place = Place::new();
    place
        .run("synth one-week -o out --scale 0.01 --bias 1")
        .refused(2, &["--bias 1", "log = \"demo\""]);
    place.run("synth demo -o out --bias=-1").refused(2, &["--bias -1", "no position bias"]);
    place.run("synth demo -o out --shuffle 2").refused(2, &["shuffled = 2", "a share from 0 to 1"]);
}
