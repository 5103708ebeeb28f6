//! Rankers among the rows of a comparison: flags that name them, and what is said of their fits.

use std::io::Write;

use clap::Args;
use liken::matchers::{FitReport, MixKind, Mixture};
use liken::rank::rank_methods;
use liken::stack::{LearnFrom, RankerSpec, Stacking};

use crate::console::Usage;
use crate::output::{TableFormat, remark};

/// Rankers that learn from the features of the models that are compared.
#[derive(Args, Default)]
pub struct RankerArgs {
    /// Rankers over the features of the models, separated by commas: METHOD, or
    /// METHOD:FEATURE+FEATURE, as in mart:bm25+rmls or mart:-pls (all but pls). Features are groups
    /// (`liken features --help`), models and single features.
    #[arg(long, value_name = "R,R", value_delimiter = ',')]
    rankers: Vec<String>,

    /// Queries that rankers learn from: those of validation, training queries by cross-fitting, or
    /// both.
    #[arg(long, value_name = "PART", default_value = "validation", value_parser = ["validation", "train", "both"])]
    learn_from: String,

    /// Where all documents are ranked, rankers order the best N of every model.
    #[arg(long, value_name = "N", default_value_t = Stacking::default().depth)]
    depth: usize,

    /// Set a parameter of rankers, e.g. --ranker-set trees=100, or of those of one method:
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
            let Some((key, value)) = assignment.split_once('=') else {
                let message = format!("--ranker-set {assignment}: expected KEY=VALUE");
                return Err(Usage(message).into());
            };
            let (method, key) = match key.trim().split_once('.') {
                Some((method, rest)) if rank_methods().any(|(name, _)| name == method) => {
                    (Some(method), rest)
                }
                _ => (None, key.trim()),
            };
            let meant = |spec: &&mut RankerSpec| method.is_none_or(|m| spec.params.name() == m);
            let mut any = false;
            for spec in specs.iter_mut().filter(meant) {
                any = true;
                spec.params.set(key, value.trim())?;
            }
            if !any {
                let message =
                    format!("--ranker-set {assignment}: no ranker that is meant takes part");
                return Err(Usage(message).into());
            }
        }
        specs.iter().try_for_each(|spec| spec.params.check())?;
        Ok(specs)
    }

    /// What they learn from.
    pub fn stacking(&self, seed: Option<u64>) -> anyhow::Result<Stacking> {
        let on: LearnFrom = crate::settings::named(&self.learn_from)?;
        let usual = Stacking::default();
        let stacking =
            Stacking { on, depth: self.depth, seed: seed.unwrap_or(usual.seed), ..usual };
        stacking.check()?;
        Ok(stacking)
    }
}

/// The models that the features of rankers name, each as a row of its own.
pub fn models_of(specs: &[RankerSpec]) -> impl Iterator<Item = Mixture> {
    specs.iter().flat_map(|spec| spec.models().map(row))
}

/// A row of one model or ranker, whatever signs are in its name.
pub fn row(name: &str) -> Mixture {
    Mixture { fusion: MixKind::Linear, parts: vec![(None, name.to_owned())] }
}

/// What the fits of rankers say, by name.
pub fn reports(fits: &[(String, FitReport)]) -> anyhow::Result<serde_json::Value> {
    let rankers = fits.iter().filter(|(_, report)| matches!(report, FitReport::Ranker(_)));
    let of =
        |(name, report): &(String, FitReport)| Ok((name.clone(), serde_json::to_value(report)?));
    Ok(serde_json::Value::Object(rankers.map(of).collect::<serde_json::Result<_>>()?))
}

/// Writes what the fits of rankers say.
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
                "rankers, each as the mean over folds of the queries they learn from",
            )?;
        }
        remark(out, format, &format!("{name}: {}", report.notes.join("; ")))?;
    }
    Ok(())
}
