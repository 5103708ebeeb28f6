//! The embeddings of a learnt model as vectors: one a document, one a query, one a word on each
//! side.
//!
//! A bilinear model scores by the dot product of two embeddings, score(x, y) = ⟨L_xᵀx, L_yᵀy⟩, so
//! an engine that ranks by the dot product of the exported vectors ranks as the model does. In
//! a mix this holds for each learnt part; the lexical parts have no vectors, and the mix adds
//! weight·(score − mean)/deviation of each part, over all documents of a query.

mod jsonl;
mod npy;
mod safetensors;

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::folder::{ExportFolder, ExportedFile};
use crate::features::QueryTerms;
use crate::matchers::{Bilinear, Model, Part, WHO_HAS_MAPS};
use crate::{Error, Result, Run};

/// Rows made between two looks at whether to stop.
const BATCH: usize = 1024;

/// What `about.json` says of the vectors of words.
const WORDS: &str = "words are terms as the model's analyser leaves them, such as stems; the vector of a query (a document) is the sum of the vectors of its words and clicks, each times its weight";

/// How vectors are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VectorFormat {
    /// NumPy arrays, with the ids beside them.
    Npy,
    /// One JSON object a line: id and vector.
    Jsonl,
    /// One safetensors file, with the ids beside it.
    Safetensors,
}

/// What has vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VectorSet {
    /// Documents.
    Documents,
    /// Queries.
    Queries,
    /// Words, as queries use them and as documents use them.
    Words,
}

/// A query to embed: its id, and what the model reads in it.
pub struct NamedQuery {
    /// The id to write.
    pub id: String,
    /// Its terms; see [`Model::read_query_of`].
    pub terms: QueryTerms,
}

/// What to export.
pub struct Vectors<'a> {
    /// The model.
    pub model: &'a Model,
    /// How to write it.
    pub format: VectorFormat,
    /// What to write.
    pub sets: &'a [VectorSet],
    /// The queries to embed; those of the dataset if `None`.
    pub queries: Option<&'a [NamedQuery]>,
}

/// What `about.json` says of vectors.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VectorsAbout {
    /// The word `vectors`.
    pub export: &'static str,
    /// The model, as in `pls+bm25`.
    pub model: String,
    /// The checksum of the dataset it was trained on.
    pub dataset: String,
    /// How the vectors are written.
    pub format: VectorFormat,
    /// Which formula gives the score.
    pub score: String,
    /// Each part of the model, those without vectors included.
    pub parts: Vec<PartAbout>,
    /// Each set of vectors.
    pub sets: Vec<SetAbout>,
    /// How the vectors of words are to be read, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<&'static str>,
    /// What is worth knowing.
    pub notes: Vec<String>,
}

/// A part of the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartAbout {
    /// The method.
    pub method: String,
    /// Its weight in the mix.
    pub weight: f64,
    /// The length of its vectors; none if it only counts words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dim: Option<usize>,
}

/// A set of vectors.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetAbout {
    /// Its name in files and tensors.
    pub name: String,
    /// How many vectors it has.
    pub count: usize,
    /// The length of each.
    pub dim: usize,
    /// How many are all zeros: the model knows nothing of them.
    pub zeros: usize,
}

