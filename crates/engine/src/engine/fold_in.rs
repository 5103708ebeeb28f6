//! Folding in: a model scores documents that training did not see.

use std::sync::Arc;

use liken::data::Document;
use liken::matchers::{Model, UnseenDocuments};
use serde_json::{Map, Value};

use super::docs::Chunk;
use super::served::Served;
use super::view::Unseen;
use crate::Error;
use crate::store::Store;

/// Folds the documents of `chunks`, whose texts are in `store`, into a model; what was folded in
/// before (`old`) is used again.
pub(super) fn fold_in(
    served: &Served,
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
    let folded = |chunk: &Arc<Chunk>| {
        known.iter().find(|(other, _)| Arc::ptr_eq(other, chunk)).map(|(_, new)| Arc::clone(new))
    };
    let mut groups: Vec<(Arc<Chunk>, Arc<UnseenDocuments>)> = Vec::new();
    if let Some((unseen, documents)) = served.unseen() {
        let new = match folded(unseen) {
            Some(new) => new,
            None => match served.model.unseen(documents)? {
                Some(new) => Arc::new(new),
                None => return reopened(served, chunks, store),
            },
        };
        groups.push((Arc::clone(unseen), new));
    }
    for chunk in chunks {
        let new = match folded(chunk) {
            Some(new) => new,
            None => match served.model.unseen(&documents_of(store, chunk)?)? {
                Some(new) => Arc::new(new),
                None => return reopened(served, chunks, store),
            },
        };
        groups.push((Arc::clone(chunk), new));
    }
    Ok(Unseen::FoldedIn(groups))
}

/// The numbers of all unseen documents of a model.
fn numbers_of<'a>(served: &'a Served, chunks: &'a [Arc<Chunk>]) -> impl Iterator<Item = &'a u32> {
    let unseen = served.unseen().into_iter().flat_map(|(chunk, _)| &chunk.numbers);
    unseen.chain(chunks.iter().flat_map(|chunk| &chunk.numbers))
}

/// The model opened again with all unseen documents.
fn reopened(served: &Served, chunks: &[Arc<Chunk>], store: &Store) -> Result<Unseen, Error> {
    let (mut all, mut documents) = (Chunk::default(), Vec::new());
    if let Some((unseen, texts)) = served.unseen() {
        all.numbers.extend(&unseen.numbers);
        all.ids.extend_from_slice(&unseen.ids);
        documents.extend_from_slice(texts);
    }
    for chunk in chunks {
        all.numbers.extend(&chunk.numbers);
        all.ids.extend_from_slice(&chunk.ids);
        documents.extend(documents_of(store, chunk)?);
    }
    // A new version of a document is a new document: no id of training may hide it.
    for (document, no) in documents.iter_mut().zip(&all.numbers) {
        document.id = format!("\u{1}{no}");
    }
    let model = Model::open(&served.folder)?.with_documents(&documents)?;
    Ok(Unseen::Reopened(Arc::new(model), Arc::new(all)))
}

/// The documents of a chunk; empty ones for those that are gone for good.
fn documents_of(store: &Store, chunk: &Chunk) -> Result<Vec<Document>, Error> {
    let bodies = store.bodies(&chunk.numbers)?;
    let document = |(id, fields): (&String, Option<Map<String, Value>>)| Document {
        id: id.clone(),
        fields: fields.unwrap_or_default(),
    };
    Ok(chunk.ids.iter().zip(bodies).map(document).collect())
}
