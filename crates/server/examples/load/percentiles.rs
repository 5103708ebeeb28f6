//! Percentiles of times.

use serde_json::{Value, json};

/// Percentiles in milliseconds of times in microseconds, each one of the times; null if there are none.
pub fn percentiles(micros: &mut [u32]) -> Value {
    micros.sort_unstable();
    let Some(last) = micros.len().checked_sub(1) else { return Value::Null };
    // The smallest time that so large a share of all times does not exceed.
    let at = |share: f64| {
        let rank = (share * micros.len() as f64).ceil() as usize;
        f64::from(micros[rank.saturating_sub(1).min(last)]) / 1e3
    };
    let sum: f64 = micros.iter().map(|&time| f64::from(time)).sum();
    json!({
        "p50": at(0.5),
        "p90": at(0.9),
        "p99": at(0.99),
        "max": at(1.0),
        "mean": sum / 1e3 / micros.len() as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let mut micros: Vec<u32> = (1..=1000).rev().collect();
        let found = percentiles(&mut micros);
        let expected = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0), ("mean", 0.5005)];
        for (name, ms) in expected {
            assert_eq!(found[name], ms, "{name}");
        }
        assert_eq!(percentiles(&mut [7])["p99"], 0.007);
        assert_eq!(percentiles(&mut []), Value::Null);
    }
}
