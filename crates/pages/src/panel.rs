//! One panel: series of points between two axes.

use std::fmt::Write;

use crate::axis::{Axis, Layout, number};
use crate::{escape, shorten};

/// Colours that are legible on white and on black, and distinct with red–green colour blindness: blue,
/// orange, violet, green, pink, grey.
pub const COLOURS: [&str; 6] = ["#3d85d6", "#d9770f", "#8d63d6", "#3a9a55", "#d04a8c", "#8a8a8a"];

/// The shape of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mark {
    /// No mark: only the line.
    None,
    /// A filled circle.
    #[default]
    Dot,
    /// An empty circle.
    Ring,
    /// A square standing on a corner.
    Diamond,
    /// A star, for the most important point.
    Star,
    /// A bar from zero to the point.
    Bar,
}

/// A data point.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Point {
    /// The value on the horizontal axis.
    pub x: f64,
    /// The value on the vertical axis.
    pub y: f64,
    /// The interval of `y`, drawn as a thin line.
    pub interval: Option<(f64, f64)>,
    /// The tooltip; by default the two values.
    pub about: Option<String>,
}

impl Point {
    /// A point without an interval.
    pub fn new(x: f64, y: f64) -> Self {
        Point { x, y, interval: None, about: None }
    }

    /// Sets the tooltip.
    pub fn about(mut self, about: impl Into<String>) -> Self {
        self.about = Some(about.into());
        self
    }
}

/// Points of one name, colour and mark.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// The name in the legend; without a name, the series is not in it.
    pub name: String,
    /// The index in [`COLOURS`], modulo their number.
    pub colour: usize,
    /// Whether a line joins the points, in order.
    pub joined: bool,
    /// The mark of the points.
    pub mark: Mark,
    /// 1 for opaque.
    pub opacity: f64,
    /// The points.
    pub points: Vec<Point>,
}

impl Series {
    /// Points joined by a line.
    pub fn line(name: impl Into<String>, colour: usize) -> Self {
        Series { name: name.into(), colour, joined: true, opacity: 1.0, ..Series::default() }
    }

    /// Points on their own.
    pub fn scatter(name: impl Into<String>, colour: usize, mark: Mark) -> Self {
        Series { mark, joined: false, ..Series::line(name, colour) }
    }

    pub(crate) fn ink(&self) -> &'static str {
        COLOURS[self.colour % COLOURS.len()]
    }
}

/// One panel of a chart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Panel {
    /// Heading of the panel.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The series, the last on top.
    pub series: Vec<Series>,
}

/// A rectangle of the drawing.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// The space for the ticks and the label of the vertical axis.
const LEFT: f64 = 62.0;
/// The space for the title.
const TOP: f64 = 28.0;
/// The space for the ticks and the label of the horizontal axis.
const BOTTOM: f64 = 44.0;
/// The margin beside the last tick of the horizontal axis.
const RIGHT: f64 = 14.0;
/// The approximate width of a character of small text.
pub(crate) const SIGN: f64 = 6.2;

impl Panel {
    /// An empty panel.
    pub fn titled(title: impl Into<String>) -> Self {
        Panel { title: title.into(), ..Panel::default() }
    }

    /// The number of points that cannot be drawn: not finite, or not positive on a logarithmic axis.
    fn left_out(&self) -> usize {
        let points = self.series.iter().flat_map(|series| &series.points);
        points.filter(|point| !self.draws(point)).count()
    }

    fn draws(&self, point: &Point) -> bool {
        self.x.shows(point.x) && self.y.shows(point.y)
    }

