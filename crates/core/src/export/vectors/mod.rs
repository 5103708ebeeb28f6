//! The embeddings of a learnt model as vectors: one per document, one per query, and two per word.
//!
//! A bilinear model scores by the dot product of two embeddings, score(x, y) = ⟨L_xᵀx, L_yᵀy⟩, so
//! an engine that ranks by the dot product of the exported vectors ranks as the model does. In
//! a mix this holds for each learnt part; the lexical parts have no vectors, and the mix adds
//! weight·(score − mean)/deviation of each part, over all documents of a query.

mod jsonl;
mod npy;
mod rows;
mod safetensors;

use std::borrow::Cow;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::folder::{ExportFolder, ExportedFile};
use crate::features::QueryTerms;
use crate::matchers::{Bilinear, Model, Part, WHO_HAS_MAPS};
use crate::{Error, Result, Run};
use rows::{OfRow, Rows};

pub use rows::ExportedSet;

/// The remark on vectors of words in `about.json`.
const WORDS: &str = "words are terms as the model's analyser leaves them, such as stems; the vector of a query (a document) is the sum of the vectors of its words and clicks, each times its weight";

/// The format of vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VectorFormat {
    /// NumPy arrays, with the ids in text files.
    Npy,
    /// One JSON object per line: id and vector.
    Jsonl,
    /// One safetensors file, with the ids in text files.
    Safetensors,
}

/// A set of vectors of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VectorSet {
    /// Embeddings of documents.
    Documents,
    /// Embeddings of queries.
    Queries,
    /// Words, each with a vector for queries and one for documents.
    Words,
}

/// A query to embed.
pub struct NamedQuery {
    /// The id to write.
    pub id: String,
    /// Its terms; see [`Model::read_query_of`].
    pub terms: QueryTerms,
}

/// An export of vectors.
pub struct Vectors<'a> {
    /// Model with a latent space.
    pub model: &'a Model,
    /// File format of the vectors.
    pub format: VectorFormat,
    /// The sets to write.
    pub sets: &'a [VectorSet],
    /// The queries to embed; those of the dataset if `None`.
    pub queries: Option<&'a [NamedQuery]>,
}

/// The content of `about.json` for vectors.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VectorsAbout {
    /// Always `vectors`.
    pub export: &'static str,
    /// The model, as in `pls+bm25`.
    pub model: String,
    /// The checksum of the dataset it was trained on.
    pub dataset: String,
    /// The format of the vectors.
    pub format: VectorFormat,
    /// The formula of the score.
    pub score: String,
    /// Each part of the model, also those without vectors.
    pub parts: Vec<ExportedPart>,
    /// Each set of vectors.
    pub sets: Vec<ExportedSet>,
    /// The meaning of vectors of words, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<&'static str>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// A part of the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExportedPart {
    /// Method of the exported part.
    pub method: String,
    /// Its weight in the mix.
    pub weight: f64,
    /// The length of its vectors; `None` for a part without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dim: Option<usize>,
}

