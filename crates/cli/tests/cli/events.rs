//! Raw logs: one line an event.

use std::fs;

use crate::place::Place;

const LOG: &str = "time\tuser\tquery\tdoc\trank\tclicked\n\
    2026-01-01T10:00:00Z\tann\tRust book\td1\t1\t1\n\
    2026-01-01T10:00:00Z\tann\tRust book\td2\t2\t0\n\
    2026-01-02T10:00:00Z\tbob\trust book\td1\t1\t1\n\
    2026-01-02T11:00:00Z\tbob\tgo game\td3\t1\t1\n\
    2026-01-03T11:00:00Z\tcy\tgo game\td3\t1\t1\n\
    2026-01-04T11:00:00Z\tcy\tmy secret\td2\t3\t1\n\
    2026-01-04T11:00:00Z\tcy\tmy secret\td2\t3\t1\n";

const ALL: &str = "import --events log.tsv --min-clicks 1 --validation 0 --test 0";

#[test]
fn a_raw_log_becomes_clicks_and_impressions_and_says_what_it_offers() {
    let place = Place::with(&[("log.tsv", LOG)]);
    let said = place.run(&format!("{ALL} -o data"));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("dropped 1 row of log.tsv: the same event"), "{}", said.out);
    assert!(said.out.contains("from 2026-01-01 10:00 to 2026-01-04 11:00"), "{}", said.out);
    assert!(said.out.contains("evidence: clicks, impressions and positions"), "{}", said.out);
    let data = place.dataset("data");
    let queries: Vec<String> = (0..3).map(|i| data.queries.get(i).unwrap().text).collect();
    assert_eq!(queries, ["go game", "my secret", "Rust book"]);
    assert_eq!(data.clicks.values(), [2.0, 1.0, 2.0]);
    let lists = data.impressions().unwrap();
    assert_eq!((lists.len(), lists.by_rank(3)), (4, vec![(4, 4), (1, 0), (1, 1)]));
    let stats = place.run("stats data");
    assert!(stats.out.contains("4 different result lists, 5 impressions"), "{}", stats.out);
}

#[test]
fn the_log_of_every_event_gives_the_clicks_of_the_aggregated_one() {
    let place = Place::new();
    for line in [
        "synth demo -o raw --raw --scale 0.2",
        "synth demo -o events --events --scale 0.2",
        "import --clicks raw/clicks.tsv --documents raw/documents.jsonl --judgments raw/judgments.tsv -o a",
        "import --events events/events.tsv --documents events/documents.jsonl --judgments events/judgments.tsv -o b",
        "import --events events/events.tsv --documents events/documents.jsonl --judgments events/judgments.tsv --max-memory 2MiB -o c",
    ] {
        let said = place.run(line);
        assert_eq!(said.code, Some(0), "{line}: {}", said.err);
        assert_eq!(line.contains("2MiB"), said.out.contains("sorted in"), "{}", said.out);
    }
    let pairs = |name: &str| {
        let data = place.dataset(name);
        let id = |i: usize| data.queries.get(i).unwrap().id;
        let mut pairs: Vec<(String, u32, f32)> = Vec::new();
        for (i, row) in data.clicks.rows().enumerate() {
            pairs.extend(row.iter().map(|(doc, clicks)| (id(i), doc, clicks)));
        }
        pairs.sort_by(|a, b| a.partial_cmp(b).unwrap());
        pairs
    };
    assert_eq!(pairs("a"), pairs("b"));
    for entry in fs::read_dir(place.path("b")).unwrap() {
        let name = entry.unwrap().file_name();
        let read = |folder: &str| fs::read(place.path(folder).join(&name)).unwrap();
        assert_eq!(read("b"), read("c"), "{name:?}");
    }
}

#[test]
fn rare_queries_robots_and_age_are_seen_to() {
    let place = Place::with(&[("log.tsv", LOG)]);
    let said = place.run(&format!("{ALL} -o data --min-users 2"));
    assert!(
        said.out.contains("dropped 1 row of log.tsv: of 1 query with fewer than 2 users"),
        "{}",
        said.out
    );
    let written: String = ["queries.jsonl", "documents.jsonl"]
        .map(|name| fs::read_to_string(place.path("data").join(name)).unwrap())
        .concat();
    assert!(!written.contains("secret"));
    let said = place.run(&format!("{ALL} -o robots --max-user-events 2"));
    assert!(said.out.contains("of 1 user with more than 2 events (robots)"), "{}", said.out);
    let said = place.run(&format!("{ALL} -o old --half-life 1"));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let clicks = place.dataset("old").clicks;
    assert!(clicks.values().iter().all(|&clicks| clicks < 2.0) && clicks.values().contains(&1.0));
    let said = place.run("import --events log.tsv --min-clicks 1 --validation 0 -o time --split time --test-from 2026-01-04");
    assert!(said.out.contains("test with 2026-01-04 00:00"), "{} {}", said.out, said.err);
    assert_eq!(place.dataset("time").test.nnz(), 1);
}

