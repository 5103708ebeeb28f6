//! The surface forms of a model's terms in documents.

use std::collections::HashMap;

use super::synonyms::forms::Forms;
use crate::data::Dataset;
use crate::matchers::Model;
use crate::{Result, Run};

/// The most frequent surface form of each term in the documents of `dataset`, which `model` was trained
/// on: police for polic. Terms that are not single words of the documents are left out.
pub fn surface_forms<'a>(
    model: &Model,
    dataset: &Dataset,
    terms: impl Iterator<Item = &'a str>,
    run: &Run<'_>,
) -> Result<HashMap<String, String>> {
    let known: HashMap<u32, &str> =
        terms.filter_map(|term| Some((model.counts.vocabulary.id(term)?, term))).collect();
    let forms = Forms::of(model, dataset, known.keys().copied(), run)?;
    let form = |(&id, &term): (&u32, &&str)| {
        Some((term.to_owned(), forms.of_document_word(id)?.to_owned()))
    };
    Ok(known.iter().filter_map(form).collect())
}
