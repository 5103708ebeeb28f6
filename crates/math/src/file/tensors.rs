//! Named arrays in a safetensors file, memory-mapped for reading.

use std::borrow::Cow;
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

/// Type, shape and bytes of an array.
type Array<'a> = (Dtype, Vec<usize>, Cow<'a, [u8]>);

/// Collects named arrays and writes them as one file.
#[derive(Default)]
pub struct TensorsWriter<'a> {
    tensors: BTreeMap<String, Array<'a>>,
}

impl<'a> TensorsWriter<'a> {
    /// A file without arrays.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an array of numbers with its shape.
    pub fn array<T: Number>(&mut self, name: &str, shape: &[usize], values: &'a [T]) -> &mut Self {
        debug_assert_eq!(shape.iter().product::<usize>(), values.len());
        let entry = (T::DTYPE, shape.to_vec(), bytemuck::cast_slice(values).into());
        self.tensors.insert(name.to_owned(), entry);
        self
    }

    /// Adds a sparse matrix as three arrays and the number of its columns.
    pub fn csr(&mut self, name: &str, matrix: &'a Csr) -> &mut Self {
        self.array(&format!("{name}.starts"), &[matrix.n_rows() + 1], matrix.starts());
        self.array(&format!("{name}.indices"), &[matrix.nnz()], matrix.indices());
        self.array(&format!("{name}.values"), &[matrix.nnz()], matrix.values());
        let n_cols = bytemuck::bytes_of(&(matrix.n_cols() as u64)).to_vec();
        self.tensors.insert(format!("{name}.cols"), (Dtype::U64, vec![1], n_cols.into()));
        self
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// Writes the file.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut views = Vec::with_capacity(self.tensors.len());
        for (name, (dtype, shape, bytes)) in &self.tensors {
            let view = TensorView::new(*dtype, shape.clone(), bytes);
            views.push((name, view.map_err(|error| Error::damaged(path, error.to_string()))?));
        }
        safetensors::serialize_to_file(views, None, path).map_err(|error| match error {
            safetensors::SafeTensorError::IoError(source) => Error::io("write", path)(source),
            other => Error::damaged(path, other.to_string()),
        })
    }
}

/// The length and the header of a file whose arrays follow in this order. For files written in
/// parts: the crate needs every array in memory. Arrays of the widest numbers must come first, so
/// that each is aligned.
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

/// An array in a file of its own.
pub struct ArrayFile<'a> {
    /// Name of the tensor in the file.
    pub name: &'a str,
    /// The type of its numbers.
    pub dtype: Dtype,
    /// The number of its numbers.
    pub len: usize,
    /// The file that holds them, little-endian.
    pub path: &'a Path,
}

/// Joins arrays from files into one safetensors file at `path`, without holding them in memory. The
/// order is that of [`header`].
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

/// A safetensors file, mapped into memory.
pub struct Tensors {
    path: PathBuf,
    map: Mmap,
}

impl Tensors {
    /// Maps the file at `path` and checks its header.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io("read", path))?;
        // SAFETY: liken replaces its folders by rename and never writes in place, so the mapped
        // file does not change. No program that maps files can protect itself against somebody
        // truncating one by hand.
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
        // The copy is aligned; the format does not guarantee that.
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

/// The types of numbers in tensor files.
pub trait Number: Pod {
    /// The type in the file.
    const DTYPE: Dtype;
}

macro_rules! numbers {
    ($($number:ty: $dtype:ident),*) => {
        $(impl Number for $number {
            const DTYPE: Dtype = Dtype::$dtype;
        })*
    };
}
numbers!(u8: U8, u32: U32, u64: U64, i32: I32, f32: F32, f64: F64);

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
