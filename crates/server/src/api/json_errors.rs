//! Errors of serde_json in plain words: clients know numbers, text, lists and objects, not the types
//! of Rust.

/// `reason` in plain words.
pub(super) fn plain(reason: &str) -> String {
    for prefix in ["invalid type: ", "invalid value: ", "invalid length "] {
        let rest = reason.strip_prefix(prefix);
        if let Some((found, expected)) = rest.and_then(|rest| rest.split_once(", expected ")) {
            return format!("expected {}; found {}", kind(expected), value(found));
        }
    }
    if let Some(name) = reason.strip_prefix("missing field ") {
        return format!("the field {name} is missing");
    }
    if let Some(name) = reason.strip_prefix("duplicate field ") {
        return format!("the field {name} is given twice");
    }
    if let Some(rest) = reason.strip_prefix("unknown variant ") {
        return match rest.split_once(", expected ") {
            Some((found, expected)) => format!("expected {expected}; found {found}"),
            None => reason.to_owned(),
        };
    }
    // Errors of syntax.
    match reason {
        _ if reason.starts_with("EOF while parsing") => "it breaks off in the middle".into(),
        "trailing characters" => "there is text after its end".into(),
        "trailing comma" => "there is a comma before a closing bracket".into(),
        "key must be a string" => "the name of a field must be in double quotes".into(),
        "number out of range" => "a number is too large".into(),
        "expected value" => "expected a value".into(),
        _ if reason.starts_with("control character") => {
            "there is a control character in a text: line breaks are written \\n".into()
        }
        _ if reason.contains("surrogate") => "there is half a character in a text".into(),
        _ => reason.to_owned(),
    }
}

/// A type that was expected.
fn kind(expected: &str) -> &str {
    match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" | "str" | "string" | "a borrowed string" | "a character" => "text",
        "a boolean" => "true or false",
        "a map" => "an object",
        "a sequence" => "a list",
        "unit" | "null" => "null",
        "any valid JSON value" => "a value",
        _ if expected.starts_with("struct ") => "an object",
        _ if expected.starts_with("enum ") || expected.starts_with("variant") => "a name",
        _ if expected.starts_with("a sequence") => "a list",
        _ if expected.starts_with("a map") => "an object",
        // Our own visitors use plain words.
        other => other,
    }
}

/// A value that was found.
fn value(found: &str) -> String {
    let quoted = |prefix: &str| {
        found.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('`')?.strip_suffix('`'))
    };
    for prefix in ["integer ", "floating point ", "boolean ", "number "] {
        if let Some(number) = quoted(prefix) {
            return number.to_owned();
        }
    }
    match found {
        "map" | "newtype struct" => "an object".into(),
        "sequence" => "a list".into(),
        "null" | "unit value" | "Option value" => "null".into(),
        _ => match found.strip_prefix("string ") {
            Some(text) => format!("the text {text}"),
            None => found.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_ours_are_not_named() {
        for (reason, expected) in [
            (
                "invalid type: string \"ten\", expected usize",
                "a whole number, 0 or more; found the text \"ten\"",
            ),
            ("invalid value: integer `-1`, expected u8", "a whole number from 0 to 255; found -1"),
            ("invalid type: floating point `1.5`, expected usize", "0 or more; found 1.5"),
            ("invalid type: sequence, expected struct FusionSpec", "an object; found a list"),
            ("invalid type: map, expected a string", "text; found an object"),
            ("invalid type: null, expected a boolean", "true or false; found null"),
            ("missing field `path`", "the field `path` is missing"),
            (
                "unknown variant `best`, expected one of `z_score`, `rrf`",
                "`z_score`, `rrf`; found `best`",
            ),
        ] {
            let plain = plain(reason);
            assert!(plain.contains(expected), "{plain}");
            for word in ["usize", "u8", "f64", "struct", "variant", "invalid", "integer"] {
                assert!(!plain.contains(word), "{plain}");
            }
        }
    }
}
