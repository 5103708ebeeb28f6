//! The job queue: jobs of all kinds run a few at a time; a bounded number waits, and further ones
//! are refused.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use super::locked;
use crate::problem::Problem;

/// Jobs that run at a time: one that takes minutes must not delay a quick one, and searches need a
/// core.
pub const AT_ONCE: usize = 2;
/// The most jobs that wait: more than a page asks for, fewer than could fill the memory.
pub const WAITING: usize = 64;

/// A queue of jobs; copies share it.
#[derive(Clone, Default)]
pub struct JobQueue(Arc<Mutex<Queued>>);

#[derive(Default)]
struct Queued {
    waiting: VecDeque<Task>,
    threads: usize,
}

/// A task must not panic.
type Task = Box<dyn FnOnce() + Send>;

impl JobQueue {
    /// Runs `task` as soon as a thread of the queue is free.
    pub(super) fn submit(&self, task: Task) -> Result<(), Problem> {
        let mut queue = locked(&self.0);
        if queue.threads == AT_ONCE {
            if queue.waiting.len() >= WAITING {
                return Err(Problem::unavailable(format!(
                    "{WAITING} jobs are queued, the most that may: try again in a minute"
                )));
            }
            queue.waiting.push_back(task);
            return Ok(());
        }
        let ours = self.clone();
        let spawned =
            std::thread::Builder::new().name("pages".into()).spawn(move || ours.work(task));
        spawned.map_err(|error| Problem::unavailable(format!("cannot start a thread: {error}")))?;
        queue.threads += 1;
        Ok(())
    }

    /// Runs `task`, then waiting ones until there are none.
    fn work(&self, task: Task) {
        let mut next = Some(task);
        while let Some(task) = next {
            task();
            let mut queue = locked(&self.0);
            next = queue.waiting.pop_front();
            if next.is_none() {
                queue.threads -= 1;
            }
        }
    }
}
