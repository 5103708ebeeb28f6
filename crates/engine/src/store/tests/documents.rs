//! Documents against a map.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Upsert(Vec<(u8, String)>),
    Delete(Vec<u8>),
    Clear,
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let documents = prop::collection::vec((0u8..12, ".{0,6}"), 0..6);
    let step = prop_oneof![
        6 => documents.prop_map(Step::Upsert),
        3 => prop::collection::vec(0u8..14, 0..4).prop_map(Step::Delete),
        1 => Just(Step::Clear),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 0..14)
}

fn id_of(n: u8) -> String {
    // Ids are any text, with all that means something elsewhere.
    format!("../{n} 'é\"; DROP TABLE documents; --%_")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_store_is_a_map_that_remembers(base in 0u8..8, steps in steps()) {
        let (folder, mut store) = fresh();
        let mut model: BTreeMap<String, Body> = BTreeMap::new();
        let mut numbers: BTreeSet<u32> = BTreeSet::new();
        if base > 0 {
            let documents = (0..base).map(|n| (id_of(n), saying(format!("base {n}"))));
            prop_assert_eq!(store.load_all(documents.clone()).unwrap(), u32::from(base));
            model.extend(documents);
            numbers.extend(0..u32::from(base));
        }
        for step in steps {
            match step {
                Step::Upsert(documents) => {
                    let documents: Vec<(String, Body)> =
                        documents.into_iter().map(|(n, text)| (id_of(n), saying(text))).collect();
                    let mut replaced = 0;
                    for (id, body) in documents.clone() {
                        replaced += usize::from(model.insert(id, body).is_some());
                    }
                    let n = documents.len();
                    let written = store.upsert(documents).unwrap();
                    prop_assert_eq!((written.written, written.replaced), (n, replaced));
                    prop_assert_eq!(written.sequence, store.last_change().unwrap());
                }
                Step::Delete(ids) => {
                    let ids: Vec<String> = ids.into_iter().map(id_of).collect();
                    let there = ids.iter().filter(|id| model.remove(*id).is_some()).count();
                    let written = store.delete(&ids).unwrap();
                    prop_assert_eq!((written.written, written.replaced), (there, there));
                }
                Step::Clear => {
                    let gone = store.gone_at(u64::MAX).unwrap();
                    store.clear_gone(store.last_change().unwrap()).unwrap();
                    prop_assert!(store.bodies(&gone).unwrap().iter().all(Option::is_none));
                    prop_assert_eq!(store.clear_gone(u64::MAX).unwrap(), 0);
                }
                Step::Reopen => {
                    drop(store);
                    store = reopened(&folder.path().join("store.sqlite")).unwrap();
                }
            }
            let found = standing(&store);
            for (no, _) in found.values() {
                numbers.insert(*no);
            }
            let found: BTreeMap<String, Body> =
                found.into_iter().map(|(id, (_, body))| (id, body)).collect();
            prop_assert_eq!(&found, &model);
            // A number never comes back: what is gone stays gone.
            let gone: BTreeSet<u32> = store.gone_at(u64::MAX).unwrap().into_iter().collect();
            let lives = store.live_after(0);
            let once = numbers.iter().all(|no| gone.contains(no) != lives.contains(no));
            prop_assert!(once, "what is gone stays gone, and nothing else goes");
        }
        prop_assert_eq!(store.check().unwrap(), Vec::<String>::new());
    }
}

#[test]
fn the_body_of_a_replaced_document_stays_until_it_is_cleared() {
    let (_folder, store) = fresh();
    store.upsert(vec![("a".into(), saying("old"))]).unwrap();
    let seq = store.upsert(vec![("a".into(), saying("new"))]).unwrap().sequence;
    assert_eq!(store.bodies(&[0]).unwrap(), [Some(saying("old"))]);
    assert_eq!(store.clear_gone(1).unwrap(), 0, "the removal is a later change");
    assert_eq!(store.clear_gone(seq).unwrap(), 1);
    assert_eq!(store.bodies(&[0, 1, 2]).unwrap(), [None, Some(saying("new")), None]);
    assert_eq!(store.ids_of(&[0, 1, 2]).unwrap(), [Some("a".into()), Some("a".into()), None]);
    assert_eq!(store.document("a"), Some((1, saying("new"))));
}

