//! The comparison of two systems query by query.

use std::cmp::Ordering;

use liken::eval::{Measure, RunComparison};

use crate::pages::format::fixed;
use crate::pages::judged_queries::JudgedQueries;

/// The queries of a page.
pub const PER_PAGE: usize = 50;

/// One query of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryRow {
    /// Query id.
    pub id: String,
    /// The text of the query.
    pub text: String,
    /// Its clicks in the log.
    pub clicks: f64,
    /// The value of every system.
    pub values: Vec<f64>,
    /// The measure of the chosen system minus that of the baseline.
    pub gain: f64,
}

/// The order of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The smallest first.
    Ascending,
    /// The largest first.
    Descending,
}

/// The sort key of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// The gain.
    Gain,
    /// The absolute gain.
    Size,
    /// The text.
    Query,
    /// The clicks.
    Clicks,
    /// The value of a system.
    Value(usize),
}

impl Sort {
    /// Its name in an address.
    pub fn name(self) -> String {
        match self {
            Sort::Gain => "delta".into(),
            Sort::Size => "size".into(),
            Sort::Query => "query".into(),
            Sort::Clicks => "clicks".into(),
            Sort::Value(run) => format!("value{run}"),
        }
    }

    /// The key of that name in a table of `n_systems`; the gain if there is none.
    pub fn named(name: &str, n_systems: usize) -> Self {
        let values = (0..n_systems).map(Sort::Value);
        let all = [Sort::Gain, Sort::Size, Sort::Query, Sort::Clicks].into_iter().chain(values);
        all.into_iter().find(|sort| sort.name() == name).unwrap_or(Sort::Gain)
    }
}

/// A filter of rows by their outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All of them.
    All,
    /// Those for which the chosen system is better.
    Wins,
    /// Those for which it is worse.
    Losses,
    /// Those without a difference.
    Ties,
}

impl Outcome {
    /// All outcomes, with their names in an address and on the page.
    pub const NAMES: [(Outcome, &'static str, &'static str); 4] = [
        (Outcome::All, "all", "all queries"),
        (Outcome::Wins, "wins", "wins"),
        (Outcome::Losses, "losses", "losses"),
        (Outcome::Ties, "ties", "ties"),
    ];

    fn holds(self, gain: f64) -> bool {
        match self {
            Outcome::All => true,
            Outcome::Wins => gain > 0.0,
            Outcome::Losses => gain < 0.0,
            Outcome::Ties => gain == 0.0,
        }
    }
}

/// All queries of `comparison` by the measure at index `measure`, with the gain of the system at
/// index `of` over the baseline. For measures where less is better, a smaller value is a gain.
pub fn rows(
    comparison: &RunComparison,
    judged: &JudgedQueries,
    measure: usize,
    of: usize,
) -> Vec<QueryRow> {
    let Some(name) = comparison.measures.get(measure) else { return Vec::new() };
    let higher = name.parse::<Measure>().map_or(true, |measure| measure.higher_is_better());
    let value = |run: usize, query: usize| comparison.rows[run].values[measure][query];
    let runs = 0..comparison.rows.len();
    let row = |(place, id): (usize, &String)| {
        let query = judged.find(id);
        let difference = value(of, place) - value(comparison.baseline_row, place);
        QueryRow {
            id: id.clone(),
            text: query.map_or_else(|| id.clone(), |query| query.text.clone()),
            clicks: query.map_or(0.0, |query| query.clicks),
            values: runs.clone().map(|run| value(run, place)).collect(),
            gain: if higher { difference } else { 0.0 - difference },
        }
    };
    comparison.queries.iter().enumerate().map(row).collect()
}

/// The rows with `outcome` whose text or id contains `filter`, sorted.
pub fn select(
    mut rows: Vec<QueryRow>,
    filter: &str,
    outcome: Outcome,
    sort: Sort,
    order: Order,
) -> Vec<QueryRow> {
    let filter = filter.to_lowercase();
    let fits = |row: &QueryRow| {
        filter.is_empty()
            || row.text.to_lowercase().contains(&filter)
            || row.id.to_lowercase().contains(&filter)
    };
    rows.retain(|row| outcome.holds(row.gain) && fits(row));
    let compare = |a: &QueryRow, b: &QueryRow| -> Ordering {
        match sort {
            Sort::Gain => a.gain.total_cmp(&b.gain),
            Sort::Size => a.gain.abs().total_cmp(&b.gain.abs()),
            Sort::Query => a.text.to_lowercase().cmp(&b.text.to_lowercase()),
            Sort::Clicks => a.clicks.total_cmp(&b.clicks),
            Sort::Value(run) => match (a.values.get(run), b.values.get(run)) {
                (Some(a), Some(b)) => a.total_cmp(b),
                _ => Ordering::Equal,
            },
        }
    };
    rows.sort_by(|a, b| {
        let by = compare(a, b);
        let by = if order == Order::Descending { by.reverse() } else { by };
        by.then_with(|| a.id.cmp(&b.id))
    });
    rows
}

