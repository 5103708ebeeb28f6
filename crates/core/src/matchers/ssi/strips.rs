//! W = UᵀV, with a map each for queries and documents, or W = UᵀU, with one map for both:
//!
//! ```text
//! U ← U + λ·V(d⁺ − d⁻)qᵀ,   V ← V + λ·Uq(d⁺ − d⁻)ᵀ
//! U ← U + λ·U[(d⁺ − d⁻)qᵀ + q(d⁺ − d⁻)ᵀ]
//! ```
//! In training the maps are cut into strips of columns. Columns depend on each other through the
//! scores alone, so each strip processes a batch by itself: it applies the moves of the batch before
//! and scores the next one, and threads synchronise once per batch.
//!
//! Reading a row of a strip is a random access, which costs more than its numbers, so strips are as
//! wide as registers hold sums, and there are as many as threads. They are also compiled for AVX2,
//! with the same bits. Sums over columns take eight columns at a time, in order, so the number of
//! strips does not change a bit either.

use rayon::prelude::*;

use super::data::{Data, Triple};
use super::fitted::Learnt;
use super::sgd::{Batch, WeightForm};
use crate::Result;
use crate::linalg::{Buffer, Dense};
use crate::matchers::{Map, Maps};
use crate::sparse::Row;

/// Columns that are summed together: what a register of AVX2 holds.
const LANE: usize = 8;
/// Most lanes of a strip: as many sums as AVX2 has registers for, beside a row and a factor.
const WIDEST: usize = 13;
/// Distance of the prefetch, in entries.
const AHEAD: usize = 4;
/// Fewest multiplications for which threads pay off.
const FEW: usize = 1 << 15;

/// The one or two maps, features × dimensions.
pub(super) struct Latent {
    /// The view of the data with its features.
    view: usize,
    n_features: usize,
    dim: usize,
    strips: Vec<Box<dyn Columns>>,
}

impl Latent {
    /// Cuts `maps`, which have the same shape: U alone, or U and V.
    pub fn new(view: usize, maps: &[&Dense]) -> Result<Self> {
        let (n_features, dim) = maps.first().map_or((0, 0), |map| (map.n_rows(), map.n_cols()));
        let lanes = dim.div_ceil(LANE);
        let threads = rayon::current_num_threads().max(1);
        let n = lanes.div_ceil(WIDEST).next_multiple_of(threads).min(lanes);
        let mut first = 0;
        let strips = (0..n).map(|strip| {
            let width = lanes / n + usize::from(strip < lanes % n);
            let start = first;
            first += width * LANE;
            cut(width, maps, start)
        });
        Ok(Latent { view, n_features, dim, strips: strips.collect::<Result<_>>()? })
    }

    /// Both maps by words; equal if there is one.
    pub fn of_words(&self, data: &Data) -> (Dense, Dense) {
        let u = data.of_words(self.view, self.map(0));
        let n_maps = self.strips.first().map_or(1, |strip| strip.n_maps());
        let v = if n_maps == 1 { u.clone() } else { data.of_words(self.view, self.map(1)) };
        (u, v)
    }

    /// The current state of a map.
    pub fn map(&self, which: usize) -> Dense {
        let mut map = Dense::zeros(self.n_features, self.dim);
        map.rows_mut().enumerate().for_each(|(i, mut row)| {
            for strip in &self.strips {
                let rest = strip.read(which, i, row);
                row = rest;
            }
        });
        map
    }
}

impl WeightForm for Latent {
    fn step(&mut self, batch: &Batch<'_>, scores: &mut [f32]) -> Result<()> {
        let (data, view) = (batch.data, self.view);
        let entries: usize = batch.now.iter().map(|&triple| data.entries(self.view, triple)).sum();
        if entries * self.dim < FEW && batch.moved.len() <= batch.now.len() {
            self.strips.iter_mut().for_each(|strip| strip.step(view, batch));
        } else {
            self.strips.par_iter_mut().with_max_len(1).for_each(|strip| strip.step(view, batch));
        }
        let places = data.places(self.view);
        for (slot, score) in scores.iter_mut().enumerate() {
            *score = 0.0;
            for at in slot * places..(slot + 1) * places {
                self.strips.iter().for_each(|strip| *score = strip.add_dots(at, *score));
            }
        }
        Ok(())
    }

    fn learnt(&self, data: &Data) -> Result<Learnt<Maps>> {
        let (u, v) = self.of_words(data);
        Ok(Learnt::Latent(Maps { l_x: Map::from(u), l_y: Map::from(v) }))
    }

