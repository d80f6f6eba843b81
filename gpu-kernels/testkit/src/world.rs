//! Random worlds, and random frames for them: any input that a caller may give to a
//! backend, sensible or not.

mod file;
mod regions;

use gpu_kernels::tick::frame::whole_births_max;
use gpu_kernels::{After, Command, Frame, Observer, ObserverChange, SlotState, Target};
use script::builtin;
use shared::world::command::WAITING_WORDS_MAX;
use shared::world::config::DELAY_TICKS_MAX;
use shared::world::given::{self, FollowUp, KEPT_COMMANDS};
use shared::{AttributeType, ClientRow, CommandKind, EntityId, EntityRef, Slot, WorldConfig};

use crate::dice::Dice;
use crate::oracle::Oracle;
use crate::rules::Rules;

/// A random world, with its rules for births and frames.
pub struct Play {
    /// The world's rules and limits.
    pub config: WorldConfig,
    rules: Rules,
    placement: Placement,
    /// The maximum number of births in a tick.
    births_max: usize,
    commands_max: usize,
    /// The maximum number of commands that a tick delays.
    after_max: usize,
    /// Each tick releases one in this many of the resting slots.
    release_one_in: usize,
}

#[derive(Clone, Copy, Debug)]
enum Placement {
    /// At places that the engine chooses.
    Anywhere,
    /// Within a small box.
    Crowd([i32; 3]),
    /// At the world's faces and around bucket borders.
    Borders,
    /// All on one spot.
    Spot([i32; 3]),
}

impl Play {
    /// Creates a world; the same dice give the same world.
    pub fn new(dice: &mut Dice) -> Play {
        let config = file::random_world(dice);
        let spot = config.size_raw().map(|s| dice.within(0..=s - 1));
        Play {
            placement: dice.pick(&[
                Placement::Anywhere,
                Placement::Crowd(spot),
                Placement::Crowd(config.size_raw()),
                Placement::Borders,
                Placement::Spot(spot),
            ]),
            births_max: dice.pick(&[0, 1, 4, 10]),
            commands_max: dice.pick(&[0, 10, 40, 120]),
            after_max: dice.pick(&[0, 0, 3, 15]),
            release_one_in: dice.pick(&[1, 2, 6, 1000]),
            rules: Rules::of(&config),
            config,
        }
    }

    /// The next frame of a world that is in the oracle's state.
    pub fn frame(&self, dice: &mut Dice, oracle: &Oracle) -> Frame {
        let mut frame = Frame::new(oracle.tick);
        if oracle.tick.0 == 0 {
            frame.populate(&self.config);
            for _ in 0..dice.below(2 * self.config.schema.world.capacity as usize) {
                self.spawn(dice, &mut frame);
            }
        }
        for _ in 0..dice.below(self.births_max + 1) {
            self.spawn(dice, &mut frame);
        }
        for _ in 0..dice.below(self.commands_max + 1) {
            self.command(dice, oracle, &mut frame);
        }
        for _ in 0..dice.below(self.after_max + 1) {
            self.after(dice, oracle, &mut frame);
        }
        if dice.once_in(2) {
            frame.order(self.config.seed);
        } else {
            dice.shuffle(&mut frame.commands);
        }
        self.observers(dice, oracle, &mut frame);
        self.regions(dice, oracle, &mut frame);
        for slot in 0..oracle.slots.len() {
            let state = oracle.slots[slot].state;
            let resting = matches!(state, SlotState::Resting | SlotState::Fallen);
            if resting && dice.once_in(self.release_one_in) {
                frame.release.push(Slot(slot as u32));
            }
        }
        if dice.once_in(4) {
            let slot = dice.below(oracle.slots.len() + 2) as u32;
            frame.release.push(Slot(slot));
            frame.release.push(Slot(dice.pick(&[slot, u32::MAX])));
        }
        frame
    }

