//! Flags that choose the variant of the measures, for every subcommand that measures.

use clap::Args;
use liken::eval::{Discount, Empty, Gain, Ideal, Ties, Variant};

use crate::settings::choice;

/// The variant of the measures: a preset and changes to it.
#[derive(Args)]
pub struct VariantArgs {
    /// Compute measures as another tool does: default, trec (trec_eval), letor (LETOR's scripts),
    /// lightgbm, or web (gdeval); the flags below override the preset.
    #[arg(long, value_name = "NAME", value_parser = Variant::PRESET_NAMES)]
    preset: Option<String>,

    /// Gain of a grade in nDCG: exp (2^g - 1), linear, or gains by grade such as 0,1,3,7 [default:
    /// the preset's].
    #[arg(long, value_name = "GAIN")]
    gain: Option<Gain>,

    /// Discount of a rank in nDCG: log2 (1/log2(i+1)) or letor (1, 1, then 1/log2(i)) [default: the
    /// preset's].
    #[arg(long, value_name = "WHICH", value_parser = choice::<Discount>(["log2", "letor"]))]
    discount: Option<Discount>,

    /// Documents of the ideal ranking: all that are judged (judgments), or those of them that were
    /// ranked (candidates) [default: the preset's].
    #[arg(long, value_name = "WHICH", value_parser = choice::<Ideal>(["judgments", "candidates"]))]
    ideal: Option<Ideal>,

    /// The lowest grade that counts as relevant in AP, P, R, RR, Rprec and Success [default: 1].
    #[arg(long, value_name = "GRADE")]
    relevant_from: Option<f32>,

    /// The highest grade of the scale, for ERR [default: 4].
    #[arg(long, value_name = "GRADE")]
    max_grade: Option<f32>,

    /// Value of a query without a relevant document: zero, one, or skip it [default: the preset's].
    #[arg(long, value_name = "HOW", value_parser = choice::<Empty>(["zero", "skip", "one"]))]
    empty: Option<Empty>,

    /// Order of equal scores: docno-desc (the larger id first) or stable (the order of the input)
    /// [default: the preset's].
    #[arg(long, value_name = "HOW", value_parser = choice::<Ties>(["docno-desc", "stable"]))]
    ties: Option<Ties>,
}

impl VariantArgs {
    /// Whether any flag is given.
    pub fn is_given(&self) -> bool {
        self.preset.is_some()
            || self.gain.is_some()
            || self.discount.is_some()
            || self.ideal.is_some()
            || self.relevant_from.is_some()
            || self.max_grade.is_some()
            || self.empty.is_some()
            || self.ties.is_some()
    }

    /// The variant that the flags name, checked.
    pub fn variant(&self) -> anyhow::Result<Variant> {
        let preset = Variant::preset(self.preset.as_deref().unwrap_or("default"))?;
        let variant = Variant {
            gain: self.gain.unwrap_or(preset.gain),
            discount: self.discount.unwrap_or(preset.discount),
            ideal: self.ideal.unwrap_or(preset.ideal),
            relevant_from: self.relevant_from.unwrap_or(preset.relevant_from),
            max_grade: self.max_grade.unwrap_or(preset.max_grade),
            empty: self.empty.unwrap_or(preset.empty),
            ties: self.ties.unwrap_or(preset.ties),
        };
        variant.check()?;
        Ok(variant)
    }
}
