//! Counts the terms of a dataset in parallel: fixed blocks of texts, each with a dictionary of its own
//! so that blocks do not wait for each other, mapped to one vocabulary afterwards.

use std::collections::{BTreeSet, HashMap};

use rayon::prelude::*;
use serde_json::Value;

use super::classes::class_of;
use super::positions::{Sequences, renamed, sequence};
use super::preparation::Preparation;
use crate::data::{self, Dataset, Document, FieldValue};
use crate::sparse::Csr;
use crate::text::{Analyzer, Vocabulary};
use crate::{Result, Run};

/// Texts in a block.
const BLOCK: usize = 1024;

/// The texts of one block.
#[derive(Default)]
pub(super) struct Block {
    /// Number of the block's first text.
    first: usize,
    terms: Vec<String>,
    /// Every field that the texts have, read or not.
    pub(super) fields: BTreeSet<String>,
    /// For each text, for each field: (term of this block, count), sorted by term.
    texts: Vec<Vec<Vec<(u32, f32)>>>,
    /// For each text, for each field: terms of this block in reading order, if positions are stored.
    sequences: Vec<Vec<Vec<u32>>>,
}

/// Counts one text after another.
struct BlockBuilder {
    block: Block,
    ids: HashMap<String, u32>,
}

impl BlockBuilder {
    fn new(first: usize) -> Self {
        BlockBuilder { block: Block { first, ..Block::default() }, ids: HashMap::new() }
    }

    fn id(&mut self, term: &str) -> u32 {
        if let Some(&id) = self.ids.get(term) {
            return id;
        }
        let id = self.block.terms.len() as u32;
        self.ids.insert(term.to_owned(), id);
        self.block.terms.push(term.to_owned());
        id
    }

    /// The counts of one field.
    fn field(&mut self, analyzer: &Analyzer, name: &str, value: &Value) -> Vec<(u32, f32)> {
        let mut counts = HashMap::new();
        read_value(analyzer, name, value, &mut |term, by| {
            *counts.entry(self.id(term)).or_default() += by;
        });
        let mut sorted: Vec<(u32, f32)> = counts.into_iter().collect();
        sorted.sort_unstable_by_key(|&(id, _)| id);
        sorted
    }
}

/// The largest count of a word of an unseen document.
const MAX_COUNT: f32 = 1e9;

/// The counts of one field by the terms that `vocabulary` knows, sorted.
pub(super) fn count_known(
    analyzer: &Analyzer,
    vocabulary: &Vocabulary,
    name: &str,
    value: &Value,
) -> Vec<(u32, f32)> {
    let mut counts = HashMap::new();
    read_value(analyzer, name, value, &mut |term, by| {
        if let Some(id) = vocabulary.id(term) {
            *counts.entry(id).or_default() += by;
        }
    });
    // Unseen documents are not validated; sums of counts must stay finite.
    let mut sorted: Vec<(u32, f32)> =
        counts.into_iter().map(|(id, count): (u32, f32)| (id, count.min(MAX_COUNT))).collect();
    sorted.sort_unstable_by_key(|&(id, _)| id);
    sorted
}

/// Emits the terms of a field with counts: its texts are analysed, and the words of a bag, with the
/// counts of the bag.
fn read_value(analyzer: &Analyzer, name: &str, value: &Value, emit: &mut dyn FnMut(&str, f32)) {
    data::visit(value, &mut |said| match said {
        FieldValue::Text(text) if name == "url" => analyzer.url(&text, &mut |term| emit(term, 1.0)),
        FieldValue::Text(text) => analyzer.text(&text, &mut |term| emit(term, 1.0)),
        FieldValue::Counted(word, count) => analyzer.text(word, &mut |term| emit(term, count)),
    });
}

/// All documents, read.
pub(super) struct ReadDocuments {
    pub blocks: Vec<Block>,
    pub ids: Vec<String>,
    /// The class of each document; empty unless the preparation asks for classes.
    pub classes: Vec<Option<String>>,
}

/// Counts the fields of every document that `preparation` names; reads positions of words and classes
/// if the preparation asks for them.
pub(super) fn read_documents(
    dataset: &Dataset,
    analyzer: &Analyzer,
    preparation: &Preparation,
    run: &Run<'_>,
) -> Result<ReadDocuments> {
    let Preparation { fields, positions, class, .. } = preparation;
    let blocks = in_blocks(dataset.documents.len(), "reading documents", run, |span| {
        let mut builder = BlockBuilder::new(span.start);
        let mut ids = Vec::with_capacity(span.len());
        let mut classes = Vec::new();
        for j in span {
            let document: Document = dataset.documents.get(j)?;
            if let Some(field) = class {
                classes.push(class_of(&document, field));
            }
            for name in document.fields.keys() {
                if !builder.block.fields.contains(name) {
                    builder.block.fields.insert(name.clone());
                }
            }
            let counts = fields.iter().map(|name| match document.fields.get(name) {
                Some(value) => builder.field(analyzer, name, value),
                None => Vec::new(),
            });
            let counts = counts.collect();
            builder.block.texts.push(counts);
            if *positions {
                let of = |name: &String| match document.fields.get(name) {
                    Some(value) => sequence(analyzer, name, value, |term| Some(builder.id(term))),
                    None => Vec::new(),
                };
                let sequences = fields.iter().map(of).collect();
                builder.block.sequences.push(sequences);
            }
            ids.push(document.id);
        }
        Ok((builder.block, ids, classes))
    })?;
    let mut read = ReadDocuments {
        blocks: Vec::with_capacity(blocks.len()),
        ids: Vec::with_capacity(dataset.documents.len()),
        classes: Vec::new(),
    };
    for (block, ids, classes) in blocks {
        read.ids.extend(ids);
        read.classes.extend(classes);
        read.blocks.push(block);
    }
    Ok(read)
}

