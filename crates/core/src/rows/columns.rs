//! Which column of a table has which role: by its name in the header, by the user's mapping of
//! names or positions, or, in JSON, by the key.

use std::path::Path;

use serde_json::{Map, Value};

use super::bad_row::excerpt;
use super::format::TableFormat;
use super::json_paths as paths;
use super::role::{ColumnRole, Role};
use super::table::Table;
use crate::{Error, Result};

const N_COLUMNS: usize = ColumnRole::Text as usize + 1;

/// The columns of one table by role.
pub(super) struct ColumnMap {
    /// In tables with positions: where each column is.
    places: [Option<usize>; N_COLUMNS],
    /// In JSON: the key of each column.
    keys: [Option<String>; N_COLUMNS],
    /// In tables with positions: the fields of documents without the id.
    fields: Vec<(usize, String)>,
    /// In JSON: the key of a field of documents, and its new name.
    renamed: Vec<(String, String)>,
    /// Columns of documents without a name.
    nameless: Vec<usize>,
    width: Option<usize>,
    keeps_rest: bool,
    /// Whether a name in the mapping has a dot.
    has_paths: bool,
}

impl ColumnMap {
    /// Finds the columns of `table`, which may have a `header`.
    pub(super) fn find(
        table: &Table,
        role: Role,
        format: TableFormat,
        header: Option<Vec<String>>,
        label: &Path,
    ) -> Result<Self> {
        check_mapping(table, role)?;
        let mut map = ColumnMap {
            places: [None; N_COLUMNS],
            keys: Default::default(),
            fields: Vec::new(),
            renamed: Vec::new(),
            nameless: Vec::new(),
            width: header.as_ref().map(Vec::len),
            keeps_rest: role == Role::Documents,
            has_paths: table.columns.values().any(|source| source.contains('.')),
        };
        let finder = Finder { table, role, header: header.as_deref(), label };
        for &column in role.columns() {
            // Clicks and weights exclude each other; the mapping decides.
            let rival = match column {
                ColumnRole::Clicks => ColumnRole::Weight,
                ColumnRole::Weight => ColumnRole::Clicks,
                other => other,
            };
            if rival != column
                && table.columns.contains_key(rival.name())
                && !table.columns.contains_key(column.name())
            {
                continue;
            }
            if column == ColumnRole::Id && table.by_position() {
                continue;
            }
            if format.is_keyed() {
                let key = table.columns.get(column.name()).map_or(column.name(), String::as_str);
                map.keys[column as usize] = Some(key.to_owned());
            } else {
                map.places[column as usize] = finder.place(column, !column.is_optional())?;
            }
        }
        if role == Role::Documents {
            if format.is_keyed() {
                let others = table.columns.iter().filter(|(name, _)| *name != "id");
                map.renamed = others.map(|(name, key)| (key.clone(), name.clone())).collect();
            } else {
                map.fields = finder.fields(map.place(ColumnRole::Id))?;
            }
        }
        map.check_shared(table, role)?;
        Ok(map)
    }

    /// An error if one column of the table has two roles. A role by name gives way to a role by
    /// mapping.
    fn check_shared(&mut self, table: &Table, role: Role) -> Result<()> {
        let mapped = |column: ColumnRole| table.columns.contains_key(column.name());
        for &one in role.columns() {
            for &other in role.columns() {
                let (a, b) = (one as usize, other as usize);
                let same = (self.places[a].is_some() && self.places[a] == self.places[b])
                    || (self.keys[a].is_some() && self.keys[a] == self.keys[b]);
                if a == b || !same || !mapped(one) || one.can_share(other) {
                    continue;
                }
                if mapped(other) || !other.is_optional() {
                    return Err(shared(table, role, one.name(), other.name()));
                }
                self.places[b] = None;
                self.keys[b] = None;
            }
        }
        let fields: Vec<(&str, &str)> =
            self.renamed.iter().map(|(from, name)| (from.as_str(), name.as_str())).collect();
        let twice = fields.iter().enumerate().find_map(|(i, (from, name))| {
            let other = fields[..i].iter().find(|(other, _)| other == from)?;
            Some((other.1, *name))
        });
        let twice = twice.or_else(|| {
            let next_to = self.fields.windows(2).find(|pair| pair[0].0 == pair[1].0)?;
            Some((next_to[0].1.as_str(), next_to[1].1.as_str()))
        });
        twice.map_or(Ok(()), |(one, other)| Err(shared(table, role, one, other)))
    }

