//! Raw logs end to end: the same bytes whatever the limit, the order of the lines and the
//! number of imports.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use crate::data::{Dataset, EventRules, Import, SplitBy, Table};
use crate::random::Random;
use crate::{Error, Run};

const HEADER: &str = "time\tuser\tquery\tdoc\trank\tclicked\n";

/// So many pages of ten results over `days` days from the day `first` on; people like some
/// documents more than others.
fn log(pages: usize, first: u32, days: u32) -> Vec<String> {
    let mut random = Random::new(u64::from(first), 7);
    let mut lines = Vec::new();
    for page in 0..pages {
        let day = first + (page as u32 * days) / pages as u32;
        let user = random.below(40);
        let query = random.below(30);
        let clock =
            format!("{:02}:{:02}:{:02}", random.below(24), random.below(60), random.below(60));
        for rank in 1..=5 {
            let doc = (query * 3 + random.below(6)) % 60;
            let clicked = u8::from(random.below(rank as u64 + 1) == 0);
            let query = if random.below(3) == 0 {
                format!("Query {query}")
            } else {
                format!("query {query}")
            };
            lines.push(format!(
                "2026-01-{day:02}T{clock}Z\tu{user}\t{query}\td{doc}\t{rank}\t{clicked}\n"
            ));
        }
    }
    lines
}

fn write(path: &Path, lines: &[String]) {
    text(path, &format!("{HEADER}{}", lines.concat()));
}

fn text(path: &Path, text: &str) {
    fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// Every file of a dataset but its manifest, which names the source.
fn bytes(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
    let named =
        files.map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap()));
    named.filter(|(name, _)| name != "manifest.json").collect()
}

fn import(path: &Path) -> Import {
    Import { events: Some(Table::new(path)), min_clicks: Some(2), ..Import::default() }
}

#[test]
fn a_log_larger_than_memory_gives_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.tsv");
    let lines = log(40_000, 1, 20);
    write(&path, &lines);
    let bytes_read = fs::metadata(&path).unwrap().len();
    let [large, small] = ["large", "small"].map(|name| dir.path().join(name));
    let rules = EventRules {
        min_users: 2,
        max_per_user: Some(3),
        max_user_events: Some(100_000),
        half_life: Some(5.0),
    };
    let import = Import { rules, ..import(&path) };
    let report = import.run(&large, false, &Run::silent()).unwrap();
    assert_eq!(report.sort_files, 0);
    let limited = Import { max_memory: Some(bytes_read / 10), ..import };
    let report = limited.run(&small, false, &Run::silent()).unwrap();
    assert!(report.sort_files > 8, "{}", report.sort_files);
    assert_eq!(bytes(&large), bytes(&small));
    assert_eq!(
        fs::read(large.join("manifest.json")).unwrap(),
        fs::read(small.join("manifest.json")).unwrap()
    );
    let impressions = Dataset::open(&large).unwrap().impressions().unwrap();
    assert!(impressions.len() > 1000);
    let by_rank = impressions.by_rank(5);
    let rate = |(shown, clicked): (u64, u64)| clicked as f64 / shown as f64;
    assert!(rate(by_rank[0]) > 0.5 && rate(by_rank[4]) < 0.25, "{by_rank:?}");
}

#[test]
fn the_order_of_the_lines_does_not_matter() {
    let dir = tempfile::tempdir().unwrap();
    let [sorted, mixed] = ["sorted", "mixed"].map(|name| dir.path().join(name));
    let mut lines = log(300, 1, 10);
    write(&dir.path().join("a.tsv"), &lines);
    Random::new(1, 1).shuffle(&mut lines);
    write(&dir.path().join("b.tsv"), &lines);
    import(&dir.path().join("a.tsv")).run(&sorted, false, &Run::silent()).unwrap();
    import(&dir.path().join("b.tsv")).run(&mixed, false, &Run::silent()).unwrap();
    assert_eq!(bytes(&sorted), bytes(&mixed));
}

