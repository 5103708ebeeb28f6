//! Raw counts: what the analyser finds in every field of every document and in every query,
//! with the training clicks between them. Nothing is weighted yet, so every model can be
//! made from this, and it is what a model folder keeps.
//!
//! Whatever is counted to build the vocabulary and its statistics is counted on training
//! alone: documents that were not held out, and queries that have training clicks.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::OnceLock;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::{
    Block, ReadDocuments, assemble, assemble_sequences, count_texts, count_unread, read_documents,
    read_queries,
};
use super::classes::Classes;
use super::collection::Collection;
use super::evidence::{ClickEvidence, EvidenceAbout, weigh};
use super::positions::{Positions, query_sequence};
use super::weighted::SharedFeatures;
use crate::data::{Dataset, ImpressionsAt, READ_BY_DEFAULT};
use crate::sparse::Csr;
use crate::text::{Analyzer, AnalyzerParams, Vocabulary, query_identity};
use crate::{Error, Result, Run};

/// How text becomes counts, and clicks weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Preparation {
    /// How text is cut into terms.
    pub analyzer: AnalyzerParams,
    /// The fields of a document that are read, as far as it has them.
    pub fields: Vec<String>,
    /// A term must occur in this many training texts (documents and queries) to be kept.
    pub min_df: u32,
    /// Keep only so many terms, those that occur in the most training documents; of equally
    /// frequent ones the first in the alphabet. 0 keeps all.
    pub max_terms: usize,
    /// Keep where the words of documents stand, four bytes a word. Methods that look at distances have them kept by themselves.
    pub positions: bool,
    /// The field in which the class of a document stands, if classes are to be kept. Methods that learn by class have them kept by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// What is made of the training clicks: `clicks` as they are; `rates`, by how rarely their
    /// documents were shown; `propensity`, by how unlikely they were seen at their ranks; `auto`,
    /// the best of these that the log allows.
    pub evidence: ClickEvidence,
}

impl Default for Preparation {
    fn default() -> Self {
        let fields = READ_BY_DEFAULT.map(str::to_owned).to_vec();
        Preparation {
            analyzer: AnalyzerParams::default(),
            fields,
            min_df: 1,
            max_terms: 0,
            positions: false,
            class: None,
            evidence: ClickEvidence::default(),
        }
    }
}

impl Preparation {
    fn check(&self) -> Result<()> {
        if self.fields.is_empty() {
            return Err(Error::parameter("fields", "[]", "at least one field of the documents"));
        }
        if self.min_df == 0 {
            return Err(Error::parameter("min_df", 0, "1 or more"));
        }
        self.analyzer.check()
    }
}

/// One field of the documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name in the documents.
    pub name: String,
    /// Documents × terms.
    pub docs: Csr,
}

/// Texts in which the analyser found nothing it knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// Queries that yield no term at all.
    pub queries: usize,
    /// Documents that yield no term at all.
    pub documents: usize,
}

/// Raw counts of a dataset.
pub struct Counts {
    /// How the text was read.
    pub preparation: Preparation,
    /// The analyser, ready for more text.
    pub analyzer: Analyzer,
    /// The terms.
    pub vocabulary: Vocabulary,
    /// Each field of the documents.
    pub fields: Vec<Field>,
    /// All fields together: documents × terms.
    pub docs: Csr,
    /// Where the words of the documents stand, if that was wanted.
    pub positions: Option<Positions>,
    /// The classes of the documents, if they were wanted and some document has one.
    pub classes: Option<Classes>,
    /// Queries × terms.
    pub queries: Csr,
    /// Training clicks, weighted by their evidence: queries × documents.
    pub clicks: Csr,
    /// What was made of the clicks, where they came from a raw log.
    pub evidence: Option<EvidenceAbout>,
    /// The number of training documents.
    pub n_training_docs: usize,
    /// In how many training documents each term occurs.
    pub document_frequency: Vec<u32>,
    /// Documents that training must not count, sorted.
    pub held_out_documents: Vec<u32>,
    /// By query the document whose text it is and which is no answer to it; empty where queries
    /// are no documents.
    pub own_documents: Vec<u32>,
    /// Ids of the documents.
    pub doc_ids: Vec<String>,
    /// Ids of the queries.
    pub query_ids: Vec<String>,
    /// The queries as shown.
    pub query_texts: Vec<String>,
    /// Texts that yielded nothing.
    pub unread: Unread,
    /// The pages of results that training may learn from. A model folder does not keep them.
    pub impressions: ImpressionsAt,
    by_identity: HashMap<String, u32>,
    /// All queries of a text that several share.
    twins: HashMap<String, Vec<u32>>,
    /// The matrices made last, where several fits are to share them.
    pub(super) shared: Option<SharedFeatures>,
    /// Counted when it is first asked for.
    pub(super) collection: OnceLock<Collection>,
}

