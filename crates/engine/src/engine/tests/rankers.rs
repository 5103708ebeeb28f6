//! Rankers in the service do what they do offline: the same features, the same scores, to the bit.

use std::borrow::Cow;

use liken::rank::features::{FeatureQuery, Group, QueryDocs, add_rows, extract};
use liken::rank::{Goal, Normalisation, Over, RankParams, RankSetup, Ranker, Scale, TableBuilder};
use liken::stack::{FeatureInputs, FeatureParams};

use super::*;

/// The models whose scores are features.
const MODELS: [&str; 3] = ["bm25", "pls", "walk"];
/// Queries that training knew, new ones, and one with an unknown word.
const QUERIES: [&str; 6] =
    ["car insurance", "heart attack", "far sun", "cheap house zebra", "cold flu", "red car moon"];

/// Everything that makes features offline, with `pls` from the folder of that name.
fn offline(pls: &str) -> FeatureInputs {
    let dataset = Dataset::open(&made().join("data")).unwrap();
    let opened = [("bm25", "bm25"), ("pls", pls), ("walk", "walk")]
        .map(|(name, folder)| (name.to_owned(), Model::open(&made().join(folder)).unwrap()));
    let params =
        FeatureParams { preparation: &Preparation::default(), models: &[], groups: &Group::all() };
    FeatureInputs::of(&dataset, &params, opened.into(), &Run::silent()).unwrap()
}

/// Learns from the clicks on all documents.
fn learnt(made: &FeatureInputs, method: &str, scale: Scale, over: Over, folder: &Path) -> PathBuf {
    let counts = &made.counts;
    let queries: Vec<u32> = (0..counts.n_queries() as u32).collect();
    let docs: Vec<u32> = (0..counts.n_docs() as u32).collect();
    let every = |_| QueryDocs::Given(Cow::Borrowed(&docs));
    let rows = extract(&made.extractor, counts, &queries, every, &Run::silent()).unwrap();
    let mut table = TableBuilder::new(made.extractor.names());
    add_rows(&mut table, counts, &rows, |query| counts.clicks.row(query)).unwrap();
    let mut params = RankParams::named(method).unwrap();
    if !params.is_linear() {
        params.set("trees", "20").unwrap();
        params.set("min_leaf", "3").unwrap();
    }
    let normalisation = Normalisation { scale, over };
    let setup = RankSetup { params, normalisation, goal: Goal::default() };
    let (ranker, report) = setup.train(&table.finish(), None, &Run::silent()).unwrap();
    let path = folder.join(method);
    ranker.save(&path, false, &report).unwrap();
    path
}

/// An index with a ranker of weights and one of trees.
fn ranked_index() -> (tempfile::TempDir, PathBuf, FeatureInputs) {
    let folder = tempfile::tempdir().unwrap();
    let made = offline("pls");
    let line = learnt(&made, "regression", Scale::ZScore, Over::Query, folder.path());
    let trees = learnt(&made, "mart", Scale::None, Over::All, folder.path());
    let path = folder.path().join("index");
    let building = IndexBuilder {
        rankers: vec![(Some("line".into()), line), (None, trees)],
        ..building(super::made(), &MODELS, &path)
    };
    assert_eq!(building.run(&Run::silent()).unwrap().rankers, ["line", "mart"]);
    (folder, path, made)
}

fn ask_ranker(query: &str, models: &[&str], ranker: &str) -> SearchRequest {
    SearchRequest {
        ranker: Some(ranker.into()),
        log_features: true,
        explain: true,
        ..ask(query, models)
    }
}

