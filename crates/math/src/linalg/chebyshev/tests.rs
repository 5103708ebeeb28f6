use super::*;
use crate::linalg::{Centring, dot_f64, orthonormalise};
use crate::oracle::{Naive, full_csr, identity, same_at_any_thread_count};

#[test]
fn growth_is_that_of_the_polynomial() {
    // T_5(x) = 16x⁵ − 20x³ + 5x, at x = 2λ/b − 1 = 1.4.
    let x: f64 = 1.4;
    let exact = 16.0 * x.powi(5) - 20.0 * x.powi(3) + 5.0 * x;
    let grown = growth(1.2, 1.0).powi(5);
    assert!(((grown + 1.0 / grown) / 2.0 / exact - 1.0).abs() < 1e-12);
    assert_eq!(degree(1.2, 1.0, 0.99 * exact), 5);
    assert_eq!(degree(1.0, 1.0, 2.0), MAX_DEGREE);
    assert_eq!(degree(1e9, 1.0, 2.0), 1);
}

#[test]
fn a_batch_ends_where_growth_differs_too_much() {
    let lambda = [4e6, 3.0, 2.9, 2.0, 1.5, 1.0];
    let batches = batches(&lambda, 1.0, &[10.0; 4]);
    assert_eq!(batches[0].columns, 0..1);
    assert_eq!(batches[1].columns, 1..6);
    assert_eq!(batches[1].leads, 1);
    assert!(batches[1].degree > batches[0].degree);
}

#[test]
fn columns_that_will_do_stay_and_spare_ones_follow_the_hardest() {
    let lambda: Vec<f64> = (0..250).map(|k| 10.0 - 0.02 * f64::from(k)).collect();
    let mut gains = vec![1.0; 200];
    gains[150] = 40.0;
    let batches = batches(&lambda, lambda[249], &gains);
    assert_eq!(batches[0].degree, 0);
    assert!(batches[1].columns.contains(&150) && batches[1].degree > 1);
    assert_eq!(batches[2].degree, batches[1].degree);
    assert!(batches.iter().all(|batch| batch.leads == 0));
}

#[test]
fn a_filter_is_the_polynomial_of_the_explicit_matrix() {
    let c = Naive::from_fn(12, 9, |i, j| ((5 * i + 3 * j) % 7) as f64 / 3.0 - 0.9);
    let a = c.transpose().times(&c);
    let operator = Operator::new(identity(12), full_csr(&c), identity(9), Centring::None).unwrap();
    let mut start = Dense::gaussian(9, 3, 4);
    orthonormalise(&mut start);
    let (bound, lambda) = (2.0, [30.0, 20.0, 5.0]);
    let batches = [Batch { columns: 0..3, degree: 3, leads: 0 }];
    let filtered = same_at_any_thread_count(|| {
        let mut v = start.clone();
        filter(&operator, &mut v, None, &lambda, bound, &batches, &Run::silent()).unwrap();
        v
    });
    // T_3(x) = 4x³ − 3x of x = 2A/b − 1, columns scaled to norm one.
    let x = Naive::from_fn(9, 9, |i, j| 2.0 * a.get(i, j) / bound - f64::from(u8::from(i == j)));
    let v = Naive::of_dense(&start);
    let once = x.times(&v);
    let thrice = x.times(&x.times(&once));
    let t = Naive::from_fn(9, 3, |i, j| 4.0 * thrice.get(i, j) - 3.0 * once.get(i, j));
    let norm = |j: usize| (0..9).map(|i| t.get(i, j).powi(2)).sum::<f64>().sqrt();
    Naive::from_fn(9, 3, |i, j| t.get(i, j) / norm(j)).assert_close(&filtered, 1e-4);

    // The product that is known already changes nothing but the rounding.
    let mut product = Dense::zeros(9, 3);
    apply_gram(&operator, &start, &mut Dense::zeros(12, 3), &mut product);
    let mut again = start.clone();
    filter(&operator, &mut again, Some(&product), &lambda, bound, &batches, &Run::silent())
        .unwrap();
    assert_eq!(again, filtered);
}

#[test]
fn what_is_projected_out_is_gone_and_the_rest_stays() {
    let mut v = Dense::gaussian(5000, 8, 1);
    orthonormalise(&mut v);
    let mut block = Dense::gaussian(5000, 4, 2);
    let before = block.clone();
    project_out(&v, 3, &mut block);
    let column = |matrix: &Dense, j: usize| -> Vec<f32> {
        (0..matrix.n_rows()).map(|i| matrix.row(i)[j]).collect()
    };
    for j in 0..4 {
        for lead in 0..8 {
            let inside = dot_f64(&column(&v, lead), &column(&block, j));
            let was = dot_f64(&column(&v, lead), &column(&before, j));
            let expected = if lead < 3 { 0.0 } else { was };
            assert!((inside - expected).abs() < 1e-4, "{lead} {j}: {inside} for {expected}");
        }
    }
}
