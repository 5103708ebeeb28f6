//! A learnt map: the embedding of every feature, one per row. Dense, or sparse if a penalty leaves
//! less than half of its entries.

use std::borrow::Cow;
use std::path::Path;

use rayon::prelude::*;

use crate::file::{Tensors, TensorsWriter};
use crate::linalg::{Dense, Panels, dot};
use crate::sparse::{Csr, Row, row_times_block};
use crate::{Error, Result};

/// Features × latent dimensions.
#[derive(Debug, Clone, PartialEq)]
pub enum Map {
    /// Every number is stored.
    Dense(Dense),
    /// Zeros are not stored.
    Sparse(Csr),
}

/// The two maps of a bilinear model.
#[derive(Debug, Clone, PartialEq)]
pub struct Maps {
    /// Query features × latent dimensions.
    pub l_x: Map,
    /// Document features × latent dimensions.
    pub l_y: Map,
}

impl From<Dense> for Map {
    fn from(map: Dense) -> Self {
        Map::Dense(map)
    }
}

impl Maps {
    /// Reads the maps of a model folder.
    pub fn read(tensors: &Tensors) -> Result<Self> {
        Ok(Maps { l_x: Map::read(tensors, "l_x")?, l_y: Map::read(tensors, "l_y")? })
    }
}

impl Map {
    /// The map from the panels of a trainer. An entry of a sparse row takes eight bytes, one of a dense
    /// row four; dense rows are in a scratch file in `folder`, if given.
    pub fn of(panels: &Panels, folder: Option<&Path>) -> Result<Self> {
        let all = (panels.n_rows() * panels.n_cols()) as u64;
        Ok(if 2 * panels.filled() < all {
            Map::Sparse(panels.to_csr()?)
        } else {
            Map::Dense(panels.to_dense_in(folder)?)
        })
    }

    /// Reads the map called `name` of a model folder.
    pub fn read(tensors: &Tensors, name: &str) -> Result<Self> {
        if tensors.has(&format!("{name}.starts"))? {
            return Ok(Map::Sparse(tensors.csr(name)?));
        }
        let (shape, values) = tensors.array::<f32>(name)?;
        match shape[..] {
            [n_rows, n_cols] => Ok(Map::Dense(Dense::from_values(n_rows, n_cols, values))),
            _ => Err(Error::Structure {
                problem: format!("{name} has {} axes instead of two", shape.len()),
            }),
        }
    }

