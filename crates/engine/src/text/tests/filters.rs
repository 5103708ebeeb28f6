//! Filters against a plain evaluation of what they say.

use proptest::prelude::*;

use super::*;

/// What a filter says of a document, evaluated as it is written.
fn holds(filter: &Value, document: &Map<String, Value>) -> bool {
    filter.as_object().unwrap().iter().all(|(name, said)| match name.as_str() {
        "and" => said.as_array().unwrap().iter().all(|f| holds(f, document)),
        "or" => said.as_array().unwrap().iter().any(|f| holds(f, document)),
        "not" => !holds(said, document),
        _ => field_holds(said, document.get(name).unwrap_or(&Value::Null)),
    })
}

fn field_holds(said: &Value, value: &Value) -> bool {
    let values: Vec<&Value> = match value {
        Value::Array(items) => items.iter().filter(|item| !item.is_null()).collect(),
        Value::Null => Vec::new(),
        single => vec![single],
    };
    let any = |test: &dyn Fn(&Value) -> bool| values.iter().any(|v| is_short(v) && test(v));
    match said {
        Value::Object(operators) => {
            let is_bound = |name: &str| ["gt", "gte", "lt", "lte"].contains(&name);
            let in_range = |v: &Value| {
                operators.iter().filter(|(name, _)| is_bound(name)).all(|(name, bound)| {
                    let order = match (v, bound) {
                        (Value::String(v), Value::String(bound)) => v.cmp(bound),
                        (Value::Number(v), Value::Number(bound)) => {
                            v.as_f64().partial_cmp(&bound.as_f64()).unwrap()
                        }
                        _ => return false,
                    };
                    match name.as_str() {
                        "gt" => order.is_gt(),
                        "gte" => order.is_ge(),
                        "lt" => order.is_lt(),
                        _ => order.is_le(),
                    }
                })
            };
            operators.iter().all(|(name, said)| match name.as_str() {
                "eq" => any(&|v| same(v, said)),
                "in" => said.as_array().unwrap().iter().any(|s| any(&|v| same(v, s))),
                "prefix" => {
                    any(&|v| v.as_str().is_some_and(|v| v.starts_with(said.as_str().unwrap())))
                }
                "exists" => values.is_empty() != said.as_bool().unwrap(),
                _ => any(&in_range),
            })
        }
        Value::Array(said) => said.iter().any(|s| any(&|v| same(v, s))),
        said => any(&|v| same(v, said)),
    }
}

fn is_short(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() <= LONGEST_VALUE,
        Value::Bool(_) | Value::Number(_) => true,
        _ => false,
    }
}

fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (a, b) => a == b,
    }
}

const NAMES: [&str; 6] = ["a", "b", "a.b", "fields.a", "x\\.y \u{1}%\u{0}", ""];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-3i64..4).prop_map(Value::from),
        (-6i32..7).prop_map(|n| Value::from(f64::from(n) / 2.0)),
        Just(json!(-0.0)),
        Just(json!(1e300)),
        Just(json!(u64::MAX)),
        "[a-c]{0,3}".prop_map(Value::from),
        Just(json!("2020-01-02T03:04:05Z")),
        Just(json!("3")),
        Just(json!("é\u{10FFFF}")),
        any::<bool>().prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => scalar(),
        2 => prop::collection::vec(prop_oneof![scalar(), Just(Value::Null)], 0..4).prop_map(Value::from),
        1 => Just(Value::Null),
        1 => Just(json!("long ".repeat(60))),
        1 => Just(json!({"a": 1})),
    ]
}

fn document() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((prop::sample::select(NAMES.to_vec()), value()), 0..6)
        .prop_map(|fields| fields.into_iter().map(|(name, v)| (name.to_owned(), v)).collect())
}

fn bound(kind: bool) -> BoxedStrategy<Value> {
    if kind {
        (-6i32..7).prop_map(|n| Value::from(f64::from(n) / 2.0)).boxed()
    } else {
        "[a-c]{0,3}".prop_map(Value::from).boxed()
    }
}

fn said() -> impl Strategy<Value = Value> {
    let range = any::<bool>().prop_flat_map(|kind| {
        let low = prop::option::of((prop::sample::select(vec!["gt", "gte"]), bound(kind)));
        let high = prop::option::of((prop::sample::select(vec!["lt", "lte"]), bound(kind)));
        (low, high).prop_map(|(low, high)| {
            let mut range = Map::new();
            range.extend(low.map(|(name, v)| (name.to_owned(), v)));
            range.extend(high.map(|(name, v)| (name.to_owned(), v)));
            if range.is_empty() {
                range.insert("exists".into(), true.into());
            }
            Value::Object(range)
        })
    });
    prop_oneof![
        scalar(),
        prop::collection::vec(scalar(), 0..8).prop_map(Value::from),
        prop::collection::vec(scalar(), 0..8).prop_map(|values| json!({ "in": values })),
        scalar().prop_map(|value| json!({ "eq": value })),
        any::<bool>().prop_map(|there| json!({ "exists": there })),
        "[a-c]{0,2}|é".prop_map(|prefix| json!({ "prefix": prefix })),
        range.clone(),
        range.prop_map(|mut range| {
            range["exists"] = true.into();
            range
        }),
    ]
}

