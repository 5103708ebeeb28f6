//! Search: a query, the models side by side, and why a document has its score.

use serde_json::{Value, json};

use crate::checks::{accessible, fits_width, no_console_errors};
use crate::driver::Browser;
use crate::element::{Element, keys};
use crate::focus::focus_visible;
use crate::service::service;

/// A query of the demo log that pages answer in other words.
const QUERY: &str = "heart attack";

/// Opens the page of results for a query, with the given columns or the usual ones.
#[track_caller]
fn results(browser: &Browser, query: &str, columns: &[&str]) {
    let columns: String = columns.iter().map(|c| format!("&m={}", encoded(c))).collect();
    browser.goto(&format!("{}/?q={}{columns}", service().url, encoded(query)));
    browser.find(".column");
}

/// A text as a part of an address.
pub fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let one = |byte| if plain(byte) { char::from(byte).into() } else { format!("%{byte:02X}") };
    text.bytes().map(one).collect()
}

/// A number as pages write it.
pub fn number(text: &str) -> f64 {
    let plain = text.trim().replace('−', "-").replace([',', '+'], "");
    plain.parse().unwrap_or_else(|_| panic!("“{text}” is no number"))
}

/// Opens the explanation of the first hit of a column and returns the score that the hit shows.
#[track_caller]
fn explain_first(browser: &Browser, column: usize) -> f64 {
    let why = format!(".columns > .column:nth-child({column}) .hit:first-child details.why");
    let summary = browser.find(&format!("{why} > summary"));
    summary.click();
    browser.find(&format!("{why} .explanation"));
    let text = summary.text();
    number(text.trim_start_matches("Score ").split([' ', '–']).next().unwrap())
}

/// The heat maps of the page: the numbers of every row (with its sum last), and the total.
fn heat_maps(browser: &Browser) -> Vec<(Vec<Vec<f64>>, Vec<f64>, f64)> {
    let tables = browser.run(
        "return [...document.querySelectorAll('table.heat')].map(table => ({
             rows: [...table.tBodies[0].rows].map(row => [...row.querySelectorAll('td')]
                 .map(cell => cell.textContent.trim() === '·' ? '0' : cell.textContent)),
             foot: [...table.tFoot.rows[0].querySelectorAll('td')].map(cell => cell.textContent),
         }))",
        json!([]),
    );
    let numbers = |list: &Value| -> Vec<f64> {
        list.as_array().unwrap().iter().map(|text| number(text.as_str().unwrap())).collect()
    };
    let table = |table: &Value| {
        let rows = table["rows"].as_array().unwrap().iter().map(numbers).collect();
        let mut foot = numbers(&table["foot"]);
        let total = foot.pop().unwrap();
        (rows, foot, total)
    };
    tables.as_array().unwrap().iter().map(table).collect()
}

/// Whether rounded numbers can add up to a rounded sum: each is off by half a unit of the last
/// digit at most.
fn adds_up(numbers: &[f64], sum: f64, unit: f64) -> bool {
    (numbers.iter().sum::<f64>() - sum).abs() <= unit * 0.5 * (numbers.len() as f64 + 1.0) + 1e-9
}

/// The unit of the last digit shown.
fn unit(browser: &Browser, css: &str) -> f64 {
    let text = browser.find(css).text();
    let digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
    0.1f64.powi(digits as i32)
}

#[test]
fn a_query_shows_what_each_model_finds_and_where_they_differ() {
    let Some(browser) = Browser::open("search") else { return };
    browser.goto(&service().url);
    // A new user finds queries to try and what the columns will be.
    assert!(!browser.all(".welcome .chips a").is_empty());
    assert!(browser.all(".welcome .models dt").len() >= 2);
    browser.find("#q").type_text(QUERY);
    browser.find("form.search .box button").click();
    browser.wait_until("two columns", "return document.querySelectorAll('.column').length >= 2");
    assert_eq!(browser.find("#q").property("value"), QUERY);
    let columns = browser.all(".column");
    for column in &columns {
        assert_eq!(column.all(".hit").len(), 10);
        assert_eq!(column.all("h2").len(), 1);
    }
    // Side by side on a wide window.
    let place = |column: &Element<'_>| {
        let said = column.property("offsetLeft");
        said.as_f64().unwrap()
    };
    assert!(place(&columns[0]) < place(&columns[1]));
    let differences = browser.find(".differences").text();
    assert!(differences.contains("agree on"), "{differences}");
    assert!(differences.contains("no word with your query"), "{differences}");
    let marked = browser.find(".snippet mark").text().to_lowercase();
    assert!(QUERY.split(' ').any(|word| marked.starts_with(word)), "{marked}");
    assert!(!browser.all(".moves .up, .moves .down, .moves .only").is_empty());
    assert!(browser.all(".reason").iter().all(|reason| reason.text().ends_with('.')));
    // A rank of two digits stands on one line beside a long title.
    let broken = browser.run(
        "return [...document.querySelectorAll('.hit .rank')].filter(rank =>
             rank.getBoundingClientRect().height > 2 * parseFloat(getComputedStyle(rank).fontSize))
             .map(rank => rank.textContent)",
        json!([]),
    );
    assert_eq!(broken, json!([]), "ranks are broken over lines");
    no_console_errors(&browser);
    browser.screenshot("results");
}

