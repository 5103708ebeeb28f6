//! What holds of all pages: the checks, the navigation, the colours, the keyboard.

use serde_json::json;

use crate::checks::{accessible, fits_width, no_console_errors};
use crate::driver::Browser;
use crate::element::keys;
use crate::focus::focus_visible;
use crate::service::service;

/// The pages, as the navigation names them, and where they are.
const PAGES: [(&str, &str); 6] = [
    ("Search", "/"),
    ("Compare", "/compare"),
    ("Judge", "/judge"),
    ("Model", "/model"),
    ("Data", "/data"),
    ("Topics", "/topics"),
];

/// Opens a page and waits for what it works out in the background: until then it comes anew
/// every second.
#[track_caller]
pub fn open(browser: &Browser, path: &str) {
    browser.goto(&format!("{}{path}", service().url));
    browser.wait_until(
        "the page to be complete",
        "return document.readyState === 'complete' && !document.querySelector('[data-reload]')",
    );
}

#[test]
fn the_navigation_leads_everywhere_and_says_where_one_is() {
    let Some(browser) = Browser::open("navigation") else { return };
    browser.goto(&service().url);
    for (name, path) in PAGES {
        let links = browser.all("header nav a");
        let link = links.iter().find(|link| link.text() == name);
        link.unwrap_or_else(|| panic!("no link {name}")).click();
        let address = format!("{}{path}", service().url);
        browser.wait_for(name, || (browser.url() == address).then_some(()));
        assert_eq!(browser.find("nav [aria-current=page]").text(), name);
        assert_eq!(browser.all("h1").len(), 1, "headings of {name}");
        no_console_errors(&browser);
    }
}

#[test]
fn every_page_is_accessible_in_light_and_dark() {
    let Some(browser) = Browser::open("accessible") else { return };
    for (name, path) in PAGES {
        open(&browser, path);
        accessible(&browser);
        browser.screenshot(name);
    }
}

#[test]
fn every_page_shows_the_focus() {
    let Some(browser) = Browser::open("focus") else { return };
    for (name, path) in PAGES {
        open(&browser, path);
        let stops = focus_visible(&browser);
        // The way past the navigation comes first, then all of the navigation.
        assert!(stops[0].starts_with("a[href=\"#content\"]"), "{name}: {stops:?}");
        for (_, path) in PAGES {
            let link = format!("a[href=\"{path}\"]");
            assert!(stops.iter().any(|stop| stop.starts_with(&link)), "{name}: {stops:?}");
        }
    }
}

#[test]
fn every_page_fits_a_telephone() {
    let Some(browser) = Browser::open("telephone") else { return };
    for (name, path) in PAGES {
        for width in [320, 375] {
            browser.phone(width, 800);
            open(&browser, path);
            fits_width(&browser, width);
        }
        browser.screenshot(name);
    }
}

#[test]
fn colours_follow_the_system_until_one_chooses_and_the_choice_lasts() {
    let Some(browser) = Browser::open("colours") else { return };
    let light = || {
        let colour = browser.find("body").css("background-color");
        let numbers = colour.trim_start_matches(|c: char| !c.is_ascii_digit());
        numbers.split(',').next().unwrap().trim().parse::<f64>().unwrap() > 128.0
    };
    browser.goto(&service().url);
    for scheme in ["dark", "light"] {
        browser.colours(scheme);
        assert_eq!(light(), scheme == "light");
    }
    // Light, then dark; and dark it stays on other pages, whatever the system says.
    let choice = || browser.run("return document.documentElement.dataset.theme || ''", json!([]));
    for expected in ["light", "dark"] {
        browser.find("[data-theme-toggle]").click();
        assert_eq!(choice(), expected);
    }
    assert!(!light());
    browser.goto(&format!("{}/data", service().url));
    assert!(!light());
    browser.find("[data-theme-toggle]").click();
    assert_eq!(choice(), "");
    assert!(light());
    no_console_errors(&browser);
}

#[test]
fn the_keyboard_skips_the_navigation_and_finds_the_search_box() {
    let Some(browser) = Browser::open("shortcuts") else { return };
    browser.goto(&format!("{}/data", service().url));
    browser.press(keys::TAB);
    assert!(browser.focused().is_shown());
    browser.press(keys::ENTER);
    browser.wait_until(
        "the content to have the focus",
        "return document.activeElement === document.querySelector('main')",
    );
    browser.goto(&service().url);
    browser.run("document.activeElement.blur()", json!([]));
    browser.press('/');
    assert_eq!(browser.focused().attribute("type").as_deref(), Some("search"));
    browser.type_text("a/b");
    assert_eq!(browser.focused().property("value"), "a/b");
    no_console_errors(&browser);
}
