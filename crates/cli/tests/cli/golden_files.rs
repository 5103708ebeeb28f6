//! Files that hold what was computed when they were written, and what is computed now beside them.
//!
//! The last bits of a float depend on the processor (which vector instructions factorisations use)
//! and on the C library (`exp`, `ln`), so a folder of files names the kind of machine that wrote it.
//! On the same kind every character counts. Elsewhere checksums are passed over and numbers may
//! differ by a thousandth.

use std::fs;
use std::path::{Path, PathBuf};

/// The file that names the kind of machine.
const MACHINE: &str = "machine.txt";
/// Differing lines of a file that are shown.
const SHOWN: usize = 5;
/// By how much numbers of another machine may differ, as a share.
const TOLERANCE: f64 = 1e-3;
/// What words begin with that only count on the same kind of machine.
pub const CHECKSUM: &str = "sha256:";

/// What this machine computes floats with.
pub fn machine() -> String {
    let mut words = vec![std::env::consts::ARCH.to_owned()];
    #[cfg(target_arch = "x86_64")]
    for (name, is_there) in [
        ("avx2", std::arch::is_x86_feature_detected!("avx2")),
        ("avx512f", std::arch::is_x86_feature_detected!("avx512f")),
        ("fma", std::arch::is_x86_feature_detected!("fma")),
    ] {
        if is_there {
            words.push(name.to_owned());
        }
    }
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: the C library returns a constant string that ends with a zero.
        let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
        words.push(format!("glibc {}", version.to_str().unwrap()));
    }
    words.join(" ")
}

/// Whether the files in `folder` were written on this kind of machine.
pub fn is_from_here(folder: &Path) -> bool {
    fs::read_to_string(folder.join(MACHINE)).is_ok_and(|written| written.trim() == machine())
}

/// The lines in which two texts differ, for people; `None` if they say the same.
pub fn difference(expected: &str, found: &str, exact: bool) -> Option<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    let n_lines = old.len().max(new.len());
    let differing: Vec<usize> = (0..n_lines)
        .filter(|&i| match (old.get(i), new.get(i)) {
            (Some(old), Some(new)) => old != new && (exact || !is_close(old, new)),
            _ => true,
        })
        .collect();
    if differing.is_empty() {
        return None;
    }
    let mut text = String::new();
    for &i in differing.iter().take(SHOWN) {
        text.push_str(&format!("  line {}\n", i + 1));
        for (sign, line) in [('-', old.get(i)), ('+', new.get(i))] {
            let line = line.unwrap_or(&"(no such line)");
            text.push_str(&format!("    {sign} {line}\n"));
        }
    }
    if differing.len() > SHOWN {
        text.push_str(&format!("  and {} more lines\n", differing.len() - SHOWN));
    }
    Some(text)
}

/// Whether two lines say the same but for the last digits of numbers.
fn is_close(old: &str, new: &str) -> bool {
    let words = |line: &str| -> Vec<String> {
        let separates = |c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']' | '=');
        line.split(separates).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let (old, new) = (words(old), words(new));
    old.len() == new.len()
        && old.iter().zip(&new).all(|(old, new)| match (old.parse::<f64>(), new.parse::<f64>()) {
            (Ok(a), Ok(b)) => (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()).max(TOLERANCE),
            _ => old == new || (old.starts_with(CHECKSUM) && new.starts_with(CHECKSUM)),
        })
}

/// A folder of golden files, and what is wrong with it so far.
pub struct Goldens {
    folder: PathBuf,
    updates: bool,
    exact: bool,
    seen: Vec<String>,
    problems: String,
}

impl Goldens {
    /// The files in the folder `name` of the golden files. All of them are to be checked.
    #[allow(clippy::disallowed_methods, reason = "files of the repository, written on request")]
    pub fn new(name: &str) -> Self {
        let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens");
        let updates = std::env::var_os("LIKEN_UPDATE_GOLDENS").is_some_and(|value| value == "1");
        if updates {
            fs::create_dir_all(all.join(name)).unwrap();
            fs::write(all.join(MACHINE), machine() + "\n").unwrap();
        }
        Goldens {
            exact: is_from_here(&all),
            folder: all.join(name),
            updates,
            seen: Vec::new(),
            problems: String::new(),
        }
    }

    /// Compares what is computed now with the file `name`.
    #[allow(clippy::disallowed_methods, reason = "files of the repository, written on request")]
    pub fn check(&mut self, name: &str, found: &str) {
        self.seen.push(name.to_owned());
        let path = self.folder.join(name);
        if self.updates {
            return fs::write(path, found).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        if let Some(lines) = difference(&expected, found, self.exact) {
            self.problems.push_str(&format!("{}:\n{lines}", path.display()));
        }
    }

    /// Panics with all differences, and says what to do.
    #[track_caller]
    pub fn finish(mut self) {
        for entry in fs::read_dir(&self.folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if !self.seen.iter().any(|seen| seen == name) {
                if self.updates {
                    fs::remove_file(&path).unwrap();
                } else {
                    self.problems.push_str(&format!("{}: nothing makes it\n", path.display()));
                }
            }
        }
        assert!(
            self.problems.is_empty(),
            "what is computed is not what it was (- before, + now):\n{}\nIf that is meant, \
             LIKEN_UPDATE_GOLDENS=1 cargo test --release -p liken-cli --features liken-cli/parquet \
             --test cli goldens\nwrites these files anew; the reason belongs into CHANGELOG.md.",
            self.problems
        );
    }
}

#[test]
fn other_machines_may_differ_in_last_digits_alone() {
    let line = "pls l_x F32 [6145, 64] norm=1.25e1 sha256:ab";
    for (other, exact, close) in [
        ("pls l_x F32 [6145, 64] norm=1.25e1 sha256:ab", true, true),
        ("pls l_x F32 [6145, 64] norm=1.2501e1 sha256:cd", false, true),
        ("pls l_x F32 [6145, 64] norm=1.26e1 sha256:ab", false, false),
        ("pls l_y F32 [6145, 64] norm=1.25e1 sha256:ab", false, false),
        ("", false, false),
    ] {
        assert_eq!(difference(line, other, true).is_none(), exact, "{other}");
        assert_eq!(difference(line, other, false).is_none(), close, "{other}");
    }
    let shown = difference("a\nb\nc\n", "a\nx\n", true).unwrap();
    assert_eq!(shown, "  line 2\n    - b\n    + x\n  line 3\n    - c\n    + (no such line)\n");
}
