//! The part of the Compare page that goes query by query.

use liken::eval::RunComparison;
use maud::{Markup, html};

use super::choice::Choice;
use super::judged_queries::JudgedQueries;
use super::plots;
use super::queries::{Histogram, Outcome, PER_PAGE, QueryRow, Sort, rows, select};
use crate::pages::layout::{self, Order, address, figure, fixed, grouped, plot, signed};
use crate::pages::page_params::PageParams;

/// Bins to each side of the histogram.
const SIDES: usize = 10;

/// What the address asks of the list of queries.
struct View<'a> {
    /// The run looked at.
    of: usize,
    /// The measure.
    measure: usize,
    filter: &'a str,
    outcome: Outcome,
    sort: Sort,
    order: Order,
    page: usize,
}

impl<'a> View<'a> {
    fn of(asked: &'a PageParams, choice: &Choice, comparison: &RunComparison) -> Self {
        let base = comparison.baseline_row;
        // A run that was just uploaded is what people want to see.
        let of = asked.one("of").or(asked.one("add"));
        let of = choice.systems.iter().position(|e| Some(e.key().as_str()) == of);
        let other = usize::from(base == 0);
        let measure =
            comparison.measures.iter().position(|m| Some(m.as_str()) == asked.one("measure"));
        let show = asked.one("show");
        let outcome = Outcome::NAMES.iter().find(|(_, name, _)| Some(*name) == show);
        let sort = Sort::named(asked.one("sort").unwrap_or_default(), comparison.rows.len());
        let order = match (asked.one("order"), sort) {
            (Some("asc"), _) | (None, Sort::Query) => Order::Ascending,
            _ => Order::Descending,
        };
        View {
            of: of.filter(|&of| of != base).unwrap_or(other),
            measure: measure.unwrap_or(0),
            filter: asked.one("q").unwrap_or_default(),
            outcome: outcome.map_or(Outcome::All, |(outcome, _, _)| *outcome),
            sort,
            order,
            page: asked.number("page", 1).unwrap_or(1).max(1),
        }
    }
}

/// The histogram of differences, and a page of the queries.
pub fn by_query(
    asked: &PageParams,
    choice: &Choice,
    questions: &JudgedQueries,
    comparison: &RunComparison,
) -> Markup {
    let view = View::of(asked, choice, comparison);
    let measure = &comparison.measures[view.measure];
    let all = rows(comparison, questions, view.measure, view.of);
    let histogram = Histogram::of(all.iter().map(|row| row.gain), SIDES);
    let (of, base) = (&comparison.rows[view.of].name, &comparison.baseline);
    let chosen = select(all, view.filter, view.outcome, view.sort, view.order);
    let pages = chosen.len().div_ceil(PER_PAGE).max(1);
    let page = view.page.min(pages);
    let from = (page - 1) * PER_PAGE;
    let shown = &chosen[from.min(chosen.len())..(from + PER_PAGE).min(chosen.len())];
    html! {
        h2 #queries { "Wins and losses, query by query" }
        (figure(
            &format!("How many queries {of} answers better or worse than {base}, by the difference in {measure}."),
            plot(&plots::gains(&histogram, measure, of, base)),
        ))
        (view_form(asked, choice, comparison, &view))
        p role="status" {
            @if chosen.is_empty() {
                "No query fits."
            } @else {
                "Queries " (grouped(from + 1)) " to " (grouped(from + shown.len())) " of " (grouped(chosen.len()))
                ": " (measure) " of each, and the difference of " (of) " to " (base)
                ". A query leads to a search with both side by side."
            }
        }
        @if !shown.is_empty() { (query_table(asked, choice, comparison, &view, shown)) }
        (pager(asked, page, pages))
    }
}

