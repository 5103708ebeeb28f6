//! Queries to the text index as queries of tantivy.

use std::collections::BTreeMap;

use tantivy::query::{
    BooleanQuery, BoostQuery, EnableScoring, Occur, PhraseQuery, Query, TermQuery, Weight,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Searcher, TantivyError, Term};

use super::tokens::APART;

/// Of more different words than this, only the rarest are searched.
const MOST_TERMS: usize = 128;
/// This many words are always searched; more of them, the rarest first, as long as their postings
/// lists have at most [`MOST_ENTRIES`] entries together.
const FEW_TERMS: usize = 12;
const MOST_ENTRIES: u64 = 4_000_000;
/// With more words than this, scoring all documents is faster than skipping blocks of them.
const MANY_TERMS: usize = 4;

/// A query to the text index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextQuery {
    /// The words, as terms; a repeated one counts more. A document must contain one of them, or the
    /// phrases.
    pub terms: Vec<String>,
    /// Phrases, as terms with their positions: stop words leave gaps.
    pub phrases: Vec<Vec<(usize, String)>>,
}

/// A query, ready to be run.
pub(super) struct Plan {
    /// The query as a whole.
    pub weight: Box<dyn Weight>,
    /// Its words one by one, if there is a filter and it has no phrases.
    pub words: Vec<Word>,
    /// Whether it has more than [`MANY_TERMS`] words.
    pub many: bool,
}

/// A word of a query.
pub(super) struct Word {
    pub term: Term,
    /// Its frequency in the query.
    pub times: f32,
    pub weight: Box<dyn Weight>,
}

impl Plan {
    /// The plan of `query`; `None` if it cannot find anything.
    pub fn of(
        query: &TextQuery,
        field: Field,
        searcher: &Searcher,
        filtered: bool,
    ) -> Result<Option<Plan>, TantivyError> {
        let terms = terms(query, field, searcher)?;
        let phrases: Vec<_> = query.phrases.iter().filter_map(|p| phrase(p, field)).collect();
        if terms.is_empty() && phrases.is_empty() {
            return Ok(None);
        }
        let scoring = EnableScoring::enabled_from_searcher(searcher);
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        let mut words = Vec::new();
        let many = phrases.is_empty() && terms.len() > MANY_TERMS;
        for (term, times) in terms {
            let word = TermQuery::new(term.clone(), IndexRecordOption::WithFreqs);
            if filtered && phrases.is_empty() {
                words.push(Word { term, times, weight: word.weight(scoring)? });
            }
            clauses.push((Occur::Should, Box::new(BoostQuery::new(Box::new(word), times))));
        }
        clauses.extend(phrases.into_iter().map(|phrase| (Occur::Must, phrase)));
        let weight = BooleanQuery::new(clauses).weight(scoring)?;
        Ok(Some(Plan { weight, words, many }))
    }
}

/// The different words that are searched, each with how often the query has it.
fn terms(
    query: &TextQuery,
    field: Field,
    searcher: &Searcher,
) -> Result<Vec<(Term, f32)>, TantivyError> {
    let mut times: BTreeMap<&str, u32> = BTreeMap::new();
    for term in &query.terms {
        *times.entry(term).or_default() += 1;
    }
    let term = |(term, times): (&str, u32)| (Term::from_field_text(field, term), times as f32);
    if times.len() <= FEW_TERMS {
        return Ok(times.into_iter().map(term).collect());
    }
    let mut terms = Vec::new();
    for (term, times) in times.into_iter().map(term) {
        let documents = searcher.doc_freq(&term)?;
        if documents > 0 {
            terms.push((documents, term, times));
        }
    }
    terms.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    terms.truncate(MOST_TERMS);
    let mut entries = 0;
    let fits = |(at, (documents, ..)): &(usize, (u64, Term, f32))| {
        entries += documents;
        *at < FEW_TERMS || entries <= MOST_ENTRIES
    };
    let kept = terms.into_iter().enumerate().take_while(fits);
    Ok(kept.map(|(_, (_, term, times))| (term, times)).collect())
}

fn phrase(phrase: &[(usize, String)], field: Field) -> Option<Box<dyn Query>> {
    let first = phrase.iter().map(|(place, _)| *place).min()?;
    // Words further apart than texts are would match across texts.
    let mut words: Vec<_> = phrase
        .iter()
        .filter(|(place, _)| place - first < APART)
        .map(|(place, term)| (place - first, Term::from_field_text(field, term)))
        .collect();
    if words.len() == 1 {
        let (_, term) = words.swap_remove(0);
        return Some(Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)));
    }
    Some(Box::new(PhraseQuery::new_with_offset(words)))
}
