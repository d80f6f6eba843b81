//! Planes: worlds within the world. All of them lie in its one space, apart by a gap that nothing
//! reaches across: plane 0, which is the world itself, at the origin, and above it, along `y`, rows of
//! the copies of each plane that the file declares.

use serde::{Deserialize, Serialize};

/// Where the planes of a world are, in raw units; by default it has only one, which costs nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Atlas {
    /// The edges of plane 0 along `x` and `y`.
    pub size: [i32; 2],
    /// What lies at least between two planes, and so how far anything reaches.
    pub gap: i32,
    /// How far notifications reach at most, so that none is received in another plane.
    pub around: i32,
    /// In the order in which planes are numbered; empty in a world without planes.
    pub groups: Vec<PlaneGroup>,
}

/// The copies of a plane: rows of `columns` beside each other, the lowest `y` first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaneGroup {
    pub name: String,
    /// The edges of a copy.
    pub size: [i32; 2],
    pub copies: u32,
    pub columns: u32,
    /// From a copy to the next along each axis.
    pub stride: [i32; 2],
    /// The lowest `y` of the first row; the lowest `x` is 0.
    pub low: i32,
}

/// A part of the space, in raw units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rectangle {
    pub low: [i32; 2],
    pub size: [i32; 2],
}

/// What a world file declares of a plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    pub name: String,
    pub size: [i32; 2],
    pub copies: u32,
}

/// The most planes that a file declares.
pub const PLANE_NAMES_MAX: usize = 16;
/// The most planes of a world, plane 0 included.
pub const PLANES_MAX: u32 = 65_536;

impl Atlas {
    /// Lays out planes, apart by a gap, so that their corners are multiples of `align`, a power of two, and about as
    /// many lie along `x` as along `y`. `None` where an axis would be longer than `longest`.
    pub fn lay_out(
        size: [i32; 2],
        [gap, around]: [i32; 2],
        declared: Vec<Declared>,
        align: i32,
        longest: i32,
    ) -> Option<Atlas> {
        let (align, gap_wide) = (i64::from(align), i64::from(gap));
        let stride = |edge: i32| (i64::from(edge) + gap_wide + align - 1) / align * align;
        let area = |own: &Declared| {
            let [x, y] = own.size.map(|edge| stride(edge).unsigned_abs());
            u128::from(own.copies) * u128::from(x) * u128::from(y)
        };
        let mut areas =
            u128::from(stride(size[0]).unsigned_abs()) * u128::from(stride(size[1]).unsigned_abs());
        areas += declared.iter().map(area).sum::<u128>();
        let width = i64::try_from(areas.isqrt()).ok()?.max(i64::from(size[0]));
        let longest = i64::from(longest);
        let mut groups: Vec<PlaneGroup> = vec![];
        let mut low = stride(size[1]);
        for own in declared {
            let [along, up] = own.size.map(stride);
            let columns = ((width + gap_wide) / along).clamp(1, i64::from(own.copies.max(1)));
            let rows = (i64::from(own.copies) + columns - 1) / columns;
            let right = (columns - 1) * along + i64::from(own.size[0]);
            let top = low + (rows - 1) * up + i64::from(own.size[1]);
            if right > longest || top > longest {
                return None;
            }
            groups.push(PlaneGroup {
                size: own.size,
                copies: own.copies,
                columns: columns as u32,
                stride: [along as i32, up as i32],
                low: low as i32,
                name: own.name,
            });
            low += rows * up;
        }
        Some(Atlas {
            size,
            gap,
            around,
            groups,
        })
    }

    /// Whether the world has no planes besides itself.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The number of planes, plane 0 included.
    pub fn count(&self) -> u32 {
        1 + self.groups.iter().map(|group| group.copies).sum::<u32>()
    }

    /// How long the axes of the space are that has them all.
    pub fn extent(&self) -> [i32; 2] {
        let mut extent = self.size;
        for group in &self.groups {
            let ends = [group.columns, group.rows()];
            for (axis, (extent, count)) in extent.iter_mut().zip(ends).enumerate() {
                let low = [0, group.low][axis];
                let end = low + (count as i32 - 1) * group.stride[axis] + group.size[axis];
                *extent = (*extent).max(end);
            }
        }
        extent
    }

    /// The copies of this name: the number of the first, and how many there are.
    pub fn named(&self, name: &str) -> Option<(u32, u32)> {
        let mut groups = self.numbered();
        let (first, group) = groups.find(|(_, group)| group.name == name)?;
        Some((first, group.copies))
    }

    /// The name of a plane, and which of its copies it is, from 0; `None` of plane 0 and of no plane.
    pub fn name_of(&self, plane: u32) -> Option<(&str, u32)> {
        let has_it = |(first, group): &(u32, &PlaneGroup)| {
            plane
                .checked_sub(*first)
                .is_some_and(|copy| copy < group.copies)
        };
        let (first, group) = self.numbered().find(has_it)?;
        Some((&group.name, plane - first))
    }

