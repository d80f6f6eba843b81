use shared::world::config::DELAY_TICKS_MAX;
use shared::world::course::VELOCITY_MAX;
use shared::world::edit::Edit;
use shared::world::field::Goals;
use shared::{EntityId, Tick, WorldConfig};

use super::{Snapshot, Track};
use crate::logic::Catalog;
use crate::slot::SlotState;
use crate::space::field::FieldCells;
use crate::tick::error::RestoreError;
use crate::tick::frame::{Observer, Target};

impl Snapshot {
    /// Checks that a world of this configuration can continue from here: every part has the
    /// right size, and every value is one that a tick could have produced.
    pub fn check(&self, config: &WorldConfig) -> Result<(), RestoreError> {
        self.check_sizes(config)?;
        if self.tick > Tick::MAX {
            return tick_out_of_range("the number of its tick", self.tick);
        }
        self.check_slots(config)?;
        self.check_shared(config)?;
        self.check_tracks(config)?;
        self.check_past(config)?;
        self.check_ready(config)?;
        for observer in self.observers.iter().flatten() {
            check_observer(observer, config)?;
        }
        self.check_regions(config)?;
        self.check_fallen(config)?;
        self.check_clients(config)?;
        self.check_deferred(config)?;
        self.check_fields(config)?;
        self.check_edits(config)?;
        self.check_timed(config)
    }

    fn check_sizes(&self, config: &WorldConfig) -> Result<(), RestoreError> {
        let capacity = config.schema.world.capacity as usize;
        let tracks = capacity * usize::from(config.motion.is_some());
        let past = config.limits.rewind_ticks as usize * capacity * config.dimensions();
        let resting = config.schema.resting_commands().count();
        let clients = config.limits.clients as usize;
        let values = capacity * config.schema.attributes.len();
        let observers = clients * config.limits.observers_per_client as usize;
        let regions = clients * config.limits.regions_per_client as usize;
        let carriers = capacity * usize::from(config.limits.entity_regions);
        let sizes = [
            ("slot states", capacity, self.states.len()),
            ("generations", capacity, self.generations.len()),
            ("kinds", capacity, self.kinds.len()),
            ("ticks of rebirths", capacity, self.due.len()),
            ("values", values, self.rows.len()),
            ("tracks", tracks, self.tracks.len()),
            ("past positions", past, self.past.len()),
            ("ticks of rests", capacity * resting, self.ready.len()),
            ("observers", observers, self.observers.len()),
            ("regions", regions, self.regions.len()),
            ("publications", carriers, self.publications.len()),
            ("subscriptions", carriers, self.subscriptions.len()),
            ("clients", clients, self.known.len()),
            ("fields", config.schema.fields.len(), self.fields.len()),
        ];
        for (what, expected, found) in sizes {
            if expected != found {
                return Err(RestoreError::WrongSize {
                    what,
                    expected,
                    found,
                });
            }
        }
        Ok(())
    }

    fn check_slots(&self, config: &WorldConfig) -> Result<(), RestoreError> {
        let schema = &config.schema;
        let bounds: Vec<_> = (0..schema.kinds.len()).map(|k| schema.bounds(k)).collect();
        let empty = vec![(0, 0); schema.attributes.len()];
        for (slot, row) in self.rows.chunks_exact(empty.len()).enumerate() {
            let kind = self.kinds[slot];
            let bounds = match self.states[slot] {
                SlotState::Live => bounds.get(usize::from(kind)),
                SlotState::Free | SlotState::Resting => (kind == 0).then_some(&empty),
                SlotState::Fallen | SlotState::Reserved => Some(&empty),
            };
            let Some(bounds) = bounds else {
                return out_of_range("kinds", kind);
            };
            for (&value, &(min, max)) in row.iter().zip(bounds) {
                if value < min || value > max {
                    return out_of_range("values", value);
                }
            }
        }
        Ok(())
    }

