//! The variants of measures, in which tools differ; one for a whole table, named in its heading.
//!
//! | preset | gain | discount at rank i | ideal | nothing relevant | ties |
//! |---|---|---|---|---|---|
//! | `default` | 2^g − 1 | 1/log2(i+1) | judgments | 0 | larger id first |
//! | `trec` | g | 1/log2(i+1) | judgments | 0 | larger id first |
//! | `letor` | 2^g − 1 | 1, 1, then 1/log2(i) | candidates | 0 | input order |
//! | `lightgbm` | 2^g − 1 | 1/log2(i+1) | candidates | 1 | input order |
//! | `web` | 2^g − 1 | 1/log2(i+1) | judgments | left out | larger id first |
//!
//! They are those of trec_eval, of the official scripts of LETOR 3 and 4, of LightGBM, and of gdeval
//! of the TREC Web track.

mod gain;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use gain::{Gain, GainTable};

use crate::ranking::tie_rank;
use crate::{Error, Result};

/// A variant of the measures. In a file it may name a preset and the differences from it:
/// `preset = "letor"`, `relevant_from = 2`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "VariantSpec")]
#[schemars(with = "VariantSpec")]
pub struct Variant {
    /// The gain of a grade in nDCG.
    pub gain: Gain,
    /// The discount of a rank in nDCG.
    pub discount: Discount,
    /// The documents of the ideal ranking.
    pub ideal: Ideal,
    /// The lowest relevant grade in AP, P, R, RR, Rprec and Success.
    pub relevant_from: f32,
    /// The value of a query without a relevant document.
    pub empty: Empty,
    /// The highest possible grade, for ERR: a document of this grade satisfies with
    /// probability 1 − 2^−max_grade. Higher grades count as this one.
    pub max_grade: f32,
    /// The order of documents with equal scores.
    pub ties: Ties,
}

/// The discount of rank i, from 1, in nDCG.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Discount {
    /// 1/log2(i + 1).
    #[default]
    Log2,
    /// 1 at the ranks 1 and 2, then 1/log2(i), as in the scripts of LETOR.
    Letor,
}

/// The documents that could have been found: those of the ideal ranking of nDCG, and of the number of
/// relevant documents in AP, R and Rprec.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ideal {
    /// All judged documents.
    #[default]
    Judgments,
    /// The judged documents among those ranked.
    Candidates,
}

/// The value of a query without a relevant document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Empty {
    /// 0, as in trec_eval.
    #[default]
    Zero,
    /// None: it is left out of the mean.
    Skip,
    /// 1, as in LightGBM.
    One,
}

/// The order of documents with equal scores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// By id, descending, as in trec_eval.
    #[default]
    DocnoDesc,
    /// As in the dataset or in the file.
    Stable,
}

const DEFAULT: Variant = Variant {
    gain: Gain::Exp,
    discount: Discount::Log2,
    ideal: Ideal::Judgments,
    relevant_from: 1.0,
    empty: Empty::Zero,
    max_grade: 4.0,
    ties: Ties::DocnoDesc,
};

const PRESETS: [(&str, Variant); 5] = [
    ("default", DEFAULT),
    ("trec", Variant { gain: Gain::Linear, ..DEFAULT }),
    (
        "letor",
        Variant {
            discount: Discount::Letor,
            ideal: Ideal::Candidates,
            ties: Ties::Stable,
            ..DEFAULT
        },
    ),
    (
        "lightgbm",
        Variant { ideal: Ideal::Candidates, empty: Empty::One, ties: Ties::Stable, ..DEFAULT },
    ),
    ("web", Variant { empty: Empty::Skip, ..DEFAULT }),
];

impl Default for Variant {
    fn default() -> Self {
        DEFAULT
    }
}

impl Variant {
    /// The names of the presets.
    pub const PRESET_NAMES: [&'static str; PRESETS.len()] =
        [PRESETS[0].0, PRESETS[1].0, PRESETS[2].0, PRESETS[3].0, PRESETS[4].0];

    /// The preset of this name.
    pub fn preset(name: &str) -> Result<Self> {
        let found = PRESETS.iter().find(|(known, _)| *known == name);
        found.map(|&(_, variant)| variant).ok_or_else(|| {
            let expected = format!("one of {}", Self::PRESET_NAMES.join(", "));
            Error::parameter("preset", name, &expected)
        })
    }

    /// Its name, if it is a preset.
    pub fn name(&self) -> Option<&'static str> {
        PRESETS.iter().find(|(_, preset)| preset == self).map(|&(name, _)| name)
    }

    /// Refuses values out of range.
    pub fn check(&self) -> Result<()> {
        let (from, most) = (self.relevant_from, self.max_grade);
        if !from.is_finite() {
            return Err(Error::parameter("relevant_from", from, "a grade, such as 1"));
        }
        if !(most.is_finite() && most > 0.0) {
            let expected = "the highest possible grade, such as 4";
            return Err(Error::parameter("max_grade", most, expected));
        }
        Ok(())
    }
}

