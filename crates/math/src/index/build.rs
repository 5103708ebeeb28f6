//! Builds lists: centres from a sample, assignment of every embedding to the nearest centre, codes,
//! and the measurement of recall.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use bytemuck::Pod;
use rayon::prelude::*;

use super::codes::{encode, stride};
use super::kmeans::{Centres, average, centres, grouped};
use super::lists::{Lists, MARK, Places, fields};
use super::mapped::{HEADER, Mapped, header};
use super::{Embeddings, IndexParams, Report, recall};
use crate::file::NewFile;
use crate::linalg::{dot, widest};
use crate::random::Random;
use crate::{Error, Result, Run};

/// Embeddings in the training sample, per centre.
const SAMPLE_PER_LIST: usize = 64;
/// Rows encoded per task.
const ROWS_PER_TASK: usize = 256;
/// Rows encoded between two writes.
const ROWS_PER_BLOCK: usize = 1 << 14;

/// Embeddings assigned to lists.
struct Assignment {
    /// One row per list: the mean of its embeddings.
    means: Vec<f32>,
    reaches: Vec<f32>,
    starts: Vec<u64>,
    /// The documents, list by list.
    docs: Vec<u32>,
    /// The list of each document of `docs`.
    list: Vec<u32>,
}

/// Builds lists of `embeddings` at `path` and measures their recall with `queries`, concatenated; if
/// there are none, with perturbed embeddings.
pub(super) fn build(
    path: &Path,
    embeddings: &Embeddings,
    params: &IndexParams,
    queries: &[f32],
    run: &Run<'_>,
) -> Result<Lists> {
    let assigned = assign(embeddings, params, run)?;
    let places = Places::new(embeddings.dim(), assigned.starts.len() - 1, assigned.docs.len());
    let new = NewFile::create(path)?;
    let unmeasured = header(MARK, &fields(embeddings, &places, &Report::default()));
    write(new.writer()?, path, &unmeasured, embeddings, &assigned, &places, run)?;
    let mut lists = Lists::of(Mapped::of(new.writer()?, path, MARK)?, embeddings)?;
    let report =
        recall::measure(&lists, embeddings, &list_of(&assigned, embeddings), params, queries, run)?;
    lists.set_report(report);
    let measured = header(MARK, &fields(embeddings, &places, lists.report()));
    new.writer()?.write_all(&measured).map_err(Error::io("write", path))?;
    new.commit()?;
    Ok(lists)
}

fn assign(embeddings: &Embeddings, params: &IndexParams, run: &Run<'_>) -> Result<Assignment> {
    let docs: Vec<u32> = (0..embeddings.n_rows() as u32)
        .into_par_iter()
        .filter(|&doc| {
            let row = embeddings.row(doc as usize);
            widest(|| dot(row, row)).is_finite()
        })
        .collect();
    let wanted = params.lists.unwrap_or((4.0 * (docs.len() as f64).sqrt()) as usize);
    let n_lists = wanted.clamp(1, docs.len().max(1)).min(docs.len());
    let mut sample = docs.clone();
    Random::new(params.seed, 0).shuffle(&mut sample);
    sample.truncate(n_lists.saturating_mul(SAMPLE_PER_LIST));
    sample.sort_unstable();
    let centres = centres(embeddings, &sample, n_lists, params.rounds, params.seed, run)?;
    let of = centres.of(embeddings, &docs, "assigning documents to lists", run)?;
    let (members, starts) = grouped(&of, n_lists);
    let list = members.iter().map(|&member| of[member as usize]).collect();
    let docs: Vec<u32> = members.iter().map(|&member| docs[member as usize]).collect();
    let (means, reaches) = means(embeddings, &centres, &docs, &starts, params.reach);
    Ok(Assignment { means, reaches, starts, docs, list })
}

