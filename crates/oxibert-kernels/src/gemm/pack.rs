//! Puts operands into the order in which the tiles read them: panels of a few columns, line after line.

use super::micro::{LINE, prefetch};
use crate::arch::versions;
use crate::matrix::Mat;

/// Lines that are asked for ahead of those that are copied.
const AHEAD: usize = 4;

/// Panels that are filled side by side: more would evict each other from the first-level cache.
const TOGETHER: usize = 8;

/// What becomes of the last panel if the columns do not fill it.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Last {
    /// It is as wide as the others, with zeros.
    Padded,
    /// It is as narrow as its columns.
    Narrow,
}

/// Packs `b` [depth, cols] into panels of `width` columns, [depth, width] each.
pub(crate) fn pack(b: Mat<'_>, width: usize, last: Last, to: &mut [f32]) {
    let whole = b.cols / width * width;
    let (panels, rest) = to.split_at_mut(whole * b.rows);
    if b.rows > 0 {
        pack_whole(b.part(0, b.rows, 0, whole), width, panels);
    }
    let tail = b.part(0, b.rows, whole, b.cols - whole);
    if tail.cols > 0 {
        let width = if last == Last::Padded { width } else { tail.cols };
        pack_tail(tail, width, &mut rest[..width * b.rows]);
    }
}

fn pack_whole(b: Mat<'_>, width: usize, to: &mut [f32]) {
    if b.col_stride == 1 {
        // Constant widths let the compiler copy whole registers; they are the tiles' of `micro`.
        return match width {
            4 => copy_4(b.data, b.row_stride, b.rows, to),
            6 => copy_6(b.data, b.row_stride, b.rows, to),
            8 => copy_8(b.data, b.row_stride, b.rows, to),
            12 => copy_12(b.data, b.row_stride, b.rows, to),
            16 => copy_16(b.data, b.row_stride, b.rows, to),
            32 => copy_32(b.data, b.row_stride, b.rows, to),
            _ => unreachable!("no tile is {width} wide"),
        };
    }
    for (panel, to) in to.chunks_exact_mut(b.rows * width).enumerate() {
        pack_tail(b.part(0, b.rows, panel * width, width), width, to);
    }
}

/// Fewer columns than `width`, with zeros behind them.
fn pack_tail(b: Mat<'_>, width: usize, to: &mut [f32]) {
    if b.col_stride == 1 {
        for (k, line) in to.chunks_exact_mut(width).enumerate() {
            let (some, beyond) = line.split_at_mut(b.cols);
            some.copy_from_slice(&b.data[k * b.row_stride..][..b.cols]);
            beyond.fill(0.0);
        }
    } else {
        assert_eq!(b.row_stride, 1, "rows or columns lie side by side");
        to.chunks_exact_mut(width).for_each(|line| line[b.cols..].fill(0.0));
        transpose(b.data, b.col_stride, b.cols, to, width);
    }
}

/// Lines that already lie side by side, `stride` apart, into panels of `W`.
#[inline(always)]
fn copy_panels<const W: usize>(from: &[f32], stride: usize, depth: usize, to: &mut [f32]) {
    for (group, to) in to.chunks_mut(TOGETHER * W * depth).enumerate() {
        let cols = to.len() / depth;
        for k in 0..depth {
            let line = &from[k * stride + group * TOGETHER * W..][..cols];
            let ahead = line.as_ptr().wrapping_add(AHEAD * stride);
            (0..cols).step_by(LINE).for_each(|at| prefetch::<false>(ahead.wrapping_add(at)));
            for (panel, line) in line.chunks_exact(W).enumerate() {
                to[(panel * depth + k) * W..][..W].copy_from_slice(line);
            }
        }
    }
}

