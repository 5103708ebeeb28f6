//! Rows of pages of results: what people saw for a training query, and what they clicked. A grade
//! is a click, and a click counts the more the less likely it was looked at where it stood
//! ([`crate::rank::Propensity`] says why). Features are those of cross-fitting: no matcher has seen
//! the clicks of the query.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::cross::{FoldAssignment, Parts};
use super::inputs::FeatureInputs;
use crate::data::{Dataset, ImpressionCounts, ImpressionList, Propensities};
use crate::features::ClickEvidence;
use crate::matchers::Params;
use crate::rank::features::{Ask, Group, extract};
use crate::rank::{FeatureTable, TableBuilder};
use crate::{Error, Result, Run};

/// How pages become rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageParams {
    /// How many folds the queries are dealt into; every fold is a fit of every model.
    pub folds: usize,
    /// At most so many queries; those are drawn.
    pub queries: usize,
    /// At most so many different pages of a query, those shown most often.
    pub pages: usize,
    /// Whether a click counts by how rarely people look at its rank.
    pub evidence: ClickEvidence,
    /// Seed of the deal.
    pub seed: u64,
}

impl Default for PageParams {
    fn default() -> Self {
        PageParams { folds: 5, queries: 5000, pages: 20, evidence: ClickEvidence::Auto, seed: 1 }
    }
}

/// Rows of pages, and what their clicks count.
pub struct PageTable {
    /// The rows; every page is a query of its own.
    pub table: FeatureTable,
    /// How likely people look at each rank; nothing where all clicks count alike.
    pub propensities: Option<Propensities>,
}

/// The features of the pages that training queries were answered with, of those on which something
/// was clicked and something was not.
pub fn page_table(
    dataset: &Dataset,
    made: &FeatureInputs,
    models: &[(String, Params)],
    groups: &[Group],
    params: &PageParams,
    run: &Run<'_>,
) -> Result<PageTable> {
    let lists = dataset.impressions()?;
    if lists.is_empty() {
        return Err(Error::Empty {
            what: "the dataset does not know what was shown and not clicked".into(),
            advice: "log a line for every result shown, with its rank and clicked = 0 or 1, and \
                     import it (`events = FILE`)"
                .into(),
        });
    }
    let propensities = match params.evidence {
        ClickEvidence::Clicks | ClickEvidence::Rates => None,
        ClickEvidence::Auto | ClickEvidence::Propensity => {
            let seen = ImpressionCounts::of(&lists, dataset.clicks.n_rows(), run)?;
            Propensities::of(&seen, run)?
        }
    };
    if propensities.is_none() && params.evidence == ClickEvidence::Propensity {
        return Err(Error::Empty {
            what: "too few clicks on documents that were shown at several ranks tell ranks apart"
                .into(),
            advice: "let results change places now and then, or use `evidence = clicks` and \
                     say the chances yourself when the ranker is trained: `propensity = power:1`"
                .into(),
        });
    }
    let mut pages: BTreeMap<u32, Vec<ImpressionList<'_>>> = BTreeMap::new();
    for list in lists.iter() {
        let clicked = list.clicked.iter().filter(|&&clicked| clicked == 1).count();
        if clicked > 0 && clicked < list.docs.len() {
            pages.entry(list.query).or_default().push(list);
        }
    }
    for pages in pages.values_mut() {
        // A stable sort: of pages shown equally often the first are kept.
        pages.sort_by_key(|page| std::cmp::Reverse(page.count));
        pages.truncate(params.pages.max(1));
    }
    let mut builder = TableBuilder::new(made.extractor.names());
    let (mut weights, mut positions, mut queries_of) = (Vec::new(), Vec::new(), Vec::new());
    let parts = Parts::of(dataset, made, models, groups);
    let deal = FoldAssignment { folds: params.folds, queries: params.queries, seed: params.seed };
    let queries: Vec<u32> = pages.keys().copied().collect();
    deal.each(&parts, queries, run, |fold| {
        let shown = |query: u32| {
            let mut docs: Vec<u32> =
                pages[&query].iter().flat_map(|page| page.docs).copied().collect();
            docs.sort_unstable();
            docs.dedup();
            docs
        };
        let ask = |place: usize| Ask::These(Cow::Owned(shown(fold.queries[place])));
        let rows = extract(&fold.extractor, &fold.counts, &fold.queries, ask, fold.run)?;
        for rows in &rows {
            let n = made.extractor.features().len();
            let id = &made.counts.query_ids[rows.query as usize];
            for (p, page) in (1..).zip(&pages[&rows.query]) {
                let name = format!("{id}/{p}");
                for ((&doc, &rank), &clicked) in page.docs.iter().zip(page.ranks).zip(page.clicked)
                {
                    let Ok(row) = rows.docs.binary_search(&doc) else { continue };
                    let values = &rows.values[row * n..(row + 1) * n];
                    let doc = &made.counts.doc_ids[doc as usize];
                    builder.push(&name, doc, f32::from(clicked), values)?;
                    let chance = propensities.as_ref().filter(|_| clicked == 1 && rank > 0);
                    let chance = chance.map_or(1.0, |propensities| propensities.at(rank));
                    weights.push((f64::from(page.count) / chance) as f32);
                    positions.push(rank);
                    queries_of.push(id.clone());
                }
            }
        }
        Ok(())
    })?;
    builder.weights(weights)?;
    builder.positions(positions)?;
    // Pages of one query are nearly the same: they are held out together, or not at all.
    builder.groups(queries_of)?;
    Ok(PageTable { table: builder.finish(), propensities })
}
