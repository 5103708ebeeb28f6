//! API keys. Only their hashes are kept: who reads the database can use none of them.

use rusqlite::{OptionalExtension, params};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

use super::limits::{check_id, now};
use super::{Result, Room, Store, StoreError};
use crate::types::Scope;

/// What all keys begin with, so that people and scanners know one when they see it.
const PREFIX: &str = "lk_";

/// A key, without the key itself.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct KeyAbout {
    /// Its name.
    pub name: String,
    /// What it may do.
    pub scope: Scope,
    /// When it was made, in seconds since 1970.
    pub created: f64,
    /// When it was revoked.
    pub revoked: Option<f64>,
}

impl Store {
    /// Makes a key. It is returned this once: 256 random bits, of which only the SHA-256 is
    /// kept.
    pub fn add_key(&self, name: &str, scope: Scope) -> Result<String> {
        check_id("the name of a key", name)?;
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(|error| {
            StoreError::Disk(format!("the system gives no random numbers: {error}"))
        })?;
        let key = format!("{PREFIX}{}", base64url(&secret));
        let (hash, name, now) = (hash(&key), name.to_owned(), now());
        self.write(Room::Reserve, move |connection| {
            let taken: Option<i64> = connection
                .prepare_cached("SELECT no FROM keys WHERE name = ?1 AND revoked IS NULL")?
                .query_row([&name], |row| row.get(0))
                .optional()?;
            if taken.is_some() {
                return Err(StoreError::Bad(format!(
                    "there is a key called {name:?} already; revoke it, or choose another name"
                )));
            }
            connection
                .prepare_cached(
                    "INSERT INTO keys(name, hash, scope, created) VALUES(?1, ?2, ?3, ?4)",
                )?
                .execute(params![name, hash, scope.name(), now])?;
            Ok(())
        })?;
        Ok(key)
    }

    /// Whether `key` may do what needs `scope`. It is compared with all keys, in a time that
    /// does not depend on how much of it is right.
    pub fn allows(&self, key: &str, scope: Scope) -> Result<bool> {
        let given = hash(key);
        self.read(|connection| {
            let mut find =
                connection.prepare_cached("SELECT hash, scope FROM keys WHERE revoked IS NULL")?;
            let mut rows = find.query([])?;
            let mut allowed = Choice::from(0);
            while let Some(row) = rows.next()? {
                let hash = row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?;
                let includes = scope_of(&row.get::<_, String>(1)?)? >= scope;
                allowed |= hash.ct_eq(&given) & Choice::from(u8::from(includes));
            }
            Ok(allowed.into())
        })
    }

    /// All keys, the revoked ones among them, in the order in which they were made.
    pub fn keys(&self) -> Result<Vec<KeyAbout>> {
        self.read(|connection| {
            let mut find = connection
                .prepare_cached("SELECT name, scope, created, revoked FROM keys ORDER BY no")?;
            let mut rows = find.query([])?;
            let mut keys = Vec::new();
            while let Some(row) = rows.next()? {
                keys.push(KeyAbout {
                    name: row.get(0)?,
                    scope: scope_of(&row.get::<_, String>(1)?)?,
                    created: row.get(2)?,
                    revoked: row.get(3)?,
                });
            }
            Ok(keys)
        })
    }

    /// Whether there was ever a key. An index whose last key was revoked is closed, not open.
    pub fn has_keys(&self) -> Result<bool> {
        self.read(|connection| {
            let mut find = connection.prepare_cached("SELECT EXISTS(SELECT 1 FROM keys)")?;
            Ok(find.query_row([], |row| row.get(0))?)
        })
    }

    /// Ends the key called `name`, from the next request on.
    pub fn revoke_key(&self, name: &str) -> Result<()> {
        let (name, now) = (name.to_owned(), now());
        self.write(Room::Reserve, move |connection| {
            let revoked = connection
                .prepare_cached("UPDATE keys SET revoked = ?2 WHERE name = ?1 AND revoked IS NULL")?
                .execute(params![name, now])?;
            if revoked == 0 {
                return Err(StoreError::Missing(format!("there is no key called {name:?}")));
            }
            Ok(())
        })
    }
}

fn hash(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

impl Scope {
    /// It as it is written: for people, in the database and in the API.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Write => "write",
            Scope::Admin => "admin",
        }
    }
}

fn scope_of(name: &str) -> Result<Scope> {
    let scopes = [Scope::Read, Scope::Write, Scope::Admin];
    scopes.into_iter().find(|scope| scope.name() == name).ok_or_else(|| {
        StoreError::Unusable(format!(
            "expected read, write or admin as the scope of a key, found {name:?}; use a newer liken"
        ))
    })
}

/// RFC 4648 §5, without padding.
fn base64url(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = three
            .iter()
            .enumerate()
            .fold(0u32, |bits, (i, &byte)| bits | u32::from(byte) << (16 - 8 * i));
        for i in 0..=three.len() {
            text.push(char::from(LETTERS[(bits >> (18 - 6 * i)) as usize & 63]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64url_as_in_rfc_4648() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let expected = ["", "Zg", "Zm8", "Zm9v", "Zm9vYg", "Zm9vYmE", "Zm9vYmFy"];
        assert_eq!(texts.map(|text| base64url(text.as_bytes())), expected);
        assert_eq!(base64url(&[0xfb, 0xff, 0xfe]), "-__-");
    }
}
