//! Parses the names of measures in both spellings: trec_eval's (`ndcg_cut.5,10`, also as it prints
//! them: `ndcg_cut_10`) and ir_measures' (`nDCG@10`, `AP(rel=2)@1000`). A column keeps the user's
//! spelling.

use std::cmp::Ordering;

use super::families::{FAMILIES, PERSISTENCE, Parameters, family_names, nickname};
use super::gains::Gains;
use super::statistic::Statistic;
use crate::eval::diversity::{ALPHA, DiversityKind, DiversityMeasure, MOST, alpha};
use crate::eval::name::unknown_measure;
use crate::eval::{Measure, Variant};
use crate::{Error, Result};

/// A measure: one value per query.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasureColumn {
    /// The user's or trec_eval's name.
    pub name: String,
    /// The statistic.
    pub statistic: Statistic,
    /// The lowest relevant grade, if it is part of the name (`rel=2`).
    pub level: Option<i32>,
    /// Whether the name restricts it to judged documents.
    pub judged_only: bool,
    /// The place in trec_eval's order; measures that it does not have come last.
    pub(super) order: usize,
}

const KNOWN: &str = "there are trec_eval's names (map, P.5,10, ndcg_cut.10, recall.100, \
    ndcg.1=3,2=9, official, set, all_trec …) and those of ir_measures (nDCG@10, AP, P@5, R@100, \
    RR@10, Rprec, Bpref, Success@5, ERR@20, RBP(p=0.8), Judged@10, RankLoss, AP(rel=2)@1000, \
    nDCG(dcg='exp-log2')@10; with subtopics alpha_nDCG(alpha=0.5)@10, ERR_IA@20, StRecall@10 …); \
    the guide defines them all";

/// The stems of ir_measures' names, as they are suggested for misspelt ones.
const STEMS: [&str; 24] = [
    "nDCG",
    "DCG",
    "AP",
    "MAP",
    "P",
    "R",
    "RR",
    "MRR",
    "Success",
    "Rprec",
    "Bpref",
    "infAP",
    "SetP",
    "SetR",
    "SetAP",
    "SetF",
    "RankLoss",
    "Judged",
    "ERR",
    "RBP",
    "IPrec",
    "alpha_nDCG",
    "ERR_IA",
    "StRecall",
];

/// The columns of `names`, in their order. As in trec_eval, a measure with parameters replaces the
/// one without; unlike there, all parameters count where a measure is named several times. A
/// repeated name adds nothing. One text may hold several names, separated by commas (`nDCG@10,AP`).
pub fn columns<S: AsRef<str>>(names: &[S]) -> Result<Vec<MeasureColumn>> {
    let mut asked: Vec<Request> = Vec::new();
    for name in names.iter().flat_map(|names| split_names(names.as_ref())) {
        if let Some(list) = nickname(name) {
            for family in list {
                ask(&mut asked, place_of(family).unwrap_or_default(), None);
            }
        } else if let Some((family, given)) = family(name) {
            if given == Some("") {
                let expected = "parameters after the full stop, as in P.5,10";
                return Err(Error::parameter("measure", name, expected));
            }
            ask(&mut asked, family, given.map(|given| (name, given)));
        } else {
            asked.push(Request::Single(Box::new(ir_measure(name)?)));
        }
    }
    let mut columns: Vec<MeasureColumn> = Vec::new();
    for request in asked {
        let more = match request {
            Request::Single(column) => vec![*column],
            Request::Family(family, given) => family_columns(family, &given)?,
        };
        for column in more {
            if columns.iter().all(|known| known.name != column.name) {
                columns.push(column);
            }
        }
    }
    Ok(columns)
}

/// Like [`columns`], but measures of our own in ir_measures' spelling (nDCG@10, AP, P@5, R@100, RR,
/// Rprec, Success@5, ERR@20, Judged@10, RankLoss) are computed in `variant`. trec_eval's names stay
/// trec_eval's.
pub fn columns_as<S: AsRef<str>>(names: &[S], variant: &Variant) -> Result<Vec<MeasureColumn>> {
    let mut columns = columns(names)?;
    for column in columns.iter_mut().filter(|column| column.order == FAMILIES.len()) {
        if let Ok(measure) = column.name.parse::<Measure>() {
            column.statistic = Statistic::Own { measure, variant: Box::new(*variant) };
        }
    }
    Ok(columns)
}

/// The names in a text: commas within `P.5,10` and `nDCG(dcg='log2',judged_only=True)@5` do not
/// separate names.
fn split_names(text: &str) -> Vec<&str> {
    if family(text.trim()).is_some() {
        return vec![text.trim()];
    }
    let mut depth = 0u32;
    let outside = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    text.split(outside).map(str::trim).collect()
}

