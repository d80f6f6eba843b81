//! With the vectors of AVX2, which any x86-64 processor since about 2015 has.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::{BLOCK, Ball, LANES, Points};

/// [`super::near`], eight points at a time.
///
/// Loops rather than closures: code that is compiled for any processor would call these.
#[target_feature(enable = "avx2,popcnt")]
pub fn near<const AXES: usize>(
    points: Points<'_, AXES>,
    ball: &Ball<AXES>,
    room: &mut [u32],
    mut len: usize,
) -> Option<usize> {
    for axis in points.axes {
        assert_eq!(axis.len(), points.words.len());
    }
    let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let mut at = 0;
    while at < points.words.len() {
        let rest = _mm256_set1_epi32((points.words.len() - at).min(LANES) as i32);
        let taken = _mm256_cmpgt_epi32(rest, lanes);
        // Squared distances of the even lanes and of the odd ones.
        let (mut even, mut odd) = (_mm256_setzero_si256(), _mm256_setzero_si256());
        for axis in 0..AXES {
            // SAFETY: the axis is as long as the words.
            let place = unsafe { load(&points.axes[axis][at..], taken) };
            let along = _mm256_sub_epi32(place, _mm256_set1_epi32(ball.center[axis]));
            even = _mm256_add_epi64(even, _mm256_mul_epi32(along, along));
            let along = _mm256_srli_epi64::<32>(along);
            odd = _mm256_add_epi64(odd, _mm256_mul_epi32(along, along));
        }
        let found = _mm256_andnot_si256(beyond(even, odd, ball.radius), taken);
        let found = _mm256_movemask_ps(_mm256_castsi256_ps(found)) as usize;
        // SAFETY: so many are left.
        let mut words = unsafe { load(&points.words[at..], taken) };
        for shell in 0..ball.shells.len() {
            words = _mm256_sub_epi32(words, beyond(even, odd, ball.shells[shell]));
        }
        let order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(PACKED[found]));
        let packed = _mm256_permutevar8x32_epi32(words, order);
        store(packed, room.get_mut(len..)?.first_chunk_mut()?);
        len += found.count_ones() as usize;
        at += LANES;
    }
    Some(len)
}

/// All bits of the lanes whose distances exceed a limit.
#[inline]
#[target_feature(enable = "avx2")]
fn beyond(even: __m256i, odd: __m256i, limit: i64) -> __m256i {
    let limit = _mm256_set1_epi64x(limit);
    let even = _mm256_cmpgt_epi64(even, limit);
    let odd = _mm256_cmpgt_epi64(odd, limit);
    _mm256_blend_epi32::<0b1010_1010>(even, odd)
}

/// [`super::rank`], sixteen words at a time. Each is compared with all others.
#[target_feature(enable = "avx2")]
pub fn rank(room: &[u32], sorted: &mut [u32]) {
    let words = &room[..sorted.len()];
    let all = _mm256_set1_epi32(-1);
    for at in (0..words.len()).step_by(BLOCK) {
        let (low, high) = room[at..at + BLOCK].split_at(LANES);
        // SAFETY: these are whole vectors.
        let (low, high) = unsafe { (load(low, all), load(high, all)) };
        let (mut ranks_low, mut ranks_high) = (_mm256_setzero_si256(), _mm256_setzero_si256());
        for &other in words {
            let other = _mm256_set1_epi32(other as i32);
            ranks_low = _mm256_sub_epi32(ranks_low, _mm256_cmpgt_epi32(low, other));
            ranks_high = _mm256_sub_epi32(ranks_high, _mm256_cmpgt_epi32(high, other));
        }
        let mut ranks = [[0; LANES]; 2];
        store(ranks_low, &mut ranks[0]);
        store(ranks_high, &mut ranks[1]);
        for (&word, &rank) in words[at..].iter().zip(ranks.as_flattened()) {
            sorted[rank as usize] = word;
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(vector: __m256i, to: &mut [u32; LANES]) {
    // SAFETY: there is room for a vector.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), vector) };
}

/// Loads the lanes that are taken, which are the first ones.
///
/// # Safety
/// There are at least so many numbers, of 32 bits each.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load<T>(numbers: &[T], taken: __m256i) -> __m256i {
    const { assert!(size_of::<T>() == 4) };
    // SAFETY: the other lanes are not read.
    unsafe { _mm256_maskload_epi32(numbers.as_ptr().cast(), taken) }
}

/// By the lanes that are found: their numbers, a byte each, ascending.
static PACKED: [i64; 1 << LANES] = packed();

const fn packed() -> [i64; 1 << LANES] {
    let mut packed = [0; 1 << LANES];
    let mut found = 0;
    while found < packed.len() {
        let (mut lane, mut next) = (0, 0);
        while lane < LANES {
            if found >> lane & 1 == 1 {
                packed[found] |= (lane as i64) << (8 * next);
                next += 1;
            }
            lane += 1;
        }
        found += 1;
    }
    packed
}
