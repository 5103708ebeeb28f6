//! Fitting the six factorisations: from counts to a matcher.

use super::classes::{Grouping, Groups, UNKNOWN, training};
use super::fitted::{ClassCosine, Factorised, Learnt};
use crate::early_stopping::EarlyStopping;
use crate::features::{Counts, Features, Featurizer};
use crate::linalg::Dense;
use crate::matchers::space::{TOPICS, Varied};
use crate::matchers::{FitReport, Fitting, Matcher, SavedState, StepsReport};
use crate::params::check::{MOST, check_range, check_weight};
use crate::topic::{Corpus, FactorKind, Factorise, Factors, Topics};
use crate::{Error, Result};

/// A factorisation and how it groups documents.
pub(super) struct FactorisedMethod<'a> {
    pub factorise: Factorise,
    /// `None` for one model of all documents.
    pub grouping: Option<Grouping<'a>>,
    /// The score of a document of a class.
    pub cosine: ClassCosine,
    /// Whether validation chooses the sweep.
    pub validate: bool,
}

impl FactorisedMethod<'_> {
    pub fn check(&self) -> Result<()> {
        let how = &self.factorise;
        check_range("dim", how.shared.max(how.own), 1, MOST)?;
        check_range("sweeps", how.sweeps, 1, MOST)?;
        check_range("passes", how.passes, 1, MOST)?;
        check_weight("tolerance", how.tolerance)?;
        if let FactorKind::Rlsi { lambda1, lambda2, .. } = how.kind {
            check_weight("lambda1", lambda1)?;
            check_weight("lambda2", lambda2)?;
        }
        self.grouping.map_or(Ok(()), |grouping| check_range("clusters", grouping.clusters, 1, MOST))
    }

    pub fn search_space(&self) -> Vec<Varied> {
        let mut space = vec![TOPICS];
        if let FactorKind::Rlsi { .. } = self.factorise.kind {
            space.push(("lambda1", "{ min = 0.01, max = 1.0, log = true }"));
            space.push(("lambda2", "{ min = 0.003, max = 1.0, log = true }"));
        }
        if self.factorise.shared > 0 && self.factorise.own > 0 {
            space.push(("class_dim", "{ min = 5, max = 50, log = true, int = true }"));
        }
        space
    }

    pub fn fit(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        self.check()?;
        let Fitting { counts, scorer, run, .. } = fitting;
        let featurizer = Featurizer::new(counts, &Features::words())?;
        let mut notes = Vec::new();
        let mut groups = match &self.grouping {
            Some(grouping) => {
                let groups = grouping.groups(counts, &featurizer, run)?;
                notes.push(groups.note.clone());
                groups
            }
            None => {
                let mut of = vec![0; counts.n_docs()];
                counts.held_out_documents.iter().for_each(|&doc| of[doc as usize] = UNKNOWN);
                Groups { names: vec![String::new()], of, centres: None, note: String::new() }
            }
        };
        let mut order = training(counts);
        // Stable: by class, and by id within it.
        order.sort_by_key(|&doc| groups.of[doc as usize]);
        let ends: Vec<usize> = (0..groups.names.len() as u32)
            .map(|class| order.partition_point(|&doc| groups.of[doc as usize] <= class))
            .collect();
        let weigh = |doc: u32| featurizer.doc(counts.docs.row(doc as usize), None);
        run.step("weighing documents", 0, None)?;
        let corpus = Corpus::new(&order, &ends, counts.n_terms(), weigh, run)?;
        if corpus.nnz() == 0 {
            return Err(Error::Empty {
                what: "no training document has a word".into(),
                advice: "check the fields and the language".into(),
            });
        }
        if corpus.is_on_disk() {
            notes.push("the documents were read from scratch files to save memory".into());
        }
        let scratch = run.scratch();
        // Held-out documents may have a class; they are folded in like new documents.
        let learnt = |topics: &Topics, weights: &Dense, groups: &Groups| {
            let bytes = 4 * counts.n_docs() as u64 * weights.n_cols() as u64;
            let folder = (bytes > run.memory_left() / 2).then_some(scratch.as_path());
            let mut all = Dense::placed(counts.n_docs(), weights.n_cols(), folder)?;
            for (at, &doc) in order.iter().enumerate() {
                all.row_mut(doc as usize).copy_from_slice(weights.row(at));
            }
            Ok::<_, Error>(Learnt {
                topics: topics.clone(),
                classes: groups.names.clone(),
                class_of: groups.of.clone(),
                centres: groups.centres.clone(),
                weights: all,
            })
        };
        let how = (self.factorise.kind, self.cosine);
        let held_out = |doc: u32| counts.held_out_documents.binary_search(&doc).is_ok();
        // Weights of NMF have not converged when the sweeps end: they are folded in like new documents.
        let fold = |doc: u32| self.factorise.kind == FactorKind::Nmf || held_out(doc);
        let mut scores: Vec<f64> = Vec::new();
        let mut stopping = EarlyStopping::new(0);
        let scorer = scorer.filter(|_| self.validate);
        let factors = self.factorise.fit(
            &corpus,
            |sweep, topics, weights| {
                let Some(scorer) = scorer else { return Ok(()) };
                let fitted =
                    Factorised::new(counts, learnt(topics, weights, &groups)?, how, fold, run)?;
                let value = scorer(&|query, docs| {
                    fitted.scores(counts, &counts.query(query as usize), docs)
                });
                scores.push(value);
                stopping.observe(sweep, value, || fitted);
                Ok(())
            },
            run,
        )?;
        let kept = stopping.best().map(|&(sweep, ..)| sweep);
        let mut report = report(&factors, &self.factorise, scores, kept, notes);
        if self.validate && scorer.is_none() {
            report
                .warnings
                .push("there is no validation to choose a sweep by: the last is kept".into());
        }
        let (n_classes, n_docs) = (groups.names.len(), order.len());
        if n_classes > 1 && 2 * n_classes > n_docs {
            report.warnings.push(format!(
                "there are {n_classes} classes for {n_docs} documents, too few per class to learn topics: name a field with fewer classes (`class = FIELD`)"
            ));
        }
        let fitted = match stopping.into_best() {
            Some((_, _, fitted)) => fitted,
            None => {
                let whole = learnt(&factors.topics, &factors.weights, &groups)?;
                drop((factors, corpus));
                groups.of.clear();
                Factorised::new(counts, whole, how, fold, run)?
            }
        };
        // The warnings of the sweep that was kept.
        report.warnings.splice(0..0, fitted.warnings(counts));
        Ok((Box::new(fitted), FitReport::Steps(report)))
    }

    pub fn restore(&self, counts: &Counts, state: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        let grouped = self.grouping.is_some();
        let how = (self.factorise.kind, self.cosine);
        Ok(Box::new(Factorised::restored(counts, state, how, grouped)?))
    }
}

