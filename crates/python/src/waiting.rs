//! Work that calls Python: a thread does it, and the caller's thread waits and looks for signals, which only the main thread can handle.

use crate::trouble::Trouble;
use pyo3::prelude::*;
use rayon::{ThreadBuilder, ThreadPoolBuilder};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often the caller's thread looks for signals.
const EVERY: Duration = Duration::from_millis(20);
/// So often it looks after a controller was told to end, before it waits no longer.
const PATIENCE: u32 = 50;

/// Does this work on a thread of its own. Ctrl-C becomes its trouble; the work is to end then. `None` where a controller does not return from a
/// call, as from a sleep: its thread is left alone.
pub fn waited<T: Send + 'static>(py: Python<'_>, trouble: &Trouble, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    py.detach(|| {
        let (give, take) = channel();
        let worker = std::thread::spawn(move || give.send(known_to_python(work)));
        let mut patience = PATIENCE;
        while patience > 0 {
            match take.recv_timeout(EVERY) {
                Ok(done) => return Some(done),
                Err(RecvTimeoutError::Disconnected) => {
                    let Err(panic) = worker.join() else { unreachable!("a worker that ends without a panic has sent what it did") };
                    std::panic::resume_unwind(panic)
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            interrupted(trouble);
            patience -= u32::from(trouble.hangs());
        }
        None
    })
}

/// Does this work on a thread that the interpreter knows meanwhile. Else it would make a state of the thread for each call of Python and give it
/// back after it, with its memory: half of the time of a short call.
fn known_to_python<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    Python::attach(|py| py.detach(work))
}

/// Does this work in a pool of `threads` threads (0: one per core) that the interpreter knows. They have ended when it returns: a thread that gives its
/// state back while the interpreter ends would be killed.
pub fn in_pool(threads: usize, work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let spawn = |thread: ThreadBuilder| std::thread::Builder::new().spawn_scoped(scope, || known_to_python(|| thread.run())).map(drop);
        match ThreadPoolBuilder::new().num_threads(threads).spawn_handler(spawn).build() {
            Ok(pool) => pool.install(work),
            Err(_) => work(),
        }
    });
}

/// Whether the user pressed Ctrl-C. If so, the error is stored, to be raised after the run.
pub fn interrupted(trouble: &Trouble) -> bool {
    Python::attach(|py| match py.check_signals() {
        Ok(()) => false,
        Err(error) => {
            trouble.set(error);
            true
        }
    })
}
