//! Results that do not all say the same.

use std::fs;

use crate::place::Place;
use crate::shared::at;

/// Two sides of one query; the run has all of one side first.
const QRELS: &str = "q 1 a 1\nq 1 b 1\nq 1 c 1\nq 2 d 1\nq 2 e 0\nq 3 d 1\n";
const RUN: &str = "q Q0 a 1 9 one\nq Q0 b 2 8 one\nq Q0 x 3 7 one\nq Q0 d 4 6 one\n";
const OTHER: &str = "q Q0 a 1 9 two\nq Q0 d 2 8 two\nq Q0 b 3 7 two\n";

#[test]
fn measures_of_diversity_read_the_second_column() {
    let place = Place::with(&[("qrels", QRELS), ("one.run", RUN), ("two.run", OTHER)]);
    let said = place.run("eval qrels one.run -m alpha_nDCG@4 -m ERR-IA@4 -m StRecall@2").silent();
    // Gains 1, 0.5, 0, 2 against the ideal 2, 1, 0.5, 0.25.
    let log = |rank: f64| (rank + 1.0).log2();
    let found = 1.0 + 0.5 / log(2.0) + 2.0 / log(4.0);
    let ideal = 2.0 + 1.0 / log(2.0) + 0.5 / log(3.0) + 0.25 / log(4.0);
    assert!(said.out.contains(&format!("alpha_nDCG@4          \tall\t{:.4}\n", found / ideal)));
    let err = (1.0 + 0.25 + 0.5) / (3.0 * (1.0 + 0.25 + 0.25 / 3.0 + 0.125 / 4.0));
    assert!(said.out.contains(&format!("ERR-IA@4              \tall\t{err:.4}\n")), "{}", said.out);
    assert!(said.out.contains("StRecall@2            \tall\t0.3333\n"), "{}", said.out);
    let said = place.run("eval qrels one.run two.run -m alpha_nDCG@4,P@3 -q").fine().shows(&[
        "diversity as in ndeval, with a greedy ideal ranking; other measures use the highest grade of a document",
        "Holm-corrected",
        "two.run against one.run, alpha_nDCG@4: all queries",
    ]);
    assert!(said.out.contains("1.0000"), "{}", said.out);
    let json = place.run("eval -q qrels one.run -m StRecall@4 --format json").silent().json();
    assert_eq!(json["rows"][0]["values"][0][0], 1.0);
    // Without such a measure the second column is no subtopic.
    place.run("eval qrels one.run -m map").refused(1, &["qrels:6: ", "alpha_nDCG@10", "line 4"]);
    place.run("eval qrels one.run -m alpha_nDCG").refused(2, &["as in alpha_nDCG@10"]);
    place.file("bad", "q 1 a 1\nq 2 a 1\nq 1 a 0\n");
    place.run("eval bad one.run -m ERR_IA@5").refused(
        1,
        &[
            "bad:3: ",
            "each document once for a subtopic",
            "\"a\" again for query \"q\", as in line 1",
        ],
    );
    let said = place.run("eval --lenient bad one.run -m StRecall@5").fine();
    assert!(said.err.contains("1 line skipped") && said.out.contains("1.0000"), "{}", said.err);
    place.file("bad", "q 1 a 1\nq 2 a one\n");
    place.run("eval bad one.run -m ERR_IA@5").refused(1, &["bad:2: ", "a whole number"]);
    place.file("plain", "q 0 a 1\nq 0 b 0\n");
    let said = place.run("eval plain one.run -m alpha_nDCG@5").fine();
    assert!(said.err.contains("no query has more than one subtopic"), "{}", said.err);
}

/// The documents of each line.
fn docs(run: &str) -> Vec<&str> {
    run.lines().map(|line| line.split(' ').nth(2).unwrap()).collect()
}

