//! Judged queries, by which rankings are measured: those of the dataset, or of the Judge page.

use std::collections::{BTreeMap, HashMap, HashSet};

use liken::data::Dataset;
use liken::eval::trec::{Qrels, TrecRun};
use liken::eval::{Candidates, HeldOut, Task, Variant};
use liken::matchers::Model;
use liken_engine::store::median;

use crate::api::types::Judgment;
use crate::problem::Problem;

/// The depth of rankings: that of TREC's runs, and more than any usual measure reads.
pub const DEPTH: usize = 1000;

/// Judged queries.
pub struct JudgedQueries {
    /// The grades by the ids of queries.
    pub qrels: Qrels,
    /// The queries, in the order of their ids.
    pub queries: Vec<JudgedQuery>,
    /// Whether only judged documents are ranked.
    pub judged_only: bool,
    /// The texts of queries by the other ids that runs may have.
    pub named: HashMap<String, String>,
}

/// A judged query.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedQuery {
    /// Its id in runs.
    pub id: String,
    /// The text of the query.
    pub text: String,
    /// Its clicks in the log.
    pub clicks: f64,
    /// The judged documents.
    pub judged: Vec<String>,
    /// Documents that are not ranked for it, because they were clicked for it in training.
    pub excluded: Vec<String>,
}

impl JudgedQueries {
    /// The queries of a held-out part of `dataset`. `model` is any that was trained on it, and has the
    /// ids of the documents.
    pub fn held_out(
        dataset: &Dataset,
        on: HeldOut,
        candidates: Candidates,
        model: &Model,
    ) -> Result<Self, Problem> {
        let counts = &model.counts;
        let task = Task::new(dataset, on, counts, candidates, Variant::default());
        let name = |&doc: &u32| counts.doc_ids.get(doc as usize).cloned().unwrap_or_default();
        let mut queries = Vec::with_capacity(task.queries().len());
        let mut grades: HashMap<String, Vec<f32>> = HashMap::new();
        for (place, &number) in task.queries().iter().enumerate() {
            let query = dataset.queries.get(number as usize)?;
            let judged = task.grades(place);
            grades.insert(query.id.clone(), judged.values.to_vec());
            queries.push(JudgedQuery {
                id: query.id,
                text: query.text,
                clicks: query.clicks,
                judged: judged.indices.iter().map(name).collect(),
                excluded: task.excluded(place).iter().map(name).collect(),
            });
        }
        queries.sort_by(|a, b| a.id.cmp(&b.id));
        let judged = queries.iter().flat_map(|query| {
            let grades = grades.get(&query.id).into_iter().flatten();
            let documents = query.judged.iter().zip(grades);
            documents.map(|(doc, &grade)| (query.id.as_str(), doc.as_str(), grade.round() as i32))
        });
        let qrels = Qrels::new(judged);
        let judged_only = task.candidates() == Candidates::Judged;
        Ok(JudgedQueries { qrels, queries, judged_only, named: HashMap::new() })
    }

    /// The queries of the Judge page. The grade of several judges is their median, as in exported
    /// qrels. A query whose text is in the dataset has the dataset's id, as in runs of other engines.
    pub fn of_judgments(
        judgments: &[Judgment],
        candidates: Candidates,
        known: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let mut ids: BTreeMap<&str, String> = BTreeMap::new();
        // By id: the first text with that id, and the grades by document.
        let mut graded: BTreeMap<String, (&str, BTreeMap<&str, Vec<u8>>)> = BTreeMap::new();
        for judgment in judgments {
            let Some(grade) = judgment.grade else { continue };
            let text = judgment.query.as_str();
            let id = ids.entry(text).or_insert_with(|| known(text).unwrap_or_else(|| text.into()));
            let (_, documents) = graded.entry(id.clone()).or_insert((text, BTreeMap::new()));
            documents.entry(judgment.id.as_str()).or_default().push(grade);
        }
        let qrels = Qrels::new(graded.iter().flat_map(|(id, (_, documents))| {
            documents.iter().map(|(&doc, grades)| {
                let mut grades = grades.clone();
                grades.sort_unstable();
                (id.as_str(), doc, i32::from(median(&grades)))
            })
        }));
        let queries = graded.into_iter().map(|(id, (text, documents))| JudgedQuery {
            id,
            text: text.to_owned(),
            clicks: 0.0,
            judged: documents.into_keys().map(str::to_owned).collect(),
            excluded: Vec::new(),
        });
        let queries = queries.collect();
        // Pooled judgments are incomplete, so all documents are ranked unless judged ones alone are
        // asked for.
        let judged_only = candidates == Candidates::Judged;
        JudgedQueries { qrels, queries, judged_only, named: HashMap::new() }
    }

