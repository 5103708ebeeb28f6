use crate::Error;
use crate::matchers::rmls::bytes as rmls_bytes;
use crate::matchers::rmls::plan::two_tails;
use crate::matchers::{Mpls, Params, Pls, Ridge, Rmls, Square, methods, plan_parts};
use crate::memory::Bytes;
use crate::plan::{FitShape, Plan, Rates, csr};

fn one_week() -> FitShape {
    FitShape {
        classes: 0,
        n_queries: 94_022,
        n_docs: 111_631,
        d_x: 213_535,
        d_y: 195_926,
        nnz_x: 376_000,
        nnz_y: 658_000,
        nnz_r: 163_600,
        dim: 200,
        validation_scores: 0,
        warm_start: false,
    }
}

#[test]
fn a_warm_start_keeps_the_earlier_model_and_its_maps() {
    let shape = FitShape { validation_scores: 40_000, ..one_week() };
    let plan = |shape: FitShape| shape.plan(&params("rmls", &[]), Some(&rates()), u64::MAX);
    let (cold, warm) = (plan(shape), plan(FitShape { warm_start: true, ..shape }));
    assert!(warm.total >= cold.total + shape.maps(), "{cold}\n{warm}");
    let sweeps = |plan: &Plan| {
        let seconds = plan.seconds.as_ref().unwrap();
        seconds.iter().find(|(what, _)| what.ends_with(" sweeps")).unwrap().1
    };
    assert!((sweeps(&warm) / sweeps(&cold) - 1.5).abs() < 1e-9, "three starts instead of two");
}

#[test]
fn words_alone_are_validated_beside_all_features() {
    let shape = FitShape { validation_scores: 40_000, ..one_week() };
    let of = |by_words| {
        let params = params("rmls", &[("by_words", by_words)]);
        let plan = shape.plan(&params, Some(&rates()), u64::MAX);
        let validation =
            |(what, seconds): &(String, f64)| what.starts_with("validation").then_some(*seconds);
        (plan.total, plan.seconds.unwrap().iter().find_map(validation).unwrap())
    };
    let (auto, never) = (of("auto"), of("never"));
    assert!(auto.0 > never.0 && (auto.1 / never.1 - 2.0).abs() < 1e-9, "{auto:?} {never:?}");
}

fn rates() -> Rates {
    Rates {
        gather_near: 40e9,
        gather_far: 10e9,
        stream: 10e9,
        gemm: 50.0,
        gemm_one: 25.0,
        disk: 5e8,
        terms: 1e6,
    }
}

fn params(method: &str, settings: &[(&str, &str)]) -> Params {
    let mut params = Params::named(method).unwrap();
    settings.iter().for_each(|(key, value)| params.set(key, value).unwrap());
    params
}

#[test]
fn the_lines_add_up_and_the_maps_are_what_they_are() {
    let random = params("rmls", &[("start", "random"), ("sweeps", "10")]);
    for (params, word) in [
        (random, "maps L_x"),
        (params("pls", &[]), "singular"),
        (params("lsi_dt", &[]), "singular"),
        (params("mpls", &[]), "singular"),
        (params("square", &[]), "square"),
        (params("ridge", &[]), "weights"),
        (params("bm25", &[]), "texts"),
    ] {
        let plan = one_week().plan(&params, Some(&rates()), u64::MAX);
        assert_eq!(plan.total, plan.lines.iter().map(|line| line.1).sum::<u64>());
        assert!(plan.lines.iter().any(|(what, _)| what.contains(word)), "{plan}");
        assert!(plan.total_seconds().unwrap() > 0.0);
        assert!(plan.to_string().contains(" on disk, "), "{plan}");
        assert!(plan.held > 0 && plan.held < plan.total, "{plan}");
    }
    assert_eq!(one_week().maps(), 409_461 * 800);
}

#[test]
fn twice_the_dimensions_take_twice_the_maps_and_the_time() {
    let of = |dim: u64| {
        let dim_text = dim.to_string();
        let random = [("start", "random"), ("sweeps", "10"), ("dim", &dim_text)];
        FitShape { dim, ..one_week() }.plan(&params("rmls", &random), Some(&rates()), u64::MAX)
    };
    let maps = |dim| of(dim).lines.iter().find(|(what, _)| what.contains("maps")).unwrap().1;
    let factors = 4 * 409_461;
    assert_eq!(maps(1024) - factors, 2 * (maps(512) - factors));
    let sweeps = |dim| of(dim).seconds.unwrap()[1].1;
    assert!((sweeps(1024) / sweeps(512) - 2.0).abs() < 1e-9);
}

#[test]
fn a_penalty_makes_maps_smaller() {
    assert!((two_tails(1.96) - 0.05).abs() < 1e-3 && (two_tails(0.0) - 1.0).abs() < 1e-6);
    let of = |settings: &[(&str, &str)]| {
        let mut all = vec![("start", "random"), ("dim", "1000")];
        all.extend(settings);
        FitShape { dim: 1000, ..one_week() }.plan(&params("rmls", &all), None, u64::MAX).total
    };
    let dense = of(&[]);
    let tenth = of(&[("penalty", "relative"), ("rho_x", "0.45"), ("rho_y", "0.45")]);
    assert!(tenth < dense / 3, "{tenth} {dense}");
}

