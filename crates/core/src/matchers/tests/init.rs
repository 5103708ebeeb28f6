//! Training that goes on from a model.

use super::*;
use crate::training::TrainOptions;

/// The checkerboard, and the same log later: its queries in another order, one more of each
/// group, one more document of each group, and words that nobody used before.
fn grown(path: &Path) -> (Dataset, Dataset) {
    let before = checkerboard(&path.join("before"));
    let mut docs: Vec<(String, String)> = Vec::new();
    for document in before.documents.iter() {
        let document = document.unwrap();
        docs.push((document.id.clone(), document.fields["title"].as_str().unwrap().to_owned()));
    }
    docs.insert(0, ("new-sun".into(), "sun distance aphelion".into()));
    docs.push(("new-bp".into(), "hypertension diuretics".into()));
    let mut queries: Vec<String> = before.queries.iter().map(|query| query.unwrap().text).collect();
    queries.reverse();
    queries.extend(["far perihelion", "pressure salt"].map(ToOwned::to_owned));
    let mut clicks = Vec::new();
    for (i, row) in before.clicks.rows().enumerate() {
        clicks.extend(row.iter().map(|(j, n)| (8 - i as u32, j + 1, n)));
    }
    clicks.extend([(9, 0, 6.0), (9, 1, 4.0), (8, 0, 3.0), (10, 10, 5.0), (10, 8, 4.0)]);
    let docs: Vec<(&str, &str)> =
        docs.iter().map(|(id, title)| (id.as_str(), title.as_str())).collect();
    let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
    (before, dataset(&path.join("after"), &docs, &queries, &clicks))
}

fn go_on(data: &Dataset, name: &str, params: Params, init: Option<&Model>) -> Result<Trained> {
    let mixture = Mixture::parse(name).unwrap();
    let (prepared, run) = (Preparation::default(), Run::silent());
    let options = TrainOptions { init, ..TrainOptions::default() };
    crate::training::train_from(data, &prepared, &mixture, &[params], &options, &run)
}

#[test]
fn rows_stand_where_their_features_stand_now() {
    let dir = tempfile::tempdir().unwrap();
    let (before, after) = grown(dir.path());
    let old = train(&before, "rmls").model;
    let counts = Counts::of(&after, &Preparation::default(), &Run::silent()).unwrap();
    let begun = old.warm_start(&small("rmls"), 0, &counts).unwrap().unwrap();
    let (maps, was) = (&begun.maps, old.parts[0].matcher.bilinear().unwrap().maps());
    let zero = [0.0f32; 3];
    let mut new_terms = Vec::new();
    for (t, term) in counts.vocabulary.iter().enumerate() {
        match old.counts.vocabulary.id(term) {
            Some(o) => {
                assert_eq!(maps.l_x.row(t), was.l_x.row(o as usize), "{term}");
                assert_eq!(maps.l_y.row(t), was.l_y.row(o as usize), "{term}");
            }
            None => {
                assert_eq!(
                    (&*maps.l_x.row(t), &*maps.l_y.row(t)),
                    (&zero[..], &zero[..]),
                    "{term}"
                );
                new_terms.push(term.to_owned());
            }
        }
    }
    assert_eq!(new_terms.len(), 4, "{new_terms:?}");
    let (n, o) = (counts.n_terms(), old.counts.n_terms());
    assert_eq!(&*maps.l_x.row(n), zero, "a new document");
    for j in 0..9 {
        assert_eq!(maps.l_x.row(n + 1 + j), was.l_x.row(o + j), "clicked document {j}");
    }
    for i in 0..9 {
        assert_eq!(maps.l_y.row(n + i), was.l_y.row(o + 8 - i), "query {i}");
    }
    assert_eq!(&*maps.l_y.row(n + 9), zero, "a new query");
    assert_eq!(begun.known.query_features, (o + 9, n + 11));
    assert_eq!(begun.known.doc_features, (o + 9, n + 11));
}

#[test]
fn pls_that_begins_with_a_model_finds_the_same_in_fewer_iterations() {
    let dir = tempfile::tempdir().unwrap();
    let (before, after) = grown(dir.path());
    let mut params = small("pls");
    params.set("tolerance", "1e-4").unwrap();
    let iterations = |trained: &Trained| match &trained.reports[0] {
        FitReport::Pls(report) => {
            assert!(report.converged, "{report:?}");
            report.iterations
        }
        other => panic!("{other:?}"),
    };
    let old = go_on(&before, "pls", params.clone(), None).unwrap();
    for (data, fewer) in [(&before, 2), (&after, usize::MAX)] {
        let scratch = go_on(data, "pls", params.clone(), None).unwrap();
        let begun = go_on(data, "pls", params.clone(), Some(&old.model)).unwrap();
        assert!(iterations(&begun) <= fewer.min(iterations(&scratch)));
        assert_eq!(begun.known.len(), 1);
        for text in ["far star", "blood pressure", "cover perihelion"] {
            let scores =
                |trained: &Trained| trained.model.scores(&trained.model.read_query(text).unwrap());
            for (a, b) in scores(&scratch).iter().zip(scores(&begun)) {
                assert!((a - b).abs() < 1e-3, "{text}: {a} {b}");
            }
        }
    }
}

