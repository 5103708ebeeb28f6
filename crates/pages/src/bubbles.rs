//! A bubble map: circles in the plane whose areas show sizes. Both axes have the same scale, since the
//! map shows distances, and no ticks, since coordinates alone have no meaning.

use std::fmt::Write;

use crate::escape;
use crate::panel::{COLOURS, SIGN, small};

/// A circle on the map.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bubble {
    /// The horizontal coordinate, to the right.
    pub x: f64,
    /// The vertical coordinate, upwards.
    pub y: f64,
    /// The area, in arbitrary units.
    pub size: f64,
    /// The index in `kinds`, which sets the colour.
    pub kind: usize,
    /// The text in the circle, if it fits.
    pub name: String,
    /// The text beside the circle, if it fits.
    pub label: String,
    /// The tooltip.
    pub about: String,
    /// The id on the page that the circle links to.
    pub link: Option<String>,
}

/// A bubble map.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bubbles {
    /// The description for screen readers.
    pub about: String,
    /// The legend; a single kind is not shown.
    pub kinds: Vec<String>,
    /// The circles.
    pub bubbles: Vec<Bubble>,
}

/// The drawing in CSS pixels: small, so that text is legible on a phone.
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 350.0;
const LEGEND: f64 = 20.0;
/// The radius of the largest circle.
const LARGEST: f64 = 26.0;
/// The colours of the first kinds; grey comes first, for what all have in common.
const KIND_COLOURS: [usize; 6] = [5, 0, 1, 2, 3, 4];

impl Bubbles {
    /// The map as an SVG element.
    pub fn svg(&self) -> String {
        let legend = self.legend();
        let below = legend.last().map_or(0.0, |&(_, _, top)| top + LEGEND + 4.0);
        let mut out = String::new();
        // An image has no links, so a map with links is a group of them.
        let role = if self.bubbles.iter().any(|b| b.link.is_some()) { "group" } else { "img" };
        let _ = writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot map\" viewBox=\"0 0 {WIDTH:.0} {:.0}\" width=\"100%\" role=\"{role}\" aria-label=\"{}\" color=\"#777\" font-family=\"system-ui, sans-serif\">",
            HEIGHT + below,
            escape(&self.about)
        );
        for (kind, left, top) in legend {
            let _ = writeln!(
                out,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"5\" fill=\"{}\"/>",
                left + 6.0,
                top + LEGEND / 2.0,
                ink(kind)
            );
            small(&mut out, left + 16.0, top + LEGEND / 2.0 + 3.8, "start", &self.kinds[kind]);
        }
        self.draw(&mut out, below);
        out.push_str("</svg>\n");
        out
    }

    /// The kinds with their positions.
    fn legend(&self) -> Vec<(usize, f64, f64)> {
        let (mut left, mut top) = (4.0, 0.0);
        let mut placed = Vec::new();
        for (kind, name) in self.kinds.iter().enumerate().filter(|_| self.kinds.len() > 1) {
            let wide = 16.0 + SIGN * name.chars().count() as f64 + 14.0;
            if left + wide > WIDTH && left > 4.0 {
                (left, top) = (4.0, top + LEGEND);
            }
            placed.push((kind, left, top));
            left += wide;
        }
        placed
    }

    fn draw(&self, out: &mut String, above: f64) {
        let drawn = |b: &&Bubble| b.x.is_finite() && b.y.is_finite() && b.size.is_finite();
        let mut bubbles: Vec<&Bubble> = self.bubbles.iter().filter(drawn).collect();
        // Small circles are drawn on top of large ones.
        bubbles.sort_by(|a, b| b.size.total_cmp(&a.size));
        let largest = bubbles.first().map_or(1.0, |b| b.size).max(f64::MIN_POSITIVE);
        // Many bubbles are scaled down to cover at most a fifth of the drawing together.
        let areas: f64 = bubbles.iter().map(|b| (b.size / largest).max(0.0)).sum();
        let fits = (WIDTH * HEIGHT / 5.0 / areas.max(1.0) / std::f64::consts::PI).sqrt();
        let most = fits.min(LARGEST);
        let radius = |b: &Bubble| (most * (b.size / largest).max(0.0).sqrt()).max(3.0);
        let ends = |of: &dyn Fn(&Bubble) -> f64| {
            let low = bubbles.iter().map(|b| of(b)).fold(f64::INFINITY, f64::min);
            let high = bubbles.iter().map(|b| of(b)).fold(f64::NEG_INFINITY, f64::max);
            (low.min(high), high.max(low))
        };
        let (x, y) = (ends(&|b| b.x), ends(&|b| b.y));
        let margin = 2.0 * (most + 8.0);
        let scale = ((WIDTH - margin) / (x.1 - x.0)).min((HEIGHT - margin) / (y.1 - y.0));
        let scale = if scale.is_finite() { scale } else { 0.0 };
        let at = |b: &Bubble| {
            let (middle_x, middle_y) = (x.0 + (x.1 - x.0) / 2.0, y.0 + (y.1 - y.0) / 2.0);
            let left = WIDTH / 2.0 + (b.x - middle_x) * scale;
            (left, above + HEIGHT / 2.0 - (b.y - middle_y) * scale)
        };
        for bubble in &bubbles {
            let ((left, top), radius, ink) = (at(bubble), radius(bubble), ink(bubble.kind));
            let about = escape(&bubble.about);
            let (open, close) = match &bubble.link {
                Some(id) => {
                    (format!("<a href=\"#{}\" aria-label=\"{about}\">", escape(id)), "</a>")
                }
                None => ("<g>".to_owned(), "</g>"),
            };
            let _ = write!(
                out,
                "{open}<title>{about}</title><circle cx=\"{left:.1}\" cy=\"{top:.1}\" r=\"{radius:.1}\" fill=\"{ink}\" fill-opacity=\"0.55\" stroke=\"{ink}\"/>"
            );
            if radius > 2.0 + SIGN / 2.0 * bubble.name.chars().count() as f64 {
                small(out, left, top + 3.8, "middle", &bubble.name);
            }
            let _ = writeln!(out, "{close}");
        }
        let circles: Vec<(f64, f64, f64)> =
            bubbles.iter().map(|b| (at(b).0, at(b).1, radius(b))).collect();
        label(out, &bubbles, &circles, above);
    }
}