impl Discount {
    /// The factor of a rank, from 1.
    pub(crate) fn factor(self, rank: usize) -> f64 {
        match self {
            Discount::Log2 => ((rank + 1) as f64).log2().recip(),
            Discount::Letor => (rank.max(2) as f64).log2().recip(),
        }
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

impl Ties {
    /// The tie ranks for [`top_k`](crate::ranking::top_k), of documents in their order in the data.
    pub fn rank(self, ids: &[String]) -> Vec<u32> {
        match self {
            Ties::DocnoDesc => tie_rank(ids),
            Ties::Stable => (0..ids.len() as u32).rev().collect(),
        }
    }
}

/// One line with every choice, for the heading of a table.
impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let discount = match self.discount {
            Discount::Log2 => "1/log2(i+1)",
            Discount::Letor => "1 at ranks 1 and 2, then 1/log2(i)",
        };
        let ideal = match self.ideal {
            Ideal::Judgments => "the judgments",
            Ideal::Candidates => "the candidates",
        };
        let empty = match self.empty {
            Empty::Zero => "count 0",
            Empty::Skip => "are left out",
            Empty::One => "count 1",
        };
        let ties = match self.ties {
            Ties::DocnoDesc => "larger id first",
            Ties::Stable => "input order",
        };
        write!(
            f,
            "nDCG: gain {}, discount {discount}, ideal from {ideal}; relevant: grade >= {}; \
             queries without a relevant document {empty}; ERR: highest grade {}; ties: {ties}",
            self.gain, self.relevant_from, self.max_grade
        )?;
        match self.name() {
            Some(name) => write!(f, " (preset {name})"),
            None => Ok(()),
        }
    }
}

/// A variant in a file: a preset, by default `default`, and the differences from it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct VariantSpec {
    preset: Option<String>,
    gain: Option<Gain>,
    discount: Option<Discount>,
    ideal: Option<Ideal>,
    relevant_from: Option<f32>,
    empty: Option<Empty>,
    max_grade: Option<f32>,
    ties: Option<Ties>,
}

impl TryFrom<VariantSpec> for Variant {
    type Error = Error;

    fn try_from(written: VariantSpec) -> Result<Self> {
        let preset = written.preset.as_deref().map_or(Ok(DEFAULT), Variant::preset)?;
        Ok(Variant {
            gain: written.gain.unwrap_or(preset.gain),
            discount: written.discount.unwrap_or(preset.discount),
            ideal: written.ideal.unwrap_or(preset.ideal),
            relevant_from: written.relevant_from.unwrap_or(preset.relevant_from),
            empty: written.empty.unwrap_or(preset.empty),
            max_grade: written.max_grade.unwrap_or(preset.max_grade),
            ties: written.ties.unwrap_or(preset.ties),
        })
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
             relevant: grade >= 1; queries without a relevant document count 0; \
             ERR: highest grade 4; ties: larger id first (preset default)"
        );
        let letor = Variant::preset("letor").unwrap();
        let other = Variant {
            gain: "0,1,3".parse().unwrap(),
            relevant_from: 2.5,
            empty: Empty::Skip,
            max_grade: 2.0,
            ..letor
        };
        assert_eq!(
            other.to_string(),
            "nDCG: gain by grade 0,1,3, discount 1 at ranks 1 and 2, then 1/log2(i), ideal from \
             the candidates; relevant: grade >= 2.5; queries without a relevant document are left \
             out; ERR: highest grade 2; ties: input order"
        );
    }

    #[test]
    fn every_preset_is_another_and_knows_its_name() {
        for name in Variant::PRESET_NAMES {
            let preset = Variant::preset(name).unwrap();
            assert_eq!(preset.name(), Some(name));
            assert!(preset.to_string().ends_with(&format!("(preset {name})")));
            preset.check().unwrap();
        }
        let error = Variant::preset("msmarco").unwrap_err().to_string();
        assert!(error.contains("one of default, trec, letor, lightgbm, web"), "{error}");
    }

    #[test]
    fn variants_are_read_from_toml_and_unknown_fields_refused() {
        let read: Variant = toml::from_str("gain = \"linear\"\nempty = \"one\"").unwrap();
        assert_eq!(read, Variant { gain: Gain::Linear, empty: Empty::One, ..DEFAULT });
        let read: Variant = toml::from_str("preset = \"letor\"\nrelevant_from = 2").unwrap();
        assert_eq!(read, Variant { relevant_from: 2.0, ..Variant::preset("letor").unwrap() });
        let read: Variant = toml::from_str("gain = [0, 1, 3]\nties = \"docno-desc\"").unwrap();
        assert_eq!(read, Variant { gain: "0,1,3".parse().unwrap(), ..DEFAULT });
        assert!(toml::from_str::<Variant>("gains = \"linear\"").is_err());
        let error = toml::from_str::<Variant>("preset = \"mine\"").unwrap_err().to_string();
        assert!(error.contains("one of default, trec"), "{error}");
    }

    #[test]
    fn what_is_written_is_read_back_and_older_files_too() {
        for name in Variant::PRESET_NAMES {
            let preset = Variant::preset(name).unwrap();
            let text = serde_json::to_string(&preset).unwrap();
            assert_eq!(serde_json::from_str::<Variant>(&text).unwrap(), preset);
        }
        let old = r#"{"gain":"linear","relevant_from":1.0,"empty":"zero"}"#;
        let trec = Variant::preset("trec").unwrap();
        assert_eq!(serde_json::from_str::<Variant>(old).unwrap(), trec);
    }

    #[test]
    fn values_without_sense_are_refused() {
        assert!(Variant { relevant_from: f32::NAN, ..DEFAULT }.check().is_err());
        for max_grade in [0.0, -1.0, f32::INFINITY, f32::NAN] {
            assert!(Variant { max_grade, ..DEFAULT }.check().is_err());
        }
    }

    #[test]
    fn ties_go_to_the_larger_id_or_to_the_first() {
        let ids = ["b", "c", "a"].map(String::from);
        assert_eq!(Ties::DocnoDesc.rank(&ids), [1, 2, 0]);
        assert_eq!(Ties::Stable.rank(&ids), [2, 1, 0]);
    }
}
