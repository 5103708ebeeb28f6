//! Matrices and vectors in one safetensors file, memory-mapped when read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use bytemuck::Pod;
use memmap2::Mmap;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use crate::sparse::Csr;
use crate::{Error, Result};

/// Collects named arrays and writes them as one file.
#[derive(Default)]
pub struct TensorsWriter<'a> {
    tensors: BTreeMap<String, (Dtype, Vec<usize>, &'a [u8])>,
    shapes: BTreeMap<String, Vec<u64>>,
}

impl<'a> TensorsWriter<'a> {
    /// A file without arrays.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an array of numbers with its shape.
    pub fn array<T: Number>(&mut self, name: &str, shape: &[usize], values: &'a [T]) -> &mut Self {
        debug_assert_eq!(shape.iter().product::<usize>(), values.len());
        let entry = (T::DTYPE, shape.to_vec(), bytemuck::cast_slice(values));
        self.tensors.insert(name.to_owned(), entry);
        self
    }

    /// Adds a sparse matrix as three arrays and the number of its columns.
    pub fn csr(&mut self, name: &str, matrix: &'a Csr) -> &mut Self {
        self.array(&format!("{name}.starts"), &[matrix.n_rows() + 1], matrix.starts());
        self.array(&format!("{name}.indices"), &[matrix.nnz()], matrix.indices());
        self.array(&format!("{name}.values"), &[matrix.nnz()], matrix.values());
        self.shapes.insert(format!("{name}.cols"), vec![matrix.n_cols() as u64]);
        self
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// Writes the file.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut views: Vec<(&str, TensorView<'_>)> = Vec::new();
        for (name, (dtype, shape, bytes)) in &self.tensors {
            views.push((name, view(path, *dtype, shape.clone(), bytes)?));
        }
        for (name, number) in &self.shapes {
            views.push((name, view(path, Dtype::U64, vec![1], bytemuck::cast_slice(number))?));
        }
        safetensors::serialize_to_file(views, None, path).map_err(|error| match error {
            safetensors::SafeTensorError::IoError(source) => {
                Error::Io { path: path.to_owned(), doing: "write", source }
            }
            other => Error::damaged(path, other.to_string()),
        })
    }
}

/// What a file begins with whose arrays follow one after the other: the length of the header,
/// and the header. For files that are written piece by piece, because the crate wants every
/// array whole in memory. Those with the widest numbers must come first, so that each is
/// aligned.
pub fn header<'n>(arrays: impl Iterator<Item = (&'n str, Dtype, Vec<usize>)>) -> Vec<u8> {
    let mut about = serde_json::Map::new();
    let mut end = 0;
    for (name, dtype, shape) in arrays {
        let start = end;
        end += shape.iter().product::<usize>() * dtype.bitsize() / 8;
        let array = serde_json::json!({
            "dtype": dtype, "shape": shape, "data_offsets": [start, end],
        });
        about.insert(name.to_owned(), array);
    }
    let mut about = serde_json::Value::Object(about).to_string().into_bytes();
    about.resize(about.len().next_multiple_of(8), b' ');
    let mut header = (about.len() as u64).to_le_bytes().to_vec();
    header.append(&mut about);
    header
}

/// An array whose numbers lie in a file of their own.
pub struct ArrayFile<'a> {
    /// Its name.
    pub name: &'a str,
    /// What the numbers are.
    pub dtype: Dtype,
    /// How many there are.
    pub len: usize,
    /// Where they lie, little-endian.
    pub path: &'a Path,
}

/// Puts arrays that lie in files together as one file at `path`, without holding them in
/// memory, in the order of [`header`].
pub fn join_arrays(path: &Path, arrays: &[ArrayFile<'_>]) -> Result<()> {
    let header = header(arrays.iter().map(|array| (array.name, array.dtype, vec![array.len])));
    let mut file = BufWriter::new(File::create(path).map_err(Error::io("create", path))?);
    file.write_all(&header).map_err(Error::io("write", path))?;
    for array in arrays {
        let mut source = File::open(array.path).map_err(Error::io("read", array.path))?;
        io::copy(&mut source, &mut file).map_err(Error::io("write", path))?;
    }
    file.flush().map_err(Error::io("write", path))
}

fn view<'a>(
    path: &Path,
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: &'a [u8],
) -> Result<TensorView<'a>> {
    TensorView::new(dtype, shape, bytes).map_err(|error| Error::damaged(path, error.to_string()))
}

