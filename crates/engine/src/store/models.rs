//! The registry of models: versions that were loaded, which are active, and which were before.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::changes::whole;
use super::limits::{check_id, now};
use super::{ROW, Result, Room, Store, StoreError};

/// A version of a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelEntry {
    /// The model's name.
    pub name: String,
    /// The version: the beginning of its folder's checksum.
    pub version: String,
    /// The folder, as whoever adds it wants to find it again.
    pub folder: String,
    /// What it is made of.
    pub method: String,
    /// Latent dimensions, where it has a latent space.
    pub dim: Option<usize>,
    /// How neighbours are found.
    pub neighbours: Option<String>,
    /// When it was loaded, in seconds since 1970.
    pub loaded: f64,
    /// Whether searches that name no version get this one.
    pub active: bool,
}

/// Every version with whether it is the one of its name's last activation that stands.
const ALL: &str = "
SELECT name, version, folder, method, dim, neighbours, loaded, models.no IN (
    SELECT model FROM activations WHERE no IN (
        SELECT max(activations.no) FROM activations JOIN models ON models.no = model
        WHERE taken_back IS NULL GROUP BY name))
FROM models";

impl Store {
    /// Notes a version of a model; one that is known already is described anew and keeps its
    /// place. `active` and `loaded` are not looked at: a version is loaded now, and becomes
    /// active by [`activate`](Store::activate).
    pub fn add_model(&self, model: &ModelEntry) -> Result<ModelEntry> {
        check_id("the name of a model", &model.name)?;
        check_id("the version of a model", &model.version)?;
        let (model, now) = (model.clone(), now());
        self.write(Room::Usual(ROW), move |connection| {
            let ModelEntry { name, version, folder, method, dim, neighbours, .. } = &model;
            let dim = dim.map(|dim| whole(dim as u64));
            connection
                .prepare_cached(
                    "INSERT INTO models(name, version, folder, method, dim, neighbours, loaded)
                     VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)
                     ON CONFLICT(name, version) DO UPDATE SET folder = ?3, method = ?4, dim = ?5,
                     neighbours = ?6, loaded = ?7",
                )?
                .execute(params![name, version, folder, method, dim, neighbours, now])?;
            one(connection, name, version)
        })
    }

    /// Every version of every model, in the order in which they were first loaded.
    pub fn models(&self) -> Result<Vec<ModelEntry>> {
        self.read(|connection| {
            let mut find = connection.prepare_cached(&format!("{ALL} ORDER BY models.no"))?;
            let models = find.query_map([], entry)?;
            Ok(models.collect::<std::result::Result<_, _>>()?)
        })
    }

    /// The active versions: one of each model that was ever activated, in the order in which
    /// the models (not their versions) were first loaded.
    pub fn active_models(&self) -> Result<Vec<ModelEntry>> {
        let models = self.models()?;
        let mut active: Vec<ModelEntry> =
            models.iter().filter(|model| model.active).cloned().collect();
        active.sort_by_key(|model| models.iter().position(|other| other.name == model.name));
        Ok(active)
    }

    /// Makes a version the active one of its model, and remembers which was so before.
    pub fn activate(&self, name: &str, version: &str) -> Result<ModelEntry> {
        let (name, version, now) = (name.to_owned(), version.to_owned(), now());
        self.write(Room::Reserve, move |connection| {
            if !one(connection, &name, &version)?.active {
                connection
                    .prepare_cached(
                        "INSERT INTO activations(model, time)
                         SELECT no, ?3 FROM models WHERE name = ?1 AND version = ?2",
                    )?
                    .execute(params![name, version, now])?;
            }
            one(connection, &name, &version)
        })
    }

    /// Takes the last activation of a model back: the version is active again that was so
    /// before it. Done again, the one before that.
    pub fn roll_back(&self, name: &str) -> Result<ModelEntry> {
        let (name, now) = (name.to_owned(), now());
        self.write(Room::Reserve, move |connection| {
            let (no, before) = last_two(connection, &name)?;
            connection
                .prepare_cached("UPDATE activations SET taken_back = ?2 WHERE no = ?1")?
                .execute(params![no, now])?;
            one(connection, &name, &before)
        })
    }

    /// The version that [`roll_back`](Store::roll_back) would make active.
    pub fn version_before(&self, name: &str) -> Result<ModelEntry> {
        self.read(|connection| {
            let (_, before) = last_two(connection, name)?;
            one(connection, name, &before)
        })
    }
}

/// The last activation of a model that stands, and the version of the one before it.
fn last_two(connection: &Connection, name: &str) -> Result<(i64, String)> {
    let mut find = connection.prepare_cached(
        "SELECT activations.no, version FROM activations JOIN models ON models.no = model
         WHERE name = ?1 AND taken_back IS NULL ORDER BY activations.no DESC LIMIT 2",
    )?;
    let last: Vec<(i64, String)> = find
        .query_map([name], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<std::result::Result<_, _>>()?;
    match last.as_slice() {
        [(no, _), (_, before)] => Ok((*no, before.clone())),
        _ => Err(StoreError::Missing(format!(
            "model {name:?} has no earlier active version to go back to; load one and activate it"
        ))),
    }
}

fn one(connection: &Connection, name: &str, version: &str) -> Result<ModelEntry> {
    let sql = format!("{ALL} WHERE name = ?1 AND version = ?2");
    let found = connection.prepare_cached(&sql)?.query_row([name, version], entry).optional()?;
    found.ok_or_else(|| {
        StoreError::Missing(format!(
            "there is no version {version:?} of a model {name:?}; load it first"
        ))
    })
}

fn entry(row: &Row<'_>) -> rusqlite::Result<ModelEntry> {
    Ok(ModelEntry {
        name: row.get(0)?,
        version: row.get(1)?,
        folder: row.get(2)?,
        method: row.get(3)?,
        dim: row.get::<_, Option<u32>>(4)?.map(|dim| dim as usize),
        neighbours: row.get(5)?,
        loaded: row.get(6)?,
        active: row.get(7)?,
    })
}