    fn spawn(&self, dice: &mut Dice, frame: &mut Frame) {
        let kinds = self.config.schema.kinds.len() as u16;
        let kind = match dice.once_in(12) {
            true => dice.pick(&[kinds, u16::MAX]),
            false => dice.below(usize::from(kinds)) as u16,
        };
        let token = dice.any() as u32;
        if dice.once_in(15) {
            let words = [dice.pick(&[-1, 70_000, i32::MIN, i32::MAX]), token as i32];
            frame.push(EntityId::NONE, token, CommandKind::SPAWN, &words);
            return;
        }
        if dice.once_in(6) {
            self.give_values(dice, kind, frame);
            return;
        }
        if !self.config.kept_kinds.is_empty() && dice.once_in(2) {
            self.come_back(dice, frame);
            return;
        }
        let columns = 0..self.config.schema.attributes.len();
        let is_whole = |c: &&Command| usize::from(c.word_count) == 2 + columns.len();
        let whole = frame.commands.iter().filter(is_whole).count();
        if whole < self.config.limits.clients as usize && dice.once_in(6) {
            let row: Vec<i32> = columns.map(|_| self.word(dice)).collect();
            frame.spawn_as(kind, token, &row);
            return;
        }
        match self.place(dice) {
            Some(place) => {
                frame.spawn_at(kind, token, &place[..self.config.dimensions()]);
            }
            None => frame.spawn(kind, token),
        }
    }

    /// A birth with values, as many or as few as it asks for.
    fn give_values(&self, dice: &mut Dice, kind: u16, frame: &mut Frame) {
        let token = dice.any() as u32;
        let asked = dice.pick(&[0, 1, 1, 2, 2, 3]);
        for _ in 0..dice.pick(&[asked, asked, 1, 3]) {
            let columns = [(); 4].map(|()| dice.below(self.config.schema.attributes.len() + 2));
            let mut columns = columns.map(|column| column as u16);
            columns.sort_by_key(|&column| given::is_far(column));
            let mut words = vec![given::values_word(columns)];
            words.extend((0..4).map(|_| self.word(dice)));
            frame.push(
                EntityId::NONE,
                token.wrapping_sub(1),
                CommandKind::SPAWN,
                &words,
            );
        }
        let words = [given::birth_word(kind, asked), token as i32];
        frame.push(EntityId::NONE, token, CommandKind::SPAWN, &words);
    }

    /// A player, and things that refer to it, to each other, or to what is not born.
    fn come_back(&self, dice: &mut Dice, frame: &mut Frame) {
        let token = dice.any() as u32 & 0xffff;
        let columns = self.config.schema.attributes.len();
        frame.spawn(self.config.player_kind, token);
        let count = 1 + dice.below(6) as u32;
        for number in 0..count {
            let row: Vec<i32> = (0..columns).map(|_| self.word(dice)).collect();
            let holder = self.config.schema.holder_column().unwrap_or_default() as u16;
            let mut names = vec![(holder, dice.below(number as usize + 2) as u32)];
            for _ in 0..dice.pick(&[0, 0, 1, 4, 8]) {
                let column = dice.below(columns + 2) as u16;
                names.push((column, dice.below(8) as u32));
            }
            let kind = dice.pick(&self.config.kept_kinds);
            let sequence = token + 1 + number * KEPT_COMMANDS;
            let whole = frame
                .commands
                .iter()
                .filter(|c| usize::from(c.word_count) == 2 + columns);
            if whole.count() < whole_births_max(&self.config) as usize {
                frame.spawn_kept(kind, (token, sequence), &row, &names);
            }
        }
    }

    /// Often a birth, and a command that names its newborn, or that of another one.
    fn follow_up(&self, dice: &mut Dice, oracle: &Oracle, frame: &mut Frame) {
        if !dice.once_in(4) {
            self.spawn(dice, frame);
        }
        let before = frame.commands.len();
        self.command(dice, oracle, frame);
        let Some(&command) = frame.commands.get(before) else {
            return;
        };
        frame.commands = frame.commands[..before].to_vec().into();
        let own = frame.words_of(&command).to_vec();
        let count = own.len().min(WAITING_WORDS_MAX);
        let form = FollowUp {
            command: command.kind,
            words: count,
            newborn: dice.below(1 << count) as u32,
            is_giver: dice.once_in(2),
        };
        let since = dice.pick(&[0, 1, 1, 1, 2, 2, 3, 4, given::SINCE_MAX]);
        let ticks = dice.pick(&[0, 1, 1, 2, 5, DELAY_TICKS_MAX, (1 << given::TICK_BITS) - 1]);
        let when = since << given::TICK_BITS | ticks;
        let mut words = vec![form.word(), when.cast_signed()];
        words.extend(own.iter().take(WAITING_WORDS_MAX - 2));
        words.resize(WAITING_WORDS_MAX - usize::from(dice.once_in(20)), 0);
        frame.push(command.entity, 0, CommandKind::SPAWN, &words);
    }