    fn touched(&self, data: &Data, triple: Triple) -> u64 {
        (self.dim * data.entries(self.view, triple)) as u64
    }
}

/// A strip of any width.
trait Columns: Send + Sync {
    /// Applies the moves of the batch before and computes the embeddings of the next.
    fn step(&mut self, view: usize, batch: &Batch<'_>);

    /// Adds the dot products of embeddings number `at` to `score`, eight columns at a time.
    fn add_dots(&self, at: usize, score: f32) -> f32;

    fn n_maps(&self) -> usize;

    /// Writes row `i` of a map to the front of `row`; returns the rest of it.
    fn read<'a>(&self, map: usize, i: usize, row: &'a mut [f32]) -> &'a mut [f32];
}

/// The strip of `width` lanes of `maps` from the column `first` on.
fn cut(width: usize, maps: &[&Dense], first: usize) -> Result<Box<dyn Columns>> {
    match width {
        1 => Strip::<8>::of(maps, first),
        2 => Strip::<16>::of(maps, first),
        3 => Strip::<24>::of(maps, first),
        4 => Strip::<32>::of(maps, first),
        5 => Strip::<40>::of(maps, first),
        6 => Strip::<48>::of(maps, first),
        7 => Strip::<56>::of(maps, first),
        8 => Strip::<64>::of(maps, first),
        9 => Strip::<72>::of(maps, first),
        10 => Strip::<80>::of(maps, first),
        11 => Strip::<88>::of(maps, first),
        12 => Strip::<96>::of(maps, first),
        _ => Strip::<104>::of(maps, first),
    }
}

/// `N` columns of one map or two.
struct Strip<const N: usize> {
    /// Features × `N` each.
    maps: Vec<Buffer>,
    /// Uq and V(d⁺ − d⁻) for every triple of the last batch and every place.
    embeddings: Vec<[[f32; N]; 2]>,
    /// The dot products of the embeddings, one for each lane.
    dots: Vec<f32>,
}

impl<const N: usize> Strip<N> {
    fn of(maps: &[&Dense], first: usize) -> Result<Box<dyn Columns>> {
        let cut = |map: &&Dense| {
            let mut strip = Buffer::zeros(map.n_rows() * N)?;
            strip.par_chunks_mut(N).enumerate().for_each(|(i, row)| {
                row.iter_mut().zip(&map.row(i)[first..]).for_each(|(to, &value)| *to = value);
            });
            Ok(strip)
        };
        let maps = maps.iter().map(cut).collect::<Result<_>>()?;
        Ok(Box::new(Strip::<N> { maps, embeddings: Vec::new(), dots: Vec::new() }))
    }

    /// [`Strip::step_portable`], compiled for AVX2. Nothing is fused: that would change the bits.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn step_avx2(&mut self, view: usize, batch: &Batch<'_>) {
        self.step_portable(view, batch);
    }

    #[inline(always)]
    fn step_portable(&mut self, view: usize, batch: &Batch<'_>) {
        let &Batch { data, moved, now, rate } = batch;
        let (places, v) = (data.places(view), self.maps.len() - 1);
        for moved in moved {
            for place in 0..places {
                let [query, difference] = self.embeddings[moved.slot * places + place];
                let [q, good, bad] = data.rows(view, moved.triple, place);
                add(self.maps[0].as_chunks_mut().0, q, rate, &difference);
                let documents = self.maps[v].as_chunks_mut().0;
                add(documents, good, rate, &query);
                add(documents, bad, -rate, &query);
            }
        }
        self.embeddings.clear();
        self.dots.clear();
        for &triple in now {
            for place in 0..places {
                let [q, good, bad] = data.rows(view, triple, place);
                let query = summed(self.maps[0].as_chunks().0, q, 1.0, [0.0; N]);
                let documents = self.maps[v].as_chunks().0;
                let difference = summed(documents, good, 1.0, [0.0; N]);
                let difference = summed(documents, bad, -1.0, difference);
                self.dots.extend(
                    query.as_chunks::<LANE>().0.iter().zip(difference.as_chunks().0).map(dot),
                );
                self.embeddings.push([query, difference]);
            }
        }
    }
}

impl<const N: usize> Columns for Strip<N> {
    fn step(&mut self, view: usize, batch: &Batch<'_>) {
        #[cfg(target_arch = "x86_64")]
        if crate::processor::has_avx2() {
            // SAFETY: the machine has what the function is compiled for.
            return unsafe { self.step_avx2(view, batch) };
        }
        self.step_portable(view, batch);
    }