/// A query ready to be scored: its known terms, and its number if training knew it.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerms {
    /// Terms of the vocabulary, sorted.
    pub indices: Vec<u32>,
    /// How often each occurs.
    pub counts: Vec<f32>,
    /// Terms that the vocabulary does not have.
    pub unknown: Vec<String>,
    /// The query's number if it is one of the dataset's.
    pub known: Option<u32>,
    /// Its words in order, [`super::GAP`] for those that are not counted; empty where the counts
    /// have no positions.
    pub sequence: Vec<u32>,
}

impl QueryTerms {
    /// The terms as a sparse row.
    pub fn row(&self) -> crate::sparse::Row<'_> {
        crate::sparse::Row { indices: &self.indices, values: &self.counts }
    }
}

impl Counts {
    /// Documents × terms of the field `name`.
    pub fn field(&self, name: &str) -> Result<&Csr> {
        let found = self.fields.iter().find(|field| field.name == name);
        found.map(|field| &field.docs).ok_or_else(|| Error::Unknown {
            kind: "field",
            name: name.to_owned(),
            advice: format!(
                "the documents were read with the fields {}",
                self.preparation.fields.join(", ")
            ),
        })
    }

    /// The training clicks of every document; dislikes do not count.
    pub fn clicks_by_document(&self) -> Vec<f64> {
        let mut clicks = vec![0.0; self.n_docs()];
        for (doc, n) in self.clicks.rows().flat_map(|row| row.iter()) {
            clicks[doc as usize] += f64::from(n.max(0.0));
        }
        clicks
    }

    /// Analyses all text of `dataset`.
    pub fn of(dataset: &Dataset, preparation: &Preparation, run: &Run<'_>) -> Result<Self> {
        preparation.check()?;
        let analyzer = Analyzer::new(&preparation.analyzer)?;
        let ReadDocuments { blocks: doc_blocks, ids: doc_ids, classes } =
            read_documents(dataset, &analyzer, preparation, run)?;
        check_fields(&doc_blocks, &preparation.fields)?;
        let (query_blocks, query_ids, query_texts) = read_queries(dataset, &analyzer, run)?;
        let (clicks, evidence) = weigh(dataset, preparation.evidence, run)?;
        run.check()?;

        let is_training_query = |i: usize| !dataset.clicks.row(i).is_empty();
        let held_out = &dataset.held_out_documents;
        let is_training_doc = |j: usize| held_out.binary_search(&(j as u32)).is_err();
        let mut texts: HashMap<&str, u32> = HashMap::new();
        count_texts(&doc_blocks, is_training_doc, &mut texts);
        count_texts(&query_blocks, is_training_query, &mut texts);
        let mut terms: Vec<String> = texts
            .iter()
            .filter(|&(_, &count)| count >= preparation.min_df)
            .map(|(&term, _)| term.to_owned())
            .collect();
        if terms.is_empty() {
            return Err(Error::Empty {
                what: format!(
                    "no term is left: none occurs in {} or more training texts",
                    preparation.min_df
                ),
                advice: "check the fields and the language, or lower `min_df`".into(),
            });
        }
        let most = preparation.max_terms;
        if most > 0 && most < terms.len() {
            let mut in_docs: HashMap<&str, u32> = HashMap::new();
            count_texts(&doc_blocks, is_training_doc, &mut in_docs);
            let frequency = |term: &str| in_docs.get(term).copied().unwrap_or(0);
            terms.par_sort_unstable_by(|a, b| frequency(b).cmp(&frequency(a)).then(a.cmp(b)));
            terms.truncate(most);
        }
        // Sorted, so that a term's number depends on nothing but the set of terms.
        terms.par_sort_unstable();
        let vocabulary = Vocabulary::from_terms(terms)?;

        let mut fields = Vec::with_capacity(preparation.fields.len());
        for (f, name) in preparation.fields.iter().enumerate() {
            fields.push(Field { name: name.clone(), docs: assemble(&doc_blocks, &vocabulary, f)? });
        }
        let positions = match preparation.positions {
            true => Some(Positions {
                fields: (0..preparation.fields.len())
                    .map(|f| assemble_sequences(&doc_blocks, &vocabulary, f))
                    .collect::<Result<_>>()?,
            }),
            false => None,
        };
        let queries = assemble(&query_blocks, &vocabulary, 0)?;
        let own_documents = own_documents(dataset, &query_ids, &doc_ids)?;
        let unread =
            Unread { queries: count_unread(&query_blocks), documents: count_unread(&doc_blocks) };
        let counts = Counts::from_parts(Parts {
            preparation: preparation.clone(),
            vocabulary,
            fields,
            positions,
            classes: Classes::of_documents(classes),
            queries,
            clicks,
            evidence,
            held_out_documents: held_out.clone(),
            own_documents,
            doc_ids,
            query_ids,
            query_texts,
            unread,
        })?;
        Ok(Counts { impressions: dataset.impressions_at(), ..counts })
    }