/// The mean of every list, and `reach` times its spread in one direction.
fn means(
    embeddings: &Embeddings,
    centres: &Centres,
    docs: &[u32],
    starts: &[u64],
    reach: f32,
) -> (Vec<f32>, Vec<f32>) {
    let dim = embeddings.dim();
    let mut means: Vec<f32> =
        (0..centres.len()).flat_map(|list| centres.row(list)).copied().collect();
    let mut reaches = vec![0.0f32; centres.len()];
    let lists = means.par_chunks_exact_mut(dim).zip(&mut reaches).enumerate();
    lists.for_each(|(list, (mean, far))| {
        let docs = &docs[starts[list] as usize..starts[list + 1] as usize];
        average(mean, docs.iter().map(|&doc| embeddings.row(doc as usize)));
        let squares = docs.iter().map(|&doc| {
            let row = embeddings.row(doc as usize).iter().zip(&*mean);
            row.map(|(x, c)| f64::from(x - c).powi(2)).sum::<f64>()
        });
        let square = squares.sum::<f64>() / docs.len().max(1) as f64;
        // The spread in one direction if it is the same in all.
        *far = reach * (square / dim as f64).sqrt() as f32;
    });
    (means, reaches)
}

/// The list of every document; `u32::MAX` for those in none.
fn list_of(assigned: &Assignment, embeddings: &Embeddings) -> Vec<u32> {
    let mut of = vec![u32::MAX; embeddings.n_rows()];
    assigned.docs.iter().zip(&assigned.list).for_each(|(&doc, &list)| of[doc as usize] = list);
    of
}

fn write(
    file: File,
    path: &Path,
    header: &[u8; HEADER],
    embeddings: &Embeddings,
    assigned: &Assignment,
    places: &Places,
    run: &Run<'_>,
) -> Result<()> {
    let mut file = Arrays { file: BufWriter::new(file), path, at: 0 };
    file.put(0, header)?;
    file.put(places.centres, &assigned.means)?;
    file.put(places.reaches, &assigned.reaches)?;
    file.put(places.starts, &assigned.starts)?;
    file.put(places.docs, &assigned.docs)?;
    let (dim, stride) = (embeddings.dim(), stride(embeddings.dim()));
    let mut scales = vec![0.0f32; assigned.docs.len()];
    let mut codes = Vec::new();
    for (block, scales) in scales.chunks_mut(ROWS_PER_BLOCK).enumerate() {
        let first = block * ROWS_PER_BLOCK;
        run.step("quantising documents", first as u64, Some(assigned.docs.len() as u64))?;
        codes.resize(scales.len() * stride, 0i8);
        let tasks = codes
            .par_chunks_mut(ROWS_PER_TASK * stride)
            .zip(scales.par_chunks_mut(ROWS_PER_TASK))
            .enumerate();
        tasks.for_each(|(task, (codes, scales))| {
            let mut residual = vec![0.0f32; dim];
            for (row, (codes, scale)) in codes.chunks_exact_mut(stride).zip(scales).enumerate() {
                let at = first + task * ROWS_PER_TASK + row;
                let mean = &assigned.means[assigned.list[at] as usize * dim..][..dim];
                let row = embeddings.row(assigned.docs[at] as usize).iter().zip(mean);
                residual.iter_mut().zip(row).for_each(|(to, (x, c))| *to = x - c);
                *scale = encode(&residual, codes);
            }
        });
        let start = if block == 0 { places.codes } else { file.at };
        file.put(start, &codes)?;
    }
    file.put(places.scales, &scales)?;
    file.file.flush().map_err(Error::io("write", path))
}

/// A file of arrays, written in the order of their positions.
struct Arrays<'a> {
    file: BufWriter<File>,
    path: &'a Path,
    at: usize,
}

impl Arrays<'_> {
    /// Pads with zeros to byte `start` and writes `values`.
    fn put<T: Pod>(&mut self, start: usize, values: &[T]) -> Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let gap = vec![0; start.saturating_sub(self.at)];
        let written = self.file.write_all(&gap).and_then(|()| self.file.write_all(bytes));
        self.at += gap.len() + bytes.len();
        written.map_err(Error::io("write", self.path))
    }
}
