//! The gain of a grade in nDCG.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The gain of a grade g in nDCG; grades of zero and below have none. In files
/// `"exp"`, `"linear"` or a list such as `[0, 1, 3, 7]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "GainSpec", into = "GainSpec")]
#[schemars(with = "GainSpec")]
pub enum Gain {
    /// 2^g − 1.
    #[default]
    Exp,
    /// g, as in trec_eval.
    Linear,
    /// By grade, from a list.
    Table(GainTable),
}

impl Gain {
    /// The gain of a grade, scaled for a ratio of gains whose highest grade is `highest`: 2^g − 1 is
    /// divided by 2^highest, which cancels, so that clicks in the thousands do not overflow as grades.
    pub(crate) fn scaled(self, grade: f32, highest: f32) -> f64 {
        if grade <= 0.0 {
            return 0.0;
        }
        match self {
            Gain::Exp => {
                let highest = f64::from(highest);
                (f64::from(grade) - highest).exp2() - (-highest).exp2()
            }
            Gain::Linear => f64::from(grade),
            Gain::Table(table) => table.of(grade),
        }
    }
}

/// Gains by grade, in ascending order; the first is that of grade 0 and is 0. A fractional grade counts
/// as the whole one below, and one beyond the table as its last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GainTable {
    // Of fixed size, so that a variant is `Copy`.
    gains: [f64; GainTable::MOST],
    len: usize,
}

impl GainTable {
    /// The capacity of a table.
    pub const MOST: usize = 16;

    /// A table of these gains.
    pub fn new(gains: &[f64]) -> Result<Self> {
        let sound = gains.first() == Some(&0.0)
            && (2..=Self::MOST).contains(&gains.len())
            && gains.is_sorted()
            && gains.iter().all(|gain| gain.is_finite());
        if !sound {
            return Err(Error::parameter("gain", listed(gains), EXPECTED));
        }
        let mut table = GainTable { gains: [0.0; Self::MOST], len: gains.len() };
        table.gains[..gains.len()].copy_from_slice(gains);
        Ok(table)
    }

    /// The gains, from grade 0 on.
    pub fn gains(&self) -> &[f64] {
        &self.gains[..self.len]
    }

    /// The gain of a grade.
    pub fn of(&self, grade: f32) -> f64 {
        // The cast makes a negative grade and NaN 0.
        self.gains[(grade as usize).min(self.len - 1)]
    }
}

const EXPECTED: &str = "exp, linear, or the gains of the grades 0, 1, 2 … as in 0,1,3,7: starting at 0, \
                        never falling, 16 at most";

fn listed(gains: &[f64]) -> String {
    gains.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// As it is typed: `exp`, `linear`, `0,1,3,7`.
impl FromStr for Gain {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "exp" => Ok(Gain::Exp),
            "linear" => Ok(Gain::Linear),
            _ => {
                let gains: Option<Vec<f64>> =
                    text.split(',').map(|gain| gain.trim().parse().ok()).collect();
                let gains = gains.ok_or_else(|| Error::parameter("gain", text, EXPECTED))?;
                Ok(Gain::Table(GainTable::new(&gains)?))
            }
        }
    }
}

/// As a formula.
impl fmt::Display for Gain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gain::Exp => f.write_str("2^g-1"),
            Gain::Linear => f.write_str("g"),
            Gain::Table(table) => write!(f, "by grade {}", listed(table.gains())),
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected exp, linear, or a list of gains such as [0, 1, 3, 7]")]
enum GainSpec {
    Name(String),
    Table(Vec<f64>),
}

impl TryFrom<GainSpec> for Gain {
    type Error = Error;

    fn try_from(written: GainSpec) -> Result<Self> {
        match written {
            GainSpec::Name(name) => name.parse(),
            GainSpec::Table(gains) => Ok(Gain::Table(GainTable::new(&gains)?)),
        }
    }
}

impl From<Gain> for GainSpec {
    fn from(gain: Gain) -> Self {
        match gain {
            Gain::Exp => GainSpec::Name("exp".into()),
            Gain::Linear => GainSpec::Name("linear".into()),
            Gain::Table(table) => GainSpec::Table(table.gains().to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_and_looked_up() {
        let gain: Gain = "0, 1,3,7".parse().unwrap();
        let Gain::Table(table) = gain else { panic!("{gain:?}") };
        let of = [-1.0, 0.0, 0.9, 1.0, 2.5, 3.0, 4.0, f32::NAN].map(|grade| table.of(grade));
        assert_eq!(of, [0.0, 0.0, 0.0, 1.0, 3.0, 7.0, 7.0, 0.0]);
        assert_eq!(gain.to_string(), "by grade 0,1,3,7");
        let text = serde_json::to_string(&gain).unwrap();
        assert_eq!(text, "[0.0,1.0,3.0,7.0]");
        assert_eq!(serde_json::from_str::<Gain>(&text).unwrap(), gain);
        assert_eq!(serde_json::to_string(&Gain::Exp).unwrap(), "\"exp\"");
    }

    #[test]
    fn what_is_no_gain_is_refused() {
        let many = vec!["0"; 17].join(",");
        for text in ["", "log", "1,2", "0", "0,3,1", "0,inf", "0,NaN", "0,-1", "0,,1", &many] {
            let error = text.parse::<Gain>().unwrap_err().to_string();
            assert!(error.contains("exp, linear, or the gains"), "{error}");
        }
        let error = serde_json::from_str::<Gain>("3").unwrap_err().to_string();
        assert!(error.contains("expected exp, linear"), "{error}");
    }
}
