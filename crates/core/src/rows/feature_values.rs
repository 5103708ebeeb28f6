//! Grades and feature values as they are written in files.

/// A number as it stands in a file: a feature may be missing.
pub(crate) fn feature_value(text: &str) -> Option<f32> {
    let text = text.trim();
    if text.is_empty() || ["nan", "na", "null", "?"].iter().any(|m| text.eq_ignore_ascii_case(m)) {
        return Some(f32::NAN);
    }
    // What is too large for 32 bits becomes infinite, and is refused with the rest of those.
    text.parse().ok().filter(|value: &f32| !value.is_nan())
}

/// Whether a whole number is another one in 32 bits: unlike values of it may become equal.
pub(crate) fn is_rounded(text: &str, value: f32) -> bool {
    const EXACT: f32 = 16_777_216.0;
    value.abs() >= EXACT
        && text
            .trim()
            .parse::<f64>()
            .is_ok_and(|exact| exact.fract() == 0.0 && exact != f64::from(value))
}

/// What was expected of a grade.
pub(crate) const GRADE: &str = "a grade: a finite number, such as 0, 1 or 2";

/// What was expected of a feature.
pub(crate) const VALUE: &str =
    "a finite number, or nan where the value is missing (32 bits: at most 3.4e38)";

/// A grade as it stands in a file.
pub(crate) fn grade(text: &str) -> Option<f32> {
    text.trim().parse().ok().filter(|grade: &f32| grade.is_finite())
}
