//! Decimals: whole numbers of any length with the point set by the column.

use parquet::errors::{ParquetError, Result};
use serde_json::{Number, Value};

/// The most digits of a column. Warehouses have 38 to 77; the limit keeps a damaged schema from asking
/// for texts of gigabytes.
pub(super) const MAX_DIGITS: i32 = 1000;

/// The most bytes of a value, which hold more than [`MAX_DIGITS`].
const MAX_BYTES: usize = 512;

/// The decimal `number` / 10^`scale`: a JSON number if that says the same, else text.
pub(super) fn decimal(number: i128, scale: usize) -> Value {
    value(&text(number < 0, &number.unsigned_abs().to_string(), scale), scale)
}

/// Like [`decimal`], of a number in two's complement, its highest byte first.
pub(super) fn decimal_of_bytes(bytes: &[u8], scale: usize) -> Result<Value> {
    let Some(&first) = bytes.first() else {
        return Err(ParquetError::General("a decimal number without bytes".into()));
    };
    let is_negative = first >= 0x80;
    let fill = if is_negative { 0xff } else { 0 };
    // Short numbers may stand in long columns.
    let padding = bytes.iter().take_while(|&&byte| byte == fill).count();
    let digits = &bytes[padding..];
    if digits.len() < 16 {
        let start = if is_negative { -1 } else { 0 };
        let number = digits.iter().fold(start, |number, &byte| (number << 8) | i128::from(byte));
        return Ok(decimal(number, scale));
    }
    if digits.len() > MAX_BYTES {
        let problem = format!("a decimal number of {} bytes, expected {MAX_BYTES}", digits.len());
        return Err(ParquetError::General(problem));
    }
    Ok(value(&text(is_negative, &long_digits(digits, is_negative), scale), scale))
}

/// The digits of the absolute value of a number without padding.
fn long_digits(bytes: &[u8], is_negative: bool) -> String {
    const LIMB: u64 = 1_000_000_000;
    // The lowest limb first. The absolute value of a negative number is its complement plus one.
    let mut limbs: Vec<u64> = vec![0];
    let mut multiply_add = |factor: u64, mut carry: u64| {
        for limb in &mut limbs {
            carry += *limb * factor;
            *limb = carry % LIMB;
            carry /= LIMB;
        }
        if carry > 0 {
            limbs.push(carry);
        }
    };
    for &byte in bytes {
        multiply_add(256, u64::from(if is_negative { !byte } else { byte }));
    }
    multiply_add(1, u64::from(is_negative));
    let (highest, others) = limbs.split_last().map_or((0, &[][..]), |(&last, rest)| (last, rest));
    let others = others.iter().rev().map(|limb| format!("{limb:09}"));
    std::iter::once(highest.to_string()).chain(others).collect()
}

