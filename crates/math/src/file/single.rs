//! A single file that appears whole or not at all.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::staged::{create_parent, make_readable};
use crate::{Error, Result};

/// A file being written under a temporary name beside its place. Dropped without
/// [`NewFile::commit`], it leaves nothing behind.
pub struct NewFile {
    target: PathBuf,
    temporary: NamedTempFile,
}

impl NewFile {
    /// Refuses a `target` that cannot be written, so that no work is done in vain: what is there
    /// already unless `force`, and always what is no file.
    pub fn check(target: &Path, force: bool) -> Result<()> {
        place(target)?;
        if !force && target.symlink_metadata().is_ok() {
            return Err(Error::Exists { path: target.to_owned() });
        }
        Ok(())
    }

    /// Starts a file that will appear at `target`, replacing what is there. A symbolic link
    /// stays: what it points at is replaced.
    pub fn create(target: &Path) -> Result<Self> {
        let target = place(target)?;
        let parent = create_parent(&target)?;
        let temporary = tempfile::Builder::new()
            .prefix(".liken-")
            .tempfile_in(&parent)
            .map_err(Error::io("write", &parent))?;
        Ok(NewFile { target, temporary })
    }

    /// A handle to write to.
    pub fn writer(&self) -> Result<File> {
        self.temporary.reopen().map_err(Error::io("write", &self.target))
    }

    /// Gives the file its name.
    pub fn commit(self) -> Result<()> {
        self.temporary.as_file().sync_all().map_err(Error::io("write", &self.target))?;
        make_readable(self.temporary.path())?;
        let target = self.target;
        self.temporary.persist(&target).map_err(|error| Error::Io {
            path: target,
            doing: "create",
            source: error.error,
        })?;
        Ok(())
    }
}

/// Links followed one after another before they are taken for a circle.
const MOST_LINKS: usize = 40;

/// Where a file called `target` lies: the end of its links. A folder, a device, a pipe or a
/// socket is refused, since a new file would take its place.
fn place(target: &Path) -> Result<PathBuf> {
    let mut place = target.to_owned();
    for _ in 0..MOST_LINKS {
        // What is wrong with a place where nothing is shows when something is written there.
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
        problem: "is a link that leads in a circle".into(),
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
        // One that points at nothing is there nevertheless.
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