    /// Checks that what the whole world shares is in its slot.
    fn check_shared(&self, config: &WorldConfig) -> Result<(), RestoreError> {
        let Some(entity) = config.schema.world_entity() else {
            return Ok(());
        };
        let slot = entity.slot.index();
        let lives = self.states[slot] == SlotState::Live && self.due[slot] == Tick(0);
        let is_own = Some(self.kinds[slot]) == config.schema.world_kind;
        match lives && is_own && self.generations[slot] == entity.generation {
            true => Ok(()),
            false => out_of_range("slots of what the world shares", slot as i64),
        }
    }

    /// Checks that only living entities have a track, one that can be sent.
    fn check_tracks(&self, config: &WorldConfig) -> Result<(), RestoreError> {
        let tolerance = config.motion.as_ref().map_or(0, |motion| motion.tolerance);
        let (size, dimensions) = (config.size_raw(), config.dimensions());
        let columns = config.schema.attributes.len();
        for (slot, track) in self.tracks.iter().enumerate() {
            if self.states[slot] != SlotState::Live && *track != Track::default() {
                return out_of_range("slots with tracks", slot as i64);
            }
            let fastest = match track.glides {
                true => VELOCITY_MAX,
                false => i32::MAX,
            };
            let row = &self.rows[slot * columns..][..columns];
            for (axis, &size) in size.iter().enumerate() {
                let (step, offset) = (track.step[axis], track.offset[axis]);
                // An axis that the world lacks is one step long, and has no room for any.
                if i64::from(step).abs() > i64::from(fastest.min(size - 1)) {
                    return out_of_range("steps", step);
                }
                let here = if axis < dimensions { row[axis] } else { 0 };
                let sent = i64::from(here) + i64::from(offset);
                let is_inside = (0..i64::from(size)).contains(&sent);
                if !is_inside || i64::from(offset).abs() > i64::from(tolerance) {
                    return out_of_range("offsets", offset);
                }
            }
        }
        Ok(())
    }

    /// Checks that only living entities were somewhere, within the world.
    fn check_past(&self, config: &WorldConfig) -> Result<(), RestoreError> {
        let (size, dimensions) = (config.size_raw(), config.dimensions());
        let slots = self.states.len();
        for (i, position) in self.past.chunks_exact(dimensions).enumerate() {
            let lives = self.states[i % slots] == SlotState::Live;
            let was_there = position[0] > 0;
            if was_there && !lives {
                return out_of_range("slots with past positions", (i % slots) as i64);
            }
            for (&stored, size) in position.iter().zip(size) {
                let fits = match was_there {
                    true => (1..=size).contains(&stored),
                    false => stored == 0,
                };
                if !fits {
                    return out_of_range("past positions", i64::from(stored) - 1);
                }
            }
        }
        Ok(())
    }

    /// Checks that only living entities have used commands, and that none rests for longer than
    /// it does.
    fn check_ready(&self, config: &WorldConfig) -> Result<(), RestoreError> {
        let resting: Vec<u32> = config
            .schema
            .resting_commands()
            .map(|command| command.cooldown)
            .collect();
        for (slot, ready) in self.ready.chunks_exact(resting.len().max(1)).enumerate() {
            for (&ready, &ticks) in ready.iter().zip(&resting) {
                let is_used = ready > Tick(0);
                let lives = self.states[slot] == SlotState::Live;
                if is_used && (!lives || ready.since(self.tick) >= ticks) {
                    return tick_out_of_range("ticks of rests", ready);
                }
            }
        }
        Ok(())
    }