    /// Draws the panel into `frame`.
    pub(crate) fn draw(&self, out: &mut String, frame: Frame) {
        let inner = Frame {
            left: frame.left + LEFT,
            top: frame.top + TOP,
            width: frame.width - LEFT - RIGHT,
            height: frame.height - TOP - BOTTOM,
        };
        let drawn = || self.series.iter().flat_map(|s| &s.points).filter(|p| self.draws(p));
        let x = self.x.lay_out(drawn().map(|point| point.x), (inner.width / 70.0) as usize);
        let ends = drawn().flat_map(|point| {
            let (low, high) = point.interval.unwrap_or((point.y, point.y));
            [point.y, low, high]
        });
        // Bars start at zero, so the axis must include it.
        let bars = self.series.iter().any(|series| series.mark == Mark::Bar);
        let ends = ends.chain(bars.then_some(0.0));
        let y = self.y.lay_out(ends, (inner.height / 36.0) as usize);
        let _ = writeln!(out, "<g class=\"panel\">");
        self.draw_axes(out, inner, &x, &y);
        for series in &self.series {
            self.draw_series(out, series, inner, &x, &y);
        }
        if self.left_out() > 0 {
            let text = format!("{} not shown", self.left_out());
            let (right, top) = (inner.left + inner.width - 4.0, inner.top + 14.0);
            small(out, right, top, "end", &text);
        }
        let _ = writeln!(out, "</g>");
    }

    fn draw_axes(&self, out: &mut String, inner: Frame, x: &Layout, y: &Layout) {
        let (right, bottom) = (inner.left + inner.width, inner.top + inner.height);
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"13\" font-weight=\"600\" fill=\"currentColor\">{}</text>",
            inner.left,
            inner.top - 11.0,
            escape(&self.title)
        );
        for (value, text) in &y.ticks {
            let at = bottom - y.place(*value) * inner.height;
            rule(out, (inner.left, at), (right, at), 0.18);
            small(out, inner.left - 7.0, at + 3.8, "end", text);
        }
        // Names that would overlap are shortened and partly left out.
        let every = (1..).find(|every| {
            let width = inner.width / (x.ticks.len().max(1) as f64) * *every as f64;
            let widest = x.ticks.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
            width >= SIGN * widest.min(16) as f64 + 4.0 || *every >= x.ticks.len().max(1)
        });
        for (value, text) in x.ticks.iter().step_by(every.unwrap_or(1)) {
            let at = inner.left + x.place(*value) * inner.width;
            rule(out, (at, bottom), (at, bottom + 4.0), 0.6);
            small(out, at, bottom + 17.0, "middle", &shorten(text, 16));
        }
        rule(out, (inner.left, bottom), (right, bottom), 0.6);
        rule(out, (inner.left, inner.top), (inner.left, bottom), 0.6);
        small(out, inner.left + inner.width / 2.0, bottom + 36.0, "middle", &self.x.text());
        let (at, middle) = (inner.left - LEFT + 13.0, inner.top + inner.height / 2.0);
        let _ = writeln!(
            out,
            "<text x=\"{at:.1}\" y=\"{middle:.1}\" transform=\"rotate(-90 {at:.1} {middle:.1})\" font-size=\"11\" text-anchor=\"middle\" fill=\"currentColor\">{}</text>",
            escape(&self.y.text())
        );
    }

    fn draw_series(&self, out: &mut String, series: &Series, inner: Frame, x: &Layout, y: &Layout) {
        let at = |px: f64, py: f64| {
            let left = inner.left + x.place(px) * inner.width;
            (left, inner.top + (1.0 - y.place(py)) * inner.height)
        };
        let ink = series.ink();
        let bottom = inner.top + inner.height;
        let _ = writeln!(
            out,
            "<g color=\"{ink}\" opacity=\"{}\">",
            number(series.opacity.clamp(0.0, 1.0))
        );
        if series.joined {
            let corners: Vec<String> = series
                .points
                .iter()
                .filter(|point| self.draws(point))
                .map(|point| at(point.x, point.y))
                .map(|(left, top)| format!("{left:.1},{top:.1}"))
                .collect();
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{ink}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"/>",
                corners.join(" ")
            );
        }
        for point in series.points.iter().filter(|point| self.draws(point)) {
            let (left, top) = at(point.x, point.y);
            if let Some((low, high)) =
                point.interval.filter(|&(low, high)| self.y.shows(low) && self.y.shows(high))
            {
                let (from, to) = (at(point.x, low).1, at(point.x, high).1);
                let _ = writeln!(
                    out,
                    "<line x1=\"{left:.1}\" y1=\"{from:.1}\" x2=\"{left:.1}\" y2=\"{to:.1}\" stroke=\"{ink}\" stroke-width=\"1.2\"/>"
                );
            }
            let about = point.about.clone().unwrap_or_else(|| {
                let name = |value: f64, axis: &Axis| match &axis.scale {
                    crate::Scale::Names(names) => names[value as usize].clone(),
                    _ => number(value),
                };
                format!(
                    "{}{} {}, {} {}",
                    if series.name.is_empty() {
                        String::new()
                    } else {
                        format!("{}: ", series.name)
                    },
                    self.x.text(),
                    name(point.x, &self.x),
                    self.y.text(),
                    name(point.y, &self.y)
                )
            });
            let look = match series.mark {
                Mark::Bar => {
                    let zero = if self.y.shows(0.0) { at(point.x, 0.0).1 } else { bottom };
                    let wide = (0.8 * inner.width / x.ticks.len().max(1) as f64).clamp(0.5, 28.0);
                    format!(
                        "<rect x=\"{:.2}\" y=\"{:.1}\" width=\"{wide:.2}\" height=\"{:.1}\" fill=\"{ink}\"/>",
                        left - wide / 2.0,
                        top.min(zero),
                        (top - zero).abs()
                    )
                }
                // Lines without marks have tooltips, too, on transparent circles.
                other => mark(other, left, top, ink),
            };
            let _ = writeln!(out, "<g>{look}<title>{}</title></g>", escape(&about));
        }
        let _ = writeln!(out, "</g>");
    }
}

