//! API keys. Only their hashes are stored, so the database gives no key away.

use rusqlite::params;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

use super::limits::{check_id, now};
use super::sql::{execute, value};
use super::{Result, Space, Store, StoreError};
use crate::types::Scope;

/// The prefix of all keys, by which secret scanners recognise one.
const PREFIX: &str = "lk_";

/// The stored facts about a key; the key itself is not stored.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct KeyAbout {
    /// Name of the key, unique in the index.
    pub name: String,
    /// Its scope.
    pub scope: Scope,
    /// The time of creation, in seconds since 1970.
    pub created: f64,
    /// The time of revocation, if it was revoked.
    pub revoked: Option<f64>,
}

impl Store {
    /// Makes a key of 256 random bits. It is returned only here: the database stores its SHA-256.
    pub fn add_key(&self, name: &str, scope: Scope) -> Result<String> {
        check_id("the name of a key", name)?;
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(|error| {
            StoreError::Unavailable(format!("the system returns no random numbers: {error}"))
        })?;
        let key = format!("{PREFIX}{}", base64url(&secret));
        let (hash, name, now) = (hash(&key), name.to_owned(), now());
        self.write(Space::Reserve, move |connection| {
            let taken = "SELECT no FROM keys WHERE name = ?1 AND revoked IS NULL";
            if value::<i64>(connection, taken, [&name])?.is_some() {
                return Err(StoreError::Bad(format!(
                    "there is a key called {name:?} already; revoke it, or choose another name"
                )));
            }
            let insert = "INSERT INTO keys(name, hash, scope, created) VALUES(?1, ?2, ?3, ?4)";
            execute(connection, insert, params![name, hash, scope.name(), now])?;
            Ok(())
        })?;
        Ok(key)
    }

    /// Whether `key` is valid and includes `scope`. It is compared with all keys in constant time.
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

    /// All keys, revoked ones among them, oldest first.
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

    /// Whether a key was ever made. An index whose last key was revoked still requires one.
    pub fn has_keys(&self) -> Result<bool> {
        self.read(|connection| {
            Ok(value::<i64>(connection, "SELECT no FROM keys LIMIT 1", [])?.is_some())
        })
    }

    /// Revokes the key called `name`, from the next request on.
    pub fn revoke_key(&self, name: &str) -> Result<()> {
        let (name, now) = (name.to_owned(), now());
        self.write(Space::Reserve, move |connection| {
            let revoke = "UPDATE keys SET revoked = ?2 WHERE name = ?1 AND revoked IS NULL";
            if execute(connection, revoke, params![name, now])? == 0 {
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
    /// The name that messages, the database and the API use.
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
