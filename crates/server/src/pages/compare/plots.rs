//! The plots of a comparison.

use liken::eval::RunComparison;
use liken_pages::{Axis, Chart, Mark, Panel, Point, Series};

use super::queries::Histogram;
use crate::pages::format::{count, fixed};

/// The most measures that are drawn.
const MOST_PANELS: usize = 4;

/// The mean of every system with its interval, one plot for each of the first measures.
pub fn intervals(comparison: &RunComparison) -> Vec<String> {
    let names: Vec<String> = comparison.rows.iter().map(|row| row.name.clone()).collect();
    let panel = |(m, measure): (usize, &String)| {
        let series = comparison.rows.iter().enumerate().filter_map(|(r, row)| {
            let cell = row.cells.get(m)?;
            let (mean, interval) = (cell.mean?, cell.interval?);
            let about = format!(
                "{}: {measure} {} ({} to {})",
                row.name,
                fixed(mean, 4),
                fixed(interval.low, 4),
                fixed(interval.high, 4)
            );
            let point = Point::new(r as f64, mean).about(about);
            let interval = Some((interval.low, interval.high));
            let baseline = r == comparison.baseline_row;
            let (colour, mark) = if baseline { (5, Mark::Diamond) } else { (0, Mark::Dot) };
            let points = vec![Point { interval, ..point }];
            Some(Series { points, ..Series::scatter("", colour, mark) })
        });
        Panel {
            x: Axis::names("", names.clone()),
            y: Axis::linear(measure.as_str()),
            series: series.collect(),
            ..Panel::titled(format!("{measure} with 95 % intervals"))
        }
    };
    let shown = comparison.measures.iter().enumerate().take(MOST_PANELS);
    // Wide enough for the names side by side, within the width of a page.
    let longest = names.iter().map(|name| name.chars().count().min(16)).max().unwrap_or(0);
    let width = (80.0 + names.len() as f64 * (6.5 * longest as f64 + 8.0)).clamp(420.0, 860.0);
    let chart = |(m, measure): (usize, &String)| {
        let about = summary(comparison, m);
        Chart { about, width, ..Chart::of(vec![panel((m, measure))]) }.svg()
    };
    shown.map(chart).collect()
}

/// The means of measure number `m` in words, for screen readers.
fn summary(comparison: &RunComparison, m: usize) -> String {
    let mean = |row: &liken::eval::RunRow| {
        let cell = row.cells.get(m)?;
        let (mean, interval) = (cell.mean?, cell.interval?);
        let (low, high) = (fixed(interval.low, 3), fixed(interval.high, 3));
        Some(format!("{} {} ({low} to {high})", row.name, fixed(mean, 3)))
    };
    let means: Vec<String> = comparison.rows.iter().filter_map(mean).collect();
    format!("{} with 95 % intervals: {}", comparison.measures[m], means.join(", "))
}

/// The histogram of gains.
pub fn gains(histogram: &Histogram, measure: &str, of: &str, baseline: &str) -> String {
    let sides = histogram.sides;
    let series = |range: std::ops::Range<usize>, name: &str, colour: usize| {
        let bars = range.filter(|&at| histogram.bins[at] > 0).map(|at| {
            let n = histogram.bins[at];
            let about = format!("{}: {}", count(n, "query"), histogram.about(at));
            Point::new(at as f64, n as f64).about(about)
        });
        Series { points: bars.collect(), ..Series::scatter(name, colour, Mark::Bar) }
    };
    let label = |at: usize| {
        let edge = (at as f64 - sides as f64) * histogram.width;
        fixed(edge, if histogram.width < 0.05 { 3 } else { 2 })
    };
    let names = (0..histogram.bins.len()).map(label).collect();
    let panel = Panel {
        x: Axis::names(format!("{measure} of {of} − {measure} of {baseline}"), names),
        y: Axis::linear("queries").from_zero(),
        series: vec![
            series(0..sides, "worse", 1),
            series(sides..sides + 1, "no difference", 5),
            series(sides + 1..histogram.bins.len(), "better", 0),
        ],
        ..Panel::titled(format!("{of} against {baseline}, query by query"))
    };
    let total = |range: std::ops::Range<usize>| histogram.bins[range].iter().sum::<usize>();
    let mut chart = Chart::of(vec![panel]);
    (chart.width, chart.height) = (640.0, 260.0);
    chart.about = format!(
        "{of} against {baseline} by {measure}: better for {}, no different for {}, worse for {} queries",
        total(sides + 1..histogram.bins.len()),
        histogram.bins[sides],
        total(0..sides)
    );
    chart.svg()
}
