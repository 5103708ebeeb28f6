//! The demo's queries: several phrasings for each concept and its facets, some misspelt, ordered by
//! frequency.

use std::collections::HashSet;

use super::draw::{Stream, chance, pick, spread};
use super::log::{Demo, QueryTruth, Wording};
use crate::random::Random;
use crate::synth::concepts::{Concept, Concepts, Facet};
use crate::{Error, Result};

/// The shares of queries in the words of pages, and of those in the words of both.
const PAGES: f64 = 0.18;
const BOTH: f64 = 0.2;
/// The share of queries that name a facet, where the words allow it.
const WITH_FACET: f64 = 0.6;
/// The most attempts to draw a query that does not exist yet.
const ATTEMPTS: usize = 200;
/// The least letters of a word that is misspelt.
const LONG_WORD: usize = 5;

/// The distinct queries, most frequent first, then the unseen ones.
pub(super) fn write(demo: &Demo, concepts: &Concepts) -> Result<(Vec<String>, Vec<QueryTruth>)> {
    let mut random = demo.random(Stream::Queries);
    let n_concepts = concepts.concepts.len();
    let shares = spread(demo.queries + demo.unseen, n_concepts, &mut random);
    let mut seen = HashSet::new();
    // (interest, turn, text, truth); the first query of a concept is its typical one.
    let mut drafts = Vec::with_capacity(demo.queries + demo.unseen);
    for (concept, &share) in shares.iter().enumerate() {
        let interest = popularity(n_concepts, &mut random);
        for turn in 0..share {
            let (text, truth) = draft(demo, concepts, concept, turn, &mut seen, &mut random)
                .ok_or_else(|| {
                    let made = seen.len();
                    let expected =
                        format!("fewer: after {made} queries no new one for a concept was found");
                    Error::parameter("queries", demo.queries + demo.unseen, &expected)
                })?;
            let jitter = 0.5 + random.uniform();
            drafts.push((interest * jitter / (turn as f64 + 1.0), turn, text, truth));
        }
    }
    // The typical query of a concept is never among the unseen.
    random.shuffle(&mut drafts);
    drafts.sort_by_key(|(_, turn, ..)| *turn == 0);
    let mut searched = drafts.split_off(demo.unseen.min(drafts.len()));
    searched.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.2.cmp(&b.2)));
    searched.extend(drafts);
    Ok(searched.into_iter().map(|(_, _, text, truth)| (text, truth)).unzip())
}

/// The popularity of a concept, with a heavy tail.
fn popularity(n_concepts: usize, random: &mut Random) -> f64 {
    let rank = random.below(n_concepts as u64) as f64;
    1.0 / (rank + 30.0).sqrt()
}

fn draft(
    demo: &Demo,
    concepts: &Concepts,
    number: usize,
    turn: usize,
    seen: &mut HashSet<String>,
    random: &mut Random,
) -> Option<(String, QueryTruth)> {
    let (concept, topic) = (&concepts.concepts[number], concepts.topic(number));
    for attempt in 0..ATTEMPTS {
        let (mut text, facet, wording) = if turn == 0 && attempt == 0 {
            (concept.people[0].text.clone(), 0, Wording::People)
        } else {
            ask(concept, &topic.facets, random)
        };
        let wrong =
            (turn > 0 && chance(demo.misspelt, random)).then(|| misspell(&text, random)).flatten();
        let misspelt = wrong.is_some();
        text = wrong.unwrap_or(text);
        if seen.insert(text.clone()) {
            return Some((text, QueryTruth { concept: number, facet, wording, misspelt }));
        }
    }
    None
}

/// A phrasing for a concept, with its facet.
fn ask(concept: &Concept, facets: &[Facet], random: &mut Random) -> (String, usize, Wording) {
    let facet = random.below(facets.len() as u64) as usize;
    let with_facet = chance(WITH_FACET, random);
    let template = pick(&facets[facet].queries, random);
    let title = pick(&facets[facet].titles, random);
    let kind = random.uniform();
    let page = early(&concept.pages, random);
    let nouns: Vec<&str> =
        concept.people.iter().filter(|p| !p.question).map(|p| p.text.as_str()).collect();
    let noun = *early(&nouns, random);
    let (text, facet, wording) = if kind < PAGES {
        match with_facet {
            true => (format!("{page} {title}"), facet, Wording::Pages),
            false => (page.clone(), 0, Wording::Pages),
        }
    } else if kind < PAGES + BOTH {
        match random.below(3) {
            0 => (format!("{noun} {title}"), facet, Wording::Both),
            1 => (format!("{noun} {}", pick(&concept.terms, random)), 0, Wording::Both),
            _ => (template.replace("{}", page), facet, Wording::Both),
        }
    } else {
        match with_facet {
            true => (template.replace("{}", noun), facet, Wording::People),
            false => (early(&concept.people, random).text.clone(), 0, Wording::People),
        }
    };
    (text.to_lowercase(), facet, wording)
}

/// An item; early ones are more likely.
fn early<'a, T>(items: &'a [T], random: &mut Random) -> &'a T {
    let n = items.len() as u64;
    let drawn = random.below(n).min(random.below(n));
    &items[drawn as usize]
}

/// Swaps, drops or doubles a letter inside of one long word; `None` if no word is long enough or the
/// text does not change.
fn misspell(text: &str, random: &mut Random) -> Option<String> {
    let mut words: Vec<Vec<char>> = text.split(' ').map(|word| word.chars().collect()).collect();
    let long: Vec<usize> =
        (0..words.len()).filter(|&word| words[word].len() >= LONG_WORD).collect();
    if long.is_empty() {
        return None;
    }
    let word = &mut words[*pick(&long, random)];
    // The first letter stays, as in most real misspellings.
    let at = 1 + random.below(word.len() as u64 - 2) as usize;
    match random.below(3) {
        0 => word.swap(at, at + 1),
        1 => drop(word.remove(at)),
        _ => word.insert(at, word[at]),
    }
    let wrong = words.iter().map(|word| word.iter().collect::<String>());
    let wrong = wrong.collect::<Vec<_>>().join(" ");
    (wrong != text).then_some(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_moves_drops_or_doubles_one_letter() {
        let mut random = Random::new(3, 0);
        assert_eq!(misspell("how far is it", &mut random), None);
        for _ in 0..100 {
            if let Some(wrong) = misspell("the heart", &mut random) {
                let word = wrong.strip_prefix("the h").unwrap();
                assert!((3..=5).contains(&word.len()), "{wrong}");
            }
        }
    }

    #[test]
    fn early_items_come_more_often() {
        let mut random = Random::new(4, 0);
        let mut drawn = [0; 3];
        for _ in 0..9_000 {
            drawn[*early(&[0, 1, 2], &mut random)] += 1;
        }
        assert!(drawn[0] > 4_500 && drawn[0] > drawn[1] && drawn[1] > drawn[2], "{drawn:?}");
    }
}
