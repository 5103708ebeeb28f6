//! Percent-encoding in paths, queries and forms.

use std::borrow::Cow;

use liken::quoted;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::problem::Problem;

/// The most names and values of a query or a form.
const MOST_PAIRS: usize = 1000;

/// Everything but letters, digits and `-._~` (RFC 3986, unreserved).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// `text` with %xx decoded; with `plus`, + is a blank, as in queries and forms. The usual crates
/// accept an invalid %xx or invalid UTF-8; here both are errors of the client.
pub(crate) fn decoded(text: &str, plus: bool) -> Result<String, Problem> {
    let is_byte = |rest: &str| {
        rest.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !text.split('%').skip(1).all(is_byte) {
        return Err(Problem::bad(format!(
            "a % in the address is not followed by two hexadecimal digits: {}; \
             a percent sign itself is written %25",
            quoted(text)
        )));
    }
    let blanks = if plus { Cow::Owned(text.replace('+', " ")) } else { Cow::Borrowed(text) };
    let bytes = percent_decode_str(&blanks);
    let decoded = bytes.decode_utf8().map(Cow::into_owned);
    decoded.map_err(|_| Problem::bad(format!("not UTF-8 once %xx is decoded: {}", quoted(text))))
}

/// `text` with everything but letters, digits and `-._~` as %xx.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// The names and values of a query or a form.
pub(crate) fn pairs(text: &str) -> Result<Vec<(String, String)>, Problem> {
    if text.bytes().filter(|&byte| byte == b'&').count() >= MOST_PAIRS {
        return Err(Problem::bad(format!("expected at most {MOST_PAIRS} names and values")));
    }
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Ok((decoded(name, true)?, decoded(value, true)?))
    };
    text.split('&').filter(|pair| !pair.is_empty()).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_encoded_comes_back(text in any::<String>(), plus in any::<bool>()) {
            let there = encoded(&text);
            prop_assert!(there.is_ascii());
            prop_assert!(!there.contains(['/', ' ', '?', '#', '&', '+', '\n']));
            prop_assert_eq!(decoded(&there, plus).unwrap(), text);
        }

        #[test]
        fn anything_is_decoded_or_refused(text in any::<String>()) {
            let _ = decoded(&text, true);
            let _ = pairs(&text);
        }
    }

    #[test]
    fn forms_are_taken_apart() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let read = pairs("a=b+c&%61=%26%3d&flag&&x=1=2").unwrap();
        let expected = [pair("a", "b c"), pair("a", "&="), pair("flag", ""), pair("x", "1=2")];
        assert_eq!(read, expected);
        for wrong in ["%", "%4", "%zz", "%ff", "%+1"] {
            assert_eq!(decoded(wrong, false).unwrap_err().status, 400, "{wrong}");
        }
    }
}
