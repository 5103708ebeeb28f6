//! Judgments: the last grade per query, document and judge.

use rusqlite::{Connection, params};

use super::limits::{fault_of_judgment, now, trim};
use super::sql::{execute, last_change, rows, value};
use super::{ROW, Result, Space, Store, StoreError};
use crate::types::{Judgment, Written};

impl Store {
    /// Stores grades; each replaces the one that its judge gave to the same document for the same
    /// query, and a missing grade deletes that one. `replaced` counts the earlier ones. They are on
    /// disk when this returns.
    pub fn judge(&self, mut judgments: Vec<Judgment>) -> Result<Written> {
        for (i, judgment) in judgments.iter_mut().enumerate() {
            // White space around it makes no other query.
            trim(&mut judgment.query);
            if let Some(why) = fault_of_judgment(judgment) {
                return Err(StoreError::Bad(format!("judgment {}: {why}", i + 1)));
            }
        }
        let now = now();
        let bytes = judgments.iter().map(|judgment| judgment.query.len() + ROW).sum();
        self.write(Space::Usual(bytes), move |connection| {
            let mut replaced = 0;
            for judgment in &judgments {
                replaced += replace(connection, judgment, now)?;
            }
            let sequence = last_change(connection)?;
            Ok(Written { written: judgments.len(), replaced, sequence })
        })
    }

    /// The current grades, of one query or of all, ordered by when queries were first judged, then
    /// by document id and judge.
    pub fn judgments(&self, query: Option<&str>) -> Result<Vec<Judgment>> {
        let sql = "SELECT judged.query, id, grade, judge
                   FROM judged JOIN judgments ON judgments.query = judged.no
                   WHERE ?1 IS NULL OR judged.query = ?1
                   ORDER BY judged.no, id, judge";
        self.read(|connection| {
            rows(connection, sql, [query.map(str::trim)], |row| {
                let judge = Some(row.get::<_, String>(3)?).filter(|judge| !judge.is_empty());
                Ok(Judgment { query: row.get(0)?, id: row.get(1)?, grade: row.get(2)?, judge })
            })
        })
    }
}

/// Stores one grade; returns how many earlier ones it replaces.
pub(super) fn replace(connection: &Connection, judgment: &Judgment, now: f64) -> Result<usize> {
    let Judgment { query, id, grade, judge } = judgment;
    let judge = judge.as_deref().unwrap_or_default();
    let known: Option<i64> = value(connection, "SELECT no FROM judged WHERE query = ?1", [query])?;
    let no = match (known, grade) {
        (Some(no), _) => no,
        (None, None) => return Ok(0),
        (None, Some(_)) => {
            execute(connection, "INSERT INTO judged(query) VALUES(?1)", [query])?;
            connection.last_insert_rowid()
        }
    };
    let delete = "DELETE FROM judgments WHERE query = ?1 AND id = ?2 AND judge = ?3";
    let before = execute(connection, delete, params![no, id, judge])?;
    if let Some(grade) = grade {
        let insert =
            "INSERT INTO judgments(query, id, judge, grade, time) VALUES(?1, ?2, ?3, ?4, ?5)";
        execute(connection, insert, params![no, id, judge, grade, now])?;
    }
    Ok(before)
}