    /// Puts together what a model folder keeps and derives the rest.
    pub(crate) fn from_parts(parts: Parts) -> Result<Self> {
        let analyzer = Analyzer::new(&parts.preparation.analyzer)?;
        let docs = sum_fields(&parts.fields, parts.doc_ids.len(), parts.vocabulary.len())?;
        let mut document_frequency = vec![0u32; parts.vocabulary.len()];
        for j in 0..docs.n_rows() {
            if parts.held_out_documents.binary_search(&(j as u32)).is_err() {
                for &term in docs.row(j).indices {
                    document_frequency[term as usize] += 1;
                }
            }
        }
        // Of several queries with one text, one with training clicks knows more; else the first.
        let mut by_identity: HashMap<String, u32> = HashMap::with_capacity(parts.query_texts.len());
        let mut twins: HashMap<String, Vec<u32>> = HashMap::new();
        let clicked = |i: u32| !parts.clicks.row(i as usize).is_empty();
        for (i, text) in (0u32..).zip(&parts.query_texts) {
            match by_identity.entry(query_identity(text)) {
                Entry::Vacant(place) => {
                    place.insert(i);
                }
                Entry::Occupied(mut place) => {
                    let first = *place.get();
                    twins.entry(place.key().clone()).or_insert_with(|| vec![first]).push(i);
                    if !clicked(first) && clicked(i) {
                        place.insert(i);
                    }
                }
            }
        }
        Ok(Counts {
            n_training_docs: parts.doc_ids.len() - parts.held_out_documents.len(),
            preparation: parts.preparation,
            analyzer,
            vocabulary: parts.vocabulary,
            fields: parts.fields,
            positions: parts.positions,
            classes: parts.classes,
            docs,
            queries: parts.queries,
            clicks: parts.clicks,
            evidence: parts.evidence,
            document_frequency,
            held_out_documents: parts.held_out_documents,
            own_documents: parts.own_documents,
            doc_ids: parts.doc_ids,
            query_ids: parts.query_ids,
            query_texts: parts.query_texts,
            unread: parts.unread,
            impressions: ImpressionsAt::default(),
            by_identity,
            twins,
            shared: None,
            collection: OnceLock::new(),
        })
    }

    /// The same, keeping the matrices that a fit makes from it for the next fit with the same
    /// features. That costs their memory, so it is for those who fit many times.
    pub(crate) fn sharing_features(mut self) -> Self {
        self.shared = Some(SharedFeatures::default());
        self
    }

