//! Large buffers in large pages.
//!
//! A training step walks over gigabytes. With pages of 4 KiB the processor looks up addresses all the time, and each new
//! page costs a trip into the kernel; pages of 2 MiB spare most of both. It is a wish: where the system does not grant it, nothing
//! else changes.

/// Smaller buffers do not fill a large page.
#[cfg(target_os = "linux")]
const LARGE: usize = 4 << 20;

/// `len` zeros, in large pages if they are many.
pub fn zeros(len: usize) -> Vec<f32> {
    // The memory is fresh from the system and untouched: the pages come with the first write, after the wish.
    let zeros = vec![0.0; len];
    wish_for_large_pages(&zeros);
    zeros
}

/// Asks for large pages under a buffer, before it is first written.
#[cfg(target_os = "linux")]
pub(crate) fn wish_for_large_pages<T>(buffer: &[T]) {
    const PAGE: usize = 4096;
    let bytes = size_of_val(buffer);
    if bytes < LARGE {
        return;
    }
    let start = buffer.as_ptr().addr().next_multiple_of(PAGE);
    let end = (buffer.as_ptr().addr() + bytes) / PAGE * PAGE;
    let first = buffer.as_ptr().with_addr(start).cast_mut().cast();
    // SAFETY: the pages lie inside the buffer, and the advice changes neither its content nor who may use it.
    unsafe { libc::madvise(first, end - start, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn wish_for_large_pages<T>(_: &[T]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_buffers_are_zero_and_can_be_written() {
        for len in [0, 1, 1000, 3 << 20] {
            let mut x = zeros(len);
            assert!(x.len() == len && x.iter().all(|x| *x == 0.0));
            x.fill(1.0);
            assert!(x.iter().all(|x| *x == 1.0));
        }
    }
}
