//! The memory of the machine and of the process.

use std::fmt;

/// Bytes that the system can provide without swapping; 2 GiB if unknown.
pub fn available() -> u64 {
    std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| parse(&text)).unwrap_or(2 << 30)
}

/// The default memory limit of this process: four fifths of the available memory.
pub fn default_limit() -> u64 {
    (available() + resident()) / 5 * 4
}

/// Bytes of anonymous memory of this process, without pages of mapped files; 0 if unknown.
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

/// A number of bytes in readable form: 1.5 GiB.
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
        assert!(resident() > 0 && default_limit() < available() + resident());
    }
}
