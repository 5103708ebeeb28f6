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
        min_users: Some(2),
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
            Import { rules, split: Some(by), seed: Some(5), validation: Some(0.2), ..import(&all) };
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
    let needs = refused(with(EventRules { min_users: Some(5), ..EventRules::default() }));
    assert!(needs.contains("min_users needs a column user"), "{needs}");
    let needs = refused(with(EventRules { half_life: Some(9.0), ..EventRules::default() }));
    assert!(needs.contains("half_life needs a column time"), "{needs}");
    let needs = refused(Import { split: Some(SplitBy::Time), ..import(&path) });
    assert!(needs.contains("needs a column time"), "{needs}");
    let wrong = refused(with(EventRules { half_life: Some(-1.0), ..EventRules::default() }));
    assert!(wrong.contains("a number of days above 0"), "{wrong}");
    let tiny = refused(Import { max_memory: Some(10), ..import(&path) });
    assert!(tiny.contains("64KiB or more"), "{tiny}");
    let many: String = (0..20_000).map(|i| format!("q{i}\td{i}\n")).collect();
    text(&path, &format!("query\tdoc\n{many}"));
    let small = Import { max_memory: Some(64 << 10), ..import(&path) };
    let error = small.run(&out, false, &Run::silent()).unwrap_err();
    assert!(
        matches!(&error, Error::Empty { advice, .. } if advice.contains("`max_memory`")),
        "{error}"
    );
    assert!(!out.exists());
}

/// (query, documents with whether they were clicked) of every list.
fn lists(data: &Dataset) -> Vec<(String, Vec<(String, bool)>)> {
    let impressions = data.impressions().unwrap();
    let lists = impressions.iter().map(|list| {
        let doc = |&doc: &u32| data.documents.get(doc as usize).unwrap().id;
        let shown = list.docs.iter().zip(list.clicked).map(|(d, &c)| (doc(d), c == 1));
        (data.queries.get(list.query as usize).unwrap().id, shown.collect())
    });
    lists.collect()
}

#[test]
fn nothing_that_is_held_out_is_in_the_lists() {
    let dir = tempfile::tempdir().unwrap();
    let (path, out) = (dir.path().join("log.tsv"), dir.path().join("out"));
    let lines = log(600, 1, 20);
    write(&path, &lines);
    let judgments = dir.path().join("judgments.tsv");
    // Every second query is judged; the others are held out without judgments.
    let judged: String = (0..15).map(|i| format!("query {}\td{}\t2\n", 2 * i, 3 * i)).collect();
    text(&judgments, &format!("query\tdoc\tgrade\n{judged}"));
    for (by, judged) in [
        (SplitBy::Queries, false),
        (SplitBy::Queries, true),
        (SplitBy::Edges, false),
        (SplitBy::Documents, false),
        (SplitBy::Time, false),
    ] {
        let judgments = judged.then(|| Table::new(&judgments));
        let all = Import { min_clicks: Some(1), split: Some(by), judgments, ..import(&path) };
        let import = Import { validation: Some(0.2), test: Some(0.3), ..all };
        import.run(&out, true, &Run::silent()).unwrap();
        let data = Dataset::open(&out).unwrap();
        let lists = lists(&data);
        assert!(lists.len() > 50, "{by:?}: {}", lists.len());
        let trained = |query: &str| {
            let row = (0..data.queries.len()).find(|&i| data.queries.get(i).unwrap().id == query);
            data.clicks.row(row.unwrap()).indices.to_vec()
        };
        for (query, shown) in &lists {
            let known = trained(query);
            assert!(by != SplitBy::Queries || !known.is_empty(), "{query} is held out");
            for (doc, clicked) in shown.iter().filter(|_| by != SplitBy::Time) {
                let number = (0..data.documents.len() as u32)
                    .find(|&j| data.documents.get(j as usize).unwrap().id == *doc);
                let number = number.unwrap();
                assert!(data.held_out_documents.binary_search(&number).is_err());
                assert!(!clicked || known.contains(&number), "{by:?}: {query} {doc}");
            }
        }
    }
}

