//! Words of a model as documents write them.

use std::collections::HashMap;

use super::synonyms::forms::Forms;
use crate::data::Dataset;
use crate::matchers::Model;
use crate::{Result, Run};

/// The form in which the documents of `dataset`, which `model` was trained on, mostly write each of
/// these terms: police for polic. Terms that are no single words of theirs are left out.
pub fn written<'a>(
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
