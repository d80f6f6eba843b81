//! Layers: what the cells of a grid over `x` and `y` are. While a world runs, only
//! [doors](super::door) change them, and [edits](super::edit) those that are editable.
//!
//! All of them are one list of words, which backends keep as it is: first the bits of `blocked`,
//! then the heights, the tags, and the symbols of the tags.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::edit::{Edit, LayerKind};
use super::mix::mix;

/// The layers of a world; none by default, which costs nothing.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    words: Arc<[i32]>,
    /// The words as they were before any edit; without doors.
    base: Arc<[i32]>,
    /// By layer and number of a cell: what edits made of those that differ from `base`.
    edited: Arc<BTreeMap<(LayerKind, u32), i32>>,
    /// By layer.
    editable: [bool; 3],
    /// The places, among the bits of walls, of the cells that doors block and nothing else does;
    /// ascending.
    closed: Arc<[u32]>,
    hash: u64,
    size: [i32; 2],
    home: [i32; 2],
    blocked: Option<Blocked>,
    height: Option<Grid>,
    tag: Option<Tags>,
}

/// Where the words of a grid are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The binary logarithm of the edge of a cell, in raw units.
    pub edge_bits: u32,
    /// Cells along `x` and `y`.
    pub cells: [i32; 2],
    /// How many cells a row has in the list: at least those of the grid.
    pub row: i32,
    /// The place of the first word.
    pub first: i32,
}

/// Walls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Its rows have a power of two of cells.
    pub grid: Grid,
    /// A cell that is free: where nothing near is, entities go there.
    pub refuge: [i32; 2],
}

impl Blocked {
    /// The number of words with its bits, which are the first of the layers.
    pub fn words(&self) -> usize {
        (self.grid.row as usize * self.grid.cells[1] as usize).div_ceil(32)
    }
}

/// The tags of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags {
    pub grid: Grid,
    /// Where the symbols of tags begin in the list: that of 0 is -1, which is none.
    pub symbols: i32,
}

/// The cells of one layer, row by row, from the lowest `y` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sheet<T> {
    /// The binary logarithm of the edge of a cell, in raw units.
    pub edge_bits: u32,
    pub cells: Vec<T>,
}

/// What layers are made of. Each sheet covers the world.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sheets {
    /// At least one cell is free.
    pub blocked: Option<Sheet<bool>>,
    pub height: Option<Sheet<i16>>,
    /// 0 is no tag; others are places in `tag_symbols`, from 1.
    pub tag: Option<Sheet<u8>>,
    pub tag_symbols: Vec<i32>,
    /// The edges of the part at the origin whose middle is the refuge; 0: of the whole world.
    pub home: [i32; 2],
    /// By layer, in the order of [`LayerKind`]: whether scripts can change its cells.
    pub editable: [bool; 3],
}

/// The most cells along an axis.
pub const CELLS_MAX: i32 = 8192;
/// How many cells around a wall are searched for a free one: all up to 24 cells away.
pub const SEARCH_CELLS: i32 = 49 * 49;

/// The bits of a cell among words, by its place in the grid.
fn bits_of(words: &[i32], grid: &Grid, at: i32, bits: u32) -> u32 {
    let in_word = 32 / bits as i32;
    let place = usize::try_from(grid.first + at / in_word).ok();
    let word = place.and_then(|place| words.get(place));
    let shift = at % in_word * bits as i32;
    word.map_or(0, |word| word.cast_unsigned()) >> shift & (u32::MAX >> (32 - bits))
}

/// The same as a value of an edit.
fn value_at(words: &[i32], grid: &Grid, at: i32, layer: LayerKind) -> i32 {
    let bits = bits_of(words, grid, at, layer.bits());
    match layer {
        LayerKind::Height => i32::from(bits as u16 as i16),
        LayerKind::Blocked | LayerKind::Tag => bits.cast_signed(),
    }
}

/// The place in a grid of the cell of a number; `None` if it has none.
fn place_of(grid: &Grid, cell: u32) -> Option<i32> {
    let [width, height] = grid.cells.map(|cells| cells.cast_unsigned());
    let (x, y) = (cell % width.max(1), cell / width.max(1));
    (y < height).then(|| (y as i32) * grid.row + x as i32)
}

