//! Everything that touches our own files: folders with a manifest, written under a temporary
//! name and renamed, checked on opening; tensors as safetensors; text as JSON lines.

mod folder;
mod lines;
mod single;
mod tensors;

pub use folder::{Folder, FolderKind, Manifest, NewFolder, checksum, create_parent};
pub use lines::{LineTable, LineTableWriter};
pub use single::NewFile;
pub use tensors::{Tensors, TensorsWriter};
