//! A tick's births, deaths, courses and changes in bits, without the columns that no client is
//! sent.
//!
//! | field | bits |
//! | --- | --- |
//! | births: their number; of each: kind, slot, generation, the columns, of worlds with more than 64 those of its kind | as small numbers |
//! | deaths: their number; of each: slot, generation | as small numbers |
//! | courses: their number; of each: its distance in slots, position, velocity | a Rice code, then signed numbers |
//! | changes: the number of entities; of each: its distance in slots, which columns, their values | a Rice code, a bit for each column, or of worlds with more than 64 their number as a small number and 8 bits for each; signed numbers |
//!
//! Where movement is sent as courses, other changes of a position are left out: a front end
//! extrapolates it as clients do.

use gpu_kernels::tick::output::Changes;
use gpu_kernels::{Birth, Courses, TickOutput};
use shared::wire::bits::{BitReader, BitWriter};
use shared::world::columns::Columns;
use shared::{EntityId, Slot, WorldConfig};

use super::known::{Fresh, gap_parameter};
use super::{WireError, below};
use crate::mirror::{Mirror, masks};

/// The layout of a world's entities.
pub struct Shape {
    pub capacity: u32,
    columns: usize,
    dimensions: usize,
    /// By kind: the columns that are sent of a newborn.
    born: Vec<Columns>,
    /// The columns whose changes are sent by themselves.
    by_change: Columns,
    /// Whether changes have numbers of columns instead of a bit for each.
    is_wide: bool,
    has_courses: bool,
}

impl Shape {
    pub fn of(config: &WorldConfig) -> Shape {
        let schema = &config.schema;
        let has_courses = config.motion.is_some();
        let is_wide = schema.attributes.len() > BITS;
        let visible = masks::visible(schema);
        let position: Columns = (0..schema.dimensions()).collect();
        Shape {
            capacity: schema.world.capacity,
            columns: schema.attributes.len(),
            dimensions: schema.dimensions(),
            born: match is_wide {
                true => {
                    let own = schema.kind_columns().into_iter();
                    own.map(|own| visible & own).collect()
                }
                false => vec![visible; schema.kinds.len()],
            },
            by_change: match has_courses {
                true => visible & !position,
                false => visible,
            },
            is_wide,
            has_courses,
        }
    }

    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Appends a tick, after which the world is as the mirror has it. Notes what has changed.
    pub fn write(
        &self,
        output: &TickOutput,
        mirror: &Mirror,
        fresh: &mut Fresh,
        writer: &mut BitWriter,
    ) {
        fresh.clear();
        let births = output.births.iter().filter(|b| b.entity.is_some());
        put_count(writer, births.clone().count());
        let rows = output.birth_rows.chunks_exact(self.columns);
        for (birth, row) in births.zip(rows) {
            let entity = birth.entity.unwrap_or(EntityId::NONE);
            self.write_entity(entity, birth.kind, row, writer);
        }
        put_count(writer, output.deaths.len());
        output
            .deaths
            .iter()
            .for_each(|&dead| put_entity(writer, dead));
        self.write_courses(&output.courses, mirror, fresh, writer);
        self.write_changes(&output.changes, fresh, writer);
    }

    /// Appends an entity with the columns that clients are sent.
    pub fn write_entity(&self, entity: EntityId, kind: u16, row: &[i32], writer: &mut BitWriter) {
        writer.put_small(kind.into());
        put_entity(writer, entity);
        let columns = self.born[usize::from(kind)].iter();
        columns.for_each(|column| writer.put_signed(row[column]));
    }

    /// Reads an entity and its kind. The other columns of its row are 0.
    pub fn read_entity_row(
        &self,
        row: &mut Vec<i32>,
        reader: &mut BitReader<'_>,
    ) -> Result<(EntityId, u16), WireError> {
        let kind = reader.get_small()?;
        below("a kind", kind.into(), self.born.len() as u64)?;
        let entity = self.read_entity(reader)?;
        row.clear();
        row.resize(self.columns, 0);
        for column in self.born[kind as usize].iter() {
            row[column] = reader.get_signed()?;
        }
        Ok((entity, u16::try_from(kind).unwrap_or(u16::MAX)))
    }