/// How many cells along an axis cover a world.
pub fn cells_of(size: i32, edge_bits: u32) -> i32 {
    ((size - 1) >> edge_bits) + 1
}

impl Layers {
    /// The layers of a world of this size, in raw units.
    pub fn new(size: [i32; 3], sheets: &Sheets) -> Layers {
        let size = [size[0], size[1]];
        let mut words: Vec<i32> = vec![];
        let mut grid_of = |edge_bits: u32, row: i32, bits: u32, cell: &dyn Fn(usize) -> i32| {
            let cells = size.map(|size| cells_of(size, edge_bits));
            let (first, in_word) = (words.len(), 32 / bits);
            let row = match row {
                0 => cells[0],
                row => row,
            };
            let all = row as usize * cells[1] as usize;
            words.resize(first + all.div_ceil(in_word as usize), 0);
            for y in 0..cells[1] as usize {
                for x in 0..cells[0] as usize {
                    let place = y * row as usize + x;
                    let value = cell(y * cells[0] as usize + x);
                    let shift = place as u32 % in_word * bits;
                    words[first + place / in_word as usize] |= value << shift;
                }
            }
            Grid {
                edge_bits,
                cells,
                row,
                first: first as i32,
            }
        };
        let blocked = sheets.blocked.as_ref().map(|sheet| {
            let width = cells_of(size[0], sheet.edge_bits);
            let row = (width as u32).next_power_of_two().max(32) as i32;
            let cell = |at: usize| i32::from(sheet.cells[at]);
            let grid = grid_of(sheet.edge_bits, row, 1, &cell);
            let home = [0, 1].map(|axis: usize| match sheets.home[axis] {
                0 => grid.cells[axis],
                home => cells_of(home, sheet.edge_bits),
            });
            let refuge = refuge(&grid, home, &sheet.cells);
            Blocked { grid, refuge }
        });
        let height = sheets.height.as_ref().map(|sheet| {
            let cell = |at: usize| i32::from(sheet.cells[at]) & 0xffff;
            grid_of(sheet.edge_bits, 0, 16, &cell)
        });
        let tag = sheets.tag.as_ref().map(|sheet| {
            let cell = |at: usize| i32::from(sheet.cells[at]);
            grid_of(sheet.edge_bits, 0, 8, &cell)
        });
        let tag = tag.map(|grid| {
            let symbols = words.len() as i32;
            words.push(-1);
            words.extend_from_slice(&sheets.tag_symbols);
            Tags { grid, symbols }
        });
        let words: Arc<[i32]> = words.into();
        let mut layers = Layers {
            base: words.clone(),
            words,
            edited: Arc::default(),
            editable: sheets.editable,
            closed: Arc::default(),
            hash: 0,
            size,
            home: sheets.home,
            blocked,
            height,
            tag,
        };
        layers.hash = layers.hashed();
        layers
    }

