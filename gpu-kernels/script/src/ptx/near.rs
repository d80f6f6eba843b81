//! Visits of the entities near a point: rows of buckets, each a range of the index
//! (`kernels/tick/world.cuh` has the same search for the engine's own kernels).

use crate::ir::{NEAR_CENTER_MIN, NEAR_RADIUS_MAX, Point};

use super::layout::Layout;
use super::memory::{element, element_of, load, load_of, table};
use super::operators::divide_by;
use super::text::{Flag, Label, Long, Text, Value, Word};

/// A loop's state. Of the two axes that rows are numbered by, the first is `y`.
pub struct Near {
    center: Vec<Word>,
    squared_radius: Long,
    /// From the next place in the index to the end of the present row.
    place: Word,
    end: Word,
    /// The present row; before the first, `y` is one below its lowest.
    y: Axis,
    z: Axis,
    /// The buckets of a row.
    x: Axis,
}

struct Axis {
    low: Word,
    at: Word,
    high: Word,
}

impl Near {
    pub fn new(text: &mut Text, layout: &Layout) -> Near {
        let mut axis = || Axis {
            low: text.register(),
            at: text.register(),
            high: text.register(),
        };
        let (x, y, z) = (axis(), axis(), axis());
        let dimensions = 0..layout.numbers.space.dimensions;
        Near {
            center: dimensions.map(|_| text.register()).collect(),
            squared_radius: text.register(),
            place: text.register(),
            end: text.register(),
            x,
            y,
            z,
        }
    }

    /// Begins the visits around a point.
    pub fn open(&self, text: &mut Text, layout: &Layout, center: Point, radius: Value) {
        let radius = match radius {
            Value::Const(radius) => Value::Const(radius.min(NEAR_RADIUS_MAX)),
            Value::Word(_) => {
                Value::Word(text.set("min.s32", format_args!("{radius}, {NEAR_RADIUS_MAX}")))
            }
        };
        for (&to, &from) in self.center.iter().zip(&center) {
            match Value::from(from) {
                Value::Const(from) => {
                    text.put("mov.b32", to, format_args!("{}", from.max(NEAR_CENTER_MIN)));
                }
                from => text.put("max.s32", to, format_args!("{from}, {NEAR_CENTER_MIN}")),
            }
        }
        let squared = self.squared_radius;
        let word = text.in_register(radius);
        text.put("mul.wide.s32", squared, format_args!("{word}, {word}"));
        let axes = [&self.x, &self.y, &self.z];
        for (number, (axis, &center)) in axes.into_iter().zip(&self.center).enumerate() {
            let bucket = |text: &mut Text, position: Word, to: Word| {
                let inside: Word = text.set("max.s32", format_args!("{position}, 0"));
                let bucket = divide_by(text, inside, layout.numbers.bucket_edge as u32);
                text.put("mov.b32", to, format_args!("{bucket}"));
            };
            // Neither overflows: the centre and the radius are limited, and here the centre
            // to the world, too.
            let last = layout.numbers.space.size[number] - 1;
            let low: Word = text.set("sub.s32", format_args!("{center}, {radius}"));
            let low: Word = text.set("min.s32", format_args!("{low}, {last}"));
            bucket(text, low, axis.low);
            let inside: Word = text.set("min.s32", format_args!("{center}, {last}"));
            let high: Word = text.set("add.s32", format_args!("{inside}, {radius}"));
            let high: Word = text.set("min.s32", format_args!("{high}, {last}"));
            bucket(text, high, axis.high);
        }
        text.put("mov.b32", self.place, format_args!("0"));
        text.put("mov.b32", self.end, format_args!("0"));
        text.put("sub.s32", self.y.at, format_args!("{}, 1", self.y.low));
        if self.is_deep() {
            text.put("mov.b32", self.z.at, format_args!("{}", self.z.low));
        }
        let opened = text.label();
        self.search_nothing_instead(text, radius, opened);
        self.search_all_instead(text, layout, radius, opened);
        text.place(opened);
    }

