//! Memory for weights: zeroed, aligned to cache lines, and on huge pages where the system lends them.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

const CACHE_LINE: usize = 64;
const HUGE_PAGE: usize = 2 << 20;

/// Numbers for which a pattern of zero bits is the number zero.
pub(crate) trait Zeroable: Copy {}
impl Zeroable for f32 {}
impl Zeroable for i8 {}

/// A boxed slice whose first element begins a cache line.
///
/// From two mebibytes on it begins a huge page and asks for such pages: reading weights once per step, as decoding one
/// sentence does, is then limited by memory and no longer by address translation.
pub(crate) struct Buffer<T: Zeroable> {
    start: NonNull<T>,
    len: usize,
}

// SAFETY: the buffer owns its memory and hands out references by the borrow rules only.
unsafe impl<T: Zeroable + Send> Send for Buffer<T> {}
// SAFETY: as above.
unsafe impl<T: Zeroable + Sync> Sync for Buffer<T> {}

impl<T: Zeroable> Buffer<T> {
    /// `len` zeros.
    pub(crate) fn zeroed(len: usize) -> Self {
        let layout = Self::layout(len);
        if layout.size() == 0 {
            return Self { start: NonNull::dangling(), len };
        }
        // SAFETY: the size is not zero.
        let bytes = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(bytes.cast::<T>()) else { handle_alloc_error(layout) };
        ask_for_huge_pages(bytes, layout.size());
        // SAFETY: the allocation has this many bytes, and zero bits are a value of `T`.
        unsafe { bytes.write_bytes(0, layout.size()) };
        Self { start, len }
    }

    fn layout(len: usize) -> Layout {
        let size = len.checked_mul(size_of::<T>()).expect("more elements than memory");
        let align = if size >= HUGE_PAGE { HUGE_PAGE } else { CACHE_LINE };
        Layout::from_size_align(size, align).expect("more elements than memory")
    }
}

#[cfg(target_os = "linux")]
fn ask_for_huge_pages(start: *mut u8, size: usize) {
    if size >= HUGE_PAGE {
        // SAFETY: the range is an allocation of ours that begins a page; the advice changes no contents. Its refusal
        // costs speed only, so the answer is not looked at.
        unsafe { libc::madvise(start.cast(), size, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages(_start: *mut u8, _size: usize) {}

impl<T: Zeroable> Drop for Buffer<T> {
    fn drop(&mut self) {
        let layout = Self::layout(self.len);
        if layout.size() != 0 {
            // SAFETY: allocated in `zeroed` with the same layout.
            unsafe { dealloc(self.start.as_ptr().cast(), layout) };
        }
    }
}

impl<T: Zeroable> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `len` initialised elements lie at `start`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Zeroable> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}
