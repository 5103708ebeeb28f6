//! The demo's documents: a title, one to three sentences and a URL each.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::draw::{Stream, chance, pick, spread};
use super::log::{Demo, DocumentTruth};
use crate::data::Document;
use crate::random::Random;
use crate::synth::concepts::{Concept, Concepts, Facet};

/// The share of documents that also treat a related concept.
const COMBINED: f64 = 0.14;
/// The share of documents that also use the words of people.
const BOTH_WORDS: f64 = 0.25;
/// The share of documents with a sentence of related terms.
const WITH_TERMS: f64 = 0.75;
/// The most attempts to draw a document whose text does not exist yet.
const ATTEMPTS: usize = 20;

/// The documents, sorted by concept.
pub(super) fn write(demo: &Demo, concepts: &Concepts) -> (Vec<Document>, Vec<DocumentTruth>) {
    let mut random = demo.random(Stream::Documents);
    let shares = spread(demo.documents, concepts.concepts.len(), &mut random);
    let mut documents = Vec::with_capacity(demo.documents);
    let mut truths = Vec::with_capacity(demo.documents);
    let mut texts = HashSet::new();
    let mut urls = HashSet::new();
    for (concept, &share) in shares.iter().enumerate() {
        let topic = concepts.topic(concept);
        let related = concepts.related(concept);
        for turn in 0..share {
            // Facets in turn, so that every facet has a page before one has two.
            let facet = turn % topic.facets.len();
            let combined = turn > 0 && chance(COMBINED, &mut random);
            let second = combined.then(|| *pick(&related, &mut random));
            let subject = Subject {
                first: &concepts.concepts[concept],
                second: second.map(|second| &concepts.concepts[second]),
                facet: &topic.facets[facet],
            };
            let mut page = subject.write(&mut random);
            for _ in 0..ATTEMPTS {
                if texts.insert((page.title.clone(), page.body.clone())) {
                    break;
                }
                page = subject.write(&mut random);
            }
            let base = format!("https://{}/{}", topic.site, page.path);
            let url = (1u32..)
                .map(|n| if n == 1 { base.clone() } else { format!("{base}-{n}") })
                .find(|url| urls.insert(url.clone()))
                .unwrap_or(base);
            documents.push(document(documents.len(), page.title, page.body, url, &topic.name));
            truths.push(DocumentTruth { concept, facet, second });
        }
    }
    (documents, truths)
}

fn document(number: usize, title: String, body: String, url: String, class: &str) -> Document {
    let fields = [("title", title), ("body", body), ("url", url), ("class", class.to_owned())];
    let fields = fields.map(|(name, text)| (name.to_owned(), Value::String(text)));
    Document { id: format!("d{:04}", number + 1), fields: Map::from_iter(fields) }
}

/// The subject of a document.
struct Subject<'a> {
    first: &'a Concept,
    second: Option<&'a Concept>,
    facet: &'a Facet,
}

struct Page {
    title: String,
    body: String,
    path: String,
}

impl Subject<'_> {
    fn write(&self, random: &mut Random) -> Page {
        let facet_title = pick(&self.facet.titles, random);
        let name = self.name(random);
        let path = format!("{}/{}", slug(&name), slug(facet_title));
        let both_words = chance(BOTH_WORDS, random);
        let in_title = both_words && chance(0.3, random);
        let nouns: Vec<&str> =
            self.first.people.iter().filter(|p| !p.question).map(|p| p.text.as_str()).collect();
        let shown = match in_title {
            true => format!("{name} ({})", pick(&nouns, random)),
            false => name,
        };
        let title = match random.below(5) {
            0 => format!("{}: {shown}", capital(facet_title)),
            1 => format!("{} – {facet_title}", capital(&shown)),
            _ => format!("{}: {facet_title}", capital(&shown)),
        };
        let mut body = vec![self.sentence(random)];
        if chance(WITH_TERMS, random) {
            body.push(self.terms(random));
        }
        if both_words && !in_title {
            body.push(self.everyday_words(random));
        }
        Page { title, body: body.join(" "), path }
    }

    fn name(&self, random: &mut Random) -> String {
        let first = pick(&self.first.pages, random);
        match self.second {
            Some(second) => format!("{first} and {}", pick(&second.pages, random)),
            None => first.clone(),
        }
    }

    fn sentence(&self, random: &mut Random) -> String {
        let template = pick(&self.facet.sentences, random);
        let name = self.name(random);
        let name = if template.starts_with("{}") { capital(&name) } else { name };
        template.replace("{}", &name)
    }

    fn terms(&self, random: &mut Random) -> String {
        let mut terms: Vec<&str> = self
            .first
            .terms
            .iter()
            .chain(self.second.iter().flat_map(|second| &second.terms))
            .map(String::as_str)
            .collect();
        random.shuffle(&mut terms);
        let mut named: Vec<&str> = Vec::new();
        for term in terms {
            if named.len() < 2 && !named.contains(&term) {
                named.push(term);
            }
        }
        let named = named.join(" and ");
        match random.below(4) {
            0 => format!("With notes on {named}."),
            1 => format!("Further sections deal with {named}."),
            2 => format!("Also covers {named}."),
            _ => format!("{}: what to know.", capital(&named)),
        }
    }

    fn everyday_words(&self, random: &mut Random) -> String {
        let phrase = pick(&self.first.people, random);
        if phrase.question {
            return format!("Readers ask: “{}?”", phrase.text);
        }
        match random.below(2) {
            0 => format!("In everyday words: {}.", phrase.text),
            _ => format!("Often looked for as “{}”.", phrase.text),
        }
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// The text as a part of a URL: ASCII letters and digits joined by hyphens.
fn slug(text: &str) -> String {
    let plain: String = text
        .to_lowercase()
        .chars()
        .filter(|&c| c != '\'' && c != '’')
        .map(|c| match c {
            'é' | 'è' | 'ê' => 'e',
            'ù' | 'ú' => 'u',
            c if c.is_ascii_alphanumeric() => c,
            _ => ' ',
        })
        .collect();
    plain.split_whitespace().collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_plain() {
        assert_eq!(slug("Earth–Moon separation"), "earth-moon-separation");
        assert_eq!(slug("Alzheimer's disease"), "alzheimers-disease");
        assert_eq!(slug("ragù alla bolognese"), "ragu-alla-bolognese");
    }
}
