//! One scan of `/proc` for everybody who needs one at the moment, away from the runtime's threads.

use std::fs::File;
use std::io;
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
            let queue = self.queue.clone();
            self.tasks.spawn_blocking(SCAN, move || serve(&queue));
        }
        answered.await.ok()
    }
}

fn serve(queue: &Mutex<Queue>) {
    loop {
        let jobs = {
            let mut queue = lock(queue);
            if queue.waiting.is_empty() {
                queue.served = false;
                queue.reserve = reserve().ok();
                return;
            }
            queue.reserve = None;
            std::mem::take(&mut queue.waiting)
        };
        let snapshot = Snapshot::take();
        for job in jobs {
            job(&snapshot);
        }
    }
}

fn reserve() -> io::Result<[File; DESCRIPTORS]> {
    Ok([File::open("/dev/null")?, File::open("/dev/null")?])
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}