versions! {
    fn copy_4(from: &[f32], stride: usize, depth: usize, to: &mut [f32]) { copy_panels::<4>(from, stride, depth, to) }
    fn copy_6(from: &[f32], stride: usize, depth: usize, to: &mut [f32]) { copy_panels::<6>(from, stride, depth, to) }
    fn copy_8(from: &[f32], stride: usize, depth: usize, to: &mut [f32]) { copy_panels::<8>(from, stride, depth, to) }
    fn copy_12(from: &[f32], stride: usize, depth: usize, to: &mut [f32]) { copy_panels::<12>(from, stride, depth, to) }
    fn copy_16(from: &[f32], stride: usize, depth: usize, to: &mut [f32]) { copy_panels::<16>(from, stride, depth, to) }
    fn copy_32(from: &[f32], stride: usize, depth: usize, to: &mut [f32]) { copy_panels::<32>(from, stride, depth, to) }
}

/// Steps of the depth, and lines at most, that are transposed at a time.
const SQUARE: usize = 8;

/// A panel of lines of `width`, of which `cols` columns lie as rows, `stride` apart: `to` gets them turned, in squares where they fit.
pub(crate) fn transpose(from: &[f32], stride: usize, cols: usize, to: &mut [f32], width: usize) {
    let depth = to.len() / width;
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
    let mut done = 0;
    #[cfg(target_arch = "x86_64")]
    if crate::arch::isa() >= crate::arch::Isa::Avx512 {
        done = x86::whole(cols, depth);
        assert!(cols <= width && (done == 0 || from.len() >= (done - 1) * stride + depth));
        // SAFETY: the processor has AVX-512, and the lengths were checked.
        unsafe { x86::turn_whole(from, stride, done, to, width) };
    }
    let whole = depth / SQUARE * SQUARE;
    for j in (done..cols).step_by(SQUARE) {
        for k in (0..whole).step_by(SQUARE) {
            turn(&from[j * stride + k..], stride, SQUARE.min(cols - j), &mut to[k * width + j..], width);
        }
    }
    for (k, line) in to.chunks_exact_mut(width).enumerate().skip(whole) {
        for (j, x) in line[..cols].iter_mut().enumerate().skip(done) {
            *x = from[j * stride + k];
        }
    }
}

