//! Checks an uploaded run: it must have a judged query and a document of the index. Other runs are
//! refused at once, not in the comparison.

use liken::data::Dataset;
use liken::eval::trec::TrecRun;
use liken_pages::shorten;

use super::sources::CompareSources;
use crate::pages::format::count;
use crate::problem::Problem;

/// The most documents of a run that are looked up.
const LOOKED_UP: usize = 10_000;
/// The characters of a query or an id in a message.
const SHOWN: usize = 60;

/// The problem with a run that shares no query with the judgments or no document with the index.
pub fn check(run: &TrecRun, sources: &CompareSources<'_>) -> Result<(), Problem> {
    let mut example: Option<(String, String)> = None;
    let mut is_judged = |id: &str, text: &str| {
        example.get_or_insert_with(|| (id.to_owned(), text.to_owned()));
        run.find(id).is_some() || run.find(text).is_some()
    };
    let mut judged = (sources.judgments)()?.iter().any(|one| is_judged(&one.query, &one.query));
    judged |= (sources.named)()?.keys().any(|id| run.find(id).is_some());
    if let Some(dataset) = sources.dataset.filter(|_| !judged) {
        judged = any_held_out(dataset, &mut is_judged)?;
    }
    // Without judgments, no query can be wrong.
    if let Some((id, text)) = example.filter(|_| !judged) {
        let found = run.queries().next().map_or("", |query| query.id);
        return Err(Problem::bad(format!(
            "no query of the run ({}) is judged: expected ids or texts of judged queries, such \
             as {:?} or {:?}, found queries such as {:?}; the run was not stored",
            count(run.len(), "query"),
            shorten(&id, SHOWN),
            shorten(&text, SHOWN),
            shorten(found, SHOWN),
        )));
    }
    let documents = run.queries().flat_map(|query| query.hits().map(|hit| hit.doc.to_owned()));
    let documents: Vec<String> = documents.take(LOOKED_UP).collect();
    if (sources.has_any)(&documents)? {
        return Ok(());
    }
    Err(Problem::bad(format!(
        "none of the run's documents is in this index: expected ids that search shows, found ids \
         such as {:?}; the run was not stored",
        shorten(documents.first().map_or("", String::as_str), SHOWN),
    )))
}

/// Whether `is_judged` holds of the id and text of a held-out query.
fn any_held_out(
    dataset: &Dataset,
    is_judged: &mut dyn FnMut(&str, &str) -> bool,
) -> Result<bool, Problem> {
    for part in [&dataset.test, &dataset.validation] {
        for (number, row) in part.rows().enumerate() {
            if row.is_empty() {
                continue;
            }
            let query = dataset.queries.get(number)?;
            if is_judged(&query.id, &query.text) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
