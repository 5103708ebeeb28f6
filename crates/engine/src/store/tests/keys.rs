//! Keys: right ones, wrong ones, revoked ones.

use super::*;
use crate::types::Scope;

#[test]
fn a_key_allows_its_scope_and_those_below() {
    let (folder, store) = fresh();
    assert!(!store.has_keys().unwrap());
    let scopes = [Scope::Read, Scope::Write, Scope::Admin];
    let keys = scopes.map(|scope| store.add_key(&format!("{scope:?}"), scope).unwrap());
    for (key, has) in keys.iter().zip(scopes) {
        assert!(key.starts_with("lk_") && key.len() == 46, "{key}");
        let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        assert!(key.chars().all(fine));
        for needs in scopes {
            assert_eq!(store.allows(key, needs).unwrap(), has >= needs);
        }
        for wrong in [&key[..45], &key[3..], &key.to_uppercase(), &format!("{key} ")] {
            assert!(!store.allows(wrong, Scope::Read).unwrap());
        }
    }
    assert!(!store.allows("", Scope::Read).unwrap());
    assert!(matches!(store.add_key("Read", Scope::Read), Err(StoreError::Bad(_))));

    store.revoke_key("Write").unwrap();
    assert!(matches!(store.revoke_key("Write"), Err(StoreError::Missing(_))));
    assert!(!store.allows(&keys[1], Scope::Read).unwrap());
    assert!(store.allows(&keys[2], Scope::Write).unwrap());
    let again = store.add_key("Write", Scope::Read).unwrap();
    assert!(store.allows(&again, Scope::Read).unwrap());
    assert!(!store.allows(&keys[1], Scope::Read).unwrap());
    let about = store.keys().unwrap();
    let names: Vec<_> =
        about.iter().map(|key| (key.name.as_str(), key.revoked.is_some())).collect();
    assert_eq!(names, [("Read", false), ("Write", true), ("Admin", false), ("Write", false)]);

    for name in ["Read", "Write", "Admin"] {
        store.revoke_key(name).unwrap();
    }
    assert!(store.has_keys().unwrap(), "an index whose keys are revoked is not open to all");
    drop(store);
    // Not even a part of a key is in the files.
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        for key in keys.iter().chain([&again]) {
            assert!(!bytes.windows(12).any(|window| window == &key.as_bytes()[3..15]));
        }
    }
}
