//! Raw counts: the terms of every field of every document and of every query, with the training
//! clicks between them. Terms are not weighted yet, so every model can be fitted to them; a model
//! folder stores them.
//!
//! Vocabulary and statistics are counted on training alone: documents that are not held out, and
//! queries with training clicks.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::ops::Deref;
use std::path::Path;
use std::sync::OnceLock;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::blocks::{
    Block, ReadDocuments, assemble, assemble_sequences, count_texts, count_unread, read_documents,
    read_queries,
};
use super::classes::Classes;
use super::click_weights::{EvidenceAbout, click_weights};
use super::collection::Collection;
use super::positions::{Positions, query_sequence};
use super::preparation::Preparation;
use super::weighted::SharedFeatures;
use crate::data::{Dataset, ImpressionsAt, READ_BY_DEFAULT};
use crate::sparse::Csr;
use crate::text::{Analyzer, Vocabulary, query_identity};
use crate::{Error, Result, Run};

/// One field of the documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name in the documents.
    pub name: String,
    /// Documents × terms.
    pub docs: Csr,
}

/// The numbers of texts without a term.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// Queries without a term.
    pub queries: usize,
    /// Documents without a term.
    pub documents: usize,
}

/// Raw counts of a dataset: what is stored, to which this derefs, and what is derived.
pub struct Counts {
    pub(crate) stored: StoredCounts,
    /// The analyser, ready for more text.
    pub analyzer: Analyzer,
    /// All fields together: documents × terms.
    pub docs: Csr,
    /// The number of training documents.
    pub n_training_docs: usize,
    /// In how many training documents each term occurs.
    pub document_frequency: Vec<u32>,
    /// The impressions that training may learn from. A model folder does not keep them.
    pub impressions: ImpressionsAt,
    by_identity: HashMap<String, u32>,
    /// All queries of a text that several share.
    twins: HashMap<String, Vec<u32>>,
    /// The matrices made last, where several fits are to share them.
    pub(super) shared: Option<SharedFeatures>,
    /// Counted when it is first asked for.
    collection: OnceLock<Collection>,
}

impl Deref for Counts {
    type Target = StoredCounts;

    fn deref(&self) -> &StoredCounts {
        &self.stored
    }
}

/// The counts as a model folder stores them.
#[derive(Clone)]
pub struct StoredCounts {
    /// Preparation of text and clicks.
    pub preparation: Preparation,
    /// The terms.
    pub vocabulary: Vocabulary,
    /// Each field of the documents.
    pub fields: Vec<Field>,
    /// The positions of the words of the documents, if the preparation asked for them.
    pub positions: Option<Positions>,
    /// The classes of the documents, if the preparation asked for them and some document has one.
    pub classes: Option<Classes>,
    /// Queries × terms.
    pub queries: Csr,
    /// Training clicks, weighted by their evidence: queries × documents.
    pub clicks: Csr,
    /// Weighting of the clicks, if they came from a raw log.
    pub evidence: Option<EvidenceAbout>,
    /// Documents that training must not count, sorted.
    pub held_out_documents: Vec<u32>,
    /// By query the document whose text it is, which is no answer to it; empty where queries are
    /// not documents.
    pub own_documents: Vec<u32>,
    /// Ids of the documents.
    pub doc_ids: Vec<String>,
    /// Ids of the queries.
    pub query_ids: Vec<String>,
    /// The queries as shown.
    pub query_texts: Vec<String>,
    /// Texts without a term.
    pub unread: Unread,
}

