//! Ids and their numbers, in the order of first appearance.

use std::hash::{DefaultHasher, Hasher};

use hashbrown::HashTable;

/// Names and their numbers. The names are concatenated in one string, and the hash table holds
/// numbers only: a third of the memory of a map of strings.
#[derive(Default)]
pub(super) struct Interner {
    text: String,
    /// Where each name ends in the text.
    ends: Vec<u64>,
    /// The numbers by the hash of their names.
    table: HashTable<u32>,
}

impl Interner {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, name: &str) -> Option<u32> {
        self.table.find(hash(name), |&number| self.name(number) == name).copied()
    }

    /// The number of `name`, a new one if it has none; `None` if all numbers are used.
    pub(super) fn add(&mut self, name: &str) -> Option<u32> {
        if let Some(number) = self.get(name) {
            return Some(number);
        }
        // A matrix has at most 2³² − 1 columns.
        let number = u32::try_from(self.len()).ok().filter(|&number| number < u32::MAX)?;
        self.text.push_str(name);
        self.ends.push(self.text.len() as u64);
        let Interner { text, ends, table } = self;
        table.insert_unique(hash(name), number, |&number| hash(slice(text, ends, number)));
        Some(number)
    }

    pub(super) fn name(&self, number: u32) -> &str {
        slice(&self.text, &self.ends, number)
    }

    /// Its size in bytes.
    pub(super) fn memory(&self) -> usize {
        self.text.capacity() + 8 * self.ends.capacity() + self.table.allocation_size()
    }
}

fn slice<'t>(text: &'t str, ends: &[u64], number: u32) -> &'t str {
    let at = number as usize;
    let start = if at == 0 { 0 } else { ends[at - 1] };
    &text[start as usize..ends[at] as usize]
}

fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(name.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_numbers_while_the_table_grows() {
        let mut names = Interner::default();
        assert_eq!(names.get(""), None);
        let name = |i: u32| if i == 0 { String::new() } else { format!("n{}", i * 7919) };
        for i in 0..5000 {
            assert_eq!(names.add(&name(i)), Some(i));
            assert_eq!(names.add(&name(i / 2)), Some(i / 2));
        }
        for i in 0..5000 {
            assert_eq!(names.get(&name(i)), Some(i));
            assert_eq!(names.name(i), name(i));
        }
        assert_eq!((names.len(), names.get("n")), (5000, None));
    }
}