    /// Where there are more rows than entities, the whole index is one range.
    fn search_all_instead(&self, text: &mut Text, layout: &Layout, radius: Value, opened: Label) {
        if rows_max(layout, radius) <= ROWS_FEW {
            return;
        }
        let extent = |text: &mut Text, axis: &Axis| -> Word {
            let steps: Word = text.set("sub.u32", format_args!("{}, {}", axis.high, axis.low));
            text.set("add.u32", format_args!("{steps}, 1"))
        };
        let rows = extent(text, &self.y);
        let deep = match self.is_deep() {
            true => extent(text, &self.z),
            false => text.set("mov.b32", format_args!("1")),
        };
        let rows: Long = text.set("mul.wide.u32", format_args!("{rows}, {deep}"));
        let index_len = table(text, layout.world.index_len);
        let entities: Long = text.set("ld.global.nc.u64", format_args!("[{index_len}]"));
        let are_few: Flag = text.set("setp.le.u64", format_args!("{rows}, {entities}"));
        let few = text.label();
        text.jump_if(are_few, few);
        text.put("cvt.u32.u64", self.end, format_args!("{entities}"));
        self.be_in_last_row(text);
        text.jump(opened);
        text.place(few);
    }

    fn search_nothing_instead(&self, text: &mut Text, radius: Value, opened: Label) {
        let one = text.label();
        match radius {
            Value::Const(0..) => return,
            Value::Const(_) => {}
            Value::Word(radius) => {
                let is_one: Flag = text.set("setp.ge.s32", format_args!("{radius}, 0"));
                text.jump_if(is_one, one);
            }
        }
        self.be_in_last_row(text);
        text.jump(opened);
        text.place(one);
    }

    fn be_in_last_row(&self, text: &mut Text) {
        text.put("mov.b32", self.y.at, format_args!("{}", self.y.high));
        if self.is_deep() {
            text.put("mov.b32", self.z.at, format_args!("{}", self.z.high));
        }
    }

    /// The slot of the next entity; jumps if there is none.
    pub fn next(&self, text: &mut Text, layout: &Layout, done: Label) -> Word {
        let [next, look, row] = [(); 3].map(|()| text.label());
        text.place(next);
        let is_in_row: Flag = text.set("setp.lt.u32", format_args!("{}, {}", self.place, self.end));
        text.jump_if(is_in_row, look);
        self.next_row(text, row, done);
        text.place(row);
        let [start, end] = self.row_range(text, layout);
        text.put("mov.b32", self.place, format_args!("{start}"));
        text.put("mov.b32", self.end, format_args!("{end}"));
        text.jump(next);

        text.place(look);
        let squared = self.squared_distance(text, layout);
        text.put("add.u32", self.place, format_args!("{}, 1", self.place));
        let limit = self.squared_radius;
        let is_beyond: Flag = text.set("setp.gt.u64", format_args!("{squared}, {limit}"));
        text.jump_if(is_beyond, next);
        let slots = element_of(text, layout.world.index_slots, self.place, 4);
        load(text, slots, -4)
    }

    /// Goes to the next row; after the last row it changes nothing, so that the next visit
    /// finds it the last again.
    fn next_row(&self, text: &mut Text, row: Label, done: Label) {
        let is_along = |text: &mut Text, axis: &Axis| -> Flag {
            text.set("setp.lt.s32", format_args!("{}, {}", axis.at, axis.high))
        };
        let step = |text: &mut Text, axis: &Axis| {
            text.put("add.s32", axis.at, format_args!("{}, 1", axis.at));
        };
        let along_y = is_along(text, &self.y);
        if !self.is_deep() {
            text.jump_unless(along_y, done);
            return step(text, &self.y);
        }
        let across = text.label();
        text.jump_unless(along_y, across);
        step(text, &self.y);
        text.jump(row);
        text.place(across);
        let along_z = is_along(text, &self.z);
        text.jump_unless(along_z, done);
        step(text, &self.z);
        text.put("mov.b32", self.y.at, format_args!("{}", self.y.low));
    }

