//! What validation says of maps while they are learnt.

use super::bilinear::image_of;
use super::{Judge, Maps};
use crate::linalg::{Panels, dot};
use crate::sparse::{Csr, Row};
use crate::{Result, Run};

/// What `judge` says of a pair of maps.
pub(super) fn judge_maps(judge: &Judge<'_>, x: &Csr, y: &Csr, maps: &Maps) -> f64 {
    let docs = maps.l_y.images(y);
    judge(&|query, candidates| {
        let image = image_of(x.row(query as usize), &maps.l_x);
        let score = |doc: usize| dot(&image, docs.row(doc));
        scores_of(candidates, y.n_rows(), score)
    })
}

/// What `judge` says of a pair of maps while they are made. Where there is no room for the
/// images of all documents, each is made when it is asked for.
pub(super) fn judge_panels(
    judge: &Judge<'_>,
    x: &Csr,
    y: &Csr,
    l_x: &Panels,
    l_y: &Panels,
    run: &Run<'_>,
) -> Result<f64> {
    let dim = l_x.n_cols();
    let image = |row: Row<'_>, map: &Panels| {
        let (mut image, mut feature) = (vec![0.0f32; dim], vec![0.0f32; dim]);
        for (v, value) in row.iter() {
            map.row_into(v as usize, &mut feature);
            image.iter_mut().zip(&feature).for_each(|(sum, &entry)| *sum += value * entry);
        }
        image
    };
    let bytes = 4 * (y.n_rows() * dim) as u64;
    let docs = if 2 * bytes <= run.memory_left() { Some(l_y.images(y)?) } else { None };
    Ok(judge(&|query, candidates| {
        let query = image(x.row(query as usize), l_x);
        let score = |doc: usize| match &docs {
            Some(docs) => dot(&query, docs.row(doc)),
            None => dot(&query, &image(y.row(doc), l_y)),
        };
        scores_of(candidates, y.n_rows(), score)
    }))
}

/// The score of every candidate: of all `n_docs` documents for `None`.
fn scores_of(candidates: Option<&[u32]>, n_docs: usize, score: impl Fn(usize) -> f32) -> Vec<f32> {
    match candidates {
        Some(candidates) => candidates.iter().map(|&doc| score(doc as usize)).collect(),
        None => (0..n_docs).map(score).collect(),
    }
}