/// A histogram of gains, with bins of equal width on both sides of the ties.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// The width of a bin.
    pub width: f64,
    /// Losses, the largest first, then the ties, then the wins.
    pub bins: Vec<usize>,
    /// The bins on each side.
    pub sides: usize,
}

impl Histogram {
    /// The histogram of `gains`, with `sides` bins on each side.
    pub fn of(gains: impl Iterator<Item = f64> + Clone, sides: usize) -> Self {
        let largest = gains.clone().fold(0.0f64, |largest, gain| largest.max(gain.abs()));
        let sides = sides.max(1);
        // Most measures are in 0–1: their bins are tenths unless all gains are small.
        let width = if largest > 0.5 && largest <= 1.0 { 1.0 } else { largest } / sides as f64;
        let mut bins = vec![0; 2 * sides + 1];
        for gain in gains {
            let step = if width > 0.0 { (gain.abs() / width).ceil() as usize } else { 0 };
            let step = step.min(sides);
            let at = if gain < 0.0 { sides - step } else { sides + step };
            bins[at] += 1;
        }
        Histogram { width, bins, sides }
    }

    /// The range of the bin at `at`, in words.
    pub fn about(&self, at: usize) -> String {
        let edge = |step: usize| fixed(step as f64 * self.width, 2);
        let word = match at.cmp(&self.sides) {
            Ordering::Equal => return "no difference".into(),
            Ordering::Greater => "better",
            Ordering::Less => "worse",
        };
        let step = at.abs_diff(self.sides);
        format!("{word} by {} to {}", edge(step - 1), edge(step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, gain: f64, clicks: f64) -> QueryRow {
        QueryRow {
            id: id.into(),
            text: format!("Text {id}"),
            clicks,
            values: vec![0.5, 0.5 + gain],
            gain,
        }
    }

    fn ids(rows: &[QueryRow]) -> Vec<&str> {
        rows.iter().map(|row| row.id.as_str()).collect()
    }

    #[test]
    fn rows_are_chosen_and_ordered_by_any_column() {
        let all =
            vec![row("b", 0.1, 1.0), row("a", -0.4, 9.0), row("d", 0.0, 3.0), row("c", 0.1, 2.0)];
        let select = |filter: &str, outcome, sort, order| {
            let rows = select(all.clone(), filter, outcome, sort, order);
            ids(&rows).join(" ")
        };
        use Order::{Ascending, Descending};
        assert_eq!(select("", Outcome::All, Sort::Gain, Descending), "b c d a");
        assert_eq!(select("", Outcome::All, Sort::Gain, Ascending), "a d b c");
        assert_eq!(select("", Outcome::All, Sort::Size, Descending), "a b c d");
        assert_eq!(select("", Outcome::All, Sort::Query, Descending), "d c b a");
        assert_eq!(select("", Outcome::All, Sort::Clicks, Ascending), "b c d a");
        assert_eq!(select("", Outcome::All, Sort::Value(1), Ascending), "a d b c");
        assert_eq!(select("", Outcome::All, Sort::Value(7), Ascending), "a b c d");
        assert_eq!(select("", Outcome::Wins, Sort::Query, Ascending), "b c");
        assert_eq!(select("", Outcome::Losses, Sort::Query, Ascending), "a");
        assert_eq!(select("", Outcome::Ties, Sort::Query, Ascending), "d");
        assert_eq!(select("TEXT C", Outcome::All, Sort::Query, Ascending), "c");
        assert_eq!(select("nothing", Outcome::All, Sort::Query, Ascending), "");
        for sort in [Sort::Gain, Sort::Size, Sort::Query, Sort::Clicks, Sort::Value(1)] {
            assert_eq!(Sort::named(&sort.name(), 2), sort);
        }
        assert_eq!(Sort::named("value2", 2), Sort::Gain);
    }

    #[test]
    fn every_query_is_in_the_bin_of_its_gain() {
        let gains = [-1.0, -0.95, -0.05, 0.0, 0.0, 0.1, 0.1001, 0.85];
        let histogram = Histogram::of(gains.iter().copied(), 10);
        assert_eq!(histogram.bins.iter().sum::<usize>(), gains.len());
        assert_eq!(histogram.bins[0], 2);
        assert_eq!(histogram.bins[9], 1);
        assert_eq!(histogram.bins[10], 2);
        assert_eq!([histogram.bins[11], histogram.bins[12], histogram.bins[19]], [1, 1, 1]);
        assert_eq!(histogram.about(9), "worse by 0.00 to 0.10");
        assert_eq!(histogram.about(20), "better by 0.90 to 1.00");
        let ties = Histogram::of([0.0; 3].into_iter(), 10);
        assert_eq!((ties.bins[10], ties.width), (3, 0.0));
        // What is not a share has bins as wide as its own largest.
        let large = Histogram::of([-30.0, 5.0].into_iter(), 10);
        assert_eq!((large.bins[0], large.bins[12], large.width), (1, 1, 3.0));
    }
}
