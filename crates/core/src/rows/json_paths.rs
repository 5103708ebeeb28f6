//! Dotted paths into JSON rows: `labels.pt` is the field `pt` of the field `labels`, and a
//! path through a list of objects makes one row per object.

use serde_json::{Map, Value};

/// The value at `path`: the field of exactly that name, or the one that the path leads to.
pub(super) fn get<'v>(object: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    if let Some(value) = object.get(path) {
        return Some(value);
    }
    path.match_indices('.').find_map(|(dot, _)| match object.get(&path[..dot])? {
        Value::Object(inner) => get(inner, &path[dot + 1..]),
        _ => None,
    })
}

/// The text of a list of texts and numbers, with blanks between them.
pub(super) fn joined(items: &[Value]) -> Option<String> {
    let texts = items.iter().map(|item| match item {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    });
    Some(texts.collect::<Option<Vec<String>>>()?.join(" "))
}

/// The list of objects that `path` goes through: the path up to it, the list, and the rest of the
/// path.
fn list<'v, 'p>(
    object: &'v Map<String, Value>,
    path: &'p str,
) -> Option<(&'p str, &'v [Value], &'p str)> {
    if object.contains_key(path) {
        return None;
    }
    path.match_indices('.').find_map(|(dot, _)| {
        let rest = &path[dot + 1..];
        match object.get(&path[..dot])? {
            Value::Array(items) if items.iter().all(Value::is_object) => {
                Some((&path[..dot], items.as_slice(), rest))
            }
            Value::Object(inner) => {
                let (to, items, rest) = list(inner, rest)?;
                Some((&path[..dot + 1 + to.len()], items, rest))
            }
            _ => None,
        }
    })
}

/// The rows of a list in an object, made one by one, because the values they share may be long.
pub(super) struct ListRows {
    /// Every path, with its value.
    columns: Vec<(String, PathValue)>,
    items: std::vec::IntoIter<Value>,
}

enum PathValue {
    Shared(Value),
    /// The rest of the path, inside the items.
    Inside(String),
}

impl Iterator for ListRows {
    type Item = Map<String, Value>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.items.next()?;
        let value = |part: &PathValue| match part {
            PathValue::Shared(value) => Some(value.clone()),
            PathValue::Inside(rest) => get(item.as_object()?, rest).cloned(),
        };
        let fields = self.columns.iter();
        Some(fields.filter_map(|(path, part)| Some((path.clone(), value(part)?))).collect())
    }
}

/// The rows of the list in `object` that some of `paths` go through: every path with its value, one
/// row per object of the list. `None` if no path goes through a list; an error with the names of two
/// lists if paths go through different ones.
pub(super) fn rows(
    object: &Map<String, Value>,
    paths: &[&str],
) -> Option<Result<ListRows, (String, String)>> {
    let mut through: Option<(&str, &[Value])> = None;
    let mut columns = Vec::new();
    for path in paths {
        let Some((to, items, rest)) = list(object, path) else {
            let shared = get(object, path).map(|value| PathValue::Shared(value.clone()));
            columns.extend(shared.map(|part| ((*path).to_owned(), part)));
            continue;
        };
        match through {
            Some((known, _)) if known != to => {
                return Some(Err((known.to_owned(), to.to_owned())));
            }
            _ => through = Some((to, items)),
        }
        columns.push(((*path).to_owned(), PathValue::Inside(rest.to_owned())));
    }
    let items = through?.1.to_vec().into_iter();
    Some(Ok(ListRows { columns, items }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_path_leads_to_a_field_unless_a_field_has_its_name() {
        let row = object(json!({ "a": { "b": { "c": 1 }, "x.y": 2 }, "a.b": 3 }));
        assert_eq!(get(&row, "a.b"), Some(&json!(3)));
        assert_eq!(get(&row, "a.b.c"), Some(&json!(1)));
        assert_eq!(get(&row, "a.x.y"), Some(&json!(2)));
        assert_eq!((get(&row, "a.z"), get(&row, "q.b")), (None, None));
    }

    #[test]
    fn a_path_through_a_list_makes_a_row_of_each_object() {
        let row = object(json!({
            "q": "x", "r": { "hits": [{ "id": 1, "n": { "c": 5 } }, { "id": 2 }] }, "none": [],
        }));
        let made = rows(&row, &["q", "r.hits.id", "r.hits.n.c"]).unwrap().unwrap();
        let made: Vec<_> = made.collect();
        let expected = [
            json!({ "q": "x", "r.hits.id": 1, "r.hits.n.c": 5 }),
            json!({ "q": "x", "r.hits.id": 2 }),
        ];
        assert_eq!(made, expected.map(object));
        assert!(rows(&row, &["q", "r.hits"]).is_none());
        assert!(rows(&row, &["q", "none.id"]).unwrap().unwrap().next().is_none());
        let two = rows(&row, &["r.hits.id", "none.id"]).unwrap().err().unwrap();
        assert_eq!(two, ("r.hits".to_owned(), "none".to_owned()));
    }

    #[test]
    fn a_long_list_takes_no_time() {
        let items: Vec<Value> = (0..200_000).map(|i| json!({ "id": i })).collect();
        let row = object(json!({ "q": "x", "hits": items }));
        let made = rows(&row, &["q", "hits.id"]).unwrap().unwrap();
        assert_eq!(made.last().unwrap()["hits.id"], 199_999);
    }

    #[test]
    fn lists_of_texts_are_joined() {
        let list = json!(["a", 2, "c"]);
        assert_eq!(joined(list.as_array().unwrap()).as_deref(), Some("a 2 c"));
        assert_eq!(joined(&[json!({})]), None);
    }
}
