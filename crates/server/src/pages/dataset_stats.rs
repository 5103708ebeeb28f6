//! Statistics of a dataset: Table 1 of the papers, the distribution of clicks, lengths of texts,
//! clicks by rank.

use liken::data::{Agreement, Dataset};
use liken::features::{
    ClickEvidence, ClickHistogram, Counts, Features, Featurizer, Preparation, Response, TableOne,
    Unread, Weighted, Weighting,
};
use liken::sparse::Csr;
use liken::{Result, Run};

/// The ranks whose click-through is counted.
const RANKS: usize = 10;

/// The bins of a histogram: names and sizes.
pub type Bins = Vec<(String, usize)>;

/// The statistics that take time to count.
#[derive(Debug, Clone)]
pub struct DatasetStats {
    /// Table 1, if there are training pairs.
    pub table: Option<TableOne>,
    /// Queries and pairs by their clicks, if there are training pairs.
    pub clicks: Option<ClickHistogram>,
    /// Training queries by their clicked documents.
    pub documents_per_query: Bins,
    /// Clicked documents by their training queries.
    pub queries_per_document: Bins,
    /// Queries by their terms.
    pub query_lengths: Bins,
    /// Documents by their terms.
    pub document_lengths: Bins,
    /// Judged pairs of validation and test by their grades.
    pub grades: [Vec<(i32, usize)>; 2],
    /// Impressions and clicks per rank, if the log has impressions.
    pub by_rank: Vec<(u64, u64)>,
    /// Preference pairs from clicks, and how often judgments agree with them.
    pub agreement: Agreement,
    /// Texts that analyse to nothing.
    pub unread: Unread,
    /// Distinct terms.
    pub terms: usize,
}

impl DatasetStats {
    /// The statistics of a dataset with the `counts` of its text.
    pub fn of(dataset: &Dataset, counts: &Counts, run: &Run<'_>) -> Result<Self> {
        run.step("counting clicks", 0, None)?;
        let trained = dataset.clicks.nnz() > 0 && counts.clicks.nnz() > 0;
        let shown = dataset.impressions()?;
        let agreement =
            Agreement::of(&shown.preferences(false), &[&dataset.validation, &dataset.test]);
        let lengths =
            |texts: &Csr| doubling_bins(texts.row_sums().into_iter().map(|n| n.round() as usize));
        let pairs = |clicks: &Csr| {
            let positive =
                |row: liken::sparse::Row<'_>| row.values.iter().filter(|&&v| v > 0.0).count();
            doubling_bins(clicks.rows().map(positive).filter(|&n| n > 0))
        };
        let table = if trained {
            // Table 1 counts both kinds of features on both sides.
            let features = Features { query_clicks: 1.0, doc_clicks: 1.0, ..Features::default() };
            let featurizer = Featurizer::new(counts, &features)?;
            let data = Weighted::of(counts, &featurizer, Weighting::Sum, Response::Raw)?;
            run.step("counting pairs of features", 0, None)?;
            Some(TableOne::of(counts, &data))
        } else {
            None
        };
        Ok(DatasetStats {
            table,
            clicks: trained.then(|| ClickHistogram::of(counts)),
            documents_per_query: pairs(&dataset.clicks),
            queries_per_document: pairs(&dataset.clicks.transpose()),
            query_lengths: lengths(&counts.queries),
            document_lengths: lengths(&counts.docs),
            grades: [grades(&dataset.validation), grades(&dataset.test)],
            by_rank: shown.by_rank(RANKS),
            agreement,
            unread: counts.unread,
            terms: counts.n_terms(),
        })
    }

    /// The same where no model has the counts.
    pub fn count(dataset: &Dataset, run: &Run<'_>) -> Result<Self> {
        // Statistics are about the clicks as imported.
        let preparation = Preparation { evidence: ClickEvidence::Clicks, ..Preparation::default() };
        let counts = Counts::of(dataset, &preparation, run)?;
        DatasetStats::of(dataset, &counts, run)
    }
}

/// The histogram of values with the bins 0, 1, 2, 3–4, 5–8, 9–16 …, up to the last non-empty one.
pub fn doubling_bins(values: impl Iterator<Item = usize>) -> Bins {
    let bin = |n: usize| match n {
        0 => 0,
        n => 1 + n.next_power_of_two().trailing_zeros() as usize,
    };
    let mut sizes: Vec<usize> = Vec::new();
    for at in values.map(bin) {
        sizes.resize(sizes.len().max(at + 1), 0);
        sizes[at] += 1;
    }
    let name = |at: usize| match at {
        0 => "0".to_owned(),
        1 => "1".to_owned(),
        2 => "2".to_owned(),
        at => format!("{}–{}", (1u64 << (at - 2)) + 1, 1u64 << (at - 1)),
    };
    let named = sizes.iter().enumerate().map(|(at, &n)| (name(at), n));
    // The first bins may be empty by nature; empty bins in between are information.
    named.skip_while(|(_, n)| *n == 0).collect()
}

fn grades(judged: &Csr) -> Vec<(i32, usize)> {
    let mut found: std::collections::BTreeMap<i32, usize> = std::collections::BTreeMap::new();
    for &grade in judged.values() {
        *found.entry(grade.round() as i32).or_default() += 1;
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_double_and_hold_every_value() {
        let values = [0, 1, 1, 2, 3, 4, 5, 8, 9, 100];
        let bins = doubling_bins(values.into_iter());
        let expected = [
            ("0", 1),
            ("1", 2),
            ("2", 1),
            ("3–4", 2),
            ("5–8", 2),
            ("9–16", 1),
            ("17–32", 0),
            ("33–64", 0),
            ("65–128", 1),
        ];
        assert_eq!(bins, expected.map(|(name, n)| (name.to_owned(), n)));
        assert!(doubling_bins(std::iter::empty()).is_empty());
        assert_eq!(doubling_bins([3usize].into_iter()), [("3–4".to_owned(), 1)]);
    }
}
