//! The learning curve of a fit.

use liken::rank::{RankReport, RankSetup};
use liken_pages::{Axis, Chart, Panel, Point, Series};

/// The measure on training and validation, by step.
pub fn plot(setup: &RankSetup, report: &RankReport) -> Chart {
    let line = |name: &str, colour: usize, value: &dyn Fn(usize) -> Option<f64>| {
        let mut series = Series::line(name, colour);
        series.points = report
            .steps
            .iter()
            .enumerate()
            .filter_map(|(at, step)| Some(Point::new(step.step as f64, value(at)?)))
            .collect();
        series
    };
    let steps = &report.steps;
    let mut series = vec![
        line("training", 0, &|at| steps[at].training),
        line("validation", 1, &|at| steps[at].validation),
    ];
    series.retain(|series| !series.points.is_empty());
    let mut label = setup.goal.measure.to_string();
    if series.is_empty() {
        label = "objective".into();
        series.push(line("training", 0, &|at| steps[at].objective));
    }
    let panel = Panel {
        x: Axis::linear("step"),
        y: Axis::linear(label),
        series,
        ..Panel::titled(setup.params.name())
    };
    Chart::of(vec![panel])
}