/// Counts every query; with their ids and texts.
pub(super) fn read_queries(
    dataset: &Dataset,
    analyzer: &Analyzer,
    run: &Run<'_>,
) -> Result<(Vec<Block>, Vec<String>, Vec<String>)> {
    let blocks = in_blocks(dataset.queries.len(), "reading queries", run, |span| {
        let mut builder = BlockBuilder::new(span.start);
        let mut names = Vec::with_capacity(span.len());
        for i in span {
            let query = dataset.queries.get(i)?;
            let text = Value::String(query.text);
            let counts = builder.field(analyzer, "query", &text);
            builder.block.texts.push(vec![counts]);
            let Value::String(text) = text else { unreachable!("it was made a string above") };
            names.push((query.id, text));
        }
        Ok((builder.block, names))
    })?;
    let (blocks, names): (Vec<Block>, Vec<Vec<(String, String)>>) = blocks.into_iter().unzip();
    let (ids, texts) = names.into_iter().flatten().unzip();
    Ok((blocks, ids, texts))
}

/// Calls `work` on fixed blocks of 0..n in parallel and returns the results in order.
fn in_blocks<T: Send>(
    n: usize,
    stage: &str,
    run: &Run<'_>,
    work: impl Fn(std::ops::Range<usize>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    (0..n.div_ceil(BLOCK))
        .into_par_iter()
        .map(|b| {
            let span = b * BLOCK..((b + 1) * BLOCK).min(n);
            run.step(stage, span.end as u64, Some(n as u64))?;
            work(span)
        })
        .collect()
}

/// Adds to `texts` the document frequency of each term, over the texts for which `counts_it` holds.
pub(super) fn count_texts<'a>(
    blocks: &'a [Block],
    counts_it: impl Fn(usize) -> bool,
    texts: &mut HashMap<&'a str, u32>,
) {
    let mut seen: Vec<usize> = Vec::new();
    for block in blocks {
        let mut in_block = vec![0u32; block.terms.len()];
        seen.clear();
        seen.resize(block.terms.len(), usize::MAX);
        for (t, fields) in block.texts.iter().enumerate() {
            if !counts_it(block.first + t) {
                continue;
            }
            for &(term, _) in fields.iter().flatten() {
                if seen[term as usize] != t {
                    seen[term as usize] = t;
                    in_block[term as usize] += 1;
                }
            }
        }
        for (term, count) in block.terms.iter().zip(in_block) {
            if count > 0 {
                *texts.entry(term).or_default() += count;
            }
        }
    }
}

/// The counts of one field as a matrix: texts × terms of the vocabulary.
pub(super) fn assemble(blocks: &[Block], vocabulary: &Vocabulary, field: usize) -> Result<Csr> {
    let parts: Vec<(Vec<u64>, Vec<u32>, Vec<f32>)> = blocks
        .par_iter()
        .map(|block| {
            let ids: Vec<Option<u32>> =
                block.terms.iter().map(|term| vocabulary.id(term)).collect();
            let (mut lengths, mut indices, mut values) = (Vec::new(), Vec::new(), Vec::new());
            let mut row: Vec<(u32, f32)> = Vec::new();
            for fields in &block.texts {
                row.clear();
                row.extend(
                    fields[field].iter().filter_map(|&(t, n)| ids[t as usize].map(|id| (id, n))),
                );
                row.sort_unstable_by_key(|&(id, _)| id);
                lengths.push(row.len() as u64);
                indices.extend(row.iter().map(|&(id, _)| id));
                values.extend(row.iter().map(|&(_, n)| n));
            }
            (lengths, indices, values)
        })
        .collect();
    let mut starts = vec![0u64];
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    for (lengths, block_indices, block_values) in parts {
        for length in lengths {
            starts.push(starts[starts.len() - 1] + length);
        }
        indices.extend(block_indices);
        values.extend(block_values);
    }
    Csr::new(vocabulary.len(), starts, indices, values)
}

/// The words of one field in reading order, as terms of the vocabulary.
pub(super) fn assemble_sequences(
    blocks: &[Block],
    vocabulary: &Vocabulary,
    field: usize,
) -> Result<Sequences> {
    let parts: Vec<Vec<Vec<u32>>> = blocks
        .par_iter()
        .map(|block| {
            let ids: Vec<Option<u32>> =
                block.terms.iter().map(|term| vocabulary.id(term)).collect();
            block.sequences.iter().map(|fields| renamed(&fields[field], &ids)).collect()
        })
        .collect();
    let none = Sequences::new(vec![0], Vec::new(), vocabulary.len())?;
    Ok(none.with_rows(parts.into_iter().flatten()))
}

/// The number of texts without a term.
pub(super) fn count_unread(blocks: &[Block]) -> usize {
    let empty = |fields: &&Vec<Vec<(u32, f32)>>| fields.iter().all(Vec::is_empty);
    blocks.iter().map(|block| block.texts.iter().filter(empty).count()).sum()
}