/// Turns one square, or as many rows of it as there are.
#[inline]
fn turn(from: &[f32], stride: usize, rows: usize, to: &mut [f32], width: usize) {
    assert!(from.len() >= (rows - 1) * stride + SQUARE && to.len() >= (SQUARE - 1) * width + rows);
    #[cfg(target_arch = "x86_64")]
    if crate::arch::isa() >= crate::arch::Isa::Avx2 {
        let (from, to) = (from.as_ptr(), to.as_mut_ptr());
        // SAFETY: the processor has AVX2, and the lengths were checked.
        unsafe {
            match rows {
                8 => return x86::turn::<8>(from, stride, to, width),
                7 => return x86::turn::<7>(from, stride, to, width),
                6 => return x86::turn::<6>(from, stride, to, width),
                5 => return x86::turn::<5>(from, stride, to, width),
                4 => return x86::turn::<4>(from, stride, to, width),
                3 => return x86::turn::<3>(from, stride, to, width),
                2 => return x86::turn::<2>(from, stride, to, width),
                1 => return x86::turn::<1>(from, stride, to, width),
                _ => (),
            }
        }
    }
    for k in 0..SQUARE {
        for j in 0..rows {
            to[k * width + j] = from[j * stride + k];
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::micro::prefetch;
    use std::arch::x86_64::*;

    /// Floats of a register of AVX-512: the side of its squares.
    const WIDE: usize = 16;
    /// The rows of a panel of the left-hand side, for which a square of three quarters is compiled.
    const LEFT: usize = 12;

    /// How many of so many columns are whole squares, or one narrow square after the other.
    pub(super) fn whole(cols: usize, depth: usize) -> usize {
        match cols {
            _ if !depth.is_multiple_of(WIDE) => 0,
            LEFT => LEFT,
            _ => cols / WIDE * WIDE,
        }
    }

    /// So many columns as are [`whole`], a cache line of each row at a time.
    ///
    /// # Safety
    /// `cols` rows as long as the depth must be readable in `from`, and `to` have lines of at least `cols`.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn turn_whole(from: &[f32], stride: usize, cols: usize, to: &mut [f32], width: usize) {
        let depth = to.len() / width;
        for j in (0..cols).step_by(WIDE) {
            for k in (0..depth).step_by(WIDE) {
                // SAFETY: the caller vouches for the rows and the lines.
                unsafe {
                    let (from, to) = (from.as_ptr().add(j * stride + k), to.as_mut_ptr().add(k * width + j));
                    // The rows behind these come next, from afar, and in an order that the processor does not guess.
                    (WIDE..2 * WIDE).for_each(|row| prefetch::<false>(from.wrapping_add(row * stride)));
                    match cols {
                        LEFT => turn_square::<LEFT>(from, stride, to, width),
                        _ => turn_square::<WIDE>(from, stride, to, width),
                    }
                }
            }
        }
    }

    /// Turns `ROWS` (at most 16) x 16 floats: fours within the quarters of the registers as in [`turn`], then the quarters.
    ///
    /// # Safety
    /// `ROWS` lines of 16 floats must be readable at `from`, 16 lines of `ROWS` floats writable at `to`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn turn_square<const ROWS: usize>(from: *const f32, stride: usize, to: *mut f32, width: usize) {
        let mut rows = [_mm512_setzero_ps(); WIDE];
        for (r, row) in rows.iter_mut().enumerate().take(ROWS) {
            // SAFETY: the caller vouches for the lines.
            *row = unsafe { _mm512_loadu_ps(from.add(r * stride)) };
        }
        // fours[g][c], quarter q: column 4 q + c of the rows 4 g .. 4 g + 4.
        let mut fours = [[_mm512_setzero_ps(); 4]; 4];
        for (fours, rows) in fours.iter_mut().zip(rows.as_chunks::<4>().0) {
            let [a, b, c, d] = *rows;
            let (low, low2) = (_mm512_unpacklo_ps(a, b), _mm512_unpacklo_ps(c, d));
            let (high, high2) = (_mm512_unpackhi_ps(a, b), _mm512_unpackhi_ps(c, d));
            *fours = [
                _mm512_shuffle_ps::<0x44>(low, low2),
                _mm512_shuffle_ps::<0xEE>(low, low2),
                _mm512_shuffle_ps::<0x44>(high, high2),
                _mm512_shuffle_ps::<0xEE>(high, high2),
            ];
        }
        let [f, g, h, i] = fours;
        for c in 0..4 {
            let even = [_mm512_shuffle_f32x4::<0x88>(f[c], g[c]), _mm512_shuffle_f32x4::<0x88>(h[c], i[c])];
            let odd = [_mm512_shuffle_f32x4::<0xDD>(f[c], g[c]), _mm512_shuffle_f32x4::<0xDD>(h[c], i[c])];
            let quarters = [
                _mm512_shuffle_f32x4::<0x88>(even[0], even[1]),
                _mm512_shuffle_f32x4::<0x88>(odd[0], odd[1]),
                _mm512_shuffle_f32x4::<0xDD>(even[0], even[1]),
                _mm512_shuffle_f32x4::<0xDD>(odd[0], odd[1]),
            ];
            for (q, line) in quarters.into_iter().enumerate() {
                // SAFETY: the caller vouches for the lines.
                unsafe { store_first::<ROWS>(to.add((4 * q + c) * width), line) };
            }
        }
    }

    /// Stores the first `ROWS` floats.
    ///
    /// # Safety
    /// They must be writable at `to`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn store_first<const ROWS: usize>(to: *mut f32, line: __m512) {
        // SAFETY: the caller vouches for the place.
        unsafe {
            match ROWS {
                WIDE => _mm512_storeu_ps(to, line),
                _ => _mm512_mask_storeu_ps(to, ((1u32 << ROWS) - 1) as __mmask16, line),
            }
        }
    }

    /// Turns `ROWS` (at most 8) x 8 floats: pairs, then fours, then halves of the registers change places.
    ///
    /// # Safety
    /// `ROWS` lines of eight floats must be readable at `from`, eight lines of `ROWS` floats writable at `to`.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn turn<const ROWS: usize>(
        from: *const f32,
        stride: usize,
        to: *mut f32,
        width: usize,
    ) {
        let mut rows = [_mm256_setzero_ps(); 8];
        for (r, row) in rows.iter_mut().enumerate().take(ROWS) {
            // SAFETY: the caller vouches for the lines.
            *row = unsafe { _mm256_loadu_ps(from.add(r * stride)) };
        }
        let mut fours = [_mm256_setzero_ps(); 8];
        for half in [0, 4] {
            let [a, b, c, d] = [rows[half], rows[half + 1], rows[half + 2], rows[half + 3]];
            let (low, low2) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
            let (high, high2) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
            fours[half] = _mm256_shuffle_ps::<0x44>(low, low2);
            fours[half + 1] = _mm256_shuffle_ps::<0xEE>(low, low2);
            fours[half + 2] = _mm256_shuffle_ps::<0x44>(high, high2);
            fours[half + 3] = _mm256_shuffle_ps::<0xEE>(high, high2);
        }
        for r in 0..4 {
            let near = _mm256_permute2f128_ps::<0x20>(fours[r], fours[r + 4]);
            let far = _mm256_permute2f128_ps::<0x31>(fours[r], fours[r + 4]);
            // SAFETY: the caller vouches for the lines.
            unsafe {
                store::<ROWS>(to.add(r * width), near);
                store::<ROWS>(to.add((r + 4) * width), far);
            }
        }
    }

    /// Stores the first `ROWS` floats.
    ///
    /// # Safety
    /// They must be writable at `to`.
    #[target_feature(enable = "avx2")]
    unsafe fn store<const ROWS: usize>(to: *mut f32, line: __m256) {
        // SAFETY: the caller vouches for the place.
        unsafe {
            let (low, high) = (_mm256_castps256_ps128(line), _mm256_extractf128_ps::<1>(line));
            match ROWS {
                8 => _mm256_storeu_ps(to, line),
                4.. => {
                    _mm_storeu_ps(to, low);
                    store_few(to.add(4), high, ROWS - 4);
                }
                _ => store_few(to, low, ROWS),
            }
        }
    }

    /// Stores the first `count` floats, fewer than four.
    ///
    /// # Safety
    /// They must be writable at `to`.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn store_few(to: *mut f32, line: __m128, count: usize) {
        // SAFETY: the caller vouches for the place.
        unsafe {
            match count {
                1 => _mm_store_ss(to, line),
                2 => _mm_storel_pd(to.cast(), _mm_castps_pd(line)),
                3 => {
                    _mm_storel_pd(to.cast(), _mm_castps_pd(line));
                    _mm_store_ss(to.add(2), _mm_movehl_ps(line, line));
                }
                _ => (),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::noise;

    #[test]
    fn panels_are_turned_whatever_their_size() {
        for width in [4, 6, 8, 12, 16, 32] {
            for cols in 1..=width {
                for depth in [1, 7, 8, 16, 33, 48] {
                    let stride = depth + 3;
                    let from = noise(cols * stride, 1);
                    let mut to = vec![9.0; depth * width];
                    transpose(&from, stride, cols, &mut to, width);
                    let want = |at: usize| match at % width {
                        col if col < cols => from[col * stride + at / width],
                        _ => 9.0,
                    };
                    assert!((0..to.len()).all(|at| to[at] == want(at)), "{cols} of {width}, depth {depth}");
                }
            }
        }
    }
}
