//! Strings of the interface, and the last error.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

/// A string for C. Bytes after a NUL are left out.
fn string(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

/// Stores the reason of a failure.
pub(crate) fn fail(reason: &str) {
    ERROR.set(string(reason));
}

/// Stores the error of a result and returns its value.
pub(crate) fn or_fail<T, E: std::fmt::Display>(result: Result<T, E>) -> Option<T> {
    result.map_err(|error| fail(&error.to_string())).ok()
}

/// A text that the caller frees with [`sojourn_string_free`].
pub(crate) fn owned(text: &str) -> *mut c_char {
    string(text).into_raw()
}

/// Reads a string of the caller; `None` and an error if it is NULL or not UTF-8.
///
/// # Safety
/// `text` is NULL or ends with a NUL, and stays valid for `'a`.
pub(crate) unsafe fn read<'a>(text: *const c_char, name: &str) -> Option<&'a str> {
    if text.is_null() {
        fail(&format!("{name}: expected a string, got NULL"));
        return None;
    }
    // SAFETY: the caller upholds it.
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    text.map_err(|error| fail(&format!("{name}: expected UTF-8, got a byte that is not, after {}", error.valid_up_to()))).ok()
}

/// Returns the reason of the last failure in this thread: one line, valid until the next failure.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_error() -> *const c_char {
    ERROR.with_borrow(|error| error.as_ptr())
}

/// Frees a string that this library has returned. NULL is a no-op.
///
/// # Safety
/// `text` is NULL or was returned by a function of this library, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_string_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: it was made by `owned`.
        drop(unsafe { CString::from_raw(text) });
    }
}