/// The number in text, without zeros at the end of its fraction, as other numbers are written.
fn text(is_negative: bool, digits: &str, scale: usize) -> String {
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let fraction = fraction.trim_end_matches('0');
    let is_zero = whole == "0" && fraction.is_empty();
    let sign = if is_negative && !is_zero { "-" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}

/// A JSON number that is written like `text`; otherwise the text. The columns without a fraction become
/// integers, the others floats if possible, so that a column has values of one type.
fn value(text: &str, scale: usize) -> Value {
    let integer = || {
        let signed = text.parse::<i64>().map(Number::from);
        signed.or_else(|_| text.parse::<u64>().map(Number::from)).ok()
    };
    let float = || {
        let number = Number::from_f64(text.parse().ok()?)?;
        // With 16 digits, two numbers can be equally near, and one is written here, the other in JSON.
        let shown = number.as_f64()?.to_string();
        (shown == text && digits(&number.to_string()) == digits(text)).then_some(number)
    };
    let number = if scale == 0 { integer().or_else(float) } else { float().or_else(integer) };
    number.map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

/// The digits of a number, without zeros at the ends.
fn digits(number: &str) -> String {
    let digits = number.split('e').next().unwrap_or_default();
    let digits: String = digits.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_decimal_is_a_number_where_that_is_exact() {
        for (number, scale, expected) in [
            (12, 0, json!(12)),
            (-7, 0, json!(-7)),
            (i128::from(i64::MIN), 0, json!(i64::MIN)),
            (i128::from(u64::MAX), 0, json!(u64::MAX)),
            (i128::from(u64::MAX) + 1, 0, json!("18446744073709551616")),
            (10i128.pow(38) - 1, 0, json!("99999999999999999999999999999999999999")),
            (i128::MIN, 0, json!("-170141183460469231731687303715884105728")),
            (1200, 2, json!(12.0)),
            (-1250, 2, json!(-12.5)),
            (0, 5, json!(0.0)),
            (-1, 5, json!(-0.00001)),
            (1, 38, json!(1e-38)),
            (123_456_789_012_345, 2, json!(1234567890123.45)),
            // 2^53 + 1 is no float, nor are so many digits with cents.
            (900_719_925_474_099_300, 2, json!(9_007_199_254_740_993i64)),
            // Both are 94599173824343.625 as floats.
            (9_459_917_382_434_362, 2, json!("94599173824343.62")),
            (9_459_917_382_434_363, 2, json!("94599173824343.63")),
            (1_234_567_890_123_456_789, 2, json!("12345678901234567.89")),
            (-i128::MAX, 38, json!("-1.70141183460469231731687303715884105727")),
        ] {
            assert_eq!(decimal(number, scale), expected, "{number} {scale}");
            let bytes = decimal_of_bytes(&number.to_be_bytes(), scale).unwrap();
            assert_eq!(bytes, expected, "{number} {scale}");
        }
    }

    #[test]
    fn numbers_longer_than_those_of_the_machine() {
        // 2^136, -2^135, -2^128 and -2^127 - 1, by Python.
        let mut bytes = [0; 18];
        bytes[0] = 1;
        let expected = "87112285931760246646623899502532662132736";
        assert_eq!(decimal_of_bytes(&bytes, 0).unwrap(), expected);
        bytes[0] = 0xff;
        bytes[1] = 0x80;
        let expected = "-435561429658801233233119497512663310663.68";
        assert_eq!(decimal_of_bytes(&bytes, 2).unwrap(), expected);
        bytes[1] = 0xff;
        let expected = "-340282366920938463463374607431768211456";
        assert_eq!(decimal_of_bytes(&bytes, 0).unwrap(), expected);
        let mut bytes = [0xff; 17];
        bytes[1] = 0x7f;
        let expected = "-170141183460469231731687303715884105729";
        assert_eq!(decimal_of_bytes(&bytes, 0).unwrap(), expected);
        for byte in [0, 0xff] {
            let padded = [vec![byte; 5000], vec![byte ^ 0x7f]].concat();
            let expected = if byte == 0 { json!(127) } else { json!(-128) };
            assert_eq!(decimal_of_bytes(&padded, 0).unwrap(), expected);
        }
        let error = decimal_of_bytes(&[1; 513], 0).unwrap_err().to_string();
        assert!(error.contains("of 513 bytes, expected 512"), "{error}");
        assert!(decimal_of_bytes(&[], 0).is_err());
    }

    proptest! {
        /// However it is written, no digit changes.
        #[test]
        fn decimals_keep_their_digits(number: i64, shift in 0..64u32, scale in 0..25usize) {
            let number = number >> shift;
            let value = decimal(number.into(), scale);
            let written = value.as_f64().filter(|_| value.is_f64()).map(|value| value.to_string());
            for text in [value.to_string(), written.unwrap_or(value.to_string())] {
                prop_assert_eq!(digits(&text), digits(&number.to_string()));
            }
            // Numbers of 15 digits are numbers.
            prop_assert!(digits(&number.to_string()).len() > 15 || value.is_number());
        }

        /// The long way comes to the same as the short one where both can go.
        #[test]
        fn long_numbers_have_the_digits_of_short_ones(number: i128) {
            let bytes = number.to_be_bytes();
            let digits = long_digits(&bytes, number < 0);
            prop_assert_eq!(digits, number.unsigned_abs().to_string());
        }
    }
}
