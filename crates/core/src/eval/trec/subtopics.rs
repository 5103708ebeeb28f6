//! Judgments by subtopic: `qid subtopic docno grade`, as in TREC's Web tracks.

use std::collections::BTreeMap;

use crate::eval::diversity::JudgedSubtopics;

/// The subtopics that documents answer, for every query in the order of ids.
#[derive(Debug, Clone, Default)]
pub(super) struct Subtopics {
    queries: Vec<OfQuery>,
}

#[derive(Debug, Clone, Default)]
struct OfQuery {
    /// Shorter names first, then in byte order, so that numbers are in numeric order: ndeval adds up
    /// gains in this order, which matters where they differ by rounding alone.
    names: Vec<String>,
    /// In the byte order of their ids, each with its grades by subtopic.
    docs: Vec<(String, Vec<(u32, i32)>)>,
}

/// The subtopics that the documents of one query answer.
#[derive(Debug, Clone, Copy)]
pub struct SubtopicJudgments<'a>(&'a OfQuery);

/// Grades by query, document and subtopic.
pub(super) type Nested<'a> = BTreeMap<&'a str, BTreeMap<&'a str, BTreeMap<&'a str, i32>>>;

impl Subtopics {
    pub(super) fn new(nested: &Nested<'_>) -> Self {
        let queries = nested.values().map(OfQuery::new).collect();
        Subtopics { queries }
    }

    pub(super) fn query(&self, place: usize) -> SubtopicJudgments<'_> {
        SubtopicJudgments(&self.queries[place])
    }
}

impl OfQuery {
    fn new(docs: &BTreeMap<&str, BTreeMap<&str, i32>>) -> Self {
        let mut names: Vec<&str> = docs.values().flat_map(|doc| doc.keys().copied()).collect();
        let key = |name: &&str| (name.len(), name.as_bytes().to_vec());
        names.sort_unstable_by_key(key);
        names.dedup();
        let number =
            |name: &str| names.binary_search_by_key(&key(&name), key).unwrap_or_default() as u32;
        let docs = docs.iter().map(|(&doc, judged)| {
            let judged = judged.iter().map(|(name, &grade)| (number(name), grade)).collect();
            (doc.to_owned(), judged)
        });
        OfQuery { docs: docs.collect(), names: names.into_iter().map(str::to_owned).collect() }
    }
}

impl<'a> SubtopicJudgments<'a> {
    /// The names of the subtopics by number.
    pub fn names(&self) -> &'a [String] {
        &self.0.names
    }

    /// The subtopics that documents answer with a grade of `level` or more.
    pub fn with_grade(&self, level: i32) -> JudgedSubtopics {
        let answered = |(_, judged): &(String, Vec<(u32, i32)>)| {
            judged.iter().filter(|&&(_, grade)| grade >= level).map(|&(s, _)| s).collect()
        };
        JudgedSubtopics::new(self.0.docs.iter().map(answered).collect())
    }

    /// The place of a judged document among all of them, in the order of ids.
    pub fn find(&self, doc: &str) -> Option<usize> {
        self.0.docs.binary_search_by(|(id, _)| id.as_str().cmp(doc)).ok()
    }

    /// The subtopics that `doc` answers, by `subtopics` made of these judgments.
    pub fn answers<'s>(&self, subtopics: &'s JudgedSubtopics, doc: &str) -> &'s [u32] {
        self.find(doc).map_or(&[], |place| subtopics.subtopics(place))
    }
}
