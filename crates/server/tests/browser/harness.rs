//! The tools themselves: what they find on a page without faults, and that each check sees the
//! fault it is for.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::json;

use crate::checks::{accessible, fits_width, no_console_errors, nothing_executed};
use crate::driver::{Browser, decode_base64};
use crate::element::keys;
use crate::focus::focus_visible;
use crate::served::{Page, serve};

const STRICT: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'";

const GOOD: &str = "<!doctype html><html lang=en><meta name=viewport content='width=device-width'>
<title>Good</title><style>
:root { color-scheme: light dark } body { background: #fff; color: #222 }
@media (prefers-color-scheme: dark) { body { background: #111; color: #eee } a { color: #9cf } }
:focus-visible { outline: 3px solid #c60 } #ring:focus-visible { outline: none; box-shadow: 0 0 0 3px }
</style><main><h1>Good</h1><form action=/good><label>Query <input name=q id=q></label>
<button id=ring>Search</button></form><a href=/good?next>Next</a>
<p id=text>&lt;script&gt;window.pwned=1&lt;/script&gt;</p></main>";

const SCRIPTED: &str = "<!doctype html><html lang=en><title>Scripted</title>
<input id=q autofocus><ol id=log></ol><script>
addEventListener('keydown', event => {
  const line = document.createElement('li');
  line.textContent = (event.shiftKey ? 'Shift+' : '') + event.key;
  setTimeout(() => document.querySelector('#log').append(line), 50);
});</script>";

const BAD: &str = "<!doctype html><html><title>Bad</title><style>
:focus { outline: none } #wide { width: 700px } p { color: #aaa; background: #fff }
@media (prefers-color-scheme: dark) { h1 { color: #333; background: #000 } }
</style><h1>Bad</h1><p>pale<input><a href=/>link</a><div id=wide>wide</div><img src=/missing.png>";

const TAKEN: &str = "<!doctype html><title>Taken</title><img src=x onerror='window.pwned=2'>";

const PAGES: &[Page] = &[
    ("/good", STRICT, GOOD),
    ("/good?q=", STRICT, GOOD),
    ("/good?q=two+words", STRICT, GOOD),
    ("/good?next", STRICT, GOOD),
    ("/scripted", "", SCRIPTED),
    ("/bad", "", BAD),
    ("/taken", "", TAKEN),
    ("/guarded", STRICT, TAKEN),
    ("/dialogue", "", "<!doctype html><title>x</title><script>setTimeout(alert, 0, 4)</script>"),
];

/// What a check that must fail says.
#[track_caller]
fn fault(check: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(check)).expect_err("the check saw no fault");
    panic.downcast_ref::<String>().expect("a message").clone()
}

#[test]
fn a_page_without_faults_passes_every_check() {
    let Some(browser) = Browser::open("harness-good") else { return };
    let page = format!("{}/good", serve(PAGES));
    browser.goto(&page);
    no_console_errors(&browser);
    accessible(&browser);
    nothing_executed(&browser);
    let stops = focus_visible(&browser);
    assert_eq!(stops.len(), 3, "{stops:?}");
    assert!(stops[0].starts_with("input#q"), "{stops:?}");
    fits_width(&browser, 375);
}

#[test]
fn a_form_can_be_filled_in_by_mouse_or_keyboard() {
    let Some(browser) = Browser::open("harness-form") else { return };
    let base = serve(PAGES);
    browser.goto(&format!("{base}/good"));
    assert_eq!(browser.find("#q").label(), "Query");
    browser.find("#q").click();
    browser.find("#q").type_text("two wordz");
    browser.press(keys::BACKSPACE);
    browser.type_text("s");
    assert_eq!(browser.find("#q").property("value"), "two words");
    browser.find("button").click();
    browser.wait_for("the answer", || browser.url().ends_with("?q=two+words").then_some(()));

    browser.goto(&format!("{base}/good"));
    browser.tab_to("#q");
    browser.type_text("two words");
    browser.press(keys::ENTER);
    browser.wait_for("the answer", || browser.url().ends_with("?q=two+words").then_some(()));
    browser.tab_to("a");
    assert_eq!(browser.focused().attribute("href").unwrap(), "/good?next");
    assert_eq!(browser.find("#text").text(), "<script>window.pwned=1</script>");
}

#[test]
fn keys_arrive_as_they_were_pressed() {
    let Some(browser) = Browser::open("harness-keys") else { return };
    browser.goto(&format!("{}/scripted", serve(PAGES)));
    for key in [keys::DOWN, keys::UP, keys::LEFT, keys::RIGHT, keys::ESCAPE, '3'] {
        browser.press(key);
    }
    browser.chord(&[keys::SHIFT, keys::TAB]);
    browser.wait_until("eight lines", "return document.querySelectorAll('li').length === 8");
    let lines: Vec<String> = browser.all("li").iter().map(|line| line.text()).collect();
    let expected =
        ["ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight", "Escape", "3", "Shift+Shift"];
    assert_eq!(lines[..7], expected);
    assert_eq!(lines[7], "Shift+Tab");
}

#[test]
fn colours_follow_the_system_and_pictures_are_kept() {
    let Some(browser) = Browser::open("harness-colours") else { return };
    browser.goto(&format!("{}/good", serve(PAGES)));
    browser.window(900, 700);
    for (scheme, colour) in [("dark", "rgba(17, 17, 17, 1)"), ("light", "rgba(255, 255, 255, 1)")] {
        browser.colours(scheme);
        assert_eq!(browser.find("body").css("background-color"), colour);
        let picture = std::fs::read(browser.screenshot(scheme)).unwrap();
        assert!(
            picture.starts_with(b"\x89PNG\r\n\x1a\n") && picture.ends_with(b"IEND\xaeB\x60\x82")
        );
    }
    browser.phone(375, 800);
    assert_eq!(browser.run("return [innerWidth, devicePixelRatio]", json!([])), json!([375, 2]));
}

#[test]
fn each_check_sees_its_fault() {
    let Some(browser) = Browser::open("harness-bad") else { return };
    let base = serve(PAGES);
    browser.goto(&format!("{base}/bad"));
    let said = fault(|| no_console_errors(&browser));
    assert!(said.contains("missing.png"), "{said}");
    let said = fault(|| accessible(&browser));
    for rule in ["html-has-lang", "image-alt", "label", "color-contrast"] {
        assert!(said.contains(&format!("light: {rule}: ")), "no {rule} in {said}");
    }
    let contrast = |scheme, tag| {
        let of = format!("{scheme}: color-contrast: ");
        said.lines().any(|line| line.starts_with(&of) && line.ends_with(&format!(": {tag}")))
    };
    assert!(contrast("light", "p") && contrast("dark", "h1") && !contrast("light", "h1"), "{said}");
    let said = fault(|| drop(focus_visible(&browser)));
    assert_eq!(said.matches("looks the same").count(), 2, "{said}");
    let said = fault(|| fits_width(&browser, 375));
    assert!(said.contains("id=\\\"wide\\\""), "{said}");
}

#[test]
fn what_was_executed_is_seen_and_so_is_what_the_policy_stopped() {
    let Some(browser) = Browser::open("harness-taken") else { return };
    let base = serve(PAGES);
    browser.goto(&format!("{base}/taken"));
    browser.wait_until("the script", "return window.pwned === 2");
    let said = fault(|| nothing_executed(&browser));
    assert!(said.contains("pwned = 2") && said.contains("img has onerror"), "{said}");
    browser.console();

    browser.goto(&format!("{base}/guarded"));
    assert!(browser.run("return window.pwned === undefined", json!([])) == true);
    let said = fault(|| no_console_errors(&browser));
    assert!(said.contains("Content Security Policy"), "{said}");

    browser.goto(&format!("{base}/dialogue"));
    let alert = || browser.attempt("GET", "/alert/text", None).ok();
    browser.wait_for("the dialogue", alert);
    let said = fault(|| nothing_executed(&browser));
    assert!(said.contains("opened a dialogue"), "{said}");
}

#[test]
fn base64_of_any_length_is_read() {
    for (text, bytes) in
        [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg", "foob")]
    {
        assert_eq!(decode_base64(text), bytes.as_bytes());
    }
    assert_eq!(decode_base64("+/+/\n/w=="), [0xfb, 0xff, 0xbf, 0xff]);
}
