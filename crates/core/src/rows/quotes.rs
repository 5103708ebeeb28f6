//! Stray quotation marks that make rows of a CSV file part of a field.
//!
//! A mark at the start of a field that is meant as a character quotes the rows after it, and the
//! parser accepts that silently. So a second state machine with the parser's states detects two
//! cases: a quote that is open where the file ends, and a quote over several lines that is closed in
//! the middle of a text, as by the next stray mark.

/// The state of the parser before a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuoteState {
    FieldStart,
    Plain,
    Quoted,
    /// After a mark in a quoted field: closed, unless a second mark follows.
    Closed,
}

/// Follows the quotation marks of a CSV file.
#[derive(Debug)]
pub(super) struct Quotes {
    state: QuoteState,
    /// The current line, and that of the last opening quote, counted from one.
    line: u64,
    opened: u64,
    ended: bool,
    /// The first quote that is followed by text: its first and its last line.
    torn: Option<(u64, u64)>,
}

/// A quote that turns rows into a part of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StrayQuote {
    /// Opened in this line, never closed.
    Unclosed(u64),
    /// Opened in the first line, and closed in the second with text behind it.
    Torn(u64, u64),
}

impl Quotes {
    pub(super) fn new() -> Self {
        Quotes { state: QuoteState::FieldStart, line: 1, opened: 1, ended: false, torn: None }
    }

    /// Processes the next bytes of the file; none means its end.
    pub(super) fn follow(&mut self, bytes: &[u8]) {
        self.ended |= bytes.is_empty();
        for &byte in bytes {
            self.state = match (self.state, byte) {
                (QuoteState::FieldStart, b'"') => {
                    self.opened = self.line;
                    QuoteState::Quoted
                }
                (QuoteState::Quoted, b'"') => QuoteState::Closed,
                (QuoteState::Closed, b'"') | (QuoteState::Quoted, _) => QuoteState::Quoted,
                (_, b',' | b'\n') => QuoteState::FieldStart,
                (QuoteState::Closed, b'\r') => QuoteState::Plain,
                (QuoteState::Closed, _) => {
                    if self.opened < self.line && self.torn.is_none() {
                        self.torn = Some((self.opened, self.line));
                    }
                    QuoteState::Plain
                }
                (QuoteState::FieldStart | QuoteState::Plain, _) => QuoteState::Plain,
            };
            self.line += u64::from(byte == b'\n');
        }
    }

    /// The first stray quote in the rows before `line`.
    pub(super) fn stray(&self, line: u64) -> Option<StrayQuote> {
        // The bytes may be read far ahead of the current row.
        match self.torn.filter(|(opened, _)| *opened < line) {
            Some((opened, closed)) => Some(StrayQuote::Torn(opened, closed)),
            None if self.ended && self.state == QuoteState::Quoted => {
                Some(StrayQuote::Unclosed(self.opened))
            }
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text in one piece and byte by byte.
    fn swallowed(text: &str) -> Option<StrayQuote> {
        let (mut whole, mut single) = (Quotes::new(), Quotes::new());
        whole.follow(text.as_bytes());
        text.as_bytes().chunks(1).for_each(|byte| single.follow(byte));
        whole.follow(&[]);
        single.follow(&[]);
        assert_eq!(whole.stray(u64::MAX), single.stray(u64::MAX));
        whole.stray(u64::MAX)
    }

    #[test]
    fn legal_quotes_swallow_nothing() {
        for text in [
            "",
            "a,b\nc,d",
            "\"a\",\"b\"",
            "\"a\nb\",c\r\n",
            "a,\"b\r\nc\"\r\nd,e",
            "\"\"\"a\n\"\"\",\"\"\n",
            "a,5\" nail\nb,c\n",
            "a,\"5\" nail\nb,c\n",
        ] {
            assert_eq!(swallowed(text), None, "{text:?}");
        }
    }

    #[test]
    fn an_unclosed_quote_is_found_in_the_line_where_it_opens() {
        for (text, line) in [
            ("a,b\nc,\"5 inch\nd,e\nf,g\n", 2),
            ("a,\"b\nc\"\nd,\"e", 3),
            ("\"", 1),
            ("\"a\"\"", 1),
            ("a\n\"b\"\"\n", 2),
        ] {
            assert_eq!(swallowed(text), Some(StrayQuote::Unclosed(line)), "{text:?}");
        }
    }

    #[test]
    fn a_quote_closed_by_the_next_stray_mark_is_found() {
        let text = "a,b\nc,\"5 inch\nd,e\nf,\"6 inch\ng,h\n";
        assert_eq!(swallowed(text), Some(StrayQuote::Torn(2, 4)));
        let mut quotes = Quotes::new();
        quotes.follow(text.as_bytes());
        assert_eq!(quotes.stray(2), None, "the first row is whole");
    }
}
