//! Bars, cards and heat maps in plain HTML: accessible lists and tables that also fit on a phone, with
//! lengths and colours from CSS.

use std::fmt::{self, Write};

use crate::escape;
use crate::panel::COLOURS;

/// A bar of one or several segments.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bar {
    /// Its label.
    pub name: String,
    /// The lengths of its segments, with their indices in [`COLOURS`].
    pub segments: Vec<(f64, usize)>,
    /// The formatted value.
    pub value: String,
    /// The id on the page that the label links to.
    pub link: Option<String>,
}

impl Bar {
    /// A bar of one segment.
    pub fn new(name: impl Into<String>, length: f64, value: impl Into<String>) -> Self {
        Bar { name: name.into(), segments: vec![(length, 0)], value: value.into(), link: None }
    }
}

/// A box on the page that links can lead to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Card {
    /// The target of links.
    pub id: String,
    /// Heading of the figure.
    pub title: String,
    /// Lines of text below the heading.
    pub lines: Vec<String>,
    /// Bars below the text.
    pub bars: Vec<Bar>,
}

/// The CSS of these parts. A card that is the target of a link is laid over the page until it is
/// closed, so that the map stays visible.
pub(crate) const STYLE: &str = "\
.bars { border-spacing: 0; width: 100%; }
.bars th, .bars td { border: 0; padding: 0.05rem 0.4rem; font-weight: normal; }
.bars th { width: 1%; max-width: min(14rem, 40vw); overflow: hidden; text-overflow: ellipsis; }
.bars td { min-width: 5rem; } .bars td.n { width: 1%; min-width: 0; }
.bar { display: flex; height: 0.8rem; }
.bar i { display: block; height: 100%; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 1rem; }
.card { border: 1px solid #8886; border-radius: 0.4rem; padding: 0.5rem 0.7rem; min-width: 0; }
.card h3 { font-size: 1rem; margin: 0; } .card p { font-size: 0.85rem; margin: 0.2rem 0; overflow-wrap: anywhere; }
.card .close { display: none; float: right; }
.card:target { position: fixed; z-index: 1; right: 1rem; bottom: 1rem; width: min(22rem, calc(100vw - 2rem)); box-sizing: border-box; max-height: 50vh; overflow: auto; background: Canvas; box-shadow: 0 0 1.5rem #0006; }
.card:target .close { display: inline; }
.map { display: block; max-width: 38rem; } .map a { cursor: pointer; }
.map a:hover circle, .map a:focus circle { stroke: currentColor; stroke-width: 2.5; fill-opacity: 0.85; }
.heat td { text-align: right; font-variant-numeric: tabular-nums; }
@media print { .card { break-inside: avoid; } }
";

/// Writes bars below each other on one scale.
pub(crate) fn write_bars(out: &mut String, bars: &[Bar]) -> fmt::Result {
    let length = |bar: &Bar| bar.segments.iter().map(|&(segment, _)| clean(segment)).sum::<f64>();
    let longest = bars.iter().map(length).fold(0.0, f64::max);
    out.push_str("<table class=\"bars\">\n");
    for bar in bars {
        let name = escape(&bar.name);
        let name = match &bar.link {
            Some(id) => format!("<a href=\"#{}\">{name}</a>", escape(id)),
            None => name,
        };
        let mut segments = String::new();
        for &(segment, colour) in &bar.segments {
            let width = if longest > 0.0 { 100.0 * clean(segment) / longest } else { 0.0 };
            let ink = COLOURS[colour % COLOURS.len()];
            write!(segments, "<i style=\"width:{width:.1}%;background:{ink}\"></i>")?;
        }
        writeln!(
            out,
            "<tr><th scope=\"row\">{name}</th><td><div class=\"bar\">{segments}</div></td><td class=\"n\">{}</td></tr>",
            escape(&bar.value)
        )?;
    }
    out.write_str("</table>\n")
}

/// A length without negative and non-finite values.
fn clean(length: f64) -> f64 {
    if length.is_finite() { length.max(0.0) } else { 0.0 }
}

/// Writes a grid of cards; closing a card that is laid over the page leads back to the id `home`.
pub(crate) fn write_cards(out: &mut String, cards: &[Card], home: &str) -> fmt::Result {
    out.push_str("<div class=\"cards\">\n");
    for card in cards {
        writeln!(
            out,
            "<section class=\"card\" id=\"{}\">\n<a class=\"close\" href=\"#{}\">close</a>\n<h3>{}</h3>",
            escape(&card.id),
            escape(home),
            escape(&card.title)
        )?;
        for line in &card.lines {
            writeln!(out, "<p>{}</p>", escape(line))?;
        }
        if !card.bars.is_empty() {
            write_bars(out, &card.bars)?;
        }
        out.push_str("</section>\n");
    }
    out.write_str("</div>\n")
}

/// Writes a table whose cells are darker for larger values.
pub(crate) fn write_heat(
    out: &mut String,
    heading: &[String],
    rows: &[(String, Vec<f64>)],
) -> fmt::Result {
    let values = rows.iter().flat_map(|(_, values)| values);
    let largest = values.map(|&value| clean(value)).fold(0.0, f64::max);
    out.push_str("<div class=\"wide\"><table class=\"heat\">\n<thead>\n<tr>");
    for cell in heading {
        write!(out, "<th scope=\"col\">{}</th>", escape(cell))?;
    }
    out.push_str("</tr>\n</thead>\n<tbody>\n");
    for (name, values) in rows {
        write!(out, "<tr><th scope=\"row\">{}</th>", escape(name))?;
        for &value in values {
            // At most 60 %, so that the number stays legible on light and dark backgrounds.
            let share = if largest > 0.0 { 0.6 * clean(value) / largest } else { 0.0 };
            write!(
                out,
                "<td style=\"background:rgb(61 133 214 / {share:.3})\">{:.1} %</td>",
                100.0 * value
            )?;
        }
        out.push_str("</tr>\n");
    }
    out.write_str("</tbody>\n</table></div>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_fills_its_row() {
        let mut out = String::new();
        let mut split = Bar::new("a <b>", 1.0, "3");
        split.segments = vec![(1.0, 0), (3.0, 5)];
        split.link = Some("topic-1".into());
        write_bars(&mut out, &[split, Bar::new("b", 2.0, "2"), Bar::new("c", f64::NAN, "-")])
            .unwrap();
        for text in [
            "<a href=\"#topic-1\">a &lt;b&gt;</a>",
            "width:25.0%;background:#3d85d6",
            "width:75.0%;background:#8a8a8a",
            "width:50.0%",
            "width:0.0%",
        ] {
            assert!(out.contains(text), "no {text} in\n{out}");
        }
        assert!(!out.contains("NaN"), "{out}");
        write_bars(&mut out, &[]).unwrap();
    }

    #[test]
    fn cards_have_ids_and_lead_back() {
        let mut out = String::new();
        let card = Card {
            id: "topic-1".into(),
            title: "opec & oil".into(),
            lines: vec!["<1 %".into()],
            bars: vec![Bar::new("opec", 1.0, "0.2")],
        };
        write_cards(&mut out, &[card], "map").unwrap();
        for text in
            ["id=\"topic-1\"", "href=\"#map\"", "opec &amp; oil", "<p>&lt;1 %</p>", "width:100.0%"]
        {
            assert!(out.contains(text), "no {text} in\n{out}");
        }
    }

    #[test]
    fn heat_is_a_table_of_numbers() {
        let mut out = String::new();
        let rows = [("rec.autos".to_owned(), vec![0.25, 0.5])];
        write_heat(&mut out, &["class".into(), "1".into(), "2".into()], &rows).unwrap();
        for text in ["/ 0.300)\">25.0 %<", "/ 0.600)\">50.0 %<", "<th scope=\"row\">rec.autos</th>"]
        {
            assert!(out.contains(text), "no {text} in\n{out}");
        }
    }
}