#[test]
fn rmls_goes_on_as_if_it_had_never_stopped() {
    let data = bilinear::two_groups;
    let rmls =
        |sweeps| Rmls { dim: 3, start: Start::Random, sweeps: Some(sweeps), ..Rmls::default() };
    let (two, _) = rmls(2).fit(data(), &Run::silent(), None).unwrap();
    let (three, whole) = rmls(3).fit(data(), &Run::silent(), None).unwrap();
    let (on, report) = rmls(1).fit_from(data(), Some(two.clone()), &Run::silent(), None).unwrap();
    // Rows are scaled when they are kept, or on the way to the next half-sweep: that rounds.
    for (on, three) in [(&on.l_x, &three.l_x), (&on.l_y, &three.l_y)] {
        for i in 0..on.n_rows() {
            let near = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-5;
            assert!(on.row(i).iter().zip(three.row(i).iter()).all(near), "{on:?} {three:?}");
        }
    }
    // The first step are the earlier maps, where the whole way was after four half-sweeps.
    assert_eq!(report.steps.len(), 3);
    assert!((report.steps[0].objective - whole.steps[3].objective).abs() < 1e-5);
    assert!((report.steps[2].objective - whole.steps[5].objective).abs() < 1e-5);
    // Validation may prefer what was there.
    let mut calls = 0;
    let mut validate = |_: &Panels, _: &Panels| {
        calls += 1;
        Ok(if calls == 1 { 1.0 } else { 0.5 })
    };
    let (kept, report) =
        rmls(4).fit_from(data(), Some(two.clone()), &Run::silent(), Some(&mut validate)).unwrap();
    assert_eq!((kept, report.best), (two, 0));
    assert!(report.warnings().iter().any(|warning| warning.contains("earlier maps")));
}

#[test]
fn rmls_on_a_grown_log_is_as_good_as_from_scratch() {
    let dir = tempfile::tempdir().unwrap();
    let (before, after) = grown(dir.path());
    for start in ["spectral", "random"] {
        let mut params = small("rmls");
        params.set("start", start).unwrap();
        let old = go_on(&before, "rmls", params.clone(), None).unwrap().model;
        let scores = |trained: &Trained| match &trained.reports[0] {
            FitReport::Rmls(report) => {
                let scores: Vec<f64> =
                    report.steps.iter().map(|step| step.validation.unwrap()).collect();
                (scores[report.best], scores[0])
            }
            other => panic!("{other:?}"),
        };
        let begun = go_on(&after, "rmls", params.clone(), Some(&old)).unwrap();
        let scratch = go_on(&after, "rmls", params, None).unwrap();
        // Never worse than the earlier maps; a random start of three dimensions is luck.
        let (best, earlier) = scores(&begun);
        assert!(best >= earlier, "{start}");
        assert!(start == "random" || best >= scores(&scratch).0 - 1e-9, "{start}");
    }
}

#[test]
fn a_model_of_another_kind_is_refused_with_what_differs() {
    let dir = tempfile::tempdir().unwrap();
    let (before, after) = grown(dir.path());
    let old = train(&before, "rmls").model;
    let message = |params: Params| {
        let name = params.name();
        go_on(&after, name, params, Some(&old)).err().unwrap().to_string()
    };
    let changed = |key: &str, value: &str| {
        let mut params = small("rmls");
        params.set(key, value).unwrap();
        params
    };
    let said = message(small("pls"));
    assert!(said.contains("method is rmls") && said.contains("but expected pls"), "{said}");
    let said = message(changed("dim", "4"));
    assert!(said.contains("dim is 3") && said.contains("`dim = 3`"), "{said}");
    let said = message(changed("features.doc_clicks", "0.5"));
    assert!(said.contains("features are") && said.contains("\"doc_clicks\":0.5"), "{said}");
    let said = message(changed("penalty", "relative"));
    assert!(said.contains("penalty \"none\""), "{said}");
    let mixture = Mixture::parse("rmls").unwrap();
    for (prepared, word) in [
        (
            Preparation { fields: vec!["title".into()], ..Preparation::default() },
            "`fields = title,body,url`",
        ),
        (
            serde_json::from_str(r#"{"analyzer": {"language": "none"}}"#).unwrap(),
            "text is read with",
        ),
    ] {
        let params = [small("rmls")];
        let run = Run::silent();
        let options = TrainOptions { init: Some(&old), ..TrainOptions::default() };
        let refused =
            crate::training::train_from(&after, &prepared, &mixture, &params, &options, &run);
        let said = refused.err().unwrap().to_string();
        assert!(said.contains(word), "{said}");
    }
    for name in ["square", "ridge", "lsi_dt", "lsi_qd", "mpls"] {
        let said = message(small(name));
        assert!(said.contains(&format!("{name} has no warm start")), "{said}");
    }
    // What learns nothing has nothing to start from.
    let said = message(small("bm25"));
    assert!(said.contains("nothing to start from"), "{said}");
}
