//! How much memory there is.

use std::fmt;

/// Bytes that the system can give without swapping; 2 GiB where it does not say.
pub fn available() -> u64 {
    std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| parse(&text)).unwrap_or(2 << 30)
}

/// Bytes that this process may take in all where nobody said otherwise: four fifths of what there
/// is.
pub fn allowed() -> u64 {
    (available() + resident()) / 5 * 4
}

/// Bytes of memory that this process has now and that are its own (not pages of files that
/// could be read again); 0 where the system does not say.
pub fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status");
    status.ok().and_then(|text| field(&text, "RssAnon:")).unwrap_or(0)
}

fn parse(meminfo: &str) -> Option<u64> {
    field(meminfo, "MemAvailable:")
}

fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// A number of bytes for people: 1.5 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
        let mut size = self.0 as f64;
        let mut unit = 0;
        while size >= 1024.0 && unit + 1 < units.len() {
            size /= 1024.0;
            unit += 1;
        }
        if unit == 0 {
            write!(f, "{} bytes", self.0)
        } else {
            write!(f, "{size:.1} {}", units[unit])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_figure_is_read() {
        assert_eq!(parse("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        assert_eq!(parse("MemTotal: 9 kB\n"), None);
        assert!(available() > 0);
        assert!(resident() > 0 && allowed() < available() + resident());
    }
}
