//! Rankers as rows of a comparison: their flags and the reports of their fits.

use std::io::Write;

use clap::Args;
use liken::matchers::{FitReport, MixKind, Mixture};
use liken::rank::rank_methods;
use liken::stack::{LearnFrom, RankerSpec, Stacking};

use crate::console::usage;
use crate::output::{TableFormat, remark};
use crate::settings::{assignment, choice};

/// Rankers over the features of the models that are compared.
#[derive(Args, Default)]
pub struct RankerArgs {
    /// Rankers over features of the models, separated by commas: METHOD, or METHOD:FEATURE+FEATURE,
    /// as in mart:bm25+rmls or mart:-pls (all but pls). A feature is a group (see `liken features
    /// --help`), a model or a single feature.
    #[arg(long, value_name = "R,R", value_delimiter = ',')]
    rankers: Vec<String>,

    /// Queries that rankers learn from: validation queries, training queries (cross-fitted), or both.
    #[arg(long, value_name = "PART", default_value = "validation",
        value_parser = choice::<LearnFrom>(["validation", "train", "both"]))]
    learn_from: LearnFrom,

    /// Candidates of rankers where all documents are ranked: the best N of every model.
    #[arg(long, value_name = "N", default_value_t = Stacking::default().depth)]
    depth: usize,

    /// Set a parameter of all rankers, e.g. --ranker-set trees=100, or of the rankers of one method:
    /// --ranker-set mart.trees=100.
    #[arg(long, value_name = "KEY=VALUE")]
    ranker_set: Vec<String>,
}

impl RankerArgs {
    /// The rankers, with their parameters.
    pub fn specs(&self) -> anyhow::Result<Vec<RankerSpec>> {
        let mut specs: Vec<RankerSpec> =
            self.rankers.iter().map(|text| RankerSpec::parse(text)).collect::<Result<_, _>>()?;
        for assignment in &self.ranker_set {
            let (key, value) = self::assignment("--ranker-set", assignment, "trees=100")?;
            let (method, key) = match key.split_once('.') {
                Some((method, rest)) if rank_methods().any(|(name, _)| name == method) => {
                    (Some(method), rest)
                }
                _ => (None, key),
            };
            let selected = |spec: &&mut RankerSpec| method.is_none_or(|m| spec.params.name() == m);
            let mut any = false;
            for spec in specs.iter_mut().filter(selected) {
                any = true;
                spec.params.set(key, value)?;
            }
            if !any {
                let of = method.map_or(String::new(), |method| format!(" of the method {method}"));
                return Err(usage(format!(
                    "--ranker-set {assignment}: --rankers names no ranker{of}"
                )));
            }
        }
        specs.iter().try_for_each(|spec| spec.params.check())?;
        Ok(specs)
    }

    /// The rows that they learn from.
    pub fn stacking(&self, seed: Option<u64>) -> anyhow::Result<Stacking> {
        let usual = Stacking::default();
        let (on, depth, seed) = (self.learn_from, self.depth, seed.unwrap_or(usual.seed));
        let stacking = Stacking { on, depth, seed, ..usual };
        stacking.check()?;
        Ok(stacking)
    }
}

/// The models whose scores are features of the rankers, each as a mix of one.
pub fn models_of(specs: &[RankerSpec]) -> impl Iterator<Item = Mixture> {
    specs.iter().flat_map(|spec| spec.models().map(row))
}

/// A mix of one model or ranker, whose name is not parsed.
pub fn row(name: &str) -> Mixture {
    Mixture { fusion: MixKind::Linear, parts: vec![(None, name.to_owned())] }
}

/// The reports of rankers among `fits`, by name.
pub fn reports(fits: &[(String, FitReport)]) -> anyhow::Result<serde_json::Value> {
    let rankers = fits.iter().filter(|(_, report)| matches!(report, FitReport::Ranker(_)));
    let of =
        |(name, report): &(String, FitReport)| Ok((name.clone(), serde_json::to_value(report)?));
    Ok(serde_json::Value::Object(rankers.map(of).collect::<serde_json::Result<_>>()?))
}

/// Writes the notes of rankers among `fits`.
pub fn write(
    out: &mut impl Write,
    fits: &[(String, FitReport)],
    format: TableFormat,
) -> anyhow::Result<()> {
    let mut first = true;
    for (name, report) in fits {
        let FitReport::Ranker(report) = report else { continue };
        if std::mem::take(&mut first) {
            writeln!(out)?;
            remark(
                out,
                format,
                "rankers; figures are means over the folds of the queries they learn from",
            )?;
        }
        remark(out, format, &format!("{name}: {}", report.notes.join("; ")))?;
    }
    Ok(())
}