#[test]
fn what_stood_at_an_earlier_change_is_found_by_its_number() {
    let (_folder, store) = fresh();
    let ids: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
    // After every change: the numbers by id, and the end of all numbers.
    let mut moments = vec![([None; 3], 0u32)];
    let write = |id: usize, there: bool, moments: &mut Vec<([Option<u32>; 3], u32)>| {
        let (mut numbers, mut end) = *moments.last().unwrap();
        if numbers[id].take().is_some() {
            moments.push((numbers, end));
        }
        match there {
            true => {
                store.upsert(vec![(ids[id].clone(), saying("x"))]).unwrap();
                numbers[id] = Some(end);
                end += 1;
                moments.push((numbers, end));
            }
            false => drop(store.delete(&ids[id..=id]).unwrap()),
        }
    };
    for (id, there) in
        [(0, true), (1, true), (0, true), (1, false), (2, true), (1, true), (0, false)]
    {
        write(id, there, &mut moments);
    }
    assert_eq!(store.last_change().unwrap() as usize, moments.len() - 1);
    for (applied, (numbers, end)) in moments.iter().enumerate() {
        let applied = applied as u64;
        assert_eq!(store.numbers_at(&ids, applied, *end).unwrap(), numbers, "{applied}");
        let mut found = [None; 3];
        let at = |id: &str| ids.iter().position(|other| other == id).unwrap();
        let stood = store.ids_at(applied, |no, id| found[at(id)] = Some(no)).unwrap();
        assert_eq!((found, stood), (*numbers, *end), "{applied}");
        let gone = store.gone_at(applied).unwrap().len();
        assert_eq!(gone + numbers.iter().flatten().count(), *end as usize);
    }
}

#[test]
fn changes_come_in_groups_of_bounded_size() {
    let (_folder, store) = fresh();
    let text = "x".repeat(1000);
    store.upsert((0..5).map(|n| (n.to_string(), saying(text.as_str()))).collect()).unwrap();
    let group = |after, bytes| store.changes_after(after, 100, bytes).unwrap().len();
    assert_eq!((group(0, 0), group(0, 2500), group(0, 10_000), group(4, 1)), (1, 2, 5, 1));
    assert_eq!(group(5, 1), 0);
    // What is replaced does not go before the new one comes.
    store.upsert(vec![("0".into(), saying(text.as_str()))]).unwrap();
    assert_eq!(group(5, 0), 2);
    assert_eq!(store.changes_after(4, 2, u64::MAX).unwrap().len(), 3);
}

#[test]
fn a_load_numbers_from_zero_and_names_what_comes_twice() {
    let (folder, store) = fresh();
    let ids = (0..45_000).map(|n| (format!("{n}"), saying("x")));
    assert_eq!(store.load_all(ids).unwrap(), 45_000);
    assert_eq!((store.base(), store.last_change().unwrap()), (45_000, 0));
    assert_eq!(store.number("44999").unwrap(), Some(44_999));
    assert!(store.load_all([]).is_err(), "only into an empty one");
    store.upsert(vec![("7".into(), saying("y"))]).unwrap();
    assert_eq!(store.live_after(44_999), [44_999, 45_000]);
    assert_eq!(store.gone_at(u64::MAX).unwrap(), [7]);

    let path = folder.path().join("twice.sqlite");
    let twice = Store::create(&path).unwrap();
    let ids = ["a", "b", "c", "b"].map(|id| (id.to_owned(), saying("x")));
    let error = twice.load_all(ids).unwrap_err();
    assert!(matches!(error, StoreError::Bad(_)));
    assert!(error.to_string().contains("\"b\" twice: documents 2 and 4"), "{error}");
    drop(twice);
    let error = reopened(&path).err().unwrap().to_string();
    assert!(error.contains("unfinished"), "{error}");
}

#[test]
fn ids_have_limits() {
    let (_folder, store) = fresh();
    for id in ["", "a\nb", "a\0", "\u{7f}", &"x".repeat(LONGEST_ID + 1)] {
        let error = store.upsert(vec![("ok".into(), saying("")), (id.into(), saying(""))]);
        assert!(matches!(error, Err(StoreError::Bad(_))), "{id:?}");
    }
    assert_eq!(store.count().unwrap(), 0);
    store.upsert(vec![("é".repeat(LONGEST_ID / 2), saying(""))]).unwrap();
    assert_eq!(store.count().unwrap(), 1);
}
