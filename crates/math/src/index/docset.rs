//! Sets of documents, such as the result of a filter or the deleted documents.

use fixedbitset::FixedBitSet;

/// A set of document numbers: a growable bit set with its size.
#[derive(Debug, Clone, Default)]
pub struct DocSet {
    bits: FixedBitSet,
    len: usize,
}

impl DocSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The documents 0..n.
    pub fn all(n: u32) -> Self {
        let mut bits = FixedBitSet::with_capacity(n as usize);
        bits.insert_range(..);
        DocSet { bits, len: n as usize }
    }

    /// Adds `doc`; returns whether it was absent.
    pub fn insert(&mut self, doc: u32) -> bool {
        self.bits.grow(doc as usize + 1);
        let new = !self.bits.put(doc as usize);
        self.len += usize::from(new);
        new
    }

    /// Removes `doc`; returns whether it was present.
    pub fn remove(&mut self, doc: u32) -> bool {
        let there = self.contains(doc);
        if there {
            self.bits.remove(doc as usize);
            self.len -= 1;
        }
        there
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        size_of_val(self.bits.as_slice())
    }

    /// Whether `doc` is in the set.
    #[inline]
    pub fn contains(&self, doc: u32) -> bool {
        self.bits.contains(doc as usize)
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The documents in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.bits.ones().map(|doc| doc as u32)
    }

    /// Keeps the documents that are also in `other`.
    pub fn intersect(&mut self, other: &DocSet) {
        self.bits.intersect_with(&other.bits);
        self.count();
    }

    /// Removes the documents of `other`.
    pub fn subtract(&mut self, other: &DocSet) {
        self.bits.difference_with(&other.bits);
        self.count();
    }

    /// Adds the documents of `other`.
    pub fn unite(&mut self, other: &DocSet) {
        self.bits.union_with(&other.bits);
        self.count();
    }

    fn count(&mut self) {
        self.len = self.bits.count_ones(..);
    }
}

impl PartialEq for DocSet {
    /// Compares the documents; the capacities may differ.
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl Eq for DocSet {}

impl FromIterator<u32> for DocSet {
    fn from_iter<I: IntoIterator<Item = u32>>(docs: I) -> Self {
        let mut set = DocSet::new();
        set.extend(docs);
        set
    }
}

impl Extend<u32> for DocSet {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, docs: I) {
        docs.into_iter().for_each(|doc| {
            self.insert(doc);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_set_is_what_the_standard_library_says(
            a in prop::collection::vec(0u32..400, 0..200),
            b in prop::collection::vec(0u32..300, 0..200),
            gone in prop::collection::vec(0u32..500, 0..50),
        ) {
            let mut set: DocSet = a.iter().copied().collect();
            let mut oracle: BTreeSet<u32> = a.iter().copied().collect();
            for doc in gone {
                prop_assert_eq!(set.remove(doc), oracle.remove(&doc));
            }
            for &doc in &b[..b.len() / 2] {
                prop_assert_eq!(set.insert(doc), oracle.insert(doc));
            }
            prop_assert_eq!(set.len(), oracle.len());
            prop_assert_eq!(set.is_empty(), oracle.is_empty());
            prop_assert!((0..600).all(|doc| set.contains(doc) == oracle.contains(&doc)));
            prop_assert!(set.iter().eq(oracle.iter().copied()));
            let (other, others): (DocSet, BTreeSet<u32>) =
                (b.iter().copied().collect(), b.iter().copied().collect());
            let check = |f: fn(&mut DocSet, &DocSet), expected: BTreeSet<u32>| {
                let mut found = set.clone();
                f(&mut found, &other);
                found.len() == expected.len() && found == expected.into_iter().collect()
            };
            prop_assert!(check(DocSet::intersect, &oracle & &others));
            prop_assert!(check(DocSet::subtract, &oracle - &others));
            prop_assert!(check(DocSet::unite, &oracle | &others));
        }
    }

    #[test]
    fn all_documents_are_all_documents() {
        for n in [0, 1, 63, 64, 65, 128, 200] {
            assert_eq!(DocSet::all(n), (0..n).collect());
        }
    }
}
