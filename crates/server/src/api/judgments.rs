//! Stores judgments and exports them as JSON or TREC qrels.

use liken_engine::{Engine, checks};

use super::call::{Call, ResponseFuture};
use super::items::checked;
use super::types::Judgment;
use crate::http::WorkerPool;
use crate::problem::Problem;

pub(super) fn judge(call: Call) -> ResponseFuture {
    call.ask(WorkerPool::Store, |call, engine| {
        let limits = engine.limits();
        let judgments =
            checked(call, "judgment", |grade: &Judgment| checks::judgment(grade, limits))?;
        Ok(engine.judge(judgments)?)
    })
}

pub(super) fn list(call: Call) -> ResponseFuture {
    call.ask(WorkerPool::Store, |call, engine| Ok(engine.judgments(call.text("query"))?))
}

pub(super) fn qrels(call: Call) -> ResponseFuture {
    let media = "text/plain; charset=utf-8";
    call.ask_bytes(WorkerPool::Store, media, |_, engine| Ok(exported(engine)?.0))
}

pub(super) fn queries(call: Call) -> ResponseFuture {
    let media = "text/tab-separated-values; charset=utf-8";
    call.ask_bytes(WorkerPool::Store, media, |_, engine| Ok(exported(engine)?.1))
}

/// The qrels, and the texts of their queries.
fn exported(engine: &Engine) -> Result<(Vec<u8>, Vec<u8>), Problem> {
    let (mut qrels, mut queries) = (Vec::new(), Vec::new());
    engine.store().export_qrels(&mut qrels, &mut queries)?;
    Ok((qrels, queries))
}
