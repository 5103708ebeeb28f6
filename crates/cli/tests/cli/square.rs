//! The square loss at rank d and without a bottleneck, from training to export.

use crate::place::Place;
use crate::shared::at;

#[test]
fn ridge_goes_the_whole_way() {
    let place = Place::new();
    let data = at("data");
    let said = place.run(&format!("train ridge {data} -o ridge")).fine();
    said.shows(&["ridge: ", " weights (", " query features to ", "% of the squared weights"]);
    place.run("search ridge flight").shows(&["1"]);
    let hits = place.run("search ridge flight --format json").json();
    let doc = hits["hits"][0]["id"].as_str().unwrap_or_default().to_owned();
    if !doc.is_empty() {
        let why = place.ask("explain ridge --query flight --doc", &[&doc]);
        assert!(why.out.contains("flight") && why.out.contains(&doc), "{}{}", why.out, why.err);
    }
    // It has no space in which anything lies near anything.
    place.run("similar ridge --word flight").refused(1, &["no latent space", "liken train rmls"]);
    place.run("export ridge --vectors npy -o x").refused(1, &["no vectors", "liken train rmls"]);
    place.run("export ridge --synonyms solr -o x").refused(1, &["no synonyms", "liken train rmls"]);
    assert_eq!(place.names(), ["ridge"]);
}

#[test]
fn square_has_a_space_to_look_around_in() {
    let place = Place::new();
    let data = at("data");
    let said = place.run(&format!("train square {data} -o square --dim 20")).fine();
    said.shows(&["square: 20 dimensions after ", "solves of up to ", "% of the clicks explained"]);
    place.run("similar square --word flight").fine();
    place.run("export square --vectors npy -o vectors").fine();
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    let place = Place::new();
    let data = at("data");
    for (method, line, words) in [
        ("ridge", "--dim 10", ["--dim is for models with latent dimensions", "ridge has none"]),
        ("ridge", "--set lambda=-1", ["lambda = -1", "0 or more"]),
        ("ridge", "--set mass=0", ["mass = 0", "at most 1"]),
        ("ridge", "--set features.doc_clicks=1", ["doc_clicks", "query_clicks"]),
        ("square", "--set dim=0", ["dim = 0", "train ridge"]),
        ("square", "--set lambda_y=-1", ["lambda_y = -1", "0 or more"]),
        ("square", "--set steps=0", ["steps = 0", "1 or more"]),
    ] {
        place.run(&format!("train {method} {data} -o out {line}")).refused(2, &words);
    }
    assert!(place.names().is_empty());
    place
        .run(&format!("compare {data} --models ridge,square --dim 10 --measures nDCG@10"))
        .shows(&["ridge", "square"]);
}

#[test]
fn dimensions_beyond_the_rank_are_told() {
    let place = Place::new();
    place.file("clicks.tsv", "query\tdoc\tclicks\nred\ta\t9\ngreen\tb\t7\nblue\ta\t5\nred\tb\t4\n");
    place.file(
        "documents.jsonl",
        "{\"id\":\"a\",\"title\":\"apple\"}\n{\"id\":\"b\",\"title\":\"pear\"}\n",
    );
    place
        .run("import --clicks clicks.tsv --documents documents.jsonl --validation 0 --test 0 -o data")
        .fine();
    let said = place.run("train square data -o square --dim 50").fine();
    assert!(said.err.contains("the clicks only fill 2 dimensions"), "{}", said.err);
    place.run("search square blue").shows(&["a"]);
}