/// Writes labels beside the circles, largest first, where they cover neither each other nor the
/// middle of a circle.
fn label(out: &mut String, bubbles: &[&Bubble], circles: &[(f64, f64, f64)], above: f64) {
    let mut taken: Vec<[f64; 4]> = Vec::new();
    for (bubble, &(left, top, radius)) in bubbles.iter().zip(circles) {
        let wide = SIGN * bubble.label.chars().count() as f64;
        if wide == 0.0 {
            continue;
        }
        // To the right, to the left, below, above.
        let places = [
            (left + radius + 3.0, top - 6.0),
            (left - radius - 3.0 - wide, top - 6.0),
            (left - wide / 2.0, top + radius + 1.0),
            (left - wide / 2.0, top - radius - 13.0),
        ];
        let free = places.into_iter().map(|(x, y)| [x, y, x + wide, y + 12.0]).find(|here| {
            let inside = here[0] >= 0.0 && here[2] <= WIDTH && here[1] >= above;
            let inside = inside && here[3] <= above + HEIGHT;
            let clear = taken.iter().all(|other| {
                here[0] > other[2] || other[0] > here[2] || here[1] > other[3] || other[1] > here[3]
            });
            // The distance from the middle of a circle to the label.
            let covers = |&(x, y, r): &(f64, f64, f64)| {
                let (dx, dy) = (x.clamp(here[0], here[2]) - x, y.clamp(here[1], here[3]) - y);
                dx.hypot(dy) < r * 0.95
            };
            inside && clear && !circles.iter().any(covers)
        });
        if let Some(here) = free {
            small(out, here[0], here[1] + 10.0, "start", &bubble.label);
            taken.push(here);
        }
    }
}

/// The colour of a kind: the fixed ones, then hues spread over the colour circle.
fn ink(kind: usize) -> String {
    match KIND_COLOURS.get(kind) {
        Some(&at) => COLOURS[at].to_owned(),
        None => {
            let hue = (kind as f64 * 137.508) % 360.0;
            format!("hsl({hue:.0} 50% {}%)", if kind.is_multiple_of(2) { 48 } else { 60 })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bubble(x: f64, y: f64, size: f64) -> Bubble {
        Bubble { x, y, size, name: "1".into(), about: "opec & <oil>".into(), ..Bubble::default() }
    }

    fn numbers(svg: &str, name: &str) -> Vec<f64> {
        let before = format!(" {name}=\"");
        svg.split(&before).skip(1).map(|p| p.split('"').next().unwrap().parse().unwrap()).collect()
    }

    #[test]
    fn areas_say_how_large_things_are_and_distances_how_far() {
        let bubbles = vec![bubble(0.0, 0.0, 4.0), bubble(1.0, 0.0, 1.0), bubble(0.0, 1.0, 1.0)];
        let svg = Bubbles { about: "a map".into(), kinds: vec![], bubbles }.svg();
        let (x, y, r) = (numbers(&svg, "cx"), numbers(&svg, "cy"), numbers(&svg, "r"));
        assert!((r[0] - 2.0 * r[1]).abs() < 0.11, "{r:?}");
        // The same scale both ways, and up is up.
        assert!(((x[1] - x[0]) - (y[0] - y[2])).abs() < 0.2, "{x:?} {y:?}");
        assert!(svg.contains("role=\"img\"") && svg.contains("aria-label=\"a map\""), "{svg}");
    }

    #[test]
    fn links_lead_to_their_things_and_say_what_they_are() {
        let mut linked = bubble(0.0, 0.0, 1.0);
        linked.link = Some("topic-1".into());
        linked.label = "opec".into();
        let kinds = (0..9).map(|at| format!("class {at}")).collect();
        let svg = Bubbles { about: String::new(), kinds, bubbles: vec![linked] }.svg();
        for text in [
            "role=\"group\"",
            "<a href=\"#topic-1\" aria-label=\"opec &amp; &lt;oil&gt;\">",
            "<title>opec &amp; &lt;oil&gt;</title>",
            ">opec</text>",
            ">class 8</text>",
            "hsl(",
        ] {
            assert!(svg.contains(text), "no {text} in\n{svg}");
        }
    }

    #[test]
    fn nothing_and_what_is_no_number_are_drawn_as_nothing() {
        for bubbles in [vec![], vec![bubble(f64::NAN, 0.0, 1.0)], vec![bubble(1.0, 1.0, 0.0); 2]] {
            let svg = Bubbles { bubbles, ..Bubbles::default() }.svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            assert_eq!(svg.matches("<g>").count(), svg.matches("</g>").count());
        }
    }

    #[test]
    fn labels_do_not_lie_on_each_other() {
        let mut same = vec![bubble(0.0, 0.0, 1.0); 40];
        same.iter_mut().for_each(|b| b.label = "a long label".into());
        let svg = Bubbles { bubbles: same, ..Bubbles::default() }.svg();
        assert!(svg.matches(">a long label<").count() <= 4, "{svg}");
    }
}