fn any_filter() -> impl Strategy<Value = Value> {
    let names = [&NAMES[..], &["nowhere"]].concat();
    let leaf =
        prop::collection::vec((prop::sample::select(names), said()), 0..3).prop_map(|said| {
            Value::Object(said.into_iter().map(|(name, v)| (name.to_owned(), v)).collect())
        });
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|all| json!({ "and": all })),
            prop::collection::vec(inner.clone(), 0..3).prop_map(|any| json!({ "or": any })),
            inner.clone().prop_map(|not| json!({ "not": not })),
            (inner.clone(), inner).prop_map(|(not, or)| json!({ "not": not, "or": [or] })),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn filters_allow_what_they_say(
        documents in prop::collection::vec(document(), 1..40),
        filters in prop::collection::vec(any_filter(), 1..20),
        removed in prop::collection::vec(0u32..40, 0..4),
        cut in 0usize..40,
        one_part: bool,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let index = TextIndex::create(dir.path()).unwrap();
        let mut writer = index.batch_writer(1).unwrap();
        for (no, fields) in documents.iter().enumerate() {
            writer.add(no as u32, &tokens("sun"), fields).unwrap();
            if no == cut {
                writer.commit(1).unwrap();
            }
        }
        writer.commit(2).unwrap();
        removed.iter().for_each(|&no| writer.remove(no));
        if one_part {
            writer.finish(3).unwrap();
        } else {
            writer.commit(3).unwrap();
        }
        let snapshot = index.snapshot();
        for said in &filters {
            let filter = Filter::parse(said).unwrap();
            let numbers = 0..documents.len() as u32;
            let expected: Vec<u32> = numbers
                .filter(|no| !removed.contains(no) && holds(said, &documents[*no as usize]))
                .collect();
            for _ in 0..2 {
                let set = snapshot.matching(&filter).unwrap();
                prop_assert_eq!(set.iter().collect::<Vec<_>>(), expected.clone(), "{}", said);
            }
            let mut found = snapshot
                .candidates(&words(&["sun"]), 100, Some(&filter), None)
                .unwrap();
            found.sort_by_key(|c| c.0);
            prop_assert_eq!(found.into_iter().map(|c| c.0).collect::<Vec<_>>(), expected);
        }
    }
}

#[test]
fn filters_that_make_no_sense_are_refused_with_the_place_and_what_is_allowed() {
    let refused = |filter: Value| Filter::parse(&filter).expect_err(&filter.to_string());
    for (filter, place, reason) in [
        (json!([]), "filter:", "expected an object"),
        (json!("en"), "filter:", "found \"en\""),
        (
            json!({"year": null}),
            "filter.year:",
            "found null; for missing fields, write {\"exists\"",
        ),
        (json!({"year": {"above": 3}}), "filter.year.above", "gt, gte"),
        (json!({"year": {}}), "filter.year", "operator"),
        (json!({"year": {"gt": true}}), "filter.year.gt:", "a number or a string, found true"),
        (json!({"year": {"gt": 1, "gte": 2}}), "filter.year.gt", "at most one bound"),
        (json!({"year": {"gt": 1, "lt": "x"}}), "filter.year", "both to be strings"),
        (json!({"year": {"in": 3}}), "filter.year.in:", "a list, found 3"),
        (json!({"year": [[1]]}), "filter.year:", "a string, a number, true or false, found a list"),
        (json!({"url": {"prefix": 3}}), "filter.url.prefix", "a string"),
        (json!({"a": {"exists": "yes"}}), "filter.a.exists", "true or false"),
        (json!({"or": {"a": 1}}), "filter.or:", "a list of filters, found an object"),
        (json!({"or": [{"a": 1}, {"b": {"x": 1}}]}), "filter.or[1].b.x", "operator"),
        (json!({"not": 1}), "filter.not:", "an object"),
        (json!({"a": "x".repeat(300)}), "filter.a", "300 bytes"),
        (json!({"a".repeat(300): 1}), "filter.a", "300 bytes"),
    ] {
        let error = refused(filter);
        assert!(error.contains(place) && error.contains(reason), "{error}");
        assert!(error.len() < 300, "{error}");
    }
    let mut deep = json!({});
    for _ in 0..60 {
        deep = json!({"not": deep});
    }
    assert!(refused(deep).contains("deep"));
    let wide: Vec<_> = (0..2000).map(|n| json!({"a": n})).collect();
    assert!(refused(json!({"or": wide})).contains("conditions"));
    let long: Vec<_> = (0..20_000).collect();
    assert!(refused(json!({"a": long})).contains("values"));
}