#[test]
fn scratch_files_are_planned_where_memory_ends() {
    let shape = FitShape { dim: 1000, validation_scores: 40_000, ..one_week() };
    let random = params("rmls", &[("start", "random"), ("dim", "1000")]);
    let plan = |limit| shape.plan(&random, None, limit);
    let ample = plan(u64::MAX);
    assert_eq!(ample.scratch, 0);
    let maps = rmls_bytes::dense_bytes(shape.factor_shape(), 1000);
    let (tight, small) = (plan(ample.total / 2), plan(1 << 30));
    assert_eq!((tight.scratch, small.scratch), (maps, 2 * maps));
    assert!(tight.total < ample.total && small.total < tight.total);
    small.check(1 << 30).unwrap();
    assert!(small.lines.iter().any(|(what, _)| what.contains("embeddings")), "{small}");
    let least = plan(400 << 20);
    least.check(400 << 20).unwrap();
    assert!(!least.lines.iter().any(|(what, _)| what.contains("embeddings")), "{least}");
    assert!(tight.to_string().contains("of scratch files while it runs"), "{tight}");
}

#[test]
fn an_absolute_threshold_is_planned_dense_where_that_fits() {
    let absolute = [("penalty", "absolute"), ("beta", "0.1"), ("start", "random"), ("dim", "1000")];
    let shape = FitShape { dim: 1000, ..one_week() };
    let plan = |limit| shape.plan(&params("rmls", &absolute), Some(&rates()), limit);
    let line = |plan: &Plan| {
        let maps = plan.lines.iter().find(|(what, _)| what.starts_with("maps L_x"));
        maps.cloned().unwrap()
    };
    let ample = plan(u64::MAX);
    let dense = rmls_bytes::dense_bytes(shape.factor_shape(), 1000);
    assert_eq!(line(&ample), ("maps L_x and L_y".into(), dense));
    let tight = plan(ample.total - 1);
    let (what, bytes) = line(&tight);
    assert!(what.ends_with("if a tenth of them is left") && bytes < dense / 3, "{tight}");
    tight.check(ample.total - 1).unwrap();
    assert!(tight.check(1 << 20).is_err());
    // A bound needs whole maps, and the fit refuses them where they do not fit.
    let bound = params("rmls", &[("penalty", "bound"), ("start", "random"), ("dim", "1000")]);
    let bound = shape.plan(&bound, None, ample.total / 2);
    assert_eq!(line(&bound).1, dense);
}

#[test]
fn what_is_fitted_before_stays_in_memory() {
    let shape = one_week();
    let (first, second, lexical) = (params("pls", &[]), params("square", &[]), params("bm25", &[]));
    let alone = [&first, &second].map(|params| shape.plan(params, None, u64::MAX));
    let parts = [&lexical, &first, &second].map(|params| (shape, params));
    let plans = plan_parts(parts, None, u64::MAX);
    let held = shape.plan(&lexical, None, u64::MAX).held;
    assert_eq!(plans[1].total, alone[0].total + held);
    assert_eq!(plans[2].total, alone[1].total + held + alone[0].held);
    for plan in &plans {
        assert_eq!(plan.total, plan.lines.iter().map(|line| line.1).sum::<u64>(), "{plan}");
    }
    assert_eq!(alone[0].held, shape.maps() + csr(shape.nnz_y, shape.n_docs) + shape.n_docs * 800);
}

#[test]
fn negatives_and_validation_are_counted() {
    for (method, negatives) in [("pls", "3"), ("rmls", "3")] {
        let plain = one_week().plan(&params(method, &[]), None, u64::MAX);
        let drawn = params(method, &[("negatives.per_click", negatives)]);
        let drawn = one_week().plan(&drawn, None, u64::MAX);
        assert_eq!(drawn.total - plain.total, 2 * 3 * 163_600 * 8, "{method}");
        assert_eq!(drawn.disk, plain.disk);
    }
    // No more than there are cells.
    let all = params("pls", &[("negatives.per_click", "9000000000000000000")]);
    let few = FitShape { n_queries: 10, n_docs: 20, nnz_x: 9, nnz_r: 30, ..one_week() };
    let (plain, all) =
        (few.plan(&params("pls", &[]), None, 1 << 40), few.plan(&all, None, 1 << 40));
    assert_eq!(all.total - plain.total, 2 * 170 * 8);
    let tuned = params("mpls", &[("alpha", "tuned")]);
    for params in [params("rmls", &[("start", "random")]), tuned] {
        let shape = FitShape { dim: 2000, ..one_week() };
        let of = |validation_scores| {
            FitShape { validation_scores, ..shape }.plan(&params, None, u64::MAX).total
        };
        assert!(of(1000) > of(0));
    }
}

