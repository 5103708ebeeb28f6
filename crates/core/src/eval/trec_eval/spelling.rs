//! The names of measures in both spellings: trec_eval's (`ndcg_cut.5,10`, also as it prints
//! them: `ndcg_cut_10`) and ir_measures' (`nDCG@10`, `AP(rel=2)@1000`). A column is called what
//! the user called it.

use super::families::{FAMILIES, PERSISTENCE, Takes, nickname};
use super::gains::Gains;
use super::statistic::Statistic;
use crate::eval::diversity::{ALPHA, DiversityKind, DiversityMeasure, MOST, alpha};
use crate::eval::{Measure, Variant};
use crate::{Error, Result};

/// One value a query.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasureColumn {
    /// As the user, or trec_eval, calls it.
    pub name: String,
    /// What is measured.
    pub statistic: Statistic,
    /// The lowest relevant grade, where the name says one (`rel=2`).
    pub level: Option<i32>,
    /// Whether the name asks for judged documents only.
    pub judged_only: bool,
    /// The place in trec_eval's order; those that it does not have come last.
    pub(super) order: usize,
}

const KNOWN: &str = "there are trec_eval's names (map, P.5,10, ndcg_cut.10, recall.100, \
    ndcg.1=3,2=9, official, set, all_trec …) and those of ir_measures (nDCG@10, AP, P@5, R@100, \
    RR@10, Rprec, Bpref, Success@5, ERR@20, RBP(p=0.8), Judged@10, RankLoss, AP(rel=2)@1000, \
    nDCG(dcg='exp-log2')@10; with subtopics alpha_nDCG(alpha=0.5)@10, ERR_IA@20, StRecall@10 …); \
    the guide defines them all";

/// The columns that `names` ask for, in their order. As in trec_eval, a measure with
/// parameters takes the place of the one without; unlike it, all parameters count where a
/// measure is named several times. A name again adds nothing. Several names may stand in one
/// text, parted by commas (`nDCG@10,AP`).
pub fn columns<S: AsRef<str>>(names: &[S]) -> Result<Vec<MeasureColumn>> {
    let mut asked: Vec<Asked> = Vec::new();
    for name in names.iter().flat_map(|names| parted(names.as_ref())) {
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
            asked.push(Asked::One(Box::new(ir_measure(name)?)));
        }
    }
    let mut columns: Vec<MeasureColumn> = Vec::new();
    for asked in asked {
        let more = match asked {
            Asked::One(column) => vec![*column],
            Asked::Family(family, given) => family_columns(family, &given)?,
        };
        for column in more {
            if columns.iter().all(|known| known.name != column.name) {
                columns.push(column);
            }
        }
    }
    Ok(columns)
}

/// Like [`columns`], but measures that we have ourselves and that are named as ir_measures does
/// (nDCG@10, AP, P@5, R@100, RR, Rprec, Success@5, ERR@20, Judged@10, RankLoss) are those of
/// `variant`. trec_eval's names stay trec_eval's.
pub fn columns_as<S: AsRef<str>>(names: &[S], variant: &Variant) -> Result<Vec<MeasureColumn>> {
    let mut columns = columns(names)?;
    for column in columns.iter_mut().filter(|column| column.order == FAMILIES.len()) {
        if let Ok(measure) = column.name.parse::<Measure>() {
            column.statistic = Statistic::Own { measure, variant: Box::new(*variant) };
        }
    }
    Ok(columns)
}

/// The names in a text: the commas of `P.5,10` and `nDCG(dcg='log2',judged_only=True)@5` part
/// no names.
fn parted(text: &str) -> Vec<&str> {
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

enum Asked<'n> {
    /// A family of trec_eval by its place, with the parameters given and the names they were
    /// given in.
    Family(usize, Vec<(&'n str, &'n str)>),
    One(Box<MeasureColumn>),
}

fn ask<'n>(asked: &mut Vec<Asked<'n>>, family: usize, given: Option<(&'n str, &'n str)>) {
    for asked in asked.iter_mut() {
        if let Asked::Family(known, all) = asked
            && *known == family
        {
            all.extend(given);
            return;
        }
    }
    asked.push(Asked::Family(family, given.into_iter().collect()));
}

fn place_of(name: &str) -> Option<usize> {
    FAMILIES.iter().position(|family| family.name == name)
}

