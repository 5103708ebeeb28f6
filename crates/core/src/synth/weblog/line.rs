//! The planted truth: one line on which clicks, queries, documents and words are placed.
//!
//! The line has one place for every clicked pair. Queries tile it, each with a length of its number of
//! clicked documents; documents tile it too, each with its number of queries. Aspects cut the line
//! into stretches of a few dozen places, a few aspects make a concept, four concepts a field. Queries,
//! documents and words of the same stretch are related:
//!
//! ```text
//! fields     |                  0                  |  …
//! concepts   |      0       |   1  |    2   |   3  |  …
//! aspects    |  0 | 1  | 2  | 3  |4|   5    |6 | 7 |  …
//! queries    |  | || |     | | |  | …
//! documents  || |   | || |   | | |  …
//! ```
//! A click joins the query at one place with the document at another: mostly of the same aspect,
//! sometimes of the same concept or field, seldom of any other. Because places are only permuted, every
//! query and document keeps its exact number of partners.

use std::ops::Range;

use crate::random::Random;

/// The number of concepts of a field.
const CONCEPTS_PER_FIELD: usize = 4;

/// Shares of the clicks within the aspect, the concept, the field; the rest are anywhere.
const STAYS: [f64; 3] = [0.82, 0.11, 0.04];

/// Closeness of two places of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Closeness {
    /// Nothing in common.
    None,
    /// Concepts of one field.
    Field,
    /// Aspects of one concept.
    Concept,
    /// The same aspect.
    Aspect,
}

/// The places of aspects, concepts, queries and documents.
pub struct Line {
    /// The start of each aspect, and the end of the line.
    aspects: Vec<u32>,
    /// The first aspect of each concept, and the number of aspects.
    concepts: Vec<u32>,
    /// The concept of each aspect.
    concept_of: Vec<u32>,
    /// The start of each query, and the end of the line.
    queries: Vec<u32>,
    /// The start of each document, and the end of the line.
    documents: Vec<u32>,
}

impl Line {
    /// Lays out queries and documents of these lengths, in aspects of `aspect` places on
    /// average.
    pub fn new(
        query_lengths: &[u32],
        document_lengths: &[u32],
        aspect: f64,
        random: &mut Random,
    ) -> Self {
        let queries = running_sum(query_lengths);
        let documents = running_sum(document_lengths);
        let end = queries[queries.len() - 1];
        let (mut aspects, mut concepts, mut concept_of) = (vec![0], vec![0], Vec::new());
        let mut at = 0;
        while at < end {
            // A few broad concepts, many narrow ones: a power law cut off at 40 aspects.
            let n_aspects = ((1.0 - random.uniform()).powf(-0.55) * 2.0).min(40.0) as usize;
            for _ in 0..n_aspects {
                let length = aspect * (0.5 * random.normal() - 0.125).exp();
                at = (f64::from(at) + length.max(4.0)).min(f64::from(end)) as u32;
                aspects.push(at);
                concept_of.push(concepts.len() as u32 - 1);
                if at == end {
                    break;
                }
            }
            concepts.push(concept_of.len() as u32);
        }
        Line { aspects, concepts, concept_of, queries, documents }
    }

    /// The number of clicked pairs.
    pub fn n_pairs(&self) -> usize {
        self.queries[self.n_queries()] as usize
    }

    /// The number of queries.
    pub fn n_queries(&self) -> usize {
        self.queries.len() - 1
    }

    /// The number of documents.
    pub fn n_documents(&self) -> usize {
        self.documents.len() - 1
    }

    /// The number of concepts.
    pub fn n_concepts(&self) -> usize {
        self.concepts.len() - 1
    }

    /// The places of a query.
    pub fn query(&self, query: usize) -> Range<usize> {
        self.queries[query] as usize..self.queries[query + 1] as usize
    }

    /// The aspect of a query, that of its start.
    pub fn aspect_of_query(&self, query: usize) -> usize {
        self.aspect_at(self.queries[query])
    }

    /// The aspect of a document, that of its start.
    pub fn aspect_of_document(&self, document: usize) -> usize {
        self.aspect_at(self.documents[document])
    }

    /// The aspect at a place.
    pub fn aspect_at(&self, place: u32) -> usize {
        self.aspects.partition_point(|&start| start <= place) - 1
    }

    /// The concept of an aspect.
    pub fn concept_of(&self, aspect: usize) -> usize {
        self.concept_of[aspect] as usize
    }

    /// The aspects of a concept.
    pub fn aspects_of(&self, concept: usize) -> Range<usize> {
        self.concepts[concept] as usize..self.concepts[concept + 1] as usize
    }

    /// The documents that start within the aspects that are at least this close to `aspect`.
    pub fn documents_near(&self, aspect: usize, closeness: Closeness) -> Range<usize> {
        let places = self.places_near(aspect, closeness);
        let first = |place: usize| self.documents.partition_point(|&d| (d as usize) < place);
        first(places.start)..first(places.end)
    }

    /// Closeness of two aspects.
    pub fn closeness(&self, one: usize, other: usize) -> Closeness {
        let (a, b) = (self.concept_of(one), self.concept_of(other));
        if one == other {
            Closeness::Aspect
        } else if a == b {
            Closeness::Concept
        } else if a / CONCEPTS_PER_FIELD == b / CONCEPTS_PER_FIELD {
            Closeness::Field
        } else {
            Closeness::None
        }
    }

