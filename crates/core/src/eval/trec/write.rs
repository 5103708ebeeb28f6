//! Writes run files for trec_eval, ir_measures, pytrec_eval and others.
//!
//! Those tools ignore the rank and sort by score and id, so a score is printed with enough digits to
//! parse to the same number. Fields are separated by white space and cannot be quoted; an id with
//! white space is refused, since an altered one would silently match no judgment.

use std::io::{self, Write};

use crate::ranking::Hit;

/// Writes the ranking of one query; `doc_ids` by document number. Nothing is written if an id
/// or the tag is empty or holds white space or control characters, if the query's id begins
/// with `#` (a comment in trec_eval 10), or if a score is not finite: the error is of the kind
/// `InvalidInput` and names it.
///
/// # Panics
/// If a document's number is not below the number of ids.
pub fn write_run(
    out: &mut impl Write,
    query_id: &str,
    hits: &[Hit],
    doc_ids: &[String],
    tag: &str,
) -> io::Result<()> {
    check("query id", query_id)?;
    check("run tag", tag)?;
    if query_id.starts_with('#') {
        return Err(refused(format!(
            "the query id {query_id:?} begins with #, which starts a comment in a TREC run"
        )));
    }
    for hit in hits {
        let doc_id = &doc_ids[hit.doc as usize];
        check("document id", doc_id)?;
        if !hit.score.is_finite() {
            return Err(refused(format!(
                "the score of document {doc_id:?} for query {query_id:?} is {}, expected a finite number",
                hit.score
            )));
        }
    }
    for (rank, hit) in (1u64..).zip(hits) {
        // `{:?}` is the shortest text that reads back as the same f32, with an exponent
        // where the number would be long.
        let doc_id = &doc_ids[hit.doc as usize];
        writeln!(out, "{query_id} Q0 {doc_id} {rank} {:?} {tag}", hit.score)?;
    }
    Ok(())
}

fn check(what: &str, field: &str) -> io::Result<()> {
    if field.is_empty() {
        return Err(refused(format!("an empty {what} cannot be written to a TREC run")));
    }
    if field.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(refused(format!(
            "the {what} {field:?} holds white space, which separates the fields of a TREC run; \
             import the data with ids without white space"
        )));
    }
    Ok(())
}

fn refused(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ranking::{tie_rank, top_k};

    fn written(query_id: &str, scores: &[f32], ids: &[&str], tag: &str) -> io::Result<String> {
        let hits: Vec<Hit> = (0..).zip(scores).map(|(doc, &score)| Hit { doc, score }).collect();
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        let mut out = Vec::new();
        let result = write_run(&mut out, query_id, &hits, &ids, tag);
        assert!(result.is_ok() || out.is_empty(), "something was written before the error");
        result.map(|()| String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_run_is_six_fields_a_line() {
        assert_eq!(
            written("q1", &[2.5, 0.1, -1e-20], &["a", "中", "c/d"], "bm25").unwrap(),
            "q1 Q0 a 1 2.5 bm25\nq1 Q0 中 2 0.1 bm25\nq1 Q0 c/d 3 -1e-20 bm25\n"
        );
        assert_eq!(written("q1", &[], &[], "t").unwrap(), "");
    }

    #[test]
    fn what_would_break_a_line_is_refused() {
        let message = |query: &str, score: f32, id: &str, tag: &str| {
            let error = written(query, &[1.0, score], &["a", id], tag).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            error.to_string()
        };
        assert!(message("q", 1.0, "b c", "t").contains("document id \"b c\" holds white space"));
        assert!(message("q", 1.0, "b\u{a0}c", "t").contains("white space"));
        assert!(message("q", 1.0, "b\0", "t").contains("document id"));
        assert!(message("q", 1.0, "", "t").contains("empty document id"));
        assert!(message("how to", 1.0, "b", "t").contains("query id \"how to\""));
        assert!(message("#1", 1.0, "b", "t").contains("comment"));
        assert!(message("q", 1.0, "b", "").contains("empty run tag"));
        assert!(message("q", f32::NAN, "b", "t").contains("is NaN"));
        assert!(message("q", f32::INFINITY, "b", "t").contains("is inf"));
    }

    proptest! {
        #[test]
        fn reading_back_gives_the_same_scores_and_order(
            scores in prop::collection::vec(
                any::<f32>().prop_filter("finite", |score| score.is_finite()), 1..50),
        ) {
            let ids: Vec<String> = (0..scores.len()).map(|i| format!("d{i}")).collect();
            let hits = top_k(&scores, usize::MAX, &tie_rank(&ids), &[]);
            let mut out = Vec::new();
            write_run(&mut out, "q", &hits, &ids, "t").unwrap();
            let text = String::from_utf8(out).unwrap();
            // As trec_eval does: by score, then by id, both descending.
            let mut read: Vec<(f32, &str)> = text
                .lines()
                .map(|line| line.split(' ').collect::<Vec<_>>())
                .map(|fields| (fields[4].parse().unwrap(), fields[2]))
                .collect();
            for (hit, (score, id)) in hits.iter().zip(&read) {
                prop_assert_eq!(hit.score.to_bits(), score.to_bits());
                prop_assert_eq!(&ids[hit.doc as usize], id);
            }
            let before: Vec<&str> = read.iter().map(|&(_, id)| id).collect();
            read.sort_by(|a, b| b.partial_cmp(a).unwrap());
            prop_assert_eq!(before, read.iter().map(|&(_, id)| id).collect::<Vec<_>>());
        }
    }
}
