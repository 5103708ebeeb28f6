use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::data::fixture::real_data;
use crate::data::{Dataset, TableFormat};
use crate::eval::{Candidates, HeldOut, Measure, Task, Variant};
use crate::features::{Counts, Preparation};
use crate::sparse::Csr;
use crate::text::Language;

type Pairs = BTreeSet<(String, String)>;

/// Documents and links in files of a folder of their own.
struct Source {
    folder: tempfile::TempDir,
    links: Vec<(usize, usize)>,
}

impl Source {
    /// `n` documents of some words each, in the order of `order`, with `links` between them.
    fn new(n: usize, links: &[(usize, usize)], order: impl Iterator<Item = usize>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let documents: Vec<String> = order
            .map(|i| {
                let body = format!("The word{i} is in group{} and group{}", i % 3, i % 5);
                serde_json::json!({ "id": name(i), "title": format!("Title{i}"), "body": body })
                    .to_string()
            })
            .collect();
        assert_eq!(documents.len(), n);
        let rows: Vec<String> =
            links.iter().map(|&(from, to)| format!("{}\t{}", name(from), name(to))).collect();
        write(&folder.path().join("d.jsonl"), &documents.join("\n"));
        let links_text = format!("query\tdoc\n{}\n", rows.join("\n"));
        write(&folder.path().join("l.tsv"), &links_text);
        Source { folder, links: links.to_vec() }
    }