    fn hashed(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let mut hash = mix(self.size[0] as u64, self.size[1] as u64);
        let grids = [self.blocked.map(|b| b.grid), self.height];
        for grid in grids.into_iter().chain([self.tag.map(|tag| tag.grid)]) {
            let edge = grid.map_or(u64::MAX, |grid| u64::from(grid.edge_bits));
            let first = grid.map_or(0, |grid| grid.first as u64);
            hash = mix(mix(hash, edge), first);
        }
        for pair in self.words.chunks(2) {
            let word = |at: usize| u64::from(pair.get(at).map_or(0, |&word| word as u32));
            hash = mix(hash, word(0) << 32 | word(1));
        }
        if self.has_editable() {
            let bits = self.editable.into_iter().rev();
            let bits = bits.fold(0, |bits, is_editable| bits << 1 | u64::from(is_editable));
            hash = mix(hash, bits);
        }
        hash
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Layers of one hash are the same, but for doors and edits; 0: there are none.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// All words, which instructions read by their places.
    pub fn words(&self) -> &[i32] {
        &self.words
    }

    /// A word; 0 where there is none.
    #[inline]
    pub fn word(&self, place: i32) -> i32 {
        let place = usize::try_from(place).ok();
        place
            .and_then(|place| self.words.get(place))
            .map_or(0, |&word| word)
    }

    pub fn blocked(&self) -> Option<&Blocked> {
        self.blocked.as_ref()
    }

    pub fn height(&self) -> Option<&Grid> {
        self.height.as_ref()
    }

    pub fn tag(&self) -> Option<&Tags> {
        self.tag.as_ref()
    }

    /// Blocks the cells of doors, by their places among the bits of walls, in place of those that
    /// were blocked so before. Returns whether that changes anything. The hash stays.
    pub fn close(&mut self, mut cells: Vec<u32>) -> bool {
        if cells.is_empty() && self.closed.is_empty() {
            return false;
        }
        cells.sort_unstable();
        cells.dedup();
        let before = self.closed.clone();
        cells.retain(|&at| before.binary_search(&at).is_ok() || !self.is_wall_at(at));
        if *before == *cells {
            return false;
        }
        let words = Arc::make_mut(&mut self.words);
        for &at in before.iter() {
            words[at as usize >> 5] &= !(1 << (at & 31));
        }
        for &at in &cells {
            words[at as usize >> 5] |= 1 << (at & 31);
        }
        self.closed = cells.into();
        true
    }

    /// The places, among the bits of walls, of the cells that doors block and nothing else does;
    /// ascending.
    pub fn closed(&self) -> &[u32] {
        &self.closed
    }

    /// Whether the bit of walls at a place is set.
    pub fn is_wall_at(&self, at: u32) -> bool {
        self.word((at >> 5) as i32) >> (at & 31) & 1 == 1
    }

    /// The grid of a layer.
    pub fn grid(&self, layer: LayerKind) -> Option<&Grid> {
        match layer {
            LayerKind::Blocked => self.blocked.as_ref().map(|walls| &walls.grid),
            LayerKind::Height => self.height.as_ref(),
            LayerKind::Tag => self.tag.as_ref().map(|tags| &tags.grid),
        }
    }

    /// Whether scripts can change the cells of a layer.
    pub fn is_editable(&self, layer: LayerKind) -> bool {
        self.editable[layer as usize] && self.grid(layer).is_some()
    }

    /// Whether scripts can change those of any.
    pub fn has_editable(&self) -> bool {
        LayerKind::ALL.iter().any(|&layer| self.is_editable(layer))
    }

    /// The cells that edits made differ from what the world began with, in the order of layers and
    /// cells.
    pub fn edits(&self) -> impl ExactSizeIterator<Item = Edit> {
        let edited = self.edited.iter();
        edited.map(|(&(layer, cell), &value)| Edit { layer, cell, value })
    }

    /// Those of [`Layers::edits`] from a cell of a layer on.
    pub fn edits_from(&self, from: (LayerKind, u32)) -> impl Iterator<Item = Edit> {
        let edited = self.edited.range(from..);
        edited.map(|(&(layer, cell), &value)| Edit { layer, cell, value })
    }

    /// The cells of editable layers that differ where all words are these, in the order of layers and
    /// cells.
    pub fn edits_among(&self, words: &[i32]) -> Vec<Edit> {
        let mut edits = vec![];
        for layer in LayerKind::ALL {
            let Some(&grid) = self.grid(layer).filter(|_| self.is_editable(layer)) else {
                continue;
            };
            let in_word = 32 / layer.bits().cast_signed();
            let of_layer = (grid.row * grid.cells[1] + in_word - 1) / in_word;
            for word in 0..of_layer {
                let place = (grid.first + word) as usize;
                if words.get(place) == self.base.get(place) {
                    continue;
                }
                for at in word * in_word..(word + 1) * in_word {
                    let (x, y) = (at % grid.row, at / grid.row);
                    let value = value_at(words, &grid, at, layer);
                    let is_cell = x < grid.cells[0] && y < grid.cells[1];
                    if is_cell && value != value_at(&self.base, &grid, at, layer) {
                        let cell = (y * grid.cells[0] + x).cast_unsigned();
                        edits.push(Edit { layer, cell, value });
                    }
                }
            }
        }
        edits
    }

    /// What a cell was before any edit; `None` if the layer or the cell is not there.
    pub fn unedited(&self, layer: LayerKind, cell: u32) -> Option<i32> {
        let grid = self.grid(layer)?;
        let at = place_of(grid, cell)?;
        Some(value_at(&self.base, grid, at, layer))
    }

    /// What a cell is, without doors; `None` if the layer or the cell is not there.
    pub fn value(&self, layer: LayerKind, cell: u32) -> Option<i32> {
        let edited = self.edited.get(&(layer, cell));
        edited.copied().or_else(|| self.unedited(layer, cell))
    }

    /// The value that a word of a script sets: a wall or none, a height within its bounds, the number of
    /// a tag by its symbol. `None` for a symbol that is no tag.
    pub fn value_of(&self, layer: LayerKind, word: i32) -> Option<i32> {
        match layer {
            LayerKind::Blocked => Some(i32::from(word != 0)),
            LayerKind::Height => Some(word.clamp(i16::MIN.into(), i16::MAX.into())),
            LayerKind::Tag => {
                let first = usize::try_from(self.tag?.symbols).ok()?;
                let place = self.words[first..]
                    .iter()
                    .position(|&symbol| symbol == word)?;
                i32::try_from(place).ok()
            }
        }
    }

    /// Whether an edit can be one of these layers.
    pub fn allows(&self, edit: &Edit) -> bool {
        let most = || self.words.len() as i32 - 1 - self.tag.map_or(0, |tags| tags.symbols);
        let is_value = match edit.layer {
            LayerKind::Blocked => (0..=1).contains(&edit.value),
            LayerKind::Height => i16::try_from(edit.value).is_ok(),
            LayerKind::Tag => (0..=most()).contains(&edit.value),
        };
        let has_cell =
            || (self.grid(edit.layer)).is_some_and(|grid| place_of(grid, edit.cell).is_some());
        is_value && self.is_editable(edit.layer) && has_cell()
    }

    /// Makes a cell what an edit says. Returns whether that changes what it is without doors: an edit
    /// that [`Layers::allows`] not changes nothing. The hash stays.
    pub fn edit(&mut self, edit: &Edit) -> bool {
        let &Edit { layer, cell, value } = edit;
        if !self.allows(edit) || self.value(layer, cell) == Some(value) {
            return false;
        }
        let Some(grid) = self.grid(layer).copied() else {
            return false;
        };
        let Some(at) = place_of(&grid, cell) else {
            return false;
        };
        let is_base = value_at(&self.base, &grid, at, layer) == value;
        let edited = Arc::make_mut(&mut self.edited);
        match is_base {
            true => edited.remove(&(layer, cell)),
            false => edited.insert((layer, cell), value),
        };
        self.set(&grid, at, layer, value);
        true
    }

    /// The same with edits: what these layers do not allow is left out.
    pub fn with_edits(&self, edits: &[Edit]) -> Layers {
        let mut edited = self.clone();
        for edit in edits {
            edited.edit(edit);
        }
        edited
    }

    /// Sets a cell by its place. What a door blocks stays blocked.
    fn set(&mut self, grid: &Grid, at: i32, layer: LayerKind, value: i32) {
        let bits = layer.bits().cast_signed();
        let in_word = 32 / bits;
        let place = (grid.first + at / in_word) as usize;
        let shift = at % in_word * bits;
        let mask = u32::MAX >> (32 - bits);
        let word = &mut Arc::make_mut(&mut self.words)[place];
        let others = word.cast_unsigned() & !(mask << shift);
        *word = (others | (value.cast_unsigned() & mask) << shift).cast_signed();
        if layer == LayerKind::Blocked
            && let Ok(place) = self.closed.binary_search(&at.cast_unsigned())
        {
            // It was free without its door, so it is a wall now, door or not.
            let mut closed = self.closed.to_vec();
            closed.remove(place);
            self.closed = closed.into();
        }
    }

    /// What layers are made of, again, with the cells of doors and edits.
    pub fn sheets(&self) -> Sheets {
        let cells = |grid: &Grid| {
            let [width, height] = grid.cells;
            let row = grid.row;
            (0..height).flat_map(move |y| (0..width).map(move |x| y * row + x))
        };
        let sheet_of_height = |grid: &Grid| Sheet {
            edge_bits: grid.edge_bits,
            cells: cells(grid)
                .map(|at| self.bits(grid, at, 16) as i16)
                .collect(),
        };
        Sheets {
            blocked: self.blocked.map(|Blocked { grid, .. }| Sheet {
                edge_bits: grid.edge_bits,
                cells: cells(&grid)
                    .map(|at| self.bits(&grid, at, 1) == 1)
                    .collect(),
            }),
            height: self.height.as_ref().map(sheet_of_height),
            tag: self.tag.map(|Tags { grid, .. }| Sheet {
                edge_bits: grid.edge_bits,
                cells: cells(&grid)
                    .map(|at| self.bits(&grid, at, 8) as u8)
                    .collect(),
            }),
            tag_symbols: match self.tag {
                Some(tags) => self.words[tags.symbols as usize + 1..].to_vec(),
                None => vec![],
            },
            home: self.home,
            editable: self.editable,
        }
    }

    /// The bits of a cell, by its place in the grid.
    fn bits(&self, grid: &Grid, at: i32, bits: u32) -> u32 {
        bits_of(&self.words, grid, at, bits)
    }

    fn bits_at(&self, grid: &Grid, place: [i32; 3], bits: u32) -> u32 {
        let [x, y] = self.nearest(place).map(|axis| axis >> grid.edge_bits);
        self.bits(grid, y * grid.row + x, bits)
    }

    /// The height of a place; `None` in a world without heights. Places outside of the world count
    /// as the nearest inside, for this and the others.
    pub fn height_at(&self, place: [i32; 3]) -> Option<i32> {
        let grid = self.height.as_ref()?;
        Some(i32::from(self.bits_at(grid, place, 16) as i16))
    }

    /// The number of the tag in the middle of each cell of walls, by its place among their bits; 0 is
    /// none, as in a world without tags or walls.
    pub fn tags_of_walls(&self) -> Vec<u8> {
        let (Some(walls), Some(tags)) = (&self.blocked, &self.tag) else {
            return vec![];
        };
        let grid = walls.grid;
        let mut numbers = vec![0; grid.row as usize * grid.cells[1] as usize];
        let half = 1 << (grid.edge_bits - 1);
        for y in 0..grid.cells[1] {
            for x in 0..grid.cells[0] {
                let middle = [x, y].map(|cell| (cell << grid.edge_bits) + half);
                let number = self.bits_at(&tags.grid, [middle[0], middle[1], 0], 8);
                numbers[(y * grid.row + x) as usize] = number as u8;
            }
        }
        numbers
    }

    /// The symbol of the tag of a place, -1 for none; `None` in a world without tags.
    pub fn tag_at(&self, place: [i32; 3]) -> Option<i32> {
        let tags = self.tag.as_ref()?;
        let number = self.bits_at(&tags.grid, place, 8);
        Some(self.word(tags.symbols + number as i32))
    }

    fn nearest(&self, place: [i32; 3]) -> [i32; 2] {
        [0, 1].map(|axis| place[axis].max(0).min(self.size[axis] - 1))
    }

    /// Whether a place is in a wall.
    pub fn is_blocked(&self, place: [i32; 3]) -> bool {
        let Some(walls) = &self.blocked else {
            return false;
        };
        let [x, y] = self.nearest(place);
        self.is_wall(walls, x >> walls.grid.edge_bits, y >> walls.grid.edge_bits)
    }

    /// Of a cell of the grid.
    fn is_wall(&self, walls: &Blocked, x: i32, y: i32) -> bool {
        let place = y * walls.grid.row + x;
        self.word(place >> 5) >> (place & 31) & 1 == 1
    }

    /// Whether no wall is on the line from the middle of a place's cell to the middle of another's,
    /// both included. A line through a corner passes unless both cells beside it are walls.
    pub fn sees(&self, from: [i32; 3], to: [i32; 3]) -> bool {
        let Some(walls) = &self.blocked else {
            return true;
        };
        Line::new(walls, self.nearest(from), self.nearest(to))
            .walk(|x, y| self.is_wall(walls, x, y))
            .is_none()
    }

    /// The same as [`Layers::sees`] where cells of `over` don't count as walls, along `x` and `y`.
    pub fn sees_over(&self, from: [i32; 3], to: [i32; 3], over: &[Range<i32>; 2]) -> bool {
        let Some(walls) = &self.blocked else {
            return true;
        };
        let is_over = |x, y| over[0].contains(&x) && over[1].contains(&y);
        Line::new(walls, self.nearest(from), self.nearest(to))
            .walk(|x, y| self.is_wall(walls, x, y) && !is_over(x, y))
            .is_none()
    }

    /// How far a shot goes whose way would end at a place: there, or to the middle of the last cell
    /// before a wall, on the line that [`Layers::sees`] looks along. One that gets nowhere ends where
    /// it began.
    pub fn first_hit(&self, from: [i32; 3], end: [i32; 3]) -> [i32; 3] {
        let Some(walls) = &self.blocked else {
            return end;
        };
        let (near, far) = (self.nearest(from), self.nearest(end));
        let line = Line::new(walls, near, far);
        let Some((cell, passed)) = line.walk(|x, y| self.is_wall(walls, x, y)) else {
            return [far[0], far[1], end[2]];
        };
        if passed == 0 {
            return [near[0], near[1], from[2]];
        }
        let bits = walls.grid.edge_bits;
        let middle = |axis: usize| {
            let middle = (cell[axis] << bits) + (1 << (bits - 1));
            middle.min(self.size[axis] - 1)
        };
        // As much of the way up as of the cells.
        let share = (i64::from(passed) << 12) / i64::from(line.cells);
        let way = i64::from(end[2].wrapping_sub(from[2]));
        let up = from[2].wrapping_add(((way * share) >> 12) as i32);
        [middle(0), middle(1), up]
    }

    /// Where a straight way ends: at its end, or where it meets a wall. It is gone in parts of at
    /// most a cell, as by [`Layers::slide`], which would go on along the wall.
    pub fn straight(&self, from: [i32; 3], to: [i32; 3]) -> [i32; 3] {
        let Some(walls) = &self.blocked else {
            return to;
        };
        let [start, end] = [from, to].map(|place| self.nearest(place));
        let way = [0, 1].map(|axis| i64::from(end[axis] - start[axis]));
        let bits = walls.grid.edge_bits;
        let parts = ((way[0].abs().max(way[1].abs()) - 1) >> bits) + 1;
        let mut at = start;
        for part in 1..=parts {
            for axis in 0..2 {
                let before = at[axis];
                at[axis] = start[axis] + (way[axis] * part / parts) as i32;
                if self.is_wall(walls, at[0] >> bits, at[1] >> bits) {
                    let edge = 1 << bits;
                    at[axis] = at[axis].max(before & -edge).min(before | (edge - 1));
                    return [at[0], at[1], to[2]];
                }
            }
        }
        to
    }

    /// The part of a step from a place that walls leave: as far as it goes, along walls. It is done
    /// in parts of at most a cell, along `x` and then along `y`, so it never ends in a wall, nor
    /// behind one. From within a wall it leads out, and to no other cell of it.
    pub fn slide(&self, from: [i32; 3], step: [i32; 3]) -> [i32; 3] {
        let Some(walls) = &self.blocked else {
            return step;
        };
        let start = self.nearest(from);
        let goal = |axis: usize| {
            let size = self.size[axis];
            let end = start[axis] + step[axis].max(-size).min(size);
            end.max(0).min(size - 1)
        };
        let way = [goal(0) - start[0], goal(1) - start[1]];
        let bits = walls.grid.edge_bits;
        let parts = ((way[0].abs().max(way[1].abs()) - 1) >> bits) + 1;
        let (mut at, mut owed) = (start, [0; 2]);
        for _ in 0..parts {
            for axis in 0..2 {
                owed[axis] += (way[axis] % parts).abs();
                let mut part = way[axis] / parts;
                if owed[axis] >= parts {
                    owed[axis] -= parts;
                    part += way[axis].signum();
                }
                let mut next = at;
                next[axis] += part;
                if self.is_wall(walls, next[0] >> bits, next[1] >> bits) {
                    let edge = 1 << bits;
                    next[axis] = next[axis].max(at[axis] & -edge).min(at[axis] | (edge - 1));
                }
                at = next;
            }
        }
        let moved = |axis: usize| at[axis].wrapping_sub(from[axis]);
        [moved(0), moved(1), step[2]]
    }

    /// Where an entity ends a tick that was at `before`, and is moved to `here`: as far as walls leave
    /// it, if it would be in one, or several commands have moved it along an axis.
    pub fn held(&self, before: [i32; 3], here: [i32; 3], by_several: bool) -> [i32; 3] {
        if self.blocked.is_none() || !by_several && !self.is_blocked(here) {
            return here;
        }
        let step = [0, 1].map(|axis| here[axis] - before[axis]);
        let [x, y, _] = self.slide([before[0], before[1], 0], [step[0], step[1], 0]);
        [before[0] + x, before[1] + y, here[2]]
    }

    /// Where an entity goes that is put at a place: there, or to the nearest place of a free cell.
    /// Cells around it are searched in a spiral.
    pub fn free_place(&self, place: [i32; 3]) -> [i32; 3] {
        let Some(walls) = &self.blocked else {
            return place;
        };
        let inside = self.nearest(place);
        let bits = walls.grid.edge_bits;
        let [mut x, mut y] = inside.map(|axis| axis >> bits);
        if !self.is_wall(walls, x, y) {
            return place;
        }
        let (mut along, mut across) = (1, 0);
        let (mut leg, mut left, mut turns) = (1, 1, 0);
        let cells = walls.grid.cells;
        let mut found = walls.refuge;
        for _ in 1..SEARCH_CELLS {
            (x, y) = (x + along, y + across);
            left -= 1;
            if left == 0 {
                (along, across) = (-across, along);
                turns ^= 1;
                leg += 1 - turns;
                left = leg;
            }
            let is_inside = (0..cells[0]).contains(&x) && (0..cells[1]).contains(&y);
            if is_inside && !self.is_wall(walls, x, y) {
                found = [x, y];
                break;
            }
        }
        let along = |axis: usize| {
            let low = found[axis] << bits;
            let high = (low + (1 << bits) - 1).min(self.size[axis] - 1);
            inside[axis].max(low).min(high)
        };
        [along(0), along(1), place[2]]
    }
}

/// The cells on the line from the middle of one to the middle of another.
struct Line {
    first: [i32; 2],
    /// How many cells are on it behind the first, if it goes through no corner.
    cells: i32,
    sign: [i32; 2],
    long: [i32; 2],
}

impl Line {
    fn new(walls: &Blocked, from: [i32; 2], to: [i32; 2]) -> Line {
        let bits = walls.grid.edge_bits;
        let [first, last] = [from, to].map(|place| place.map(|axis| axis >> bits));
        let way = [0, 1].map(|axis: usize| last[axis] - first[axis]);
        Line {
            first,
            cells: way[0].abs() + way[1].abs(),
            sign: way.map(|axis| if axis < 0 { -1 } else { 1 }),
            long: way.map(i32::abs),
        }
    }