    fn write_courses(
        &self,
        courses: &Courses,
        mirror: &Mirror,
        fresh: &mut Fresh,
        writer: &mut BitWriter,
    ) {
        if !self.has_courses {
            return;
        }
        let mut gaps = self.write_gaps(courses.slots.len(), writer);
        for (slot, velocity) in courses.iter() {
            gaps.put(slot.0, writer);
            fresh.add(slot.0);
            let position = mirror.position(slot);
            let position = &position[..self.dimensions];
            position.iter().for_each(|&value| writer.put_signed(value));
            velocity.iter().for_each(|&value| writer.put_signed(value));
        }
    }

    fn write_changes(&self, changes: &Changes, fresh: &mut Fresh, writer: &mut BitWriter) {
        let is_sent = |&column: &u16| self.by_change.has(column.into());
        let sent = || {
            let changes = changes.iter();
            changes.filter(|(_, columns, _)| columns.iter().any(is_sent))
        };
        let mut gaps = self.write_gaps(sent().count(), writer);
        for (slot, changed, values) in sent() {
            gaps.put(slot.0, writer);
            fresh.add(slot.0);
            let columns = changed.iter().filter(|c| is_sent(c));
            match self.is_wide {
                true => {
                    put_count(writer, columns.clone().count());
                    columns.for_each(|&column| writer.put(column.into(), COLUMN_BITS));
                }
                false => {
                    let mask: Columns = columns.map(|&column| usize::from(column)).collect();
                    let all = self.by_change.iter();
                    all.for_each(|column| writer.put(mask.has(column).into(), 1));
                }
            }
            // Columns ascend, as their bits do.
            for (column, &value) in changed.iter().zip(values) {
                if is_sent(column) {
                    writer.put_signed(value);
                }
            }
        }
    }

    /// Reads a tick into an output.
    pub fn read(
        &self,
        output: &mut TickOutput,
        fresh: &mut Fresh,
        reader: &mut BitReader<'_>,
    ) -> Result<(), WireError> {
        fresh.clear();
        let mut row = vec![];
        for _ in 0..reader.get_small()? {
            let (entity, kind) = self.read_entity_row(&mut row, reader)?;
            output.births.push(Birth {
                token: 0,
                kind,
                entity: Some(entity),
            });
            output.birth_rows.extend_from_slice(&row);
        }
        for _ in 0..reader.get_small()? {
            output.deaths.push(self.read_entity(reader)?);
        }
        let positions = self.read_courses(&mut output.courses, fresh, reader)?;
        let (slots, changes) = self.read_changes(fresh, reader)?;
        self.join(output, &positions, &slots, &changes);
        Ok(())
    }

    /// Returns the positions.
    fn read_courses(
        &self,
        courses: &mut Courses,
        fresh: &mut Fresh,
        reader: &mut BitReader<'_>,
    ) -> Result<Vec<i32>, WireError> {
        let mut positions = vec![];
        if !self.has_courses {
            return Ok(positions);
        }
        let mut gaps = self.read_gaps(reader)?;
        while let Some(slot) = gaps.get(reader)? {
            fresh.add(slot);
            courses.slots.push(slot);
            for _ in 0..self.dimensions {
                positions.push(reader.get_signed()?);
            }
            for _ in 0..self.dimensions {
                courses.velocities.push(reader.get_signed()?);
            }
        }
        Ok(positions)
    }

    /// Returns the slots, and of each the number of changes; and all changes.
    fn read_changes(
        &self,
        fresh: &mut Fresh,
        reader: &mut BitReader<'_>,
    ) -> Result<Changed, WireError> {
        let (mut slots, mut changes) = (vec![], vec![]);
        let mut gaps = self.read_gaps(reader)?;
        while let Some(slot) = gaps.get(reader)? {
            fresh.add(slot);
            let changed = self.read_columns(reader)?;
            let before = changes.len();
            for column in changed.iter() {
                let value = reader.get_signed()?;
                changes.push((u16::try_from(column).unwrap_or(u16::MAX), value));
            }
            slots.push((slot, changes.len() - before));
        }
        Ok((slots, changes))
    }