    /// Checks that regions are as the world stores them, and that only living entities
    /// carry regions, which follow no other entity.
    fn check_regions(&self, config: &WorldConfig) -> Result<(), RestoreError> {
        let all = self.regions.iter().chain(&self.publications);
        for region in all.chain(&self.subscriptions).flatten() {
            if region.check(config) != Ok(*region) {
                let [low, ..] = region.low;
                return out_of_range("regions", low);
            }
        }
        for carried in [&self.publications, &self.subscriptions] {
            for (slot, region) in carried.iter().enumerate() {
                let Some(region) = region else { continue };
                let own = EntityId::new(slot as u32, self.generations[slot]);
                let lives = self.states[slot] == SlotState::Live;
                if !lives || region.follows.is_some_and(|followed| followed != own) {
                    return out_of_range("slots with regions", slot as i64);
                }
            }
        }
        Ok(())
    }

    /// Checks that no living entity has fallen but those that die in the next tick, and that those to be born again are of kinds
    /// that are.
    fn check_fallen(&self, config: &WorldConfig) -> Result<(), RestoreError> {
        let catalog = Catalog::new(config);
        for (slot, &due) in self.due.iter().enumerate() {
            let kind = self.kinds[slot];
            if !self.states[slot].is_taken() {
                let is_falling = self.states[slot] == SlotState::Live && due == self.tick;
                let may_fall = is_falling && catalog.fall_column(kind).is_some();
                if due != Tick(0) && !may_fall {
                    return tick_out_of_range("ticks of rebirths", due);
                }
                continue;
            }
            if !catalog.is_kind(kind) || catalog.respawn_ticks(kind).is_none() {
                return out_of_range("kinds", kind);
            }
            // A rebirth that is overdue waits for its slot.
            if due.since(self.tick) >= DELAY_TICKS_MAX {
                return tick_out_of_range("ticks of rebirths", due);
            }
        }
        let columns = config.schema.attributes.len();
        for (slot, row) in self.rows.chunks_exact(columns).enumerate() {
            let lives = self.states[slot] == SlotState::Live && self.due[slot] == Tick(0);
            if lives && catalog.has_fallen(self.kinds[slot], row) {
                return out_of_range("slots of the fallen", slot as i64);
            }
        }
        Ok(())
    }

    fn check_deferred(&self, config: &WorldConfig) -> Result<(), RestoreError> {
        if self.deferred.len() > config.limits.commands_per_tick as usize {
            return out_of_range("number of deferred commands", self.deferred.len() as i64);
        }
        for command in &self.deferred {
            let beyond = command.words.get(usize::from(command.word_count)..);
            if beyond.is_none_or(|beyond| beyond.iter().any(|&word| word != 0)) {
                return out_of_range("deferred commands' word counts", command.word_count);
            }
        }
        Ok(())
    }

    /// Checks that fields have cells of the world, and goals only of kinds.
    fn check_fields(&self, config: &WorldConfig) -> Result<(), RestoreError> {
        let schema = &config.schema;
        let Some(grid) = schema.layers.blocked().map(|walls| walls.grid) else {
            return Ok(());
        };
        let is_cell = |cell: u32| {
            let (x, y) = (cell % grid.row as u32, cell / grid.row as u32);
            x < grid.cells[0] as u32 && y < grid.cells[1] as u32
        };
        for (field, state) in schema.fields.iter().zip(&self.fields) {
            for FieldCells { goals, closed } in [&state.in_force, &state.under_way] {
                let has_goals = matches!(field.goals, Goals::Kind(_)) || goals.is_empty();
                let has_doors = !schema.doors.is_empty() || closed.is_empty();
                if !has_goals || !has_doors {
                    return out_of_range("number of a field's cells", goals.len() as i64);
                }
                for cells in [goals, closed] {
                    if !cells.is_sorted_by(|a, b| a < b) {
                        return out_of_range("order of a field's cells", cells.len() as i64);
                    }
                    if let Some(&cell) = cells.iter().find(|&&cell| !is_cell(cell)) {
                        return out_of_range("cells of fields", cell);
                    }
                }
                if let Some(&cell) = closed.iter().find(|&&cell| schema.layers.is_wall_at(cell)) {
                    return out_of_range("cells of fields that doors block", cell);
                }
            }
        }
        Ok(())
    }