/// The SVG of a mark.
pub(crate) fn mark(mark: Mark, left: f64, top: f64, ink: &str) -> String {
    let corners = |radii: &[f64], turn: f64| -> String {
        let n = radii.len() as f64;
        let corner = |(i, radius): (usize, &f64)| {
            let angle = std::f64::consts::TAU * (i as f64 / n) + turn;
            format!("{:.1},{:.1}", left + radius * angle.sin(), top - radius * angle.cos())
        };
        radii.iter().enumerate().map(corner).collect::<Vec<_>>().join(" ")
    };
    match mark {
        Mark::None => {
            format!("<circle cx=\"{left:.1}\" cy=\"{top:.1}\" r=\"6\" fill-opacity=\"0\"/>")
        }
        Mark::Bar => format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"8\" height=\"8\" fill=\"{ink}\"/>",
            left - 4.0,
            top - 4.0
        ),
        Mark::Dot => {
            format!("<circle cx=\"{left:.1}\" cy=\"{top:.1}\" r=\"3.6\" fill=\"{ink}\"/>")
        }
        Mark::Ring => format!(
            "<circle cx=\"{left:.1}\" cy=\"{top:.1}\" r=\"4.2\" fill-opacity=\"0\" stroke=\"{ink}\" stroke-width=\"1.5\"/>"
        ),
        Mark::Diamond => {
            format!("<polygon points=\"{}\" fill=\"{ink}\"/>", corners(&[6.6; 4], 0.0))
        }
        Mark::Star => {
            let radii: Vec<f64> = (0..10).map(|i| if i % 2 == 0 { 8.5 } else { 3.6 }).collect();
            format!("<polygon points=\"{}\" fill=\"{ink}\"/>", corners(&radii, 0.0))
        }
    }
}

/// Writes small text.
pub(crate) fn small(out: &mut String, left: f64, top: f64, anchor: &str, text: &str) {
    let _ = writeln!(
        out,
        "<text x=\"{left:.1}\" y=\"{top:.1}\" font-size=\"11\" text-anchor=\"{anchor}\" fill=\"currentColor\">{}</text>",
        escape(text)
    );
}

fn rule(out: &mut String, from: (f64, f64), to: (f64, f64), opacity: f64) {
    let _ = writeln!(
        out,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"currentColor\" stroke-opacity=\"{opacity}\"/>",
        from.0, from.1, to.0, to.1
    );
}