    /// The same text with other training clicks.
    pub(crate) fn with_clicks(&self, clicks: Csr) -> Result<Self> {
        let counts = Counts::from_parts(Parts {
            preparation: self.preparation.clone(),
            vocabulary: self.vocabulary.clone(),
            fields: self.fields.clone(),
            positions: self.positions.clone(),
            classes: self.classes.clone(),
            queries: self.queries.clone(),
            clicks,
            evidence: self.evidence.clone(),
            held_out_documents: self.held_out_documents.clone(),
            own_documents: self.own_documents.clone(),
            doc_ids: self.doc_ids.clone(),
            query_ids: self.query_ids.clone(),
            query_texts: self.query_texts.clone(),
            unread: self.unread,
        })?;
        // Whoever learns from pages takes those of the clicks that are left.
        Ok(Counts { impressions: self.impressions.clone(), ..counts })
    }

    /// The document whose text `query` is, if training knew it and it is one.
    pub fn own_document(&self, query: &QueryTerms) -> Option<u32> {
        query.known.and_then(|known| self.own_documents.get(known as usize).copied())
    }

    /// The number of documents.
    pub fn n_docs(&self) -> usize {
        self.doc_ids.len()
    }

    /// The number of queries.
    pub fn n_queries(&self) -> usize {
        self.query_ids.len()
    }

    /// The number of terms.
    pub fn n_terms(&self) -> usize {
        self.vocabulary.len()
    }

    /// Reads the text of a query, known or new.
    pub fn read_query(&self, text: &str) -> QueryTerms {
        let known = self.by_identity.get(&query_identity(text)).copied();
        let mut counts: HashMap<u32, f32> = HashMap::new();
        let mut unknown = Vec::new();
        self.analyzer.text(text, &mut |term| match self.vocabulary.id(term) {
            Some(id) => *counts.entry(id).or_default() += 1.0,
            None => unknown.push(term.to_owned()),
        });
        let mut sorted: Vec<(u32, f32)> = counts.into_iter().collect();
        sorted.sort_unstable_by_key(|&(id, _)| id);
        let (indices, counts) = sorted.into_iter().unzip();
        QueryTerms { indices, counts, unknown, known, sequence: self.sequence(text) }
    }

    /// The words of a query in order, where positions count.
    fn sequence(&self, text: &str) -> Vec<u32> {
        match self.positions {
            Some(_) => query_sequence(&self.analyzer, text, |term| self.vocabulary.id(term)),
            None => Vec::new(),
        }
    }

    /// Reads the text of a query that also has an id: if the dataset has a query of that id and
    /// text, it is that one, whatever other query shares the text.
    pub fn read_query_of(&self, id: &str, text: &str) -> QueryTerms {
        let mut query = self.read_query(text);
        if let Some(twins) = self.twins.get(&query_identity(text)) {
            let named = twins.iter().find(|&&i| self.query_ids[i as usize] == id);
            query.known = named.copied().or(query.known);
        }
        query
    }

    /// The number of the query with this text; the one called `id`, where several share it.
    pub fn find_query(&self, id: &str, text: &str) -> Option<u32> {
        let identity = query_identity(text);
        let twins = self.twins.get(&identity).into_iter().flatten();
        let named = twins.copied().find(|&i| self.query_ids[i as usize] == id);
        named.or_else(|| self.by_identity.get(&identity).copied())
    }

    /// Query number `i` of the dataset, as [`Counts::read_query`] would read it.
    pub fn query(&self, i: usize) -> QueryTerms {
        let row = self.queries.row(i);
        QueryTerms {
            indices: row.indices.to_vec(),
            counts: row.values.to_vec(),
            unknown: Vec::new(),
            known: Some(i as u32),
            sequence: self.sequence(&self.query_texts[i]),
        }
    }
}

