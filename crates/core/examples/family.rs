//! The family of bilinear scores, D_x U f(Σ) Vᵀ D_y for C = UΣVᵀ: powers of the largest d singular values,
//! and powers of the norms of rows and columns. PLS has f = 1 and no norms, a spectral start of RMLS
//! f = 1 and norms, `association` f = σ on all singular values.
//!
//! ```text
//! family DATASET [DIM …]
//! ```
//! Prints nDCG@10 on validation and on test of every member.

// The table is this program's result.
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::sync::Arc;

use liken::data::Dataset;
use liken::eval::{Candidates, CompareParams, HeldOut, Measure, System, Variant, compare};
use liken::features::{Counts, Features, Featurizer, Preparation, Response, Weighted, Weighting};
use liken::linalg::{Centring, Dense, Operator, Svd, SvdParams, randomised_svd};
use liken::matchers::{Bilinear, Maps, Mixture};
use liken::{Result, Run};

/// Powers of σ.
const SIGMA: [f64; 5] = [0.0, 0.25, 0.5, 1.0, 2.0];
/// Powers of the norms of rows and columns.
const NORMS: [[f64; 2]; 5] = [[0.0, 0.0], [0.5, 0.5], [1.0, 0.25], [1.0, 0.5], [1.0, 1.0]];

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((path, dims)) = args.split_first() else {
        return Err("usage: family DATASET [DIM …]".into());
    };
    let dims: Vec<usize> =
        dims.iter().map(|dim| dim.parse()).collect::<std::result::Result<_, _>>()?;
    let dims = if dims.is_empty() { vec![300] } else { dims };
    let dataset = Dataset::open(Path::new(path))?;
    let silent = Run::silent();
    let counts = Counts::of(&dataset, &Preparation::default(), &silent)?;
    let features = Features { query_clicks: 1.0, ..Features::default() };
    let featurizer = Featurizer::new(&counts, &features)?;
    let data = Weighted::of(&counts, &featurizer, Weighting::Mean, Response::Raw)?;
    let c = Operator::new(data.x, data.r, data.y, Centring::None)?;
    println!(
        "| dimensions | power of σ | powers of norms | validation | test |\n|---|---|---|---|---|"
    );
    for dim in dims {
        let svd = randomised_svd(&c, &SvdParams::of(dim), &silent)?;
        for sigma in SIGMA {
            for norms in NORMS {
                let maps = maps(&svd, sigma, norms);
                let bilinear = Bilinear::new(&counts, &features, maps)?;
                let [validation, test] = ndcg(&dataset, &counts, bilinear, &silent)?;
                let [x, y] = norms;
                println!("| {dim} | {sigma} | {x}, {y} | {validation:.4} | {test:.4} |");
            }
        }
    }
    Ok(())
}

/// The maps whose product is U Σ^sigma Vᵀ with rows and columns divided by powers of their norms.
fn maps(svd: &Svd, sigma: f64, [x, y]: [f64; 2]) -> Maps {
    let powers = |power: f64| svd.sigma.iter().map(|s| s.powf(power) as f32).collect::<Vec<f32>>();
    let (whole, half) = (powers(sigma), powers(sigma / 2.0));
    let scaled = |vectors: &Dense, power: f64| {
        // U and V are orthonormal: the rows of UΣVᵀ have the norms of the rows of UΣ.
        let factor = |i: usize| {
            let row = vectors.row(i).iter().zip(&whole);
            let norm = row.map(|(v, s)| f64::from(v * s).powi(2)).sum::<f64>().sqrt();
            if norm > 0.0 { norm.powf(-power) as f32 } else { 0.0 }
        };
        let factors: Vec<f32> = (0..vectors.n_rows()).map(factor).collect();
        Dense::from_fn(vectors.n_rows(), half.len(), |i, k| {
            vectors.row(i)[k] * half[k] * factors[i]
        })
    };
    Maps { l_x: scaled(&svd.u, x).into(), l_y: scaled(&svd.v, y).into() }
}

/// nDCG@10 on validation and on test.
fn ndcg(dataset: &Dataset, counts: &Counts, matcher: Bilinear, run: &Run<'_>) -> Result<[f64; 2]> {
    let measure = Measure::Ndcg { k: Some(10) };
    let rows = [Mixture::parse("rmls")?];
    let system = System { name: "rmls".into(), matcher: Arc::new(matcher), weighs_clicks: true };
    let on = |on| {
        let params = CompareParams {
            rows: &rows,
            measures: &[measure],
            tune_on: measure,
            baseline: 0,
            on,
            candidates: Candidates::Auto,
            variant: Variant::default(),
            seed: 1,
        };
        let comparison = compare(dataset, counts, std::slice::from_ref(&system), &params, run)?;
        Ok(comparison.rows[0].cells[0].mean.unwrap_or(f64::NAN))
    };
    Ok([on(HeldOut::Validation)?, on(HeldOut::Test)?])
}
