//! Sizes in bytes with units, such as 500MiB.

/// A number of bytes: 500MiB, 2GiB, 1500000.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(format!("{text:?}: expected a size such as 500MiB or 2GiB")),
    };
    let bytes = number.parse::<f64>().map(|number| number * unit as f64);
    bytes
        .ok()
        .filter(|&bytes| bytes >= 1.0 && bytes < 2f64.powi(63))
        .map(|bytes| bytes as u64)
        .ok_or_else(|| format!("{text:?}: expected a size such as 500MiB or 2GiB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_unit() {
        for (text, bytes) in [
            ("1", 1),
            ("2 KiB", 2048),
            ("1.5MiB", 3 << 19),
            ("2GB", 2_000_000_000),
            ("1g", 1 << 30),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "0", "much", "-1", "3 furlongs", "1e9", "99999999999TiB"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
