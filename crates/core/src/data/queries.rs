//! The queries of an import, and their spellings.

use std::collections::HashMap;

use super::identity::{collapse_spaces, identity};
use super::interner::Interner;
use super::split_name::SplitName;

/// The queries of an import, by the ids of a table or by their normalised texts.
#[derive(Default)]
pub(super) struct Queries {
    pub names: Interner,
    /// Clicks in the whole log, by query.
    pub clicks: Vec<f64>,
    /// The texts in the table of queries, if there is one.
    pub texts: Vec<Box<str>>,
    /// The splits in the table of queries.
    pub parts: Vec<Option<SplitName>>,
    /// The clicks in the table of queries, which override the counted ones.
    pub given_clicks: Vec<Option<f64>>,
    /// Whether there is a table of queries.
    pub listed: bool,
    /// Whether they are the documents themselves, under the same numbers.
    pub are_documents: bool,
    spellings: Spellings,
}

impl Queries {
    /// The query written as `raw` in the log; `None` if there is a table of queries without it, or
    /// if there are too many queries.
    pub(super) fn find(&mut self, raw: &str) -> Option<u32> {
        if self.listed { self.known_as(raw) } else { self.known_as(&identity(raw)) }
    }

    /// The query with this identity, or this id; `None` as in [`Queries::find`].
    pub(super) fn known_as(&mut self, identity: &str) -> Option<u32> {
        if self.listed {
            return self.names.get(identity);
        }
        let number = self.names.add(identity)?;
        self.clicks.resize(self.names.len(), 0.0);
        Some(number)
    }

    /// Its approximate size in bytes.
    pub(super) fn memory(&self) -> usize {
        let texts: usize = self.texts.iter().map(|text| text.len() + 16).sum();
        self.names.memory() + texts + 16 * self.clicks.capacity() + self.spellings.memory()
    }

    /// Counts `clicks` of `query` with the spelling `raw`.
    pub(super) fn spelt(&mut self, query: u32, raw: &str, clicks: f64) {
        if !self.listed {
            self.spellings.note(query, self.names.name(query), raw, clicks);
        }
    }

    /// The text of `query` to show: that of the table, or the most frequent spelling.
    pub(super) fn text(&self, query: u32) -> &str {
        match self.texts.get(query as usize) {
            Some(text) if self.listed => text,
            _ => self.spellings.most_frequent(query, self.names.name(query)),
        }
    }

    pub(super) fn part(&self, query: u32) -> Option<SplitName> {
        self.parts.get(query as usize).copied().flatten()
    }
}

/// The spelling of each query with the most clicks; of several, the first seen. Most queries have
/// their identity as the only spelling, which costs one number.
#[derive(Default)]
struct Spellings {
    /// Clicks of the spelling that is the identity itself; negative if never seen.
    own: Vec<f64>,
    others: HashMap<u32, Others>,
}

#[derive(Default)]
struct Others {
    /// In the order of their first appearance.
    spellings: Vec<(Box<str>, f64)>,
    /// The number of them that came before the identity itself.
    before_own: usize,
}

impl Spellings {
    fn note(&mut self, query: u32, identity: &str, raw: &str, clicks: f64) {
        let at = query as usize;
        if at >= self.own.len() {
            self.own.resize(at + 1, -1.0);
        }
        if raw == identity {
            if self.own[at] < 0.0 {
                self.own[at] = 0.0;
                if let Some(others) = self.others.get_mut(&query) {
                    others.before_own = others.spellings.len();
                }
            }
            self.own[at] += clicks;
            return;
        }
        let spelling = collapse_spaces(raw);
        if spelling == identity {
            return self.note(query, identity, identity, clicks);
        }
        let others = self.others.entry(query).or_default();
        match others.spellings.iter_mut().find(|(text, _)| **text == *spelling) {
            Some((_, sum)) => *sum += clicks,
            None => others.spellings.push((spelling.into(), clicks)),
        }
    }

    fn memory(&self) -> usize {
        // About twenty bytes of text, and the overhead of a list and a map entry.
        8 * self.own.capacity() + 120 * self.others.len()
    }

    fn most_frequent<'s>(&'s self, query: u32, identity: &'s str) -> &'s str {
        let Some(others) = self.others.get(&query) else { return identity };
        let own = self.own.get(query as usize).map(|&clicks| (identity, clicks));
        let (before, after) = others.spellings.split_at(others.before_own);
        let in_order = before.iter().map(|(text, clicks)| (&**text, *clicks)).chain(own);
        let mut best = ("", -1.0);
        for (text, clicks) in in_order.chain(after.iter().map(|(text, n)| (&**text, *n))) {
            if clicks > best.1 {
                best = (text, clicks);
            }
        }
        best.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(lines: &[(&str, f64)]) -> String {
        let mut queries = Queries::default();
        for &(raw, clicks) in lines {
            let query = queries.find(raw).unwrap();
            queries.spelt(query, raw, clicks);
        }
        assert_eq!(queries.names.len(), 1);
        queries.text(0).to_owned()
    }

    #[test]
    fn the_most_frequent_spelling_is_shown() {
        assert_eq!(shown(&[("nasa", 1.0), ("NASA", 2.0), ("Nasa", 1.0)]), "NASA");
        assert_eq!(shown(&[("NASA", 2.0), ("nasa", 1.0), ("nasa", 2.0)]), "nasa");
        assert_eq!(shown(&[("New  York", 1.0), (" New York", 1.0), ("new york", 1.5)]), "New York");
    }

    #[test]
    fn of_equally_frequent_spellings_the_first_is_shown() {
        assert_eq!(shown(&[("NASA", 1.0), ("nasa", 1.0)]), "NASA");
        assert_eq!(shown(&[("nasa", 1.0), ("NASA", 1.0)]), "nasa");
        assert_eq!(shown(&[("NASA", 1.0), ("nasa", 2.0), ("Nasa", 2.0)]), "nasa");
        assert_eq!(shown(&[("Nasa", 0.0), ("NASA", 0.0)]), "Nasa");
    }
}