    /// Each group with the number of its first copy.
    pub fn numbered(&self) -> Numbered<'_> {
        Numbered {
            next: 1,
            groups: self.groups.iter(),
        }
    }

    /// Where a plane is; a number of none counts as the nearest.
    pub fn rectangle(&self, plane: u32) -> Rectangle {
        let plane = plane.min(self.count() - 1);
        let group = self.numbered().filter(|(first, _)| *first <= plane).last();
        match group {
            None => Rectangle {
                low: [0; 2],
                size: self.size,
            },
            Some((first, group)) => group.rectangle(plane - first),
        }
    }

    /// The number of the plane that a place is in; one between planes counts as in one of those beside
    /// it. In a world without planes it is 0.
    pub fn plane_of(&self, place: [i32; 2]) -> u32 {
        let half = self.gap / 2;
        let below = |(_, group): &(u32, &PlaneGroup)| group.low - half <= place[1];
        let Some((first, group)) = self.numbered().filter(below).last() else {
            return 0;
        };
        first + group.copy_at(place, half)
    }

    /// The place as seen from its plane's corner.
    pub fn local(&self, place: [i32; 2]) -> [i32; 2] {
        let Rectangle { low, .. } = self.rectangle(self.plane_of(place));
        [0, 1].map(|axis| place[axis].wrapping_sub(low[axis]))
    }

    /// The place in a plane that is at `local` from its corner, or the nearest in it.
    pub fn place_in(&self, plane: u32, local: [i32; 2]) -> [i32; 2] {
        let Rectangle { low, size } = self.rectangle(plane);
        [0, 1].map(|axis| low[axis] + local[axis].min(size[axis] - 1).max(0))
    }

    /// The place itself if it is in a plane, else the nearest in the one that it counts as in.
    pub fn nearest(&self, place: [i32; 2]) -> [i32; 2] {
        self.rectangle(self.plane_of(place)).nearest(place)
    }

    /// Where all planes are, plane 0 first.
    pub fn rectangles(&self) -> impl Iterator<Item = Rectangle> + '_ {
        (0..self.count()).map(|plane| self.rectangle(plane))
    }

    /// Whether these can be the planes of a world of this size; else what is wrong.
    pub fn check(&self, size: [i32; 3]) -> Result<(), &'static str> {
        if self.is_empty() {
            return Ok(());
        }
        if self.groups.len() > PLANE_NAMES_MAX {
            return Err("the world has too many planes");
        }
        let copies = self.groups.iter().map(|group| u64::from(group.copies));
        if copies.sum::<u64>() >= u64::from(PLANES_MAX) {
            return Err("the world has too many planes");
        }
        let fits = |edge: i32, axis: usize| (1..=size[axis]).contains(&edge);
        if !(0..2).all(|axis| fits(self.size[axis], axis)) || self.gap < 0 {
            return Err("plane 0 is not in the world");
        }
        let mut low = i64::from(self.size[1]);
        for group in &self.groups {
            let is_some = group.copies > 0 && (1..=group.copies).contains(&group.columns);
            let apart = |axis: usize| {
                let least = i64::from(group.size[axis]) + i64::from(self.gap);
                i64::from(group.stride[axis]) >= least
            };
            if !is_some || !(0..2).all(|axis| fits(group.size[axis], axis) && apart(axis)) {
                return Err("the copies of a plane are not apart");
            }
            if i64::from(group.low) < low + i64::from(self.gap) {
                return Err("two planes are not apart");
            }
            let end = |axis: usize, low: i64, count: u32| {
                let strides = (i64::from(count) - 1) * i64::from(group.stride[axis]);
                low + strides + i64::from(group.size[axis])
            };
            let right = end(0, 0, group.columns);
            low = end(1, group.low.into(), group.rows());
            if right > size[0].into() || low > size[1].into() {
                return Err("a plane is not in the world");
            }
        }
        Ok(())
    }
}

/// Groups, each with the number of its first copy.
pub struct Numbered<'a> {
    next: u32,
    groups: std::slice::Iter<'a, PlaneGroup>,
}

impl<'a> Iterator for Numbered<'a> {
    type Item = (u32, &'a PlaneGroup);

    fn next(&mut self) -> Option<Self::Item> {
        let group = self.groups.next()?;
        let first = self.next;
        self.next += group.copies;
        Some((first, group))
    }
}

impl PlaneGroup {
    pub fn rows(&self) -> u32 {
        self.copies.div_ceil(self.columns.max(1))
    }

    fn rectangle(&self, copy: u32) -> Rectangle {
        let (column, row) = (copy % self.columns, copy / self.columns);
        Rectangle {
            low: [
                column as i32 * self.stride[0],
                self.low + row as i32 * self.stride[1],
            ],
            size: self.size,
        }
    }

    /// The copy to which a place counts whose `y` is not below those of the group.
    fn copy_at(&self, place: [i32; 2], half: i32) -> u32 {
        let number = |from_low: i32, stride: i32, count: u32| {
            let number = from_low.max(0).saturating_add(half) / stride;
            (number as u32).min(count - 1)
        };
        let column = number(place[0], self.stride[0], self.columns);
        let row = number(
            place[1].saturating_sub(self.low),
            self.stride[1],
            self.rows(),
        );
        (row * self.columns + column).min(self.copies - 1)
    }
}

impl Rectangle {
    pub fn nearest(&self, place: [i32; 2]) -> [i32; 2] {
        let along = |axis: usize| {
            let (low, last) = (self.low[axis], self.low[axis] + self.size[axis] - 1);
            place[axis].max(low).min(last)
        };
        [along(0), along(1)]
    }

    pub fn contains(&self, place: [i32; 2]) -> bool {
        self.nearest(place) == place
    }
}
