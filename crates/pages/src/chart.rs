//! A chart: a grid of panels under one legend, as one SVG.

use std::fmt::Write;

use crate::escape;
use crate::panel::{Frame, Mark, Panel, SIGN, Series, mark, small};

/// A chart of panels.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// The description for screen readers.
    pub about: String,
    /// The panels, row by row.
    pub panels: Vec<Panel>,
    /// The number of panels per row.
    pub columns: usize,
    /// The width of a panel in CSS pixels; the chart scales with the page.
    pub width: f64,
    /// The height of a panel in CSS pixels.
    pub height: f64,
}

/// The height of a row of the legend.
const LEGEND: f64 = 20.0;

impl Chart {
    /// A chart with two panels per row.
    pub fn of(panels: Vec<Panel>) -> Self {
        let about = panels.iter().map(|panel| panel.title.as_str()).collect::<Vec<_>>().join("; ");
        let columns = panels.len().clamp(1, 2);
        Chart { about, panels, columns, width: 420.0, height: 290.0 }
    }

    /// The chart as an SVG element. It fills the width of its container, has no background, and uses
    /// the colour of the surrounding text, or a grey that is legible on any background.
    pub fn svg(&self) -> String {
        let columns = self.columns.clamp(1, self.panels.len().max(1));
        let rows = self.panels.len().div_ceil(columns);
        let width = columns as f64 * self.width;
        let legend = self.legend(width);
        let lines = legend.last().map_or(0, |&(_, _, line)| line + 1);
        let below = lines as f64 * LEGEND;
        let height = below + rows as f64 * self.height + 6.0;
        let mut out = String::new();
        let _ = writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"100%\" style=\"max-width:{width:.0}px\" role=\"img\" color=\"#777\" font-family=\"system-ui, sans-serif\">"
        );
        let _ = writeln!(out, "<title>{}</title>", escape(&self.about));
        for (series, left, line) in legend {
            let middle = line as f64 * LEGEND + LEGEND / 2.0 + 3.0;
            let ink = series.ink();
            if series.joined {
                let _ = writeln!(
                    out,
                    "<line x1=\"{left:.1}\" y1=\"{middle:.1}\" x2=\"{:.1}\" y2=\"{middle:.1}\" stroke=\"{ink}\" stroke-width=\"1.8\"/>",
                    left + 20.0
                );
            }
            if series.mark != Mark::None {
                let _ = writeln!(out, "{}", mark(series.mark, left + 10.0, middle, ink));
            }
            small(&mut out, left + 25.0, middle + 3.8, "start", &series.name);
        }
        for (p, panel) in self.panels.iter().enumerate() {
            let (row, column) = (p / columns, p % columns);
            let frame = Frame {
                left: column as f64 * self.width,
                top: below + row as f64 * self.height,
                width: self.width,
                height: self.height,
            };
            panel.draw(&mut out, frame);
        }
        out.push_str("</svg>\n");
        out
    }

    /// Every named series once, with its left edge and line.
    fn legend(&self, width: f64) -> Vec<(&Series, f64, usize)> {
        let mut placed: Vec<(&Series, f64, usize)> = Vec::new();
        let (mut left, mut line) = (14.0, 0);
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            if series.name.is_empty() || placed.iter().any(|(s, ..)| s.name == series.name) {
                continue;
            }
            let wide = 25.0 + SIGN * series.name.chars().count() as f64 + 18.0;
            if left + wide > width && left > 14.0 {
                (left, line) = (14.0, line + 1);
            }
            placed.push((series, left, line));
            left += wide;
        }
        placed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Point, Series};

    /// Every start tag has its end, in order; text holds no bare markup.
    fn well_formed(xml: &str) {
        let mut open: Vec<String> = Vec::new();
        let mut rest = xml;
        while let Some(at) = rest.find('<') {
            let end = at + rest[at..].find('>').expect("a tag ends");
            let tag = &rest[at + 1..end];
            assert!(!tag.contains('<'), "{tag}");
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
            if tag.starts_with('/') {
                assert_eq!(open.pop().as_deref(), Some(name), "in {tag}");
            } else if !tag.ends_with('/') {
                open.push(name.to_owned());
            }
            rest = &rest[end + 1..];
        }
        assert!(open.is_empty(), "{open:?}");
    }

    fn panel() -> Panel {
        let mut line = Series::line("liken", 0);
        line.points = vec![Point::new(10.0, 1.0), Point::new(100.0, 2.5)];
        let mut dots = Series::scatter("peer <scipy> & co", 1, Mark::Star);
        dots.points = vec![
            Point { interval: Some((2.0, 4.0)), ..Point::new(50.0, 3.0) }.about("a \"quoted\" <b>"),
            Point::new(0.0, 1.0),
            Point::new(f64::NAN, 1.0),
        ];
        Panel {
            x: Axis::log("queries"),
            y: Axis::linear("time").unit("s").from_zero(),
            series: vec![line, dots],
            ..Panel::titled("Growth & <more>")
        }
    }

    #[test]
    fn a_chart_is_well_formed_and_says_everything_as_text() {
        let svg = Chart::of(vec![panel(), panel(), panel()]).svg();
        well_formed(&svg);
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{svg}");
        for text in [
            "viewBox=\"0 0 840 606\"",
            "width=\"100%\"",
            "time (s)",
            ">queries<",
            "Growth &amp; &lt;more&gt;",
            "peer &lt;scipy&gt; &amp; co",
            "<title>a &quot;quoted&quot; &lt;b&gt;</title>",
            "<title>liken: queries 10, time (s) 1</title>",
            "2 not shown",
        ] {
            assert!(svg.contains(text), "no {text} in\n{svg}");
        }
        // Two points of the line, one of the three others; three panels; once in the legend.
        assert_eq!(svg.matches("<polyline").count(), 3);
        assert_eq!(svg.matches("r=\"3.6\"").count(), 3 * 2 + 1);
        assert_eq!(svg.matches("<polygon").count(), 3 + 1);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn nothing_to_draw_is_drawn() {
        for chart in [Chart::of(Vec::new()), Chart::of(vec![Panel::titled("empty")])] {
            let svg = chart.svg();
            well_formed(&svg);
            assert!(!svg.contains("NaN"), "{svg}");
        }
    }

    #[test]
    fn points_lie_where_their_values_say() {
        let mut series = Series::scatter("", 0, Mark::Dot);
        series.points = vec![Point::new(1.0, 0.0), Point::new(10.0, 5.0), Point::new(100.0, 10.0)];
        let panel = Panel { x: Axis::log("x"), series: vec![series], ..Panel::titled("") };
        let svg = Chart::of(vec![panel]).svg();
        let places = |name: &str| -> Vec<f64> {
            let before = format!(" {name}=\"");
            let parts = svg.split(&before).skip(1);
            parts.map(|part| part.split('"').next().unwrap().parse().unwrap()).collect()
        };
        let (x, y) = (places("cx"), places("cy"));
        assert!((x[2] - 2.0 * x[1] + x[0]).abs() < 0.2, "{x:?}");
        assert!((y[2] - 2.0 * y[1] + y[0]).abs() < 0.2, "{y:?}");
        assert!(x[0] < x[2] && y[0] > y[2]);
    }

    #[test]
    fn bars_begin_at_zero() {
        let mut series = Series::scatter("", 0, Mark::Bar);
        series.points = vec![Point::new(0.0, 2.0), Point::new(1.0, -1.0), Point::new(2.0, 1.0)];
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        let panel = Panel { x: Axis::names("x", names), series: vec![series], ..Panel::titled("") };
        let svg = Chart::of(vec![panel]).svg();
        well_formed(&svg);
        let places = |name: &str| -> Vec<f64> {
            let rects = svg.split("<rect ").skip(1).map(|rect| rect.split("/>").next().unwrap());
            let before = format!("{name}=\"");
            let value = |rect: &str| {
                let after = rect.split(&before).nth(1).unwrap();
                after.split('"').next().unwrap().parse().unwrap()
            };
            rects.map(value).collect()
        };
        let (y, height) = (places(" y"), places("height"));
        // Two above zero end where the one below begins.
        assert!((y[0] + height[0] - y[1]).abs() < 0.2 && (y[2] + height[2] - y[1]).abs() < 0.2);
        assert!((height[0] - 2.0 * height[1]).abs() < 0.3, "{height:?}");
    }

    #[test]
    fn a_long_legend_takes_several_lines() {
        let series = |i: usize| Series::line(format!("a series with a long name {i}"), i);
        let many = Panel { series: (0..9).map(series).collect(), ..Panel::titled("") };
        let chart = Chart::of(vec![many]);
        let legend = chart.legend(chart.width);
        assert_eq!(legend.len(), 9);
        assert!(legend.last().unwrap().2 >= 4);
        well_formed(&chart.svg());
    }
}