#[test]
fn a_day_is_appended_once_and_with_the_settings_of_the_dataset() {
    let lines: Vec<&str> = LOG.lines().collect();
    let day =
        |range: std::ops::Range<usize>| format!("{}\n{}\n", lines[0], lines[range].join("\n"));
    let place = Place::with(&[("log.tsv", LOG), ("one.tsv", &day(1..5)), ("two.tsv", &day(5..8))]);
    for line in [
        &format!("{ALL} -o whole"),
        "import --events one.tsv --min-clicks 1 --validation 0 --test 0 -o grown",
        "import --events two.tsv --append grown",
    ] {
        let said = place.run(line);
        assert_eq!(said.code, Some(0), "{line}: {}", said.err);
    }
    let bytes = |name: &str| fs::read(place.path(name).join("matrices.safetensors")).unwrap();
    assert_eq!(bytes("whole"), bytes("grown"));
    let said = place.run("import --events two.tsv --append grown");
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("two.tsv: was appended to grown before"), "{}", said.err);
    place.file("clicks.tsv", "query\tdoc\na\tx\nb\ty\n");
    let said = place.run("import --clicks clicks.tsv --validation 0 --test 0 -o plain");
    assert_eq!(said.code, Some(0), "{}", said.err);
    let said = place.run("import --events two.tsv --append plain");
    assert!(said.err.contains("was not made from events"), "{}", said.err);
}

#[test]
fn bad_events_are_refused_with_their_line_or_counted() {
    let bad = "time\tuser\tquery\tdoc\trank\tclicked\n\
        2026-01-01T10:00:00Z\tann\trust\td1\t1\t1\n\
        yesterday\tann\trust\td1\t1\t1\n\
        10:00:00\tann\trust\td1\t1\t1\n\
        2026-01-01T10:00:00Z\tann\trust\td1\t0\t1\n\
        2026-01-01T10:00:00Z\tann\trust\td1\t1\tperhaps\n\
        2026-01-01T10:00:00Z\tann\trust\t\t\t\n\
        2026-01-01T10:00:00Z\tann\tru\0st\td1\t1\t1\n\
        2026-01-01T10:00:00Z\tann\t\td1\t1\t1\n\
        \tann\trust\td1\t1\t1\n\
        2026-01-01T10:00:00Z\tann\n";
    let place = Place::with(&[("log.tsv", bad)]);
    let said = place.run(&format!("{ALL} -o data"));
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("log.tsv:3: expected a time"), "{}", said.err);
    let said = place.run(&format!("{ALL} -o data --lenient"));
    assert_eq!(said.code, Some(0), "{}", said.err);
    for sample in [
        "log.tsv:3: expected a time",
        "log.tsv:4: expected a time with its date, as before",
        "log.tsv:5: expected a whole number from 1 as rank",
        "log.tsv:6: expected 1, true or click",
        "dropped 1 row of log.tsv: no document: a query without a click",
        "log.tsv:8: ",
        "log.tsv:9: expected the field query",
        "log.tsv:10: expected a time, as in other rows",
        "log.tsv:11: expected 6 fields, found 2",
    ] {
        assert!(said.out.contains(sample), "{sample}: {}", said.out);
    }
    assert_eq!(place.dataset("data").clicks.values(), [1.0]);
}

#[test]
fn clicks_prefer_results_to_those_passed_over() {
    let place = Place::new();
    for line in [
        "synth demo -o events --events --scale 0.2",
        "import --events events/events.tsv --documents events/documents.jsonl --judgments events/judgments.tsv -o data",
    ] {
        let said = place.run(line);
        assert_eq!(said.code, Some(0), "{line}: {}", said.err);
    }
    let stats = place.run("stats data");
    assert!(stats.out.contains("preference pairs: a clicked result beats"), "{}", stats.out);
    assert!(stats.out.contains("of them judged: judgments contradict"), "{}", stats.out);
    let json: serde_json::Value =
        serde_json::from_str(&place.run("stats data --format json").out).unwrap();
    let preferences = &json["preferences"];
    assert!(
        preferences["judged"].as_u64().unwrap() > preferences["contradicted"].as_u64().unwrap()
    );
    let set = "--set negative=impressions --set next=true --set dim=8 --set epochs=2";
    let said = place.run(&format!("train ssi data -o model {set}"));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let report = fs::read_to_string(place.path("model").join("report.json")).unwrap();
    assert!(report.contains("preference pairs of") && report.contains("triples from impressions"));
    // A dataset of counted clicks has nothing of the kind.
    let clicks = "query\tdoc\tclicks\nred\ta\t9\nblue\tb\t9\n";
    let docs = "{\"id\":\"a\",\"title\":\"red\"}\n{\"id\":\"b\",\"title\":\"blue\"}\n";
    let place = Place::with(&[("clicks.tsv", clicks), ("docs.jsonl", docs)]);
    let line = "import --clicks clicks.tsv --documents docs.jsonl -o data --validation 0 --test 0";
    assert_eq!(place.run(line).code, Some(0));
    place
        .run("train ssi data -o model --set negative=impressions")
        .refused(1, &["no impressions", "--events"]);
}
