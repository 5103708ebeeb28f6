//! Whether an uploaded run can be measured here at all: it must answer a judged query, and name a
//! document of the index. What cannot is refused at once, not when somebody compares it.

use liken::data::Dataset;
use liken::eval::trec::TrecRun;
use liken_pages::shorten;

use super::Material;
use crate::pages::layout::grouped;
use crate::problem::Problem;

/// Documents of a run that are looked up before it is taken to be of another collection.
const LOOKED_UP: usize = 10_000;
/// Characters of a query or an id in a message.
const SHOWN: usize = 60;

/// Refuses a run that has nothing in common with the judgments or the documents of the index.
pub fn check(run: &TrecRun, material: &Material<'_>) -> Result<(), Problem> {
    let mut example: Option<(String, String)> = None;
    let mut is_judged = |id: &str, text: &str| {
        example.get_or_insert_with(|| (id.to_owned(), text.to_owned()));
        run.find(id).is_some() || run.find(text).is_some()
    };
    let mut judged = (material.judged)()?.iter().any(|one| is_judged(&one.query, &one.query));
    judged |= (material.named)()?.keys().any(|id| run.find(id).is_some());
    if let Some(dataset) = material.dataset.filter(|_| !judged) {
        judged = any_held_out(dataset, &mut is_judged)?;
    }
    // Where nothing is judged yet, nothing can be said against the queries.
    if let Some((id, text)) = example.filter(|_| !judged) {
        let found = run.queries().next().map_or("", |query| query.id);
        return Err(Problem::bad(format!(
            "none of the run's queries ({}) is judged: expected ids or texts of judged queries, such as {:?} \
             or {:?}, found {:?} and the like; nothing was kept of the run",
            grouped(run.len()),
            shorten(&id, SHOWN),
            shorten(&text, SHOWN),
            shorten(found, SHOWN),
        )));
    }
    let documents = run.queries().flat_map(|query| query.hits().map(|hit| hit.doc.to_owned()));
    let documents: Vec<String> = documents.take(LOOKED_UP).collect();
    if (material.has_any)(&documents)? {
        return Ok(());
    }
    Err(Problem::bad(format!(
        "none of the run's documents is in this index: expected the ids that search shows, found \
         {:?} and the like; nothing was kept of the run",
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
