//! liken's own files: folders with a manifest, written under a temporary name, renamed, and
//! verified on opening; matrices as safetensors; text as JSON lines.

mod folder;
mod lines;
mod output;
mod parquet;
mod single;
mod sort;
mod staged;
mod tensors;

pub use folder::{Folder, FolderKind, Manifest, NewFolder, checksum};
pub use lines::{LineTable, LineTableWriter};
pub use output::Output;
pub use parquet::{ParquetKind, ParquetTable};
pub use single::NewFile;
pub use sort::{Sorted, Sorter};
pub use staged::StagedFolder;
pub use tensors::{ArrayFile, header as tensors_header, join_arrays};
pub use tensors::{Tensors, TensorsWriter};
