//! The two loops that training spends its time in: sums of rows of a map, and multiples of one
//! vector added to rows. Compiled for AVX2, too, where they compute the same bits.

use rayon::prelude::*;

use crate::linalg::Dense;
use crate::sparse::Row;

/// Parts of a map that are written side by side. Rows do not depend on each other, so the number
/// changes no bit.
const PARTS: usize = 16;

/// Adds factor·Σ value·(row of `map`) to `image`.
pub(super) fn add_image(map: &Dense, row: Row<'_>, factor: f32, image: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has what the function is compiled for.
        return unsafe { add_image_avx2(map, row, factor, image) };
    }
    add_image_here(map, row, factor, image);
}

/// [`add_image_here`], compiled for AVX2. Nothing is fused: that would change the bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_image_avx2(map: &Dense, row: Row<'_>, factor: f32, image: &mut [f32]) {
    add_image_here(map, row, factor, image);
}

#[inline(always)]
fn add_image_here(map: &Dense, row: Row<'_>, factor: f32, image: &mut [f32]) {
    let (fours, rest) = row.indices.as_chunks::<4>();
    let (values, rest_values) = row.values.as_chunks::<4>();
    // Four rows at a time, so that the sums are loaded and stored a quarter as often; each sum
    // still grows in order.
    for (at, value) in fours.iter().zip(values) {
        let [a, b, c, d] = at.map(|i| map.row(i as usize));
        let [p, q, r, s] = value.map(|value| factor * value);
        let rows = a.iter().zip(b).zip(c).zip(d);
        for (sum, (((a, b), c), d)) in image.iter_mut().zip(rows) {
            *sum = (((*sum + p * a) + q * b) + r * c) + s * d;
        }
    }
    for (&i, &value) in rest.iter().zip(rest_values) {
        let factor = factor * value;
        image.iter_mut().zip(map.row(i as usize)).for_each(|(sum, entry)| *sum += factor * entry);
    }
}

/// One outer product that moves a map: row i gets factor·value_i·image for every entry of `row`.
pub(super) struct Move<'a> {
    pub row: Row<'a>,
    pub factor: f32,
    pub image: &'a [f32],
}

/// Adds all `moves`, each row's in order; parallel over the rows.
pub(super) fn add_moves<'a, I>(map: &mut Dense, moves: impl Fn() -> I + Sync)
where
    I: Iterator<Item = Move<'a>>,
{
    let (n_rows, dim) = (map.n_rows(), map.n_cols());
    let rows = n_rows.div_ceil(PARTS).max(1);
    map.values_mut().par_chunks_mut(rows * dim).enumerate().for_each(|(part, values)| {
        let first = part * rows;
        let span = first as u32..(first + values.len() / dim) as u32;
        for moved in moves() {
            let within = within(moved.row, span.clone());
            add_rows(values, first, within, moved.factor, moved.image);
        }
    });
}

/// The entries of `row` in the columns `span`.
pub(super) fn within(row: Row<'_>, span: std::ops::Range<u32>) -> Row<'_> {
    let start = row.indices.partition_point(|&i| i < span.start);
    let end = start + row.indices[start..].partition_point(|&i| i < span.end);
    Row { indices: &row.indices[start..end], values: &row.values[start..end] }
}

fn add_rows(values: &mut [f32], first: usize, row: Row<'_>, factor: f32, image: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has what the function is compiled for.
        return unsafe { add_rows_avx2(values, first, row, factor, image) };
    }
    add_rows_here(values, first, row, factor, image);
}

/// [`add_rows_here`], compiled for AVX2. Nothing is fused: that would change the bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_rows_avx2(values: &mut [f32], first: usize, row: Row<'_>, factor: f32, image: &[f32]) {
    add_rows_here(values, first, row, factor, image);
}

#[inline(always)]
fn add_rows_here(values: &mut [f32], first: usize, row: Row<'_>, factor: f32, image: &[f32]) {
    let dim = image.len();
    for (i, value) in row.iter() {
        let start = (i as usize - first) * dim;
        let factor = factor * value;
        let entries = &mut values[start..start + dim];
        entries.iter_mut().zip(image).for_each(|(entry, image)| *entry += factor * image);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::oracle::random_csr;

    #[test]
    fn avx2_computes_the_same_bits() {
        let rows = random_csr(20, 50, 13, 1);
        for dim in [1, 7, 8, 33, 100] {
            let map = Dense::gaussian(50, dim, 2);
            for row in rows.rows() {
                let (mut fast, mut plain) = (vec![0.5; dim], vec![0.5; dim]);
                add_image(&map, row, -0.3, &mut fast);
                add_image_here(&map, row, -0.3, &mut plain);
                assert_eq!(fast, plain);
                let (mut one, mut other) = (map.clone(), map.clone());
                add_rows(one.values_mut(), 0, row, 0.7, &fast);
                add_rows_here(other.values_mut(), 0, row, 0.7, &fast);
                assert_eq!(one, other);
            }
        }
    }
}
