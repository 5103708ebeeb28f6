//! Rust source as the modules that it declares, the paths that it names and its string literals:
//! no types, no macros expanded.

use std::iter;

/// A path that production code names, with the module that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The module that names it, from the root of the crate.
    pub module: Vec<String>,
    /// The path as it is written: `crate`, `super`, `self` or a name first. `*` stands for all.
    pub path: Vec<String>,
    /// What it is called from here on, where it is imported.
    pub alias: Option<String>,
    /// Whether it is imported for others: `pub use`.
    pub exported: bool,
}

/// A module in a file of its own: `mod name;`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// The module that declares it.
    pub module: Vec<String>,
    pub name: String,
    /// Files of another name that an attribute gives it.
    pub paths: Vec<String>,
}

/// What a file says, without code that is compiled for tests alone.
#[derive(Debug, Default)]
pub struct Source {
    pub named: Vec<Named>,
    pub declared: Vec<Declared>,
    /// String literals, those in attributes too; escapes stay as they are written.
    pub texts: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Name(String),
    Text(String),
    Sign(char),
}

impl Source {
    /// Reads the file of `module`.
    pub fn parse(text: &str, module: &[String]) -> Self {
        let mut parser = Parser {
            tokens: tokens(text),
            at: 0,
            module: module.to_vec(),
            found: Source::default(),
        };
        parser.items();
        parser.found
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    module: Vec<String>,
    found: Source,
}

impl Parser {
    /// Everything up to the brace that closes the block at hand, or to the end.
    fn items(&mut self) {
        let mut attributes: Vec<Token> = Vec::new();
        let mut exported = false;
        while let Some(token) = self.tokens.get(self.at).cloned() {
            match &token {
                Token::Sign('#') => {
                    attributes.extend(self.attribute());
                    if is_test(&attributes) {
                        attributes.clear();
                        self.skip_item();
                    }
                    let texts = attributes.iter().filter_map(|token| match token {
                        Token::Text(text) => Some(text.clone()),
                        _ => None,
                    });
                    self.found.texts.extend(texts);
                    continue;
                }
                Token::Text(text) => self.found.texts.push(text.clone()),
                Token::Sign('}') => return,
                Token::Sign('{') => {
                    self.at += 1;
                    self.items();
                }
                Token::Name(name) if name == "pub" => {
                    exported = true;
                    self.skip_visibility();
                    continue;
                }
                Token::Name(name) if name == "use" => {
                    self.at += 1;
                    while self.sign(0) == Some(':') {
                        self.at += 1;
                    }
                    self.tree(Vec::new(), exported);
                }
                Token::Name(name) if name == "mod" && self.name(1).is_some() => {
                    let name = self.name(1).unwrap_or_default();
                    match self.sign(2) {
                        Some(';') => self.found.declared.push(Declared {
                            module: self.module.clone(),
                            name,
                            paths: texts(&attributes),
                        }),
                        Some('{') => {
                            self.at += 3;
                            self.module.push(name);
                            self.items();
                            self.module.pop();
                        }
                        _ => {}
                    }
                }
                Token::Name(_) if self.is_path() => self.path(),
                _ => {}
            }
            attributes.clear();
            exported = false;
            self.at += 1;
        }
    }

    fn sign(&self, ahead: usize) -> Option<char> {
        match self.tokens.get(self.at + ahead) {
            Some(Token::Sign(sign)) => Some(*sign),
            _ => None,
        }
    }

    fn name(&self, ahead: usize) -> Option<String> {
        match self.tokens.get(self.at + ahead) {
            Some(Token::Name(name)) => Some(name.clone()),
            _ => None,
        }
    }

    /// Whether a path with two parts or more begins here.
    fn is_path(&self) -> bool {
        let starts = self.at == 0 || self.tokens[self.at - 1] != Token::Sign(':');
        starts && self.sign(1) == Some(':') && self.sign(2) == Some(':')
    }

    /// The path that begins here; the last token of it is left to be passed over.
    fn path(&mut self) {
        let mut path: Vec<String> = self.name(0).into_iter().collect();
        while self.sign(1) == Some(':') && self.sign(2) == Some(':') {
            let Some(name) = self.name(3) else { break };
            path.push(name);
            self.at += 3;
        }
        self.note(path, None, false);
    }

    fn note(&mut self, path: Vec<String>, alias: Option<String>, exported: bool) {
        self.found.named.push(Named { module: self.module.clone(), path, alias, exported });
    }

