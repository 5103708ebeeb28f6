//! The counts of a dataset, matchers fitted to them, and an extractor of features over these.

use crate::data::Dataset;
use crate::eval::{Candidates, HeldOut, System, Task, Variant};
use crate::features::{Counts, Preparation};
use crate::matchers::{FitReport, Model, Params};
use crate::rank::FeatureTable;
use crate::rank::features::{
    Extractor, Group, RowSelection, Source, StaticFeatures, held_out_table,
};
use crate::training::fit_all;
use crate::{Result, Run};

/// Features to compute, and their inputs.
pub struct FeatureParams<'a> {
    /// Analysis and counting of text.
    pub preparation: &'a Preparation,
    /// Models to fit, by name.
    pub models: &'a [(String, Params)],
    /// Groups of features.
    pub groups: &'a [Group],
}

/// Everything that rows are made of.
pub struct FeatureInputs {
    /// The counts of the dataset.
    pub counts: Counts,
    /// The models, fitted to all training clicks.
    pub systems: Vec<System>,
    /// The reports of their fits.
    pub reports: Vec<FitReport>,
    /// Features that do not depend on clicks.
    pub fixed: StaticFeatures,
    /// All features, with the models fitted to all training clicks.
    pub extractor: Extractor,
}

impl FeatureInputs {
    /// Counts `dataset` and fits the models. The features include the scores of `opened` models.
    pub fn of(
        dataset: &Dataset,
        params: &FeatureParams<'_>,
        opened: Vec<(String, Model)>,
        run: &Run<'_>,
    ) -> Result<Self> {
        let models = params.models.iter().map(|(_, params)| params);
        let mut preparation = Params::prepared(params.preparation, models);
        preparation.positions |= params.groups.contains(&Group::Proximity);
        let mut steps = run.steps(1 + params.models.len());
        let counts = Counts::of(dataset, &preparation, &steps.next_step())?;
        let (candidates, variant) = (Candidates::Auto, Variant::default());
        let (systems, reports) =
            fit_all(dataset, &counts, params.models, candidates, variant, &mut steps)?;
        let fixed = StaticFeatures::of(dataset, &counts, params.groups, run)?;
        let mut sources = sources(&systems, params.groups);
        let opened = opened.into_iter().map(|(name, model)| (name, Source::opened(model, &counts)));
        sources.extend(opened);
        let extractor = Extractor::new(&fixed, &counts, sources);
        Ok(FeatureInputs { counts, systems, reports, fixed, extractor })
    }

    /// The features of the judged queries of a held-out part, with their grades.
    pub fn held_out(
        &self,
        dataset: &Dataset,
        on: HeldOut,
        rows: RowSelection,
        run: &Run<'_>,
    ) -> Result<FeatureTable> {
        let task = Task::new(dataset, on, &self.counts, Candidates::Judged, Variant::default());
        held_out_table(&self.extractor, &self.counts, &task, rows, run)
    }
}

/// The fitted matchers as sources of features, if `groups` has models.
pub(super) fn sources(systems: &[System], groups: &[Group]) -> Vec<(String, Source)> {
    let wanted = groups.contains(&Group::Models);
    let of = |one: &System| (one.name.clone(), Source::Fitted(one.matcher.clone()));
    systems.iter().filter(|_| wanted).map(of).collect()
}
