use super::write::escaped;
use super::*;
use crate::data::{Import, Table};
use crate::features::Preparation;
use crate::matchers::{Mixture, Params};
use crate::synth::concepts::Concepts;
use crate::synth::demo::{Demo, PAGE};
use crate::synth::engine::bm25;
use crate::text::{Analyzer, AnalyzerParams};
use crate::training::train;

fn written(synonyms: &Synonyms, format: SynonymFormat) -> String {
    let mut out = Vec::new();
    synonyms.write(&mut out, format).unwrap();
    String::from_utf8(out).unwrap()
}

fn some() -> Synonyms {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let rule = |left: &[&str], right: &[(&str, f64)]| Rule {
        words: words(left),
        synonyms: right.iter().map(|&(word, score)| (word.to_owned(), score)).collect(),
    };
    let rules = vec![
        rule(&["car", "cars"], &[("automobile", 0.91), ("vehicles", 0.7)]),
        rule(&["1,000"], &[("c#", 0.6)]),
    ];
    Synonyms { rules, notes: Vec::new() }
}

#[test]
fn every_form_of_a_word_has_a_rule_that_keeps_it() {
    let solr = written(&some(), SynonymFormat::Solr);
    let rules: Vec<&str> = solr.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(
        rules,
        [
            "car => car, automobile, vehicles",
            "cars => cars, automobile, vehicles",
            r"1\,000 => 1\,000, c\#"
        ]
    );
    assert!(solr.contains("\n# automobile 0.910, vehicles 0.700\n"));
    let json: serde_json::Value =
        serde_json::from_str(&written(&some(), SynonymFormat::Elasticsearch)).unwrap();
    assert_eq!(json["synonyms_set"][1]["id"], "cars");
    assert_eq!(json["synonyms_set"][1]["synonyms"], rules[1]);
    assert_eq!(some().n_rules(), 3);
    let tsv = written(&some(), SynonymFormat::Tsv);
    assert!(tsv.contains("\ncars\tvehicles\t0.7000\n"), "{tsv}");
}

#[test]
fn signs_of_the_format_are_escaped() {
    assert_eq!(escaped(r"a=>b, #c\d"), r"a\=\>b\, \#c\\d");
}

#[test]
fn pairs_come_nearest_first() {
    let pairs = some().pairs();
    let order: Vec<&str> = pairs.iter().map(|pair| pair.synonym.as_str()).collect();
    assert_eq!(order, ["automobile", "vehicles", "c#"]);
    assert_eq!(pairs[0].word, "car");
}

/// The stems of what people and pages say of each concept.
fn sides(concepts: &Concepts) -> Vec<(Vec<String>, Vec<String>)> {
    let analyzer = Analyzer::new(&AnalyzerParams::default()).unwrap();
    concepts
        .concepts
        .iter()
        .map(|concept| {
            let people = concept.people.iter().flat_map(|phrase| analyzer.terms(&phrase.text));
            let pages = concept.pages.iter().chain(&concept.terms);
            (people.collect(), pages.flat_map(|phrase| analyzer.terms(phrase)).collect())
        })
        .collect()
}

/// The truth behind the demo log is known: a pair is right if it is about one concept. Of
/// pairs made at random from the same words hardly any is.
#[test]
fn synonyms_learnt_from_the_demo_log_are_words_of_one_concept() {
    let dir = tempfile::tempdir().unwrap();
    let run = Run::silent();
    let engine = |documents: &[_], queries: &[String]| bm25(documents, queries, PAGE);
    let log = Demo::default().build(&engine, &run).unwrap();
    let (raw, data) = (dir.path().join("raw"), dir.path().join("data"));
    log.write_raw(&raw, false).unwrap();
    let table = |name: &str| Some(Table::new(raw.join(name)));
    let import = Import {
        clicks: table("clicks.tsv"),
        documents: table("documents.jsonl"),
        judgments: table("judgments.tsv"),
        ..Import::default()
    };
    import.run(&data, false, &run).unwrap();
    let dataset = Dataset::open(&data).unwrap();
    let mut params = Params::named("pls").unwrap();
    params.set("dim", "200").unwrap();
    let mixture = Mixture::parse("pls").unwrap();
    let model = train(&dataset, &Preparation::default(), &mixture, &[params], &run).unwrap().model;

    let synonyms = Synonyms::of(&model, Some(&dataset), &SynonymParams::default(), &run).unwrap();
    let analyzer = Analyzer::new(&AnalyzerParams::default()).unwrap();
    let sides = sides(&log.concepts);
    let said = |concept: &(Vec<String>, Vec<String>), word: &str| {
        let term = &analyzer.terms(word)[0];
        concept.0.contains(term) || concept.1.contains(term)
    };
    let share = |pairs: &[(&str, &str)]| {
        let right = |(word, synonym): &&(&str, &str)| {
            sides.iter().any(|concept| said(concept, word) && said(concept, synonym))
        };
        pairs.iter().filter(right).count() as f64 / pairs.len() as f64
    };
    let pairs = synonyms.pairs();
    let learnt: Vec<(&str, &str)> =
        pairs.iter().map(|pair| (pair.word.as_str(), pair.synonym.as_str())).collect();
    let shifted = learnt.iter().cycle().skip(learnt.len() / 2);
    let random: Vec<(&str, &str)> =
        learnt.iter().zip(shifted).map(|(pair, other)| (pair.0, other.1)).collect();
    assert!(pairs.len() >= 1000, "{} pairs", pairs.len());
    assert!(share(&learnt) > 0.85, "{}: {pairs:?}", share(&learnt));
    assert!(share(&random) < 0.05, "{}", share(&random));
    // What people say finds what pages say.
    let crosses = |pair: &&SynonymPair| {
        let (word, synonym) = (&analyzer.terms(&pair.word)[0], &analyzer.terms(&pair.synonym)[0]);
        sides.iter().any(|(people, pages)| {
            people.contains(word) && !pages.contains(word) && pages.contains(synonym)
        })
    };
    assert!(pairs.iter().filter(crosses).count() * 4 > pairs.len(), "{pairs:?}");
    // Words as they are written, not stems.
    let found = |word: &str| pairs.iter().any(|pair| pair.word == word || pair.synonym == word);
    assert!(found("insurance") || found("surgery"), "{pairs:?}");
    let stems = Synonyms::of(&model, None, &SynonymParams::default(), &run).unwrap();
    assert_eq!(stems.pairs().len(), pairs.len());
}
