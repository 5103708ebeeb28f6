//! Which module of a crate imports which, and whether that follows a declared order.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::source::{Named, Source};

/// The node of the file of a folder or a crate itself: `mod.rs`, `lib.rs`, `main.rs`.
pub const OWN_FILE: &str = "mod";

/// The order of the modules in a crate or in one of its folders.
pub struct Order {
    /// The folder, `""` for the crate itself.
    pub folder: &'static str,
    /// From the lowest to the highest. A module imports from lower layers alone; those of one
    /// layer do not import each other. [`OWN_FILE`] stands for what the file of the folder itself
    /// defines and uses; what it passes on (`pub use`) counts as what it is.
    pub layers: &'static [&'static [&'static str]],
}

/// The production code of a crate.
pub struct Crate {
    /// Every module with the file that it is in, the crate itself with an empty path.
    modules: BTreeMap<Vec<String>, PathBuf>,
    named: Vec<(PathBuf, Named)>,
    texts: Vec<(PathBuf, String)>,
    /// What a module calls by another name or passes on; nothing where it is of another crate.
    aliases: BTreeMap<(Vec<String>, String), Option<Vec<String>>>,
}

/// An import, with a file that has it.
pub type Imports = BTreeMap<(String, String), PathBuf>;

impl Crate {
    /// Reads the crate in `folder`, from `src/lib.rs` or `src/main.rs` on.
    pub fn read(folder: &Path) -> Self {
        let roots = ["lib.rs", "main.rs"].map(|name| folder.join("src").join(name));
        let mut krate = Crate {
            modules: BTreeMap::new(),
            named: Vec::new(),
            texts: Vec::new(),
            aliases: BTreeMap::new(),
        };
        for root in roots.iter().filter(|path| path.is_file()) {
            krate.read_module(root, &[]);
        }
        assert!(!krate.modules.is_empty(), "{} has neither lib.rs nor main.rs", folder.display());
        for (_, named) in krate.named.clone() {
            if let Some(alias) = &named.alias {
                let path = krate.absolute(&named);
                krate.aliases.insert((named.module.clone(), alias.clone()), path);
            }
        }
        krate
    }

    fn read_module(&mut self, file: &Path, module: &[String]) {
        let text = fs::read_to_string(file)
            .unwrap_or_else(|error| panic!("{} is declared, but: {error}", file.display()));
        let source = Source::parse(&text, module);
        self.modules.insert(module.to_vec(), file.to_owned());
        self.texts.extend(source.texts.into_iter().map(|text| (file.to_owned(), text)));
        self.named.extend(source.named.into_iter().map(|named| (file.to_owned(), named)));
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let parent = file.parent().unwrap_or(Path::new(""));
        let home = match stem {
            "mod" | "lib" | "main" => parent.to_owned(),
            stem => parent.join(stem),
        };
        for declared in source.declared {
            let inline = declared.module[module.len()..].iter();
            let home = inline.fold(home.clone(), |home, name| home.join(name));
            let usual = [
                home.join(format!("{}.rs", declared.name)),
                home.join(&declared.name).join("mod.rs"),
            ];
            let given = declared.paths.iter().map(|path| parent.join(path));
            let child: Vec<String> =
                declared.module.iter().chain([&declared.name]).cloned().collect();
            let mut files = usual.into_iter().chain(given).filter(|path| path.is_file()).peekable();
            assert!(files.peek().is_some(), "{}: no file of {child:?}", file.display());
            files.for_each(|file| self.read_module(&file, &child));
        }
    }

    /// The path from the root of the crate, if `named` is one of this crate.
    fn absolute(&self, named: &Named) -> Option<Vec<String>> {
        let mut module = named.module.clone();
        let mut rest = &named.path[..];
        match rest.first()?.as_str() {
            "crate" => {
                module.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|part| part == "super") {
                    module.pop()?;
                    rest = &rest[1..];
                }
            }
            name => {
                let mut child = module.clone();
                child.push(name.to_owned());
                if !self.modules.contains_key(&child) {
                    return None;
                }
            }
        }
        module.extend(rest.iter().cloned());
        Some(module)
    }

    /// The string literals, with the files that they are in.
    pub fn texts(&self) -> &[(PathBuf, String)] {
        &self.texts
    }

    /// The folders below the crate itself that have modules of their own.
    pub fn folders(&self) -> BTreeSet<&[String]> {
        let parents = self.modules.keys().filter_map(|module| module.split_last());
        parents.map(|(_, folder)| folder).filter(|folder| !folder.is_empty()).collect()
    }

    /// Modules of `folder` that import each other in circles; its own file does not count.
    pub fn circles(&self, folder: &[String]) -> Vec<String> {
        let mut imports = self.imports(folder);
        imports.retain(|(from, to), _| from != OWN_FILE && to != OWN_FILE);
        let mut left = self.children(folder);
        loop {
            let before = left.len();
            let free = |from: &String| !imports.keys().any(|(a, b)| a == from && left.contains(b));
            left = left.iter().filter(|name| !free(name)).cloned().collect();
            if left.len() == before {
                return left.into_iter().collect();
            }
        }
    }

    /// The modules of `folder`.
    pub fn children(&self, folder: &[String]) -> BTreeSet<String> {
        let inside = self.modules.keys().filter(|module| module.starts_with(folder));
        inside.filter_map(|module| module.get(folder.len()).cloned()).collect()
    }