    fn add_dots(&self, at: usize, score: f32) -> f32 {
        let lanes = N / LANE;
        self.dots[at * lanes..(at + 1) * lanes].iter().fold(score, |sum, dot| sum + dot)
    }

    fn n_maps(&self) -> usize {
        self.maps.len()
    }

    fn read<'a>(&self, map: usize, i: usize, row: &'a mut [f32]) -> &'a mut [f32] {
        let (mine, rest) = row.split_at_mut(N.min(row.len()));
        mine.copy_from_slice(&self.maps[map][i * N..][..mine.len()]);
        rest
    }
}

/// Adds factor·value·embedding to the row of every entry of `row`.
#[inline(always)]
fn add<const N: usize>(map: &mut [[f32; N]], row: Row<'_>, factor: f32, embedding: &[f32; N]) {
    for (i, value) in row.iter() {
        let factor = factor * value;
        let entries = &mut map[i as usize];
        entries
            .iter_mut()
            .zip(embedding)
            .for_each(|(entry, embedding)| *entry += factor * embedding);
    }
}

/// sums + factor·Σ value·(row of `map`), entry after entry.
#[inline(always)]
fn summed<const N: usize>(
    map: &[[f32; N]],
    row: Row<'_>,
    factor: f32,
    mut sums: [f32; N],
) -> [f32; N] {
    for (at, (i, value)) in row.iter().enumerate() {
        if let Some(&coming) = row.indices.get(at + AHEAD) {
            prefetch(map, coming as usize);
        }
        let factor = factor * value;
        sums.iter_mut().zip(&map[i as usize]).for_each(|(sum, entry)| *sum += factor * entry);
    }
    sums
}

/// The dot product of a lane of each embedding.
#[inline(always)]
fn dot((a, b): (&[f32; LANE], &[f32; LANE])) -> f32 {
    let mut sums = [0.0f32; LANE];
    sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum = a * b);
    let pairs = [sums[0] + sums[4], sums[1] + sums[5], sums[2] + sums[6], sums[3] + sums[7]];
    (pairs[0] + pairs[2]) + (pairs[1] + pairs[3])
}

/// Prefetches both ends of row `i`.
#[inline(always)]
fn prefetch<const N: usize>(map: &[[f32; N]], i: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let row = map.as_ptr().wrapping_add(i).cast::<i8>();
        // SAFETY: a prefetch reads nothing into the program and never faults, whatever the address.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(row);
            _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(4 * N - 1));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (map, i);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matchers::ssi::sgd::Moved;
    use crate::oracle::random_csr;

    /// Two batches, by the instructions of every machine or by the widest.
    fn stepped<const N: usize>(wide: bool) -> (Vec<u32>, Vec<u32>) {
        let data = Data::new(random_csr(9, 50, 4, 1), random_csr(20, 50, 13, 2), Vec::new());
        let (data, maps) = (data.unwrap(), [3, 4].map(|seed| Dense::gaussian(50, N, seed)));
        let maps = maps.iter().map(|map| {
            let mut strip = Buffer::zeros(50 * N).unwrap();
            strip.copy_from_slice(map.values());
            strip
        });
        let (maps, embeddings, dots) = (maps.collect(), Vec::new(), Vec::new());
        let mut strip = Strip::<N> { maps, embeddings, dots };
        let now: Vec<Triple> = (0..30u32)
            .map(|i| Triple { query: i % 9, good: i * 7 % 20, bad: (i * 3 + 1) % 20 })
            .collect();
        let slots = [0, 3, 4, 17, 29];
        let moved = slots.map(|slot| Moved { slot, triple: now[slot] });
        for moved in [&[][..], &moved] {
            let batch = Batch { data: &data, moved, now: &now, rate: 0.3 };
            if wide { Columns::step(&mut strip, 0, &batch) } else { strip.step_portable(0, &batch) }
        }
        let bits =
            |values: &[f32]| -> Vec<u32> { values.iter().map(|value| value.to_bits()).collect() };
        (bits(&strip.dots), strip.maps.iter().flat_map(|map| bits(map)).collect())
    }

    #[test]
    fn avx2_computes_the_same_bits() {
        assert_eq!(stepped::<8>(true), stepped::<8>(false));
        assert_eq!(stepped::<24>(true), stepped::<24>(false));
        assert_eq!(stepped::<56>(true), stepped::<56>(false));
        assert_eq!(stepped::<104>(true), stepped::<104>(false));
    }
}
