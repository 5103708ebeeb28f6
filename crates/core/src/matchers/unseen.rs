//! Unseen documents, folded into a model that does not change: nothing of the model is copied or
//! recomputed, so it takes a service a second or less.
//!
//! Their scores equal, to the bit, those of [`Model::with_documents`], which rebuilds the model with
//! them and costs as much as opening it. Scores and explanations of all documents are here, too.

use super::{Explanation, Matcher, Model, PartExplanation};
use crate::Result;
use crate::data::Document;
use crate::features::QueryTerms;
use crate::sparse::Csr;

/// Unseen documents, folded into a model.
pub struct UnseenDocuments {
    /// Document ids, in the order of the rows.
    pub ids: Vec<String>,
    /// Documents × terms.
    docs: Csr,
    /// One per part of the model.
    parts: Vec<Box<dyn Matcher>>,
}

/// A document of a model or an unseen one.
#[derive(Clone, Copy)]
pub enum Place<'a> {
    /// The number of a document of the model.
    InModel(u32),
    /// The number of an unseen document.
    Unseen(&'a UnseenDocuments, u32),
}

impl UnseenDocuments {
    /// The number of documents.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is no document.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The matcher of part number `part` over these documents alone. It scores with the counts
    /// of its model.
    pub fn part(&self, part: usize) -> &dyn Matcher {
        &*self.parts[part]
    }
}

impl Model {
    /// Folds `documents` in; `None` if a part of the model cannot, so that only
    /// [`Model::with_documents`] can add them.
    pub fn unseen(&self, documents: &[Document]) -> Result<Option<UnseenDocuments>> {
        let new = self.counts.read_documents(documents)?;
        let mut parts = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let folded_in = match part.matcher.fold_in(&self.counts, &new)? {
                Some(matcher) => Some(matcher),
                None => part.params.fold_in(&self.counts, &new)?,
            };
            let Some(matcher) = folded_in else { return Ok(None) };
            parts.push(matcher);
        }
        Ok(Some(UnseenDocuments { ids: new.ids, docs: new.docs, parts }))
    }

    /// Scores every document. A mix adds its parts' scores, standardised over all documents, or
    /// their reciprocal ranks.
    pub fn scores(&self, query: &QueryTerms) -> Vec<f32> {
        self.scores_with_unseen(query, None, &[]).0
    }

    /// The scores of `docs` alone; the same bits as [`Model::scores`].
    pub fn scores_of(&self, query: &QueryTerms, docs: &[u32]) -> Vec<f32> {
        self.scores_with_unseen(query, Some(docs), &[]).0
    }

    /// The scores of the model's documents `own`, or of all of them, and those of all of `new`, one
    /// group after the other; the same bits as those of [`Model::scores`].
    pub fn scores_with_unseen(
        &self,
        query: &QueryTerms,
        own: Option<&[u32]>,
        new: &[&UnseenDocuments],
    ) -> (Vec<f32>, Vec<f32>) {
        let all_new = |part: usize| {
            let each = |new: &&UnseenDocuments| {
                let mut scores = vec![0.0; new.len()];
                new.part(part).score_all(&self.counts, query, &mut scores);
                scores
            };
            new.iter().flat_map(each).collect::<Vec<f32>>()
        };
        if let [only] = &self.parts[..] {
            return (only.matcher.scores(&self.counts, query, own), all_new(0));
        }
        let n_own = self.counts.n_docs();
        let mut sum = vec![0.0f32; n_own + new.iter().map(|new| new.len()).sum::<usize>()];
        for (p, part) in self.parts.iter().enumerate() {
            let mut scores = part.matcher.scores(&self.counts, query, None);
            scores.extend(all_new(p));
            self.make_comparable(&mut scores);
            part.add_weighted(&scores, &mut sum);
        }
        let of_new = sum.split_off(n_own);
        match own {
            Some(own) => (own.iter().map(|&doc| sum[doc as usize]).collect(), of_new),
            None => (sum, of_new),
        }
    }

    /// Explains the score of `doc` for `text`, with the `most` largest contributions of each part.
    pub fn explain(&self, text: &str, doc: u32, most: usize) -> Result<Explanation> {
        self.explain_at(text, Place::InModel(doc), most)
    }

    /// Explains the score of the document at `place` for `text`, with the `most` largest
    /// contributions of each part.
    pub fn explain_at(&self, text: &str, place: Place<'_>, most: usize) -> Result<Explanation> {
        let query = self.read_query(text)?;
        let (id, row) = match place {
            Place::InModel(doc) => {
                (&self.counts.doc_ids[doc as usize], self.counts.docs.row(doc as usize))
            }
            Place::Unseen(new, doc) => (&new.ids[doc as usize], new.docs.row(doc as usize)),
        };
        let shared_words = query
            .indices
            .iter()
            .filter(|&&term| row.contains(term))
            .map(|&term| self.counts.vocabulary.term(term).to_owned())
            .collect();
        let parts: Vec<PartExplanation> =
            (0..self.parts.len()).map(|p| self.explain_part(p, &query, place, most)).collect();
        // The same precision as in the sum of the mix.
        let contribution = |part: &PartExplanation| part.contribution as f32;
        let score = match &parts[..] {
            [only] => only.score,
            parts => f64::from(parts.iter().map(contribution).sum::<f32>()),
        };
        Ok(Explanation {
            query: text.to_owned(),
            unknown: query.unknown,
            doc: id.clone(),
            score,
            shared_words,
            parts,
        })
    }

    fn explain_part(
        &self,
        p: usize,
        query: &QueryTerms,
        place: Place<'_>,
        most: usize,
    ) -> PartExplanation {
        let (part, counts) = (&self.parts[p], &self.counts);
        let (matcher, doc) = match place {
            Place::InModel(doc) => (&*part.matcher, doc),
            Place::Unseen(new, doc) => (new.part(p), doc),
        };
        let mut contributions = matcher.contributions(counts, query, doc);
        contributions.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs()));
        let score = matcher.scores(counts, query, Some(&[doc]))[0];
        let (standard, contribution) = if self.parts.len() > 1 {
            // Standardised or ranked among the documents of training.
            let mut scores = part.matcher.scores(counts, query, None);
            let at = match place {
                Place::InModel(doc) => doc as usize,
                Place::Unseen(..) => {
                    scores.push(score);
                    scores.len() - 1
                }
            };
            let standard = self.make_comparable(&mut scores);
            (standard, f64::from(part.weight as f32 * scores[at]))
        } else {
            (None, f64::from(score))
        };
        let n_rest = contributions.len().saturating_sub(most);
        contributions.truncate(most);
        let score = f64::from(score);
        let rest = score - contributions.iter().map(|term| term.value).sum::<f64>();
        let method = part.params.name().to_owned();
        let weight = part.weight;
        PartExplanation {
            method,
            weight,
            score,
            standard,
            contribution,
            contributions,
            n_rest,
            rest,
        }
    }
}
