//! Flags that choose the variant of the measures, for every verb that measures.

use clap::Args;
use liken::eval::{Gain, Variant};

use crate::settings::named;

/// The variant of the measures: a preset, and what differs from it.
#[derive(Args)]
pub struct VariantArgs {
    /// Measure as another tool does: default, trec (trec_eval), letor (LETOR's scripts), lightgbm,
    /// or web (gdeval); the flags below change it further.
    #[arg(long, value_name = "NAME", value_parser = Variant::PRESETS)]
    preset: Option<String>,

    /// Gain of a grade in nDCG: exp (2^g - 1), linear, or gains by grade such as 0,1,3,7 [default:
    /// the preset's].
    #[arg(long, value_name = "GAIN")]
    gain: Option<Gain>,

    /// Worth of a rank in nDCG: log2 (1/log2(i+1)) or letor (1, 1, then 1/log2(i)) [default: the
    /// preset's].
    #[arg(long, value_name = "WHICH", value_parser = ["log2", "letor"])]
    discount: Option<String>,

    /// What could have been found at best: all judgments, or those of the candidates ranked
    /// [default: the preset's].
    #[arg(long, value_name = "WHICH", value_parser = ["judgments", "candidates"])]
    ideal: Option<String>,

    /// The lowest grade that counts as relevant in AP, P, R, RR, Rprec and Success [default: 1].
    #[arg(long, value_name = "GRADE")]
    relevant_from: Option<f32>,

    /// The highest grade there is, for ERR [default: 4].
    #[arg(long, value_name = "GRADE")]
    max_grade: Option<f32>,

    /// What a query without a relevant document counts: zero, one, or skip it [default: the
    /// preset's].
    #[arg(long, value_name = "HOW", value_parser = ["zero", "skip", "one"])]
    empty: Option<String>,

    /// Which of equal scores is first: docno-desc (the larger id) or stable (the one that came
    /// first) [default: the preset's].
    #[arg(long, value_name = "HOW", value_parser = ["docno-desc", "stable"])]
    ties: Option<String>,
}

impl VariantArgs {
    /// Whether any flag is given.
    pub fn is_given(&self) -> bool {
        let said = [&self.discount, &self.ideal, &self.empty, &self.ties];
        self.preset.is_some()
            || self.gain.is_some()
            || self.relevant_from.is_some()
            || self.max_grade.is_some()
            || said.iter().any(|flag| flag.is_some())
    }

    /// The variant that the flags name, checked.
    pub fn variant(&self) -> anyhow::Result<Variant> {
        let mut variant = Variant::preset(self.preset.as_deref().unwrap_or("default"))?;
        if let Some(gain) = self.gain {
            variant.gain = gain;
        }
        if let Some(discount) = &self.discount {
            variant.discount = named(discount)?;
        }
        if let Some(ideal) = &self.ideal {
            variant.ideal = named(ideal)?;
        }
        if let Some(grade) = self.relevant_from {
            variant.relevant_from = grade;
        }
        if let Some(grade) = self.max_grade {
            variant.max_grade = grade;
        }
        if let Some(empty) = &self.empty {
            variant.empty = named(empty)?;
        }
        if let Some(ties) = &self.ties {
            variant.ties = named(ties)?;
        }
        variant.check()?;
        Ok(variant)
    }
}