    /// A command for a later tick, or embers.
    fn after(&self, dice: &mut Dice, oracle: &Oracle, frame: &mut Frame) {
        let before = frame.commands.len();
        if dice.once_in(3) {
            let near = self.point(dice);
            let mut words = near[..self.config.dimensions()].to_vec();
            let any = dice.any();
            words.push(dice.pick(&[1, 2, 5, 0, -1, i32::MIN, i32::MAX, any]));
            frame.push(EntityId::NONE, 0, builtin::BURN, &words);
        } else if dice.once_in(4) {
            self.follow_up(dice, oracle, frame);
        } else if dice.once_in(3) {
            self.spawn(dice, frame);
        } else {
            self.command(dice, oracle, frame);
        }
        let ticks = dice.pick(&[1, 1, 2, 3, 5, 10, DELAY_TICKS_MAX]);
        let fits = |command: &&Command| usize::from(command.word_count) <= WAITING_WORDS_MAX;
        let commands = frame.commands[before..].iter().filter(fits);
        let after = commands.map(|&command| After { ticks, command });
        frame.after.extend(after);
        frame.commands = frame.commands[..before].to_vec().into();
    }

    fn place(&self, dice: &mut Dice) -> Option<[i32; 3]> {
        let size = self.config.size_raw();
        let aoi = self.config.schema.world.aoi.raw();
        if dice.once_in(20) {
            return Some([0; 3].map(|_| extreme(dice)));
        }
        match self.placement {
            Placement::Anywhere => None,
            Placement::Spot(spot) => Some(spot),
            Placement::Crowd(spot) => {
                let width = aoi / 2 + 1;
                Some(spot.map(|s| s.saturating_add(dice.within(-width..=width))))
            }
            Placement::Borders => Some(size.map(|size| {
                let border = dice.below((size / aoi) as usize + 1) as i32 * aoi;
                dice.pick(&[0, size - 1, border, border - 1, border + 1])
            })),
        }
    }