    pub(super) fn has(&self, column: ColumnRole) -> bool {
        self.places[column as usize].is_some()
    }

    pub(super) fn place(&self, column: ColumnRole) -> Option<usize> {
        self.places[column as usize]
    }

    /// Whether the column at `at` is read.
    pub(super) fn uses(&self, at: usize) -> bool {
        self.places.contains(&Some(at)) || self.fields.iter().any(|(place, _)| *place == at)
    }

    /// The value of `column` in a JSON row.
    pub(super) fn value<'v>(
        &self,
        column: ColumnRole,
        object: &'v Map<String, Value>,
    ) -> Option<&'v Value> {
        let key = self.keys[column as usize].as_deref()?;
        let other = column.other_name().filter(|_| key == column.name());
        paths::get(object, key).or_else(|| object.get(other?))
    }

    /// Whether a key may be a path.
    pub(super) fn has_paths(&self) -> bool {
        self.has_paths
    }

    /// Every key that is looked up in JSON rows.
    pub(super) fn paths(&self) -> Vec<&str> {
        let keys = self.keys.iter().flatten().map(String::as_str);
        keys.chain(self.renamed.iter().map(|(from, _)| from.as_str())).collect()
    }

    /// The fields of the document `object`, renamed, without its id. The error is a name that two
    /// fields would share.
    pub(super) fn rename(
        &self,
        mut object: Map<String, Value>,
    ) -> std::result::Result<Map<String, Value>, String> {
        let id = self.keys[ColumnRole::Id as usize].as_deref().unwrap_or("id");
        let also_a_field = self.renamed.iter().any(|(from, _)| from == id);
        if !also_a_field && object.shift_remove(id).is_none() {
            object.shift_remove("_id");
        }
        let body_taken =
            object.contains_key("body") || self.renamed.iter().any(|(_, name)| name == "body");
        if self.renamed.is_empty() && (body_taken || !object.contains_key("text")) {
            return Ok(object);
        }
        let mut fields = Map::new();
        let paths = self.renamed.iter().filter(|(from, _)| !object.contains_key(from));
        let found = paths.filter_map(|(from, name)| Some((name, paths::get(&object, from)?)));
        let found: Vec<(String, Value)> =
            found.map(|(name, value)| (name.clone(), value.clone())).collect();
        for (key, value) in object {
            let name = match self.renamed.iter().find(|(from, _)| *from == key) {
                Some((_, name)) => name.clone(),
                None if key == "text" && !body_taken => "body".to_owned(),
                None => key,
            };
            if fields.contains_key(&name) {
                return Err(name);
            }
            fields.insert(name, value);
        }
        for (name, value) in found {
            if fields.contains_key(&name) {
                return Err(name);
            }
            fields.insert(name, value);
        }
        Ok(fields)
    }

    /// The fields of documents without the id: position and name.
    pub(super) fn fields(&self) -> &[(usize, String)] {
        &self.fields
    }

    /// Without a header, the first row sets the number of fields.
    pub(super) fn learn_width(&mut self, width: usize) {
        if self.width.is_none() {
            self.width = Some(width);
            if self.keeps_rest {
                let used = |at: &usize| {
                    self.place(ColumnRole::Id) == Some(*at)
                        || self.fields.iter().any(|(f, _)| f == at)
                };
                self.nameless = (0..width).filter(|at| !used(at)).collect();
            }
        }
    }

    /// How many fields a row must have.
    pub(super) fn width(&self) -> usize {
        // If a mapped position lies beyond the first row, that row is too short.
        let mapped = self.places.iter().flatten().chain(self.fields.iter().map(|(at, _)| at));
        self.width.unwrap_or_default().max(mapped.max().map_or(0, |at| at + 1))
    }

    /// Columns of documents without a name, which are dropped.
    pub(super) fn nameless(&self) -> &[usize] {
        &self.nameless
    }
}