/// The report: by sweep, the objective, the loss, and the share of the topics' weights that are not 0.
fn report(
    factors: &Factors,
    how: &Factorise,
    scores: Vec<f64>,
    kept: Option<usize>,
    mut notes: Vec<String>,
) -> StepsReport {
    let mut figures = vec!["objective".to_owned(), "filled".to_owned()];
    let sparse = how.kind != FactorKind::Nmf;
    if sparse {
        figures.insert(1, "loss".to_owned());
    }
    if !scores.is_empty() {
        figures.push("validation".to_owned());
    }
    let figures_of = |(at, sweep): (usize, &crate::topic::Sweep)| {
        let mut row = vec![sweep.objective, sweep.filled];
        if sparse {
            row.insert(1, sweep.loss);
        }
        row.extend(scores.get(at));
        row
    };
    let seconds: Vec<f64> = factors.sweeps.iter().map(|sweep| sweep.seconds).collect();
    let total: f64 = seconds.iter().sum();
    let mean = total / seconds.len().max(1) as f64;
    if factors.converged {
        notes.push("it converged before the last sweep".into());
    }
    StepsReport {
        step: "sweep".into(),
        figures,
        steps: factors.sweeps.iter().enumerate().map(figures_of).collect(),
        kept,
        notes,
        warnings: Vec::new(),
        times: vec![format!("{mean:.3} s per sweep, {total:.1} s in total")],
    }
}

