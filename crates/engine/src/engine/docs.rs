//! Documents by number. Every version of a document has a number of its own: those of the dataset
//! from 0, those written later after them, in chunks.

use std::sync::Arc;

use liken::index::DocSet;

/// The ids of the dataset's documents in one string: a million small allocations would cost more
/// than their text.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Ids {
    text: String,
    ends: Vec<u64>,
}

impl Ids {
    pub fn push(&mut self, id: &str) {
        self.text.push_str(id);
        self.ends.push(self.text.len() as u64);
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Empty ids up to number `end`.
    pub fn extend_to(&mut self, end: u32) {
        self.ends.resize((end as usize).max(self.ends.len()), self.text.len() as u64);
    }

    pub fn get(&self, no: u32) -> Option<&str> {
        let end = *self.ends.get(no as usize)? as usize;
        let start = match no {
            0 => 0,
            no => self.ends[no as usize - 1] as usize,
        };
        self.text.get(start..end)
    }
}

/// The most documents of a chunk: merging two must not delay changes.
pub(crate) const CHUNK: usize = 4096;

/// Documents written after the index was built, by ascending number.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Chunk {
    pub numbers: Vec<u32>,
    pub ids: Vec<String>,
}

impl Chunk {
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Adds a document, whose number is above all before it.
    pub fn push(&mut self, no: u32, id: &str) {
        self.numbers.push(no);
        self.ids.push(id.to_owned());
    }

    /// The position of document `no` in the chunk.
    pub fn find(&self, no: u32) -> Option<usize> {
        // Most numbers are of other chunks.
        let ends = *self.numbers.first()?..=*self.numbers.last()?;
        ends.contains(&no).then(|| self.numbers.binary_search(&no).ok())?
    }
}

/// The same documents, with the last chunks merged if they are of similar size; merging drops `dead`
/// documents.
pub(crate) fn merged(mut chunks: Vec<Arc<Chunk>>, dead: &DocSet) -> Vec<Arc<Chunk>> {
    let lengths: Vec<usize> = chunks.iter().map(|chunk| chunk.len()).collect();
    let n = to_merge(&lengths);
    if n > 1 {
        let mut merged = Chunk::default();
        for chunk in chunks.split_off(chunks.len() - n) {
            let both = chunk.numbers.iter().zip(&chunk.ids);
            both.filter(|(no, _)| !dead.contains(**no)).for_each(|(&no, id)| merged.push(no, id));
        }
        // Searches for a number expect chunks not to be empty.
        if merged.len() > 0 {
            chunks.push(Arc::new(merged));
        }
    }
    chunks
}

/// The number of last chunks to merge, so that the number of small ones grows with the logarithm
/// of their documents: while the merged one is at least half as long as the one before, and no
/// longer than [`CHUNK`].
fn to_merge(lengths: &[usize]) -> usize {
    let Some((&last, before)) = lengths.split_last() else { return 0 };
    let (mut merged, mut count) = (last, 1);
    for &length in before.iter().rev() {
        if merged * 2 < length || merged + length > CHUNK {
            break;
        }
        merged += length;
        count += 1;
    }
    if count > 1 { count } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_by_number() {
        let mut ids = Ids::default();
        ["a", "", "long id", "ü"].iter().for_each(|id| ids.push(id));
        let found: Vec<Option<&str>> = (0..5).map(|no| ids.get(no)).collect();
        assert_eq!(found, [Some("a"), Some(""), Some("long id"), Some("ü"), None]);
    }

    #[test]
    fn what_is_dead_is_left_out_of_merged_chunks() {
        let chunk = |numbers: std::ops::Range<u32>| {
            let mut chunk = Chunk::default();
            numbers.for_each(|no| chunk.push(no, &no.to_string()));
            Arc::new(chunk)
        };
        let numbers = |dead: DocSet| -> Vec<Vec<u32>> {
            let chunks = vec![chunk(0..100), chunk(100..104), chunk(104..107)];
            merged(chunks, &dead).iter().map(|chunk| chunk.numbers.clone()).collect()
        };
        let first: Vec<u32> = (0..100).collect();
        assert_eq!(
            numbers([101, 105].into_iter().collect()),
            [&first[..], &[100, 102, 103, 104, 106]]
        );
        assert_eq!(numbers((100..107).collect()), [first]);
    }

    #[test]
    fn a_thousand_chunks_of_one_become_a_few() {
        let (mut chunks, mut moved) = (Vec::new(), 0);
        for _ in 0..1000 {
            chunks.push(1usize);
            let n = to_merge(&chunks);
            let merged: usize = chunks.split_off(chunks.len() - n.max(1)).iter().sum();
            moved += merged;
            chunks.push(merged);
        }
        assert_eq!(chunks.iter().sum::<usize>(), 1000);
        assert!(chunks.len() <= 11, "{chunks:?}");
        assert!(moved <= 1000 * 12, "{moved}");
        assert_eq!(to_merge(&[CHUNK, 3, 2]), 2);
        assert_eq!(to_merge(&[CHUNK / 2 + 1, CHUNK / 2]), 0);
    }
}
