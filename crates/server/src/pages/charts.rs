//! Charts that several pages share.

use liken_pages::{Axis, Chart, Mark, Panel, Point, Series};

/// One plot per panel; `about` describes them to screen readers.
pub fn svgs(panels: Vec<Panel>, about: &str) -> Vec<String> {
    let svg = |panel: Panel| {
        let about = format!("{}. {about}", panel.title);
        Chart { about, ..Chart::of(vec![panel]) }.svg()
    };
    panels.into_iter().map(svg).collect()
}

/// A panel of bars, each with its name, value and tooltip.
pub fn bars(
    title: &str,
    x: &str,
    y: Axis,
    bars: impl Iterator<Item = (String, f64, String)>,
) -> Panel {
    let mut series = Series::scatter("", 0, Mark::Bar);
    let mut names = Vec::new();
    for (at, (name, value, about)) in bars.enumerate() {
        names.push(name);
        series.points.push(Point::new(at as f64, value).about(about));
    }
    Panel { x: Axis::names(x, names), y, series: vec![series], ..Panel::titled(title) }
}