#[test]
fn an_example_is_a_query() {
    let Some(browser) = Browser::open("example") else { return };
    browser.goto(&service().url);
    let example = browser.find(".welcome .chips a");
    let query = example.text();
    example.click();
    browser.wait_until("columns", "return document.querySelectorAll('.hit').length > 0");
    assert_eq!(browser.find("#q").property("value"), query.as_str());
    no_console_errors(&browser);
}

#[test]
fn the_heat_map_adds_up_to_the_score() {
    let Some(browser) = Browser::open("explain") else { return };
    let learnt = &service().learnt;
    results(&browser, QUERY, &[learnt]);
    let score = explain_first(&browser, 1);
    let maps = heat_maps(&browser);
    assert_eq!(maps.len(), 1);
    let unit = unit(&browser, "table.heat tfoot strong");
    let (rows, foot, total) = &maps[0];
    assert!((total - score).abs() <= unit, "{total} is not the score {score}");
    for row in rows {
        // The row of all smaller pairs has nothing but its sum.
        let (sum, cells) = row.split_last().unwrap();
        assert!(cells.is_empty() || adds_up(cells, *sum, unit), "{row:?}");
    }
    let sums: Vec<f64> = rows.iter().map(|row| *row.last().unwrap()).collect();
    assert!(adds_up(&sums, *total, unit), "{sums:?} do not add up to {total}");
    for (column, sum) in foot.iter().enumerate() {
        let cells: Vec<f64> =
            rows.iter().filter(|row| row.len() > 1).map(|row| row[column]).collect();
        assert!(adds_up(&cells, *sum, unit), "column {column}: {cells:?} but {sum}");
    }
    accessible(&browser);
    browser.screenshot("heat-map");
    // On a page of its own it is the same.
    browser.find("details.why[open] > p a").click();
    browser.wait_until("the page", "return location.pathname === '/explain'");
    assert_eq!(heat_maps(&browser), maps);
    accessible(&browser);
    fits_width(&browser, 375);
}

#[test]
fn a_fused_score_is_the_sum_of_what_its_models_add() {
    let Some(browser) = Browser::open("fused") else { return };
    let (lexical, learnt) = (&service().lexical, &service().learnt);
    results(&browser, QUERY, &[&format!("{lexical}+{learnt}")]);
    let score = explain_first(&browser, 1);
    let unit = unit(&browser, ".explanation > .sum-line strong");
    let total = number(&browser.find(".explanation > .sum-line strong").text());
    assert!((total - score).abs() <= unit, "{total} is not the score {score}");
    let rows = browser.all(".explanation > .wide .parts tbody tr");
    let added: Vec<f64> = rows.iter().map(|row| number(&row.all("td.n")[1].text())).collect();
    let named: Vec<String> = rows.iter().map(|row| row.all("th")[0].text()).collect();
    assert_eq!(named, [lexical.as_str(), learnt.as_str()]);
    assert!(adds_up(&added, total, unit), "{added:?} do not add up to {total}");
    assert_eq!(browser.all(".explanation .model-part").len(), 2);
    no_console_errors(&browser);
}