    /// The last cell before the first wall, and how many of [`Line::cells`] are passed there; `None`
    /// if no wall is on it. Where the first cell is a wall, it counts as before itself.
    fn walk(&self, is_wall: impl Fn(i32, i32) -> bool) -> Option<([i32; 2], i32)> {
        let [mut x, mut y] = self.first;
        if is_wall(x, y) {
            return Some(([x, y], 0));
        }
        // Which border of the cell comes first: below 0 that to the next row, at 0 both at once.
        let mut lead = self.long[0] - self.long[1];
        let mut passed = 0;
        while passed < self.cells {
            let before = [x, y];
            let (along, across) = (x + self.sign[0], y + self.sign[1]);
            let mut steps = 1;
            if lead == 0 {
                if is_wall(along, y) && is_wall(x, across) {
                    return Some((before, passed));
                }
                (x, y) = (along, across);
                lead += 2 * (self.long[0] - self.long[1]);
                steps = 2;
            } else if lead < 0 {
                y = across;
                lead += 2 * self.long[0];
            } else {
                x = along;
                lead -= 2 * self.long[1];
            }
            if is_wall(x, y) {
                return Some((before, passed));
            }
            passed += steps;
        }
        None
    }
}

/// Layers are compared by their hash.
impl PartialEq for Layers {
    fn eq(&self, other: &Layers) -> bool {
        self.hash == other.hash
    }
}

impl Eq for Layers {}

/// The free cell that is nearest to the middle of so many cells at the origin; the middle, if none is
/// free.
fn refuge(grid: &Grid, home: [i32; 2], is_blocked: &[bool]) -> [i32; 2] {
    let width = grid.cells[0];
    let away = |at: usize| {
        let (x, y) = (at as i32 % width, at as i32 / width);
        ((2 * x - home[0]).abs().max((2 * y - home[1]).abs()), at)
    };
    let free = (0..is_blocked.len()).filter(|&at| !is_blocked[at]);
    match free.min_by_key(|&at| away(at)) {
        Some(at) => [at as i32 % width, at as i32 / width],
        None => home.map(|cells| cells / 2),
    }
}
