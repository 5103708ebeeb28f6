//! Judge: grades by keyboard alone, kept at once, taken back, exported.

use serde_json::json;

use crate::checks::{accessible, fits_width, no_console_errors};
use crate::driver::Browser;
use crate::element::keys;
use crate::focus::focus_visible;
use crate::service::service;

/// What the line of state says; the service has answered when it is more than “Saving …”.
#[track_caller]
fn saved(browser: &Browser, expected: &str) {
    browser.wait_for(expected, || (browser.find("[data-saved]").text() == expected).then_some(()));
}

/// The grades on the page, in order.
fn grades(browser: &Browser) -> Vec<Option<String>> {
    browser.all(".card").iter().map(|card| card.attribute("data-grade")).collect()
}

/// A file of the service.
fn fetched(browser: &Browser, path: &str) -> String {
    let script = "const done = arguments[1];
        fetch(arguments[0]).then(answer => answer.text()).then(done, error => done(String(error)))";
    browser.run_async(script, json!([path])).as_str().unwrap().to_owned()
}

#[test]
fn documents_are_graded_by_keyboard_alone() {
    let Some(browser) = Browser::open("judge") else { return };
    browser.goto(&format!("{}/judge", service().url));
    browser.tab_to("#q");
    browser.type_text("high blood pressure");
    browser.tab_to("#judge");
    browser.type_text("Ada");
    browser.press(keys::ENTER);
    browser.find(".card");
    let n = browser.all(".card").len();
    assert!(n > 10, "both models' hits, not {n}");
    assert_eq!(grades(&browser), vec![None; n]);

    browser.press('3');
    saved(&browser, "Saved: 3");
    browser.press('0');
    saved(&browser, "Saved: 0");
    browser.press('j');
    browser.press('2');
    saved(&browser, "Saved: 2");
    let given = |list: &[Option<&str>]| -> Vec<Option<String>> {
        let mut all: Vec<_> = list.iter().map(|grade| grade.map(str::to_owned)).collect();
        all.resize(n, None);
        all
    };
    assert_eq!(grades(&browser), given(&[Some("3"), Some("0"), None, Some("2")]));
    assert_eq!(browser.find("[data-done]").text(), "3");
    // Undo takes the last back and stands there again; the arrows go to the first.
    browser.press('u');
    saved(&browser, "Taken back");
    for _ in 0..3 {
        browser.press(keys::UP);
    }
    browser.press('1');
    saved(&browser, "Saved: 1");
    let expected = given(&[Some("1"), Some("0")]);
    assert_eq!(grades(&browser), expected);
    // 9 is no grade here.
    browser.press('9');
    assert_eq!(grades(&browser), expected);
    no_console_errors(&browser);
    browser.screenshot("graded");

    // All that is still so when one comes back, and in the file to take away.
    let first = browser.find(".card").attribute("data-id").unwrap();
    browser.goto(&browser.url());
    assert_eq!(grades(&browser), expected);
    let queries = fetched(&browser, "/judgments.queries");
    let query = queries.lines().find_map(|line| line.strip_suffix("\thigh blood pressure"));
    let query = query.unwrap_or_else(|| panic!("the query is not in {queries}"));
    let qrels = fetched(&browser, "/judgments.qrels");
    let mut lines = qrels.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let line = lines.find(|fields| fields[0] == query && fields[2] == first);
    assert_eq!(line.unwrap_or_else(|| panic!("no {first} in {qrels}"))[3], "1");
    no_console_errors(&browser);

    browser.press('n');
    browser.wait_until(
        "the next query",
        "return location.search.includes('q=') && !location.search.includes('blood')",
    );
    assert_eq!(browser.find("#judge").property("value"), "Ada", "the name goes along");
}

#[test]
fn documents_are_graded_with_a_thumb() {
    let Some(browser) = Browser::open("judge-telephone") else { return };
    browser.phone(375, 800);
    browser.goto(&format!("{}/judge?q=sore+throat&judge=Bo", service().url));
    browser.find(".card [data-g='2']").click();
    saved(&browser, "Saved: 2");
    assert_eq!(grades(&browser)[0].as_deref(), Some("2"));
    assert_eq!(browser.find(".card [data-g='2']").attribute("aria-pressed").unwrap(), "true");
    fits_width(&browser, 375);
    browser.screenshot("graded");
    browser.find(".card [data-g='-']").click();
    saved(&browser, "Taken back");
    assert_eq!(grades(&browser)[0], None);
    no_console_errors(&browser);
}

#[test]
fn judging_is_accessible_and_shows_the_focus() {
    let Some(browser) = Browser::open("judge-focus") else { return };
    browser.goto(&format!("{}/judge?q=sore+throat&judge=Cy&depth=3", service().url));
    browser.find(".card [data-g='1']").click();
    saved(&browser, "Saved: 1");
    accessible(&browser);
    let stops = focus_visible(&browser);
    let buttons = stops.iter().filter(|stop| stop.starts_with("button[name=\"g\"]")).count();
    assert_eq!(buttons, 4 * browser.all(".card").len() + 1, "{stops:?}");
}
