//! The demo's queries: several ways to ask for each concept and its facets, some misspelt,
//! ordered by how often they will be asked.

use std::collections::HashSet;

use super::{Demo, QueryTruth, Stream, Words, chance, pick, spread};
use crate::random::Random;
use crate::synth::concepts::{Concept, Concepts, Facet};
use crate::{Error, Result};

/// The share of queries in the pages' words, and of those in some of each.
const PAGES: f64 = 0.18;
const BOTH: f64 = 0.2;
/// The share of queries that name a facet, where the words allow it.
const WITH_FACET: f64 = 0.6;
/// How often a query is drawn anew because it is there already.
const ATTEMPTS: usize = 200;
/// Letters a word must have to be misspelt.
const LONG_WORD: usize = 5;

/// Writes the distinct queries, most frequent first, then those that nobody searches.
pub(super) fn write(demo: &Demo, concepts: &Concepts) -> Result<(Vec<String>, Vec<QueryTruth>)> {
    let mut random = demo.random(Stream::Queries);
    let n_concepts = concepts.concepts.len();
    let shares = spread(demo.queries + demo.unseen, n_concepts, &mut random);
    let mut seen = HashSet::new();
    // (interest, text, truth); the first query of a concept is its typical one.
    let mut drafts = Vec::with_capacity(demo.queries + demo.unseen);
    for (concept, &share) in shares.iter().enumerate() {
        let interest = popularity(n_concepts, &mut random);
        for turn in 0..share {
            let (text, truth) = draft(demo, concepts, concept, turn, &mut seen, &mut random)
                .ok_or_else(|| {
                    let made = seen.len();
                    let expected =
                        format!("fewer: after {made} there is no new way to ask for a concept");
                    Error::parameter("queries", demo.queries + demo.unseen, &expected)
                })?;
            let jitter = 0.5 + random.uniform();
            drafts.push((interest * jitter / (turn as f64 + 1.0), turn, text, truth));
        }
    }
    // Nobody searches some queries; the typical one of a concept is never among them.
    random.shuffle(&mut drafts);
    drafts.sort_by_key(|(_, turn, ..)| *turn == 0);
    let mut searched = drafts.split_off(demo.unseen.min(drafts.len()));
    searched.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.2.cmp(&b.2)));
    searched.extend(drafts);
    Ok(searched.into_iter().map(|(_, _, text, truth)| (text, truth)).unzip())
}

/// How much people care for a concept: a few are asked for often, most now and then.
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
        let (mut text, facet, words) = if turn == 0 && attempt == 0 {
            (concept.people[0].text.clone(), 0, Words::People)
        } else {
            ask(concept, &topic.facets, random)
        };
        let wrong =
            (turn > 0 && chance(demo.misspelt, random)).then(|| misspell(&text, random)).flatten();
        let misspelt = wrong.is_some();
        text = wrong.unwrap_or(text);
        if seen.insert(text.clone()) {
            return Some((text, QueryTruth { concept: number, facet, words, misspelt }));
        }
    }
    None
}

/// One way to ask for a concept, with the facet it asks for.
fn ask(concept: &Concept, facets: &[Facet], random: &mut Random) -> (String, usize, Words) {
    let facet = random.below(facets.len() as u64) as usize;
    let with_facet = chance(WITH_FACET, random);
    let template = pick(&facets[facet].queries, random);
    let title = pick(&facets[facet].titles, random);
    let kind = random.uniform();
    let page = early(&concept.pages, random);
    let nouns: Vec<&str> =
        concept.people.iter().filter(|p| !p.question).map(|p| p.text.as_str()).collect();
    let noun = *early(&nouns, random);
    let (text, facet, words) = if kind < PAGES {
        match with_facet {
            true => (format!("{page} {title}"), facet, Words::Pages),
            false => (page.clone(), 0, Words::Pages),
        }
    } else if kind < PAGES + BOTH {
        match random.below(3) {
            0 => (format!("{noun} {title}"), facet, Words::Both),
            1 => (format!("{noun} {}", pick(&concept.terms, random)), 0, Words::Both),
            _ => (template.replace("{}", page), facet, Words::Both),
        }
    } else {
        match with_facet {
            true => (template.replace("{}", noun), facet, Words::People),
            false => (early(&concept.people, random).text.clone(), 0, Words::People),
        }
    };
    (text.to_lowercase(), facet, words)
}

/// An item, the first ones more often.
fn early<'a, T>(items: &'a [T], random: &mut Random) -> &'a T {
    let n = items.len() as u64;
    let drawn = random.below(n).min(random.below(n));
    &items[drawn as usize]
}

/// Swaps two letters, drops one or doubles one, inside one long word; `None` if no word is
/// long enough or the slip changes nothing.
fn misspell(text: &str, random: &mut Random) -> Option<String> {
    let mut words: Vec<Vec<char>> = text.split(' ').map(|word| word.chars().collect()).collect();
    let long: Vec<usize> =
        (0..words.len()).filter(|&word| words[word].len() >= LONG_WORD).collect();
    if long.is_empty() {
        return None;
    }
    let word = &mut words[*pick(&long, random)];
    // The first letter is nearly always right.
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
