//! The frame of all pages, and the fragments that they are built of.

use std::fmt::Write;
use std::sync::LazyLock;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::problem::Problem;

pub use super::tables::{Cell, Order, TableColumn, bar, shade, table};
pub use super::wording::{address, count, fixed, grouped, signed, some};

/// The style sheet of all pages: what all need, then what single pages need.
pub const STYLE: &str =
    concat!(include_str!("style.css"), include_str!("search.css"), include_str!("views.css"));

/// The script of all pages.
pub const SCRIPT: &str =
    concat!(include_str!("script.js"), include_str!("search.js"), include_str!("views.js"));

/// Where a browser finds style sheet and script. The address carries a checksum of the content,
/// so that it may be kept for ever and still changes with the next version.
static ASSETS: LazyLock<(String, String)> = LazyLock::new(|| {
    let address = |name: &str, content: &str| {
        let digest = Sha256::digest(content.as_bytes());
        let version = digest.iter().take(6).fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        format!("/assets/{name}?v={version}")
    };
    (address("style.css", STYLE), address("script.js", SCRIPT))
});

/// The pages, in the order of the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// Search with several models side by side.
    Search,
    /// Runs and models, measured against judgments.
    Compare,
    /// Grades given by people.
    Judge,
    /// What a model has learnt.
    Model,
    /// What the dataset is like.
    Data,
    /// Topic models.
    Topics,
}

impl Tab {
    /// All of them.
    pub const ALL: [Tab; 6] =
        [Tab::Search, Tab::Compare, Tab::Judge, Tab::Model, Tab::Data, Tab::Topics];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Tab::Search => "Search",
            Tab::Compare => "Compare",
            Tab::Judge => "Judge",
            Tab::Model => "Model",
            Tab::Data => "Data",
            Tab::Topics => "Topics",
        }
    }

    /// Where it is.
    pub fn path(self) -> &'static str {
        match self {
            Tab::Search => "/",
            Tab::Compare => "/compare",
            Tab::Judge => "/judge",
            Tab::Model => "/model",
            Tab::Data => "/data",
            Tab::Topics => "/topics",
        }
    }
}

/// A whole page. `body` comes below the navigation and should open with an `h1`.
pub fn page(title: &str, active: Tab, body: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · liken" }
                link rel="icon" href="data:,";
                link rel="stylesheet" href=(ASSETS.0);
                // Not deferred: the chosen colours must be there before the first paint.
                script src=(ASSETS.1) {}
            }
            body {
                a.skip href="#content" { "Skip to the content" }
                header.top {
                    a.brand href="/" { "liken" }
                    nav aria-label="Pages" {
                        ul {
                            @for tab in Tab::ALL {
                                li {
                                    a href=(tab.path()) aria-current=[(tab == active).then_some("page")] {
                                        (tab.name())
                                    }
                                }
                            }
                            li { a href="/openapi.json" { "API" } }
                        }
                    }
                    button.theme type="button" hidden data-theme-toggle {
                        span aria-hidden="true" { "◐" }
                        span.hush { "Colours: " span data-theme-name { "as the system has them" } }
                    }
                }
                main #content tabindex="-1" { (body) }
                // What the script has to say to those who do not see the screen.
                div #said .hush role="status" aria-live="polite" {}
            }
        }
    }
}

/// The page that says what went wrong.
pub fn problem_page(active: Tab, problem: &Problem) -> Markup {
    page(
        problem.title,
        active,
        html! {
            h1 { (problem.title) }
            (notice(Tone::Bad, html! { (problem.detail) }))
            p { a href=(active.path()) { "Start again on " (active.name()) } }
        },
    )
}

/// How a notice is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Good to know.
    Plain,
    /// Take care.
    Warn,
    /// It did not work.
    Bad,
    /// It worked.
    Good,
}

/// A line or two that stand out.
pub fn notice(tone: Tone, content: Markup) -> Markup {
    let (class, role, word) = match tone {
        Tone::Plain => ("plain", "note", ""),
        Tone::Warn => ("warn", "note", "Note: "),
        Tone::Bad => ("bad", "alert", "Problem: "),
        Tone::Good => ("good", "status", ""),
    };
    html! {
        div class={ "notice " (class) } role=(role) {
            @if !word.is_empty() { strong { (word) } }
            (content)
        }
    }
}

/// What stands where there is nothing to show: why, and what to do.
pub fn empty(title: &str, what_to_do: Markup) -> Markup {
    html! { div.empty { p.title { (title) } div { (what_to_do) } } }
}

/// A plot or table with a caption below.
pub fn figure(caption: &str, content: Markup) -> Markup {
    html! { figure { (content) figcaption { (caption) } } }
}

/// A plot as [`liken_pages::Chart::svg`] writes it, which escapes names by itself. Its `style`
/// attribute, which the content security policy forbids, becomes a width.
pub fn plot(svg: &str) -> Markup {
    const WIDTH: &str = "width=\"100%\" style=\"max-width:";
    let plain = svg.split_once(WIDTH).and_then(|(before, after)| {
        let (pixels, after) = after.split_once("px\"")?;
        Some(format!("{before}width=\"{pixels}\"{after}"))
    });
    html! { div.wide { (PreEscaped(plain.unwrap_or_else(|| svg.to_owned()))) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_escapes_and_carries_no_script_or_style_of_its_own() {
        let html = page("<b>a & b</b>", Tab::Judge, html! { h1 { "<i>" } }).into_string();
        assert!(html.contains("<title>&lt;b&gt;a &amp; b&lt;/b&gt; · liken</title>"), "{html}");
        assert!(html.contains("<h1>&lt;i&gt;</h1>"), "{html}");
        assert!(html.contains("<a href=\"/judge\" aria-current=\"page\">Judge</a>"), "{html}");
        assert_eq!(html.matches("aria-current").count(), 1, "{html}");
        assert_eq!(html.matches("<script").count(), 1, "{html}");
        assert!(html.contains("<script src=\"/assets/script.js?v="), "{html}");
        assert!(!html.contains("style=") && !html.contains("<style"), "{html}");
    }

    #[test]
    fn a_plot_keeps_its_width_without_a_style_attribute() {
        let svg = liken_pages::Chart::of(vec![liken_pages::Panel::titled("a < b")]).svg();
        assert!(svg.contains("style="), "the plot has none any more: {svg}");
        let html = plot(&svg).into_string();
        assert!(!html.contains("style=") && html.contains("a &lt; b"), "{html}");
        assert!(html.contains("<svg") && html.contains(" width=\""), "{html}");
    }
}
