//! Folding in: a model scores documents that training did not see.

use std::borrow::Cow;
use std::sync::Arc;

use liken::data::Document;
use liken::matchers::{Model, UnseenDocuments};
use serde_json::{Map, Value};

use super::docs::Chunk;
use super::served::ServedModel;
use super::view::{ModelView, Unseen};
use crate::Error;
use crate::store::Store;

/// Folds the documents of `chunks`, whose texts are in `store`, into a model; reuses what was folded
/// in before (`old`).
pub(super) fn fold_in(
    served: &ServedModel,
    old: Option<&Unseen>,
    chunks: &[Arc<Chunk>],
    store: &Store,
) -> Result<Unseen, Error> {
    if let Some(Unseen::Reopened(model, all)) = old
        && all.numbers.iter().eq(numbers_of(served, chunks))
    {
        return Ok(Unseen::Reopened(Arc::clone(model), Arc::clone(all)));
    }
    let known = match old {
        Some(Unseen::FoldedIn(groups)) => &groups[..],
        _ => &[],
    };
    let of_dataset = served.unseen().map(|(chunk, documents)| (chunk, Some(documents)));
    let mut groups: Vec<(Arc<Chunk>, Arc<UnseenDocuments>)> = Vec::new();
    for (chunk, documents) in of_dataset.into_iter().chain(chunks.iter().map(|c| (c, None))) {
        let new = match known.iter().find(|(other, _)| Arc::ptr_eq(other, chunk)) {
            Some((_, new)) => Arc::clone(new),
            None => {
                let documents = match documents {
                    Some(documents) => Cow::Borrowed(documents),
                    None => Cow::Owned(documents_of(store, chunk)?),
                };
                match served.model.unseen(&documents)? {
                    Some(new) => Arc::new(new),
                    None => return reopened_with_all(served, chunks, store),
                }
            }
        };
        groups.push((Arc::clone(chunk), new));
    }
    Ok(Unseen::FoldedIn(groups))
}

/// A model whose only unseen documents are `given`, numbered from `first` on.
pub(super) fn view_of_given(
    served: &Arc<ServedModel>,
    given: &[Document],
    first: u32,
) -> Result<ModelView, Error> {
    let mut chunk = Chunk::default();
    (first..).zip(given).for_each(|(no, document)| chunk.push(no, &document.id));
    let unseen = match given {
        [] => Unseen::FoldedIn(Vec::new()),
        _ => match served.model.unseen(given)? {
            Some(new) => Unseen::FoldedIn(vec![(Arc::new(chunk), Arc::new(new))]),
            None => reopened(served, chunk, given.to_vec())?,
        },
    };
    Ok(ModelView { served: Arc::clone(served), unseen })
}

/// The numbers of all unseen documents of a model.
fn numbers_of<'a>(
    served: &'a ServedModel,
    chunks: &'a [Arc<Chunk>],
) -> impl Iterator<Item = &'a u32> {
    let unseen = served.unseen().into_iter().flat_map(|(chunk, _)| &chunk.numbers);
    unseen.chain(chunks.iter().flat_map(|chunk| &chunk.numbers))
}

fn reopened_with_all(
    served: &ServedModel,
    chunks: &[Arc<Chunk>],
    store: &Store,
) -> Result<Unseen, Error> {
    let (mut all, mut documents) = match served.unseen() {
        Some((chunk, documents)) => (Chunk::clone(chunk), documents.to_vec()),
        None => Default::default(),
    };
    for chunk in chunks {
        all.numbers.extend(&chunk.numbers);
        all.ids.extend_from_slice(&chunk.ids);
        documents.extend(documents_of(store, chunk)?);
    }
    reopened(served, all, documents)
}

/// The model reopened with unseen `documents`, those of `chunk`.
fn reopened(
    served: &ServedModel,
    chunk: Chunk,
    mut documents: Vec<Document>,
) -> Result<Unseen, Error> {
    // A new version of a document is a new document: it must not share an id with training.
    for (document, no) in documents.iter_mut().zip(&chunk.numbers) {
        document.id = format!("\u{1}{no}");
    }
    let model = Model::open(&served.folder)?.with_documents(&documents)?;
    Ok(Unseen::Reopened(Arc::new(model), Arc::new(chunk)))
}

/// The documents of a chunk; empty ones where the body was deleted.
fn documents_of(store: &Store, chunk: &Chunk) -> Result<Vec<Document>, Error> {
    let bodies = store.bodies(&chunk.numbers)?;
    let document = |(id, fields): (&String, Option<Map<String, Value>>)| Document {
        id: id.clone(),
        fields: fields.unwrap_or_default(),
    };
    Ok(chunk.ids.iter().zip(bodies).map(document).collect())
}
