//! Working memory that is allocated once and used again: a few buffers per thread.
//!
//! A kernel asks for as many floats as it needs for the length of a closure. Buffers are kept as a stack, not as
//! one cell, because a thread that waits inside rayon may start another kernel in between.

use crate::huge::wish_for_large_pages;
use std::cell::RefCell;

/// One cache line: buffers start on its border, so that vector loads never straddle two lines.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([f32; LINE]);

const LINE: usize = 16;

/// A buffer of floats that begins on a cache line.
#[derive(Clone, Default)]
pub(crate) struct Aligned(Vec<Line>);

impl Aligned {
    /// `len` zeros, rounded up to whole lines.
    pub(crate) fn zeros(len: usize) -> Self {
        let mut buffer = Self::default();
        buffer.reserve(len);
        buffer
    }

    fn reserve(&mut self, len: usize) {
        let lines = len.div_ceil(LINE);
        if self.0.len() < lines {
            self.0 = Vec::new();
            let mut grown = Vec::with_capacity(lines);
            wish_for_large_pages(grown.spare_capacity_mut());
            grown.resize(lines, Line([0.0; LINE]));
            self.0 = grown;
        }
    }

    pub(crate) fn as_slice(&self) -> &[f32] {
        // SAFETY: `Line` is `repr(C)` and is made of exactly LINE floats, without padding.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * LINE) }
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [f32] {
        // SAFETY: as in `as_slice`; the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * LINE) }
    }
}

thread_local! {
    static FREE: RefCell<Vec<Aligned>> = const { RefCell::new(Vec::new()) };
}

/// Runs `f` with `len` floats of unknown content.
pub(crate) fn with_scratch<R>(len: usize, f: impl FnOnce(&mut [f32]) -> R) -> R {
    let mut buffer = FREE.with(|free| free.borrow_mut().pop()).unwrap_or_default();
    buffer.reserve(len);
    let result = f(&mut buffer.as_mut_slice()[..len]);
    FREE.with(|free| free.borrow_mut().push(buffer));
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_nest_and_come_back() {
        let outer = with_scratch(100, |a| {
            with_scratch(50, |b| b.fill(2.0));
            a.fill(1.0);
            a.as_ptr() as usize
        });
        let again = with_scratch(90, |a| (a.as_ptr() as usize, a.len()));
        assert_eq!(again, (outer, 90));
        assert_eq!(outer % 64, 0);
    }
}
