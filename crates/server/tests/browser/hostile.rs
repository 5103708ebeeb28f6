//! Markup and script in documents, queries and names: shown as text, never obeyed.

use crate::checks::{HOSTILE, nothing_executed};
use crate::driver::Browser;
use crate::search::encoded;
use crate::service::service;

/// A word that only the hostile documents have.
const WORD: &str = "zzhostile";

#[test]
fn script_in_queries_is_text() {
    let Some(browser) = Browser::open("hostile-query") else { return };
    let text = HOSTILE.join(" ");
    let value = encoded(&text);
    for page in ["/", "/explain", "/judge", "/compare", "/model", "/data", "/topics"] {
        // As a query, where it has to be shown as it is …
        browser.goto(&format!("{}{page}?q={value}", service().url));
        nothing_executed_but_refused(&browser);
        if matches!(page, "/" | "/judge") {
            assert_eq!(browser.find("#q").property("value"), text.as_str());
        }
        // … and as all else that an address may hold, at once and one by one: some of it is
        // refused, with a page that says what came.
        let names = "m filter fusion ranker id judge name word query translate runs baseline \
                     measures of show sort page part from text";
        let all: String = names.split_whitespace().map(|n| format!("&{n}={value}")).collect();
        browser.goto(&format!("{}{page}?q=heart{all}", service().url));
        nothing_executed_but_refused(&browser);
    }
    let one_by_one = [
        ("/", "m filter fusion ranker k offset diversify"),
        ("/explain", "id m"),
        ("/judge", "judge depth max"),
        ("/compare", "runs add baseline measures of show sort page on"),
        ("/model", "name word query id translate page part"),
        ("/topics", "name text sort"),
    ];
    for (page, names) in one_by_one {
        for name in names.split(' ') {
            browser.goto(&format!("{}{page}?q=heart&{name}={value}", service().url));
            nothing_executed_but_refused(&browser);
        }
    }
}

/// As [`nothing_executed`], on a page that may come with a status of 4xx, which the console tells.
#[track_caller]
fn nothing_executed_but_refused(browser: &Browser) {
    let complaints = browser.console();
    let other = complaints.iter().find(|[level, _, message]| {
        level == "SEVERE" && !message.contains("responded with a status of 4")
    });
    assert!(other.is_none(), "{}: {other:?}", browser.url());
    nothing_executed(browser);
}

#[test]
fn script_in_documents_is_text() {
    let Some(browser) = Browser::open("hostile-document") else { return };
    for (i, text) in HOSTILE.iter().enumerate() {
        // Judgments take no ids with blanks, which qrels could not hold.
        let id = format!("hostile-{i}-{}", text.replace(' ', "/"));
        service().put(&id, &format!("{WORD} {text}"), &format!("{WORD} words {text} end"));
    }
    browser.goto(&format!("{}/?q={WORD}&m={}", service().url, service().lexical));
    assert_eq!(browser.all(".hit").len(), HOSTILE.len());
    nothing_executed(&browser);
    // All of it can be read.
    let page = browser.page_text();
    for text in HOSTILE {
        assert!(page.contains(text), "{text} is not shown as it is in {page}");
    }
    for (i, why) in browser.all("details.why summary").iter().enumerate() {
        why.click();
        browser.wait_for("the explanation", || {
            (browser.all(".explanation").len() == i + 1).then_some(())
        });
    }
    nothing_executed(&browser);
    browser.screenshot("search");
    browser.find("details.why[open] > p a").click();
    browser.wait_until("the page", "return location.pathname === '/explain'");
    nothing_executed(&browser);

    let name = encoded(HOSTILE[0]);
    browser.goto(&format!("{}/judge?q={WORD}&judge={name}", service().url));
    browser.find(".card [data-g='1']").click();
    browser.wait_for("the grade to be kept", || {
        (browser.find("[data-saved]").text() == "Saved: 1").then_some(())
    });
    browser.find("details.text summary").click();
    nothing_executed(&browser);
    // Somebody else sees who graded.
    browser.goto(&format!("{}/judge?q={WORD}&judge=Di", service().url));
    let page = browser.page_text();
    assert!(page.contains(&format!("{} 1", HOSTILE[0])), "{page}");
    nothing_executed(&browser);
    browser.screenshot("judge");
}