    fn places_near(&self, aspect: usize, closeness: Closeness) -> Range<usize> {
        let concept = self.concept_of(aspect);
        let aspects = match closeness {
            Closeness::Aspect => aspect..aspect + 1,
            Closeness::Concept => self.aspects_of(concept),
            Closeness::Field => {
                let first = concept - concept % CONCEPTS_PER_FIELD;
                let last = (first + CONCEPTS_PER_FIELD).min(self.n_concepts());
                self.concepts[first] as usize..self.concepts[last] as usize
            }
            Closeness::None => 0..self.concept_of.len(),
        };
        self.aspects[aspects.start] as usize..self.aspects[aspects.end] as usize
    }

    /// The clicked document of each place; a query has no document twice.
    pub fn join(&self, random: &mut Random) -> Vec<u32> {
        let mut joined = Vec::with_capacity(self.n_pairs());
        for (document, span) in self.documents.windows(2).enumerate() {
            joined.resize(joined.len() + (span[1] - span[0]) as usize, document as u32);
        }
        let reach: Vec<Closeness> = joined.iter().map(|_| draw_closeness(random)).collect();
        for closeness in [Closeness::Aspect, Closeness::Concept, Closeness::Field, Closeness::None]
        {
            let mut aspect = 0;
            while aspect < self.concept_of.len() {
                let span = self.places_near(aspect, closeness);
                let mut places: Vec<u32> = (span.start as u32..span.end as u32)
                    .filter(|&place| reach[place as usize] == closeness)
                    .collect();
                let from: Vec<u32> = places.iter().map(|&place| joined[place as usize]).collect();
                random.shuffle(&mut places);
                for (place, document) in places.into_iter().zip(from) {
                    joined[place as usize] = document;
                }
                aspect = self.aspects.partition_point(|&start| (start as usize) < span.end);
            }
        }
        self.remove_repetitions(&mut joined, random);
        joined
    }

    /// Swaps documents until no query has one twice, with nearby places if possible.
    fn remove_repetitions(&self, joined: &mut [u32], random: &mut Random) {
        for query in 0..self.n_queries() {
            let span = self.query(query);
            for place in span.clone().skip(1) {
                let mut tries = 0u32;
                while joined[span.start..place].contains(&joined[place]) {
                    let near = match tries {
                        0..20 => Closeness::Concept,
                        20..40 => Closeness::Field,
                        _ => Closeness::None,
                    };
                    tries += 1;
                    let places = self.places_near(self.aspect_of_query(query), near);
                    let other = places.start + random.below(places.len() as u64) as usize;
                    let owner = self.queries.partition_point(|&q| q as usize <= other) - 1;
                    // A swap within the query changes nothing, and one that repeats a document of
                    // either query does not help.
                    if owner != query
                        && !joined[span.clone()].contains(&joined[other])
                        && !joined[self.query(owner)].contains(&joined[place])
                    {
                        joined.swap(place, other);
                    }
                }
            }
        }
    }
}

fn draw_closeness(random: &mut Random) -> Closeness {
    match random.uniform() {
        draw if draw < STAYS[0] => Closeness::Aspect,
        draw if draw < STAYS[0] + STAYS[1] => Closeness::Concept,
        draw if draw < STAYS[0] + STAYS[1] + STAYS[2] => Closeness::Field,
        _ => Closeness::None,
    }
}

fn running_sum(lengths: &[u32]) -> Vec<u32> {
    let mut sum = 0;
    std::iter::once(0)
        .chain(lengths.iter().map(|length| {
            sum += length;
            sum
        }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> (Line, Vec<u32>) {
        let mut random = Random::new(5, 0);
        let lengths: Vec<u32> = (0..3_000).map(|i| 1 + i % 4).collect();
        let documents: Vec<u32> = (0..2_500).map(|i| 1 + i % 5).collect();
        let line = Line::new(&lengths, &documents, 30.0, &mut random);
        let joined = line.join(&mut random);
        (line, joined)
    }

    #[test]
    fn every_query_and_document_keeps_its_number_of_partners() {
        let (line, joined) = small();
        assert_eq!(joined.len(), 7_500);
        let mut queries_of = vec![0u32; 2_500];
        for &document in &joined {
            queries_of[document as usize] += 1;
        }
        assert!(queries_of.iter().enumerate().all(|(i, &n)| n == 1 + i as u32 % 5));
        for query in 0..3_000 {
            let mut documents = joined[line.query(query)].to_vec();
            documents.sort_unstable();
            documents.dedup();
            assert_eq!(documents.len(), 1 + query % 4);
        }
    }

    #[test]
    fn most_clicks_stay_within_the_aspect_and_few_leave_the_field() {
        let (line, joined) = small();
        let mut seen = [0usize; 4];
        for query in 0..3_000 {
            for place in line.query(query) {
                let document = line.aspect_of_document(joined[place] as usize);
                seen[line.closeness(line.aspect_of_query(query), document) as usize] += 1;
            }
        }
        assert!(seen[Closeness::Aspect as usize] > 5_000, "{seen:?}");
        assert!(seen[Closeness::None as usize] < 700, "{seen:?}");
    }

    #[test]
    fn documents_near_an_aspect_are_of_that_kinship() {
        let (line, _) = small();
        for closeness in [Closeness::Aspect, Closeness::Concept, Closeness::Field] {
            for document in line.documents_near(17, closeness) {
                assert!(line.closeness(17, line.aspect_of_document(document)) >= closeness);
            }
        }
        assert_eq!(line.documents_near(17, Closeness::None), 0..2_500);
    }
}