/// Defines a factorisation: its own parameters and those that all have, and its
/// [`Method`](crate::matchers::Method). The closure maps the parameters to the number of shared
/// topics, the number of topics of every class, the rule, and how documents are grouped: by the
/// class in a field, else into this many clusters, and scored.
macro_rules! factorisation {
    (
        $(#[$about:meta])*
        $name:ident, sweeps = $sweeps:literal, passes = $passes:literal, published = $published:expr,
        |$params:ident| ($shared:expr, $of_class:expr, $kind:expr, $grouped:expr) { $($own:tt)* }
    ) => {
        super::params! {
            $(#[$about])*
            $name {
                $($own)*
                /// Maximum number of sweeps.
                sweeps: usize = $sweeps,
                /// Stop after a sweep that lowers the objective by less than this share of it.
                tolerance: f64 = 1e-4,
                /// Maximum passes of coordinate descent over the topics of a word (with NMF also of a document) per sweep.
                passes: usize = $passes,
                /// Score every sweep on validation and keep the best, instead of the last.
                validate: bool = false,
                /// Seed of the initial topics and of the clusters.
                seed: u64 = 1,
            }
        }

        impl $name {
            fn factorised(&self) -> super::factorised::FactorisedMethod<'_> {
                let $params = self;
                let grouped: Option<(&Option<String>, usize, super::fitted::ClassCosine)> = $grouped;
                super::factorised::FactorisedMethod {
                    factorise: crate::topic::Factorise {
                        shared: $shared,
                        own: $of_class,
                        kind: $kind,
                        sweeps: self.sweeps,
                        tolerance: self.tolerance,
                        passes: self.passes,
                        seed: self.seed,
                    },
                    cosine: grouped.map(|(.., cosine)| cosine).unwrap_or_default(),
                    grouping: grouped.map(|(class, clusters, _)| super::classes::Grouping {
                        class: class.as_deref(),
                        clusters,
                        seed: self.seed,
                    }),
                    validate: self.validate,
                }
            }
        }

        impl crate::matchers::Method for $name {
            fn check(&self) -> crate::Result<()> {
                self.factorised().check()
            }

            fn fit_to(
                &self,
                fitting: crate::matchers::Fitting<'_>,
            ) -> crate::Result<(Box<dyn crate::matchers::Matcher>, crate::matchers::FitReport)>
            {
                self.factorised().fit(fitting)
            }

            fn restore(
                &self,
                counts: &crate::features::Counts,
                state: crate::matchers::SavedState<'_>,
            ) -> crate::Result<Box<dyn crate::matchers::Matcher>> {
                self.factorised().restore(counts, state)
            }

            fn weighs_clicks(&self) -> bool {
                false
            }

            fn validated(&self) -> bool {
                self.validate
            }

            fn class_field(&self) -> Option<&str> {
                self.factorised().grouping.map(|grouping| grouping.field())
            }

            fn dim(&self) -> Option<usize> {
                Some(self.dim)
            }

            fn plan(&self, fit: crate::plan::Fit<'_>) -> crate::plan::Plan {
                $name { dim: fit.dim as usize, ..self.clone() }.factorised().plan(&fit)
            }

            fn published(&self) -> &'static [(&'static str, &'static str)] {
                $published
            }

            fn search_space(&self) -> Vec<crate::matchers::Varied> {
                self.factorised().search_space()
            }
        }
    };
}
pub(super) use factorisation;
