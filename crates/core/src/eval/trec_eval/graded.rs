//! The grades of one query's ranking, of which every measure is a function.

use std::borrow::Cow;

use crate::eval::trec::{Judgments, Ranked};

/// trec_eval's grade of a document that is not in the pool.
pub(super) const NOT_POOLED: i32 = -1;
/// trec_eval's grade of a document that is in the pool and not judged: its judgment is below zero.
pub(super) const UNJUDGED: i32 = -2;

/// The grades of a ranking by rank, and the numbers of judgments.
#[derive(Debug, Clone)]
pub(super) struct Graded<'a> {
    /// By rank; [`NOT_POOLED`] and [`UNJUDGED`] are below zero.
    pub grades: Cow<'a, [i32]>,
    /// Ranks (from 1) and grades of the documents with a grade above zero.
    pub gaining: Vec<(usize, i32)>,
    /// Ranks (from 1) of the relevant documents.
    pub relevant: Vec<usize>,
    /// See [`grade_counts`].
    pub grade_counts: Cow<'a, [(i32, usize)]>,
    /// Relevant judgments, R.
    pub n_relevant: usize,
    /// Judgments from grade 0 on that are not relevant.
    pub n_nonrelevant: usize,
    /// The lowest relevant grade.
    pub relevant_from: i32,
    /// Whether the run has results for this query.
    pub present: bool,
}

/// The grades of the first `max` documents of a ranking.
pub(super) fn grades(ranked: Option<Ranked<'_>>, judged: Judgments<'_>, max: usize) -> Vec<i32> {
    let Some(ranked) = ranked else { return Vec::new() };
    let mut grades = vec![NOT_POOLED; ranked.len()];
    ranked.judged(&judged, |rank, grade| {
        grades[rank] = if grade < 0 { UNJUDGED } else { grade };
    });
    grades.truncate(max);
    grades
}

/// Numbers of judgments by grade, from the highest grade to 0.
pub(super) fn grade_counts(judged: Judgments<'_>) -> Vec<(i32, usize)> {
    let mut grades: Vec<i32> =
        judged.grades().map(|(_, grade)| grade).filter(|&grade| grade >= 0).collect();
    grades.sort_unstable_by(|a, b| b.cmp(a));
    grades.chunk_by(|a, b| a == b).map(|same| (same[0], same.len())).collect()
}

impl<'a> Graded<'a> {
    /// Grades of `relevant_from` or more are relevant; `judged_only` removes documents without a judgment.
    pub fn new(
        grades: &'a [i32],
        grade_counts: &'a [(i32, usize)],
        relevant_from: i32,
        judged_only: bool,
        present: bool,
    ) -> Self {
        let grades = if judged_only {
            Cow::Owned(grades.iter().copied().filter(|&grade| grade >= 0).collect())
        } else {
            Cow::Borrowed(grades)
        };
        let ranked = || (1..).zip(grades.iter().copied());
        let gaining: Vec<(usize, i32)> = ranked().filter(|&(_, grade)| grade > 0).collect();
        let is_relevant = |grade: i32| grade >= relevant_from;
        let relevant = if relevant_from > 0 {
            gaining.iter().filter(|hit| is_relevant(hit.1)).map(|hit| hit.0).collect()
        } else {
            ranked().filter(|hit| is_relevant(hit.1)).map(|hit| hit.0).collect()
        };
        let count = |relevant: bool| {
            let those = grade_counts.iter().filter(|&&(grade, _)| is_relevant(grade) == relevant);
            those.map(|&(_, n)| n).sum()
        };
        let (n_relevant, n_nonrelevant) = (count(true), count(false));
        let grade_counts = Cow::Borrowed(grade_counts);
        Graded {
            grades,
            gaining,
            relevant,
            grade_counts,
            n_relevant,
            n_nonrelevant,
            relevant_from,
            present,
        }
    }

    /// Documents retrieved.
    pub fn n_retrieved(&self) -> usize {
        self.grades.len()
    }

    /// Relevant documents among the first `k`.
    pub fn found(&self, k: usize) -> usize {
        self.relevant.partition_point(|&rank| rank <= k)
    }

    /// The highest grade of a judgment; 0 if there is none.
    pub fn highest(&self) -> i32 {
        self.grade_counts.first().map_or(0, |&(grade, _)| grade)
    }
}
