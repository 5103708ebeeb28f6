//! What the six factorisations share: from counts to a fitted matcher.

use super::classes::{Grouping, Groups, UNKNOWN, training};
use super::fitted::{Factorised, Learnt};
use crate::early_stopping::EarlyStopping;
use crate::features::{Counts, Features, Featurizer};
use crate::linalg::Dense;
use crate::matchers::check::{MOST, check_range, check_weight};
use crate::matchers::{FitReport, Fitting, Matcher, SavedState, StepsReport};
use crate::topic::{Corpus, Factorise, Factors, Rule, Topics};
use crate::{Error, Result};

/// A factorisation and how it groups documents.
pub(super) struct Grouped {
    pub factorise: Factorise,
    /// `None` for one model of all documents.
    pub grouping: Option<Grouping>,
    /// Whether validation chooses the sweep.
    pub validate: bool,
}

impl Grouped {
    pub fn check(&self) -> Result<()> {
        let how = &self.factorise;
        check_range("dim", how.shared.max(how.own), 1, MOST)?;
        check_range("sweeps", how.sweeps, 1, MOST)?;
        check_range("passes", how.passes, 1, MOST)?;
        check_weight("tolerance", how.tolerance)?;
        if let Rule::Sparse { lambda1, lambda2 } = how.rule {
            check_weight("lambda1", lambda1)?;
            check_weight("lambda2", lambda2)?;
        }
        self.grouping.as_ref().map_or(Ok(()), Grouping::check)
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
                what: "no training document has a word, so there are no topics in them".into(),
                advice: "check the fields and the language".into(),
            });
        }
        if corpus.is_on_disk() {
            notes.push("the documents were read from scratch files, for want of memory".into());
        }
        let scratch = run.scratch();
        // Held-out documents may say a class; their words are folded in like new ones'.
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
        let rule = self.factorise.rule;
        let held_out = |doc: u32| counts.held_out_documents.binary_search(&doc).is_ok();
        // Weights of NMF are on their way when the sweeps end: they are fitted like new ones'.
        let fold = |doc: u32| rule == Rule::NonNegative || held_out(doc);
        let mut judged: Vec<f64> = Vec::new();
        let mut stopping = EarlyStopping::new(0);
        let scorer = scorer.filter(|_| self.validate);
        let factors = self.factorise.fit(
            &corpus,
            |sweep, topics, weights| {
                let Some(scorer) = scorer else { return Ok(()) };
                let fitted =
                    Factorised::new(counts, learnt(topics, weights, &groups)?, rule, fold, run)?;
                let value = scorer(&|query, docs| {
                    fitted.scores(counts, &counts.query(query as usize), docs)
                });
                judged.push(value);
                stopping.observe(sweep, value, || fitted);
                Ok(())
            },
            run,
        )?;
        let kept = stopping.best().map(|&(sweep, ..)| sweep);
        let mut report = report(&factors, &self.factorise, judged, kept, notes);
        if self.validate && scorer.is_none() {
            report
                .warnings
                .push("there is no validation to choose a sweep by: the last was kept".into());
        }
        let (n_classes, n_docs) = (groups.names.len(), order.len());
        if n_classes > 1 && 2 * n_classes > n_docs {
            report.warnings.push(format!(
                "{n_classes} classes for {n_docs} documents: a class of one or two documents has no topics to speak of; name a field with fewer classes (`class = FIELD`)"
            ));
        }
        let fitted = match stopping.into_best() {
            Some((_, _, fitted)) => fitted,
            None => {
                let whole = learnt(&factors.topics, &factors.weights, &groups)?;
                drop((factors, corpus));
                groups.of.clear();
                Factorised::new(counts, whole, rule, fold, run)?
            }
        };
        // Of the sweep that was kept, be it the last or not.
        report.warnings.splice(0..0, fitted.warnings(counts));
        Ok((Box::new(fitted), FitReport::Steps(report)))
    }

    pub fn restore(&self, counts: &Counts, kept: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        let grouped = self.grouping.is_some();
        Ok(Box::new(Factorised::restored(counts, kept, self.factorise.rule, grouped)?))
    }
}

