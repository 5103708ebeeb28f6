//! What somebody without a mouse sees: the order in which Tab leads through a page, and whether
//! each stop can be told from the rest of the page.

use serde_json::{Value, json};

use crate::driver::Browser;
use crate::element::keys;

/// Says what has the focus and how it is drawn, and how the stop before is drawn now that it has
/// lost the focus. The ring of a hidden radio button or checkbox may be around its label.
const STEP: &str = "
    const look = element => [element, ...(element.labels || [])].map(one => {
        const style = getComputedStyle(one);
        const ring = style.outlineStyle === 'none' || parseFloat(style.outlineWidth) === 0
            ? '' : [style.outlineStyle, style.outlineWidth, style.outlineColor].join(' ');
        return ring + ' / ' + (style.boxShadow === 'none' ? '' : style.boxShadow);
    }).join(' + ');
    const name = element => {
        let words = element.tagName.toLowerCase();
        if (element.id) words += '#' + element.id;
        for (const key of ['name', 'href', 'value', 'class']) {
            if (element.getAttribute(key)) words += `[${key}=\"${element.getAttribute(key)}\"]`;
        }
        return words;
    };
    const before = window.likenFocus;
    const left = before && before.isConnected ? look(before) : null;
    const now = document.activeElement;
    if (!now || now === document.body || now === document.documentElement) {
        window.likenFocus = undefined;
        return {left, stop: null};
    }
    const again = (window.likenSeen = window.likenSeen || new Set()).has(now);
    window.likenSeen.add(now);
    window.likenFocus = now;
    const shown = [now, ...(now.labels || [])].some(one => {
        const box = one.getBoundingClientRect();
        return box.width > 1 && box.height > 1 && box.bottom > 0 && box.right > 0
            && box.top < innerHeight && box.left < innerWidth
            && getComputedStyle(one).opacity !== '0';
    });
    return {left, stop: {name: name(now), look: look(now), shown, again}};
";

/// The stops of Tab from the top of the page to its end, each drawn with an outline or a shadow
/// that it does not have without the focus, and within the window.
#[track_caller]
pub fn focus_visible(browser: &Browser) -> Vec<String> {
    // From the top, whatever was done before.
    browser.run(
        "window.likenSeen = window.likenFocus = undefined;
         if (document.activeElement) document.activeElement.blur();
         getSelection().removeAllRanges(); scrollTo(0, 0);
         document.body.tabIndex = -1; document.body.focus();
         document.body.removeAttribute('tabindex');",
        json!([]),
    );
    let mut faults = Vec::new();
    let mut stops: Vec<(String, String)> = Vec::new();
    loop {
        browser.press(keys::TAB);
        let step = browser.run(STEP, json!([]));
        if let (Some((name, look)), Value::String(left)) = (stops.last(), &step["left"])
            && look == left
        {
            faults.push(format!("{name} looks the same with the focus and without ({left})"));
        }
        let stop = &step["stop"];
        if stop.is_null() || stop["again"] == true {
            break;
        }
        let text = |key: &str| stop[key].as_str().unwrap().to_owned();
        if stop["shown"] != true {
            faults.push(format!("{} cannot be seen when it has the focus", text("name")));
        }
        stops.push((text("name"), text("look")));
        assert!(stops.len() < 1000, "Tab does not come to an end on {}", browser.url());
    }
    assert!(faults.is_empty(), "focus on {}:\n{}", browser.url(), faults.join("\n"));
    stops.into_iter().map(|(name, _)| name).collect()
}
