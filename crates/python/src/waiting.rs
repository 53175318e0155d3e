//! Executes work that calls Python on another thread, and polls for signals meanwhile.
//! Only the main thread can handle signals.

use crate::trouble::Trouble;
use pyo3::prelude::*;
use rayon::{ThreadBuilder, ThreadPoolBuilder};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Polling interval for signals.
const EVERY: Duration = Duration::from_millis(20);
/// The number of polls after which a controller that was told to stop is abandoned.
const PATIENCE: u32 = 50;

/// Executes this work on its own thread.
/// Ctrl-C is stored as its trouble, and the work must then end. `None` if a call of a controller hangs, for example in a sleep; its thread
/// is abandoned.
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

/// Executes this work on a thread that stays attached to the interpreter.
/// Otherwise each call of Python would create and free a thread state, which is half of the time of a short call.
fn known_to_python<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    Python::attach(|py| py.detach(work))
}

/// Executes this work in a pool of `threads` threads attached to the interpreter.
/// 0 threads means one per core. All have ended when it returns: a thread that frees its state during interpreter shutdown would be killed.
pub fn in_pool(threads: usize, work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let spawn = |thread: ThreadBuilder| std::thread::Builder::new().spawn_scoped(scope, || known_to_python(|| thread.run())).map(drop);
        match ThreadPoolBuilder::new().num_threads(threads).spawn_handler(spawn).build() {
            Ok(pool) => pool.install(work),
            Err(_) => work(),
        }
    });
}

/// Whether the user pressed Ctrl-C. If so, stores the error, which is raised after the run.
pub fn interrupted(trouble: &Trouble) -> bool {
    Python::attach(|py| match py.check_signals() {
        Ok(()) => false,
        Err(error) => {
            trouble.set(error);
            true
        }
    })
}
