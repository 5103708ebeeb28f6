//! The surface forms of stems in queries and documents, with their counts.

use std::collections::{BTreeMap, HashMap};

use rayon::prelude::*;

use crate::data::{self, Dataset, FieldValue};
use crate::matchers::Model;
use crate::{Result, Run};

/// A form of a query's word gets a rule if it has this share of the word's occurrences.
const SHARE: f64 = 0.05;

/// Documents per block of parallel work.
const BLOCK: usize = 1024;

/// The number of occurrences by term and form.
type Uses = HashMap<u32, BTreeMap<String, u64>>;

pub(in crate::export) struct Forms {
    in_queries: Uses,
    in_documents: Uses,
}

impl Forms {
    /// Counts the forms of the `wanted` terms in the texts of `dataset` and in the model's queries.
    pub(in crate::export) fn of(
        model: &Model,
        dataset: &Dataset,
        wanted: impl Iterator<Item = u32>,
        run: &Run<'_>,
    ) -> Result<Self> {
        let counts = &model.counts;
        let mut is_wanted = vec![false; counts.n_terms()];
        wanted.for_each(|term| is_wanted[term as usize] = true);
        let note = |uses: &mut Uses, form: &str, term: &str, by: u64| {
            let Some(id) = counts.vocabulary.id(term).filter(|&id| is_wanted[id as usize]) else {
                return;
            };
            *uses.entry(id).or_default().entry(form.to_owned()).or_default() += by;
        };
        let mut in_queries = Uses::new();
        for text in &counts.query_texts {
            counts.analyzer.words(text, &mut |form, term| note(&mut in_queries, form, term, 1));
        }
        let n = dataset.documents.len();
        let blocks: Result<Vec<Uses>> = (0..n.div_ceil(BLOCK))
            .into_par_iter()
            .map(|block| {
                run.step("reading documents", (block * BLOCK) as u64, Some(n as u64))?;
                let mut uses = Uses::new();
                for j in block * BLOCK..((block + 1) * BLOCK).min(n) {
                    let document = dataset.documents.get(j)?;
                    for name in &counts.preparation.fields {
                        let Some(value) = document.fields.get(name) else { continue };
                        data::visit(value, &mut |value| {
                            let (text, count) = match &value {
                                FieldValue::Text(text) => (&**text, 1),
                                FieldValue::Counted(text, count) => (*text, count.ceil() as u64),
                            };
                            let mut note = |form: &str, term: &str| {
                                note(&mut uses, form, term, count);
                            };
                            match value {
                                FieldValue::Text(_) if name == "url" => {
                                    counts.analyzer.url_words(text, &mut note)
                                }
                                _ => counts.analyzer.words(text, &mut note),
                            }
                        });
                    }
                }
                Ok(uses)
            })
            .collect();
        let mut in_documents = Uses::new();
        for (term, forms) in blocks?.into_iter().flatten() {
            for (form, count) in forms {
                *in_documents.entry(term).or_default().entry(form).or_default() += count;
            }
        }
        Ok(Forms { in_queries, in_documents })
    }

    /// The forms of `term` in queries, the most frequent first, without rare ones.
    pub(super) fn of_query_word(&self, term: u32) -> Vec<String> {
        let Some(uses) = self.in_queries.get(&term) else { return Vec::new() };
        let least = SHARE * uses.values().sum::<u64>() as f64;
        let mut forms: Vec<(&String, u64)> = uses
            .iter()
            .map(|(form, &count)| (form, count))
            .filter(|&(_, count)| count as f64 >= least)
            .collect();
        forms.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        forms.into_iter().map(|(form, _)| form.clone()).collect()
    }

    /// The most frequent form of `term` in documents.
    pub(in crate::export) fn of_document_word(&self, term: u32) -> Option<&str> {
        let uses = self.in_documents.get(&term)?;
        let best = uses.iter().rev().max_by_key(|&(_, count)| count)?;
        Some(best.0)
    }
}
