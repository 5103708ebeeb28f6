//! How much memory there is.

/// Bytes that the system can give without swapping; 2 GiB where it does not say.
pub fn available() -> u64 {
    std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| parse(&text)).unwrap_or(2 << 30)
}

fn parse(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_figure_is_read() {
        assert_eq!(parse("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        assert_eq!(parse("MemTotal: 9 kB\n"), None);
        assert!(available() > 0);
    }
}