struct Finder<'a> {
    table: &'a Table,
    role: Role,
    header: Option<&'a [String]>,
    label: &'a Path,
}

impl Finder<'_> {
    fn place(&self, column: ColumnRole, required: bool) -> Result<Option<usize>> {
        if let Some(source) = self.table.columns.get(column.name()) {
            return self.mapped(column.name(), source).map(Some);
        }
        let found = match self.named(column.name())? {
            Some(at) => Some(at),
            None => column.other_name().map_or(Ok(None), |other| self.named(other))?,
        };
        if found.is_none() && required {
            return Err(self.missing(column.name(), column.name()));
        }
        Ok(found)
    }

    fn named(&self, name: &str) -> Result<Option<usize>> {
        let places = self.header.into_iter().flatten().enumerate();
        let mut places = places.filter(|(_, title)| *title == name).map(|(at, _)| at);
        let first = places.next();
        if places.next().is_some() {
            let advice = "rename one of them, or give the position of one in `columns`";
            return Err(self.twice(name, advice));
        }
        Ok(first)
    }

    fn twice(&self, name: &str, advice: &str) -> Error {
        Error::Line {
            path: self.label.to_owned(),
            line: 1,
            expected: format!("one column called {name}"),
            found: "two".into(),
            advice: advice.into(),
        }
    }

    fn mapped(&self, name: &str, source: &str) -> Result<usize> {
        if let Some(at) = self.named(source)? {
            return Ok(at);
        }
        match (source.parse::<usize>(), self.header) {
            (Ok(at), Some(header)) if at >= header.len() => Err(self.missing(name, source)),
            (Ok(at), _) => Ok(at),
            (Err(_), _) => Err(self.missing(name, source)),
        }
    }

    fn missing(&self, name: &str, source: &str) -> Error {
        // The option needs no role for clicks.
        let column = match self.role {
            Role::Clicks => name.to_owned(),
            role => format!("{}:{name}", role.name()),
        };
        let Some(header) = self.header else {
            return Error::Parameter {
                name: "columns".into(),
                value: format!("{name}={source}"),
                expected: format!(
                    "the position of {name}, because {} has no header: `columns = {column}=0`",
                    self.label.display()
                ),
            };
        };
        let found = if header.len() == 1 {
            format!("the single column {:?}", excerpt(&header[0]))
        } else {
            format!("the columns {}", excerpt(&header.join(", ")))
        };
        Error::Line {
            path: self.label.to_owned(),
            line: 1,
            expected: format!("a column called {source}"),
            found,
            advice: format!(
                "map a column to it (`columns = {column}=NAME`, or a position); if the first line is a row, set `no_header`; or check the format (`input_format`)"
            ),
        }
    }

    /// Position and field name of every column of a table of documents, without the id.
    fn fields(&self, id: Option<usize>) -> Result<Vec<(usize, String)>> {
        let mut fields = Vec::new();
        for (name, source) in self.table.columns.iter().filter(|(name, _)| *name != "id") {
            fields.push((self.mapped(name, source)?, name.clone()));
        }
        let header = self.header.unwrap_or_default();
        let has_body = header.iter().any(|title| title == "body")
            || fields.iter().any(|(_, name)| name == "body");
        let mapped = fields.len();
        for (at, title) in header.iter().enumerate() {
            let taken = Some(at) == id || fields[..mapped].iter().any(|(place, _)| *place == at);
            if taken {
                continue;
            }
            let name = if title == "text" && !has_body { "body" } else { title };
            if name == "id" || fields.iter().any(|(_, other)| other == name) {
                return Err(self.twice(name, "rename one of them in the first line"));
            }
            fields.push((at, name.to_owned()));
        }
        fields.sort();
        Ok(fields)
    }
}