/// Checks that what the service says of every hit is what is computed offline.
fn same_as_offline(made: &FeatureInputs, ranker: &Ranker, text: &str, found: &SearchResponse) {
    let counts = &made.counts;
    let number = |id: &str| counts.doc_ids.iter().position(|other| other == id).unwrap() as u32;
    let mut docs: Vec<u32> = found.hits.iter().map(|hit| number(&hit.id)).collect();
    docs.sort_unstable();
    let terms = counts.read_query(text);
    let query = FeatureQuery { terms: &terms, id: "", text };
    let values = made.extractor.rows(counts, &query, &docs);
    let names = made.extractor.names();
    let mut table = TableBuilder::new(names.clone());
    for (&doc, row) in docs.iter().zip(values.chunks_exact(names.len())) {
        table.push(text, &counts.doc_ids[doc as usize], 0.0, row).unwrap();
    }
    let table = table.finish();
    let scores = ranker.score(&table).unwrap();
    assert!(scores.lacking.is_empty());
    for hit in &found.hits {
        let row = table.docs().iter().position(|id| *id == hit.id).unwrap();
        assert_eq!(hit.score.to_bits(), (scores.scores[row] + 0.0).to_bits(), "{text} {}", hit.id);
        assert_eq!(hit.features.len(), ranker.about.features.len());
        for (name, &expected) in names.iter().zip(table.row(row)) {
            let seen = hit.features[name].unwrap_or(f32::NAN);
            let same = seen.to_bits() == expected.to_bits() || seen.is_nan() && expected.is_nan();
            assert!(same, "{text} {} {name}: {seen} {expected}", hit.id);
        }
    }
}

#[test]
fn the_service_sees_and_scores_the_same_bits_as_offline() {
    let (_folder, path, made) = ranked_index();
    let engine = Engine::open(&path, Settings::default()).unwrap();
    assert_eq!(engine.status().rankers, ["line", "mart"]);
    for name in ["line", "mart"] {
        let ranker = Ranker::open(&path.join("rankers").join(name)).unwrap();
        for needed in ["bm25(all)", "model(pls)", "span(all)", "field(year)", "clicks"] {
            assert!(ranker.about.features.iter().any(|f| f == needed), "{needed}");
        }
        let (mut seen, mut moved, mut differ) = (0, 0, 0);
        for text in QUERIES {
            // Models that are features need not take part in the search.
            for models in [&["bm25"][..], &["pls"], &["bm25", "pls", "walk"]] {
                let found = engine.search(&ask_ranker(text, models, name)).unwrap();
                assert_eq!(found.ranker.as_deref(), Some(name));
                seen += found.hits.len();
                same_as_offline(&made, &ranker, text, &found);
                let falls = |two: &[Hit]| (two[0].score, &two[0].id) > (two[1].score, &two[1].id);
                assert!(found.hits.windows(2).all(falls), "{found:?}");
                let plain = engine.search(&ask_ranker(text, models, "none")).unwrap();
                assert!(plain.ranker.is_none() && plain.hits.iter().all(|h| h.features.is_empty()));
                moved += usize::from(ids(&plain) != ids(&found));
                let scores: std::collections::HashSet<u64> =
                    found.hits.iter().map(|hit| hit.score.to_bits()).collect();
                differ += usize::from(scores.len() > 1);
                for hit in &found.hits {
                    let before = plain.hits.iter().find(|other| other.id == hit.id).unwrap();
                    assert_eq!(before.scores, hit.scores);
                }
            }
        }
        assert!(seen > 50 && moved > 3 && differ > 3, "{name}: {seen} {moved} {differ}");
    }
}

