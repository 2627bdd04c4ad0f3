//! One scan of `/proc` for everybody who needs one at the moment, away from the runtime's threads.

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sessiond_core::{TaskKind, Tasks};
use tokio::sync::oneshot;

use crate::procs::Snapshot;

/// Scans as long as somebody waits for a scan.
const SCAN: TaskKind = TaskKind("pty scan");

/// For a listing and a file in it, or for a process and a file about it.
const DESCRIPTORS: usize = 2;

type Job = Box<dyn FnOnce(&Snapshot) + Send>;

/// The scans of one backend: at most one runs at a time, and it serves all who asked before it began.
pub(crate) struct Scans {
    tasks: Tasks,
    queue: Arc<Mutex<Queue>>,
}

struct Queue {
    waiting: Vec<Job>,
    /// So many descriptors does a scan hold at once. They are kept for it, so that things can be stopped when there
    /// is no other left.
    reserve: Option<[File; DESCRIPTORS]>,
    /// Whether somebody will take what waits.
    served: bool,
}

impl Scans {
    pub(crate) fn new(tasks: Tasks) -> Self {
        let queue = Queue { waiting: Vec::new(), reserve: reserve().ok(), served: false };
        Self { tasks, queue: Arc::new(Mutex::new(queue)) }
    }

    /// Runs `job` over a snapshot that was begun after this call. Nothing when the job could not be run to its end.
    pub(crate) async fn look<T: Send + 'static>(&self, job: impl FnOnce(&Snapshot) -> T + Send + 'static) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        let job = Box::new(move |snapshot: &Snapshot| {
            // Whoever asked may have gone meanwhile.
            let _ = answer.send(job(snapshot));
        });
        let served = {
            let mut queue = lock(&self.queue);
            queue.waiting.push(job);
            std::mem::replace(&mut queue.served, true)
        };
        if !served {
            let serving = Serving { queue: self.queue.clone(), done: false };
            self.tasks.spawn_blocking(SCAN, move || serving.run());
        }
        answered.await.ok()
    }
}

/// Whoever serves the queue. If it never ran, because the runtime ends, those who wait are told so and the next to come
/// is served anew.
struct Serving {
    queue: Arc<Mutex<Queue>>,
    /// Nobody waited any more; somebody else may serve the queue by now.
    done: bool,
}

impl Serving {
    fn run(mut self) {
        while let Some(jobs) = self.next() {
            // A panic fails those who asked for this scan, and nobody after them.
            let _ = catch_unwind(AssertUnwindSafe(|| {
                let snapshot = Snapshot::take();
                for job in jobs {
                    job(&snapshot);
                }
            }));
        }
    }

    fn next(&mut self) -> Option<Vec<Job>> {
        let mut queue = lock(&self.queue);
        if queue.waiting.is_empty() {
            queue.rest();
            self.done = true;
            return None;
        }
        queue.reserve = None;
        Some(std::mem::take(&mut queue.waiting))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if !self.done {
            lock(&self.queue).rest();
        }
    }
}

impl Queue {
    /// Nobody serves it any more. Dropping a job tells whoever waits for it.
    fn rest(&mut self) {
        self.waiting.clear();
        self.served = false;
        self.reserve = reserve().ok();
    }
}

fn reserve() -> io::Result<[File; DESCRIPTORS]> {
    Ok([File::open("/dev/null")?, File::open("/dev/null")?])
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_look_that_panics_fails_alone() {
        let scans = Scans::new(Tasks::new());
        assert_eq!(scans.look(|_| panic!("a fault in a look")).await, None::<()>);
        assert_eq!(scans.look(|_| 1).await, Some(1));
    }

    #[test]
    fn a_look_that_never_began_keeps_nobody_waiting() {
        let runtime = || tokio::runtime::Builder::new_current_thread().build().unwrap();
        let scans = Scans::new(Tasks::new());
        let serving = Serving { queue: scans.queue.clone(), done: false };
        lock(&scans.queue).served = true;
        let looking = scans.look(|_| 1);
        runtime().block_on(async {
            tokio::pin!(looking);
            assert!(polled(looking.as_mut()).await.is_pending());
            drop(serving);
            assert_eq!(looking.await, None);
        });
        assert_eq!(runtime().block_on(scans.look(|_| 2)), Some(2));
    }

    async fn polled<F: Future>(mut future: std::pin::Pin<&mut F>) -> std::task::Poll<F::Output> {
        std::future::poll_fn(|cx| std::task::Poll::Ready(future.as_mut().poll(cx))).await
    }
}
