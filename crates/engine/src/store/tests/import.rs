//! What is exported can be imported.

use std::fs::File;
use std::io::Write;

use liken::Run;
use liken::data::{Dataset, Import, Table};

use super::*;
use crate::types::{Event, Judgment};

#[test]
fn an_import_reads_the_log() {
    let (folder, store) = fresh();
    let mut events = Vec::new();
    for n in 0..40 {
        let event = |kind: &str, time: f64| Event {
            kind: kind.into(),
            query: format!("some \"query\"\t{n}"),
            time: Some(1_763_215_600.0 + time),
            ..Event::default()
        };
        let shown = |ids: &[&str]| ids.iter().map(ToString::to_string).collect();
        let session = Some(format!("visit {n}"));
        let page = event("impression", 0.0);
        events.push(Event { shown: shown(&["a", "b", "c"]), session: session.clone(), ..page });
        let click = event("click", 20.5);
        events.push(Event { id: Some("b".into()), rank: Some(2), session, ..click });
        // Two people of whom nothing is known see the same in one second.
        for _ in 0..2 {
            events.push(Event { shown: shown(&["a", "c"]), ..event("impression", 5.0) });
        }
        events.push(event("impression", 9.0));
    }
    store.record(events).unwrap();
    let log = folder.path().join("events.jsonl");
    let said = store.export_events(&mut File::create(&log).unwrap()).unwrap();
    assert_eq!((said.taken, said.lines), (200, 40 * (3 + 1 + 4 + 1)));

    let import = Import {
        events: Some(Table::new(&log)),
        min_clicks: Some(1),
        validation: Some(0.0),
        test: Some(0.0),
        ..Import::default()
    };
    let data = folder.path().join("data");
    let report = import.run(&data, false, &Run::silent()).unwrap();
    assert_eq!(report.tables[0].rows - report.tables[0].kept, 40, "queries without a document");
    let lists = Dataset::open(&data).unwrap().impressions().unwrap();
    assert_eq!(lists.by_rank(3), [(120, 0), (120, 40), (40, 0)], "the click is on its page");
}

#[test]
fn an_import_reads_the_judgments() {
    let (folder, store) = fresh();
    let file = |name: &str| folder.path().join(name);
    let mut documents = File::create(file("documents.jsonl")).unwrap();
    let mut judgments = Vec::new();
    for n in 0..30u8 {
        writeln!(documents, "{}", json!({"id": format!("d{n}"), "title": format!("word {n}")}))
            .unwrap();
        let query = format!("the \"word\" {}", n % 10);
        let judge = Some("ann".to_owned());
        judgments.push(Judgment { query, id: format!("d{n}"), grade: Some(n % 4), judge });
    }
    store.judge(judgments).unwrap();
    let mut qrels = File::create(file("judgments.qrels")).unwrap();
    let mut queries = File::create(file("queries.tsv")).unwrap();
    store.export_qrels(&mut qrels, &mut queries).unwrap();

    let mut named = Table::new(file("queries.tsv"));
    named.no_header = true;
    named.columns.extend([("id".into(), "0".into()), ("text".into(), "1".into())]);
    let import = Import {
        documents: Some(Table::new(file("documents.jsonl"))),
        queries: Some(named),
        judgments: Some(Table::new(file("judgments.qrels"))),
        ..Import::default()
    };
    let report = import.run(&file("data"), false, &Run::silent()).unwrap();
    for table in &report.tables {
        assert_eq!(table.rows, table.kept, "{}", table.name);
    }
    assert_eq!(report.tables.iter().map(|table| table.rows).max(), Some(30));
    assert_eq!(Dataset::open(&file("data")).unwrap().about().counts.queries, 10);
}
