//! The parameters of a page's address: read, checked, and changed for links.

use super::layout::address;
use crate::problem::Problem;

/// The parameters of an address, in their order; a name may occur several times.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageParams(pub Vec<(String, String)>);

impl PageParams {
    /// The last value of `name` that is not blank.
    pub fn one(&self, name: &str) -> Option<&str> {
        let values = self.0.iter().rev().filter(|(known, _)| known == name);
        values.map(|(_, value)| value.trim()).find(|value| !value.is_empty())
    }

    /// All values of `name`, also those parted by commas, each once.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for (_, value) in self.0.iter().filter(|(known, _)| known == name) {
            for value in value.split(',').map(str::trim) {
                if !value.is_empty() && !found.contains(&value) {
                    found.push(value);
                }
            }
        }
        found
    }

    /// All values of `name` as they are, each once: for names that may hold commas.
    pub fn each(&self, name: &str) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for (_, value) in self.0.iter().filter(|(known, _)| known == name) {
            if !value.trim().is_empty() && !found.contains(&value.trim()) {
                found.push(value.trim());
            }
        }
        found
    }

    /// The number called `name`; `usual` where it is not given.
    pub fn number(&self, name: &str, usual: usize) -> Result<usize, Problem> {
        let Some(text) = self.one(name) else { return Ok(usual) };
        text.parse().map_err(|_| {
            let found: String = text.chars().take(40).collect();
            Problem::bad(format!("{name}: expected a whole number, found {found:?}"))
        })
    }

    /// The address of `path` with these parameters, those in `changes` replaced; an empty value
    /// takes one out.
    pub fn address(&self, path: &str, changes: &[(&str, &str)]) -> String {
        let kept = self.0.iter().filter(|(name, value)| {
            !value.is_empty() && changes.iter().all(|(changed, _)| changed != name)
        });
        let kept = kept.map(|(name, value)| (name.as_str(), value.as_str()));
        let new = changes.iter().copied().filter(|(_, value)| !value.is_empty());
        address(path, &kept.chain(new).collect::<Vec<_>>())
    }

    /// Those parameters that a form must carry along because it does not ask for them.
    pub fn except<'a>(&'a self, names: &'a [&'a str]) -> impl Iterator<Item = (&'a str, &'a str)> {
        let kept = self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        kept.filter(|(name, value)| !names.contains(name) && !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(pairs: &[(&str, &str)]) -> PageParams {
        PageParams(pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    #[test]
    fn values_are_found_listed_and_replaced() {
        let asked = asked(&[("runs", "a, b"), ("k", "3"), ("runs", "b"), ("k", ""), ("q", "x&y")]);
        assert_eq!(asked.all("runs"), ["a", "b"]);
        assert_eq!(asked.each("runs"), ["a, b", "b"]);
        assert_eq!((asked.one("k"), asked.one("none")), (Some("3"), None));
        assert_eq!((asked.number("k", 1), asked.number("page", 1)), (Ok(3), Ok(1)));
        assert!(asked.number("q", 1).is_err());
        let link = asked.address("/compare", &[("k", "4"), ("q", "")]);
        assert_eq!(link, "/compare?runs=a%2C%20b&runs=b&k=4");
        assert_eq!(asked.except(&["runs", "k"]).collect::<Vec<_>>(), [("q", "x&y")]);
    }
}