#[test]
fn mmr_moves_documents_that_repeat_what_was_said() {
    let place = Place::new();
    let (model, run) = (at("rmls"), at("bm25.trec"));
    let before = fs::read_to_string(&run).unwrap();
    let of = |more: &str| {
        place.run(&format!("diversify {run} --model {model} -o - {more}")).silent().out
    };
    let same = of("--lambda 1");
    assert_eq!(docs(&same), docs(&before));
    assert!(same.lines().all(|line| line.ends_with(" mmr")));
    let words = of("--lambda 0.3");
    assert_ne!(docs(&words), docs(&before));
    assert_eq!(docs(&words)[0], docs(&before)[0]);
    let sorted = |run: &str| {
        let mut lines: Vec<String> = docs(run).iter().map(|doc| (*doc).to_owned()).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&words), sorted(&before));
    assert_ne!(of("--lambda 0.3 --similarity latent"), words);
    assert_eq!(of("--lambda 0.3 --threads 1"), words);
    // Two places are filled, the others keep their order.
    let two = of("--lambda 0.3 -k 2 --tag mine");
    assert_eq!(docs(&two)[..2], docs(&words)[..2]);
    assert!(two.lines().all(|line| line.ends_with(" mine")));
    place.file("x.run", "q1 Q0 nobody 1 9 x\nq1 Q0 d0001 2 8 x\nq1 Q0 d0002 3 7 x\n");
    let said = place.run(&format!("diversify x.run --model {model} -o -")).fine();
    assert_eq!(docs(&said.out), ["d0001", "d0002", "nobody"]);
    assert!(
        said.err
            .contains("no model knows 1 document, which the diversifier never moves up: nobody"),
        "{}",
        said.err
    );
    place.file("x.jsonl", "{\"id\": \"nobody\", \"title\": \"heart attack\"}\n");
    let line = format!("diversify x.run --model {model} --documents x.jsonl -o -");
    assert_eq!(docs(&place.run(&line).silent().out)[0], "nobody");
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let place = Place::with(&[("qrels", QRELS), ("one.run", RUN)]);
    let model = at("rmls");
    let line = format!("diversify one.run --model {model} -o out");
    for (more, words) in [
        ("--lambda 2", &["--lambda 2", "a share from 0 to 1"][..]),
        ("--similarity colour", &["colour", "words, title, body, url, latent"]),
        ("-k 0", &["-k 0"]),
        ("--depth 0", &["--depth 0"]),
        ("--with one.run", &["mmr uses one run"]),
        ("--method some.json --lambda 0.5", &["are for mmr"]),
    ] {
        place.run(&format!("{line} {more}")).refused(2, words);
    }
    place
        .run(&format!("{line} --method missing.json"))
        .refused(1, &["missing.json", "cannot read"]);
    place.file("some.json", "{\"format\": 9}");
    place.run(&format!("{line} --method some.json")).refused(1, &["format 9"]);
    place.file("some.json", "{\"format\": 1}");
    place.run(&format!("{line} --method some.json")).refused(1, &["not a diversifier"]);
    let method = "{\"format\": 1, \"runs\": 1, \"relations\": [\"words\"], \"method\": \"mmr\", \
                  \"params\": {}, \"similarity\": \"words\"}";
    place.file("some.json", method);
    place
        .run(&format!("{line} --method some.json"))
        .refused(1, &["it uses the similarities words, but the models"]);
    place.run("diversify one.run -o out").refused(2, &["--model"]);
    place.run("diversify").refused(2, &["--model", "--output"]);
    let train = format!("diversify train one.run qrels --model {model} -o out");
    for (more, words) in [
        ("--set top=0", &["--set top=0"][..]),
        ("--set rate=1", &["rate"]),
        ("--set top", &["KEY=VALUE"]),
        ("--method mmr --set top=3", &["has no parameters"]),
        ("--measure nDCG@10", &["alpha_nDCG@k"]),
    ] {
        place.run(&format!("{train} {more}")).refused(2, words);
    }
    let said = place.run(&train);
    assert!(said.err.contains("no query has candidates"), "{}", said.err);
    place.file("other.qrels", "z 1 a 1\nz 2 b 1\n");
    let train = format!("diversify train one.run other.qrels --model {model} -o out");
    place.run(&train).refused(1, &["no query of the run is judged"]);
}

/// From the demo log to pages that show all sides of what was asked for: the order of the run,
/// maximal marginal relevance and learnt weights, on queries that neither was tuned on.
#[test]
fn learnt_weights_beat_mmr_which_beats_the_order_of_relevance() {
    let place = Place::new();
    place.run("synth demo --raw -o raw").silent().shows(&["facets-train.qrels"]);
    place
        .run("import --clicks raw/clicks.tsv --documents raw/documents.jsonl --judgments raw/judgments.tsv -o data")
        .fine();
    place.run("train lsi_dt+bm25 data -o model --dim 100").fine();
    place.run("run model --queries raw/facets.tsv -k 50 -o run.trec").fine();
    let train = "diversify train run.trec raw/facets-train.qrels --model model --depth 50";
    let said = place.run(&format!("{train} -o learnt.json")).fine();
    assert!(said.out.contains("the minimal distance by words"), "{}", said.out);
    let json = place.run(&format!("{train} --method mmr -o mmr.json --format json")).fine().json();
    assert_eq!(json["method"], "mmr");
    assert!(json["after"]["training"].as_f64() >= json["before"]["training"].as_f64());
    for name in ["mmr", "learnt"] {
        let line = format!("diversify run.trec --model model --depth 50 --method {name}.json");
        place.run(&format!("{line} -o {name}.trec")).silent();
        let again = place.run(&format!("{line} -o - --threads 1")).silent().out;
        assert_eq!(again, fs::read_to_string(place.path(&format!("{name}.trec"))).unwrap());
    }
    let eval = "eval raw/facets-test.qrels run.trec mmr.trec learnt.trec --format json";
    let json = place.run(&format!("{eval} -m alpha_nDCG@10 -m ERR_IA@10")).fine().json();
    let mean = |run: usize, m: usize| json["rows"][run]["cells"][m]["mean"].as_f64().unwrap();
    for m in 0..2 {
        let means = [0, 1, 2].map(|run| mean(run, m));
        assert!(means.is_sorted_by(|a, b| a < b), "{m}: {means:?}");
    }
}
