//! Percent signs in paths, queries and forms.

use crate::problem::Problem;

/// The most names and values of a query or a form.
const MOST_PAIRS: usize = 1000;

/// `text` with %xx decoded; `plus` says whether + is a blank, as in queries and forms.
pub(crate) fn decoded(text: &str, plus: bool) -> Result<String, Problem> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).and_then(|two| Some((hex(two[0])?, hex(two[1])?)));
        match (byte, digits) {
            (b'%', Some((high, low))) => {
                out.push(high << 4 | low);
                at += 2;
            }
            (b'%', None) => {
                return Err(Problem::bad(format!(
                    "a % in the address is not followed by two hexadecimal digits: {:?}; \
                     a percent sign itself is written %25",
                    beginning(text)
                )));
            }
            (b'+', _) if plus => out.push(b' '),
            _ => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8(out)
        .map_err(|_| Problem::bad(format!("not UTF-8 once %xx is decoded: {:?}", beginning(text))))
}

/// As much of a text as a message can hold: a form may be long.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(200)]
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

/// `text` with everything but letters, digits and `-._~` as %xx.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The names and values of a query or a form.
pub(crate) fn pairs(text: &str) -> Result<Vec<(String, String)>, Problem> {
    if text.bytes().filter(|&byte| byte == b'&').count() >= MOST_PAIRS {
        return Err(Problem::bad(format!("expected at most {MOST_PAIRS} names and values")));
    }
    let pieces = text.split('&').filter(|piece| !piece.is_empty());
    let pair = |piece: &str| {
        let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
        Ok((decoded(name, true)?, decoded(value, true)?))
    };
    pieces.map(pair).collect()
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