impl Vectors<'_> {
    /// Writes the folder at `target`. On any error, and when `run` is stopped, nothing stays
    /// behind.
    pub fn write(
        &self,
        target: &Path,
        force: bool,
        run: &Run<'_>,
    ) -> Result<(VectorsAbout, Vec<ExportedFile>)> {
        let learnt = self.learnt()?;
        let mut folder = ExportFolder::create(target, force)?;
        let mut all = Vec::new();
        for (p, &(part, bilinear)) in learnt.iter().enumerate() {
            let prefix = match learnt.len() {
                1 => String::new(),
                _ => format!("{}-{}.", p + 1, self.model.parts[part].params.name()),
            };
            all.extend(self.sets(&prefix, bilinear));
        }
        let sets = all.iter();
        let sets: Result<Vec<ExportedSet>> = match self.format {
            VectorFormat::Npy => sets.map(|set| npy::write(&mut folder, set, run)).collect(),
            VectorFormat::Jsonl => sets.map(|set| jsonl::write(&mut folder, set, run)).collect(),
            VectorFormat::Safetensors => safetensors::write(&mut folder, &all, run),
        };
        let about = self.about(sets?);
        let files = folder.commit(&about)?;
        Ok((about, files))
    }

    /// The parts that have vectors.
    fn learnt(&self) -> Result<Vec<(usize, &Bilinear)>> {
        let parts = self.model.parts.iter().enumerate();
        let learnt: Vec<(usize, &Bilinear)> = parts
            .filter_map(|(p, part)| part.matcher.bilinear().map(|bilinear| (p, bilinear)))
            .collect();
        if learnt.is_empty() {
            return Err(Error::Empty {
                what: format!("{} has no vectors to export", self.model.about.name),
                advice: WHO_HAS_MAPS.into(),
            });
        }
        Ok(learnt)
    }

    fn sets<'s>(&'s self, prefix: &str, bilinear: &'s Bilinear) -> Vec<Rows<'s>> {
        let (counts, dim) = (&self.model.counts, bilinear.dim());
        let mut sets = Vec::new();
        let mut add = |name: &str, n, id: OfRow<'s, &'s str>, row: OfRow<'s, Cow<'s, [f32]>>| {
            sets.push(Rows { name: format!("{prefix}{name}"), n, dim, id, row });
        };
        if self.sets.contains(&VectorSet::Documents) {
            let row = |j| bilinear.doc_embedding(j as u32);
            add("documents", counts.n_docs(), Box::new(|j| &counts.doc_ids[j]), Box::new(row));
        }
        if self.sets.contains(&VectorSet::Queries) {
            let embedded = |terms: &QueryTerms| Cow::Owned(bilinear.query_embedding(counts, terms));
            match self.queries {
                Some(queries) => {
                    let row = move |i: usize| embedded(&queries[i].terms);
                    add("queries", queries.len(), Box::new(|i| &queries[i].id), Box::new(row));
                }
                None => {
                    let row = move |i| embedded(&counts.query(i));
                    let id = |i: usize| &*counts.query_ids[i];
                    add("queries", counts.n_queries(), Box::new(id), Box::new(row));
                }
            }
        }
        if self.sets.contains(&VectorSet::Words) {
            let maps = bilinear.maps();
            for (name, map) in [("words-query", &maps.l_x), ("words-document", &maps.l_y)] {
                let id = |term| counts.vocabulary.term(term as u32);
                add(name, counts.n_terms(), Box::new(id), Box::new(move |term| map.row(term)));
            }
        }
        sets
    }

    fn about(&self, sets: Vec<ExportedSet>) -> VectorsAbout {
        let model = self.model;
        let mut notes = Vec::new();
        for part in model.parts.iter().filter(|part| part.matcher.bilinear().is_none()) {
            let name = part.params.name();
            let why = if part.matcher.is_lexical() { "is lexical" } else { "has no vectors" };
            notes.push(format!("{name} {why}: this part of the model is not in the export"));
        }
        for set in sets.iter().filter(|set| set.zeros > 0) {
            notes.push(format!(
                "{} of the {} {} {} all zeros, because the model has no feature of them; engines that rank by cosine refuse such vectors",
                set.zeros,
                set.count,
                set.name,
                if set.zeros == 1 { "is" } else { "are" }
            ));
        }
        let score = if model.parts.len() == 1 {
            "score(query, document) = dot(query vector, document vector)".to_owned()
        } else {
            "score(query, document) = the sum over the parts of weight * (s - mean) / deviation, where s = dot(query vector, document vector) for a learnt part, and mean and deviation are those of s over all documents for the query".to_owned()
        };
        let part = |part: &Part| ExportedPart {
            method: part.params.name().to_owned(),
            weight: part.weight,
            dim: part.matcher.bilinear().map(Bilinear::dim),
        };
        VectorsAbout {
            export: "vectors",
            model: model.about.name.clone(),
            dataset: model.about.dataset.identity.clone(),
            format: self.format,
            score,
            parts: model.parts.iter().map(part).collect(),
            sets,
            words: self.sets.contains(&VectorSet::Words).then_some(WORDS),
            notes,
        }
    }
}

#[cfg(test)]
mod tests;
