//! How a model comes to see documents that came after training.

use std::sync::Arc;

use liken::data::Document;
use liken::matchers::{Model, Newcomers};
use serde_json::{Map, Value};

use super::docs::Chunk;
use super::served::Served;
use super::view::Later;
use crate::Error;
use crate::store::Store;

/// How a model sees the documents of `chunks`, whose texts are in `store`: what it saw of them
/// before is used again.
pub(super) fn later(
    served: &Served,
    old: Option<&Later>,
    chunks: &[Arc<Chunk>],
    store: &Store,
) -> Result<Later, Error> {
    if let Some(Later::Within(model, all)) = old
        && all.numbers.iter().eq(numbers_of(served, chunks))
    {
        return Ok(Later::Within(Arc::clone(model), Arc::clone(all)));
    }
    let known = match old {
        Some(Later::Beside(groups)) => &groups[..],
        _ => &[],
    };
    let seen = |chunk: &Arc<Chunk>| {
        known.iter().find(|(other, _)| Arc::ptr_eq(other, chunk)).map(|(_, new)| Arc::clone(new))
    };
    let mut groups: Vec<(Arc<Chunk>, Arc<Newcomers>)> = Vec::new();
    if let Some((strangers, documents)) = served.strangers() {
        let new = match seen(strangers) {
            Some(new) => new,
            None => match served.model.newcomers(documents)? {
                Some(new) => Arc::new(new),
                None => return within(served, chunks, store),
            },
        };
        groups.push((Arc::clone(strangers), new));
    }
    for chunk in chunks {
        let new = match seen(chunk) {
            Some(new) => new,
            None => match served.model.newcomers(&documents_of(store, chunk)?)? {
                Some(new) => Arc::new(new),
                None => return within(served, chunks, store),
            },
        };
        groups.push((Arc::clone(chunk), new));
    }
    Ok(Later::Beside(groups))
}

/// The numbers of all documents that a model does not know from training.
fn numbers_of<'a>(served: &'a Served, chunks: &'a [Arc<Chunk>]) -> impl Iterator<Item = &'a u32> {
    let strangers = served.strangers().into_iter().flat_map(|(chunk, _)| &chunk.numbers);
    strangers.chain(chunks.iter().flat_map(|chunk| &chunk.numbers))
}

/// The model made anew with all later documents.
fn within(served: &Served, chunks: &[Arc<Chunk>], store: &Store) -> Result<Later, Error> {
    let (mut all, mut documents) = (Chunk::default(), Vec::new());
    if let Some((strangers, texts)) = served.strangers() {
        all.numbers.extend(&strangers.numbers);
        all.ids.extend_from_slice(&strangers.ids);
        documents.extend_from_slice(texts);
    }
    for chunk in chunks {
        all.numbers.extend(&chunk.numbers);
        all.ids.extend_from_slice(&chunk.ids);
        documents.extend(documents_of(store, chunk)?);
    }
    // A new version of a document is a new document: no name of training may hide it.
    for (document, no) in documents.iter_mut().zip(&all.numbers) {
        document.id = format!("\u{1}{no}");
    }
    let model = Model::open(&served.folder)?.with_documents(&documents)?;
    Ok(Later::Within(Arc::new(model), Arc::new(all)))
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