/// A safetensors file, mapped into memory.
pub struct Tensors {
    path: PathBuf,
    map: Mmap,
}

impl Tensors {
    /// Maps the file at `path` and checks its header.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io("read", path))?;
        // SAFETY: our folders are replaced by rename, never written in place, so the mapped
        // file does not change under us; a file that somebody truncates by hand is outside
        // what any memory-mapping program can defend against.
        let map = unsafe { Mmap::map(&file) }.map_err(Error::io("map", path))?;
        let tensors = Tensors { path: path.to_owned(), map };
        tensors.parse()?;
        Ok(tensors)
    }

    fn parse(&self) -> Result<SafeTensors<'_>> {
        SafeTensors::deserialize(&self.map)
            .map_err(|error| Error::damaged(&self.path, error.to_string()))
    }

    /// The shape and the numbers of the array `name`.
    pub fn array<T: Number>(&self, name: &str) -> Result<(Vec<usize>, Vec<T>)> {
        let file = self.parse()?;
        let tensor = file
            .tensor(name)
            .map_err(|_| Error::damaged(&self.path, format!("no array called {name}")))?;
        if tensor.dtype() != T::DTYPE {
            let problem = format!("{name} holds {:?}, not {:?}", tensor.dtype(), T::DTYPE);
            return Err(Error::damaged(&self.path, problem));
        }
        // The copy also cares for alignment, which the format does not promise.
        let mut values = vec![T::zeroed(); tensor.shape().iter().product()];
        bytemuck::cast_slice_mut(&mut values).copy_from_slice(tensor.data());
        Ok((tensor.shape().to_vec(), values))
    }

    /// Whether the file holds an array called `name`.
    pub fn has(&self, name: &str) -> Result<bool> {
        Ok(self.parse()?.tensor(name).is_ok())
    }

    /// The sparse matrix `name`, checked.
    pub fn csr(&self, name: &str) -> Result<Csr> {
        let (_, starts) = self.array::<u64>(&format!("{name}.starts"))?;
        let (_, indices) = self.array::<u32>(&format!("{name}.indices"))?;
        let (_, values) = self.array::<f32>(&format!("{name}.values"))?;
        let (_, cols) = self.array::<u64>(&format!("{name}.cols"))?;
        let n_cols = cols.first().copied().unwrap_or(0) as usize;
        Csr::new(n_cols, starts, indices, values)
            .map_err(|error| Error::damaged(&self.path, format!("{name}: {error}")))
    }
}

/// The kinds of numbers our files hold.
pub trait Number: Pod {
    /// Its name in the file.
    const DTYPE: Dtype;
}

impl Number for u8 {
    const DTYPE: Dtype = Dtype::U8;
}
impl Number for u32 {
    const DTYPE: Dtype = Dtype::U32;
}
impl Number for u64 {
    const DTYPE: Dtype = Dtype::U64;
}
impl Number for i32 {
    const DTYPE: Dtype = Dtype::I32;
}
impl Number for f32 {
    const DTYPE: Dtype = Dtype::F32;
}
impl Number for f64 {
    const DTYPE: Dtype = Dtype::F64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.safetensors");
        let matrix = Csr::from_triplets(2, 5, vec![(0, 4, 1.5), (1, 0, -2.0)]).unwrap();
        let numbers = [1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0];
        TensorsWriter::new().csr("m", &matrix).array("n", &[2, 3], &numbers).write(&path).unwrap();
        let file = Tensors::open(&path).unwrap();
        assert_eq!(file.csr("m").unwrap(), matrix);
        assert_eq!(file.array::<f64>("n").unwrap(), (vec![2, 3], numbers.to_vec()));
        assert!(matches!(file.array::<u32>("n"), Err(Error::Damaged { .. })));
        assert!(matches!(file.array::<u32>("q"), Err(Error::Damaged { .. })));
    }
}
