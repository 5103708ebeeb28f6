//! Draws what stands on stdin as SVG: a line `panel TITLE | x | y` opens a panel with logarithmic
//! axes, a line `series NAME` a curve in it, and every other line is a point, `x y`.

// The plot is this program's result.
#![allow(clippy::print_stdout)]

use std::process::ExitCode;

use liken_pages::{Axis, Chart, Panel, Point, Series};

fn main() -> ExitCode {
    let mut panels: Vec<Panel> = Vec::new();
    for line in std::io::stdin().lines() {
        let Ok(line) = line else { return ExitCode::FAILURE };
        if read(&line, &mut panels).is_none() {
            println!("expected `panel TITLE | x | y`, `series NAME` or `x y`, found {line:?}");
            return ExitCode::FAILURE;
        }
    }
    println!("{}", Chart::of(panels).svg());
    ExitCode::SUCCESS
}

fn read(line: &str, panels: &mut Vec<Panel>) -> Option<()> {
    if let Some(about) = line.strip_prefix("panel ") {
        let mut parts = about.split(" | ");
        let (title, x, y) = (parts.next()?, parts.next()?, parts.next()?);
        panels.push(Panel { x: Axis::log(x), y: Axis::log(y), ..Panel::titled(title) });
    } else if let Some(name) = line.strip_prefix("series ") {
        let panel = panels.last_mut()?;
        let colour = panel.series.len();
        panel.series.push(Series::line(name, colour));
    } else {
        let (x, y) = line.split_once(' ')?;
        let series = panels.last_mut()?.series.last_mut()?;
        series.points.push(Point::new(x.parse().ok()?, y.parse().ok()?));
    }
    Some(())
}