enum Request<'n> {
    /// A family of trec_eval by its place, with every name that has parameters, and the parameters.
    Family(usize, Vec<(&'n str, &'n str)>),
    Single(Box<MeasureColumn>),
}

fn ask<'n>(asked: &mut Vec<Request<'n>>, family: usize, given: Option<(&'n str, &'n str)>) {
    let known = asked.iter_mut().find_map(|request| match request {
        Request::Family(known, all) if *known == family => Some(all),
        _ => None,
    });
    match known {
        Some(all) => all.extend(given),
        None => asked.push(Request::Family(family, given.into_iter().collect())),
    }
}

fn place_of(name: &str) -> Option<usize> {
    FAMILIES.iter().position(|family| family.name == name)
}

/// Splits `P.5,10` or `P_5` into the place of a family and its parameters.
fn family(name: &str) -> Option<(usize, Option<&str>)> {
    if let Some(place) = place_of(name) {
        return Some((place, None));
    }
    if let Some((stem, given)) = name.split_once('.')
        && let Some(place) = place_of(stem)
    {
        return Some((place, Some(given)));
    }
    // The longest family wins: ndcg_cut_10 begins with ndcg_ as well.
    let parts = name.rmatch_indices('_').map(|(at, _)| (&name[..at], &name[at + 1..]));
    let mut parts = parts.filter(|(_, given)| given.starts_with(|c: char| !c.is_alphabetic()));
    parts.find_map(|(stem, given)| Some((place_of(stem)?, Some(given))))
}

fn family_columns(place: usize, given: &[(&str, &str)]) -> Result<Vec<MeasureColumn>> {
    let family = &FAMILIES[place];
    let column = |parameters: Option<&str>, statistic: Statistic| MeasureColumn {
        name: parameters.map_or(family.name.into(), |given| format!("{}_{given}", family.name)),
        statistic,
        level: None,
        judged_only: false,
        order: place,
    };
    // One column for every list of parameters.
    let each = |expected: &str, parse: &dyn Fn(Option<&str>) -> Option<Statistic>| {
        let of = |name: &str, parameters: Option<&str>| -> Result<MeasureColumn> {
            let wrong = || Error::parameter("measure", name, expected);
            Ok(column(parameters, parse(parameters).ok_or_else(wrong)?))
        };
        match given {
            [] => Ok(vec![of(family.name, None)?]),
            _ => given.iter().map(|&(name, text)| of(name, Some(text))).collect(),
        }
    };
    let gains_of = |text: Option<&str>| text.map_or(Some((None, Gains::Linear)), pairs);
    match &family.parameters {
        Parameters::None(statistic) => match given.first() {
            None => Ok(vec![column(None, statistic.clone())]),
            Some((name, _)) => {
                let expected = format!("{} without parameters", family.name);
                Err(Error::parameter("measure", name, &expected))
            }
        },
        Parameters::Cuts(default, of) => {
            let expected = "whole numbers from 1 on as cuts, as in P.5,10";
            let cuts = distinct(given, default, expected, |cut| {
                // trec_eval reads as far as it understands, so that 23.4 is 23.
                let whole = cut.split_once('.').map_or(cut, |(whole, _)| whole);
                whole.parse().ok().filter(|&cut| cut > 0)
            })?;
            Ok(cuts.iter().map(|&cut| column(Some(&cut.to_string()), of(cut))).collect())
        }
        Parameters::Shares(default, of) => {
            let expected = "numbers from 0 on, as in iprec_at_recall.0.25,0.5";
            let shares = distinct(given, default, expected, |share| {
                share.parse().ok().filter(|share| (0.0..1e6).contains(share))
            })?;
            let name = |share: f64| format!("{share:.2}");
            Ok(shares.iter().map(|&share| column(Some(&name(share)), of(share))).collect())
        }
        Parameters::Numbers(default, expected, of) => each(expected, &|text| {
            let finite = |number: &str| number.parse().ok().filter(|n: &f64| n.is_finite());
            match text {
                Some(text) => of(&numbers(text, finite)?),
                None => of(default),
            }
        }),
        Parameters::Gains(of) => {
            let expected =
                format!("pairs of a grade and its gain, as in {}.1=3,2=9.5", family.name);
            each(&expected, &|text| match gains_of(text)? {
                (None, gains) => Some(of(gains)),
                (Some(_), _) => None,
            })
        }
        Parameters::Persistence { gains: takes_gains, of } => {
            let also = if *takes_gains { ", and pairs of a grade and its gain" } else { "" };
            let expected = format!("p above 0 and below 1, as in {}.p=0.8{also}", family.name);
            each(&expected, &|text| {
                let (p, gains) = gains_of(text)?;
                let p = p.unwrap_or(PERSISTENCE);
                let allowed = p > 0.0 && p < 1.0 && (*takes_gains || gains == Gains::Linear);
                allowed.then(|| of(p, gains))
            })
        }
    }
}

