//! The choices on which tools disagree, made once for a whole table and named in its heading.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Which variant of the measures is meant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Variant {
    /// What a grade is worth in nDCG.
    pub gain: Gain,
    /// The lowest grade that counts as relevant in AP, P, R and RR.
    pub relevant_from: f32,
    /// What a query without a relevant document counts.
    pub empty: Empty,
}

/// What a grade g is worth in nDCG; grades of zero and below are worth nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Gain {
    /// 2^g − 1.
    #[default]
    Exp,
    /// g, as in trec_eval.
    Linear,
}

/// What a query without a relevant document counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Empty {
    /// 0, as in trec_eval.
    #[default]
    Zero,
    /// It is left out of the mean.
    Skip,
    /// 1, as in LightGBM.
    One,
}

impl Default for Variant {
    fn default() -> Self {
        Variant { gain: Gain::Exp, relevant_from: 1.0, empty: Empty::Zero }
    }
}

impl Variant {
    /// An error if a value makes no sense.
    pub fn check(&self) -> Result<()> {
        if self.relevant_from.is_finite() {
            return Ok(());
        }
        Err(Error::parameter("relevant_from", self.relevant_from, "a grade, such as 1"))
    }
}

impl Empty {
    /// The value of a query without a relevant document.
    pub(super) fn value(self) -> Option<f64> {
        match self {
            Empty::Zero => Some(0.0),
            Empty::Skip => None,
            Empty::One => Some(1.0),
        }
    }
}

/// One line for the heading of a table.
impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gain = match self.gain {
            Gain::Exp => "2^g-1",
            Gain::Linear => "g",
        };
        let empty = match self.empty {
            Empty::Zero => "count 0",
            Empty::Skip => "are left out",
            Empty::One => "count 1",
        };
        write!(
            f,
            "nDCG: gain {gain}, discount 1/log2(i+1), ideal from the judgments; \
             relevant: grade >= {}; queries without a relevant document {empty}",
            self.relevant_from
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heading_names_every_choice() {
        assert_eq!(
            Variant::default().to_string(),
            "nDCG: gain 2^g-1, discount 1/log2(i+1), ideal from the judgments; \
             relevant: grade >= 1; queries without a relevant document count 0"
        );
        let other = Variant { gain: Gain::Linear, relevant_from: 2.5, empty: Empty::Skip };
        assert_eq!(
            other.to_string(),
            "nDCG: gain g, discount 1/log2(i+1), ideal from the judgments; \
             relevant: grade >= 2.5; queries without a relevant document are left out"
        );
    }

    #[test]
    fn variants_are_read_from_toml_and_unknown_fields_refused() {
        let read: Variant = toml::from_str("gain = \"linear\"\nempty = \"one\"").unwrap();
        assert_eq!(read, Variant { gain: Gain::Linear, relevant_from: 1.0, empty: Empty::One });
        assert!(toml::from_str::<Variant>("gains = \"linear\"").is_err());
        assert!(Variant { relevant_from: f32::NAN, ..Variant::default() }.check().is_err());
    }
}
