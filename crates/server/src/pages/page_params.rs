//! The parameters of a page's address: read, checked, and changed for links.

use super::format::address;
use crate::http::pairs;
use crate::problem::Problem;

/// The parameters of an address, in order; a name may occur several times.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageParams(pub Vec<(String, String)>);

impl PageParams {
    /// The fields of a form, which are encoded as parameters are.
    pub fn of_form(body: &[u8]) -> Result<Self, Problem> {
        // The error does not show the text, which may be a run of megabytes.
        let fields = std::str::from_utf8(body).ok().and_then(|text| pairs(text).ok());
        let wrong = || Problem::bad("expected the fields of a form, as a browser sends them");
        fields.map(PageParams).ok_or_else(wrong)
    }

    /// The last value of `name` that is not blank.
    pub fn one(&self, name: &str) -> Option<&str> {
        let values = self.0.iter().rev().filter(|(known, _)| known == name);
        values.map(|(_, value)| value.trim()).find(|value| !value.is_empty())
    }

    /// The distinct values of `name`.
    pub fn each(&self, name: &str) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for value in self.0.iter().filter(|(known, _)| known == name).map(|(_, v)| v.trim()) {
            if !value.is_empty() && !found.contains(&value) {
                found.push(value);
            }
        }
        found
    }

    /// The number called `name`, or `default`.
    pub fn number(&self, name: &str, default: usize) -> Result<usize, Problem> {
        let Some(text) = self.one(name) else { return Ok(default) };
        text.parse().map_err(|_| {
            let found: String = text.chars().take(40).collect();
            Problem::bad(format!("{name}: expected a whole number, found {found:?}"))
        })
    }

    /// The address of `path` with these parameters, those in `changes` replaced; an empty value
    /// removes one.
    pub fn address(&self, path: &str, changes: &[(&str, &str)]) -> String {
        let kept = self.0.iter().filter(|(name, value)| {
            !value.is_empty() && changes.iter().all(|(changed, _)| changed != name)
        });
        let kept = kept.map(|(name, value)| (name.as_str(), value.as_str()));
        let new = changes.iter().copied().filter(|(_, value)| !value.is_empty());
        address(path, &kept.chain(new).collect::<Vec<_>>())
    }

    /// The parameters besides `names`, which a form must carry as hidden fields.
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
        assert_eq!(asked.each("runs"), ["a, b", "b"]);
        assert_eq!((asked.one("k"), asked.one("none")), (Some("3"), None));
        assert_eq!((asked.number("k", 1), asked.number("page", 1)), (Ok(3), Ok(1)));
        assert!(asked.number("q", 1).is_err());
        let link = asked.address("/compare", &[("k", "4"), ("q", "")]);
        assert_eq!(link, "/compare?runs=a%2C%20b&runs=b&k=4");
        assert_eq!(asked.except(&["runs", "k"]).collect::<Vec<_>>(), [("q", "x&y")]);
    }
}