/// The values of all lists given, ascending and each once; the defaults where none is given.
fn distinct<T: Copy + PartialOrd>(
    given: &[(&str, &str)],
    default: &[T],
    expected: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>> {
    if given.is_empty() {
        return Ok(default.to_vec());
    }
    let mut all = Vec::new();
    for &(name, text) in given {
        let wrong = || Error::parameter("measure", name, expected);
        all.extend(numbers(text, &parse).ok_or_else(wrong)?);
    }
    all.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    all.dedup();
    Ok(all)
}

/// Every part between commas, parsed.
fn numbers<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    text.split(',').map(|part| parse(part.trim())).collect()
}

/// Parses `1=3,2=9,p=0.8`: a probability, and gains of grades.
fn pairs(text: &str) -> Option<(Option<f64>, Gains)> {
    let (mut p, mut gains) = (None, Vec::new());
    for pair in text.split(',') {
        let (key, value) = pair.split_once('=')?;
        let value: f64 = value.trim().parse().ok().filter(|value: &f64| value.is_finite())?;
        match key.trim() {
            "p" => p = Some(value),
            key => gains.push((key.parse().ok()?, value)),
        }
    }
    let gains = if gains.is_empty() { Gains::Linear } else { Gains::Given(gains) };
    Some((p, gains))
}

/// Parses a name of ir_measures: `NAME(key=value, …)@cut`.
fn ir_measure(name: &str) -> Result<MeasureColumn> {
    let wrong = |expected: &str| Error::parameter("measure", name, expected);
    let (stem, rest) = name.split_at(name.find(['(', '@']).unwrap_or(name.len()));
    let unknown = || {
        // trec_eval's names have their parameters after a dot.
        let stem = stem.split_once('.').map_or(stem, |(stem, _)| stem);
        unknown_measure(name, stem, STEMS.into_iter().chain(family_names()), KNOWN)
    };
    let (settings, cut) = match rest.strip_prefix('(') {
        Some(rest) => {
            let (inner, after) = rest.split_once(')').ok_or_else(unknown)?;
            (Settings::parse(name, inner)?, after)
        }
        None => (Settings::default(), rest),
    };
    let cut = match cut {
        "" => None,
        cut => Some(cut.strip_prefix('@').ok_or_else(unknown)?),
    };
    let k = || -> Result<Option<usize>> {
        let whole = |cut: &str| cut.parse().ok().filter(|&k: &usize| k > 0);
        let expected = "a whole number from 1 on as the cut, as in nDCG@10";
        cut.map(|cut| whole(cut).ok_or_else(|| wrong(expected))).transpose()
    };
    let any = || -> Result<usize> { Ok(k()?.unwrap_or(usize::MAX)) };
    let some = || -> Result<usize> {
        let expected = format!("the number of documents as a cut, as in {stem}@10");
        k()?.ok_or_else(|| wrong(&expected))
    };
    let none = |statistic: Statistic| -> Result<Statistic> {
        match cut {
            None => Ok(statistic),
            Some(_) => Err(wrong(&format!("{stem} without a cut"))),
        }
    };
    use Statistic as S;
    let stem_in_small = stem.to_ascii_lowercase();
    let (statistic, takes): (Statistic, &[&str]) = match stem_in_small.as_str() {
        "ndcg" => (S::Ndcg { k: any()?, gains: settings.gains }, &["dcg"]),
        "dcg" => (S::Dcg { k: any()?, gains: settings.gains }, &["dcg"]),
        "ap" | "map" => (S::Ap { k: any()? }, &["rel"]),
        "p" | "precision" => (S::P { k: some()? }, &["rel"]),
        "r" | "recall" => (S::Recall { k: some()? }, &["rel"]),
        "rr" | "mrr" => (S::Rr { k: any()? }, &["rel"]),
        "success" => (S::Success { k: some()? }, &["rel"]),
        "rprec" => (none(S::Rprec)?, &["rel"]),
        "bpref" => (none(S::Bpref)?, &["rel"]),
        "infap" => (none(S::InfAp)?, &["rel"]),
        "setp" => (none(S::SetP)?, &["rel"]),
        "setr" => (none(S::SetRecall)?, &["rel"]),
        "setap" => (none(S::SetAp)?, &["rel"]),
        "setf" => (none(S::SetF { x: 1.0 })?, &["rel"]),
        "numq" => (none(S::NumQ)?, &[]),
        "numrel" => (none(S::NumRel)?, &["rel"]),
        "numret" if settings.rel.is_some() => (none(S::NumRelRet)?, &["rel"]),
        "numret" => (none(S::NumRet)?, &[]),
        "rankloss" => {
            let (measure, variant) = (Measure::RankLoss, Box::default());
            (none(S::Own { measure, variant })?, &[])
        }
        "judged" => (S::Judged { k: some()? }, &[]),
        "err" => (S::Err { k: any()?, highest: settings.max.unwrap_or(4) }, &["max"]),
        "rbp" => {
            let (k, p) = (any()?, settings.p.unwrap_or(0.8));
            let statistic = match settings.rel {
                Some(_) => S::BinaryRbp { k, p },
                None => S::Rbp { k, p, gains: Gains::Linear },
            };
            (statistic, &["p", "rel"])
        }
        "iprec" => {
            let recall = cut.and_then(|cut| cut.parse().ok()).filter(|at| (0.0..=1.0).contains(at));
            let expected = "a recall from 0 to 1, as in IPrec@0.5";
            (S::IprecAtRecall { recall: recall.ok_or_else(|| wrong(expected))? }, &["rel"])
        }
        _ => {
            let kind = DiversityKind::named(stem).ok_or_else(unknown)?;
            let alpha = settings.alpha.unwrap_or(ALPHA);
            let takes: &[&str] = if kind.takes_alpha() { &["alpha", "rel"] } else { &["rel"] };
            let k = some()?;
            if k > MOST {
                return Err(wrong(&format!("a cut of at most {MOST}")));
            }
            (S::Diversity(DiversityMeasure { kind, k, alpha }), takes)
        }
    };
    if let Some(other) =
        settings.keys.iter().find(|&&key| key != "judged_only" && !takes.contains(&key))
    {
        let there = if takes.is_empty() { "nothing".to_owned() } else { takes.join(", ") };
        return Err(wrong(&format!("{there} or judged_only as a parameter, not {other}")));
    }
    Ok(MeasureColumn {
        name: name.to_owned(),
        statistic,
        level: settings.rel,
        judged_only: settings.judged_only,
        order: FAMILIES.len(),
    })
}

