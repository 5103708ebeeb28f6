//! Model, Data and Topics: what was learnt, from what.

use serde_json::json;

use crate::checks::{accessible, fits_width, no_console_errors};
use crate::driver::Browser;
use crate::element::keys;
use crate::frame::open;
use crate::search::number;
use crate::service::service;

#[test]
fn a_model_shows_its_dimensions_and_what_lies_near_a_word() {
    let Some(browser) = Browser::open("model") else { return };
    open(&browser, &format!("/model?name={}", service().learnt));
    assert!(browser.find("h1").text().contains(&service().learnt));
    assert!(!browser.all("#dimensions ~ .dimensions > *").is_empty());
    accessible(&browser);
    browser.screenshot("dimensions");
    // By keyboard: a word, and its neighbours, nearest first.
    browser.tab_to("#near-word");
    browser.type_text("heart");
    browser.press(keys::ENTER);
    browser.wait_until("the word", "return location.search.includes('word=heart')");
    let cosines = || -> Vec<f64> {
        let cells = browser.all("#near ~ .beside table:first-of-type tbody td[data-key]");
        cells.iter().map(|cell| number(&cell.text())).collect()
    };
    browser.find("#near ~ .beside table");
    let near: Vec<f64> = cosines();
    assert!(near.len() > 5 && near.iter().all(|c| (-1.0..=1.0).contains(c)), "{near:?}");
    no_console_errors(&browser);
    accessible(&browser);
    fits_width(&browser, 375);
    browser.screenshot("telephone");
}

#[test]
fn tables_are_ordered_by_their_headings() {
    let Some(browser) = Browser::open("tables") else { return };
    open(&browser, &format!("/model?name={}&word=heart", service().learnt));
    let table = "#near ~ .beside .wide:first-of-type table.sortable";
    let column = || -> Vec<f64> {
        let cells = browser.find(table).all("tbody td[data-key]");
        cells.iter().map(|cell| number(&cell.text())).collect()
    };
    let heading = format!("{table} th:nth-of-type(2) button");
    let rows = column().len();
    let mut orders = Vec::new();
    for _ in 0..2 {
        browser.find(&heading).click();
        let order =
            browser.find(&format!("{table} th:nth-of-type(2)")).attribute("aria-sort").unwrap();
        let values = column();
        assert_eq!(values.len(), rows);
        let sorted = match order.as_str() {
            "ascending" => values.is_sorted(),
            _ => values.is_sorted_by(|a, b| a >= b),
        };
        assert!(sorted, "{order}: {values:?}");
        orders.push(order);
    }
    assert_ne!(orders[0], orders[1]);
    let said = browser.run("return document.getElementById('said').textContent", json!([]));
    assert!(said.as_str().unwrap().contains(&orders[1]), "{said}");
    no_console_errors(&browser);
}

#[test]
fn the_data_page_shows_figures_and_plots() {
    let Some(browser) = Browser::open("data") else { return };
    open(&browser, "/data");
    let page = browser.page_text();
    for text in ["documents now", "Splits of the dataset", "training", "validation", "test"] {
        assert!(page.contains(text), "no “{text}” in {page}");
    }
    // Every plot has a size and a caption.
    let plots = browser.all("figure svg");
    assert!(!plots.is_empty());
    assert_eq!(browser.all("figure").len(), browser.all("figure figcaption").len());
    let width = "return [...document.querySelectorAll('figure svg')]
        .every(plot => plot.getBoundingClientRect().width > 100)";
    assert_eq!(browser.run(width, json!([])), true);
    no_console_errors(&browser);
    browser.colours("dark");
    browser.screenshot("dark");
}

#[test]
fn without_a_topic_model_the_topics_page_says_how_to_get_one() {
    let Some(browser) = Browser::open("topics") else { return };
    open(&browser, "/topics");
    let empty = browser.find(".empty").text();
    assert!(empty.contains("No active model has topics"), "{empty}");
    assert!(empty.contains("/models"), "{empty}");
    assert_eq!(browser.all("main table, main svg").len(), 0);
    no_console_errors(&browser);
    fits_width(&browser, 375);
}