#[test]
fn what_features_add_adds_up_and_pages_are_parts_of_one_order() {
    let (_folder, path, _) = ranked_index();
    let engine = Engine::open(&path, Settings::default()).unwrap();
    for name in ["line", "mart"] {
        for text in QUERIES {
            let request = ask_ranker(text, &["bm25", "pls"], name);
            let whole = engine.search(&request).unwrap();
            for hit in &whole.hits {
                let why = hit.explanation.as_ref().unwrap();
                let part = why.ranker.as_ref().unwrap();
                assert_eq!((why.score, part.score, &part.ranker[..]), (hit.score, hit.score, name));
                let sum = part.base + part.features.iter().map(|f| f.contribution).sum::<f64>();
                assert!((sum - hit.score).abs() < 1e-9 * (1.0 + hit.score.abs()), "{part:?}");
                assert!(part.features.iter().all(|f| f.value == hit.features[&f.name]));
                let large = |two: &[FeatureContribution]| {
                    two[0].contribution.abs() >= two[1].contribution.abs()
                };
                assert!(part.features.windows(2).all(large));
                let search = SearchRequest { explain: false, ..request.clone() };
                let asked = ExplainRequest { search, id: hit.id.clone(), most: None };
                assert_eq!(engine.explain(&asked).unwrap(), *why);
            }
            for offset in 0..whole.hits.len() {
                let page = SearchRequest { offset, k: Some(2), ..request.clone() };
                let page = engine.search(&page).unwrap();
                assert_eq!(page.hits[..], whole.hits[offset..(offset + 2).min(whole.hits.len())]);
            }
        }
    }
}

#[test]
fn candidates_beyond_the_depth_stay_below_in_their_order() {
    let (_folder, path, _) = ranked_index();
    let engine = Engine::open(&path, Settings::default()).unwrap();
    let mut request = ask_ranker("car insurance far", &["bm25", "pls"], "line");
    request.candidate_depth = Some(3);
    let found = engine.search(&request).unwrap();
    let plain = SearchRequest { ranker: None, ..request.clone() };
    let plain = engine.search(&plain).unwrap();
    assert!(plain.hits.len() > 3);
    assert_eq!(ids(&found)[3..], ids(&plain)[3..]);
    let mut first = [ids(&found)[..3].to_vec(), ids(&plain)[..3].to_vec()];
    first.iter_mut().for_each(|ids| ids.sort_unstable());
    assert_eq!(first[0], first[1]);
    assert!(found.hits.windows(2).all(|two| two[0].score >= two[1].score));
    assert!(found.notes.iter().any(|note| note.contains("first 3")), "{:?}", found.notes);
    let few = SearchRequest { k: Some(3), ..request.clone() };
    assert!(engine.search(&few).unwrap().notes.iter().all(|note| !note.contains("first 3")));
    for (at, hit) in found.hits.iter().enumerate() {
        let why = hit.explanation.as_ref().unwrap();
        assert_eq!((why.ranker.is_some(), hit.features.is_empty()), (at < 3, at >= 3));
        assert_eq!(why.score, hit.score);
    }
}

#[test]
fn a_search_gets_the_services_ranker_unless_it_says_otherwise() {
    let (_folder, path, _) = ranked_index();
    let settings = |ranker: &str| Settings { ranker: Some(ranker.into()), ..Settings::default() };
    let engine = Engine::open(&path, settings("mart")).unwrap();
    let ranker = |ranker: Option<&str>| {
        let ranker = ranker.map(str::to_owned);
        engine.search(&SearchRequest { ranker, ..ask("car", &[]) }).map(|found| found.ranker)
    };
    assert_eq!(ranker(None).unwrap().as_deref(), Some("mart"));
    assert_eq!(ranker(Some("line")).unwrap().as_deref(), Some("line"));
    assert_eq!(ranker(Some("none")).unwrap(), None);
    for wrong in ["nobody", "", "../line"] {
        let problem = ranker(Some(wrong)).unwrap_err();
        assert!(matches!(problem, Error::Invalid(_)));
        assert!(problem.to_string().contains("line, mart"), "{problem}");
    }
    drop(engine);
    assert!(matches!(Engine::open(&path, settings("nobody")).err().unwrap(), Error::Invalid(_)));
    assert!(Engine::open(&path, settings("none")).is_ok());
}