/// Sweep by sweep: the objective, the loss, and how much of the topics is filled.
fn report(
    factors: &Factors,
    how: &Factorise,
    judged: Vec<f64>,
    kept: Option<usize>,
    mut notes: Vec<String>,
) -> StepsReport {
    let mut figures = vec!["objective".to_owned(), "filled".to_owned()];
    let sparse = how.rule != Rule::NonNegative;
    if sparse {
        figures.insert(1, "loss".to_owned());
    }
    if !judged.is_empty() {
        figures.push("validation".to_owned());
    }
    let figures_of = |(at, sweep): (usize, &crate::topic::Sweep)| {
        let mut row = vec![sweep.objective, sweep.filled];
        if sparse {
            row.insert(1, sweep.loss);
        }
        row.extend(judged.get(at));
        row
    };
    let seconds: Vec<f64> = factors.sweeps.iter().map(|sweep| sweep.seconds).collect();
    let total: f64 = seconds.iter().sum();
    let mean = total / seconds.len().max(1) as f64;
    if factors.converged {
        notes.push("it came to rest before the last sweep".into());
    }
    StepsReport {
        step: "sweep".into(),
        figures,
        steps: factors.sweeps.iter().enumerate().map(figures_of).collect(),
        kept,
        notes,
        warnings: Vec::new(),
        times: vec![format!("{mean:.3} s a sweep, {total:.1} s in all")],
    }
}

/// Defines a factorisation: its own parameters and those that all have, and what
/// [`Method`](crate::matchers::Method) wants of it, from `grouped()`.
macro_rules! factorisation {
    (
        $(#[$about:meta])*
        $name:ident, sweeps = $sweeps:literal, passes = $passes:literal { $($own:tt)* }
    ) => {
        super::params! {
            $(#[$about])*
            $name {
                $($own)*
                /// Most sweeps.
                sweeps: usize = $sweeps,
                /// A sweep that lowers the objective by less than this share of it is the last.
                tolerance: f64 = 1e-4,
                /// Most passes of coordinate descent over a word's topics (under NMF also a document's), in a sweep.
                passes: usize = $passes,
                /// ValidationScorer every sweep on validation and keep the best, instead of the last.
                validate: bool = false,
                /// Seed of what topics begin with, and of clusters.
                seed: u64 = 1,
            }
        }

        impl $name {
            /// So many topics that all share and so many of every class.
            fn of(
                &self,
                shared: usize,
                own: usize,
                rule: crate::topic::Rule,
                grouping: Option<super::classes::Grouping>,
            ) -> Grouped {
                let &$name { sweeps, tolerance, passes, validate, seed, .. } = self;
                let factorise =
                    crate::topic::Factorise { shared, own, rule, sweeps, tolerance, passes, seed };
                Grouped { factorise, grouping, validate }
            }
        }

        impl crate::matchers::Method for $name {
            fn check(&self) -> crate::Result<()> {
                self.grouped().check()
            }

            fn fit_to(
                &self,
                fitting: crate::matchers::Fitting<'_>,
            ) -> crate::Result<(Box<dyn crate::matchers::Matcher>, crate::matchers::FitReport)>
            {
                self.grouped().fit(fitting)
            }

            fn restore(
                &self,
                counts: &crate::features::Counts,
                kept: crate::matchers::SavedState<'_>,
            ) -> crate::Result<Box<dyn crate::matchers::Matcher>> {
                self.grouped().restore(counts, kept)
            }

            fn weighs_clicks(&self) -> bool {
                false
            }

            fn validated(&self) -> bool {
                self.validate
            }

            fn class_field(&self) -> Option<&str> {
                self.class_field_wanted()
            }

            fn dim(&self) -> Option<usize> {
                Some(self.dim)
            }

            fn plan(&self, fit: crate::plan::Fit<'_>) -> crate::plan::Plan {
                $name { dim: fit.dim as usize, ..self.clone() }.grouped().plan(&fit)
            }

            fn search_space(&self) -> Vec<crate::matchers::Varied> {
                [&[crate::matchers::space::DIM][..], $name::SPACE].concat()
            }

            fn set_seed(&mut self, seed: u64) {
                self.seed = seed;
            }
        }
    };
}
pub(super) use factorisation;

/// Where a class stands for a method that groups documents.
pub(super) fn wanted(class: &Option<String>) -> Option<&str> {
    Some(class.as_deref().unwrap_or(crate::features::CLASS_FIELD))
}
