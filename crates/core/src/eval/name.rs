//! The names of measures, printed in ir_measures' spelling and parsed also in trec_eval's.

use std::fmt;
use std::str::FromStr;

use super::Measure;
use crate::params::as_text;
use crate::suggest::closest;
use crate::{Error, Result};

const KNOWN: &str = "there are nDCG, nDCG@k, AP (or MAP), AP@k, P@k, R@k, RR (or MRR), RR@k, ERR, \
                     ERR@k, Rprec, Success@k, Judged@k, RankLoss and RankLossAll; trec_eval's names \
                     (ndcg_cut.10, map, P.5, recall.100, recip_rank, success.5) work too";

/// The stems of the names, as they are suggested for misspelt ones.
const STEMS: [&str; 15] = [
    "nDCG",
    "AP",
    "MAP",
    "P",
    "R",
    "recall",
    "RR",
    "MRR",
    "recip_rank",
    "ERR",
    "Success",
    "Judged",
    "Rprec",
    "RankLoss",
    "RankLossAll",
];

/// The error for `name`, whose part before cut and parameters is `stem`.
pub(crate) fn unknown_measure<'k>(
    name: &str,
    stem: &str,
    stems: impl IntoIterator<Item = &'k str>,
    known: &str,
) -> Error {
    let advice = match closest(stem, stems) {
        Some(meant) => format!("did you mean {}? {known}", name.replacen(stem, meant, 1)),
        None => known.to_owned(),
    };
    Error::Unknown { kind: "measure", name: name.to_owned(), advice }
}

impl FromStr for Measure {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let (stem, cut) = split(name.trim());
        let k = cut.map(|cut| positive(name, cut)).transpose()?;
        let needs_k = || {
            let expected = format!("the number of documents as a cut, as in {stem}@10");
            k.ok_or_else(|| Error::parameter("measure", name, &expected))
        };
        let measure = match stem.to_ascii_lowercase().as_str() {
            "ndcg" => Measure::Ndcg { k },
            "ndcg_cut" => Measure::Ndcg { k: Some(needs_k()?) },
            "ap" | "map" => Measure::Ap { k },
            "map_cut" => Measure::Ap { k: Some(needs_k()?) },
            "p" | "precision" => Measure::P { k: needs_k()? },
            "r" | "recall" => Measure::R { k: needs_k()? },
            "rr" | "mrr" | "recip_rank" => Measure::Rr { k },
            "err" => Measure::Err { k },
            "success" => Measure::Success { k: needs_k()? },
            "judged" => Measure::Judged { k: needs_k()? },
            "rprec" | "r-prec" => Measure::Rprec,
            "rankloss" | "rank_loss" => Measure::RankLoss,
            "ranklossall" | "rank_loss_all" => Measure::RankLossAll,
            _ => return Err(unknown_measure(name, stem, STEMS.iter().copied(), KNOWN)),
        };
        if k.is_some() && measure.depth().is_none() {
            let expected = match measure {
                Measure::Rprec => {
                    "Rprec without a cut: its cut is the number of relevant documents"
                }
                _ => "the rank loss without a cut: it compares all pairs of documents",
            };
            return Err(Error::parameter("measure", name, expected));
        }
        Ok(measure)
    }
}

/// Splits `nDCG@10`, `ndcg_cut.10` or `ndcg_cut_10` into stem and cut; the last only where a number
/// follows the underscore.
fn split(name: &str) -> (&str, Option<&str>) {
    if let Some((stem, cut)) = name.split_once(['@', '.']) {
        return (stem, Some(cut));
    }
    match name.rsplit_once('_') {
        Some((stem, cut)) if cut.starts_with(|c: char| c.is_ascii_digit()) => (stem, Some(cut)),
        _ => (name, None),
    }
}