    /// The module of `folder` that holds what the absolute `path` names.
    fn node(&self, folder: &[String], path: &[String]) -> Option<String> {
        let mut path = path.to_vec();
        // What is passed on may be passed on again; names that go round in circles are no paths.
        for _ in 0..8 {
            if !path.starts_with(folder) {
                return None;
            }
            let Some(name) = path.get(folder.len()) else { break };
            let child = [folder, std::slice::from_ref(name)].concat();
            if self.modules.contains_key(&child) {
                return Some(name.clone());
            }
            match self.aliases.get(&(folder.to_vec(), name.clone())) {
                Some(None) => return None,
                Some(Some(other)) if *other != path => path = other.clone(),
                _ => break,
            }
        }
        Some(OWN_FILE.to_owned())
    }

    /// Who imports whom among the modules of `folder`.
    pub fn imports(&self, folder: &[String]) -> Imports {
        let mut imports = Imports::new();
        for (file, named) in &self.named {
            if !named.module.starts_with(folder) {
                continue;
            }
            let Some(path) = self.absolute(named) else { continue };
            let from = named.module.get(folder.len()).map_or(OWN_FILE, String::as_str).to_owned();
            let Some(to) = self.node(folder, &path) else { continue };
            if from == to || (from == OWN_FILE && named.exported) {
                continue;
            }
            imports.entry((from, to)).or_insert_with(|| file.clone());
        }
        imports
    }

    /// What is wrong with the crate by `order`, a sentence each.
    pub fn problems(&self, order: &Order) -> Vec<String> {
        let folder: Vec<String> =
            order.folder.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let (children, imports) = (self.children(&folder), self.imports(&folder));
        let layer = |module: &str| order.layers.iter().position(|all| all.contains(&module));
        let mut problems = Vec::new();
        for &name in order.layers.iter().copied().flatten() {
            if name != OWN_FILE && !children.contains(name) {
                problems.push(format!("the order names {name}, and there is no such module"));
            }
            if order.layers.iter().copied().flatten().filter(|other| **other == name).count() > 1 {
                problems.push(format!("the order names {name} twice"));
            }
        }
        let used = imports.keys().flat_map(|(from, to)| [from, to]);
        let nodes: BTreeSet<&String> = used.chain(&children).collect();
        let missing: Vec<&&String> = nodes.iter().filter(|name| layer(name).is_none()).collect();
        if !missing.is_empty() {
            problems.push(format!(
                "the order does not name {missing:?}; as the imports are, it could be:\n{}",
                suggestion(&nodes, &imports)
            ));
        }
        for ((from, to), file) in &imports {
            let (Some(above), Some(below)) = (layer(from), layer(to)) else { continue };
            if below >= above {
                problems.push(format!(
                    "{}: {from} imports {to}, which is not below it",
                    file.display()
                ));
            }
        }
        problems
    }
}

/// The lowest layers that modules can be in; modules that import each other in circles last.
fn suggestion(nodes: &BTreeSet<&String>, imports: &Imports) -> String {
    let mut left = nodes.clone();
    let mut text = String::new();
    while !left.is_empty() {
        let free: BTreeSet<&String> = left
            .iter()
            .copied()
            .filter(|from| !imports.keys().any(|(a, b)| a == *from && left.contains(b)))
            .collect();
        if free.is_empty() {
            text.push_str(&format!("    // In circles:\n    &{left:?},\n"));
            return text;
        }
        left.retain(|name| !free.contains(name));
        text.push_str(&format!("    &{:?},\n", free.iter().collect::<Vec<_>>()));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::*;

    /// A crate with these files below `src`.
    fn krate(files: &[(&str, &str)]) -> Crate {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join("src").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        }
        Crate::read(folder.path())
    }

    const FILES: &[(&str, &str)] = &[
        ("lib.rs", "mod low;\nmod high;\npub use low::Error;"),
        ("low.rs", "pub struct Error;"),
        ("high/mod.rs", "mod a;\nmod b;\npub use a::A;\n#[cfg(test)] mod tests;"),
        ("high/a.rs", "use crate::Error;\npub struct A;"),
        ("high/b.rs", "use super::A;"),
        ("high/tests.rs", "use super::b::B;"),
    ];

    fn problems(files: &[(&str, &str)], order: &Order) -> Vec<String> {
        krate(files).problems(order)
    }

    #[test]
    fn a_crate_in_order_has_no_problem() {
        let order = Order { folder: "", layers: &[&["low"], &["high"]] };
        assert_eq!(problems(FILES, &order), [""; 0]);
        let order = Order { folder: "high", layers: &[&["a"], &["b"]] };
        assert_eq!(problems(FILES, &order), [""; 0]);
    }

    #[test]
    fn an_import_against_the_order_is_found_through_what_is_passed_on() {
        let order = Order { folder: "high", layers: &[&["b"], &["a"]] };
        let found = problems(FILES, &order);
        assert!(found[0].contains("b imports a, which is not below it"), "{found:?}");
        let order = Order { folder: "high", layers: &[&["a", "b"]] };
        assert!(problems(FILES, &order)[0].contains("b imports a"));
        let order = Order { folder: "", layers: &[&["high"], &["low"]] };
        assert!(problems(FILES, &order)[0].contains("high imports low"));
    }

    #[test]
    fn circles_are_found_in_folders_without_an_order() {
        let folder = ["high".to_owned()];
        assert_eq!(krate(FILES).circles(&folder), [""; 0]);
        let mut files = FILES.to_vec();
        files[3].1 = "use super::b;\npub struct A;";
        assert_eq!(krate(&files).circles(&folder), ["a", "b"]);
        assert!(krate(FILES).folders().contains(&folder[..]));
    }

    #[test]
    fn what_is_not_declared_or_not_there_is_found() {
        let order = Order { folder: "", layers: &[&["low", "gone"]] };
        let found = problems(FILES, &order);
        assert!(found[0].contains("names gone, and there is no such module"), "{found:?}");
        assert!(found[1].contains("does not name [\"high\"]"), "{found:?}");
        assert!(found[1].contains("&[\"low\"],\n    &[\"high\"]"), "{found:?}");
    }
}