    /// Checks that edits are of cells that can differ, and do.
    fn check_edits(&self, config: &WorldConfig) -> Result<(), RestoreError> {
        if self.edits.len() > config.limits.edited_cells as usize {
            return out_of_range("number of edited cells", self.edits.len() as i64);
        }
        let layers = &config.schema.layers;
        let is_change = |edit: &Edit| {
            layers.allows(edit) && layers.unedited(edit.layer, edit.cell) != Some(edit.value)
        };
        if let Some(edit) = self.edits.iter().find(|edit| !is_change(edit)) {
            return out_of_range("edited cells", edit.cell);
        }
        let is_sorted = (self.edits).is_sorted_by(|a, b| (a.layer, a.cell) < (b.layer, b.cell));
        if !is_sorted {
            return out_of_range("order of edited cells", self.edits.len() as i64);
        }
        Ok(())
    }

    fn check_timed(&self, config: &WorldConfig) -> Result<(), RestoreError> {
        let room = config.limits.timed_commands;
        if self.timed.len() > room as usize {
            return out_of_range("number of timed commands", self.timed.len() as i64);
        }
        if !self.timed.is_sorted_by(|a, b| a.sequence < b.sequence) {
            return out_of_range("timed commands' order", self.timed.len() as i64);
        }
        let last = self.timed.last().map(|last| last.sequence);
        // If the limit is 0, no command was ever scheduled.
        let is_next = last.is_none_or(|last| last < self.next_sequence);
        if !is_next || room == 0 && self.next_sequence > 0 {
            return out_of_range("next sequence number", self.next_sequence as i64);
        }
        for command in &self.timed {
            if command.due < self.tick || command.due.since(self.tick) >= DELAY_TICKS_MAX {
                return tick_out_of_range("ticks in which commands are due", command.due);
            }
            match command.words.get(usize::from(command.word_count)..) {
                None => return out_of_range("timed commands' word counts", command.word_count),
                Some(beyond) => {
                    if let Some(&word) = beyond.iter().find(|&&word| word != 0) {
                        return out_of_range("timed commands' unused words", word);
                    }
                }
            }
        }
        Ok(())
    }

    fn check_clients(&self, config: &WorldConfig) -> Result<(), RestoreError> {
        let world = &config.schema.world;
        for known in &self.known {
            if known.len() > world.visible_max as usize {
                return out_of_range("number of known entities", known.len() as i64);
            }
            if !known.is_sorted_by(|a, b| a < b) {
                return out_of_range("known entities' order", known.len() as i64);
            }
            if let Some(&slot) = known.last().filter(|&&slot| slot >= world.capacity) {
                return out_of_range("known entities", slot);
            }
        }
        if !self.behind.is_sorted_by(|a, b| a < b) {
            return out_of_range("order of clients behind", self.behind.len() as i64);
        }
        if let Some(&client) = self.behind.last().filter(|&&c| c >= config.limits.clients) {
            return out_of_range("clients behind", client);
        }
        Ok(())
    }
}

fn check_observer(observer: &Observer, config: &WorldConfig) -> Result<(), RestoreError> {
    if !(0..=config.schema.world.aoi.raw()).contains(&observer.radius) {
        return out_of_range("observers' radii", observer.radius);
    }
    if let Target::Point(point) = observer.target {
        for (position, size) in point.into_iter().zip(config.size_raw()) {
            if !(0..size).contains(&position) {
                return out_of_range("observers' points", position);
            }
        }
    }
    Ok(())
}

fn out_of_range(what: &'static str, found: impl Into<i64>) -> Result<(), RestoreError> {
    Err(RestoreError::OutOfRange {
        what,
        found: found.into(),
    })
}

fn tick_out_of_range(what: &'static str, found: Tick) -> Result<(), RestoreError> {
    out_of_range(what, i64::try_from(found.0).unwrap_or(i64::MAX))
}
