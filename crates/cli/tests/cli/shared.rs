//! What many tests read and none writes to: a small log as raw files and as a dataset, and
//! three models trained on it.

use std::sync::{Mutex, OnceLock};

use crate::place::Place;

static SHARED: OnceLock<Place> = OnceLock::new();

/// The folder with `raw`, `data`, `queries.tsv`, and the models `bm25`, `rmls` and `mix` (rmls+bm25),
/// and the runs `bm25.trec` and `rmls.trec`.
pub fn shared() -> &'static Place {
    SHARED.get_or_init(|| {
        remove_at_exit(&SHARED);
        let place = Place::new();
        place.run("synth demo --scale 0.2 --raw -o raw").silent();
        place.run("synth demo --scale 0.2 -o data").silent();
        place.file("queries.tsv", "q1\theart attack\nq2\tcheap flights\n");
        place.run("train bm25 data -o bm25").silent();
        place.run("train rmls data -o rmls --dim 40").fine();
        place.run("train rmls+bm25 data -o mix --dim 40").fine();
        place.run("run bm25 --queries queries.tsv -o bm25.trec").fine();
        place.run("run rmls --queries queries.tsv -o rmls.trec").fine();
        place
    })
}

/// The path of something in the shared folder, for a command that runs elsewhere.
pub fn at(name: &str) -> String {
    shared().path(name).to_str().unwrap().to_owned()
}

/// Folders that go when the tests end.
static KEPT: Mutex<Vec<&OnceLock<Place>>> = Mutex::new(Vec::new());

/// A static is never dropped, so its folder goes when the tests end.
pub fn remove_at_exit(place: &'static OnceLock<Place>) {
    let mut kept = KEPT.lock().unwrap();
    #[cfg(unix)]
    if kept.is_empty() {
        // SAFETY: the function takes no argument and does not unwind.
        unsafe {
            libc::atexit(clean_up);
        }
    }
    kept.push(place);
}

#[cfg(unix)]
extern "C" fn clean_up() {
    let Ok(kept) = KEPT.lock() else { return };
    for place in kept.iter().filter_map(|place| place.get()) {
        let _ = std::fs::remove_dir_all(place.path(""));
    }
}
