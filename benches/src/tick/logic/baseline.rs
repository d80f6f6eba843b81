//! The commands of a fight as functions in Rust: what the server ran before its commands
//! were scripts; and those that ask all over a world. Only what the frozen world lacks is left out, such as embers.

use script::arith::Random;
use script::builtin;
use script::interpreter::World;
use shared::{CommandKind, EntityRef, Slot};

use super::world::{BANNER, FITTEST, Frozen, GivenCommand, WARDEN, WOLF};

/// Where a command's updates go.
pub trait Emit {
    fn update(&mut self, slot: Slot, column: usize, value: i32);
}

/// The parts of a world's file that commands need, resolved once.
pub struct Catalog {
    dimensions: usize,
    size: [i32; 3],
    seed: u64,
    hp: usize,
    owner: usize,
    speed_max: i32,
    strike: Blow,
    heal: Blow,
    blast: Blow,
    blast_radius: i32,
    pick_reach: i32,
    roam_step: i32,
    /// The numbers of the commands that ask all over the world.
    asking: [CommandKind; 5],
}

struct Blow {
    reach: i32,
    amount: i32,
}

impl Catalog {
    /// The numbers are those that the world's file sets.
    pub fn new(world: &Frozen) -> Catalog {
        let column = |name| world.config.schema.column(name).expect("the world has it");
        let blow = |reach: i32, amount| Blow {
            reach: reach << 12,
            amount,
        };
        Catalog {
            dimensions: world.config.dimensions(),
            size: world.config.size_raw(),
            seed: world.config.seed,
            hp: column("hp"),
            owner: column("owner"),
            speed_max: 1 << 12,
            strike: blow(10, -5),
            heal: blow(2, 4),
            blast: blow(6, -3),
            blast_radius: 3 << 12,
            pick_reach: 5 << 12,
            roam_step: 1 << 12,
            asking: world.asking(),
        }
    }

    #[inline]
    pub fn run(&self, world: &Frozen, given: &GivenCommand, emit: &mut impl Emit) {
        match given.kind {
            builtin::MOVE => self.step(given, emit),
            builtin::STRIKE => self.strike(world, given, emit),
            builtin::HEAL => self.heal(world, given, emit),
            builtin::BLAST => self.blast(world, given, emit),
            builtin::PICK => self.pick(world, given, emit),
            builtin::ROAM => self.roam(world, given, emit),
            kind => self.ask(world, given.entity.slot, kind, emit),
        }
    }

    /// Runs one of the commands that ask all over the world.
    fn ask(&self, world: &Frozen, own: Slot, kind: CommandKind, emit: &mut impl Emit) {
        let [tally, hail, rally, place, _] = self.asking;
        if kind == tally {
            emit.update(own, self.hp, world.census.count(WOLF) as i32);
        } else if kind == hail {
            if let Some(warden) = world.census.nth(WARDEN, 0) {
                emit.update(warden, self.hp, 1);
            }
        } else if kind == rally {
            for place in 0..world.census.count(BANNER) {
                if let Some(banner) = world.census.nth(BANNER, place) {
                    emit.update(banner, self.hp, 1);
                }
            }
        } else if kind == place {
            emit.update(own, self.hp, world.standings.rank(FITTEST, own) as i32);
        } else {
            for place in 0..3 {
                if let Some(slot) = world.standings.ranked(FITTEST, place) {
                    emit.update(slot, self.hp, 1);
                }
            }
        }
    }

    fn step(&self, given: &GivenCommand, emit: &mut impl Emit) {
        let speed = self.speed_max;
        for (axis, &step) in given.words().iter().enumerate() {
            emit.update(given.entity.slot, axis, step.clamp(-speed, speed));
        }
    }

    fn strike(&self, world: &Frozen, given: &GivenCommand, emit: &mut impl Emit) {
        let &[target] = given.words() else { return };
        let from = given.entity.slot;
        match self.target(world, from, target, self.strike.reach, self.hp) {
            Some(slot) if slot != from => emit.update(slot, self.hp, self.strike.amount),
            _ => {}
        }
    }

    fn heal(&self, world: &Frozen, given: &GivenCommand, emit: &mut impl Emit) {
        let &[target] = given.words() else { return };
        let from = given.entity.slot;
        if let Some(slot) = self.target(world, from, target, self.heal.reach, self.hp) {
            emit.update(slot, self.hp, self.heal.amount);
        }
    }

    fn blast(&self, world: &Frozen, given: &GivenCommand, emit: &mut impl Emit) {
        let from = given.entity.slot;
        let center = self.point(given.words());
        if !within_distance(self.position(world, from), center, self.blast.reach) {
            return;
        }
        world.within(center, self.blast_radius, |slot| {
            if slot != from && world.has(slot, self.hp) {
                emit.update(slot, self.hp, self.blast.amount);
            }
        });
    }

    fn pick(&self, world: &Frozen, given: &GivenCommand, emit: &mut impl Emit) {
        let &[item] = given.words() else { return };
        let from = given.entity.slot;
        let Some(slot) = self.target(world, from, item, self.pick_reach, self.owner) else {
            return;
        };
        match resolve(world, EntityRef(world.attribute(slot, self.owner))) {
            None => emit.update(slot, self.owner, given.entity.reference().0),
            Some(current) if current == from => emit.update(slot, self.owner, EntityRef::NONE.0),
            Some(_) => {}
        }
    }

    fn roam(&self, world: &Frozen, given: &GivenCommand, emit: &mut impl Emit) {
        let GivenCommand {
            entity,
            kind,
            sequence,
            ..
        } = *given;
        let mut random = Random::new(self.seed, world.tick, entity, kind.id(), sequence);
        for axis in 0..self.dimensions {
            let step = random.within(-self.roam_step, self.roam_step);
            emit.update(entity.slot, axis, step);
        }
    }

    fn position(&self, world: &Frozen, slot: Slot) -> [i32; 3] {
        let mut position = [0; 3];
        for (axis, p) in position.iter_mut().take(self.dimensions).enumerate() {
            *p = world.attribute(slot, axis);
        }
        position
    }

    /// The point that a command's first words give, moved into the world.
    fn point(&self, words: &[i32]) -> [i32; 3] {
        let mut point = [0; 3];
        let axes = point.iter_mut().zip(self.size).take(self.dimensions);
        for ((axis, size), &word) in axes.zip(words) {
            *axis = word.clamp(0, size - 1);
        }
        point
    }

    /// The live entity that a word refers to, if it has a column and is within reach.
    fn target(
        &self,
        world: &Frozen,
        from: Slot,
        word: i32,
        reach: i32,
        column: usize,
    ) -> Option<Slot> {
        let slot = resolve(world, EntityRef(word))?;
        let (a, b) = (self.position(world, from), self.position(world, slot));
        let is_near = within_distance(a, b, reach);
        (is_near && world.has(slot, column)).then_some(slot)
    }
}

/// The slot of the live entity that a reference refers to.
fn resolve(world: &Frozen, reference: EntityRef) -> Option<Slot> {
    let generation = world.generation(reference.slot())?;
    reference
        .is_generation(generation)
        .then_some(reference.slot())
}

fn within_distance(a: [i32; 3], b: [i32; 3], distance: i32) -> bool {
    let along = |axis: usize| i64::from(a[axis]) - i64::from(b[axis]);
    let square: i64 = (0..3).map(|axis| along(axis) * along(axis)).sum();
    square <= i64::from(distance) * i64::from(distance)
}
