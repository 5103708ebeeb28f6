//! The concepts of the demo log: the words of pages for a thing, and the words of people.
//!
//! The text files in `concepts/` are written by hand. A line is a comment (`#`), or one of
//! ```text
//! topic SLUG | Name shown as the class | site its pages lie on
//! facet NAME | titles | sentences | queries
//! group NAME
//! NAME | how pages say it | how people say it | related terms
//! ```
//! Fields are separated by ` | `, alternatives within a field by `;`. A facet is a side of
//! every concept of its topic (symptoms, price, history); its first is the general one. `{}`
//! in its sentences and queries is replaced by a concept, so pages name concepts by noun phrases
//! without an article. How people say it may also be a whole question, which then ends in `?`
//! and never gets a facet. The first alternative is the typical one: mostly, the page's and
//! the people's share no word. Concepts of one group are related to each other.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use crate::{Error, Result};

/// The files built into the program, by name.
const FILES: [(&str, &str); 6] = [
    ("health.txt", include_str!("concepts/health.txt")),
    ("money.txt", include_str!("concepts/money.txt")),
    ("home.txt", include_str!("concepts/home.txt")),
    ("computing.txt", include_str!("concepts/computing.txt")),
    ("food.txt", include_str!("concepts/food.txt")),
    ("world.txt", include_str!("concepts/world.txt")),
];

/// The placeholder of the concept in a facet's sentences and queries.
const HOLE: &str = "{}";

/// A field of knowledge: the class of its documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Topic {
    /// Short name, unique.
    pub slug: String,
    /// The name that is shown.
    pub name: String,
    /// Host and folder of its pages.
    pub site: String,
    /// The sides of its concepts; the first is the general one.
    pub facets: Vec<Facet>,
}

/// A side of every concept of a topic: symptoms, price, history.
#[derive(Debug, Clone, PartialEq)]
pub struct Facet {
    /// Short name, unique within the topic.
    pub name: String,
    /// Its names in titles.
    pub titles: Vec<String>,
    /// Sentences on it, with a placeholder for the concept.
    pub sentences: Vec<String>,
    /// Queries for it, with a placeholder for the concept.
    pub queries: Vec<String>,
}

/// Something people look for.
#[derive(Debug, Clone, PartialEq)]
pub struct Concept {
    /// Short name, unique.
    pub name: String,
    /// Index of its topic.
    pub topic: usize,
    /// Number of its group, over all topics.
    pub group: usize,
    /// Its names in pages, the typical one first.
    pub pages: Vec<String>,
    /// The phrases of people, the typical one first.
    pub people: Vec<Phrase>,
    /// Words of pages about it and about related concepts.
    pub terms: Vec<String>,
}

/// A phrase of people for a concept.
#[derive(Debug, Clone, PartialEq)]
pub struct Phrase {
    /// The words, in lower case.
    pub text: String,
    /// A whole question, to which no facet can be added.
    pub question: bool,
}

/// All topics and concepts, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Concepts {
    /// The topics.
    pub topics: Vec<Topic>,
    /// The concepts, sorted by group.
    pub concepts: Vec<Concept>,
}

impl Concepts {
    /// The concepts built into the program.
    pub fn builtin() -> Result<Self> {
        Self::parse(&FILES)
    }

    /// Parses files given as name and text, and checks every rule of the format.
    pub fn parse(files: &[(&str, &str)]) -> Result<Self> {
        let mut parser = Parser::default();
        for &(file, text) in files {
            parser.file = file.to_owned();
            for (number, line) in (1..).zip(text.lines()) {
                parser.line = number;
                parser.parse(line.trim())?;
            }
            parser.close_topic()?;
        }
        if parser.concepts.is_empty() {
            return Err(Error::Empty {
                what: "there is no concept in the files".into(),
                advice: "add a topic with facets, a group and concepts".into(),
            });
        }
        Ok(Concepts { topics: parser.topics, concepts: parser.concepts })
    }