    fn command(&self, dice: &mut Dice, oracle: &Oracle, frame: &mut Frame) {
        let alive = oracle.living();
        let entity = self.actor(dice, oracle, &alive);
        let sequence = dice.below(4) as u32;
        if dice.once_in(12) {
            // The kind or the number of words may be invalid.
            let words = vec![0; dice.below(6)];
            frame.push(entity, sequence, CommandKind::SPAWN, &words);
            let last = frame.commands.len() - 1;
            frame.commands[last].kind =
                dice.pick(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255, 256, u16::MAX]);
            return;
        }
        let commands = &self.config.schema.commands;
        let scripts = commands.iter().filter(|c| !COMMANDS.contains(&c.kind));
        let scripts: Vec<_> = scripts.filter(|c| c.kind != CommandKind::SPAWN).collect();
        if !scripts.is_empty() && dice.once_in(3) {
            let script = dice.pick(&scripts);
            let words = script.words.iter().map(|word| match word.ty {
                AttributeType::Entity => self.reference(dice, oracle, &alive),
                AttributeType::I32
                | AttributeType::Fixed
                | AttributeType::Bool
                | AttributeType::Symbol
                | AttributeType::Text
                | AttributeType::I64
                | AttributeType::High => self.word(dice),
            });
            let words: Vec<i32> = words.collect();
            frame.push(entity, sequence, script.kind, &words);
            return;
        }
        let kind = dice.pick(&COMMANDS);
        // Deaths are rarer than the rest.
        if kind == CommandKind::DESPAWN && !dice.once_in(3) {
            return;
        }
        let words = self.words(dice, oracle, &alive, kind);
        frame.push(entity, sequence, kind, &words);
    }

    /// Words for a command, valid or not.
    fn words(
        &self,
        dice: &mut Dice,
        oracle: &Oracle,
        alive: &[EntityId],
        kind: CommandKind,
    ) -> Vec<i32> {
        let axes = 0..self.config.dimensions();
        match kind {
            builtin::MOVE => {
                let speed = self.rules.move_speed_max.raw();
                axes.map(|_| match dice.once_in(8) {
                    true => extreme(dice),
                    false => dice.within(-speed..=speed),
                })
                .collect()
            }
            builtin::BLAST => {
                let near = match alive.is_empty() {
                    true => [0; 3],
                    false => oracle.position(dice.pick(alive).slot.0),
                };
                axes.map(|axis| match dice.once_in(6) {
                    true => extreme(dice),
                    false => near[axis] + dice.within(-100..=100),
                })
                .collect()
            }
            builtin::SHOUT => {
                let most = self.rules.shout_radius_max.raw();
                let radius = match dice.once_in(6) {
                    true => extreme(dice),
                    false => dice.within(0..=most),
                };
                vec![radius, dice.any()]
            }
            builtin::STRIKE | builtin::HEAL | builtin::PICK => {
                vec![self.reference(dice, oracle, alive)]
            }
            _ => vec![],
        }
    }

    /// A number, mostly a small one.
    fn word(&self, dice: &mut Dice) -> i32 {
        match dice.once_in(6) {
            true => extreme(dice),
            false => dice.within(-20..=20),
        }
    }

    /// An acting entity: mostly a living one; else a dead one, none, or one that may be
    /// born in this tick.
    fn actor(&self, dice: &mut Dice, oracle: &Oracle, alive: &[EntityId]) -> EntityId {
        if !alive.is_empty() && !dice.once_in(8) {
            return dice.pick(alive);
        }
        let slot = dice.below(oracle.slots.len());
        let generation = oracle.slots[slot].generation;
        dice.pick(&[
            EntityId::new(slot as u32, generation),
            EntityId::new(slot as u32, generation.wrapping_add(1)),
            EntityId::new(slot as u32, generation.wrapping_sub(1)),
            EntityId::new(oracle.slots.len() as u32, 1),
            EntityId::NONE,
        ])
    }

    fn reference(&self, dice: &mut Dice, oracle: &Oracle, alive: &[EntityId]) -> i32 {
        match dice.once_in(8) {
            true => {
                let any = dice.any();
                dice.pick(&[EntityRef::NONE.0, 0, i32::MIN, i32::MAX, any])
            }
            false => self.actor(dice, oracle, alive).reference().0,
        }
    }

    fn observers(&self, dice: &mut Dice, oracle: &Oracle, frame: &mut Frame) {
        let limits = &self.config.limits;
        let alive = oracle.alive();
        let first = oracle.tick.0 == 0;
        for _ in 0..dice.below(if first { 40 } else { 4 }) {
            let observer = (!dice.once_in(5)).then(|| Observer {
                target: match dice.once_in(3) {
                    true => Target::Point(self.point(dice)),
                    false => Target::Entity(self.actor(dice, oracle, &alive)),
                },
                radius: self.radius(dice),
            });
            let (clients, indexes) = (limits.clients as usize, limits.observers_per_client);
            let mut change = ObserverChange {
                client: ClientRow(dice.below(clients) as u32),
                index: dice.below(indexes as usize) as u32,
                observer,
            };
            if dice.once_in(10) {
                change.client = ClientRow(dice.pick(&[limits.clients, u32::MAX]));
            }
            if dice.once_in(10) {
                change.index = dice.pick(&[indexes, u32::MAX]);
            }
            frame.observers.push(change);
        }
        if dice.once_in(6) {
            let client = dice.below(limits.clients as usize + 1) as u32;
            frame.forget.push(ClientRow(dice.pick(&[client, u32::MAX])));
        }
    }

    fn point(&self, dice: &mut Dice) -> [i32; 3] {
        match self.place(dice) {
            Some(place) => place,
            None => self.config.size_raw().map(|s| dice.within(0..=s - 1)),
        }
    }

    fn radius(&self, dice: &mut Dice) -> i32 {
        let aoi = self.config.schema.world.aoi.raw();
        let some = dice.within(0..=aoi);
        dice.pick(&[aoi, aoi, some, some, 0, 1, -1, aoi + 1, i32::MAX, i32::MIN])
    }
}

/// All commands but births.
const COMMANDS: [CommandKind; 9] = [
    CommandKind::DESPAWN,
    builtin::MOVE,
    builtin::STRIKE,
    builtin::HEAL,
    builtin::BLAST,
    builtin::PICK,
    builtin::ROAM,
    builtin::BURN,
    builtin::SHOUT,
];

/// Any number, mostly one at the end of a range.
fn extreme(dice: &mut Dice) -> i32 {
    let any = dice.any();
    dice.pick(&[
        i32::MIN,
        i32::MIN + 1,
        -1,
        0,
        1,
        i32::MAX - 1,
        i32::MAX,
        any,
    ])
}
