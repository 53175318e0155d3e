//! A value that C owns and that only one call at a time may use.

use crate::memory::give_up;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

/// Gives out one reference at a time.
/// A call during another one stops the kernel with a message, whether it comes from the same thread, an interrupt or another CPU.
pub struct Exclusive<T> {
    is_in_use: AtomicBool,
    value: UnsafeCell<T>,
}

impl<T: Send> Exclusive<T> {
    /// Wraps a value that C will own.
    pub fn new(value: T) -> Self {
        Exclusive { is_in_use: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Calls `act` with the value.
    /// `T` is `Send`, because any thread of the kernel may be the next caller.
    pub fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        if self.is_in_use.swap(true, Ordering::Acquire) {
            give_up("expected one call of the network at a time, got another one meanwhile");
        }
        // SAFETY: the flag was not set, so no other call has a reference. A panic stops the kernel, so the flag is set while this reference
        // exists.
        let result = act(unsafe { &mut *self.value.get() });
        self.is_in_use.store(false, Ordering::Release);
        result
    }
}