#[test]
fn given_documents_are_put_in_order_by_the_ranker() {
    let (_folder, path, _) = ranked_index();
    let settings = Settings { ranker: Some("mart".into()), ..Settings::default() };
    let engine = Engine::open(&path, settings).unwrap();
    let found = engine.search(&ask("car insurance", &["bm25", "pls"])).unwrap();
    assert!(found.hits.len() > 3);
    let mut request = RerankRequest {
        query: "car insurance".into(),
        models: vec!["bm25".into(), "pls".into()],
        ids: found.hits.iter().rev().map(|hit| hit.id.clone()).collect(),
        ..RerankRequest::default()
    };
    let order = |hits: &[Hit]| -> Vec<(String, f64)> {
        hits.iter().map(|hit| (hit.id.clone(), hit.score)).collect()
    };
    let again = engine.rerank(&request).unwrap();
    assert_eq!(order(&again.hits), order(&found.hits));
    assert_eq!(again.ranker, found.ranker);
    request.ranker = Some("none".into());
    let plain = engine.rerank(&request).unwrap();
    assert_eq!(plain.ranker, None);
    assert_ne!(order(&plain.hits), order(&found.hits));
    // Texts that the index does not have are left to the models.
    request.documents = vec![document("", "insurance").fields];
    request.ranker = None;
    assert_eq!(engine.rerank(&request).unwrap().ranker, None);
    request.ranker = Some("mart".into());
    assert!(engine.rerank(&request).unwrap_err().to_string().contains("mart"));
    request.ranker = None;
    request.documents[0].insert("id".into(), request.ids[0].clone().into());
    assert!(engine.rerank(&request).unwrap_err().to_string().contains("one id per document"));
}

#[test]
fn an_exchanged_model_gives_its_own_scores_and_other_features_stay() {
    let (_folder, path, made) = ranked_index();
    let engine = Engine::open(&path, Settings::default()).unwrap();
    let ranker = Ranker::open(&path.join("rankers/line")).unwrap();
    let request = ask_ranker("car insurance", &["bm25", "pls"], "line");
    let before = engine.search(&request).unwrap();
    let folder = super::made().join("wide").display().to_string();
    engine.load(&LoadRequest { name: "pls".into(), path: folder, activate: true }).unwrap();
    let after = engine.search(&request).unwrap();
    same_as_offline(&made, &ranker, "car insurance", &before);
    same_as_offline(&offline("wide"), &ranker, "car insurance", &after);
    let of = |found: &SearchResponse| found.hits[0].features["model(pls)"];
    assert_ne!(of(&before), of(&after));
    drop(engine);
    // Another start sees the same.
    let again = Engine::open(&path, Settings::default()).unwrap().search(&request).unwrap();
    assert_eq!(again.hits, after.hits);
    engine_back(&path, &request, &before);
}

fn engine_back(path: &Path, request: &SearchRequest, before: &SearchResponse) {
    let engine = Engine::open(path, Settings::default()).unwrap();
    engine.roll_back("pls").unwrap();
    assert_eq!(engine.search(request).unwrap().hits, before.hits);
}

#[test]
fn documents_that_came_later_are_ranked_by_what_models_say() {
    let (_folder, path, _) = ranked_index();
    let engine = Engine::open(&path, Settings::default()).unwrap();
    let fresh = vec![document("fresh", "insurance of a fast car"), document("cars", "moon car")];
    let written = engine.upsert(fresh).unwrap();
    assert!(engine.wait_for(written.sequence, Duration::from_secs(20)));
    for name in ["line", "mart"] {
        let found = engine.search(&ask_ranker("car insurance", &["bm25"], name)).unwrap();
        for id in ["fresh", "cars"] {
            let hit = found.hits.iter().find(|hit| hit.id == id).unwrap();
            assert!(hit.score.is_finite());
            assert_eq!(hit.features["query_length"], Some(2.0));
            assert_eq!(hit.features["bm25(all)"].map(f64::from), Some(hit.scores["bm25"]));
            assert!(hit.features["model(pls)"].is_some());
            for missing in ["length(all)", "clicks", "span(all)", "lm(all)", "field(year)"] {
                assert_eq!(hit.features[missing], None, "{missing}");
            }
            let part = hit.explanation.as_ref().unwrap().ranker.as_ref().unwrap();
            let sum = part.base + part.features.iter().map(|f| f.contribution).sum::<f64>();
            assert!((sum - hit.score).abs() < 1e-9 * (1.0 + hit.score.abs()));
        }
    }
}

