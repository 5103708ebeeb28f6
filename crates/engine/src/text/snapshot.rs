//! The text index as it was at a commit.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use liken::index::DocSet;
use liken::top_k::TopK;
use tantivy::index::SegmentId;
use tantivy::query::Scorer;
use tantivy::{DocSet as _, Searcher, SegmentReader, TantivyError};

use super::TextError;
use super::filter::Filter;
use super::filter_eval::FilterCache;
use super::query::{Plan, TextQuery, Word};
use super::schema::{Fields, NUMBER};

/// The cost of a seek in a postings list, in entries read.
const SEEK: u64 = 4;

/// The index at a commit: later changes do not show. Clones are cheap.
#[derive(Clone)]
pub struct TextSnapshot {
    searcher: Searcher,
    fields: Fields,
    /// The numbers of the documents of each segment, in tantivy's order.
    numbers: Arc<HashMap<SegmentId, Arc<[u32]>>>,
    filter_cache: Arc<FilterCache>,
}

impl TextSnapshot {
    pub(super) fn of(
        searcher: Searcher,
        fields: Fields,
        filter_cache: Arc<FilterCache>,
        before: Option<&TextSnapshot>,
    ) -> Result<Self, TantivyError> {
        let mut numbers = HashMap::new();
        for segment in searcher.segment_readers() {
            let id = segment.segment_id();
            let known = before.and_then(|before| before.numbers.get(&id).cloned());
            let of_segment = known.map_or_else(|| read_numbers(segment), Ok)?;
            numbers.insert(id, of_segment);
        }
        filter_cache.keep(|id| numbers.contains_key(&id));
        Ok(TextSnapshot { searcher, fields, numbers: Arc::new(numbers), filter_cache })
    }

    /// The snapshot that follows this one.
    pub(super) fn next(&self, searcher: Searcher) -> Result<Self, TantivyError> {
        Self::of(searcher, self.fields, self.filter_cache.clone(), Some(self))
    }

    /// The number of documents.
    pub fn documents(&self) -> usize {
        self.searcher.num_docs() as usize
    }

    #[cfg(test)]
    pub(super) fn segments(&self) -> usize {
        self.searcher.segment_readers().len()
    }

    /// The best `depth` documents by BM25, unsorted, among those that contain a word of the query and
    /// all of its phrases, pass `filter` and are not `dead`. Ties at the end are broken arbitrarily.
    pub fn candidates(
        &self,
        query: &TextQuery,
        depth: usize,
        filter: Option<&Filter>,
        dead: Option<&dyn Fn(u32) -> bool>,
    ) -> Result<Vec<(u32, f32)>, TextError> {
        let depth = depth.min(self.documents());
        if depth == 0 {
            return Ok(Vec::new());
        }
        let Some(plan) = Plan::of(query, self.fields.text, &self.searcher, filter.is_some())?
        else {
            return Ok(Vec::new());
        };
        let mut best = TopK::new(depth, better);
        // Lower scores cannot be among the best any more.
        let mut floor = f32::MIN;
        for (at, segment) in (0..).zip(self.searcher.segment_readers()) {
            let allowed = match filter {
                Some(filter) => Some(self.filter_cache.allowed(filter, segment)?),
                None => None,
            };
            let numbers = self.numbers_of(segment)?;
            let alive = segment.alive_bitset();
            let mut see = |doc: u32, score: f32| {
                let passes = score > floor
                    && alive.is_none_or(|alive| alive.is_alive(doc))
                    && allowed.as_ref().is_none_or(|allowed| allowed.contains(doc));
                if passes && !dead.is_some_and(|dead| dead(numbers[doc as usize])) {
                    let scored = Scored { score, segment: at, doc };
                    floor = best.push(scored).map_or(floor, |worst| worst.score);
                }
                floor
            };
            match &allowed {
                Some(allowed) if self.are_few(allowed, &plan.words, segment)? => {
                    look_up(allowed, &plan.words, segment, &mut see)?;
                }
                _ if plan.many => plan.weight.for_each(segment, &mut |doc, score| {
                    see(doc, score);
                })?,
                // Skips blocks that cannot hold one of the best documents.
                _ => {
                    let floor = see(0, f32::MIN);
                    plan.weight.for_each_pruning(floor, segment, &mut see)?;
                }
            }
        }
        // Numbers are spread over memory, so only those of the best are read.
        let best = best.into_unsorted();
        let mut found = Vec::with_capacity(best.len());
        for scored in best {
            let segment = self.searcher.segment_reader(scored.segment);
            found.push((self.numbers_of(segment)?[scored.doc as usize], scored.score));
        }
        Ok(found)
    }