    /// The query with the id `id`.
    pub fn find(&self, id: &str) -> Option<&JudgedQuery> {
        let at = self.queries.binary_search_by(|query| query.id.as_str().cmp(id)).ok()?;
        self.queries.get(at)
    }

    /// `run` as it is compared: texts of queries are replaced by their ids, and documents that models
    /// do not rank either are removed, those clicked in training and those below [`DEPTH`].
    pub fn fitted(&self, run: TrecRun) -> TrecRun {
        let texts: HashMap<&str, &str> =
            self.queries.iter().map(|query| (query.text.as_str(), query.id.as_str())).collect();
        let renamed = |query: &str| match self.qrels.find(query) {
            Some(_) => None,
            None => {
                let text = self.named.get(query).map_or(query, String::as_str);
                texts.get(text).copied().filter(|&id| id != query)
            }
        };
        let rows = run.queries().flat_map(|query| {
            let id = renamed(query.id).unwrap_or(query.id);
            let known = self.find(id);
            let excluded: HashSet<&str> =
                known.iter().flat_map(|q| &q.excluded).map(String::as_str).collect();
            let hits = query.hits().filter(move |hit| !excluded.contains(hit.doc)).take(DEPTH);
            hits.map(move |hit| (id, hit.doc, hit.score))
        });
        TrecRun::new(run.tag.clone(), rows)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use liken_engine::store::Store;

    fn judgment(query: &str, id: &str, grade: Option<u8>) -> Judgment {
        Judgment { query: query.into(), id: id.into(), grade, judge: None }
    }

    #[test]
    fn grades_of_the_page_go_by_ids_where_the_dataset_knows_the_text() {
        let judgments = [
            judgment("how far is the sun", "sun", Some(3)),
            judgment("how far is the sun", "moon", Some(0)),
            judgment("how far is the sun", "mars", None),
            judgment("new one", "moon", Some(1)),
            judgment("How far is the sun", "sun", Some(0)),
        ];
        let known = |text: &str| text.ends_with("far is the sun").then(|| "q9".to_owned());
        let found = JudgedQueries::of_judgments(&judgments, Candidates::Auto, known);
        assert!(!found.judged_only);
        let ids: Vec<&str> = found.queries.iter().map(|query| query.id.as_str()).collect();
        assert_eq!(ids, ["new one", "q9"]);
        let grades = |id: &str| -> Vec<(&str, i32)> {
            found.qrels.query(found.qrels.find(id).unwrap()).grades().collect()
        };
        assert_eq!(grades("q9"), [("moon", 0), ("sun", 2)]);
        assert_eq!(grades("new one"), [("moon", 1)]);
        assert_eq!(found.find("q9").unwrap().text, "how far is the sun");
        assert!(found.find("q8").is_none());
    }

    #[test]
    fn runs_that_know_queries_by_text_meet_their_ids() {
        let judgments = [judgment("far sun", "sun", Some(1)), judgment("b", "x", Some(1))];
        let known = |text: &str| (text == "far sun").then(|| "q9".to_owned());
        let found = JudgedQueries::of_judgments(&judgments, Candidates::Auto, known);
        let by_text = TrecRun::new("t", [("far sun", "sun", 1.0), ("b", "x", 2.0)]);
        let renamed = found.fitted(by_text);
        assert_eq!(renamed.queries().map(|query| query.id).collect::<Vec<_>>(), ["b", "q9"]);
        assert_eq!(renamed.query(1).hits().next().unwrap().doc, "sun");
        assert_eq!(found.fitted(renamed).queries().map(|q| q.id).collect::<Vec<_>>(), ["b", "q9"]);
        // So do those that know them as exported qrels do.
        let names = [("q1".to_owned(), "far sun".to_owned()), ("q2".to_owned(), "b".to_owned())];
        let found = JudgedQueries { named: names.into_iter().collect(), ..found };
        let by_name = TrecRun::new("t", [("q1", "sun", 1.0), ("q2", "x", 2.0), ("q3", "x", 1.0)]);
        let renamed = found.fitted(by_name);
        assert_eq!(renamed.queries().map(|query| query.id).collect::<Vec<_>>(), ["b", "q3", "q9"]);
    }

    #[test]
    fn of_a_long_run_counts_as_much_as_of_a_model() {
        let found =
            JudgedQueries::of_judgments(&[judgment("a", "x", Some(1))], Candidates::Auto, |_| None);
        let documents: Vec<String> = (0..DEPTH + 5).map(|n| format!("d{n}")).collect();
        let rows = documents.iter().zip(0..).map(|(doc, n)| ("a", doc.as_str(), f64::from(n)));
        let fitted = found.fitted(TrecRun::new("t", rows));
        let kept: Vec<&str> = fitted.query(0).hits().map(|hit| hit.doc).collect();
        assert_eq!((kept.len(), kept.contains(&"d0"), kept[0]), (DEPTH, false, "d1004"));
    }

    #[test]
    fn runs_lose_the_documents_that_models_do_not_rank() {
        let judgments = [judgment("far sun", "sun", Some(1)), judgment("b", "x", Some(1))];
        let mut found = JudgedQueries::of_judgments(&judgments, Candidates::Auto, |_| None);
        found.queries[1].excluded = vec!["moon".into()];
        let run = [("far sun", "moon", 2.0), ("far sun", "sun", 1.0), ("b", "moon", 1.0)];
        let fitted = found.fitted(TrecRun::new("t", run));
        let left: Vec<(&str, &str)> = fitted
            .queries()
            .flat_map(|query| query.hits().map(move |hit| (query.id, hit.doc)))
            .collect();
        assert_eq!(left, [("b", "moon"), ("far sun", "sun")]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

        #[test]
        fn several_judges_count_as_in_the_exported_qrels(
            given in prop::collection::vec((0..2u8, 0..3u8, 0..4u8, 0..4u8), 1..40),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("store");
            let store = Store::create(&path).unwrap();
            let grades = given.iter().map(|(query, id, judge, grade)| Judgment {
                query: format!("text {query}"),
                id: format!("d{id}"),
                grade: Some(*grade),
                judge: Some(format!("j{judge}")),
            });
            store.judge(grades.collect()).unwrap();
            let (mut qrels, mut queries) = (Vec::new(), Vec::new());
            store.export_qrels(&mut qrels, &mut queries).unwrap();
            let texts = String::from_utf8(queries).unwrap();
            let known = |text: &str| {
                let line = texts.lines().find_map(|line| line.split_once('\t').filter(|l| l.1 == text));
                line.map(|(id, _)| id.to_owned())
            };
            let ours = JudgedQueries::of_judgments(&store.judgments(None).unwrap(), Candidates::Auto, known);
            let ours = ours.qrels.queries().flat_map(|query| {
                let id = query.id.to_owned();
                query.grades().map(move |(doc, grade)| format!("{id} 0 {doc} {grade}"))
            });
            let ours: Vec<String> = ours.collect();
            let qrels = String::from_utf8(qrels).unwrap();
            let mut theirs: Vec<&str> = qrels.lines().collect();
            theirs.sort_unstable();
            prop_assert_eq!(ours, theirs);
        }
    }
}