/// What a model folder keeps of the counts.
pub(crate) struct Parts {
    pub preparation: Preparation,
    pub vocabulary: Vocabulary,
    pub fields: Vec<Field>,
    pub positions: Option<Positions>,
    pub classes: Option<Classes>,
    pub queries: Csr,
    pub clicks: Csr,
    pub evidence: Option<EvidenceAbout>,
    pub held_out_documents: Vec<u32>,
    pub own_documents: Vec<u32>,
    pub doc_ids: Vec<String>,
    pub query_ids: Vec<String>,
    pub query_texts: Vec<String>,
    pub unread: Unread,
}

impl Parts {
    /// Whether the pieces fit together; they come from a file.
    pub fn check(&self, path: &Path) -> Result<()> {
        let (n_docs, n_queries, n_terms) =
            (self.doc_ids.len(), self.query_ids.len(), self.vocabulary.len());
        let fits = |matrix: &Csr, n_rows: usize, n_cols: usize| {
            matrix.n_rows() == n_rows && matrix.n_cols() == n_cols
        };
        let held_out_fits = self.held_out_documents.iter().all(|&doc| (doc as usize) < n_docs)
            && self.held_out_documents.is_sorted();
        let own = &self.own_documents;
        let own_fits = own.is_empty()
            || own.len() == n_queries && own.iter().all(|&doc| (doc as usize) < n_docs);
        let positions_fit = self.positions.as_ref().is_none_or(|positions| {
            positions.fields.len() == self.fields.len()
                && positions.fields.iter().all(|field| field.n_docs() == n_docs)
        });
        if self.fields.iter().all(|field| fits(&field.docs, n_docs, n_terms))
            && positions_fit
            && self.classes.as_ref().is_none_or(|classes| classes.fits(n_docs))
            && fits(&self.queries, n_queries, n_terms)
            && fits(&self.clicks, n_queries, n_docs)
            && held_out_fits
            && own_fits
        {
            Ok(())
        } else {
            Err(Error::damaged(path, "its matrices do not fit the vocabulary and the ids"))
        }
    }
}

/// By query the document whose text it is, where the dataset is a task that asks with documents.
fn own_documents(dataset: &Dataset, query_ids: &[String], doc_ids: &[String]) -> Result<Vec<u32>> {
    if !dataset.about().task.as_ref().is_some_and(|task| task.asks_documents()) {
        return Ok(Vec::new());
    }
    let numbers: HashMap<&str, u32> = doc_ids.iter().map(String::as_str).zip(0..).collect();
    let own = |id: &String| {
        numbers.get(id.as_str()).copied().ok_or_else(|| {
            let problem = format!("its queries are documents, but none is called {id:?}");
            Error::damaged(&dataset.folder.file("queries.jsonl"), problem)
        })
    };
    query_ids.iter().map(own).collect()
}

/// Refuses fields that no document has, though the documents have others; of those that are read
/// by default, one that some document has is enough.
fn check_fields(blocks: &[Block], fields: &[String]) -> Result<()> {
    let others: BTreeSet<&str> =
        blocks.iter().flat_map(|block| block.fields.iter().map(String::as_str)).collect();
    let has = |field: &&String| others.contains(field.as_str());
    let missing: Vec<&str> =
        fields.iter().filter(|field| !has(field)).map(String::as_str).collect();
    let excused = |name: &&str| READ_BY_DEFAULT.contains(name) && fields.iter().any(|f| has(&f));
    if others.is_empty() || missing.iter().all(excused) {
        return Ok(());
    }
    Err(Error::Unknown {
        kind: "field of the documents",
        name: missing.join(", "),
        advice: format!("they have {}", others.into_iter().collect::<Vec<_>>().join(", ")),
    })
}

pub(super) fn sum_fields(fields: &[Field], n_docs: usize, n_terms: usize) -> Result<Csr> {
    if let [only] = fields {
        return Ok(only.docs.clone());
    }
    let mut triplets = Vec::with_capacity(fields.iter().map(|field| field.docs.nnz()).sum());
    for field in fields {
        for (j, row) in field.docs.rows().enumerate() {
            triplets.extend(row.iter().map(|(term, count)| (j as u32, term, count)));
        }
    }
    Csr::from_triplets(n_docs, n_terms, triplets)
}