    /// The tree of a `use`, after `prefix`; stops before the `;`, the comma or the brace after it.
    fn tree(&mut self, prefix: Vec<String>, exported: bool) {
        let mut path = prefix;
        loop {
            if let Some(name) = self.name(0) {
                self.at += 1;
                if name == "as" {
                    let alias = self.name(0);
                    self.at += 1;
                    return self.note(path, alias, exported);
                }
                path.push(name);
            } else {
                match self.sign(0) {
                    Some(':') => self.at += 1,
                    Some('*') => {
                        self.at += 1;
                        path.push("*".to_owned());
                    }
                    Some('{') => {
                        self.at += 1;
                        while self.sign(0).is_none_or(|sign| sign != '}') {
                            self.tree(path.clone(), exported);
                            if self.sign(0) == Some(',') {
                                self.at += 1;
                            }
                            if self.at >= self.tokens.len() {
                                return;
                            }
                        }
                        self.at += 1;
                        return;
                    }
                    _ => {
                        // `a::b::{self}` is `a::b`.
                        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                            path.pop();
                        }
                        let alias = path.last().cloned();
                        return self.note(path, alias, exported);
                    }
                }
            }
        }
    }

    /// Passes over an attribute and gives what stands in it.
    fn attribute(&mut self) -> Vec<Token> {
        while self.sign(0).is_some_and(|sign| sign != '[') {
            self.at += 1;
        }
        let start = self.at;
        self.skip_brackets();
        self.tokens[start.min(self.at)..self.at].to_vec()
    }

