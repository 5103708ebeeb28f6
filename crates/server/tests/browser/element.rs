//! What is on a page, and what a hand can do with it: find, click, type, read.

use serde_json::{Value, json};

use crate::driver::{Browser, Refused};

/// The protocol's name for a reference to an element.
pub const REFERENCE: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Keys that are no characters, as the protocol writes them.
pub mod keys {
    pub const BACKSPACE: char = '\u{e003}';
    pub const TAB: char = '\u{e004}';
    pub const ENTER: char = '\u{e007}';
    pub const SHIFT: char = '\u{e008}';
    pub const ESCAPE: char = '\u{e00c}';
    pub const LEFT: char = '\u{e012}';
    pub const UP: char = '\u{e013}';
    pub const RIGHT: char = '\u{e014}';
    pub const DOWN: char = '\u{e015}';
}

/// An element of the page that is open.
pub struct Element<'b> {
    browser: &'b Browser,
    id: String,
}

impl Browser {
    /// All elements that match a CSS selector, in document order.
    #[track_caller]
    pub fn all(&self, css: &str) -> Vec<Element<'_>> {
        let body = json!({"using": "css selector", "value": css});
        let found = self.command("POST", "/elements", Some(body));
        found.as_array().unwrap().iter().map(|e| self.element(e)).collect()
    }

    /// The first element that matches a CSS selector, waited for.
    #[track_caller]
    pub fn find(&self, css: &str) -> Element<'_> {
        self.wait_for(&format!("an element {css}"), || self.all(css).into_iter().next())
    }

    /// The element that has the focus.
    #[track_caller]
    pub fn focused(&self) -> Element<'_> {
        self.element(&self.command("GET", "/element/active", None))
    }

    fn element(&self, reference: &Value) -> Element<'_> {
        Element { browser: self, id: reference[REFERENCE].as_str().unwrap().into() }
    }

    /// Presses and releases a key, wherever the focus is: a character, or one of [`keys`].
    #[track_caller]
    pub fn press(&self, key: char) {
        self.chord(&[key]);
    }

    /// Presses keys in order and releases them in the opposite one, as for Shift and Tab.
    #[track_caller]
    pub fn chord(&self, pressed: &[char]) {
        let stroke = |kind: &str, key: &char| json!({"type": kind, "value": key});
        let mut actions: Vec<_> = pressed.iter().map(|key| stroke("keyDown", key)).collect();
        actions.extend(pressed.iter().rev().map(|key| stroke("keyUp", key)));
        self.act(actions);
    }

    /// Types a text, wherever the focus is.
    #[track_caller]
    pub fn type_text(&self, text: &str) {
        let strokes = text
            .chars()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({"type": kind, "value": key})));
        self.act(strokes.collect());
    }

    #[track_caller]
    fn act(&self, actions: Vec<Value>) {
        let keyboard = json!({"type": "key", "id": "keyboard", "actions": actions});
        self.command("POST", "/actions", Some(json!({"actions": [keyboard]})));
    }

    /// Presses Tab until an element that matches has the focus, as somebody without a mouse does.
    #[track_caller]
    pub fn tab_to(&self, css: &str) {
        for _ in 0..300 {
            self.press(keys::TAB);
            let script = "return document.activeElement.matches(arguments[0])";
            if self.run(script, json!([css])) == true {
                return;
            }
        }
        panic!("300 times Tab does not lead to {css} on {}", self.url());
    }

    /// The text of the whole page that can be seen.
    #[track_caller]
    pub fn page_text(&self) -> String {
        self.find("body").text()
    }
}

impl Element<'_> {
    fn attempt(&self, method: &str, path: &str, body: Option<Value>) -> Result<Value, Refused> {
        self.browser.attempt(method, &format!("/element/{}/{path}", self.id), body)
    }

    #[track_caller]
    fn command(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        self.browser.command(method, &format!("/element/{}/{path}", self.id), body)
    }

    /// Clicks with the mouse; what lies under something else cannot be clicked.
    #[track_caller]
    pub fn click(&self) {
        self.command("POST", "click", None);
    }

    /// Empties a field.
    #[track_caller]
    pub fn clear(&self) {
        self.command("POST", "clear", None);
    }

    /// Types into a field, or names the file that a field for files takes.
    #[track_caller]
    pub fn type_text(&self, text: &str) {
        self.command("POST", "value", Some(json!({"text": text})));
    }

    /// The text that can be seen.
    #[track_caller]
    pub fn text(&self) -> String {
        self.command("GET", "text", None).as_str().unwrap().into()
    }

    /// An attribute as the page has it.
    #[track_caller]
    pub fn attribute(&self, name: &str) -> Option<String> {
        self.command("GET", &format!("attribute/{name}"), None).as_str().map(Into::into)
    }

    /// A property as it stands, such as a field's `value`.
    #[track_caller]
    pub fn property(&self, name: &str) -> Value {
        self.command("GET", &format!("property/{name}"), None)
    }

    /// The computed value of a CSS property.
    #[track_caller]
    pub fn css(&self, property: &str) -> String {
        self.command("GET", &format!("css/{property}"), None).as_str().unwrap().into()
    }

    /// The name under which assistive technology finds it.
    #[track_caller]
    pub fn label(&self) -> String {
        self.command("GET", "computedlabel", None).as_str().unwrap().into()
    }

    /// Whether it can be seen; an element that has gone cannot.
    pub fn is_shown(&self) -> bool {
        matches!(self.attempt("GET", "displayed", None), Ok(Value::Bool(true)))
    }

    /// All elements inside that match a CSS selector.
    #[track_caller]
    pub fn all(&self, css: &str) -> Vec<Self> {
        let body = json!({"using": "css selector", "value": css});
        let found = self.command("POST", "elements", Some(body));
        let inside = |e: &Value| Element {
            browser: self.browser,
            id: e[REFERENCE].as_str().unwrap().into(),
        };
        found.as_array().unwrap().iter().map(inside).collect()
    }
}
