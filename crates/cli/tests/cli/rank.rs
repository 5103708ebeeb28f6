//! Learning to rank from tables, on the command line.

use serde_json::Value;

use crate::place::Place;

/// Twelve queries of six rows: the first feature tells the grade, the second does not.
fn rows(shift: usize) -> String {
    let mut text = String::new();
    for query in 0..12 {
        for doc in 0..6usize {
            let grade = (doc + query + shift) % 3;
            let (good, noise) = (grade as f64 + 0.1 * doc as f64, (doc * 7 + query * 3) % 5);
            text.push_str(&format!("{grade} qid:{query} 1:{good} 2:{noise} # docid = d{doc}\n"));
        }
    }
    text
}

fn place() -> Place {
    Place::with(&[("train.txt", &rows(0)), ("vali.txt", &rows(1)), ("test.txt", &rows(2))])
}

#[test]
fn a_ranker_is_trained_measured_asked_and_explained() {
    let place = place();
    let line = "rank train lambdamart train.txt --validation vali.txt -o ranker --set min_leaf=2";
    place.run(line).shows(&["lambdamart:", "nDCG@10 on validation", "share of gain", "next:"]);
    place.run(line).refused(1, &["already exists", "--force"]);
    place.run(&format!("{line} --force --plot curve.svg")).fine();
    assert!(std::fs::read_to_string(place.path("curve.svg")).unwrap().contains("validation"));

    let json = place.run("rank eval test.txt ranker --format json").fine().json();
    assert!(json["rankers"][0]["cells"][0]["mean"].as_f64().unwrap() > 0.9, "{json}");
    assert_eq!((&json["queries"], &json["rows"]), (&12.into(), &72.into()));
    place.run("rank predict ranker test.txt -o scores.txt").fine();
    let scores = std::fs::read_to_string(place.path("scores.txt")).unwrap();
    assert_eq!(scores.lines().count(), 72);
    // Scores of any program are measured like a ranker's.
    let two = place.run("rank eval test.txt ranker scores.txt --measures AP,RR").fine();
    let lines: Vec<&str> = two.out.lines().filter(|line| line.contains('[')).collect();
    let numbers =
        |line: &str| line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(numbers(lines[0]), numbers(lines[1]), "{}", two.out);

    place.run("rank predict ranker test.txt --as run -o run.trec").fine();
    let run = std::fs::read_to_string(place.path("run.trec")).unwrap();
    assert!(run.lines().count() == 72 && run.contains(" lambdamart"), "{run}");
    place.run("rank predict ranker test.txt --as contributions -o why.csv").fine();
    let why = std::fs::read_to_string(place.path("why.csv")).unwrap();
    let mut lines = why.lines();
    assert_eq!(lines.next(), Some("query,doc,score,1,2,bias"));
    for (line, score) in lines.zip(scores.lines()) {
        let cells: Vec<f64> = line.split(',').skip(2).map(|cell| cell.parse().unwrap()).collect();
        assert_eq!(cells[0], score.parse::<f64>().unwrap());
        assert!((cells[0] - cells[1..].iter().sum::<f64>()).abs() < 1e-9, "{line}");
    }
    place.run("rank explain ranker test.txt --query 3").shows(&["1. d", "feature", "bias"]);
    let json = place.run("rank explain ranker test.txt --query 3 --doc d2 --format json").json();
    let sum: f64 = json["documents"][0]["features"]
        .as_array()
        .unwrap()
        .iter()
        .map(|feature| feature["contribution"].as_f64().unwrap())
        .sum();
    let all = sum + json["documents"][0]["bias"].as_f64().unwrap();
    assert!((all - json["documents"][0]["score"].as_f64().unwrap()).abs() < 1e-9);
    place.run("info ranker").shows(&["method      lambdamart", "features    2"]);
    place.run("rank explain ranker test.txt --query 99").refused(1, &["no query is called \"99\""]);
}

#[test]
fn folds_say_how_good_a_method_is_on_queries_it_did_not_see() {
    let place = place();
    let line = "rank train ranking_svm train.txt vali.txt test.txt --measure AP";
    place.run(&format!("{line} --folds files")).shows(&["fold", "mean", "AP", "nDCG@10"]);
    let json = place.run(&format!("{line} --folds 4 --format json")).fine().json();
    assert_eq!(json["folds"].as_array().unwrap().len(), 4);
    let queries: u64 =
        json["folds"].as_array().unwrap().iter().map(|f| f["queries"].as_u64().unwrap()).sum();
    assert_eq!(queries, 36);
    place.run(&format!("{line} --folds 2")).refused(2, &["--folds 2", "a number ≥ 3"]);
    place.run(&format!("{line} --folds 99")).refused(2, &["only 36 queries"]);
    place.run("rank train ranking_svm train.txt --folds files").refused(2, &["three tables"]);
}

