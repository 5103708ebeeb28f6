//! SVG plots and plain HTML pages: data in, text out.
//!
//! Nothing here reads or writes files, and pages load nothing: a page is one self-contained text.
//! Plots are drawn by a few hundred lines instead of a plotting library: little is needed (lines,
//! points, three kinds of axes), and libraries lack some of it, namely text that stays text, a tooltip
//! at every point, and colours that are legible on light and dark backgrounds.
//!
//! ```
//! use liken_pages::{Axis, Chart, Panel, Point, Series};
//!
//! let mut growth = Series::line("rmls", 0);
//! growth.points = vec![Point::new(1e3, 0.4), Point::new(1e4, 4.1), Point::new(1e5, 43.0)];
//! let panel = Panel {
//!     x: Axis::log("training queries"),
//!     y: Axis::log("time of a sweep").unit("s"),
//!     series: vec![growth],
//!     ..Panel::titled("Growth of time with queries")
//! };
//! let svg = Chart::of(vec![panel]).svg();
//! assert!(svg.starts_with("<svg ") && svg.contains("time of a sweep (s)"));
//! ```

#![forbid(unsafe_code)]

mod axis;
mod bars;
mod bubbles;
mod chart;
mod escape;
mod numbers;
mod page;
mod panel;
mod shorten;

pub use axis::{Axis, Scale};
pub use bars::{Bar, Card};
pub use bubbles::{Bubble, Bubbles};
pub use chart::Chart;
pub use escape::escape;
pub use numbers::grouped;
pub use page::{Page, Part};
pub use panel::{COLOURS, Mark, Panel, Point, Series};
pub use shorten::shorten;
