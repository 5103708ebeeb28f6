//! Ids kept once, and the numbers they stand for: in the order of their first appearance.

use std::hash::{DefaultHasher, Hasher};

/// Names and their numbers. The names lie one after the other in one string, and the table
/// that finds them holds numbers only: a third of what a map of strings takes.
#[derive(Default)]
pub(super) struct Interner {
    text: String,
    /// Where each name ends in the text.
    ends: Vec<u64>,
    /// Numbers plus one, at the place of their name's hash or, where that is taken, after it;
    /// 0 is free. A power of two of places, at most three quarters of them taken.
    table: Vec<u32>,
}

impl Interner {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, name: &str) -> Option<u32> {
        if self.table.is_empty() { None } else { self.find(name).ok() }
    }

    /// The number of `name`, a new one if it has none; `None` when the numbers are used up.
    pub(super) fn add(&mut self, name: &str) -> Option<u32> {
        if 4 * (self.len() + 1) > 3 * self.table.len() {
            self.grow();
        }
        let place = match self.find(name) {
            Ok(number) => return Some(number),
            Err(place) => place,
        };
        // The last number stays free: a matrix has at most 2³² − 1 columns.
        let number = u32::try_from(self.len()).ok().filter(|&number| number < u32::MAX)?;
        self.text.push_str(name);
        self.ends.push(self.text.len() as u64);
        self.table[place] = number + 1;
        Some(number)
    }

    pub(super) fn name(&self, number: u32) -> &str {
        let at = number as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start as usize..self.ends[at] as usize]
    }

    /// Bytes taken.
    pub(super) fn memory(&self) -> usize {
        self.text.capacity() + 8 * self.ends.capacity() + 4 * self.table.capacity()
    }

    /// The number of `name`, or the free place where it belongs.
    fn find(&self, name: &str) -> Result<u32, usize> {
        let mask = self.table.len() - 1;
        let mut place = hash(name) as usize & mask;
        loop {
            match self.table[place] {
                0 => return Err(place),
                taken if self.name(taken - 1) == name => return Ok(taken - 1),
                _ => place = (place + 1) & mask,
            }
        }
    }

    fn grow(&mut self) {
        self.table = vec![0; (2 * self.table.len()).max(16)];
        for number in 0..self.len() as u32 {
            if let Err(place) = self.find(self.name(number)) {
                self.table[place] = number + 1;
            }
        }
    }
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
