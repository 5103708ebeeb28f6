//! Rows of result pages: what was shown for a training query, with clicks as grades. The weight of a
//! click is the inverse of its examination propensity (see [`crate::rank::Propensity`]). Features
//! come from cross-fitting: no matcher has seen the clicks of the query.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::cross::{CrossFit, CrossInputs};
use super::inputs::FeatureInputs;
use crate::data::{Dataset, ImpressionCounts, ImpressionList, Propensities};
use crate::features::ClickEvidence;
use crate::matchers::Params;
use crate::rank::features::{Group, QueryDocs, extract};
use crate::rank::{FeatureTable, TableBuilder};
use crate::{Error, Result, Run};

/// Parameters of feature rows from impressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageParams {
    /// Folds of the queries.
    pub fit: CrossFit,
    /// The maximum number of different pages per query: those shown most often.
    pub pages: usize,
    /// Whether a click is weighted by its examination propensity.
    pub evidence: ClickEvidence,
}

/// Rows of result pages.
pub struct PageTable {
    /// The rows; every page is a query of its own.
    pub table: FeatureTable,
    /// The examination propensities; nothing if all clicks have the same weight.
    pub propensities: Option<Propensities>,
}

/// The features of the result pages of training queries on which some results were clicked and some
/// were not.
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
            what: "the dataset has no impressions, results that were shown and not clicked".into(),
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
            what: "there are too few clicks on documents that were shown at several ranks to \
                   estimate propensities"
                .into(),
            advice: "swap results now and then, or use `evidence = clicks` and set the \
                     propensities when the ranker is trained: `propensity = power:1`"
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
        // The sort is stable: of pages shown equally often the first are kept.
        pages.sort_by_key(|page| std::cmp::Reverse(page.count));
        pages.truncate(params.pages.max(1));
    }
    let mut builder = TableBuilder::new(made.extractor.names());
    let (mut weights, mut positions, mut queries_of) = (Vec::new(), Vec::new(), Vec::new());
    let inputs = CrossInputs::of(dataset, made, models, groups);
    let queries: Vec<u32> = pages.keys().copied().collect();
    params.fit.each_fold(&inputs, queries, run, |fold| {
        let shown = |query: u32| {
            let mut docs: Vec<u32> =
                pages[&query].iter().flat_map(|page| page.docs).copied().collect();
            docs.sort_unstable();
            docs.dedup();
            docs
        };
        let docs = |place: usize| QueryDocs::Given(Cow::Owned(shown(fold.queries[place])));
        let rows = extract(&fold.extractor, &fold.counts, &fold.queries, docs, fold.run)?;
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
                    let known = propensities.as_ref().filter(|_| clicked == 1 && rank > 0);
                    let propensity = known.map_or(1.0, |propensities| propensities.at(rank));
                    weights.push((f64::from(page.count) / propensity) as f32);
                    positions.push(rank);
                    queries_of.push(id.clone());
                }
            }
        }
        Ok(())
    })?;
    builder.weights(weights)?;
    builder.positions(positions)?;
    // Pages of one query are nearly the same: they must be held out together.
    builder.groups(queries_of)?;
    Ok(PageTable { table: builder.finish(), propensities })
}