#[test]
fn a_model_of_lightgbm_is_a_ranker_if_its_features_have_names() {
    let folder = tempfile::tempdir().unwrap();
    let index = |names: &str| {
        let model = folder.path().join("model.txt");
        let text = format!(
            "tree\nnum_class=1\nnum_tree_per_iteration=1\nfeature_names={names}\nobjective=lambdarank\n\
             \nTree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=1\nsplit_gain=1\nthreshold=2005.5\n\
             decision_type=8\nleft_child=-1\nright_child=-2\nleaf_value=0.25 -0.5\n\
             leaf_count=4 6\n\nend of trees\n"
        );
        let mut file = std::fs::File::create(&model).unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        let path = folder.path().join("index");
        let rankers = vec![(None, model)];
        let made =
            IndexBuilder { rankers, ..building(made(), &["pls"], &path) }.run(&Run::silent());
        made.map(|_| path)
    };
    let problem = index("Column_0 Column_1").unwrap_err();
    assert!(
        matches!(problem, Error::Invalid(_)) && problem.to_string().contains("no names"),
        "{problem}"
    );
    let problem = index("model(pls) field(price)").unwrap_err();
    let says = ["lightgbm", "field(price)", "field(year)"];
    assert!(says.iter().all(|word| problem.to_string().contains(word)), "{problem}");
    let path = index("model(pls) field(year)").unwrap();
    // The counts are those of the model: where words stand is not asked for.
    assert!(!Layout::new(&path).counts().exists());
    let engine = Engine::open(&path, Settings::default()).unwrap();
    let found = engine.search(&ask_ranker("car insurance", &["pls"], "lightgbm")).unwrap();
    assert!(found.hits.len() > 3);
    for hit in &found.hits {
        let year = DOCUMENTS.iter().find(|document| document.0 == hit.id).unwrap().3;
        assert_eq!(hit.features["field(year)"], Some(year as f32));
        assert_eq!(hit.features["model(pls)"].map(f64::from), Some(hit.scores["pls"]));
        assert_eq!(hit.score, if year <= 2005 { 0.25 } else { -0.5 });
    }
}

#[test]
fn a_ranker_is_refused_that_needs_what_the_index_cannot_make() {
    let folder = tempfile::tempdir().unwrap();
    let made = offline("pls");
    let line = learnt(&made, "regression", Scale::ZScore, Over::All, folder.path());
    let path = folder.path().join("index");
    let with = |models: &[&str], rankers: Vec<(Option<String>, PathBuf)>| {
        IndexBuilder { rankers, ..building(super::made(), models, &path) }.run(&Run::silent())
    };
    let problem = with(&["bm25", "walk"], vec![(None, line.clone())]).unwrap_err();
    assert!(matches!(problem, Error::Invalid(_)));
    let says = ["regression", "model(pls)", "add the model pls", "bm25, walk"];
    assert!(says.iter().all(|word| problem.to_string().contains(word)), "{problem}");
    assert!(!problem.to_string().contains("model(walk)") && !path.exists());
    let named = |name: &str| Some(name.to_owned());
    for (rankers, says) in [
        (vec![(named("none"), line.clone())], "none"),
        (vec![(named("../x"), line.clone())], "cannot name"),
        (vec![(None, line.clone()), (None, line.clone())], "two rankers"),
        (vec![(None, super::made().join("bm25"))], "bm25"),
    ] {
        let problem = with(&MODELS, rankers).unwrap_err();
        assert!(problem.to_string().contains(says), "{says}: {problem}");
        assert!(!path.exists());
    }
}
