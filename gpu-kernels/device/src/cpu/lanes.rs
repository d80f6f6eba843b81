//! Loops over columns of numbers, with vector instructions where the processor has them. Both
//! ways give the same.

#[cfg(target_arch = "x86_64")]
mod avx2;

/// Points by axis, each with a word.
#[derive(Clone, Copy)]
pub struct Points<'a, const AXES: usize> {
    pub axes: [&'a [i32]; AXES],
    /// Each has room for the number of a shell in its lowest bits.
    pub words: &'a [u32],
}

/// A ball, and balls within it around the same center: the space between two is a shell.
pub struct Ball<const AXES: usize> {
    pub center: [i32; AXES],
    /// Squared.
    pub radius: i64,
    /// Squared, ascending.
    pub shells: [i64; 3],
}

impl<const AXES: usize> Ball<AXES> {
    /// A ball in which words stay as they are.
    pub fn without_shells(center: [i32; 3], radius: i32) -> Ball<AXES> {
        let mut own = [0; AXES];
        own.copy_from_slice(&center[..AXES]);
        Ball {
            center: own,
            radius: i64::from(radius) * i64::from(radius),
            shells: [i64::MAX; 3],
        }
    }
}

/// A list of words that is filled again and again.
pub struct Words {
    /// With room for a whole block behind the most that it may hold.
    room: Vec<u32>,
    len: usize,
    most: usize,
}

impl Words {
    /// Holds up to `most` words.
    pub fn new(most: usize) -> Words {
        Words {
            room: vec![0; most + BLOCK],
            len: 0,
            most,
        }
    }

    pub fn clear(&mut self) {
        self.len = 0;
    }

    pub fn as_slice(&self) -> &[u32] {
        &self.room[..self.len]
    }

    /// Appends the word of each point in the ball, in their order, with the number of balls
    /// within it that the point is outside of. False: not all of them fit.
    ///
    /// No two coordinates of an axis may be farther apart than `i32::MAX`; along three axes, than
    /// 2^30.
    #[inline]
    pub fn add_near<const AXES: usize>(
        &mut self,
        points: Points<'_, AXES>,
        ball: &Ball<AXES>,
    ) -> bool {
        let Some(len) = near(points, ball, &mut self.room, self.len) else {
            return false;
        };
        self.len = len.min(self.most);
        len <= self.most
    }

    /// Writes the words, which are below 2^31 and all different, in ascending order.
    #[inline]
    pub fn write_sorted<'a>(&self, to: &'a mut [u32]) -> &'a mut [u32] {
        let sorted = &mut to[..self.len];
        if self.len > RANKED_MAX {
            sorted.copy_from_slice(self.as_slice());
            sorted.sort_unstable();
        } else {
            rank(&self.room, sorted);
        }
        sorted
    }
}

/// Appends the word of each point in the ball, in their order. As in [`Words::add_near`].
#[inline]
pub fn append_near<const AXES: usize>(
    points: Points<'_, AXES>,
    ball: &Ball<AXES>,
    to: &mut Vec<u32>,
) {
    let len = to.len();
    to.resize(len + points.words.len() + LANES, 0);
    let end = near(points, ball, to, len).expect("room for all points");
    to.truncate(end);
}

/// Writes the words of points in a ball from `len` on, and returns how many words there are
/// then; `None` if there is no room for a vector of them.
#[inline]
fn near<const AXES: usize>(
    points: Points<'_, AXES>,
    ball: &Ball<AXES>,
    room: &mut [u32],
    len: usize,
) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions.
        #[allow(unsafe_code)]
        return unsafe { avx2::near(points, ball, room, len) };
    }
    near_one_by_one(points, ball, room, len)
}

fn near_one_by_one<const AXES: usize>(
    points: Points<'_, AXES>,
    ball: &Ball<AXES>,
    room: &mut [u32],
    mut len: usize,
) -> Option<usize> {
    for (i, &word) in points.words.iter().enumerate() {
        let along = |axis: usize| i64::from(points.axes[axis][i] - ball.center[axis]);
        let distance: i64 = (0..AXES).map(|axis| along(axis) * along(axis)).sum();
        let outside = ball.shells.map(|shell| u32::from(distance > shell));
        *room.get_mut(len)? = word + outside.iter().sum::<u32>();
        len += usize::from(distance <= ball.radius);
    }
    Some(len)
}

/// Sorts the first few words of a room, which has a block behind them, by counting for each
/// those that are less: no branch depends on them.
#[inline]
fn rank(room: &[u32], sorted: &mut [u32]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions.
        #[allow(unsafe_code)]
        return unsafe { avx2::rank(room, sorted) };
    }
    rank_one_by_one(room, sorted);
}

