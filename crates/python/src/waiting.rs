//! Work that calls Python: a thread does it, and the caller's thread waits and looks for signals, which only the main thread can handle.

use crate::trouble::Trouble;
use pyo3::prelude::*;
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
        let worker = std::thread::spawn(move || give.send(work()));
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