    /// The range of the present row in the index.
    fn row_range(&self, text: &mut Text, layout: &Layout) -> [Word; 2] {
        let [along, across, _] = layout.numbers.buckets;
        let row: Long = match self.is_deep() {
            false => text.set("cvt.u64.u32", format_args!("{}", self.y.at)),
            true => {
                let y: Long = text.set("cvt.u64.u32", format_args!("{}", self.y.at));
                text.set("mad.wide.u32", format_args!("{}, {across}, {y}", self.z.at))
            }
        };
        let row: Long = text.set("mul.lo.u64", format_args!("{row}, {along}"));
        let mut start = |bucket: Word, beyond: u32| {
            let bucket: Long = text.set("cvt.u64.u32", format_args!("{bucket}"));
            let key: Long = text.set("add.u64", format_args!("{row}, {bucket}"));
            let key: Long = text.set("add.u64", format_args!("{key}, {beyond}"));
            bucket_start(text, layout, key)
        };
        [start(self.x.low, 0), start(self.x.high, 1)]
    }

    /// The square of the distance of the centre and an entry of the index. The limits of
    /// centres are such that differences don't overflow.
    fn squared_distance(&self, text: &mut Text, layout: &Layout) -> Long {
        let first = element_of(text, layout.world.index_positions, self.place, 4);
        let mut sum: Option<Long> = None;
        for (axis, center) in (0..).zip(&self.center) {
            // Axes may be too far apart for the offset of a load.
            let column = u64::from(layout.numbers.capacity) * 4 * axis;
            let address: Long = text.set("add.u64", format_args!("{first}, {column}"));
            let position = load(text, address, 0);
            let apart: Word = text.set("sub.s32", format_args!("{position}, {center}"));
            sum = Some(match sum {
                None => text.set("mul.wide.s32", format_args!("{apart}, {apart}")),
                Some(sum) => text.set("mad.wide.s32", format_args!("{apart}, {apart}, {sum}")),
            });
        }
        sum.expect("a world has axes")
    }

    fn is_deep(&self) -> bool {
        self.center.len() > 2
    }
}

/// Where a bucket starts in the index; the directory narrows it down to a few entries.
fn bucket_start(text: &mut Text, layout: &Layout, key: Long) -> Word {
    let shift = layout.numbers.directory_shift;
    let entry: Long = text.set("shr.u64", format_args!("{key}, {shift}"));
    let entry: Word = text.set("cvt.u32.u64", format_args!("{entry}"));
    if shift == 0 {
        return load_of(text, layout.world.directory, entry);
    }
    let directory = element_of(text, layout.world.directory, entry, 4);
    let (start, end) = (load(text, directory, 0), load(text, directory, 4));
    let keys = table(text, layout.world.index_keys);
    let low: Word = text.set("mov.b32", format_args!("{start}"));
    let high: Word = text.set("mov.b32", format_args!("{end}"));
    let [again, found] = [(); 2].map(|()| text.label());
    text.place(again);
    let is_found: Flag = text.set("setp.ge.u32", format_args!("{low}, {high}"));
    text.jump_if(is_found, found);
    let sum: Word = text.set("add.u32", format_args!("{low}, {high}"));
    let middle: Word = text.set("shr.u32", format_args!("{sum}, 1"));
    let address = element(text, keys, middle, 8);
    let there: Long = text.set("ld.global.nc.u64", format_args!("[{address}]"));
    let is_before: Flag = text.set("setp.lt.u64", format_args!("{there}, {key}"));
    text.line(format_args!("@{is_before} add.u32 {low}, {middle}, 1"));
    text.line(format_args!("@!{is_before} mov.b32 {high}, {middle}"));
    text.jump(again);
    text.place(found);
    low
}

/// The most rows that a search can have.
fn rows_max(layout: &Layout, radius: Value) -> u64 {
    let edge = layout.numbers.bucket_edge as u64;
    let across = match radius {
        Value::Const(radius) => 2 * radius.max(0) as u64 / edge + 2,
        Value::Word(_) => u64::MAX,
    };
    let [_, y, z] = layout.numbers.buckets.map(|buckets| buckets.min(across));
    y * z
}

/// So few rows are searched even where there are fewer entities.
const ROWS_FEW: u64 = 16;