    /// Adds it to the tensors of a model folder.
    pub fn save_state<'a>(&'a self, name: &str, tensors: &mut TensorsWriter<'a>) {
        match self {
            Map::Dense(map) => tensors.array(name, &[map.n_rows(), map.n_cols()], map.values()),
            Map::Sparse(map) => tensors.csr(name, map),
        };
    }

    /// The number of features.
    pub fn n_rows(&self) -> usize {
        match self {
            Map::Dense(map) => map.n_rows(),
            Map::Sparse(map) => map.n_rows(),
        }
    }

    /// The latent dimension.
    pub fn n_cols(&self) -> usize {
        match self {
            Map::Dense(map) => map.n_cols(),
            Map::Sparse(map) => map.n_cols(),
        }
    }

    /// The number of non-zeros.
    pub fn filled(&self) -> usize {
        match self {
            Map::Dense(map) => map.values().iter().filter(|&&value| value != 0.0).count(),
            Map::Sparse(map) => map.nnz(),
        }
    }

    /// The embedding of feature `i`.
    pub fn row(&self, i: usize) -> Cow<'_, [f32]> {
        match self {
            Map::Dense(map) => Cow::Borrowed(map.row(i)),
            Map::Sparse(map) => {
                let mut row = vec![0.0; map.n_cols()];
                map.row(i).iter().for_each(|(column, value)| row[column as usize] = value);
                Cow::Owned(row)
            }
        }
    }

    /// The dot product of the embedding of feature `i` and `embedding`.
    pub fn dot(&self, i: usize, embedding: &[f32]) -> f32 {
        match self {
            Map::Dense(map) => dot(map.row(i), embedding),
            Map::Sparse(map) => {
                map.row(i).iter().map(|(column, value)| value * embedding[column as usize]).sum()
            }
        }
    }

    /// Adds `factor` times the embedding of feature `i` to `sum`.
    pub fn add_to(&self, i: usize, factor: f32, sum: &mut [f32]) {
        match self {
            Map::Dense(map) => {
                sum.iter_mut().zip(map.row(i)).for_each(|(sum, &entry)| *sum += factor * entry);
            }
            Map::Sparse(map) => {
                map.row(i)
                    .iter()
                    .for_each(|(column, value)| sum[column as usize] += factor * value);
            }
        }
    }

    /// The embeddings of sparse rows of features.
    pub fn embeddings(&self, rows: &Csr) -> Dense {
        let mut embeddings = Dense::zeros(rows.n_rows(), self.n_cols());
        self.embeddings_into(rows, &mut embeddings);
        embeddings
    }

    /// The same, in a scratch file in `folder` if given.
    pub fn embeddings_in(&self, rows: &Csr, folder: Option<&Path>) -> Result<Dense> {
        let mut embeddings = Dense::placed(rows.n_rows(), self.n_cols(), folder)?;
        self.embeddings_into(rows, &mut embeddings);
        Ok(embeddings)
    }

    fn embeddings_into(&self, rows: &Csr, embeddings: &mut Dense) {
        embeddings
            .rows_mut()
            .enumerate()
            .for_each(|(i, embedding)| self.embed(rows.row(i), embedding));
    }

    /// Writes the embedding of a sparse row of features to `embedding`.
    pub fn embed(&self, row: Row<'_>, embedding: &mut [f32]) {
        match self {
            Map::Dense(map) => row_times_block(row, map.block(0..map.n_cols()), embedding),
            Map::Sparse(_) => {
                embedding.fill(0.0);
                row.iter().for_each(|(v, y)| self.add_to(v as usize, y, embedding));
            }
        }
    }

    /// The map as panels, for a trainer that starts from it.
    pub fn into_panels(self) -> Result<Panels> {
        match self {
            Map::Dense(map) => Panels::from_dense(&map),
            Map::Sparse(map) => Panels::from_csr(&map),
        }
    }

    /// The map with its zeros.
    pub fn into_dense(self) -> Dense {
        match self {
            Map::Dense(map) => map,
            Map::Sparse(_) => {
                let mut dense = Dense::zeros(self.n_rows(), self.n_cols());
                (0..self.n_rows()).for_each(|i| dense.row_mut(i).copy_from_slice(&self.row(i)));
                dense
            }
        }
    }

    /// The same map with `n` more features whose embeddings are zero.
    pub fn with_zero_rows(self, n: usize) -> Result<Self> {
        Ok(match self {
            Map::Dense(map) => {
                let (n_rows, n_cols) = (map.n_rows() + n, map.n_cols());
                let mut values = map.into_values();
                values.resize(n_rows * n_cols, 0.0);
                Map::Dense(Dense::from_values(n_rows, n_cols, values))
            }
            Map::Sparse(map) => {
                let mut starts = map.starts().to_vec();
                starts.resize(starts.len() + n, map.nnz() as u64);
                let (indices, values) = (map.indices().to_vec(), map.values().to_vec());
                Map::Sparse(Csr::new(map.n_cols(), starts, indices, values)?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{Naive, full_csr, random_csr};

    #[test]
    fn sparse_and_dense_maps_say_the_same() {
        let sparse = Map::Sparse(random_csr(40, 9, 3, 1));
        let Map::Sparse(csr) = &sparse else { unreachable!() };
        let dense = Map::Dense(Dense::from_fn(40, 9, |i, j| csr.row(i).get(j as u32)));
        let embedding: Vec<f32> = (0..9).map(|k| k as f32 - 4.0).collect();
        let (mut a, mut b) = (vec![1.0; 9], vec![1.0; 9]);
        for i in 0..40 {
            assert_eq!(sparse.row(i), dense.row(i));
            assert!((sparse.dot(i, &embedding) - dense.dot(i, &embedding)).abs() < 1e-5);
            sparse.add_to(i, 0.5, &mut a);
            dense.add_to(i, 0.5, &mut b);
        }
        assert_eq!(a, b);
        assert_eq!(sparse.filled(), dense.filled());
        let rows = random_csr(7, 40, 5, 2);
        Naive::of_dense(&dense.embeddings(&rows)).assert_close(&sparse.embeddings(&rows), 1e-5);
        let folder = tempfile::tempdir().unwrap();
        for map in [&sparse, &dense] {
            let embeddings = map.embeddings_in(&rows, Some(folder.path())).unwrap();
            assert!(embeddings.is_on_disk());
            assert_eq!(embeddings, map.embeddings(&rows));
            let panels = map.clone().into_panels().unwrap();
            assert_eq!(panels.to_dense().unwrap(), map.clone().into_dense());
        }
        let (sparse, dense) = (sparse.with_zero_rows(3).unwrap(), dense.with_zero_rows(3).unwrap());
        assert_eq!((sparse.n_rows(), dense.n_rows()), (43, 43));
        assert_eq!(sparse.row(42), dense.row(42));
    }

    #[test]
    fn a_map_is_sparse_where_less_than_half_is_left() {
        let full = Dense::gaussian(30, 8, 1);
        let panels = Panels::from_dense(&full).unwrap();
        assert_eq!(Map::of(&panels, None).unwrap(), Map::Dense(full));
        let drawn = Panels::random(30, 8, 1, 1.0);
        assert_eq!(Map::of(&drawn, None).unwrap(), Map::Dense(drawn.to_dense().unwrap()));
        let few = full_csr(&Naive::from_fn(30, 8, |i, j| f64::from(u8::from(i % 8 == j))));
        let few = Dense::from_fn(30, 8, |i, j| few.row(i).get(j as u32));
        let panels = Panels::from_dense(&few).unwrap();
        let Map::Sparse(map) = Map::of(&panels, None).unwrap() else { panic!("it is dense") };
        assert_eq!(map.nnz(), 30);
    }
}
