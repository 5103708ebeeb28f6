//! The section of the Compare page with the queries.

use liken::eval::RunComparison;
use maud::{Markup, html};

use super::params::CompareParams;
use super::plots;
use super::queries::{Histogram, Order, Outcome, PER_PAGE, QueryRow, Sort, rows, select};
use crate::pages::judged_queries::JudgedQueries;
use crate::pages::layout::{self, address, figure, fixed, grouped, plot, signed};
use crate::pages::page_params::PageParams;
use crate::pages::paging::Paging;

/// The bins on each side of the histogram.
const SIDES: usize = 10;

/// The parameters of the list of queries.
struct QueryView<'a> {
    /// The index of the system that is compared with the baseline.
    of: usize,
    /// The index of the measure.
    measure: usize,
    filter: &'a str,
    outcome: Outcome,
    sort: Sort,
    order: Order,
    page: usize,
}

impl<'a> QueryView<'a> {
    fn of(asked: &'a PageParams, params: &CompareParams, comparison: &RunComparison) -> Self {
        let base = comparison.baseline_row;
        // A run that was just uploaded comes first.
        let of = asked.one("of").or(asked.one("add"));
        let of = params.systems.iter().position(|e| Some(e.key().as_str()) == of);
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
        QueryView {
            of: of.filter(|&of| of != base).unwrap_or(other),
            measure: measure.unwrap_or(0),
            filter: asked.one("q").unwrap_or_default(),
            outcome: outcome.map_or(Outcome::All, |(outcome, _, _)| *outcome),
            sort,
            order,
            page: asked.number("page", 1).unwrap_or(1),
        }
    }
}

/// The histogram of differences, and a page of the queries.
pub fn by_query(
    asked: &PageParams,
    params: &CompareParams,
    judged: &JudgedQueries,
    comparison: &RunComparison,
) -> Markup {
    let view = QueryView::of(asked, params, comparison);
    let measure = &comparison.measures[view.measure];
    let all = rows(comparison, judged, view.measure, view.of);
    let histogram = Histogram::of(all.iter().map(|row| row.gain), SIDES);
    let (of, base) = (&comparison.rows[view.of].name, &comparison.baseline);
    let chosen = select(all, view.filter, view.outcome, view.sort, view.order);
    let paging = Paging::new(view.page, chosen.len(), PER_PAGE);
    let range = paging.range();
    let shown = &chosen[range.clone()];
    let address = |page: &str| asked.address("/compare", &[("page", page)]) + "#queries";
    html! {
        h2 #queries { "Wins and losses, query by query" }
        (figure(
            &format!("Queries by the difference in {measure} between {of} and {base}."),
            plot(&plots::gains(&histogram, measure, of, base)),
        ))
        (view_form(asked, params, comparison, &view))
        p role="status" {
            @if chosen.is_empty() {
                "No query fits."
            } @else {
                "Queries " (grouped(range.start + 1)) " to " (grouped(range.end)) " of " (grouped(chosen.len()))
                ": " (measure) " of each, and the difference of " (of) " to " (base)
                ". Each query links to a search with both side by side."
            }
        }
        @if !shown.is_empty() { (query_table(asked, params, comparison, &view, shown)) }
        (paging.nav("Pages of queries", address))
    }
}

fn view_form(
    asked: &PageParams,
    params: &CompareParams,
    comparison: &RunComparison,
    view: &QueryView<'_>,
) -> Markup {
    html! {
        form method="get" action="/compare#queries" {
            div.fields {
                div.field {
                    label for="of" { "System" }
                    select #of name="of" {
                        @for (r, system) in params.systems.iter().enumerate().filter(|&(r, _)| r != comparison.baseline_row) {
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
                    label for="filter" { "Text or id" }
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
    params: &CompareParams,
    comparison: &RunComparison,
    view: &QueryView<'_>,
    shown: &[QueryRow],
) -> Markup {
    let head = |sort: Sort, name: &str, number: bool| {
        let sorted = view.sort == sort;
        // Another click on the sorted column reverses its order.
        let descending = if sorted { view.order == Order::Ascending } else { number };
        let order = if descending { "desc" } else { "asc" };
        let by = sort.name();
        let changes = [("sort", by.as_str()), ("order", order), ("page", "")];
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
        let models = runs.iter().filter_map(|&run| params.systems.get(run)?.model());
        let mut pairs = vec![("q", row.text.as_str())];
        pairs.extend(models.map(|name| ("m", name)));
        address("/", &pairs)
    };
    let outcome = |gain: f64| match gain {
        gain if gain > 0.0 => "win",
        gain if gain < 0.0 => "loss",
        _ => "tie",
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
                    td class={ "n " (outcome(row.gain)) } { (signed(row.gain, 4)) }
                    td { (layout::bar(row.gain, 1.0, true)) }
                    @for value in &row.values { td.n { (fixed(*value, 4)) } }
                    @if clicks { td.n { (grouped(row.clicks.max(0.0).round() as usize)) } }
                } } }
            }
        }
    }
}