#[test]
fn every_method_has_help_and_parameters() {
    let place = place();
    let help = place.run("rank train --help").fine().out;
    for (name, about) in liken::rank::rank_methods() {
        assert!(help.contains(name) && help.contains(about), "{name}");
        let own = place.run(&format!("rank train {name} --help")).fine().out;
        for doc in liken::rank::RankParams::named(name).unwrap().docs() {
            assert!(own.contains(&doc.key) && !doc.about.is_empty(), "{name}: {}", doc.key);
        }
    }
    place.run("rank train nonsense train.txt -o x").refused(2, &["nonsense", "lambdamart"]);
    place.run("rank train mart train.txt -o x --set treees=3").refused(2, &["treees"]);
    place.run("rank train mart train.txt -o x --set trees=0").refused(2, &["--set trees=0"]);
    assert!(!place.path("x").exists());
}

#[test]
fn bad_tables_are_named_with_their_lines() {
    let place = Place::with(&[
        ("bad.txt", "1 qid:1 1:2\n0 qid:1 1:oops\n"),
        ("inf.csv", "query,grade,x\na,1,2\na,0,inf\n"),
        ("same.csv", "query,grade,x\na,1,2\na,1,3\n"),
        ("none.csv", "query,grade\na,1\na,0\n"),
        ("good.csv", "query,grade,x,y\na,1,2,\na,0,1,3\nb,2,5,1\nb,1,4,\n"),
        ("other.csv", "query,grade,x\na,1,2\na,0,1\n"),
        ("scores", "1\n2\n"),
    ]);
    let train = |table: &str| place.run(&format!("rank train regression {table} -o ranker"));
    train("bad.txt").refused(1, &["bad.txt:2: expected a finite number", "1:oops"]);
    train("inf.csv").refused(1, &["inf.csv:3", "\"inf\" in column x"]);
    train("same.csv").refused(1, &["all 2 rows have the grade 1"]);
    train("none.csv").refused(1, &["no features"]);
    train("absent.csv").refused(1, &["absent.csv"]);
    assert!(!place.path("ranker").exists());
    let said = train("good.csv").fine();
    assert!(said.err.contains("2 of 8 values are missing and count as 0"), "{}", said.err);
    let said = place.run("rank predict ranker other.csv -o -").fine();
    assert!(said.err.contains("1 feature of the ranker"), "{}", said.err);
    assert_eq!(said.out.lines().count(), 2);
    place.run("rank eval good.csv scores").refused(1, &["2 scores for 4 rows"]);
    place.run("rank eval good.csv good.csv").refused(1, &["good.csv:1: expected a score"]);
    place.run("rank eval good.csv ranker ranker").refused(2, &["named twice"]);
    place.run("search ranker x").refused(1, &["is a ranker, not a model"]);
}

#[test]
fn clicks_count_by_how_rarely_people_look() {
    let mut csv = "query,doc,grade,position,x,y\n".to_owned();
    for query in 0..30 {
        // The first of ten is clicked whatever it is; a click further down means x.
        for position in 1..=10 {
            let liked = (query + position) % 10 == 0;
            let grade = u8::from(position == 1 || liked);
            csv.push_str(&format!(
                "{query},{position},{grade},{position},{},{}\n",
                u8::from(liked),
                u8::from(position == 1)
            ));
        }
    }
    let place = Place::with(&[("clicks.csv", &csv), ("chances", "1\n0.5\n0\n")]);
    let weights = |more: &str, name: &str| -> Vec<f64> {
        let line = format!("rank train ranking_svm clicks.csv -o {name} --normalise none {more}");
        place.run(&line).fine();
        let features = place.run(&format!("info {name} --format json")).json()["features"].clone();
        let weight = |name: &str| {
            let all = features.as_array().unwrap();
            all.iter().find(|f: &&Value| f["name"] == name).unwrap()["weight"].as_f64().unwrap()
        };
        vec![weight("x"), weight("y")]
    };
    let (naive, weighed) = (weights("", "naive"), weights("--propensity power:1", "weighed"));
    assert!(weighed[0] / weighed[1] > naive[0] / naive[1], "{naive:?} {weighed:?}");
    let line = "rank train mart clicks.csv -o x --propensity";
    place.run(&format!("{line} chances")).refused(1, &["chances:3"]);
    place.run(&format!("{line} power:-1")).refused(2, &["power:ETA"]);
    place.run(&format!("{line} power:1 --clip 0.5")).refused(2, &["--clip 0.5"]);
    place.run(&format!("{line} power:1 --ignore position")).refused(1, &["no positions"]);
}
