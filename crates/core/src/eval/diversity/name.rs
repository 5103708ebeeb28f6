//! The names of measures of diversity, printed in ir_measures' spelling (`alpha_nDCG(alpha=0.3)@10`,
//! `ERR_IA@20`, `StRecall@10`) and parsed also in ndeval's (`alpha-nDCG@10`, `ERR-IA@20`, `strec@10`).

use std::fmt;
use std::str::FromStr;

use super::{ALPHA, DiversityKind, DiversityMeasure};
use crate::suggest::did_you_mean;
use crate::{Error, Result};

const KNOWN: &str = "there are alpha_nDCG@k, alpha_DCG@k, ERR_IA@k, nERR_IA@k, P_IA@k and \
                     StRecall@k, with another alpha as in alpha_nDCG(alpha=0.3)@10";

impl DiversityKind {
    const ALL: [DiversityKind; 6] = [
        DiversityKind::AlphaNdcg,
        DiversityKind::AlphaDcg,
        DiversityKind::ErrIa,
        DiversityKind::NerrIa,
        DiversityKind::PIa,
        DiversityKind::StRecall,
    ];

    /// The stem of its name.
    fn name(self) -> &'static str {
        match self {
            DiversityKind::AlphaNdcg => "alpha_nDCG",
            DiversityKind::AlphaDcg => "alpha_DCG",
            DiversityKind::ErrIa => "ERR_IA",
            DiversityKind::NerrIa => "nERR_IA",
            DiversityKind::PIa => "P_IA",
            DiversityKind::StRecall => "StRecall",
        }
    }

    /// Finds the stem of a name, in any case and with `-` or `_`.
    pub(crate) fn named(stem: &str) -> Option<Self> {
        let stem = stem.to_ascii_lowercase().replace('-', "_");
        let stem = if stem == "strec" { "strecall" } else { &stem };
        DiversityKind::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(stem))
    }

    /// Whether it depends on alpha.
    pub(crate) fn takes_alpha(self) -> bool {
        !matches!(self, DiversityKind::PIa | DiversityKind::StRecall)
    }
}

/// Parses a share from 0 to 1.
pub(crate) fn alpha(text: &str) -> Option<f64> {
    text.parse().ok().filter(|alpha| (0.0..=1.0).contains(alpha))
}

/// The largest cut, since the ideal gain is summed rank by rank.
pub(crate) const MOST: usize = 1_000_000;

impl FromStr for DiversityMeasure {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let stem = name.trim().split(['@', '(']).next().unwrap_or_default();
        let stems = DiversityKind::ALL.map(DiversityKind::name);
        let unknown = || Error::Unknown {
            kind: "measure of diversity",
            name: name.to_owned(),
            advice: did_you_mean(stem, stems, KNOWN),
        };
        let (front, cut) = name.trim().split_once('@').unwrap_or((name.trim(), ""));
        let (stem, inner) = match front.split_once('(') {
            Some((stem, rest)) => (stem, Some(rest.strip_suffix(')').ok_or_else(unknown)?)),
            None => (front, None),
        };
        let kind = DiversityKind::named(stem).ok_or_else(unknown)?;
        let k = cut.parse().ok().filter(|k| (1..=MOST).contains(k)).ok_or_else(|| {
            let expected = format!("the number of documents as a cut, as in {stem}@10");
            Error::parameter("measure", name, &expected)
        })?;
        let alpha = match inner {
            None => ALPHA,
            Some(inner) => inner
                .strip_prefix("alpha=")
                .filter(|_| kind.takes_alpha())
                .and_then(|value| alpha(value.trim()))
                .ok_or_else(|| {
                    let expected = "alpha from 0 to 1, as in alpha_nDCG(alpha=0.3)@10";
                    Error::parameter("measure", name, expected)
                })?,
        };
        Ok(DiversityMeasure { kind, k, alpha })
    }
}

impl fmt::Display for DiversityMeasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alpha = if self.alpha == ALPHA || !self.kind.takes_alpha() {
            String::new()
        } else {
            format!("(alpha={})", self.alpha)
        };
        f.pad(&format!("{}{alpha}@{}", self.kind.name(), self.k))
    }
}