fn view_form(
    asked: &PageParams,
    choice: &Choice,
    comparison: &RunComparison,
    view: &View<'_>,
) -> Markup {
    html! {
        form method="get" action="/compare#queries" {
            div.fields {
                div.field {
                    label for="of" { "System" }
                    select #of name="of" {
                        @for (r, system) in choice.systems.iter().enumerate().filter(|&(r, _)| r != comparison.baseline_row) {
                            option value=(system.key()) selected[r == view.of] { (system.name()) }
                        }
                    }
                }
                div.field {
                    label for="measure" { "By" }
                    select #measure name="measure" {
                        @for (m, measure) in comparison.measures.iter().enumerate() {
                            option value=(measure) selected[m == view.measure] { (measure) }
                        }
                    }
                }
                div.field {
                    label for="show" { "Show" }
                    select #show name="show" {
                        @for (outcome, name, about) in Outcome::NAMES {
                            option value=(name) selected[outcome == view.outcome] { (about) }
                        }
                    }
                }
                div.field {
                    label for="filter" { "With the text" }
                    input #filter type="text" name="q" value=(view.filter);
                }
                button type="submit" { "Show" }
            }
            @for (name, value) in asked.except(&["of", "measure", "show", "q", "page"]) {
                input type="hidden" name=(name) value=(value);
            }
        }
    }
}

fn query_table(
    asked: &PageParams,
    choice: &Choice,
    comparison: &RunComparison,
    view: &View<'_>,
    shown: &[QueryRow],
) -> Markup {
    let head = |sort: Sort, name: &str, number: bool| {
        let sorted = view.sort == sort;
        let first = if number { Order::Descending } else { Order::Ascending };
        let turned = match view.order {
            Order::Ascending => "desc",
            Order::Descending => "asc",
        };
        let first = if first == Order::Ascending { "asc" } else { "desc" };
        let order = if sorted { turned } else { first };
        let changes = [("sort", sort.name()), ("order", order.to_owned()), ("page", String::new())];
        let changes: Vec<(&str, &str)> = changes.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let link = asked.address("/compare", &changes) + "#queries";
        let state = sorted.then_some(match view.order {
            Order::Ascending => "ascending",
            Order::Descending => "descending",
        });
        html! {
            th scope="col" class=[number.then_some("n")] aria-sort=[state] { a href=(link) { (name) } }
        }
    };
    let clicks = shown.iter().any(|row| row.clicks > 0.0);
    let search = |row: &QueryRow| {
        let runs = [view.of, comparison.baseline_row];
        let models = runs.iter().filter_map(|&run| choice.systems.get(run)?.model());
        let mut pairs = vec![("q", row.text.as_str())];
        pairs.extend(models.map(|name| ("m", name)));
        address("/", &pairs)
    };
    let tone = |gain: f64| {
        if gain > 0.0 {
            "win"
        } else if gain < 0.0 {
            "loss"
        } else {
            "tie"
        }
    };
    html! {
        div.wide tabindex="0" role="region" aria-label="Queries" {
            table.queries {
                caption.hush { "Queries with their " (comparison.measures[view.measure]) }
                thead { tr {
                    (head(Sort::Query, "query", false))
                    (head(Sort::Gain, "difference", true))
                    (head(Sort::Size, "size", true))
                    @for (r, row) in comparison.rows.iter().enumerate() {
                        (head(Sort::Value(r), &row.name, true))
                    }
                    @if clicks { (head(Sort::Clicks, "clicks", true)) }
                } }
                tbody { @for row in shown { tr {
                    th scope="row" {
                        a href=(search(row)) { (row.text) }
                        @if row.id != row.text { " " span.id.quiet { (row.id) } }
                    }
                    td class={ "n " (tone(row.gain)) } { (signed(row.gain, 4)) }
                    td { (layout::bar(row.gain, 1.0, true)) }
                    @for value in &row.values { td.n { (fixed(*value, 4)) } }
                    @if clicks { td.n { (grouped(row.clicks.max(0.0).round() as usize)) } }
                } } }
            }
        }
    }
}

/// Links to the pages before and after.
fn pager(asked: &PageParams, page: usize, pages: usize) -> Markup {
    let link = |to: usize| asked.address("/compare", &[("page", &to.to_string())]) + "#queries";
    html! {
        @if pages > 1 {
            nav.pager aria-label="Pages of queries" {
                @if page > 1 {
                    a.button href=(link(1)) { "First" } " "
                    a.button rel="prev" href=(link(page - 1)) { "Before" } " "
                }
                span { "Page " (grouped(page)) " of " (grouped(pages)) } " "
                @if page < pages {
                    a.button rel="next" href=(link(page + 1)) { "Next" } " "
                    a.button href=(link(pages)) { "Last" }
                }
            }
        }
    }
}
