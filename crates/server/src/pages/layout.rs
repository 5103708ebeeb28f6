//! The frame of all pages, and elements that several pages share.

use std::sync::LazyLock;

use maud::{Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::http::html_page;
use crate::problem::Problem;

pub use super::format::{address, count, fixed, grouped, signed};
pub use super::tables::{Cell, TableColumn, bar, shade, table};

/// The style sheet of all pages.
pub const STYLE: &str =
    concat!(include_str!("style.css"), include_str!("search.css"), include_str!("views.css"));

/// The script of all pages.
pub const SCRIPT: &str =
    concat!(include_str!("script.js"), include_str!("search.js"), include_str!("views.js"));

/// The addresses of style sheet and script. They contain a checksum of the content, so that
/// browsers may cache them for ever.
static ASSETS: LazyLock<(String, String)> = LazyLock::new(|| {
    let address = |name: &str, content: &str| {
        let digest = Sha256::digest(content.as_bytes());
        let version: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        format!("/assets/{name}?v={version}")
    };
    (address("style.css", STYLE), address("script.js", SCRIPT))
});

/// The pages, in the order of the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// Search with several models side by side.
    Search,
    /// Models and runs, evaluated with judgments.
    Compare,
    /// Judging documents.
    Judge,
    /// One model: parameters, training, latent dimensions.
    Model,
    /// Statistics of the dataset.
    Data,
    /// Topic models.
    Topics,
}

impl Tab {
    /// All pages.
    pub const ALL: [Tab; 6] =
        [Tab::Search, Tab::Compare, Tab::Judge, Tab::Model, Tab::Data, Tab::Topics];

    /// Its name in the navigation.
    pub fn name(self) -> &'static str {
        self.name_and_path().0
    }

    /// Its address.
    pub fn path(self) -> &'static str {
        self.name_and_path().1
    }

    fn name_and_path(self) -> (&'static str, &'static str) {
        match self {
            Tab::Search => ("Search", "/"),
            Tab::Compare => ("Compare", "/compare"),
            Tab::Judge => ("Judge", "/judge"),
            Tab::Model => ("Model", "/model"),
            Tab::Data => ("Data", "/data"),
            Tab::Topics => ("Topics", "/topics"),
        }
    }
}

/// A whole page. `body` comes below the navigation and should start with an `h1`.
pub fn page(title: &str, active: Tab, body: Markup) -> Markup {
    let head = html! {
        link rel="stylesheet" href=(ASSETS.0);
        // Not deferred: the chosen colours must be set before the first paint.
        script src=(ASSETS.1) {}
    };
    let body = html! {
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
        // Messages of the script to screen readers.
        div #said .hush role="status" aria-live="polite" {}
    };
    html_page(title, head, body)
}

/// The page of a problem.
pub fn problem_page(active: Tab, problem: &Problem) -> Markup {
    page(
        problem.title,
        active,
        html! {
            h1 { (problem.title) }
            (notice(NoticeKind::Error, html! { (problem.detail) }))
            p { a href=(active.path()) { "Start again on " (active.name()) } }
        },
    )
}

/// The kind of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeKind {
    /// Information.
    Info,
    /// A warning.
    Warning,
    /// An error.
    Error,
}

/// A highlighted line or two.
pub fn notice(kind: NoticeKind, content: Markup) -> Markup {
    let (class, role, word) = match kind {
        NoticeKind::Info => ("plain", "note", ""),
        NoticeKind::Warning => ("warn", "note", "Note: "),
        NoticeKind::Error => ("bad", "alert", "Problem: "),
    };
    html! {
        div class={ "notice " (class) } role=(role) {
            @if !word.is_empty() { strong { (word) } }
            (content)
        }
    }
}

/// A placeholder where there is nothing to show: why, and what to do.
pub fn empty(title: &str, what_to_do: Markup) -> Markup {
    html! { div.empty { p.title { (title) } div { (what_to_do) } } }
}

/// A plot or a table with a caption below.
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

/// Plots side by side, or below each other on a narrow screen.
pub fn plots(svgs: &[String]) -> Markup {
    html! { div.plots { @for svg in svgs { (plot(svg)) } } }
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