#[test]
fn what_does_not_fit_is_refused_with_advice() {
    let plan = one_week().plan(&params("rmls", &[]), None, u64::MAX);
    assert_eq!(plan.seconds, None);
    assert!(plan.check(plan.total).is_ok());
    let message = plan.check(1 << 20).unwrap_err().to_string();
    for word in
        ["rmls would take", "may take 1.0 MiB", "`dim`", "`max_memory = SIZE`", "`start = random`"]
    {
        assert!(message.contains(word), "{message}");
    }
    // Nothing is advised that would change nothing.
    for (params, word) in [
        (params("rmls", &[("start", "random")]), "start = random"),
        (params("ridge", &[]), "`dim`"),
        (params("pls", &[]), "query_clicks"),
        (params("lsi_dt", &[]), "clicks"),
    ] {
        let error = one_week().plan(&params, None, u64::MAX).check(1 << 20).unwrap_err();
        assert!(matches!(error, Error::Memory { .. }));
        assert!(!error.to_string().contains(word), "{error}");
    }
}

#[test]
fn shapes_that_cannot_be_are_refused() {
    assert!(one_week().check().is_ok());
    for (shape, word) in [
        (FitShape { dim: 0, ..one_week() }, "dim = 0"),
        (FitShape { n_docs: 0, ..one_week() }, "documents = 0"),
        (FitShape { d_x: 1 << 32, ..one_week() }, "query_features = 4294967296"),
        (
            FitShape { n_queries: 1, nnz_x: 1, nnz_r: 111_632, ..one_week() },
            "nnz_r = 111632: expected at most 111631",
        ),
    ] {
        let message = shape.check().unwrap_err().to_string();
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn the_largest_numbers_do_no_harm() {
    let most = u64::from(u32::MAX);
    let shape = FitShape {
        classes: 0,
        n_queries: most,
        n_docs: most,
        d_x: most,
        d_y: most,
        nnz_x: 1 << 48,
        nnz_y: 1 << 48,
        nnz_r: 1 << 48,
        dim: most,
        validation_scores: 1000 * most,
        warm_start: false,
    };
    shape.check().unwrap();
    let mut all: Vec<Params> = methods().map(|(name, _)| Params::named(name).unwrap()).collect();
    let most = usize::MAX;
    all.extend([
        Params::Rmls(Rmls { sweeps: Some(most), dim: most, ..Rmls::default() }),
        Params::Pls(Pls { oversample: Some(most), dim: most, ..Pls::default() }),
        Params::Mpls(Mpls { oversample: Some(most), dim: most, ..Mpls::default() }),
        Params::Square(Square { oversample: Some(most), dim: most, ..Square::default() }),
        Params::Ridge(Ridge { keep: most, ..Ridge::default() }),
        params("pls", &[("negatives.per_click", "9000000000000000000")]),
        params("rmls", &[("penalty", "relative")]),
        params("rmls", &[("penalty", "absolute"), ("beta", "1")]),
    ]);
    let endless = FitShape {
        classes: 0,
        n_queries: u64::MAX,
        n_docs: u64::MAX,
        d_x: u64::MAX,
        d_y: u64::MAX,
        nnz_x: u64::MAX,
        nnz_y: u64::MAX,
        nnz_r: u64::MAX,
        dim: u64::MAX,
        validation_scores: u64::MAX,
        warm_start: false,
    };
    for params in all {
        for shape in [shape, endless] {
            assert!(params.dim().is_none_or(|dim| dim > 0));
            for limit in [1 << 40, u64::MAX] {
                let plan = shape.plan(&params, Some(&rates()), limit);
                let name = params.name();
                assert!(plan.total > 1 << 40, "{name}");
                // Of some methods nobody has measured the time.
                assert!(plan.total_seconds().is_none_or(|seconds| seconds > 1e6), "{name}");
                assert!(plan.check(1 << 40).is_err(), "{name}");
                plan_parts([(shape, &params), (shape, &params)], None, limit);
            }
        }
    }
    let more = FitShape { nnz_x: (1 << 48) + 1, ..shape };
    assert!(more.check().is_err());
}

#[test]
fn bytes_are_written_for_people() {
    let texts = [0, 1023, 1536, 3 << 30].map(|bytes| Bytes(bytes).to_string());
    assert_eq!(texts, ["0 bytes", "1023 bytes", "1.5 KiB", "3.0 GiB"]);
}

#[test]
fn svdfeature_holds_its_maps_three_times_where_there_is_validation() {
    let shape = FitShape { validation_scores: 1000, ..one_week() };
    let plan = shape.plan(&params("svdfeature", &[]), Some(&rates()), u64::MAX);
    let once = (shape.d_x + shape.d_y) * (shape.dim + 1) * 4;
    let line = |name: &str| plan.lines.iter().find(|(what, _)| what == name).unwrap().1;
    assert_eq!(line("maps during training"), once);
    assert_eq!(line("maps of the best epoch and of the last"), 2 * once);
    assert!(plan.disk > shape.maps() && plan.total_seconds().unwrap() > 0.0);
}
