//! What rankings are measured by: judged queries, out of the dataset or off the Judge page.

use std::collections::{BTreeMap, HashMap};

use liken::data::Dataset;
use liken::eval::trec::{Qrels, TrecRun};
use liken::eval::{Candidates, HeldOut, Task, Variant};
use liken::matchers::Model;

use crate::api::types::Judgment;
use crate::problem::Problem;

/// Judged queries.
pub struct Questions {
    /// The grades, by the queries' ids.
    pub qrels: Qrels,
    /// The queries, in the order of their ids.
    pub queries: Vec<Question>,
    /// Whether only judged documents are ranked.
    pub judged_only: bool,
}

/// A judged query.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Its id in runs.
    pub id: String,
    /// What was asked.
    pub text: String,
    /// Its clicks in the whole log.
    pub clicks: f64,
    /// The judged documents.
    pub judged: Vec<String>,
    /// Documents that are not ranked for it, because training knew them for it.
    pub excluded: Vec<String>,
}

impl Questions {
    /// A held-out part of `dataset`. `model` is any that was trained on it: it has the documents'
    /// ids at hand.
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
            queries.push(Question {
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
        Ok(Questions { qrels, queries, judged_only })
    }

    /// The grades that people gave on the pages. A query that the dataset knows by its text goes
    /// by its id there, so that runs of other engines meet it.
    pub fn judged(
        judgments: &[Judgment],
        candidates: Candidates,
        known: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let mut grades: BTreeMap<&str, BTreeMap<&str, i32>> = BTreeMap::new();
        for judgment in judgments {
            let Some(grade) = judgment.grade else { continue };
            let documents = grades.entry(judgment.query.as_str()).or_default();
            // Of several judges the last counts.
            documents.insert(judgment.id.as_str(), i32::from(grade));
        }
        let mut queries: Vec<Question> = Vec::new();
        let mut judged: Vec<(String, &str, i32)> = Vec::new();
        for (text, documents) in &grades {
            let id = known(text).unwrap_or_else(|| (*text).to_owned());
            judged.extend(documents.iter().map(|(&doc, &grade)| (id.clone(), doc, grade)));
            queries.push(Question {
                id,
                text: (*text).to_owned(),
                clicks: 0.0,
                judged: documents.keys().map(|&doc| doc.to_owned()).collect(),
                excluded: Vec::new(),
            });
        }
        queries.sort_by(|a, b| a.id.cmp(&b.id));
        let qrels = Qrels::new(judged.iter().map(|(id, doc, grade)| (id.as_str(), *doc, *grade)));
        // A pool of what models found tells nothing of what it lacks, so all documents are ranked
        // unless somebody asks for the judged ones.
        Questions { qrels, queries, judged_only: candidates == Candidates::Judged }
    }

    /// The question with the id `id`.
    pub fn find(&self, id: &str) -> Option<&Question> {
        let at = self.queries.binary_search_by(|query| query.id.as_str().cmp(id)).ok()?;
        self.queries.get(at)
    }

    /// `run` with the queries' ids in the place of their texts, for engines that know queries by
    /// their texts alone; nothing if there is none to replace.
    pub fn by_id(&self, run: &TrecRun) -> Option<TrecRun> {
        let texts: HashMap<&str, &str> =
            self.queries.iter().map(|query| (query.text.as_str(), query.id.as_str())).collect();
        let renamed = |query: &str| match self.qrels.find(query) {
            Some(_) => None,
            None => texts.get(query).copied().filter(|&id| id != query),
        };
        run.queries().find_map(|query| renamed(query.id))?;
        let rows = run.queries().flat_map(|query| {
            let id = renamed(query.id).unwrap_or(query.id);
            query.hits().map(move |hit| (id, hit.doc, hit.score))
        });
        Some(TrecRun::new(run.tag.clone(), rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            judgment("how far is the sun", "sun", Some(2)),
        ];
        let known = |text: &str| (text == "how far is the sun").then(|| "q9".to_owned());
        let found = Questions::judged(&judgments, Candidates::Auto, known);
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
        let found = Questions::judged(&judgments, Candidates::Auto, known);
        let by_text = TrecRun::new("t", [("far sun", "sun", 1.0), ("b", "x", 2.0)]);
        let renamed = found.by_id(&by_text).unwrap();
        assert_eq!(renamed.queries().map(|query| query.id).collect::<Vec<_>>(), ["b", "q9"]);
        assert_eq!(renamed.query(1).hits().next().unwrap().doc, "sun");
        assert!(found.by_id(&renamed).is_none(), "nothing is left to rename");
    }
}
