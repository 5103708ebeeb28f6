//! What must hold of every page, whatever it shows.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::driver::Browser;

/// Markup that tries to get a script to run, each in another way; put into documents, queries,
/// names and uploads. What succeeds sets `window.pwned` or opens a dialogue.
pub const HOSTILE: [&str; 7] = [
    "<script>window.pwned=1</script>",
    "<img src=x onerror=\"window.pwned=2\">",
    "<svg onload=window.pwned=3></svg>",
    "\"><script>window.pwned=4;alert(4)</script>",
    "' autofocus onfocus='window.pwned=5' x='",
    "<a href=\"javascript:window.pwned=6\">here</a>",
    "</textarea></title></style><iframe srcdoc='<script>parent.pwned=7</script>'></iframe>",
];

/// The console has had nothing to complain about since the last look: no error of a script, no
/// missing file, nothing that the content security policy refused.
#[track_caller]
pub fn no_console_errors(browser: &Browser) {
    let complaints: Vec<String> = browser
        .console()
        .into_iter()
        .filter(|[level, ..]| matches!(level.as_str(), "SEVERE" | "WARNING"))
        .map(|[level, source, message]| format!("{level} ({source}): {message}"))
        .collect();
    assert!(complaints.is_empty(), "console of {}:\n{}", browser.url(), complaints.join("\n"));
}

/// Nothing is wider than a telephone of `width` CSS pixels.
#[track_caller]
pub fn fits_width(browser: &Browser, width: u32) {
    browser.phone(width, 800);
    // A telephone zooms out until the page fits, and `innerWidth` grows with it; so the width
    // that was asked for is what counts, not the one that the page says.
    let said = browser.run(
        "const page = document.scrollingElement, limit = arguments[0];
         const inside = element => {
             for (let up = element.parentElement; up && up !== document.body; up = up.parentElement) {
                 if (getComputedStyle(up).overflowX !== 'visible') return true;
             }
             return false;
         };
         const wide = [...document.body.querySelectorAll('*')]
             .filter(e => e.getBoundingClientRect().right > limit + 0.5 && !inside(e))
             .slice(0, 10)
             .map(e => e.outerHTML.slice(0, 120));
         return {width: page.scrollWidth, window: innerWidth, wide};",
        json!([width]),
    );
    let fits = |key: &str| said[key].as_f64().unwrap() <= f64::from(width);
    assert!(
        fits("width") && fits("window"),
        "{} is {} wide in a window of {} on a telephone of {width}:\n{:#}",
        browser.url(),
        said["width"],
        said["window"],
        said["wide"]
    );
}

/// The page breaks no rule of WCAG 2 at levels A and AA that axe can check, in light and in dark:
/// labels, roles, contrast and so on. Leaves the browser in light colours.
#[track_caller]
pub fn accessible(browser: &Browser) {
    // Its complaints are not those of the page, so the page's own come first.
    no_console_errors(browser);
    let mut faults = Vec::new();
    for scheme in ["dark", "light"] {
        browser.colours(scheme);
        if browser.run("return typeof axe", json!([])) == "undefined" {
            browser.run(&axe(), json!([]));
        }
        let found = browser.run_async(
            "const done = arguments[arguments.length - 1];
             const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
             axe.run(document, {runOnly: {type: 'tag', values: tags}}).then(
                 found => done({
                     ran: found.passes.length + found.violations.length,
                     faults: found.violations.flatMap(rule => rule.nodes.map(node =>
                         `${rule.id}: ${rule.help}: ${node.target.join(' ')}\n    `
                         + node.failureSummary.replaceAll('\\n', '\\n    '))),
                 }),
                 error => done({ran: 0, faults: [String(error)]}));",
            json!([]),
        );
        assert_ne!(found["ran"], 0, "axe checked nothing: {found:#}");
        let found = found["faults"].as_array().unwrap().iter();
        faults.extend(found.map(|fault| format!("{scheme}: {}", fault.as_str().unwrap())));
    }
    browser.console();
    assert!(faults.is_empty(), "accessibility of {}:\n{}", browser.url(), faults.join("\n"));
}

/// The checker's source, from where `scripts/setup-browser.sh` puts it.
fn axe() -> String {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    let path = cache.expect("HOME or XDG_CACHE_HOME").join("liken-browser/axe.min.js");
    std::fs::read_to_string(&path)
        .unwrap_or_else(|e| panic!("{}: {e}; run scripts/setup-browser.sh", path.display()))
}

/// No hostile text has become more than text: nothing ran, no dialogue opened, no element of it is
/// in the page, and the content security policy had nothing to refuse.
#[track_caller]
pub fn nothing_executed(browser: &Browser) {
    if let Ok(said) = browser.attempt("GET", "/alert/text", None) {
        let _ = browser.attempt("POST", "/alert/dismiss", None);
        panic!("{} opened a dialogue: {said}", browser.url());
    }
    let found = browser.run(
        "const found = [];
         if (window.pwned !== undefined) found.push(`a script ran: pwned = ${window.pwned}`);
         for (const element of document.querySelectorAll('*')) {
             for (const {name, value} of element.attributes) {
                 const link = ['href', 'src', 'action', 'formaction', 'xlink:href'].includes(name);
                 if (name.startsWith('on') || name === 'srcdoc'
                     || (link && /^\\s*javascript:/i.test(value))) {
                     found.push(`${element.tagName.toLowerCase()} has ${name}=${value}`);
                 }
             }
         }
         for (const script of document.querySelectorAll('script')) {
             const data = script.type && !/javascript|module/.test(script.type);
             if (!data && /pwned/.test(script.textContent)) found.push('it became a script');
         }
         return found;",
        json!([]),
    );
    let found: Vec<&str> = found.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(found.is_empty(), "{}:\n{}", browser.url(), found.join("\n"));
    no_console_errors(browser);
}
