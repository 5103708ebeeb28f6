//! Pairwise preferences from clicks on impressions (Joachims, 2002): a clicked result is preferred to
//! every unclicked one above it, which was examined and skipped. With `next` it is also preferred to
//! an unclicked one directly below it.

use rayon::prelude::*;

use super::Impressions;
use super::impression_counts::BLOCK;
use crate::sparse::Csr;

/// A document that is preferred to another for a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Preference {
    /// The query's number.
    pub query: u32,
    /// The number of the clicked document.
    pub good: u32,
    /// The number of the skipped document.
    pub bad: u32,
    /// The number of impressions.
    pub count: u64,
}

impl Impressions {
    /// Whether any impression has ranks.
    pub fn has_ranks(&self) -> bool {
        self.iter().any(|list| list.ranks.iter().any(|&rank| rank > 0))
    }

    /// All preferences, each once, sorted by query, then by document. Results without a rank have
    /// none.
    pub fn preferences(&self, next: bool) -> Vec<Preference> {
        let order = self.by_query();
        let of_queries = |queries: &[&[u32]]| -> Vec<Preference> {
            queries.iter().flat_map(|lists| self.of_query(lists, next)).collect()
        };
        let parts: Vec<_> = self.of_each(&order).par_chunks(BLOCK).map(of_queries).collect();
        parts.concat()
    }

    /// The preferences of the query whose impressions are at `lists`.
    fn of_query(&self, lists: &[u32], next: bool) -> Vec<Preference> {
        let mut found = Vec::new();
        for list in lists.iter().map(|&at| self.list(at as usize)) {
            let results = || list.docs.iter().zip(list.ranks).zip(list.clicked);
            for ((&good, &rank), _) in results().filter(|&((_, &rank), &c)| c == 1 && rank > 0) {
                let skipped = results().filter(|&((_, &other), &clicked)| {
                    let below = next && Some(other) == rank.checked_add(1);
                    clicked == 0 && other > 0 && (other < rank || below)
                });
                found.extend(skipped.map(|((&bad, _), _)| Preference {
                    query: list.query,
                    good,
                    bad,
                    count: list.count.into(),
                }));
            }
        }
        found.sort_unstable();
        found.dedup_by(|again, first| {
            let same = (again.good, again.bad) == (first.good, first.bad);
            if same {
                first.count += again.count;
            }
            same
        });
        found
    }
}

/// The agreement of preferences with judgments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Agreement {
    /// All preferences.
    pub pairs: usize,
    /// Those of which both documents are judged for the query.
    pub judged: usize,
    /// Judged ones whose skipped document has the higher grade.
    pub contradicted: usize,
    /// Judged ones of equal grades.
    pub tied: usize,
}

impl Agreement {
    /// Compares `preferences` with grades, queries × documents each.
    pub fn of(preferences: &[Preference], grades: &[&Csr]) -> Self {
        let mut agreement = Agreement { pairs: preferences.len(), ..Agreement::default() };
        for preference in preferences {
            let judged = grades
                .iter()
                .map(|grades| grades.row(preference.query as usize))
                .find(|row| row.contains(preference.good) && row.contains(preference.bad));
            let Some(row) = judged else { continue };
            let (good, bad) = (row.get(preference.good), row.get(preference.bad));
            agreement.judged += 1;
            agreement.contradicted += usize::from(good < bad);
            agreement.tied += usize::from(good == bad);
        }
        agreement
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::fixture::{Page, impressions};

    fn lists(lists: &[Page<'_>]) -> Impressions {
        let dir = tempfile::tempdir().unwrap();
        impressions(dir.path(), (10, 10), lists).open().unwrap()
    }

    fn pairs(impressions: &Impressions, next: bool) -> Vec<(u32, u32, u32, u64)> {
        let of = |p: &Preference| (p.query, p.good, p.bad, p.count);
        impressions.preferences(next).iter().map(of).collect()
    }

    #[test]
    fn a_click_beats_what_was_passed_over_and_with_next_what_follows() {
        // Joachims' own example: of seven results the first, third and seventh are clicked.
        let page: Vec<(u32, u32, bool)> =
            (1..=7).map(|rank| (rank, rank, [1, 3, 7].contains(&rank))).collect();
        let shown = lists(&[(0, 2, &page)]);
        let above = [(3, 2), (7, 2), (7, 4), (7, 5), (7, 6)].map(|(g, b)| (0, g, b, 2));
        assert_eq!(pairs(&shown, false), above);
        let mut both = above.to_vec();
        both.extend([(0, 1, 2, 2), (0, 3, 4, 2)]);
        both.sort_unstable();
        assert_eq!(pairs(&shown, true), both);
    }

    #[test]
    fn equal_preferences_are_added_and_unknown_ranks_say_nothing() {
        let shown = lists(&[
            (1, 3, &[(4, 1, false), (5, 2, true)]),
            (1, 4, &[(6, 1, true), (4, 2, false), (5, 3, true)]),
            (2, 9, &[(4, 0, false), (5, 0, true)]),
        ]);
        assert_eq!(pairs(&shown, false), [(1, 5, 4, 7)]);
        assert!(shown.has_ranks());
        assert!(!lists(&[(2, 9, &[(4, 0, false), (5, 0, true)])]).has_ranks());
        // A gap in the ranks: what follows was not shown directly below.
        let gap = lists(&[(0, 1, &[(4, 1, true), (5, 3, false)])]);
        assert_eq!(pairs(&gap, true), []);
    }

    #[test]
    fn judgments_contradict_what_they_grade_the_other_way() {
        let shown = lists(&[(0, 1, &[(1, 1, false), (2, 2, false), (3, 3, false), (4, 4, true)])]);
        let preferences = shown.preferences(false);
        let validation = Csr::from_triplets(10, 10, vec![(0, 4, 1.0), (0, 1, 2.0), (0, 2, 1.0)]);
        let test = Csr::from_triplets(10, 10, vec![(1, 4, 1.0), (1, 3, 2.0)]);
        let agreement = Agreement::of(&preferences, &[&validation.unwrap(), &test.unwrap()]);
        assert_eq!(agreement, Agreement { pairs: 3, judged: 2, contradicted: 1, tied: 1 });
    }
}
