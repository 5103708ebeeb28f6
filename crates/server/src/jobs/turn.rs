//! The line in which pieces of work of all kinds stand: a few are done at a time, so many may
//! wait, and who comes after that is told to come back.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use super::locked;
use crate::problem::Problem;

/// Pieces of work done at a time: one that takes minutes must not hold up a quick one, and
/// searches need a core.
pub const AT_ONCE: usize = 2;
/// Pieces of work that may wait: more than a page asks for, fewer than could fill the memory.
pub const WAITING: usize = 64;

/// A line that pieces of work of all kinds stand in.
#[derive(Clone, Default)]
pub struct Turn(Arc<Mutex<Line>>);

#[derive(Default)]
struct Line {
    waiting: VecDeque<Task>,
    threads: usize,
}

/// A piece of work; it does not panic.
type Task = Box<dyn FnOnce() + Send>;

impl Turn {
    /// Does `task` when it is its turn, in a thread of the line.
    pub(super) fn take(&self, task: Task) -> Result<(), Problem> {
        let mut line = locked(&self.0);
        if line.threads == AT_ONCE {
            if line.waiting.len() >= WAITING {
                return Err(Problem::unavailable(format!(
                    "{WAITING} pieces of work wait for their turn already, and no more may: try \
                     again in a minute"
                )));
            }
            line.waiting.push_back(task);
            return Ok(());
        }
        let ours = self.clone();
        let spawned =
            std::thread::Builder::new().name("pages".into()).spawn(move || ours.work(task));
        spawned.map_err(|error| Problem::unavailable(format!("cannot start a thread: {error}")))?;
        line.threads += 1;
        Ok(())
    }

    /// Does `task` and whatever waits after it.
    fn work(&self, task: Task) {
        let mut next = Some(task);
        while let Some(task) = next {
            task();
            let mut line = locked(&self.0);
            next = line.waiting.pop_front();
            if next.is_none() {
                line.threads -= 1;
            }
        }
    }
}