/// `P.5,10` and `P_5` are a family and its parameters.
fn family(name: &str) -> Option<(usize, Option<&str>)> {
    if let Some(place) = place_of(name) {
        return Some((place, None));
    }
    if let Some((stem, given)) = name.split_once('.')
        && let Some(place) = place_of(stem)
    {
        return Some((place, Some(given)));
    }
    // ndcg_cut_10 begins with ndcg_, too: the longest family is meant.
    let parts = name.rmatch_indices('_').map(|(at, _)| (&name[..at], &name[at + 1..]));
    let mut parts = parts.filter(|(_, given)| given.starts_with(|c: char| !c.is_alphabetic()));
    parts.find_map(|(stem, given)| Some((place_of(stem)?, Some(given))))
}

fn family_columns(place: usize, given: &[(&str, &str)]) -> Result<Vec<MeasureColumn>> {
    let family = &FAMILIES[place];
    let column = |name: String, statistic: Statistic| MeasureColumn {
        name,
        statistic,
        level: None,
        judged_only: false,
        order: place,
    };
    let bare = || family.name.to_owned();
    let with = |given: &str| format!("{}_{given}", family.name);
    Ok(match &family.takes {
        Takes::Nothing(statistic) => match given.first() {
            None => vec![column(bare(), statistic.clone())],
            Some((name, _)) => {
                let expected = format!("{} without parameters", family.name);
                return Err(Error::parameter("measure", name, &expected));
            }
        },
        Takes::Cuts(default, of) => {
            let mut cuts =
                numbers(given, "whole numbers from 1 on as cuts, as in P.5,10", |cut| {
                    // trec_eval reads as far as it understands, so that 23.4 is 23.
                    let whole = cut.split_once('.').map_or(cut, |(whole, _)| whole);
                    whole.parse().ok().filter(|&cut| cut > 0)
                })?;
            cuts.sort_unstable();
            cuts.dedup();
            let cuts = if given.is_empty() { default } else { &cuts[..] };
            cuts.iter().map(|&cut| column(with(&cut.to_string()), of(cut))).collect()
        }
        Takes::Shares(default, of) => {
            let expected = "numbers from 0 on, as in iprec_at_recall.0.25,0.5";
            let mut shares = numbers(given, expected, |share| {
                share.parse().ok().filter(|share| (0.0..1e6).contains(share))
            })?;
            shares.sort_unstable_by(f64::total_cmp);
            shares.dedup();
            let shares = if given.is_empty() { default } else { &shares[..] };
            shares.iter().map(|&share| column(with(&format!("{share:.2}")), of(share))).collect()
        }
        Takes::Numbers(default, expected, of) => {
            let wrong = |name: &str| Error::parameter("measure", name, expected);
            if given.is_empty() {
                let statistic = of(default).ok_or_else(|| wrong(family.name))?;
                return Ok(vec![column(bare(), statistic)]);
            }
            let mut columns = Vec::new();
            for &(name, text) in given {
                let values = numbers(&[(name, text)], expected, |number| {
                    number.parse().ok().filter(|number: &f64| number.is_finite())
                })?;
                columns.push(column(with(text), of(&values).ok_or_else(|| wrong(name))?));
            }
            columns
        }
        Takes::Gains(of) => {
            if given.is_empty() {
                return Ok(vec![column(bare(), of(Gains::Linear))]);
            }
            let mut columns = Vec::new();
            for &(name, text) in given {
                let expected =
                    format!("pairs of a grade and its gain, as in {}.1=3,2=9.5", family.name);
                let wrong = || Error::parameter("measure", name, &expected);
                let (p, gains) = pairs(text).ok_or_else(wrong)?;
                if p.is_some() {
                    return Err(wrong());
                }
                columns.push(column(with(text), of(gains)));
            }
            columns
        }
        Takes::Persistence { gains: takes_gains, of } => {
            if given.is_empty() {
                return Ok(vec![column(bare(), of(PERSISTENCE, Gains::Linear))]);
            }
            let mut columns = Vec::new();
            for &(name, text) in given {
                let also = if *takes_gains { ", and pairs of a grade and its gain" } else { "" };
                let expected = format!("p above 0 and below 1, as in {}.p=0.8{also}", family.name);
                let wrong = || Error::parameter("measure", name, &expected);
                let (p, gains) = pairs(text).ok_or_else(wrong)?;
                let p = p.unwrap_or(PERSISTENCE);
                if !(p > 0.0 && p < 1.0) || (gains != Gains::Linear && !takes_gains) {
                    return Err(wrong());
                }
                columns.push(column(with(text), of(p, gains)));
            }
            columns
        }
    })
}