/// A query to score: its known terms, and its number if training knew it.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerms {
    /// Terms of the vocabulary, sorted.
    pub indices: Vec<u32>,
    /// Occurrences of each.
    pub counts: Vec<f32>,
    /// Terms that are not in the vocabulary.
    pub unknown: Vec<String>,
    /// The query's number if it is one of the dataset's.
    pub known: Option<u32>,
    /// Its words in order, [`super::GAP`] for words that are not terms; empty where the counts have
    /// no positions.
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

    /// The training clicks of every document; weights below zero do not count.
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
        let (clicks, evidence) = click_weights(dataset, preparation.evidence, run)?;
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
                    "the vocabulary is empty: no term occurs in {} or more training texts",
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
        // Sorted, so that a term's number depends on the set of terms alone.
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
        let counts = Counts::from_stored(StoredCounts {
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

    /// Derives from `stored` what a model folder does not store.
    pub(crate) fn from_stored(stored: StoredCounts) -> Result<Self> {
        let analyzer = Analyzer::new(&stored.preparation.analyzer)?;
        let docs = sum_fields(&stored.fields, stored.doc_ids.len(), stored.vocabulary.len())?;
        let mut document_frequency = vec![0u32; stored.vocabulary.len()];
        for j in 0..docs.n_rows() {
            if stored.held_out_documents.binary_search(&(j as u32)).is_err() {
                for &term in docs.row(j).indices {
                    document_frequency[term as usize] += 1;
                }
            }
        }
        // Of several queries with one text, the first with training clicks; else the first.
        let mut by_identity: HashMap<String, u32> =
            HashMap::with_capacity(stored.query_texts.len());
        let mut twins: HashMap<String, Vec<u32>> = HashMap::new();
        let clicked = |i: u32| !stored.clicks.row(i as usize).is_empty();
        for (i, text) in (0u32..).zip(&stored.query_texts) {
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
            n_training_docs: stored.doc_ids.len() - stored.held_out_documents.len(),
            stored,
            analyzer,
            docs,
            document_frequency,
            impressions: ImpressionsAt::default(),
            by_identity,
            twins,
            shared: None,
            collection: OnceLock::new(),
        })
    }

    /// Caches the matrices that a fit makes, for further fits with the same features. That costs their
    /// memory, so it is for tuning.
    pub(crate) fn sharing_features(mut self) -> Self {
        self.shared = Some(SharedFeatures::default());
        self
    }

    /// The same text with other training clicks.
    pub(crate) fn with_clicks(&self, clicks: Csr) -> Result<Self> {
        let counts = Counts::from_stored(StoredCounts { clicks, ..self.stored.clone() })?;
        // Methods that learn from impressions use those of queries with clicks.
        Ok(Counts { impressions: self.impressions.clone(), ..counts })
    }

    /// The document whose text `query` is, if training knew the query and it is a document.
    pub fn own_document(&self, query: &QueryTerms) -> Option<u32> {
        query.known.and_then(|known| self.own_documents.get(known as usize).copied())
    }

    /// The training documents as one text; counted when it is first asked for.
    pub fn collection(&self) -> &Collection {
        self.collection.get_or_init(|| Collection::of(&self.docs, &self.held_out_documents))
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

    /// The words of a query in order, if the counts have positions.
    fn sequence(&self, text: &str) -> Vec<u32> {
        match self.positions {
            Some(_) => query_sequence(&self.analyzer, text, |term| self.vocabulary.id(term)),
            None => Vec::new(),
        }
    }

    /// Reads the text of a query with an id. If several queries of the dataset have this text, the id
    /// decides which one it is.
    pub fn read_query_of(&self, id: &str, text: &str) -> QueryTerms {
        let mut query = self.read_query(text);
        if let Some(twins) = self.twins.get(&query_identity(text)) {
            let named = twins.iter().find(|&&i| self.query_ids[i as usize] == id);
            query.known = named.copied().or(query.known);
        }
        query
    }

    /// The number of the query with this text; if several have it, the one with this `id`.
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

impl StoredCounts {
    /// An error if the matrices, read from the model folder at `path`, do not fit together.
    pub(crate) fn check(&self, path: &Path) -> Result<()> {
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
            Err(Error::damaged(path, "its matrices do not match the vocabulary and the ids"))
        }
    }
}

/// By query the document whose text it is, where the dataset is a task that asks with documents.
fn own_documents(dataset: &Dataset, query_ids: &[String], doc_ids: &[String]) -> Result<Vec<u32>> {
    if !dataset.about().task.as_ref().is_some_and(|task| task.queries_are_documents()) {
        return Ok(Vec::new());
    }
    let numbers: HashMap<&str, u32> = doc_ids.iter().map(String::as_str).zip(0..).collect();
    let own = |id: &String| {
        numbers.get(id.as_str()).copied().ok_or_else(|| {
            let problem = format!("its queries are documents, but no document has the id {id:?}");
            Error::damaged(&dataset.folder.file("queries.jsonl"), problem)
        })
    };
    query_ids.iter().map(own).collect()
}

/// An error if no document has one of `fields`, though the documents have others; of the default
/// fields, one is enough.
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