    /// The numbers of all documents that pass `filter`.
    pub fn matching(&self, filter: &Filter) -> Result<DocSet, TextError> {
        let mut found = DocSet::new();
        for segment in self.searcher.segment_readers() {
            let numbers = self.numbers_of(segment)?;
            let allowed = self.filter_cache.allowed(filter, segment)?;
            match segment.alive_bitset() {
                None => found.extend(allowed.iter().map(|doc| numbers[doc as usize])),
                Some(alive) => {
                    let docs = allowed.iter().filter(|&doc| alive.is_alive(doc));
                    found.extend(docs.map(|doc| numbers[doc as usize]));
                }
            }
        }
        Ok(found)
    }

    fn numbers_of(&self, segment: &SegmentReader) -> Result<&[u32], TextError> {
        let numbers = self.numbers.get(&segment.segment_id());
        Ok(numbers.ok_or_else(|| TextError::Failed("a segment without numbers".into()))?)
    }

    /// Whether seeking the allowed documents in the postings lists is faster than reading these.
    fn are_few(
        &self,
        allowed: &DocSet,
        words: &[Word],
        segment: &SegmentReader,
    ) -> Result<bool, TextError> {
        if words.is_empty() {
            return Ok(false);
        }
        let lists = segment.inverted_index(self.fields.text)?;
        let mut entries = 0;
        for word in words {
            entries += u64::from(lists.doc_freq(&word.term).map_err(TantivyError::from)?);
        }
        Ok(allowed.len() as u64 * words.len() as u64 * SEEK < entries)
    }
}

impl std::fmt::Debug for TextSnapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextSnapshot").field("documents", &self.documents()).finish_non_exhaustive()
    }
}

/// The numbers of the documents of a segment.
fn read_numbers(segment: &SegmentReader) -> Result<Arc<[u32]>, TantivyError> {
    let column = segment.fast_fields().u64(NUMBER)?;
    let mut numbers = vec![0; segment.max_doc() as usize];
    if column.values.num_vals() != segment.max_doc() {
        let found = column.values.num_vals();
        let problem = format!("{found} numbers of {} documents", segment.max_doc());
        return Err(TantivyError::InternalError(problem));
    }
    column.values.get_range(0, &mut numbers);
    Ok(numbers.into_iter().map(|number| number as u32).collect())
}

/// Scores the `allowed` documents one by one.
fn look_up(
    allowed: &DocSet,
    words: &[Word],
    segment: &SegmentReader,
    see: &mut dyn FnMut(u32, f32) -> f32,
) -> Result<(), TantivyError> {
    let mut lists: Vec<Box<dyn Scorer>> = Vec::new();
    for word in words {
        lists.push(word.weight.scorer(segment, word.times)?);
    }
    for doc in allowed.iter() {
        let mut score = None;
        for list in &mut lists {
            let at = if list.doc() < doc { list.seek(doc) } else { list.doc() };
            if at == doc {
                *score.get_or_insert(0.0) += list.score();
            }
        }
        if let Some(score) = score {
            see(doc, score);
        }
    }
    Ok(())
}

/// A document of a segment.
struct Scored {
    score: f32,
    segment: u32,
    doc: u32,
}

/// By descending score, then in the order of the index.
fn better(a: &Scored, b: &Scored) -> Ordering {
    b.score.total_cmp(&a.score).then((a.segment, a.doc).cmp(&(b.segment, b.doc)))
}
