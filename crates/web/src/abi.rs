//! The WebAssembly interface.
//! The page writes a question into allocated memory and reads the answer from memory. The interface takes no pointers; `unsafe` only
//! asserts that the exported names are unique.

use crate::{Answer, answer};
use std::sync::{Mutex, MutexGuard};

static QUESTION: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ANSWER: Mutex<Answer> = Mutex::new(Answer { json: String::new(), numbers: Vec::new() });

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(|held| held.into_inner())
}

/// Allocates memory for a question of `bytes` bytes; returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn question(bytes: usize) -> *mut u8 {
    let mut question = lock(&QUESTION);
    *question = vec![0; bytes];
    question.as_mut_ptr()
}

/// Answers the question in memory.
#[unsafe(no_mangle)]
pub extern "C" fn ask() {
    *lock(&ANSWER) = Answer::default();
    let question = std::mem::take(&mut *lock(&QUESTION));
    *lock(&ANSWER) = answer(&String::from_utf8_lossy(&question));
}

/// The address of the answer's text.
#[unsafe(no_mangle)]
pub extern "C" fn text() -> *const u8 {
    lock(&ANSWER).json.as_ptr()
}

/// The number of bytes of the answer's text.
#[unsafe(no_mangle)]
pub extern "C" fn text_bytes() -> usize {
    lock(&ANSWER).json.len()
}

/// The address of the answer's numbers.
#[unsafe(no_mangle)]
pub extern "C" fn numbers() -> *const f64 {
    lock(&ANSWER).numbers.as_ptr()
}

/// The number of the answer's numbers.
#[unsafe(no_mangle)]
pub extern "C" fn numbers_count() -> usize {
    lock(&ANSWER).numbers.len()
}