    /// Passes over what an open bracket encloses.
    fn skip_brackets(&mut self) {
        let mut depth = 0usize;
        while self.at < self.tokens.len() {
            match self.sign(0) {
                Some('[' | '(' | '{') => depth += 1,
                Some(']' | ')' | '}') => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }

    fn skip_visibility(&mut self) {
        self.at += 1;
        if self.sign(0) == Some('(') {
            self.skip_brackets();
        }
    }

    /// Passes over an item of which the attributes were read.
    fn skip_item(&mut self) {
        while self.sign(0) == Some('#') {
            self.attribute();
        }
        if self.name(0).as_deref() == Some("pub") {
            self.skip_visibility();
        }
        let is_use = self.name(0).as_deref() == Some("use");
        while self.at < self.tokens.len() {
            match self.sign(0) {
                Some(';' | ',') => {
                    self.at += 1;
                    return;
                }
                Some('}') => return,
                Some('{') => {
                    self.skip_brackets();
                    if !is_use {
                        return;
                    }
                }
                Some('[' | '(') => self.skip_brackets(),
                _ => self.at += 1,
            }
        }
    }
}

/// Whether an attribute says that its item is compiled for tests alone.
fn is_test(attribute: &[Token]) -> bool {
    let has = |wanted: &str| attribute.contains(&Token::Name(wanted.to_owned()));
    has("cfg") && has("test") && !has("not") && !has("any")
}

fn texts(attributes: &[Token]) -> Vec<String> {
    let path = attributes.iter().position(|token| *token == Token::Name("path".to_owned()));
    match path.and_then(|at| attributes.get(at + 2)) {
        Some(Token::Text(text)) => vec![text.clone()],
        _ => Vec::new(),
    }
}

/// Names, signs and texts, raw ones with their marks; comments, numbers and lifetimes are left out.
fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().chain(iter::repeat_n('\0', 3)).collect();
    let end = chars.len() - 3;
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < end {
        let rest = &chars[at..];
        match rest[0] {
            '/' if rest[1] == '/' => {
                while at < end && chars[at] != '\n' {
                    at += 1;
                }
            }
            '/' if rest[1] == '*' => at = after_comment(&chars, at, end),
            '"' => {
                let (inside, after) = after_text(&chars, at + 1, end);
                tokens.push(Token::Text(inside));
                at = after;
            }
            'r' | 'b' | 'c' if raw_marks(rest).is_some() => {
                let after = after_raw(&chars, at, end);
                tokens.push(Token::Text(chars[at..after].iter().collect()));
                at = after;
            }
            '\'' => at = after_quote(&chars, at),
            c if c.is_alphabetic() || c == '_' => {
                let name: String =
                    rest.iter().take_while(|c| c.is_alphanumeric() || **c == '_').collect();
                at += name.chars().count();
                tokens.push(Token::Name(name));
            }
            c if c.is_ascii_digit() => {
                while chars[at].is_alphanumeric() || chars[at] == '_' {
                    at += 1;
                }
            }
            c => {
                if !c.is_whitespace() {
                    tokens.push(Token::Sign(c));
                }
                at += 1;
            }
        }
    }
    tokens
}

fn after_comment(chars: &[char], start: usize, end: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < end {
        match (chars[at], chars[at + 1]) {
            ('/', '*') => {
                depth += 1;
                at += 2;
            }
            ('*', '/') => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    end
}

fn after_text(chars: &[char], start: usize, end: usize) -> (String, usize) {
    let mut at = start;
    while at < end && chars[at] != '"' {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    let at = at.min(end);
    (chars[start.min(at)..at].iter().collect(), (at + 1).min(end))
}

/// How many `#` a raw text begins with.
fn raw_marks(rest: &[char]) -> Option<usize> {
    let prefix = rest.iter().take(2).take_while(|c| matches!(c, 'r' | 'b' | 'c')).count();
    let raw = rest[..prefix].contains(&'r');
    let marks = rest[prefix..].iter().take_while(|c| **c == '#').count();
    (raw && rest.get(prefix + marks) == Some(&'"')).then_some(marks)
}

fn after_raw(chars: &[char], start: usize, end: usize) -> usize {
    let marks = raw_marks(&chars[start..]).unwrap_or_default();
    let mut at = start;
    while chars[at] != '"' {
        at += 1;
    }
    at += 1;
    while at < end {
        let closed =
            chars[at] == '"' && chars[at + 1..].iter().take_while(|c| **c == '#').count() >= marks;
        at += 1;
        if closed {
            return at + marks;
        }
    }
    end
}

/// After a character, or after the mark of a lifetime.
fn after_quote(chars: &[char], start: usize) -> usize {
    if chars[start + 1] == '\\' {
        let closing = chars[start + 3..].iter().position(|c| *c == '\'');
        return start + 4 + closing.unwrap_or_default();
    }
    if chars[start + 2] == '\'' { start + 3 } else { start + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        let source = Source::parse(text, &["a".to_owned()]);
        source.named.iter().map(|named| named.path.join("::")).collect()
    }

    #[test]
    fn imports_and_paths_in_code_are_found() {
        let text = "use crate::{b::{C, d::*}, Error};\npub use self::e as f;\n\
                    fn g(x: &'a crate::h::I) -> super::J<'_> { crate::k::l(b'x', '\\'', x) }";
        let expected = [
            "crate::b::C",
            "crate::b::d::*",
            "crate::Error",
            "self::e",
            "crate::h::I",
            "super::J",
            "crate::k::l",
        ];
        assert_eq!(paths(text), expected);
    }

    #[test]
    fn tests_comments_texts_and_visibility_are_no_imports() {
        let text = "// use crate::a::B;\n/* crate::c::D */ const E: &str = \"crate::f::G\";\n\
                    const R: &str = r#\"crate::x::Y \" \"#;\n\
                    pub(in crate::h) fn i() {}\n\
                    #[cfg(test)]\nuse crate::j::{K, L};\n\
                    #[cfg(test)]\nmod tests { use crate::m::N; fn o() { if true {} } }\n\
                    #[cfg(all(test, unix))]\nfn p() { crate::q::r() }\n\
                    #[derive(Debug)]\nstruct S(crate::t::U);";
        assert_eq!(paths(text), ["crate::t::U"]);
    }

    #[test]
    fn texts_of_production_code_are_found() {
        let text = "// \"a\"\n#[error(\"b\")]\nstruct S;\nconst R: &str = r#\"c \"d\" \"#;\n\
                    #[cfg(test)]\nmod tests { const T: &str = \"e\"; }\n\
                    fn f() { println!(\"g {}\", h(\"i\")); let c = '\"'; }";
        let source = Source::parse(text, &[]);
        assert_eq!(source.texts, ["b", "r#\"c \"d\" \"#", "g {}", "i"]);
    }

    #[test]
    fn modules_are_known_by_their_files() {
        let text = "mod b;\n#[cfg(test)]\nmod tests;\nmod c { mod d; use super::E; }\n\
                    #[cfg_attr(not(x), path = \"no_e.rs\")]\nmod e;";
        let source = Source::parse(text, &[]);
        let declared = |module: &[&str], name: &str, paths: &[&str]| Declared {
            module: module.iter().map(|part| (*part).to_owned()).collect(),
            name: name.to_owned(),
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        };
        let expected =
            [declared(&[], "b", &[]), declared(&["c"], "d", &[]), declared(&[], "e", &["no_e.rs"])];
        assert_eq!(source.declared, expected);
        assert_eq!(source.named[0].module, ["c"]);
    }
}
