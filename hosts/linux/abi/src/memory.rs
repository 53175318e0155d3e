//! The kernel's memory, and its stop on a fatal error.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;
use core::fmt::{self, Write};
use core::mem::MaybeUninit;
use core::panic::PanicInfo;

unsafe extern "C" {
    /// Returns memory of this size, or null.
    /// Stops the kernel if the memory is not aligned to `align` bytes.
    safe fn sojourn_alloc(size: usize, align: usize) -> *mut c_void;
    fn sojourn_free(memory: *mut c_void);
    fn sojourn_panic(text: *const u8, length: usize) -> !;
}

/// The allocator that uses the kernel's memory.
struct KernelMemory;

/// The alignment of all memory of the kernel (`ARCH_KMALLOC_MINALIGN`; main.c checks it).
const ALIGNED: usize = 8;
const PAGE: usize = 4096;

// SAFETY: `alloc` returns null, or memory with at least the layout's size and alignment, as its comment and the check in C state. The
// memory
// belongs to the caller until `dealloc` returns it to the same allocator.
unsafe impl GlobalAlloc for KernelMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > PAGE {
            return core::ptr::null_mut();
        }
        // The kernel aligns a size that is a power of two to itself, up to a page, also with slab debugging
        // (Documentation/core-api/memory-allocation.rst). Other sizes have the minimum alignment.
        let size = if layout.align() > ALIGNED { layout.size().max(layout.align()).next_power_of_two() } else { layout.size() };
        sojourn_alloc(size, layout.align()).cast()
    }

    unsafe fn dealloc(&self, memory: *mut u8, _layout: Layout) {
        // SAFETY: the caller promises that `alloc` returned this memory and that nothing uses it anymore.
        unsafe { sojourn_free(memory.cast()) }
    }
}

#[global_allocator]
static MEMORY: KernelMemory = KernelMemory;

/// Stops the kernel and writes the reason to its file `error`.
pub fn give_up(text: &str) -> ! {
    // SAFETY: C reads this many bytes of the text, which exists until the kernel ends.
    unsafe { sojourn_panic(text.as_ptr(), text.len()) }
}

/// A text of a fixed size, because there may be no memory when the kernel stops.
/// Longer text is cut off.
struct Text {
    bytes: [u8; 256],
    length: usize,
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for (to, &from) in self.bytes[self.length..].iter_mut().zip(text.as_bytes()) {
            *to = from;
            self.length += 1;
        }
        Ok(())
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let mut text = Text { bytes: [0; 256], length: 0 };
    let _ = write!(text, "{info}");
    // SAFETY: C reads the initialized bytes, which exist until the kernel ends.
    unsafe { sojourn_panic(text.bytes.as_ptr(), text.length) }
}

/// Copies a text into a buffer of C, truncated to its size, with a terminating zero.
/// Nothing is written if the buffer is empty.
pub fn copy(text: &str, to: &mut [MaybeUninit<u8>]) {
    let Some(room) = to.len().checked_sub(1) else { return };
    let bytes = text.bytes().take(room).chain([0]);
    for (to, from) in to.iter_mut().zip(bytes) {
        to.write(from);
    }
}