    /// Keeps `n` concepts, the first ones of every group, so that all topics stay. At least two of each
    /// group are kept, so that every concept has a related one.
    pub fn first(mut self, n: usize) -> Self {
        let mut place = 0;
        let mut places: Vec<usize> = Vec::with_capacity(self.concepts.len());
        for (number, concept) in self.concepts.iter().enumerate() {
            let same = number > 0 && self.concepts[number - 1].group == concept.group;
            place = if same { place + 1 } else { 0 };
            places.push(place);
        }
        let mut order: Vec<usize> = (0..self.concepts.len()).collect();
        order.sort_by_key(|&number| places[number]);
        let pairs = places.iter().filter(|&&place| place < 2).count();
        let kept: HashSet<usize> = order.into_iter().take(n.max(pairs)).collect();
        let mut number = 0..;
        self.concepts.retain(|_| number.next().is_some_and(|number| kept.contains(&number)));
        self
    }

    /// The topic of a concept.
    pub fn topic(&self, concept: usize) -> &Topic {
        &self.topics[self.concepts[concept].topic]
    }

    /// The other concepts of a concept's group.
    pub fn related(&self, concept: usize) -> Vec<usize> {
        let group = self.concepts[concept].group;
        let same = |&other: &usize| other != concept && self.concepts[other].group == group;
        (0..self.concepts.len()).filter(same).collect()
    }
}

/// The state of the parser.
#[derive(Default)]
struct Parser {
    file: String,
    line: u64,
    topics: Vec<Topic>,
    concepts: Vec<Concept>,
    groups: usize,
    in_group: usize,
    /// Every name and every phrase of people, with its place, so that none is repeated.
    taken: HashMap<String, String>,
}

