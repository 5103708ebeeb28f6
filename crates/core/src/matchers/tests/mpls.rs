//! The identities that define PLS with several kinds of features.

use super::*;

fn fitted(counts: &Counts, params: &Params) -> (Box<dyn Matcher>, FitReport) {
    params.fit(counts, None, &Run::silent()).unwrap()
}

fn mpls(kinds: &str) -> Params {
    let mut params = small("mpls");
    params.set("kinds", kinds).unwrap();
    params
}

fn pls(pairs: &[(&str, &str)]) -> Params {
    let mut params = small("pls");
    pairs.iter().for_each(|(key, value)| params.set(key, value).unwrap());
    params
}

const QUERIES: [&str; 4] = ["star far", "cover my cars", "high blood", "hypertension cars"];

fn counts(path: &Path) -> Counts {
    Counts::of(&checkerboard(path), &Preparation::default(), &Run::silent()).unwrap()
}

fn all_scores(counts: &Counts, matcher: &dyn Matcher) -> Vec<f32> {
    QUERIES.iter().flat_map(|text| matcher.scores(counts, &counts.read_query(text), None)).collect()
}

#[test]
fn one_kind_and_both_side_by_side_are_pls() {
    let dir = tempfile::tempdir().unwrap();
    let counts = counts(&dir.path().join("d"));
    let word = [("features.query_clicks", "0"), ("features.doc_clicks", "0")];
    let bipar = [
        ("features.query_words", "0"),
        ("features.doc_words", "0"),
        ("features.query_clicks", "1"),
        ("features.doc_clicks", "1"),
    ];
    for (kinds, same) in [("word", pls(&word)), ("bipar", pls(&bipar)), ("conca", pls(&[]))] {
        let (a, report) = fitted(&counts, &mpls(kinds));
        let (b, _) = fitted(&counts, &same);
        assert_eq!(a.bilinear().unwrap().maps(), b.bilinear().unwrap().maps(), "{kinds}");
        assert_eq!(all_scores(&counts, &*a), all_scores(&counts, &*b), "{kinds}");
        let FitReport::Mpls(report) = report else { panic!("a report of each kind") };
        assert!(report.kinds.len() == 1 && report.kinds[0].kind == kinds);
    }
}

#[test]
fn scores_of_com_are_the_weighted_sum_of_its_kinds() {
    let dir = tempfile::tempdir().unwrap();
    let counts = counts(&dir.path().join("d"));
    let (com, report) = fitted(&counts, &mpls("com"));
    let FitReport::Mpls(report) = report else { panic!("a report of each kind") };
    let [word, bipar] = &report.kinds[..] else { panic!("two kinds") };
    let size = |kind: &KindReport| kind.pls.sigma.iter().sum::<f64>();
    let norm = size(word).hypot(size(bipar));
    assert!((word.alpha - size(word) / norm).abs() < 1e-12);
    assert!((bipar.alpha - size(bipar) / norm).abs() < 1e-12);
    let words = all_scores(&counts, &*fitted(&counts, &mpls("word")).0);
    let clicks = all_scores(&counts, &*fitted(&counts, &mpls("bipar")).0);
    for ((both, w), c) in all_scores(&counts, &*com).into_iter().zip(words).zip(clicks) {
        let expected = word.alpha * f64::from(w) + bipar.alpha * f64::from(c);
        assert!((f64::from(both) - expected).abs() < 1e-5, "{both} for {expected}");
    }
}

#[test]
fn weights_of_the_kinds_follow_the_judge() {
    let dir = tempfile::tempdir().unwrap();
    let counts = counts(&dir.path().join("d"));
    let mut params = mpls("com");
    params.set("alpha", "tuned").unwrap();
    let error = params.fit(&counts, None, &Run::silent()).err().unwrap();
    assert!(error.to_string().contains("no validation data"), "{error}");

    // A scorer that wants a new query, which has words alone, to score low wants no words.
    let new = counts.queries.n_rows() as u32 - 1;
    let scorer =
        |score: &Score<'_>| -score(new, None).iter().map(|s| f64::from(s.abs())).sum::<f64>();
    let mut without = mpls("com");
    without.set("alpha", "tuned").unwrap();
    let (_, report) = without.fit(&counts, Some(&scorer), &Run::silent()).unwrap();
    let FitReport::Mpls(report) = report else { panic!("a report of each kind") };
    let alphas: Vec<f64> = report.kinds.iter().map(|kind| kind.alpha).collect();
    assert!((alphas[0] + alphas[1] - 1.0).abs() < 1e-12);
    let best = scorer(&|query, docs| {
        let (matcher, _) = without.fit(&counts, Some(&scorer), &Run::silent()).unwrap();
        matcher.scores(&counts, &counts.query(query as usize), docs)
    });
    for kinds in ["word", "bipar"] {
        let (matcher, _) = fitted(&counts, &mpls(kinds));
        let alone =
            scorer(&|query, docs| matcher.scores(&counts, &counts.query(query as usize), docs));
        assert!(best >= alone - 1e-4, "{kinds}: {best} {alone}");
    }
}