/// Every part between commas, read.
fn numbers<T>(
    given: &[(&str, &str)],
    expected: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>> {
    let mut all = Vec::new();
    for &(name, text) in given {
        for part in text.split(',') {
            all.push(read(part.trim()).ok_or_else(|| Error::parameter("measure", name, expected))?);
        }
    }
    Ok(all)
}

/// `1=3,2=9,p=0.8`: a chance, and gains of grades; nothing if it is something else.
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

/// A name as ir_measures spells it: `NAME(key=value, …)@cut`.
fn ir_measure(name: &str) -> Result<MeasureColumn> {
    let unknown =
        || Error::Unknown { kind: "measure", name: name.to_owned(), advice: KNOWN.to_owned() };
    let wrong = |expected: &str| Error::parameter("measure", name, expected);
    let (stem, rest) = name.split_at(name.find(['(', '@']).unwrap_or(name.len()));
    let (settings, cut) = match rest.strip_prefix('(') {
        Some(rest) => {
            let (inner, after) = rest.split_once(')').ok_or_else(unknown)?;
            (Settings::read(name, inner)?, after)
        }
        None => (Settings::read(name, "")?, rest),
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
        let expected = format!("the number of documents to look at, as in {stem}@10");
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
        "ndcg" => (S::Ndcg { k: any()?, gains: settings.gains()? }, &["dcg"]),
        "dcg" => (S::Dcg { k: any()?, gains: settings.gains()? }, &["dcg"]),
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
                return Err(Error::parameter("measure", k, "at most 1000000 documents to look at"));
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

/// What stands in the brackets of a name.
#[derive(Default)]
struct Settings<'n> {
    keys: Vec<&'n str>,
    rel: Option<i32>,
    p: Option<f64>,
    max: Option<i32>,
    alpha: Option<f64>,
    judged_only: bool,
    dcg: Option<&'n str>,
    name: &'n str,
}

impl<'n> Settings<'n> {
    fn read(name: &'n str, inner: &'n str) -> Result<Self> {
        let mut settings = Settings { name, ..Settings::default() };
        let wrong = |expected: &str| Error::parameter("measure", name, expected);
        for pair in inner.split(',').filter(|pair| !pair.trim().is_empty()) {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| wrong("key=value in brackets, as in AP(rel=2)"))?;
            let (key, value) = (key.trim(), value.trim().trim_matches(['\'', '"']));
            match key {
                "rel" => {
                    let rel = value.parse().ok().filter(|&rel| rel >= 0);
                    settings.rel =
                        Some(rel.ok_or_else(|| wrong("a grade as rel, as in AP(rel=2)"))?);
                }
                "p" => {
                    let p = value.parse().ok().filter(|&p: &f64| p > 0.0 && p < 1.0);
                    let expected = "p above 0 and below 1, as in RBP(p=0.8)";
                    settings.p = Some(p.ok_or_else(|| wrong(expected))?);
                }
                "max" => {
                    let max = value.parse().ok().filter(|max| (1..=60).contains(max));
                    let expected = "the highest grade as max, as in ERR(max=2)@10";
                    settings.max = Some(max.ok_or_else(|| wrong(expected))?);
                }
                "alpha" => {
                    let expected = "alpha from 0 to 1, as in alpha_nDCG(alpha=0.3)@10";
                    settings.alpha = Some(alpha(value).ok_or_else(|| wrong(expected))?);
                }
                "judged_only" => {
                    settings.judged_only = match value.to_ascii_lowercase().as_str() {
                        "true" => true,
                        "false" => false,
                        _ => return Err(wrong("judged_only=True or judged_only=False")),
                    };
                }
                "dcg" => settings.dcg = Some(value),
                _ => {
                    return Err(wrong("rel, p, max, alpha, dcg or judged_only as a parameter"));
                }
            }
            settings.keys.push(key);
        }
        Ok(settings)
    }

    fn gains(&self) -> Result<Gains> {
        match self.dcg {
            None | Some("log2") => Ok(Gains::Linear),
            Some("exp-log2") => Ok(Gains::Exp),
            Some(_) => Err(Error::parameter(
                "measure",
                self.name,
                "dcg='log2' (the grade) or dcg='exp-log2' (2^grade - 1)",
            )),
        }
    }
}