    /// The columns of an entity that have changed.
    fn read_columns(&self, reader: &mut BitReader<'_>) -> Result<Columns, WireError> {
        let mut changed = Columns::NONE;
        if self.is_wide {
            for _ in 0..reader.get_small()? {
                let column: u16 = reader.get_as(COLUMN_BITS)?;
                below("a column", column.into(), self.columns as u64)?;
                changed.insert(column.into());
            }
            return Ok(changed);
        }
        for column in self.by_change.iter() {
            if reader.get_bool()? {
                changed.insert(column);
            }
        }
        Ok(changed)
    }

    /// Joins the positions of courses with the other changes, by slot.
    fn join(
        &self,
        output: &mut TickOutput,
        positions: &[i32],
        slots: &[(u32, usize)],
        mut changes: &[Change],
    ) {
        let out = &mut output.changes;
        out.offsets.push(0);
        let turned = output.courses.slots.iter().copied();
        let mut turned = turned
            .zip(positions.chunks_exact(self.dimensions.max(1)))
            .peekable();
        let mut others = slots.iter().peekable();
        loop {
            let next = turned.peek().map(|course| course.0);
            let next = next
                .into_iter()
                .chain(others.peek().map(|other| other.0))
                .min();
            let Some(slot) = next else { return };
            out.slots.push(slot);
            if let Some((_, position)) = turned.next_if(|course| course.0 == slot) {
                out.columns.extend((0..).take(self.dimensions));
                out.values.extend_from_slice(position);
            }
            if let Some(&(_, count)) = others.next_if(|other| other.0 == slot) {
                let (own, later) = changes.split_at(count);
                out.columns.extend(own.iter().map(|change| change.0));
                out.values.extend(own.iter().map(|change| change.1));
                changes = later;
            }
            out.offsets
                .push(u32::try_from(out.values.len()).unwrap_or(u32::MAX));
        }
    }

    fn read_entity(&self, reader: &mut BitReader<'_>) -> Result<EntityId, WireError> {
        let (slot, generation) = (reader.get_small()?, reader.get_small()?);
        below("a slot", slot.into(), self.capacity.into())?;
        Ok(EntityId::new(slot, generation))
    }

    fn write_gaps(&self, slots: usize, writer: &mut BitWriter) -> Gaps {
        let gaps = Gaps::of(self.capacity, u32::try_from(slots).unwrap_or(u32::MAX));
        writer.put_small(gaps.left);
        gaps
    }

    fn read_gaps(&self, reader: &mut BitReader<'_>) -> Result<Gaps, WireError> {
        Ok(Gaps::of(self.capacity, reader.get_small()?))
    }
}

/// A column and its value.
type Change = (u16, i32);

/// Slots, each with its number of changes; and all changes.
type Changed = (Vec<(u32, usize)>, Vec<Change>);

/// Ascending slots, each as its distance from the one before.
struct Gaps {
    capacity: u32,
    parameter: u32,
    left: u32,
    next: u32,
}

impl Gaps {
    fn of(capacity: u32, slots: u32) -> Gaps {
        Gaps {
            capacity,
            parameter: gap_parameter(capacity, slots),
            left: slots,
            next: 0,
        }
    }

    fn put(&mut self, slot: u32, writer: &mut BitWriter) {
        writer.put_rice(slot - self.next, self.parameter);
        self.next = slot + 1;
    }

    fn get(&mut self, reader: &mut BitReader<'_>) -> Result<Option<u32>, WireError> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        let slot = self.next.saturating_add(reader.get_rice(self.parameter)?);
        below("a slot", slot.into(), self.capacity.into())?;
        (self.left, self.next) = (left, slot + 1);
        Ok(Some(slot))
    }
}

fn put_count(writer: &mut BitWriter, count: usize) {
    writer.put_small(u32::try_from(count).unwrap_or(u32::MAX));
}

fn put_entity(writer: &mut BitWriter, entity: EntityId) {
    let EntityId {
        slot: Slot(slot),
        generation,
    } = entity;
    writer.put_small(slot);
    writer.put_small(generation);
}

/// With more columns, an entity has far fewer changes than there are columns.
const BITS: usize = 64;
const COLUMN_BITS: u32 = 8;
