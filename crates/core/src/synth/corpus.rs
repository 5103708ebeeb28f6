//! A corpus with planted topics: documents in classes, without queries or clicks.
//!
//! Words are in order of frequency. The first fiftieth are general and belong to no topic; every
//! other word belongs to one topic, every third of them to a second one as well, so that a topic has
//! about 4/3 · (words / topics) of the whole vocabulary and is zero elsewhere. A fifth of the topics
//! are shared by all documents; the others are assigned to the classes in turn. A document has a class and
//! one to four topics, shared ones or those of its class, with weights that are uniform on the
//! simplex (Dirichlet with α = 1). Each of its words is general (two in five) or of one of its
//! topics, and within either the frequencies follow Zipf's law as Mandelbrot has it, 1/(rank + 2.7).
//!
//! A document depends on the seed and its own number alone, so blocks of them are drawn in parallel
//! and written in order: the memory is that of the vocabulary and the topics. The planted topics are
//! in `topics.jsonl`, one topic per line: `{"topic":0,"class":null,"words":{"dano":0.12,…}}`.

mod draw;
#[cfg(test)]
mod tests;

use std::path::Path;

use rayon::prelude::*;
use serde_json::{Map, Value};

use self::draw::Planted;
use super::raw::{DOCUMENTS, RawFolder, TOPICS};
use super::weblog::names;
use crate::data::{DatasetAbout, DatasetWriter, Document, RelevanceSource};
use crate::file::Output;
use crate::sparse::Csr;
use crate::{Error, Result, Run};

/// Documents per block of parallel work.
const BLOCK: usize = 1 << 12;

/// The shape of a corpus and its seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Corpus {
    /// The number of documents.
    pub documents: usize,
    /// The size of the vocabulary.
    pub terms: usize,
    /// The number of planted topics.
    pub topics: usize,
    /// The average number of words of a document, with repetitions.
    pub length: f64,
    /// The number of classes; a single class has all topics.
    pub classes: usize,
    /// The seed of every draw.
    pub seed: u64,
}

impl Default for Corpus {
    fn default() -> Self {
        Corpus { documents: 20_000, terms: 10_000, topics: 100, length: 80.0, classes: 20, seed: 1 }
    }
}

impl Corpus {
    /// Writes the corpus as a dataset folder.
    pub fn write(&self, path: &Path, force: bool, run: &Run<'_>) -> Result<DatasetAbout> {
        self.check()?;
        let mut writer = DatasetWriter::create(path, force)?;
        let planted = Planted::new(self);
        write_topics(&planted, Output::create(&writer.path(TOPICS))?)?;
        self.each_document(&planted, run, |document| writer.document(&document))?;
        let mut about = DatasetAbout::as_given(RelevanceSource::Judgments);
        about.split.seed = self.seed;
        about.report.push(format!(
            "synthetic corpus of {} documents in {} classes with {} planted topics ({} of them shared) \
             over {} words, seed {}: topics.jsonl",
            self.documents,
            self.classes,
            self.topics,
            planted.n_shared(),
            self.terms,
            self.seed
        ));
        let none = Csr::empty(0, self.documents);
        writer.finish(&none, &none, &none, &[], about)
    }

    /// Writes `documents.jsonl` (id, class, body as a bag of words) and `topics.jsonl`. The folder
    /// appears whole or not at all.
    pub fn write_raw(&self, dir: &Path, force: bool, run: &Run<'_>) -> Result<()> {
        self.check()?;
        let folder = RawFolder::create(dir, force)?;
        let planted = Planted::new(self);
        write_topics(&planted, folder.lines(TOPICS)?)?;
        let mut table = folder.lines(DOCUMENTS)?;
        self.each_document(&planted, run, |document| table.json(&document))?;
        table.finish()?;
        folder.commit()
    }

    /// Refuses sizes out of range.
    pub(super) fn check(&self) -> Result<()> {
        let in_range = [
            ("documents", self.documents, 1, u32::MAX as usize),
            ("topics", self.topics, 1, names::MOST / 10),
            // Every topic needs a few words of its own.
            ("terms", self.terms, self.topics.saturating_mul(10), names::MOST),
            ("classes", self.classes, 1, self.topics),
        ];
        for (name, value, least, most) in in_range {
            if !(least..=most).contains(&value) {
                let expected = match name {
                    "terms" => format!("from {least} (ten for every topic) to {most}"),
                    "classes" => format!("from {least} to {most}, the number of topics"),
                    _ => format!("from {least} to {most}"),
                };
                return Err(Error::parameter(name, value, &expected));
            }
        }
        if !(1.0..=1e6).contains(&self.length) {
            return Err(Error::parameter("length", self.length, "from 1 to 1000000"));
        }
        Ok(())
    }

    /// Calls `write` with every document in order.
    fn each_document(
        &self,
        planted: &Planted,
        run: &Run<'_>,
        mut write: impl FnMut(Document) -> Result<()>,
    ) -> Result<()> {
        for first in (0..self.documents).step_by(BLOCK) {
            run.step("writing documents", first as u64, Some(self.documents as u64))?;
            let block = first..self.documents.min(first + BLOCK);
            let documents: Vec<Document> =
                block.into_par_iter().map(|row| self.document(planted, row)).collect();
            documents.into_iter().try_for_each(&mut write)?;
        }
        Ok(())
    }

    fn document(&self, planted: &Planted, row: usize) -> Document {
        let drawn = planted.document(self, row);
        let mut body = Map::new();
        for run in drawn.words.chunk_by(|a, b| a == b) {
            body.insert(planted.word(run[0]).to_owned(), run.len().into());
        }
        let class = Value::String(planted.class_name(drawn.class));
        let fields = [("class", class), ("body", Value::Object(body))];
        Document {
            id: format!("d{row}"),
            fields: fields.map(|(k, v)| (k.to_owned(), v)).into_iter().collect(),
        }
    }
}

fn write_topics(planted: &Planted, mut table: Output) -> Result<()> {
    for k in 0..planted.n_topics() {
        let class = planted.class_of_topic(k).map(|class| planted.class_name(class));
        let words: Map<String, Value> = planted
            .weights(k)
            .map(|(word, weight)| (planted.word(word).to_owned(), weight.into()))
            .collect();
        table.json(&serde_json::json!({ "topic": k, "class": class, "words": words }))?;
    }
    table.finish()
}