#[test]
fn further_pages_go_on_where_the_first_ended() {
    let Some(browser) = Browser::open("paging") else { return };
    results(&browser, QUERY, &[&service().lexical, &service().learnt]);
    let hits = || -> Vec<Vec<(String, String)>> {
        let hit =
            |hit: &Element<'_>| (hit.attribute("data-doc").unwrap(), hit.all("summary")[0].text());
        browser.all(".column").iter().map(|c| c.all(".hit").iter().map(hit).collect()).collect()
    };
    let first = hits();
    browser.find("a[rel=next]").click();
    browser.wait_until("ranks from 11 on", "return document.querySelector('ol.hits').start === 11");
    let second = hits();
    for (first, second) in first.iter().zip(&second) {
        assert!(first.iter().all(|(id, _)| second.iter().all(|(other, _)| other != id)));
    }
    browser.find("a[rel=prev]").click();
    browser.wait_until("ranks from 1 on", "return document.querySelector('ol.hits').start === 1");
    assert_eq!(hits(), first, "the first page has changed");
    no_console_errors(&browser);
}

#[test]
fn one_can_search_and_understand_by_keyboard_alone() {
    let Some(browser) = Browser::open("keyboard") else { return };
    browser.goto(&service().url);
    browser.press('/');
    browser.type_text(QUERY);
    browser.press(keys::ENTER);
    browser.find(".hit");
    browser.tab_to("details.why summary");
    browser.press(keys::ENTER);
    browser.find("details.why[open] .explanation");
    browser.screenshot("explanation");
    browser.press(keys::ENTER);
    browser.wait_until("it to close", "return !document.querySelector('details.why[open]')");
    // The options: another choice of columns.
    browser.press('/');
    browser.tab_to("details.options summary");
    browser.press(keys::ENTER);
    browser.tab_to("#m1");
    let before = browser.find("#m1").property("value");
    browser.press(keys::UP);
    assert_ne!(browser.find("#m1").property("value"), before);
    browser.press(keys::ENTER);
    browser.tab_to("details.options button");
    browser.press(keys::ENTER);
    browser.wait_until("the other columns", "return location.search.includes('m=')");
    browser.tab_to("a[rel=next]");
    browser.press(keys::ENTER);
    browser.wait_until("ranks from 11 on", "return document.querySelector('ol.hits').start === 11");
    no_console_errors(&browser);
}

#[test]
fn results_are_accessible_and_show_the_focus() {
    let Some(browser) = Browser::open("results") else { return };
    results(&browser, QUERY, &[]);
    explain_first(&browser, 1);
    explain_first(&browser, 2);
    accessible(&browser);
    focus_visible(&browser);
    browser.colours("dark");
    browser.screenshot("dark");
}

#[test]
fn results_fit_a_telephone() {
    let Some(browser) = Browser::open("results-telephone") else { return };
    browser.phone(375, 800);
    results(&browser, QUERY, &[]);
    explain_first(&browser, 1);
    explain_first(&browser, 2);
    fits_width(&browser, 375);
    browser.screenshot("light");
    fits_width(&browser, 320);
    // One below the other: side by side nobody could read them.
    let tops = browser.run(
        "return [...document.querySelectorAll('.column')].map(c => c.getBoundingClientRect().left)",
        json!([]),
    );
    let tops = tops.as_array().unwrap();
    assert!(tops.iter().all(|left| left == &tops[0]), "{tops:?}");
}

#[test]
fn what_is_not_found_or_not_sensible_is_said_in_words() {
    let Some(browser) = Browser::open("nothing") else { return };
    results(&browser, "qqzzxx", &[]);
    assert!(browser.page_text().contains("qqzzxx"));
    assert!(browser.find(".column").text().contains("Nothing found"));
    no_console_errors(&browser);
    browser.screenshot("found");
    browser.goto(&format!("{}/?q=heart&k=1000000000", service().url));
    let said = browser.find("[role=alert]").text();
    assert!(said.contains("from 1 to 100"), "{said}");
    // The console says that the page came with a status of 400, as it should.
    browser.console();
    accessible(&browser);
}

#[test]
fn who_has_to_log_in_again_is_led_there_and_back() {
    let Some(browser) = Browser::open("search-login") else { return };
    results(&browser, QUERY, &[]);
    // As if the key had been taken away since the page was made.
    let redirected =
        "window.fetch = async () => ({ ok: true, redirected: true, text: async () => 'Log in' })";
    browser.run(redirected, json!([]));
    browser.find("details.why > summary").click();
    let back = format!("/login?next={}", encoded(&format!("/?q={}", encoded(QUERY))));
    browser.wait_for("the login", || browser.url().ends_with(&back).then_some(()));
    assert!(browser.find("#key").is_shown());
}
