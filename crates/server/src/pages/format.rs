//! Formats of numbers, counts and addresses.

pub use liken_pages::grouped;

use crate::http::encoded;

/// A number with `digits` digits after the point and a minus sign; a dash if it is not finite.
pub fn fixed(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let text = format!("{value:.digits$}");
    match text.strip_prefix('-') {
        // Zero has no sign.
        Some(rest) if rest.bytes().all(|b| b == b'0' || b == b'.') => rest.to_owned(),
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}

/// The same with its sign, + included.
pub fn signed(value: f64, digits: usize) -> String {
    let text = fixed(value, digits);
    if value > 0.0 && value.is_finite() { format!("+{text}") } else { text }
}

/// A count with its noun: `1 query`, `12,345 documents`.
pub fn count(n: usize, noun: &str) -> String {
    liken::counted(grouped(n), noun)
}

/// An address with parameters, encoded.
pub fn address<T: AsRef<str>>(path: &str, parameters: &[(&str, T)]) -> String {
    let pair = |(name, value): &(&str, T)| format!("{}={}", encoded(name), encoded(value.as_ref()));
    let pairs: Vec<String> = parameters.iter().map(pair).collect();
    format!("{path}{}{}", if pairs.is_empty() { "" } else { "?" }, pairs.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(fixed(-1.25, 1), "−1.2");
        assert_eq!(fixed(-0.001, 2), "0.00");
        assert_eq!(fixed(f64::NAN, 2), "–");
        assert_eq!(signed(0.5, 1), "+0.5");
        assert_eq!(signed(-0.5, 1), "−0.5");
        assert_eq!([grouped(7), grouped(1234), grouped(1_234_567)], ["7", "1,234", "1,234,567"]);
        assert_eq!([count(1, "hit"), count(0, "hit")], ["1 hit", "0 hits"]);
        assert_eq!([count(1, "query"), count(1234, "query")], ["1 query", "1,234 queries"]);
    }

    #[test]
    fn addresses_hold_any_text() {
        let made = address("/", &[("q", "a&b=c \"d\" ü/#"), ("k", "10")]);
        assert_eq!(made, "/?q=a%26b%3Dc%20%22d%22%20%C3%BC%2F%23&k=10");
        assert_eq!(address("/judge", &[("", ""); 0]), "/judge");
    }
}