fn check_mapping(table: &Table, role: Role) -> Result<()> {
    let known = role.columns();
    let unknown = |name: &&String| !known.iter().any(|column| column.name() == name.as_str());
    match table.columns.keys().find(unknown) {
        Some(name) if role != Role::Documents => Err(Error::Parameter {
            name: "columns".into(),
            value: format!("{name}={}", table.columns[name]),
            expected: format!(
                "{} of {}",
                known.iter().map(|column| column.name()).collect::<Vec<_>>().join(", "),
                role.name()
            ),
        }),
        _ => Ok(()),
    }
}

/// The error about one column with two roles.
fn shared(table: &Table, role: Role, one: &str, other: &str) -> Error {
    let said = |name: &str| {
        let source = table.columns.get(name).map_or(name, String::as_str);
        format!("{name}={source}")
    };
    Error::Parameter {
        name: "columns".into(),
        value: format!("{}:{},{}", role.name(), said(one), said(other)),
        expected: format!("two columns: {one} and {other} cannot be the same"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The map of a table with the columns `a`, `query` and `page`, or what is wrong.
    fn map(role: Role, format: TableFormat, columns: &[(&str, &str)]) -> Result<ColumnMap> {
        let mut table = Table::new("t");
        let owned = |(name, source): &(&str, &str)| ((*name).to_owned(), (*source).to_owned());
        table.columns = columns.iter().map(owned).collect();
        let header = ["a", "query", "page"].map(str::to_owned).to_vec();
        ColumnMap::find(&table, role, format, Some(header), Path::new("t"))
    }

    #[test]
    fn one_column_is_not_two_of_ours() {
        for (role, columns) in [
            (Role::Events, &[("query", "0"), ("doc", "0")][..]),
            (Role::Events, &[("query", "a"), ("doc", "a")]),
            (Role::Clicks, &[("doc", "query")]),
            (Role::Links, &[("query", "a"), ("doc", "a")]),
            (Role::Judgments, &[("doc", "page"), ("grade", "page")]),
            (Role::Documents, &[("id", "a"), ("title", "page"), ("body", "page")]),
        ] {
            for format in [TableFormat::Tsv, TableFormat::Jsonl] {
                let error = map(role, format, columns).err().map(|error| error.to_string());
                let error = error.unwrap_or_default();
                assert!(error.contains("cannot be the same"), "{columns:?}: {error}");
            }
        }
        let error = map(Role::Events, TableFormat::Tsv, &[("query", "0"), ("doc", "a")]);
        let message = "columns = events:query=0,doc=a: expected two columns: query and doc cannot be the same";
        assert_eq!(error.err().unwrap().to_string(), message);
    }

    #[test]
    fn queries_are_their_ids_and_sessions_stand_for_users() {
        for format in [TableFormat::Tsv, TableFormat::Jsonl] {
            for (role, columns) in [
                (Role::Queries, &[("id", "query"), ("text", "query")][..]),
                (Role::Documents, &[("id", "a"), ("title", "a")]),
                (Role::Events, &[("doc", "a"), ("user", "page"), ("session", "page")]),
            ] {
                map(role, format, columns).unwrap();
            }
            let found = map(Role::Events, format, &[("doc", "a"), ("rank", "page")]).unwrap();
            assert!(found.place(ColumnRole::Page).is_none());
            assert!(found.keys[ColumnRole::Page as usize].is_none());
        }
        let found = map(Role::Documents, TableFormat::Jsonl, &[("id", "a"), ("title", "a")]);
        let object = serde_json::json!({ "a": "x", "b": "y" }).as_object().unwrap().clone();
        let fields = found.unwrap().rename(object).unwrap();
        assert_eq!(Value::Object(fields), serde_json::json!({ "title": "x", "b": "y" }));
    }
}