/// The rows of a set, made one by one so that no second copy is held.
struct Rows<'a> {
    name: String,
    n: usize,
    dim: usize,
    id: Box<dyn Fn(usize) -> &'a str + Sync + 'a>,
    row: Box<dyn Fn(usize) -> Cow<'a, [f32]> + Sync + 'a>,
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
        let sets = match self.format {
            VectorFormat::Npy => npy::write(&mut folder, &all, run)?,
            VectorFormat::Jsonl => jsonl::write(&mut folder, &all, run)?,
            VectorFormat::Safetensors => safetensors::write(&mut folder, &all, run)?,
        };
        let about = self.about(sets);
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
        let named = |name: &str| format!("{prefix}{name}");
        let mut sets = Vec::new();
        if self.sets.contains(&VectorSet::Documents) {
            sets.push(Rows {
                name: named("documents"),
                n: counts.n_docs(),
                dim,
                id: Box::new(|j| &counts.doc_ids[j]),
                row: Box::new(|j| bilinear.doc_embedding(j as u32)),
            });
        }
        if self.sets.contains(&VectorSet::Queries) {
            let name = named("queries");
            sets.push(match self.queries {
                Some(queries) => Rows {
                    name,
                    n: queries.len(),
                    dim,
                    id: Box::new(|i| &queries[i].id),
                    row: Box::new(|i| {
                        Cow::Owned(bilinear.query_embedding(counts, &queries[i].terms))
                    }),
                },
                None => Rows {
                    name,
                    n: counts.n_queries(),
                    dim,
                    id: Box::new(|i| &counts.query_ids[i]),
                    row: Box::new(|i| {
                        Cow::Owned(bilinear.query_embedding(counts, &counts.query(i)))
                    }),
                },
            });
        }
        if self.sets.contains(&VectorSet::Words) {
            let maps = bilinear.maps();
            for (name, map) in [("words-query", &maps.l_x), ("words-document", &maps.l_y)] {
                sets.push(Rows {
                    name: named(name),
                    n: counts.n_terms(),
                    dim,
                    id: Box::new(|term| counts.vocabulary.term(term as u32)),
                    row: Box::new(move |term| map.row(term)),
                });
            }
        }
        sets
    }

    fn about(&self, sets: Vec<SetAbout>) -> VectorsAbout {
        let model = self.model;
        let mut notes = Vec::new();
        for part in model.parts.iter().filter(|part| part.matcher.bilinear().is_none()) {
            let has =
                if part.matcher.is_lexical() { "only counts words" } else { "has no vectors" };
            notes.push(format!(
                "{} {has}: that part of the model is not in the vectors",
                part.params.name()
            ));
        }
        for set in sets.iter().filter(|set| set.zeros > 0) {
            notes.push(format!(
                "{} of the {} {} {} all zeros, because the model knows nothing there; engines that rank by cosine refuse such vectors",
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
        let part = |part: &Part| PartAbout {
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

impl Rows<'_> {
    /// Gives every row to `take`, in order, made in parallel a batch at a time.
    fn each(
        &self,
        run: &Run<'_>,
        mut take: impl FnMut(usize, &[f32]) -> Result<()>,
    ) -> Result<SetAbout> {
        let stage = format!("writing {}", self.name);
        let mut zeros = 0;
        for first in (0..self.n).step_by(BATCH) {
            run.step(&stage, first as u64, Some(self.n as u64))?;
            let span = first..(first + BATCH).min(self.n);
            let rows: Vec<Cow<'_, [f32]>> = span.into_par_iter().map(&self.row).collect();
            for (i, row) in (first..).zip(&rows) {
                zeros += usize::from(row.iter().all(|&value| value == 0.0));
                take(i, row)?;
            }
        }
        Ok(SetAbout { name: self.name.clone(), count: self.n, dim: self.dim, zeros })
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        (0..self.n).map(|i| (self.id)(i))
    }

    /// Writes the ids beside the vectors, one a line: as they are, or, if one of them holds
    /// something that a program could take for the end of a line, as JSON.
    fn write_ids(&self, folder: &mut ExportFolder) -> Result<()> {
        let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        let plain = !self.ids().any(|id| id.contains(breaks));
        let ending = if plain { "txt" } else { "jsonl" };
        let holds = format!("the id of each row of {}, one a line", self.name);
        let mut out = folder.file(&format!("{}.ids.{ending}", self.name), holds)?;
        for id in self.ids() {
            if plain { out.line(format_args!("{id}"))? } else { out.json(&id)? }
        }
        out.finish()
    }
}

impl fmt::Display for VectorSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            VectorSet::Documents => "documents",
            VectorSet::Queries => "queries",
            VectorSet::Words => "words",
        })
    }
}

#[cfg(test)]
mod tests;
