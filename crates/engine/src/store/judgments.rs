//! Judgments: the last grade per query, document and judge.

use rusqlite::{Connection, OptionalExtension, params};

use super::changes::last_change;
use super::limits::{fault_of_judgment, now, trim};
use super::{ROW, Result, Room, Store, StoreError};
use crate::types::{Judgment, Written};

impl Store {
    /// Keeps grades, each in place of the one that its judge gave to the same document for the
    /// same query; without a grade, that one is taken back. `replaced` says how many earlier
    /// ones there were. They are on disk when this returns.
    pub fn judge(&self, mut judgments: Vec<Judgment>) -> Result<Written> {
        for (i, judgment) in judgments.iter_mut().enumerate() {
            // A blank before or behind it makes no other query.
            trim(&mut judgment.query);
            if let Some(why) = fault_of_judgment(judgment) {
                return Err(StoreError::Bad(format!("judgment {}: {why}", i + 1)));
            }
        }
        let now = now();
        let bytes = judgments.iter().map(|judgment| judgment.query.len() + ROW).sum();
        self.write(Room::Usual(bytes), move |connection| {
            let mut replaced = 0;
            for judgment in &judgments {
                replaced += keep(connection, judgment, now)?;
            }
            let sequence = last_change(connection)?;
            Ok(Written { written: judgments.len(), replaced, sequence })
        })
    }

    /// The grades that stand, of one query or of all, in the order in which queries were first
    /// judged, then of documents' ids and of judges.
    pub fn judgments(&self, query: Option<&str>) -> Result<Vec<Judgment>> {
        self.read(|connection| {
            let mut find = connection.prepare_cached(
                "SELECT judged.query, id, grade, judge
                 FROM judged JOIN judgments ON judgments.query = judged.no
                 WHERE ?1 IS NULL OR judged.query = ?1
                 ORDER BY judged.no, id, judge",
            )?;
            let judgments = find.query_map([query.map(str::trim)], |row| {
                let judge = Some(row.get::<_, String>(3)?).filter(|judge| !judge.is_empty());
                Ok(Judgment {
                    query: row.get(0)?,
                    id: row.get(1)?,
                    grade: Some(row.get(2)?),
                    judge,
                })
            })?;
            Ok(judgments.collect::<std::result::Result<_, _>>()?)
        })
    }
}

/// Keeps one grade; how many earlier ones it takes the place of.
pub(super) fn keep(connection: &Connection, judgment: &Judgment, now: f64) -> Result<usize> {
    let Judgment { query, id, grade, judge } = judgment;
    let judge = judge.as_deref().unwrap_or_default();
    let known: Option<i64> = connection
        .prepare_cached("SELECT no FROM judged WHERE query = ?1")?
        .query_row([query], |row| row.get(0))
        .optional()?;
    let no = match (known, grade) {
        (Some(no), _) => no,
        (None, None) => return Ok(0),
        (None, Some(_)) => {
            connection.prepare_cached("INSERT INTO judged(query) VALUES(?1)")?.execute([query])?;
            connection.last_insert_rowid()
        }
    };
    let before = connection
        .prepare_cached("DELETE FROM judgments WHERE query = ?1 AND id = ?2 AND judge = ?3")?
        .execute(params![no, id, judge])?;
    if let Some(grade) = grade {
        connection
            .prepare_cached(
                "INSERT INTO judgments(query, id, judge, grade, time) VALUES(?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![no, id, judge, grade, now])?;
    }
    Ok(before)
}