fn positive(name: &str, cut: &str) -> Result<usize> {
    cut.parse().ok().filter(|&k| k > 0).ok_or_else(|| {
        Error::parameter("measure", name, "a whole number from 1 on as the cut, as in nDCG@10")
    })
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stem = match self {
            Measure::Ndcg { .. } => "nDCG",
            Measure::Ap { .. } => "AP",
            Measure::P { .. } => "P",
            Measure::R { .. } => "R",
            Measure::Rr { .. } => "RR",
            Measure::Err { .. } => "ERR",
            Measure::Rprec => "Rprec",
            Measure::Success { .. } => "Success",
            Measure::Judged { .. } => "Judged",
            Measure::RankLoss => "RankLoss",
            Measure::RankLossAll => "RankLossAll",
        };
        match self.depth() {
            // `pad` obeys the width that a table asks for.
            Some(k) => f.pad(&format!("{stem}@{k}")),
            None => f.pad(stem),
        }
    }
}

as_text!(Measure);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_understood_and_ours_is_printed() {
        for (given, canonical) in [
            ("ndcg@10", "nDCG@10"),
            ("nDCG@10", "nDCG@10"),
            ("NDCG@1", "nDCG@1"),
            ("ndcg_cut.10", "nDCG@10"),
            ("ndcg_cut_10", "nDCG@10"),
            ("ndcg", "nDCG"),
            ("AP", "AP"),
            ("MAP", "AP"),
            ("map", "AP"),
            ("map_cut_1000", "AP@1000"),
            ("AP@1000", "AP@1000"),
            ("P@5", "P@5"),
            ("P.5", "P@5"),
            ("P_5", "P@5"),
            ("R@100", "R@100"),
            ("recall.100", "R@100"),
            ("recall_100", "R@100"),
            ("RR", "RR"),
            ("MRR", "RR"),
            ("RR@10", "RR@10"),
            ("mrr@10", "RR@10"),
            ("recip_rank", "RR"),
            ("ERR", "ERR"),
            ("ERR@20", "ERR@20"),
            ("err@20", "ERR@20"),
            ("err_20", "ERR@20"),
            ("Success@5", "Success@5"),
            ("success.5", "Success@5"),
            ("success_5", "Success@5"),
            ("Rprec", "Rprec"),
            ("judged@10", "Judged@10"),
            ("rank_loss", "RankLoss"),
            (" RankLoss ", "RankLoss"),
            ("rank_loss_all", "RankLossAll"),
        ] {
            let measure: Measure = given.parse().unwrap();
            assert_eq!(measure.to_string(), canonical);
            assert_eq!(canonical.parse::<Measure>().unwrap(), measure);
        }
    }

    #[test]
    fn a_wrong_name_is_answered_with_what_there_is() {
        let message = |name: &str| name.parse::<Measure>().unwrap_err().to_string();
        for name in ["", "dcg@10", "AP(rel=2)", "@5", "ndcg cut", "Bpref"] {
            let message = message(name);
            assert!(message.contains(&format!("no measure is called {name:?}")), "{message}");
            assert!(message.contains("nDCG@k") && message.contains("RankLoss"), "{message}");
        }
        for name in ["nDCG@0", "P@-1", "P@5,10", "ndcg@", "recall.x", "P_0", "R@1e3"] {
            assert!(message(name).contains("a whole number from 1 on"), "{}", message(name));
        }
        assert!(message("P").ends_with("as in P@10"), "{}", message("P"));
        assert!(message("ndcg_cut").contains("the number of documents"));
        assert!(message("RankLoss@5").contains("without a cut"));
        assert!(message("Rprec.5").contains("without a cut"));
        assert!(message("Success").ends_with("as in Success@10"), "{}", message("Success"));
    }

    #[test]
    fn measures_are_strings_in_files() {
        let list: Vec<Measure> = serde_json::from_str(r#"["ndcg_cut.3", "map"]"#).unwrap();
        assert_eq!(list, [Measure::Ndcg { k: Some(3) }, Measure::Ap { k: None }]);
        assert_eq!(serde_json::to_string(&list).unwrap(), r#"["nDCG@3","AP"]"#);
        let error = serde_json::from_str::<Measure>(r#""dcg""#).unwrap_err().to_string();
        assert!(error.contains("no measure is called \"dcg\""), "{error}");
        let schema = serde_json::to_value(schemars::schema_for!(Measure)).unwrap();
        assert_eq!(schema["type"], "string");
    }
}
