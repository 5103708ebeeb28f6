//! The registry of models: the loaded versions, the active ones, and those active before.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::limits::{check_id, now};
use super::sql::{execute, rows, whole};
use super::{ROW, Result, Space, Store, StoreError};
use crate::types::{ModelAbout, ModelRef};

/// A version of a model in the registry.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ModelEntry {
    /// Its description in the API.
    #[serde(flatten)]
    pub about: ModelAbout,
    /// The folder that it was loaded from.
    pub folder: String,
}

/// Every version, with whether it is that of its model's last activation that was not rolled back.
const ALL: &str = "
SELECT name, version, folder, method, dim, neighbours, loaded, models.no IN (
    SELECT model FROM activations WHERE no IN (
        SELECT max(activations.no) FROM activations JOIN models ON models.no = model
        WHERE taken_back IS NULL GROUP BY name))
FROM models";

impl Store {
    /// Registers a version of a model; a known one is overwritten and keeps its place. Ignores
    /// `active` and `loaded`: the version is loaded now, and [`activate`](Store::activate) makes it
    /// active.
    pub fn add_model(&self, entry: &ModelEntry) -> Result<ModelEntry> {
        check_id("the name of a model", &entry.about.model.name)?;
        check_id("the version of a model", &entry.about.model.version)?;
        let (entry, now) = (entry.clone(), now());
        self.write(Space::Usual(ROW), move |connection| {
            let ModelAbout { model, method, dim, neighbours, .. } = &entry.about;
            let (dim, folder) = (dim.map(|dim| whole(dim as u64)), &entry.folder);
            execute(
                connection,
                "INSERT INTO models(name, version, folder, method, dim, neighbours, loaded)
                 VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)
                 ON CONFLICT(name, version) DO UPDATE SET folder = ?3, method = ?4, dim = ?5,
                 neighbours = ?6, loaded = ?7",
                params![model.name, model.version, folder, method, dim, neighbours, now],
            )?;
            one(connection, model)
        })
    }

    /// Every version of every model, in the order in which they were first loaded.
    pub fn models(&self) -> Result<Vec<ModelEntry>> {
        self.read(|connection| rows(connection, &format!("{ALL} ORDER BY models.no"), [], entry))
    }

    /// The active version of each model, in the order in which the models (not their versions) were
    /// first loaded.
    pub fn active_models(&self) -> Result<Vec<ModelEntry>> {
        let models = self.models()?;
        let name = |entry: &ModelEntry| entry.about.model.name.clone();
        let mut active: Vec<ModelEntry> =
            models.iter().filter(|entry| entry.about.active).cloned().collect();
        active.sort_by_key(|entry| models.iter().position(|other| name(other) == name(entry)));
        Ok(active)
    }

    /// Makes a version the active one of its model; [`roll_back`](Store::roll_back) undoes that.
    pub fn activate(&self, model: &ModelRef) -> Result<ModelEntry> {
        let (model, now) = (model.clone(), now());
        self.write(Space::Reserve, move |connection| {
            if !one(connection, &model)?.about.active {
                execute(
                    connection,
                    "INSERT INTO activations(model, time)
                     SELECT no, ?3 FROM models WHERE name = ?1 AND version = ?2",
                    params![model.name, model.version, now],
                )?;
            }
            one(connection, &model)
        })
    }

    /// Undoes the last activation of a model: the version before is active again. Called again, it
    /// goes back one version more.
    pub fn roll_back(&self, name: &str) -> Result<ModelEntry> {
        let (name, now) = (name.to_owned(), now());
        self.write(Space::Reserve, move |connection| {
            let (no, before) = last_two(connection, &name)?;
            let update = "UPDATE activations SET taken_back = ?2 WHERE no = ?1";
            execute(connection, update, params![no, now])?;
            one(connection, &before)
        })
    }

    /// The version that [`roll_back`](Store::roll_back) would make active.
    pub fn version_before(&self, name: &str) -> Result<ModelEntry> {
        self.read(|connection| one(connection, &last_two(connection, name)?.1))
    }
}

/// The last activation of a model that was not rolled back, and the version of the one before it.
fn last_two(connection: &Connection, name: &str) -> Result<(i64, ModelRef)> {
    let sql = "SELECT activations.no, version FROM activations JOIN models ON models.no = model
               WHERE name = ?1 AND taken_back IS NULL ORDER BY activations.no DESC LIMIT 2";
    let last: Vec<(i64, ModelRef)> = rows(connection, sql, [name], |row| {
        Ok((row.get(0)?, ModelRef { name: name.to_owned(), version: row.get(1)? }))
    })?;
    match last.as_slice() {
        [(no, _), (_, before)] => Ok((*no, before.clone())),
        _ => Err(StoreError::Missing(format!(
            "model {name:?} has no earlier active version to go back to; load one and activate it"
        ))),
    }
}

fn one(connection: &Connection, model: &ModelRef) -> Result<ModelEntry> {
    let ModelRef { name, version } = model;
    let sql = format!("{ALL} WHERE name = ?1 AND version = ?2");
    let found = connection.prepare_cached(&sql)?.query_row([name, version], entry).optional()?;
    found.ok_or_else(|| {
        StoreError::Missing(format!("model {name:?} has no version {version:?}; load it first"))
    })
}

fn entry(row: &Row<'_>) -> rusqlite::Result<ModelEntry> {
    let about = ModelAbout {
        model: ModelRef { name: row.get(0)?, version: row.get(1)? },
        active: row.get(7)?,
        method: row.get(3)?,
        dim: row.get::<_, Option<u32>>(4)?.map(|dim| dim as usize),
        loaded: row.get(6)?,
        neighbours: row.get(5)?,
    };
    Ok(ModelEntry { about, folder: row.get(2)? })
}
