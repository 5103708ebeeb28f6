//! One line of a raw log, and its encoding as bytes that sort by query, user, page and time.

/// A user saw or clicked a document for a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::data) struct Event<'a> {
    /// The query's identity, or its id where there is a table of queries.
    pub query: &'a str,
    /// Empty if unknown.
    pub user: &'a str,
    /// The id that the events of one result page share; empty if unknown.
    pub page: &'a str,
    /// Seconds; 0 where the log has no times.
    pub seconds: i64,
    /// From 1; 0 if unknown.
    pub rank: u32,
    /// Clicked, not only shown.
    pub clicked: bool,
    /// Whether `page` is one result page, not a session.
    pub of_page: bool,
    /// The document's id.
    pub doc: &'a str,
    /// The query as it was typed.
    pub spelling: &'a str,
}

/// Separates the strings of a record, so none of them may contain it.
pub(in crate::data) const SEPARATOR: char = '\0';

const FIXED: usize = 13;

impl<'a> Event<'a> {
    /// Writes the event to `record`, replacing what is there. Records compare as their events'
    /// fields do, in the order of [`Event`].
    pub(in crate::data) fn encode(&self, record: &mut Vec<u8>) {
        record.clear();
        for text in [self.query, self.user, self.page] {
            record.extend_from_slice(text.as_bytes());
            record.push(0);
        }
        // With the sign flipped, negative numbers come before positive ones as bytes, too.
        record.extend_from_slice(&((self.seconds as u64) ^ (1 << 63)).to_be_bytes());
        record.extend_from_slice(&self.rank.to_be_bytes());
        record.push(u8::from(self.clicked) | u8::from(self.of_page) << 1);
        record.extend_from_slice(self.doc.as_bytes());
        record.push(0);
        record.extend_from_slice(self.spelling.as_bytes());
    }

    /// The event that was written to `record`; `None` if it is not one of ours.
    pub(in crate::data) fn decode(record: &'a [u8]) -> Option<Self> {
        let mut rest = record;
        let mut text = || {
            let end = rest.iter().position(|&byte| byte == 0)?;
            let (text, after) = rest.split_at(end);
            rest = &after[1..];
            std::str::from_utf8(text).ok()
        };
        let (query, user, page) = (text()?, text()?, text()?);
        let (fixed, after) = rest.split_at_checked(FIXED)?;
        rest = after;
        let seconds = u64::from_be_bytes(fixed[..8].try_into().ok()?) ^ (1 << 63);
        let rank = u32::from_be_bytes(fixed[8..12].try_into().ok()?);
        let end = rest.iter().position(|&byte| byte == 0)?;
        Some(Event {
            query,
            user,
            page,
            seconds: seconds as i64,
            rank,
            clicked: fixed[12] & 1 != 0,
            of_page: fixed[12] & 2 != 0,
            doc: std::str::from_utf8(&rest[..end]).ok()?,
            spelling: std::str::from_utf8(&rest[end + 1..]).ok()?,
        })
    }
}

/// Whether a line of the log is a click (`Some(true)`) or a document shown.
pub(in crate::data) fn parse_clicked(text: &str) -> Option<bool> {
    match without_zeros(text.trim()).to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "y" | "click" | "clicked" | "c" => Some(true),
        "0" | "false" | "no" | "n" | "shown" | "show" | "impression" | "view" | "viewed"
        | "skip" | "skipped" | "s" => Some(false),
        _ => None,
    }
}

/// A rank: a whole number from 1. Some logs append the order of the click (`8 3`).
pub(in crate::data) fn parse_rank(text: &str) -> Option<u32> {
    let first = text.split_whitespace().next()?;
    without_zeros(first).parse().ok().filter(|&rank| rank > 0)
}

/// A whole number without a fraction of zeros: programs without missing integers write 12 as 12.0.
/// Any other text unchanged.
fn without_zeros(text: &str) -> &str {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    match text.split_once('.') {
        Some((whole, zeros)) if digits(whole) && zeros.bytes().all(|b| b == b'0') => whole,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts() -> impl Strategy<Value = (String, String, String, String, String)> {
        let text = "[ -~é中]{0,4}";
        (text, text, text, text, text)
    }

    #[test]
    fn a_fraction_of_zeros_is_none() {
        for (text, whole) in [
            ("1.0", "1"),
            ("12.00", "12"),
            ("3.", "3"),
            ("3", "3"),
            ("1.5", "1.5"),
            (".0", ".0"),
            ("-1.0", "-1.0"),
            ("8 3", "8 3"),
            ("click", "click"),
        ] {
            assert_eq!(without_zeros(text), whole);
        }
        assert_eq!([" 12.00 ", "8.0 3"].map(parse_rank), [Some(12), Some(8)]);
        assert_eq!(["1.0", " 0.00", "1.5"].map(parse_clicked), [Some(true), Some(false), None]);
    }

    #[test]
    fn ranks_are_whole_numbers_from_one_on() {
        assert_eq!(["1", "8 3", "12.0", " 2 "].map(parse_rank), [1, 8, 12, 2].map(Some));
        assert_eq!(["0", "-1", "1.5", "", "one", "0.0"].map(parse_rank), [None; 6]);
    }

    proptest! {
        #[test]
        fn records_bring_events_back_and_sort_as_they_do(
            a in texts(), b in texts(),
            (s, t) in (-5i64..5, -5i64..5), (r, q) in (0u32..400, 0u32..400),
            c: bool, d: bool,
        ) {
            let event = |(query, user, page, doc, spelling): &'static (String, String, String, String, String), seconds, rank, clicked| {
                let of_page = !page.is_empty();
                Event { query, user, page, seconds, rank, clicked, of_page, doc, spelling }
            };
            let (a, b) = (Box::leak(Box::new(a)), Box::leak(Box::new(b)));
            let (first, second) = (event(a, s, r, c), event(b, t, q, d));
            let (mut one, mut two) = (Vec::new(), Vec::new());
            first.encode(&mut one);
            second.encode(&mut two);
            prop_assert_eq!(Event::decode(&one), Some(first));
            let key = |e: &Event<'static>| {
                let flags = (e.of_page, e.clicked);
                (e.query, e.user, e.page, e.seconds, e.rank, flags, e.doc, e.spelling)
            };
            prop_assert_eq!(one.cmp(&two), key(&first).cmp(&key(&second)));
        }
    }
}
