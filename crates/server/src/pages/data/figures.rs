//! Figures of a dataset: the papers' Table 1, how clicks are spread, how long texts are, how
//! often each rank is clicked.

use liken::data::{Agreement, Dataset};
use liken::features::{
    ClickEvidence, ClickHistogram, Counts, Features, Featurizer, Preparation, Response, TableOne,
    Unread, Weighted, Weighting,
};
use liken::sparse::Csr;
use liken::{Result, Run};

/// Ranks of which the click-through is shown.
const RANKS: usize = 10;

/// How many things have how many of something: the name of each bin and its size.
pub type Bins = Vec<(String, usize)>;

/// Everything that takes time to count.
#[derive(Debug, Clone)]
pub struct Figures {
    /// Table 1; nothing where there are no training pairs.
    pub table: Option<TableOne>,
    /// Queries and pairs by their clicks; nothing where there are no training pairs.
    pub clicks: Option<ClickHistogram>,
    /// Clicked documents of a training query.
    pub documents_per_query: Bins,
    /// Training queries of a clicked document.
    pub queries_per_document: Bins,
    /// Terms of a query.
    pub query_lengths: Bins,
    /// Terms of a document.
    pub document_lengths: Bins,
    /// Judged pairs of validation and test by their grade.
    pub grades: [Vec<(i32, usize)>; 2],
    /// How often each rank was shown and clicked, where the log tells.
    pub by_rank: Vec<(u64, u64)>,
    /// What the clicks say about which of two results is better, and how often judgments agree.
    pub agreement: Agreement,
    /// Texts that analyse to nothing.
    pub unread: Unread,
    /// Distinct terms.
    pub terms: usize,
}

impl Figures {
    /// Counts a dataset of whose text `counts` were made.
    pub fn of(dataset: &Dataset, counts: &Counts, run: &Run<'_>) -> Result<Self> {
        run.step("counting clicks", 0, None)?;
        let trained = dataset.clicks.nnz() > 0 && counts.clicks.nnz() > 0;
        let shown = dataset.impressions()?;
        let agreement =
            Agreement::of(&shown.preferences(false), &[&dataset.validation, &dataset.test]);
        let lengths =
            |texts: &Csr| doubling(texts.row_sums().into_iter().map(|n| n.round() as usize));
        let pairs = |clicks: &Csr| {
            let positive =
                |row: liken::sparse::Row<'_>| row.values.iter().filter(|&&v| v > 0.0).count();
            doubling(clicks.rows().map(positive).filter(|&n| n > 0))
        };
        let table = match trained {
            true => {
                // Table 1 counts both kinds of features on both sides.
                let features =
                    Features { query_clicks: 1.0, doc_clicks: 1.0, ..Features::default() };
                let featurizer = Featurizer::new(counts, &features)?;
                let data = Weighted::of(counts, &featurizer, Weighting::Sum, Response::Raw)?;
                run.step("counting pairs of features", 0, None)?;
                Some(TableOne::of(counts, &data))
            }
            false => None,
        };
        Ok(Figures {
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

    /// The same for a dataset that no model at hand was counted from.
    pub fn read(dataset: &Dataset, run: &Run<'_>) -> Result<Self> {
        // The figures are about the clicks as they are.
        let preparation = Preparation { evidence: ClickEvidence::Clicks, ..Preparation::default() };
        let counts = Counts::of(dataset, &preparation, run)?;
        Figures::of(dataset, &counts, run)
    }
}

/// How many values fall into 0, 1, 2, 3–4, 5–8, 9–16 …; up to the last bin that holds any.
pub fn doubling(values: impl Iterator<Item = usize>) -> Bins {
    // 0 → 0, 1 → 1, 2 → 2, 3–4 → 3, 5–8 → 4 …
    let bin = |n: usize| match n {
        0 => 0,
        n => 1 + n.next_power_of_two().trailing_zeros() as usize,
    };
    let mut sizes: Vec<usize> = Vec::new();
    for value in values {
        let at = bin(value);
        if sizes.len() <= at {
            sizes.resize(at + 1, 0);
        }
        sizes[at] += 1;
    }
    let name = |at: usize| match at {
        0 => "0".to_owned(),
        1 => "1".to_owned(),
        2 => "2".to_owned(),
        at => format!("{}–{}", (1u64 << (at - 2)) + 1, 1u64 << (at - 1)),
    };
    let named = sizes.iter().enumerate().map(|(at, &n)| (name(at), n));
    // The first bins may be empty by nature; empty ones in between say something.
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
        let bins = doubling(values.into_iter());
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
        assert!(doubling(std::iter::empty()).is_empty());
        assert_eq!(doubling([3usize].into_iter()), [("3–4".to_owned(), 1)]);
    }
}
