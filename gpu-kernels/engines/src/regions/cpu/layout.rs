use gpu_kernels::space::Aabb;

/// How sorted entries are keyed: by size class, within a class by grid cell, row
/// by row. An entry has one key, that of the cell in which its low corner lies.
///
/// A class holds boxes whose longest edges differ by less than four times. Its cells
/// are about as high as its boxes, so that a row of cells around a query holds few boxes
/// that the query can't overlap. The cells are narrower than high: the cells of a row
/// lie together, so a query may read many of them at once.
pub struct Layout<const D: usize> {
    origin: [i32; D],
    /// The largest distance of a low corner from the origin.
    span: [u32; D],
    classes: [Class<D>; CLASSES],
    /// The classes that have entries.
    used: Vec<usize>,
    keys: u64,
}

#[derive(Clone, Copy)]
struct Class<const D: usize> {
    /// How many entries it has.
    count: u32,
    /// The longest edge on each axis.
    reach: [u32; D],
    /// A cell's edge is a power of two.
    shift: [u32; D],
    /// On each axis.
    cells: [u64; D],
    /// The first of its keys.
    base: u64,
}

/// What a layout is made from: the number of entries and their extents.
#[derive(Clone, Copy)]
pub struct Statistics<const D: usize> {
    low: [i32; D],
    high: [i32; D],
    count: [u32; CLASSES],
    reach: [[u32; D]; CLASSES],
}

impl<const D: usize> Statistics<D> {
    pub const NONE: Statistics<D> = Statistics {
        low: [i32::MAX; D],
        high: [i32::MIN; D],
        count: [0; CLASSES],
        reach: [[0; D]; CLASSES],
    };

    pub fn add(&mut self, aabb: &Aabb<D>) {
        let class = class_of(aabb);
        self.count[class] += 1;
        for axis in 0..D {
            self.low[axis] = self.low[axis].min(aabb.low[axis]);
            self.high[axis] = self.high[axis].max(aabb.low[axis]);
            let reach = &mut self.reach[class][axis];
            *reach = (*reach).max(aabb.extent(axis));
        }
    }

    pub fn merge(&mut self, other: &Statistics<D>) {
        for axis in 0..D {
            self.low[axis] = self.low[axis].min(other.low[axis]);
            self.high[axis] = self.high[axis].max(other.high[axis]);
        }
        for class in 0..CLASSES {
            self.count[class] += other.count[class];
            for axis in 0..D {
                let reach = &mut self.reach[class][axis];
                *reach = (*reach).max(other.reach[class][axis]);
            }
        }
    }

    pub fn entries(&self) -> usize {
        self.count.iter().map(|&count| count as usize).sum()
    }
}

impl<const D: usize> Layout<D> {
    pub fn new(statistics: &Statistics<D>) -> Layout<D> {
        let span =
            std::array::from_fn(|axis| match statistics.low[axis] <= statistics.high[axis] {
                true => statistics.high[axis].wrapping_sub(statistics.low[axis]) as u32,
                false => 0,
            });
        let mut layout = Layout {
            origin: statistics.low,
            span,
            classes: std::array::from_fn(|class| {
                Class::new(statistics.count[class], statistics.reach[class], span)
            }),
            used: (0..CLASSES)
                .filter(|&class| statistics.count[class] > 0)
                .collect(),
            keys: 0,
        };
        let entries = statistics.entries() as u64;
        let keys_max = keys_max(entries);
        while layout.classes.iter().map(Class::keys).sum::<u64>() > keys_max {
            let largest = layout.classes.iter_mut().max_by_key(|class| class.keys());
            largest.expect("there are classes").coarsen(span);
        }
        for class in &mut layout.classes {
            class.base = layout.keys;
            layout.keys += class.keys();
        }
        layout
    }

    /// Keys are below this.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    pub fn key(&self, aabb: &Aabb<D>) -> u32 {
        let class = &self.classes[class_of(aabb)];
        let key = (0..D).rev().fold(0, |key, axis| {
            let distance = aabb.low[axis].wrapping_sub(self.origin[axis]) as u32;
            key * class.cells[axis] + u64::from(distance >> class.shift[axis])
        });
        (class.base + key) as u32
    }

    /// Calls `visit` with the first and the last key of each row of cells that may hold
    /// the low corner of a box that overlaps this one.
    pub fn rows(&self, aabb: &Aabb<D>, mut visit: impl FnMut(u32, u32)) {
        'classes: for &class in &self.used {
            let class = &self.classes[class];
            let (mut low, mut high) = ([0; 3], [0; 3]);
            for axis in 0..D {
                let origin = i64::from(self.origin[axis]);
                let from = i64::from(aabb.low[axis]) - i64::from(class.reach[axis]) + 1 - origin;
                let to = i64::from(aabb.high[axis]) - 1 - origin;
                if to < 0 || from > i64::from(self.span[axis]) {
                    continue 'classes;
                }
                low[axis] = (from.max(0) as u64) >> class.shift[axis];
                high[axis] = (to.min(self.span[axis].into()) as u64) >> class.shift[axis];
            }
            for z in low[2]..=high[2] {
                for y in low[1]..=high[1] {
                    let row = match D {
                        1 => 0,
                        2 => y * class.cells[0],
                        _ => (z * class.cells[1] + y) * class.cells[0],
                    };
                    let row = class.base + row;
                    visit((row + low[0]) as u32, (row + high[0]) as u32);
                }
            }
        }
    }
}

impl<const D: usize> Class<D> {
    fn new(count: u32, reach: [u32; D], span: [u32; D]) -> Class<D> {
        let mut class = Class {
            count,
            reach,
            shift: std::array::from_fn(|axis| match axis {
                0 => ceil_log2(reach[0]).saturating_sub(NARROWER),
                axis => ceil_log2(reach[axis]).min(31),
            }),
            cells: [0; D],
            base: 0,
        };
        class.cut(span);
        while class.keys() > (u64::from(count) + 1) * CELLS_PER_ENTRY {
            class.coarsen(span);
        }
        class
    }

    fn keys(&self) -> u64 {
        // A product that doesn't fit is too large anyway.
        let product = self
            .cells
            .iter()
            .try_fold(1, |all: u64, &n| all.checked_mul(n));
        match self.count {
            0 => 0,
            _ => product.unwrap_or(u64::MAX / CLASSES as u64),
        }
    }

    /// Makes cells larger: the axis that has the most of them first.
    fn coarsen(&mut self, span: [u32; D]) {
        let axis = (0..D).max_by_key(|&axis| self.cells[axis]).unwrap_or(0);
        self.shift[axis] += 1;
        self.cut(span);
    }

    fn cut(&mut self, span: [u32; D]) {
        self.cells = std::array::from_fn(|axis| u64::from(span[axis] >> self.shift[axis]) + 1);
    }
}

fn class_of<const D: usize>(aabb: &Aabb<D>) -> usize {
    let longest = (0..D).fold(1, |longest, axis| aabb.extent(axis).max(longest));
    longest.ilog2() as usize / 2
}

fn ceil_log2(n: u32) -> u32 {
    u32::BITS - n.saturating_sub(1).leading_zeros()
}

/// Keys that two passes of the sort suffice for, unless there are too many entries.
fn keys_max(entries: u64) -> u64 {
    (entries * 64)
        .min(1 << 22)
        .max(entries * 8)
        .clamp(1 << 10, 1 << 31)
}

const CLASSES: usize = 16;
/// Cells are 2^3 times as high as they are wide.
const NARROWER: u32 = 3;
/// More cells would cost a query more rows than they save comparisons.
const CELLS_PER_ENTRY: u64 = 64;
