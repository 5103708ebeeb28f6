//! Parses grades and feature values.

/// Parses a feature value, which may be missing.
pub(crate) fn feature_value(text: &str) -> Option<f32> {
    let text = text.trim();
    if text.is_empty() || ["nan", "na", "null", "?"].iter().any(|m| text.eq_ignore_ascii_case(m)) {
        return Some(f32::NAN);
    }
    // A number too large for 32 bits becomes infinite, which callers refuse.
    text.parse().ok().filter(|value: &f32| !value.is_nan())
}

/// Whether `value` is not the whole number in `text`, because 32 bits cannot hold it: then different
/// values may become equal.
pub(crate) fn is_rounded(text: &str, value: f32) -> bool {
    const EXACT: f32 = 16_777_216.0;
    value.abs() >= EXACT
        && text
            .trim()
            .parse::<f64>()
            .is_ok_and(|exact| exact.fract() == 0.0 && exact != f64::from(value))
}

/// A valid grade, for messages.
pub(crate) const GRADE: &str = "a grade: a finite number, such as 0, 1 or 2";

/// A valid feature value, for messages.
pub(crate) const VALUE: &str =
    "a finite number, or nan where the value is missing (32 bits: at most 3.4e38)";

/// Parses a grade.
pub(crate) fn grade(text: &str) -> Option<f32> {
    text.trim().parse().ok().filter(|grade: &f32| grade.is_finite())
}
