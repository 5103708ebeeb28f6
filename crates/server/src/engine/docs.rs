//! Documents by number. Every version of a document has a number of its own: those of the dataset
//! from 0, those that came later after them, in chunks.

use liken::index::DocSet;

/// The ids of the dataset's documents, one text after the other: a million small allocations cost
/// more than what they hold.
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

    pub fn get(&self, no: u32) -> Option<&str> {
        let end = *self.ends.get(no as usize)? as usize;
        let start = match no {
            0 => 0,
            no => self.ends[no as usize - 1] as usize,
        };
        self.text.get(start..end)
    }
}

/// Documents that came later, by ascending number.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Chunk {
    pub numbers: Vec<u32>,
    pub ids: Vec<String>,
}

impl Chunk {
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The place of document `no` in it.
    pub fn find(&self, no: u32) -> Option<usize> {
        self.numbers.binary_search(&no).ok()
    }
}

/// How many of the last chunks are to become one, so that their number grows with the logarithm
/// of the number of documents: as long as the last is at least half as long as the one before.
pub(crate) fn to_merge(lengths: &[usize]) -> usize {
    let Some((&last, before)) = lengths.split_last() else { return 0 };
    let (mut merged, mut count) = (last, 1);
    for &length in before.iter().rev() {
        if merged * 2 < length {
            break;
        }
        merged += length;
        count += 1;
    }
    if count > 1 { count } else { 0 }
}

/// The numbers below `end` that are not in `dead`.
pub(crate) fn alive(end: u32, dead: &DocSet) -> DocSet {
    let mut alive = DocSet::all(end);
    alive.subtract(dead);
    alive
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
    }
}