    /// Every document links to the two after it and to one far away; the first also to itself.
    fn ring(n: usize) -> Self {
        let mut links: Vec<(usize, usize)> =
            (0..n).flat_map(|i| [1, 2, n / 2].map(|step| (i, (i + step) % n))).collect();
        links.push((0, 0));
        Source::new(n, &links, 0..n)
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    fn import(&self) -> Import {
        Import {
            documents: Some(Table::new(self.path("d.jsonl"))),
            links: Some(Table::new(self.path("l.tsv"))),
            ..Import::default()
        }
    }

    fn make(&self, task: &TaskParams) -> (Dataset, ImportReport) {
        let target = self.path("data");
        let report = task.run(&self.import(), &target, true, &Run::silent()).unwrap();
        (Dataset::open(&target).unwrap(), report)
    }

    /// The links, without those of a document to itself.
    fn proper(&self) -> Pairs {
        self.links.iter().filter(|(a, b)| a != b).map(|&(a, b)| (name(a), name(b))).collect()
    }
}

fn write(path: &Path, text: &str) {
    File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn name(i: usize) -> String {
    format!("D{i}")
}

fn pairs(data: &Dataset, matrix: &Csr) -> Pairs {
    let mut found = Pairs::new();
    for (query, row) in matrix.rows().enumerate() {
        for (doc, _) in row.iter() {
            let query = data.queries.get(query).unwrap().id;
            found.insert((query, data.documents.get(doc as usize).unwrap().id));
        }
    }
    found
}

fn parts(data: &Dataset) -> [Pairs; 3] {
    [&data.clicks, &data.validation, &data.test].map(|matrix| pairs(data, matrix))
}

fn dropped(report: &ImportReport, why: &str) -> u64 {
    report.dropped.iter().find(|d| d.why.contains(why)).map_or(0, |dropped| dropped.count)
}

#[test]
fn links_are_dealt_out_each_once_and_none_leads_to_itself() {
    let source = Source::ring(20);
    let (data, report) = source.make(&TaskParams::default());
    let [train, validation, test] = parts(&data);
    // 6 and 18 of 60, and one more where two links go together.
    assert!((6..=7).contains(&validation.len()) && (18..=19).contains(&test.len()));
    // Halfway around the ring two documents link to each other.
    let back = |(from, to): &(String, String)| (to.clone(), from.clone());
    for part in [&train, &validation, &test] {
        let all = source.proper();
        let mutual: Vec<_> = part.iter().map(back).filter(|link| all.contains(link)).collect();
        assert!(mutual.iter().all(|link| part.contains(link)));
    }
    assert!(train.iter().map(back).any(|link| train.contains(&link)));
    assert!(train.is_disjoint(&test) && train.is_disjoint(&validation));
    assert!(validation.is_disjoint(&test));
    let all: Pairs = train.into_iter().chain(validation).chain(test).collect();
    assert_eq!(all, source.proper());
    assert_eq!(dropped(&report, "to itself"), 1);
    assert!(data.held_out_documents.is_empty());
    assert_eq!(data.about().split.by, SplitBy::Edges);
    assert_eq!(data.about().task.as_ref().unwrap().kind, TaskKind::Links);
    let query = data.queries.get(4).unwrap();
    assert_eq!((query.id.as_str(), query.clicks), ("D4", 3.0));
    assert_eq!(query.text, "Title4 The word4 is in group1 and group4");
    assert_eq!(report.about.sources.len(), 2);
}

#[test]
fn a_document_is_not_ranked_for_itself_nor_are_its_training_links() {
    let (data, _) = Source::ring(20).make(&TaskParams::default());
    let counts = Counts::of(&data, &Preparation::default(), &Run::silent()).unwrap();
    let ids = &counts.doc_ids;
    let number = |id: &str| ids.iter().position(|known| known == id).unwrap();
    for candidates in [Candidates::All, Candidates::Sampled { docs: 1000, queries: None }] {
        let task = Task::new(&data, HeldOut::Test, &counts, candidates, Variant::default());
        for place in 0..task.queries().len() {
            let query = task.queries()[place] as usize;
            let own = number(&data.queries.get(query).unwrap().id);
            let mut scores = vec![0.0; ids.len()];
            scores[own] = 9.0;
            data.clicks.row(query).indices.iter().for_each(|&doc| scores[doc as usize] = 8.0);
            task.grades(place).indices.iter().for_each(|&doc| scores[doc as usize] = 7.0);
            let docs = task.docs(place);
            let ranked = match &docs {
                None => scores,
                Some(docs) => docs.iter().map(|&doc| scores[doc as usize]).collect(),
            };
            let measures = [Measure::Ap { k: None }, Measure::RankLossAll];
            assert_eq!(
                task.measure(&measures, place, docs.as_deref(), &ranked),
                [Some(1.0), Some(0.0)]
            );
        }
    }
    let few = Candidates::Sampled { docs: 3, queries: Some(5) };
    let task = Task::new(&data, HeldOut::Test, &counts, few, Variant::default());
    assert_eq!(task.queries().len(), 5);
    for place in 0..5 {
        let docs = task.docs(place).unwrap();
        assert_eq!(docs.len(), task.grades(place).len() + 3);
        assert!(docs.is_sorted());
        assert_eq!(task.docs(place), task.docs(place));
    }
}

#[test]
fn no_true_link_of_another_part_is_ranked_and_a_share_changes_no_candidate() {
    let source = Source::ring(40);
    let known = source.proper();
    // What is ranked for every query of the test, by ids.
    let ranked = |task: &TaskParams| {
        let (data, _) = source.make(task);
        let counts = Counts::of(&data, &Preparation::default(), &Run::silent()).unwrap();
        let few = Candidates::Sampled { docs: 8, queries: None };
        let task = Task::new(&data, HeldOut::Test, &counts, few, Variant::default());
        let mut ranked = Vec::new();
        for (place, &query) in task.queries().iter().enumerate() {
            let query = data.queries.get(query as usize).unwrap().id;
            let docs = task.docs(place).unwrap();
            for &doc in docs.iter() {
                let pair = (query.clone(), counts.doc_ids[doc as usize].clone());
                assert_eq!(task.grades(place).contains(doc), known.contains(&pair), "{pair:?}");
                assert_ne!(pair.0, pair.1);
                ranked.push(pair);
            }
        }
        ranked
    };
    let by_documents = TaskSplit::Documents;
    ranked(&TaskParams { split: by_documents, validation: 0.0, ..TaskParams::default() });
    let whole = ranked(&TaskParams::default());
    for share in [0.05, 0.3] {
        assert_eq!(ranked(&TaskParams { share: Some(share), ..TaskParams::default() }), whole);
    }
}

#[test]
fn documents_of_the_test_are_unknown_to_training() {
    let source = Source::ring(60);
    let task = TaskParams { split: TaskSplit::Documents, test: 0.4, ..TaskParams::default() };
    let (data, report) = source.make(&task);
    let held_out: BTreeSet<String> = data
        .held_out_documents
        .iter()
        .map(|&doc| data.documents.get(doc as usize).unwrap().id)
        .collect();
    assert_eq!(held_out.len(), 6 + 24);
    let [train, validation, test] = parts(&data);
    let ends = |pairs: &Pairs| -> BTreeSet<String> {
        pairs.iter().flat_map(|(from, to)| [from.clone(), to.clone()]).collect()
    };
    assert!(ends(&train).is_disjoint(&held_out));
    assert!(ends(&validation).is_subset(&held_out) && ends(&test).is_subset(&held_out));
    assert!(ends(&validation).is_disjoint(&ends(&test)));
    let kept: Pairs = train.into_iter().chain(validation).chain(test).collect();
    let all = source.proper();
    assert!(kept.is_subset(&all));
    assert_eq!(dropped(&report, "different splits") as usize, all.len() - kept.len());
    // Whoever has both ends in training, or both held out in one part, is kept.
    let inside =
        |pair: &&(String, String)| !held_out.contains(&pair.0) && !held_out.contains(&pair.1);
    assert_eq!(all.iter().filter(inside).count(), data.clicks.nnz());
}

#[test]
fn a_smaller_share_is_a_part_of_a_larger_one_with_the_same_test() {
    let source = Source::ring(50);
    for split in [TaskSplit::Links, TaskSplit::Documents] {
        let task = TaskParams { split, validation: 0.2, test: 0.3, ..TaskParams::default() };
        let [whole, validation, test] = parts(&source.make(&task).0);
        let mut larger = whole.clone();
        let n_links = match split {
            TaskSplit::Links => source.proper().len(),
            TaskSplit::Documents => whole.len() + validation.len() + test.len(),
        };
        for share in [0.3, 0.1, 0.04, 0.001] {
            let (data, report) = source.make(&TaskParams { share: Some(share), ..task.clone() });
            let [train, v, t] = parts(&data);
            assert_eq!((&v, &t), (&validation, &test));
            let asked = ((share * n_links as f64).round() as usize).max(1);
            assert!((asked..=asked + 1).contains(&train.len()));
            assert!(train.is_subset(&larger));
            assert_eq!(dropped(&report, "beyond `share`") as usize, whole.len() - train.len());
            larger = train;
        }
        let much = TaskParams { share: Some(0.9), ..task };
        let error = much.run(&source.import(), &source.path("x"), false, &Run::silent());
        let error = error.unwrap_err().to_string();
        assert!(error.contains("share = 0.9: expected at most 0."), "{error}");
        assert!(!source.path("x").exists());
    }
}

#[test]
fn drawn_words_are_different_words_of_the_document() {
    let source = Source::ring(20);
    let task = |words| TaskParams { kind: TaskKind::Keywords, words, ..TaskParams::default() };
    let (whole, _) = source.make(&TaskParams::default());
    let whole: Vec<String> = whole.queries.iter().map(|query| query.unwrap().text).collect();
    let (data, report) = source.make(&task(Some(2)));
    assert!(report.notes.iter().all(|note| !note.contains("fewer than")));
    let mut firsts = BTreeSet::new();
    for (query, text) in data.queries.iter().zip(&whole) {
        let query = query.unwrap();
        let words: Vec<&str> = query.text.split(' ').collect();
        assert!(words.len() == 2 && words[0] != words[1], "{words:?}");
        let text = text.to_lowercase();
        let known: Vec<&str> = text.split(' ').collect();
        assert!(words.iter().all(|word| known.contains(word)), "{words:?} of {known:?}");
        assert!(!words.contains(&"the") && !words.contains(&"is"));
        firsts.insert(words[0].chars().take(4).collect::<String>());
    }
    assert!(firsts.len() > 1, "always the same word: {firsts:?}");
    // The links are dealt as for whole documents; other seeds draw other words.
    assert_eq!(parts(&data), parts(&source.make(&TaskParams::default()).0));
    let other = source.make(&TaskParams { seed: 1, ..task(Some(2)) }).0;
    assert_ne!(data.queries.get(0).unwrap().text, other.queries.get(0).unwrap().text);
    // There are title, word and two groups, or one where both are the same.
    let (data, report) = source.make(&task(None));
    assert!(report.notes.iter().any(|note| note.contains("20 queries with fewer than 10 words")));
    let words = |i| data.queries.get(i).unwrap().text.split(' ').count();
    assert_eq!((words(0), words(3)), (3, 4));
    let every = TaskParams { language: Language::None, ..task(None) };
    let words = source.make(&every).0.queries.get(3).unwrap().text;
    assert!(words.split(' ').any(|word| word == "the"), "{words}");
}

#[test]
fn the_order_of_the_lines_changes_nothing() {
    let links: Vec<(usize, usize)> =
        (0..30).flat_map(|i| [(i, (i * 7 + 1) % 30), (i, (i + 5) % 30)]).collect();
    let turned: Vec<(usize, usize)> = links.iter().rev().copied().collect();
    for kind in [TaskKind::Links, TaskKind::Keywords] {
        for split in [TaskSplit::Links, TaskSplit::Documents] {
            let task = TaskParams { kind, split, validation: 0.3, ..TaskParams::default() };
            let one = Source::new(30, &links, 0..30).make(&task).0;
            let two = Source::new(30, &turned, (0..30).rev()).make(&task).0;
            assert_eq!(parts(&one), parts(&two), "{task:?}");
            let texts = |data: &Dataset| -> BTreeSet<(String, String)> {
                data.queries.iter().map(Result::unwrap).map(|q| (q.id, q.text)).collect()
            };
            assert_eq!(texts(&one), texts(&two));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nothing_leaks_whatever_the_links(
        links in prop::collection::btree_set((0usize..25, 0usize..25), 30..120),
        seed: u64,
        by_documents: bool,
    ) {
        let links: Vec<(usize, usize)> = links.into_iter().collect();
        let source = Source::new(25, &links, 0..25);
        let split = if by_documents { TaskSplit::Documents } else { TaskSplit::Links };
        let task = TaskParams { split, seed, validation: 0.3, test: 0.3, ..TaskParams::default() };
        let made = task.run(&source.import(), &source.path("data"), true, &Run::silent());
        // Some deals of documents leave a part without a link, which is refused.
        prop_assume!(!matches!(made, Err(Error::Empty { .. })));
        let report = made.unwrap();
        let data = Dataset::open(&source.path("data")).unwrap();
        let [train, validation, test] = parts(&data);
        let all: Pairs = train.iter().chain(&validation).chain(&test).cloned().collect();
        prop_assert_eq!(all.len(), train.len() + validation.len() + test.len());
        prop_assert!(all.is_subset(&source.proper()));
        let crossing = dropped(&report, "different splits") as usize;
        prop_assert_eq!(all.len() + crossing, source.proper().len());
        prop_assert!(all.iter().all(|(from, to)| from != to));
        for held_out in [&validation, &test] {
            prop_assert!(held_out.iter().all(|(a, b)| !train.contains(&(b.clone(), a.clone()))));
        }
        if by_documents {
            let of = |pairs: &Pairs| -> BTreeSet<String> {
                pairs.iter().flat_map(|(a, b)| [a.clone(), b.clone()]).collect()
            };
            prop_assert!(of(&train).is_disjoint(&of(&test)));
            prop_assert!(of(&train).is_disjoint(&of(&validation)));
            prop_assert!(of(&validation).is_disjoint(&of(&test)));
        } else {
            prop_assert_eq!(crossing, 0);
        }
    }
}

/// Pages of results: a page, its adverts by rank, and the ranks that were clicked.
fn events(pages: &[(&str, &[&str], &[usize])]) -> String {
    let mut text = "query\tdoc\tpage\trank\tclicked\n".to_owned();
    for (page, (query, adverts, clicked)) in pages.iter().enumerate() {
        for (rank, advert) in (1..).zip(*adverts) {
            let clicked = u8::from(clicked.contains(&rank));
            text.push_str(&format!("{query}\t{advert}\tp{page}\t{rank}\t{clicked}\n"));
        }
    }
    text
}

#[test]
fn only_clicks_at_rank_one_count_as_content() {
    let source = Source::ring(3);
    let pages: [(&str, &[&str], &[usize]); 6] = [
        ("red cars", &["a", "b", "c"], &[1]),
        ("red cars", &["a", "b", "c"], &[1, 2]),
        ("red cars", &["b", "a", "c"], &[3]),
        ("blue sky", &["c", "a"], &[]),
        ("blue sky", &["c", "d"], &[1]),
        ("green tree", &["b", "c"], &[1]),
    ];
    write(&source.path("e.tsv"), &events(&pages));
    let table = Table { format: Some(TableFormat::Tsv), ..Table::new(source.path("e.tsv")) };
    let import = Import { events: Some(table), ..Import::default() };
    let kind = TaskKind::Content;
    let task = TaskParams { kind, validation: 0.0, test: 0.34, ..TaskParams::default() };
    let report = task.run(&import, &source.path("data"), false, &Run::silent()).unwrap();
    let data = Dataset::open(&source.path("data")).unwrap();
    let [train, validation, test] = parts(&data);
    let all: Pairs = train.iter().chain(&test).cloned().collect();
    let expected = [("blue sky", "c"), ("green tree", "b"), ("red cars", "a")];
    assert_eq!(all, expected.map(|(q, d)| (q.to_owned(), d.to_owned())).into());
    assert_eq!((train.len(), validation.len(), test.len()), (2, 0, 1));
    assert_eq!(data.documents.len(), 4);
    let query = data.queries.iter().map(Result::unwrap).find(|q| q.id == "red cars").unwrap();
    assert_eq!(query.clicks, 2.0);
    assert_eq!(dropped(&report, "result pages without a click"), 1);
    assert_eq!(dropped(&report, "clicks below rank 1"), 2);
    let note = "6 result pages, 5 of them with a click; 6 clicks, 4 of them at rank 1";
    assert!(report.notes.iter().any(|said| said == note), "{:?}", report.notes);

    write(&source.path("e.tsv"), "query\tdoc\nred cars\ta\n");
    let error = task.run(&import, &source.path("other"), false, &Run::silent()).unwrap_err();
    assert!(error.to_string().contains("events have no ranks"), "{error}");
}

#[test]
fn a_task_is_written_as_toml_and_refuses_what_it_does_not_know() {
    let task: TaskParams =
        toml::from_str("kind = \"keywords\"\nwords = 5\nsplit = \"documents\"\nshare = 0.1")
            .unwrap();
    assert_eq!((task.words, task.split, task.test), (Some(5), TaskSplit::Documents, 0.3));
    let again: TaskParams = toml::from_str(&toml::to_string(&task).unwrap()).unwrap();
    assert_eq!(again, task);
    assert!(toml::from_str::<TaskParams>("kind = \"link\"").is_err());
    assert!(toml::from_str::<TaskParams>("keywords = 5").is_err());
    for (toml, words) in [
        ("words = 3", "words = 3: expected no value: it applies only to kind = \"keywords\""),
        ("kind = \"keywords\"\nwords = 0", "words = 0"),
        ("fields = []", "fields = []"),
        (
            "language = \"de\"",
            "language = de: expected no value: it applies only to kind = \"keywords\"",
        ),
        ("kind = \"content\"\nfields = [\"text\"]", "fields = text: expected no value"),
        ("share = 0", "share = 0"),
        ("share = 1.5", "share = 1.5: expected a share"),
        ("test = 0.8\nvalidation = 0.2", "validation + test = 1: expected a sum below 1"),
    ] {
        let message = toml::from_str::<TaskParams>(toml).unwrap().check().unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn what_a_task_has_no_use_for_is_refused() {
    let source = Source::ring(6);
    let run = |import: Import, task: TaskParams| {
        let error = task.run(&import, &source.path("x"), false, &Run::silent()).unwrap_err();
        assert!(!source.path("x").exists());
        error.to_string()
    };
    let links = TaskParams::default;
    let content = || TaskParams { kind: TaskKind::Content, ..TaskParams::default() };
    let whole = || source.import();
    let table = || Some(Table::new(source.path("l.tsv")));
    assert!(run(Import { links: None, ..whole() }, links()).contains("needs links"));
    assert!(run(Import { documents: None, ..whole() }, links()).contains("needs documents"));
    assert!(run(Import { links: None, ..whole() }, content()).contains("needs events"));
    assert!(run(whole(), content()).contains("no links for the task content"));
    assert!(run(Import { clicks: table(), ..whole() }, links()).contains("no clicks"));
    assert!(run(Import { seed: Some(1), ..whole() }, links()).contains("seed = given"));
    let empty = TaskParams { fields: vec!["author".into()], ..links() };
    assert!(run(whole(), empty).contains("a word in author"));
    write(&source.path("l.tsv"), "query\tdoc\nD0\tD1\nD9\tD1\n");
    assert!(run(whole(), links()).contains("unknown document \"D9\""));
    write(&source.path("l.tsv"), "query\tdoc\tsplit\nD0\tD1\ttrain\n");
    assert!(run(whole(), links()).contains("a task makes its own split"));
    write(&source.path("l.tsv"), "query\tdoc\nD0\tD1\n");
    assert!(run(whole(), links()).contains("is empty"));
}

#[test]
fn citations_of_citeulike_become_a_task() {
    let Some(folder) = real_data("citeulike-t") else { return };
    let table =
        |file: &str| Table { format: Some(TableFormat::Ldac), ..Table::new(folder.join(file)) };
    let documents = Table { vocabulary: Some(folder.join("vocabulary.dat")), ..table("mult.dat") };
    let import = Import {
        documents: Some(documents),
        links: Some(table("citations.dat")),
        ..Import::default()
    };
    let place = tempfile::tempdir().unwrap();
    let target = place.path().join("data");
    let report = TaskParams::default().run(&import, &target, false, &Run::silent()).unwrap();
    let data = Dataset::open(&target).unwrap();
    assert_eq!(data.documents.len(), 25_975);
    let n = data.clicks.nnz() + data.validation.nnz() + data.test.nnz();
    let lost = dropped(&report, "to itself") + dropped(&report, "without a word");
    // 32,565 citations, each in the line of either article.
    assert_eq!(n as u64 + lost, 2 * 32_565);
    let asked = (0.3 * n as f64).round() as usize;
    assert!((asked..=asked + 1).contains(&data.test.nnz()));
}