impl Parser {
    fn parse(&mut self, line: &str) -> Result<()> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "topic" => self.topic(rest),
            "facet" => self.facet(rest),
            "group" => self.group(rest),
            _ => self.concept(line),
        }
    }

    fn topic(&mut self, rest: &str) -> Result<()> {
        self.close_topic()?;
        let [slug, name, site] = self.fields(rest, "topic SLUG | name | site")?;
        self.claim(format!("topic {slug}"), slug)?;
        let (slug, name, site) = (slug.to_owned(), name.to_owned(), site.to_owned());
        self.topics.push(Topic { slug, name, site, facets: Vec::new() });
        Ok(())
    }

    fn facet(&mut self, rest: &str) -> Result<()> {
        let [name, titles, sentences, queries] =
            self.fields(rest, "facet NAME | titles | sentences | queries")?;
        let facet = Facet {
            name: name.to_owned(),
            titles: self.alternatives("titles", titles, 1)?,
            sentences: self.alternatives("sentences", sentences, 1)?,
            queries: self.alternatives("queries", queries, 1)?,
        };
        for text in facet.sentences.iter().chain(&facet.queries) {
            if text.matches(HOLE).count() != 1 {
                return Err(self.error("one {} in each sentence and query", text));
            }
        }
        if self.in_group > 0 {
            return Err(self.error("the facets of a topic before its first group", name));
        }
        let Some(last) = self.topics.len().checked_sub(1) else {
            return Err(self.error("a topic before its facets", name));
        };
        self.claim(format!("facet {} {name}", self.topics[last].slug), name)?;
        self.topics[last].facets.push(facet);
        Ok(())
    }

    fn group(&mut self, name: &str) -> Result<()> {
        self.close_group()?;
        if self.topics.last().is_none_or(|topic| topic.facets.len() < 2) {
            return Err(self.error("a topic with two facets or more before its groups", name));
        }
        self.groups += 1;
        self.in_group = self.concepts.len() + 1;
        Ok(())
    }

    fn concept(&mut self, line: &str) -> Result<()> {
        let [name, pages, people, terms] =
            self.fields(line, "NAME | how pages say it | how people say it | related terms")?;
        if self.in_group == 0 {
            return Err(self.error("a line `group NAME` before the first concept", name));
        }
        self.claim(format!("concept {name}"), name)?;
        let people: Vec<Phrase> = self
            .alternatives("ways people say it", people, 2)?
            .into_iter()
            .map(|text| {
                let question = text.strip_suffix('?');
                let words = question.map_or(&*text, str::trim_end);
                Phrase { text: words.to_lowercase(), question: question.is_some() }
            })
            .collect();
        if people.iter().all(|phrase| phrase.question) {
            return Err(self.error("a way to say it that is not a question", name));
        }
        for phrase in &people {
            self.claim(format!("query {}", phrase.text), name)?;
        }
        self.concepts.push(Concept {
            name: name.to_owned(),
            topic: self.topics.len() - 1,
            group: self.groups - 1,
            pages: self.alternatives("ways pages say it", pages, 2)?,
            people,
            terms: self.alternatives("related terms", terms, 2)?,
        });
        Ok(())
    }

    /// Refuses a group of one, which has no related concept.
    fn close_group(&mut self) -> Result<()> {
        if self.in_group > 0 && self.concepts.len() < self.in_group + 1 {
            return Err(self.error("two concepts or more in the group above", "fewer"));
        }
        self.in_group = 0;
        Ok(())
    }

    fn close_topic(&mut self) -> Result<()> {
        let of_last = |concept: &Concept| concept.topic + 1 == self.topics.len();
        if !self.topics.is_empty() && !self.concepts.last().is_some_and(of_last) {
            return Err(self.error("concepts in the topic above", "none"));
        }
        self.close_group()
    }

    fn fields<'a, const N: usize>(&self, text: &'a str, expected: &str) -> Result<[&'a str; N]> {
        let parts: Vec<&str> = text.split('|').map(str::trim).collect();
        match <[&str; N]>::try_from(parts) {
            Ok(fields) if fields.iter().all(|field| !field.is_empty()) => Ok(fields),
            _ => Err(self.error(expected, text)),
        }
    }

    fn alternatives(&self, what: &str, field: &str, least: usize) -> Result<Vec<String>> {
        let parts: Vec<String> = field.split(';').map(|part| part.trim().to_owned()).collect();
        if parts.len() < least || parts.iter().any(String::is_empty) {
            return Err(self.error(&format!("at least {least} {what}, none empty"), field));
        }
        Ok(parts)
    }

    fn claim(&mut self, key: String, owner: &str) -> Result<()> {
        let place = format!("{}:{} {owner}", self.file, self.line);
        self.taken.insert(key.clone(), place).map_or(Ok(()), |first| {
            Err(self.error("every name and every query once", &format!("{key}, also at {first}")))
        })
    }

    fn error(&self, expected: &str, found: &str) -> Error {
        Error::Line {
            path: PathBuf::from(&self.file),
            line: self.line,
            expected: expected.to_owned(),
            found: format!("{found:?}"),
            advice: "the format is described in synth/concepts.rs".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use rust_stemmers::{Algorithm, Stemmer};

    use super::*;

    const HEAD: &str = "topic t | T | example.org\n\
        facet a | x | Of {}. | {} y\n\
        facet b | x | Of {}. | {} z\n\
        group g\n";

    fn problem(text: &str) -> String {
        Concepts::parse(&[("c.txt", text)]).unwrap_err().to_string()
    }

    #[test]
    fn builtin_concepts_are_many_and_keep_the_rules() {
        let all = Concepts::builtin().unwrap();
        assert!(all.concepts.len() >= 300, "{}", all.concepts.len());
        assert!(all.topics.len() >= 20);
        for topic in &all.topics {
            assert_eq!(topic.facets[0].name, "overview", "{}", topic.slug);
            assert!((2..=6).contains(&topic.facets.len()), "{}", topic.slug);
        }
        for (number, concept) in all.concepts.iter().enumerate() {
            assert!(concept.pages.len() >= 2 && concept.people.len() >= 2, "{}", concept.name);
            assert!(!all.related(number).is_empty(), "{}", concept.name);
        }
    }

    #[test]
    fn the_first_concepts_leave_no_topic_and_no_group_out() {
        let all = Concepts::builtin().unwrap();
        let some = all.clone().first(330);
        assert_eq!(some.concepts.len(), 330);
        let groups = |set: &Concepts| -> HashSet<usize> {
            set.concepts.iter().map(|concept| concept.group).collect()
        };
        assert_eq!(groups(&all), groups(&some));
        let few = all.clone().first(0);
        assert!((0..few.concepts.len()).all(|number| few.related(number).len() == 1));
        assert_eq!(all.clone().first(usize::MAX), all);
    }

    #[test]
    fn people_and_pages_mostly_share_no_word() {
        let all = Concepts::builtin().unwrap();
        let stemmer = Stemmer::create(Algorithm::English);
        let stop: HashSet<&str> = stop_words::get("en").iter().copied().collect();
        let stems = |text: &str| -> HashSet<String> {
            text.to_lowercase()
                .split(|c: char| !c.is_alphanumeric())
                .filter(|word| !word.is_empty() && !stop.contains(word))
                .map(|word| stemmer.stem(word).into_owned())
                .collect()
        };
        let apart = |concept: &&Concept| {
            stems(&concept.pages[0]).is_disjoint(&stems(&concept.people[0].text))
        };
        let wordless: Vec<&str> = all
            .concepts
            .iter()
            .flat_map(|concept| &concept.people)
            .filter(|phrase| stems(&phrase.text).is_empty())
            .map(|phrase| phrase.text.as_str())
            .collect();
        assert!(wordless.is_empty(), "nothing but stop words: {wordless:?}");
        let gap = all.concepts.iter().filter(apart).count() as f64 / all.concepts.len() as f64;
        assert!(gap >= 0.6, "{gap}");
        let bridged = all.concepts.iter().filter(|concept| {
            let pages: HashSet<String> = concept.pages.iter().flat_map(|p| stems(p)).collect();
            concept.people.iter().any(|p| !pages.is_disjoint(&stems(&p.text)))
        });
        assert!(bridged.count() > all.concepts.len() / 5);
    }

    #[test]
    fn a_broken_rule_is_named_with_its_line() {
        let two = "c | p; q | r; s | t; u\nd | v; w | x; y | t; u\n";
        assert!(Concepts::parse(&[("c.txt", &format!("{HEAD}{two}"))]).is_ok());
        let told = problem(&format!("{HEAD}c | p | r; s | t; u\n{two}"));
        assert!(told.starts_with("c.txt:5: expected at least 2 ways pages say it"), "{told}");
        let told = problem(&format!("{HEAD}{two}e | m; n | o; x | t; u\n"));
        assert!(told.contains("query x, also at c.txt:6 d"), "{told}");
        let told = problem(&format!("{HEAD}c | p; q | r?; s? | t; u\n{two}"));
        assert!(told.contains("not a question"), "{told}");
        let told = problem(&format!("{HEAD}c | p; q | r; s | t; u\n"));
        assert!(told.contains("two concepts or more"), "{told}");
        let told = problem("topic t | T | example.org\nfacet a | x | Of it. | {} y\n");
        assert!(told.starts_with("c.txt:2: expected one {} in each"), "{told}");
        assert!(problem("c | p; q | r; s | t; u\n").contains("`group NAME`"));
        assert!(problem("# nothing\n").contains("no concept"));
        assert!(problem("topic t | T | example.org\n").contains("concepts in the topic above"));
        assert!(problem("topic t | T\n").contains("c.txt:1: expected topic SLUG"));
    }
}