/// The parameters in the brackets of a name.
#[derive(Default)]
struct Settings<'n> {
    keys: Vec<&'n str>,
    rel: Option<i32>,
    p: Option<f64>,
    max: Option<i32>,
    alpha: Option<f64>,
    judged_only: bool,
    gains: Gains,
}

impl<'n> Settings<'n> {
    fn parse(name: &str, inner: &'n str) -> Result<Self> {
        let mut settings = Settings::default();
        let wrong = |expected: &str| Error::parameter("measure", name, expected);
        for pair in inner.split(',').filter(|pair| !pair.trim().is_empty()) {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| wrong("key=value in brackets, as in AP(rel=2)"))?;
            let (key, value) = (key.trim(), value.trim().trim_matches(['\'', '"']));
            let (valid, expected) = match key {
                "rel" => {
                    settings.rel = value.parse().ok().filter(|&rel| rel >= 0);
                    (settings.rel.is_some(), "a grade as rel, as in AP(rel=2)")
                }
                "p" => {
                    settings.p = value.parse().ok().filter(|&p: &f64| p > 0.0 && p < 1.0);
                    (settings.p.is_some(), "p above 0 and below 1, as in RBP(p=0.8)")
                }
                "max" => {
                    settings.max = value.parse().ok().filter(|max| (1..=60).contains(max));
                    (settings.max.is_some(), "the highest grade as max, as in ERR(max=2)@10")
                }
                "alpha" => {
                    settings.alpha = alpha(value);
                    (settings.alpha.is_some(), "alpha from 0 to 1, as in alpha_nDCG(alpha=0.3)@10")
                }
                "judged_only" => {
                    let given = value.to_ascii_lowercase().parse::<bool>();
                    settings.judged_only = given == Ok(true);
                    (given.is_ok(), "judged_only=True or judged_only=False")
                }
                "dcg" => {
                    settings.gains = if value == "exp-log2" { Gains::Exp } else { Gains::Linear };
                    let known = ["log2", "exp-log2"].contains(&value);
                    (known, "dcg='log2' (the grade) or dcg='exp-log2' (2^grade - 1)")
                }
                _ => (false, "rel, p, max, alpha, dcg or judged_only as a parameter"),
            };
            if !valid {
                return Err(wrong(expected));
            }
            settings.keys.push(key);
        }
        Ok(settings)
    }
}
