//! Compare: means and tests, every query's win or loss, and runs of other engines.

use std::io::Write;

use crate::checks::{accessible, fits_width, no_console_errors};
use crate::driver::Browser;
use crate::element::keys;
use crate::focus::focus_visible;
use crate::frame::open;
use crate::search::number;
use crate::service::service;

/// The differences that the list of queries shows, in its order.
fn differences(browser: &Browser) -> Vec<f64> {
    let cells = browser.all("table.queries td.win, table.queries td.loss, table.queries td.tie");
    cells.iter().map(|cell| number(&cell.text())).collect()
}

/// Follows the link of a heading of the list of queries.
#[track_caller]
fn order_by(browser: &Browser, heading: &str) {
    let links = browser.all("table.queries thead a");
    let link = links.iter().find(|link| link.text() == heading);
    link.unwrap_or_else(|| panic!("no heading {heading}")).click();
    browser.wait_until("an order", "return location.search.includes('sort=')");
    browser.find("table.queries");
}

/// Opens the place for runs, which is closed once there is one.
fn show_upload(browser: &Browser) {
    if !browser.find("[data-upload]").is_shown() {
        browser.find("details:has([data-upload]) > summary").click();
    }
}

#[test]
fn queries_are_ordered_by_what_they_win_or_lose() {
    let Some(browser) = Browser::open("compare") else { return };
    open(&browser, "/compare");
    let means = browser.find("table.sortable").text();
    assert!(means.contains(&service().lexical) && means.contains(&service().learnt), "{means}");
    assert!(!browser.all("figure svg").is_empty());
    browser.screenshot("means");

    order_by(&browser, "difference");
    let falling = |list: &[f64]| list.windows(2).all(|pair| pair[0] >= pair[1]);
    let mut first = differences(&browser);
    assert!(first.len() > 5, "{first:?}");
    // What is ordered so already is turned round.
    if !falling(&first) {
        order_by(&browser, "difference");
        first = differences(&browser);
    }
    assert!(falling(&first), "{first:?}");
    order_by(&browser, "difference");
    let mut last = differences(&browser);
    last.reverse();
    assert!(falling(&last), "{last:?}");
    assert!(first[0] >= last[0] && first[0] > 0.0, "{} {}", first[0], last[0]);
    // A query leads to the search with both models side by side.
    let query = browser.find("table.queries tbody th a");
    let text = query.text();
    query.click();
    browser.find(".column");
    assert_eq!(browser.find("#q").property("value"), text.as_str());
    assert_eq!(browser.all(".column").len(), 2);
    no_console_errors(&browser);
}

#[test]
fn wins_can_be_looked_at_alone_by_keyboard() {
    let Some(browser) = Browser::open("compare-wins") else { return };
    open(&browser, "/compare");
    browser.tab_to("#show");
    browser.type_text("wins");
    browser.press(keys::TAB);
    browser.tab_to("form[action='/compare#queries'] button");
    browser.press(keys::ENTER);
    browser.wait_until("the wins", "return location.search.includes('show=wins')");
    browser.find("table.queries");
    let wins = differences(&browser);
    assert!(!wins.is_empty() && wins.iter().all(|&gain| gain > 0.0), "{wins:?}");
    no_console_errors(&browser);
}

#[test]
fn a_run_of_another_engine_takes_part() {
    let Some(browser) = Browser::open("compare-upload") else { return };
    let document = "https://example.org/a?b=c&d";
    service().put(document, "Elsewhere", "known by its address");
    open(&browser, "/compare");
    // A run for queries of the list, by their texts: an engine need not know our ids.
    let queries = browser.all("table.queries tbody th a");
    let queries: Vec<String> = queries.iter().take(5).map(|query| query.text()).collect();
    let mut file = tempfile::NamedTempFile::with_suffix(".csv").unwrap();
    writeln!(file, "query,doc,score").unwrap();
    for query in &queries {
        writeln!(file, "{query},{document},2.5").unwrap();
    }
    file.flush().unwrap();
    let upload = browser.find("[data-upload]");
    show_upload(&browser);
    upload.all("#run-file")[0].type_text(file.path().to_str().unwrap());
    upload.all("#run-name")[0].clear();
    upload.all("#run-name")[0].type_text("elsewhere <b>");
    upload.all("button")[0].click();
    browser.wait_until("the run", "return location.search.includes('add=')");
    browser.wait_until(
        "the table",
        "return !document.querySelector('[data-reload]') && !!document.querySelector('table.sortable')",
    );
    let means = browser.find("table.sortable").text();
    assert!(means.contains("elsewhere <b>"), "{means}");
    let how = browser.find(".how").text();
    assert!(how.contains("all documents, because a run has what its engine retrieved"), "{how}");
    no_console_errors(&browser);
    accessible(&browser);
    browser.screenshot("run");

    // What is no run, is of another collection, or is called like a model is refused with a
    // reason, and the page stays.
    let known = &queries[0];
    for (name, text, reason) in [
        ("broken", "this is no run".to_owned(), "line 1"),
        ("strange", "q-of-others,d,1".to_owned(), "judged"),
        ("strange", format!("{known},d-of-others,1"), "documents"),
        (&service().lexical, format!("{known},{document},1"), "another name"),
    ] {
        open(&browser, "/compare");
        show_upload(&browser);
        browser.find("#run-name").type_text(name);
        browser.find("#run-text").type_text(&text);
        browser.find("[data-upload] button").click();
        let said = browser.wait_for("the reason", || {
            let said = browser.find("[data-upload-said]").text();
            (!said.is_empty() && said != "Uploading …").then_some(said)
        });
        assert!(said.contains(reason), "{name}: {said}");
        assert!(browser.url().ends_with("/compare"), "{}", browser.url());
    }

    // What was brought can be taken away again.
    browser.find("button[aria-label='Delete elsewhere <b>']").click();
    browser.wait_until("its end", "return !document.querySelector('ul.runs')");
    assert!(browser.url().ends_with("/compare"), "{}", browser.url());
}

#[test]
fn a_comparison_is_accessible_shows_the_focus_and_fits_a_telephone() {
    let Some(browser) = Browser::open("compare-checks") else { return };
    open(&browser, "/compare?show=wins");
    accessible(&browser);
    focus_visible(&browser);
    fits_width(&browser, 375);
    browser.screenshot("telephone");
}
