//! A single file that appears complete or not at all.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::staged::{create_parent, make_readable};
use crate::{Error, Result};

/// A file written under a temporary name in its folder. If it is dropped before
/// [`NewFile::commit`], nothing is left behind.
pub struct NewFile {
    target: PathBuf,
    temporary: NamedTempFile,
}

impl NewFile {
    /// Fails if `target` cannot be written, so that this shows before the work: if it exists, unless
    /// `force` is set, or is not a file.
    pub fn check(target: &Path, force: bool) -> Result<()> {
        resolve(target)?;
        if !force && target.symlink_metadata().is_ok() {
            return Err(Error::Exists { path: target.to_owned() });
        }
        Ok(())
    }

    /// Starts a file that will replace `target`. A symbolic link is kept: the file that it points to
    /// is replaced.
    pub fn create(target: &Path) -> Result<Self> {
        let target = resolve(target)?;
        let parent = create_parent(&target)?;
        let temporary = tempfile::Builder::new()
            .prefix(".liken-")
            .tempfile_in(&parent)
            .map_err(Error::io("write", &parent))?;
        Ok(NewFile { target, temporary })
    }

    /// A handle to write with.
    pub fn writer(&self) -> Result<File> {
        self.temporary.reopen().map_err(Error::io("write", &self.target))
    }

    /// Renames the file to its target.
    pub fn commit(self) -> Result<()> {
        let NewFile { target, temporary } = self;
        temporary.as_file().sync_all().map_err(Error::io("write", &target))?;
        make_readable(temporary.path())?;
        temporary.persist(&target).map_err(|error| Error::io("create", &target)(error.error))?;
        Ok(())
    }
}

/// Links followed before a loop is assumed.
const MOST_LINKS: usize = 40;

/// The path at the end of the links of `target`. A folder, a device, a pipe or a socket is refused,
/// since a new file would replace it.
fn resolve(target: &Path) -> Result<PathBuf> {
    let mut place = target.to_owned();
    for _ in 0..MOST_LINKS {
        // If nothing is there, an error shows when the file is written.
        let Ok(found) = place.symlink_metadata() else { return Ok(place) };
        let kind = found.file_type();
        if kind.is_file() {
            return Ok(place);
        }
        if !kind.is_symlink() {
            let (problem, advice) = match kind.is_dir() {
                true => ("is a folder, expected a file to write", "name a file in it"),
                false => ("is not a regular file", "use - for standard output"),
            };
            let (problem, advice) = (problem.into(), advice.into());
            return Err(Error::Unusable { path: target.to_owned(), problem, advice });
        }
        let to = fs::read_link(&place).map_err(Error::io("read", &place))?;
        place = place.parent().unwrap_or(Path::new("")).join(to);
    }
    Err(Error::Unusable {
        path: target.to_owned(),
        problem: "is a loop of symbolic links".into(),
        advice: "choose another name".into(),
    })
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn write(target: &Path, text: &str) -> Result<()> {
        let file = NewFile::create(target)?;
        file.writer()?.write_all(text.as_bytes()).unwrap();
        file.commit()
    }

    #[test]
    fn a_link_stays_and_what_it_points_at_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        write(&path("below/real"), "old").unwrap();
        symlink("below/real", path("near")).unwrap();
        symlink(path("near"), path("far")).unwrap();
        assert!(matches!(NewFile::check(&path("far"), false), Err(Error::Exists { .. })));
        NewFile::check(&path("far"), true).unwrap();
        write(&path("far"), "new").unwrap();
        assert!(path("far").is_symlink() && path("near").is_symlink());
        assert_eq!(fs::read_to_string(path("below/real")).unwrap(), "new");
        // A dangling link exists, too.
        symlink("nothing", path("dangling")).unwrap();
        assert!(matches!(NewFile::check(&path("dangling"), false), Err(Error::Exists { .. })));
        write(&path("dangling"), "some").unwrap();
        assert!(path("dangling").is_symlink());
        assert_eq!(fs::read_to_string(path("nothing")).unwrap(), "some");
        symlink("b", path("a")).unwrap();
        symlink("a", path("b")).unwrap();
        assert!(matches!(write(&path("a"), ""), Err(Error::Unusable { .. })));
    }

    #[test]
    fn what_is_no_file_is_never_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        symlink("socket", dir.path().join("link")).unwrap();
        for name in ["socket", "link", "."] {
            let target = dir.path().join(name);
            assert!(matches!(NewFile::check(&target, true), Err(Error::Unusable { .. })));
            assert!(matches!(write(&target, ""), Err(Error::Unusable { .. })));
        }
        assert!(!socket.is_file());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