#[test]
fn a_click_after_the_cut_is_in_no_page_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let (path, out) = (dir.path().join("log.tsv"), dir.path().join("out"));
    let line = |time: &str, doc: &str, clicked: u8| {
        format!("2026-11-01T{time}Z\tann\tq\t{doc}\t1\t{clicked}\n")
    };
    let lines = [line("05:00:00", "a", 1), line("07:50:00", "b", 0), line("08:01:00", "b", 1)];
    write(&path, &lines);
    let test_from = Some("2026-11-01 08:00".to_owned());
    let by_time =
        Import { split: Some(SplitBy::Time), validation: Some(0.0), test_from, ..import(&path) };
    let by_time = Import { min_clicks: Some(1), ..by_time };
    by_time.run(&out, false, &Run::silent()).unwrap();
    let data = Dataset::open(&out).unwrap();
    assert_eq!(data.test.nnz(), 1);
    assert_eq!(lists(&data), [("q".to_owned(), vec![("a".to_owned(), true)])]);
    // Another day does not move the cut.
    write(&path, &[line("09:30:00", "c", 1)]);
    let append =
        Import { events: Some(Table::new(&path)), append: Some(out.clone()), ..Import::default() };
    append.run(&out, true, &Run::silent()).unwrap();
    let data = Dataset::open(&out).unwrap();
    assert_eq!((data.clicks.nnz(), data.test.nnz()), (1, 2));
}

#[test]
fn a_rare_query_is_nowhere_in_the_folder() {
    let dir = tempfile::tempdir().unwrap();
    let [path, queries, out] = ["log.tsv", "queries.tsv", "out"].map(|name| dir.path().join(name));
    text(&queries, "id\ttext\n1\tcommon\n2\tvery secret\n");
    text(
        &path,
        "user\tquery\tdoc\nann\t1\tx\nbob\t1\tx\nann\t2\ty\n\t2\ty\nann\tvery secret too\ty\n",
    );
    let rules = EventRules { min_users: Some(2), ..EventRules::default() };
    let (validation, test) = (Some(0.0), Some(0.0));
    let import = Import {
        queries: Some(Table::new(&queries)),
        lenient: true,
        rules,
        validation,
        test,
        ..import(&path)
    };
    let report = import.run(&out, false, &Run::silent()).unwrap();
    assert!(format!("{:?}", report.tables).contains("secret too"), "the user sees it");
    for (name, bytes) in bytes(&out) {
        let bytes =
            if name.ends_with(".zst") { zstd::decode_all(&bytes[..]).unwrap() } else { bytes };
        assert!(!String::from_utf8_lossy(&bytes).contains("secret"), "{name}");
    }
    assert!(!fs::read_to_string(out.join("manifest.json")).unwrap().contains("secret"));
}

#[test]
fn documents_given_with_another_day_must_be_all_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let [path, documents, out] =
        ["log.tsv", "documents.tsv", "out"].map(|name| dir.path().join(name));
    text(&path, "query\tdoc\na\tx\na\tx\nb\ty\nb\ty\n");
    let settings = Import { validation: Some(0.0), test: Some(0.0), ..import(&path) };
    settings.run(&out, false, &Run::silent()).unwrap();
    text(&path, "query\tdoc\na\tz\na\tz\n");
    text(&documents, "id\ttitle\nz\tZ\n");
    let append = |out: &Path| Import {
        events: Some(Table::new(&path)),
        documents: Some(Table::new(&documents)),
        append: Some(out.to_owned()),
        ..Import::default()
    };
    let error = append(&out).run(&out, true, &Run::silent()).unwrap_err().to_string();
    assert!(error.contains("the table of documents has no \"x\""), "{error}");
    assert_eq!(Dataset::open(&out).unwrap().documents.len(), 2);
    text(&documents, "id\ttitle\nx\tX\ny\tY\nz\tZ\n");
    append(&out).run(&out, true, &Run::silent()).unwrap();
    let data = Dataset::open(&out).unwrap();
    assert_eq!((data.documents.len(), data.clicks.nnz()), (3, 3));
}

#[test]
fn times_are_in_all_rows_or_in_none() {
    let dir = tempfile::tempdir().unwrap();
    let (path, out) = (dir.path().join("log.tsv"), dir.path().join("out"));
    let rows = ["\ta\tx\n", "2026-01-01\ta\tx\n"];
    for (at, rows) in [(2, rows), (3, [rows[1], rows[0]])] {
        text(&path, &format!("time\tquery\tdoc\n{}", rows.concat()));
        let error = import(&path).run(&out, false, &Run::silent()).unwrap_err().to_string();
        assert!(error.contains(&format!("log.tsv:{at}: expected a time")), "{error}");
    }
}