#[test]
fn appending_day_by_day_is_importing_all_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let days: Vec<Vec<String>> = (0..3).map(|day| log(200, 1 + 3 * day, 3)).collect();
    let [whole, grown] = ["whole", "grown"].map(|name| dir.path().join(name));
    for by in [SplitBy::Queries, SplitBy::Time, SplitBy::Edges] {
        let all = dir.path().join("all.tsv");
        write(&all, &days.concat());
        let rules =
            EventRules { half_life: Some(2.5), max_per_user: Some(50), ..EventRules::default() };
        let settings =
            Import { rules, split: Some(by), seed: 5, validation: Some(0.2), ..import(&all) };
        settings.run(&whole, true, &Run::silent()).unwrap();
        for (n, lines) in days.iter().enumerate() {
            let path = dir.path().join(format!("day{n}.tsv"));
            write(&path, lines);
            let import = if n == 0 {
                Import { events: Some(Table::new(&path)), ..settings.clone() }
            } else {
                // Everything else is as the dataset was made.
                let append = Some(grown.clone());
                Import { events: Some(Table::new(&path)), append, ..Import::default() }
            };
            import.run(&grown, true, &Run::silent()).unwrap();
        }
        assert_eq!(bytes(&whole), bytes(&grown), "{by:?}");
        let about = |path: &Path| {
            let mut about = Dataset::open(path).unwrap().about().clone();
            (about.sources, about.report) = (Vec::new(), Vec::new());
            about
        };
        assert_eq!(about(&whole), about(&grown));
    }
    let again = Import { append: Some(grown.clone()), ..import(&dir.path().join("day1.tsv")) };
    let error = again.run(&grown, true, &Run::silent()).unwrap_err();
    assert!(error.to_string().contains("would count twice"), "{error}");
    assert!(Dataset::open(&grown).is_ok());
}

#[test]
fn a_split_by_time_holds_out_what_is_newest() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.tsv");
    let click = |day: u32, query: &str, doc: &str| {
        format!("2026-03-{day:02} 10:00:00\tu\t{query}\t{doc}\t1\t1\n")
    };
    let lines: Vec<String> =
        (1..=10).map(|day| click(day, &format!("q{day}"), &format!("d{day}"))).collect();
    write(&path, &lines);
    let data = dir.path().join("data");
    let by_time = Import { split: Some(SplitBy::Time), min_clicks: Some(1), ..import(&path) };
    let from = (Some("2026-03-07".to_owned()), Some("2026-03-09".to_owned()));
    let by_date = Import { validation_from: from.0, test_from: from.1, ..by_time.clone() };
    by_date.run(&data, false, &Run::silent()).unwrap();
    let held_out = |data: &Path| {
        let dataset = Dataset::open(data).unwrap();
        (dataset.clicks.nnz(), dataset.validation.nnz(), dataset.test.nnz())
    };
    assert_eq!(held_out(&data), (6, 2, 2));
    let by_share = Import { validation: Some(0.3), test: Some(0.1), ..by_time.clone() };
    by_share.run(&data, true, &Run::silent()).unwrap();
    assert_eq!(held_out(&data), (6, 3, 1));
    let by_queries = Import { test_from: Some("2026-03-09".into()), ..import(&path) };
    let error = by_queries.run(&data, true, &Run::silent()).unwrap_err();
    assert!(error.to_string().contains("split = queries: expected time"), "{error}");
}

#[test]
fn rules_that_the_log_cannot_serve_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.tsv");
    text(&path, "query\tdoc\na\tx\nb\ty\n");
    let out = dir.path().join("out");
    let refused = |import: Import| import.run(&out, false, &Run::silent()).unwrap_err().to_string();
    let with = |rules: EventRules| Import { rules, ..import(&path) };
    let needs = refused(with(EventRules { min_users: 5, ..EventRules::default() }));
    assert!(needs.contains("min_users needs a column called user"), "{needs}");
    let needs = refused(with(EventRules { half_life: Some(9.0), ..EventRules::default() }));
    assert!(needs.contains("half_life needs a column called time"), "{needs}");
    let needs = refused(Import { split: Some(SplitBy::Time), ..import(&path) });
    assert!(needs.contains("no column called time"), "{needs}");
    let wrong = refused(with(EventRules { half_life: Some(-1.0), ..EventRules::default() }));
    assert!(wrong.contains("a number of days above 0"), "{wrong}");
    let small = Import { max_memory: Some(10), ..import(&path) };
    let error = small.run(&out, false, &Run::silent()).unwrap_err();
    assert!(
        matches!(&error, Error::Empty { advice, .. } if advice.contains("--max-memory")),
        "{error}"
    );
    assert!(!out.exists());
}
