//! Queries to the text index, and how tantivy is asked.

use std::collections::BTreeMap;

use tantivy::query::{
    BooleanQuery, BoostQuery, EnableScoring, Occur, PhraseQuery, Query, TermQuery, Weight,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Searcher, TantivyError, Term};

use super::tokens::APART;

/// A query of more different words than this is answered by its rarest.
const MOST_TERMS: usize = 128;
/// So many words are looked for in any case; more of them, the rarest first, as long as their lists
/// have no more than [`MOST_ENTRIES`] entries together.
const FEW_TERMS: usize = 12;
const MOST_ENTRIES: u64 = 4_000_000;
/// With more words than this, adding up all scores is faster than looking for what can be passed
/// over.
const MANY_TERMS: usize = 4;

/// What is looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextQuery {
    /// The words, as terms; one that is repeated counts more. A document needs one of them, or the
    /// phrases.
    pub terms: Vec<String>,
    /// Words that must stand side by side, as terms with their places in the phrase: those of words
    /// that are not counted are left free.
    pub phrases: Vec<Vec<(usize, String)>>,
}

/// A query as tantivy weighs it.
pub(super) struct Plan {
    /// The query as a whole.
    pub weight: Box<dyn Weight>,
    /// Its words one by one, if there is a filter and it has no phrases.
    pub words: Vec<Word>,
    /// Whether it has so many words that nothing can be passed over.
    pub many: bool,
}

/// A word of a query.
pub(super) struct Word {
    pub term: Term,
    /// How often it is said.
    pub times: f32,
    pub weight: Box<dyn Weight>,
}

impl Plan {
    /// How to ask for `query`; nothing if it cannot find anything.
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

/// The different words that are looked for, each with how often it is said.
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
    // What lies further on than texts lie apart would reach from one into the next.
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