fn rank_one_by_one(room: &[u32], sorted: &mut [u32]) {
    let words = &room[..sorted.len()];
    for &word in words {
        let less = words.iter().filter(|&&other| other < word);
        sorted[less.count()] = word;
    }
}

/// 32-bit numbers of a vector.
const LANES: usize = 8;
/// Those that are ranked together.
const BLOCK: usize = 2 * LANES;
/// Counting takes the square of their number.
const RANKED_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn points(max: i32) -> impl Strategy<Value = Vec<([i32; 3], u32)>> {
        let point = ([0..=max, 0..=max, 0..=max], 0u32..1 << 28);
        let points = prop::collection::vec(point, 0..100);
        points.prop_map(|points| {
            let shifted = points.into_iter().map(|(point, word)| (point, word << 3));
            shifted.collect()
        })
    }

    fn check<const AXES: usize>(points: &[([i32; 3], u32)], ball: &Ball<AXES>, most: usize) {
        let column = |axis: usize| points.iter().map(|(point, _)| point[axis]).collect();
        let columns: [Vec<i32>; AXES] = std::array::from_fn(column);
        let words: Vec<u32> = points.iter().map(|&(_, word)| word).collect();
        let mut expected = vec![];
        for (point, word) in points {
            let along = |axis: usize| i128::from(point[axis]) - i128::from(ball.center[axis]);
            let distance: i128 = (0..AXES).map(|axis| along(axis).pow(2)).sum();
            if distance <= i128::from(ball.radius) {
                let outside = ball.shells.iter().filter(|&&s| distance > i128::from(s));
                expected.push(word + outside.count() as u32);
            }
        }
        let points = Points {
            axes: columns.each_ref().map(|column| &column[..]),
            words: &words,
        };
        let mut found = Words::new(most);
        let (first, second) = points.split(words.len() / 3);
        let all_fit = found.add_near(first, ball) && found.add_near(second, ball);
        assert_eq!(all_fit, expected.len() <= most);
        if all_fit {
            assert_eq!(found.as_slice(), expected);
        }
        let mut appended = vec![7];
        append_near(points, ball, &mut appended);
        assert_eq!(appended[0], 7);
        assert_eq!(appended[1..], expected);
        let mut room = vec![0; words.len() + LANES];
        let len = near_one_by_one(points, ball, &mut room, 0);
        assert_eq!(room[..len.unwrap()], expected);
    }

    impl<'a, const AXES: usize> Points<'a, AXES> {
        fn split(self, at: usize) -> (Self, Self) {
            let part = |first: bool| Points {
                axes: self.axes.map(|axis| match first {
                    true => &axis[..at],
                    false => &axis[at..],
                }),
                words: match first {
                    true => &self.words[..at],
                    false => &self.words[at..],
                },
            };
            (part(true), part(false))
        }
    }

    proptest! {
        #[test]
        fn points_near_are_found_in_order_with_their_shells(
            points in points(1000), center in [0..=1000, 0..=1000, 0..=1000], radius in 0i64..1000,
            most in 0usize..100,
        ) {
            let shells = [radius / 8, radius / 4, radius / 2].map(|r| r * r);
            let radius = radius * radius;
            check(&points, &Ball { center, radius, shells }, most);
            let [x, y, _] = center;
            check(&points, &Ball { center: [x, y], radius, shells }, most);
        }

        #[test]
        fn the_largest_distances_do_not_wrap(
            points in points(i32::MAX), center in [0..=i32::MAX, 0..=i32::MAX],
            radius in 0i64..=i32::MAX.into(),
        ) {
            let shells = [radius / 8, radius / 4, radius / 2].map(|r| r * r);
            check(&points, &Ball { center, radius: radius * radius, shells }, 100);
        }

        #[test]
        fn words_are_sorted_however_many_there_are(
            words in prop::collection::hash_set(0u32..1 << 31, 0..200),
        ) {
            let mut expected: Vec<u32> = words.iter().copied().collect();
            let mut found = Words::new(200);
            found.room[..words.len()].copy_from_slice(&expected);
            found.len = words.len();
            expected.sort_unstable();
            let mut sorted = vec![0; expected.len()];
            prop_assert_eq!(found.write_sorted(&mut sorted), &expected[..]);
            let mut ranked = vec![0; expected.len()];
            rank_one_by_one(&found.room, &mut ranked);
            prop_assert_eq!(ranked, expected);
        }
    }
}
