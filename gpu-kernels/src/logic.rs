//! The built-in commands, one file each.
//!
//! A command is a plain function over a frozen world: it reads the state at the
//! start of the tick and emits updates, which are merged after every command has
//! run. The engine runs it twice, first to count its updates and then to store
//! them where a scan of the counts says (thesis 3.3), so it must emit the same
//! both times.

mod blast;
mod burn;
mod heal;
mod r#move;
mod pick;
mod roam;
mod shout;
mod strike;

use shared::mix::Random;
use shared::{
    AttributeType, CommandKind, EntityId, EntityRef, NotificationKind, Slot, Tick, WorldConfig,
};

use crate::output::{Area, Notification};

/// The world as it was at the start of the tick.
pub trait World {
    /// An attribute of a live entity.
    fn attribute(&self, slot: Slot, column: usize) -> i32;
    /// The generation of a slot's entity, or `None` where nobody lives.
    fn generation(&self, slot: Slot) -> Option<u32>;
    /// The kind of a live entity.
    fn kind(&self, slot: Slot) -> u16;
    /// Calls `visit` for each live entity within `radius` of `center`.
    fn within(&self, center: [i32; 3], radius: i32, visit: impl FnMut(Slot));
}

/// Where a command's updates go.
pub trait Emit {
    /// One update: its meaning is the merge rule's of the column.
    fn update(&mut self, slot: Slot, column: usize, value: i32);

    /// A command that is run `ticks` later, at least 1 and at most
    /// [`DELAY_TICKS_MAX`](shared::config::DELAY_TICKS_MAX), with at most
    /// [`TIMED_WORDS_MAX`](crate::timed::TIMED_WORDS_MAX) words. It is scheduled
    /// even where the limit of updates takes this command's.
    fn after(&mut self, ticks: u32, entity: EntityId, kind: CommandKind, words: &[i32]);

    /// Tells whoever hears or subscribes that something happened to `source`. It is
    /// told even where the limit of updates takes this command's. Only for kinds that
    /// the world has ([`Catalog::tells`]).
    fn notify(&mut self, notification: Notification);
}

/// A command about to run.
pub struct Invocation<'a> {
    pub tick: Tick,
    pub entity: EntityId,
    pub words: &'a [i32],
}

/// What commands need to know of the world's configuration, resolved once.
pub struct Catalog {
    config: WorldConfig,
    dimensions: usize,
    size: [i32; 3],
    hp: Option<usize>,
    owner: Option<usize>,
    /// By command kind: how many words it has here, if it exists here.
    word_counts: Vec<Option<usize>>,
    /// By entity kind: the columns it has, as bits.
    columns: Vec<u64>,
    default_rows: Vec<Vec<i32>>,
    /// By entity kind, where it respawns: after how many ticks, and the hit points
    /// at which it falls.
    respawns: Vec<Option<(u32, i32)>>,
    /// By notification kind: whether this world tells of it.
    tells: Vec<bool>,
}

impl Catalog {
    pub fn new(config: &WorldConfig) -> Catalog {
        let schema = &config.schema;
        let column = |name: &str, ty: AttributeType| {
            let column = schema.column(name)?;
            (schema.attributes[column].ty == ty).then_some(column)
        };
        let hp = column("hp", AttributeType::I32);
        let respawn = |(kind, &ticks): (usize, &u32)| {
            let (min, _) = schema.bounds(kind)[hp?];
            (ticks > 0).then_some((ticks, min))
        };
        Catalog {
            config: config.clone(),
            dimensions: config.dimensions(),
            size: config.size_raw(),
            hp,
            owner: column("owner", AttributeType::Entity),
            word_counts: CommandKind::ALL
                .into_iter()
                .map(|kind| schema.command(kind).map(|c| c.words.len()))
                .collect(),
            columns: schema
                .kinds
                .iter()
                .map(|k| k.attributes.iter().fold(0, |bits, a| bits | 1 << a.column))
                .collect(),
            default_rows: (0..schema.kinds.len())
                .map(|kind| schema.default_row(kind))
                .collect(),
            respawns: config
                .respawn_ticks
                .iter()
                .enumerate()
                .map(respawn)
                .collect(),
            tells: NotificationKind::ALL
                .into_iter()
                .map(|kind| schema.notification(kind).is_some())
                .collect(),
        }
    }

    /// The command of this number if it exists here and takes this many words.
    pub fn command(&self, kind: u16, word_count: usize) -> Option<CommandKind> {
        let kind = CommandKind::from_id(kind)?;
        let expected = self.word_counts[usize::from(kind.id())]?;
        let with_position = expected + self.dimensions;
        let fits =
            word_count == expected || kind == CommandKind::Spawn && word_count == with_position;
        fits.then_some(kind)
    }

    pub fn hp(&self) -> Option<usize> {
        self.hp
    }

    pub fn owner(&self) -> Option<usize> {
        self.owner
    }

    pub fn seed(&self) -> u64 {
        self.config.seed
    }

    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The world's size per axis in raw units.
    pub fn size(&self) -> [i32; 3] {
        self.size
    }

    pub fn is_kind(&self, kind: u16) -> bool {
        usize::from(kind) < self.default_rows.len()
    }

    /// The attributes with which a kind is born, the position apart.
    pub fn default_row(&self, kind: u16) -> &[i32] {
        &self.default_rows[usize::from(kind)]
    }

    /// Whether any kind respawns.
    pub fn has_respawns(&self) -> bool {
        self.respawns.iter().any(Option::is_some)
    }

    /// After how many ticks one of a kind is born anew by itself, if ever. Of the
    /// players' kind, the server has those born anew who have a client.
    pub fn respawn_ticks(&self, kind: u16) -> Option<u32> {
        let by_itself =
            self.respawns[usize::from(kind)].filter(|_| kind != self.config.player_kind);
        by_itself.map(|(ticks, _)| ticks)
    }

    /// Whether an entity of a kind that respawns has no hit points left.
    pub fn has_fallen(&self, kind: u16, row: &[i32]) -> bool {
        match (self.respawns[usize::from(kind)], self.hp) {
            (Some((_, min)), Some(hp)) => row[hp] <= min,
            _ => false,
        }
    }

    /// The most notifications of a tick.
    pub fn notifications_max(&self) -> usize {
        self.config.limits.notifications_per_tick as usize
    }

    /// Whether this world tells of such things.
    pub fn tells(&self, kind: NotificationKind) -> bool {
        self.tells[usize::from(kind.id())]
    }

    /// That an item has a new owner, where it is one who lives.
    pub fn picked(&self, world: &impl World, item: Slot) -> Option<Notification> {
        let owner = resolve(world, EntityRef(world.attribute(item, self.owner?)))?;
        let generation = world.generation(item)?;
        let own = EntityId {
            slot: owner,
            generation: world.generation(owner)?,
        };
        let item = EntityId {
            slot: item,
            generation,
        };
        Some(Notification::new(
            NotificationKind::Pick,
            own,
            Some(self.place(self.position(world, item.slot))),
            &[item.reference().0],
        ))
    }

    /// That an entity has fallen; `row` is its attributes then.
    pub fn fell(&self, entity: EntityId, kind: u16, row: &[i32]) -> Notification {
        let mut position = [0; 3];
        position[..self.dimensions].copy_from_slice(&row[..self.dimensions]);
        Notification::new(
            NotificationKind::Fall,
            entity,
            Some(self.place(position)),
            &[i32::from(kind)],
        )
    }

    /// One place, as an area.
    fn place(&self, position: [i32; 3]) -> Area {
        Area::around(position, 0, self.dimensions)
    }

    /// Runs a command. Births and deaths emit nothing: the lifecycle stage
    /// answers them.
    pub fn run<W: World, E: Emit>(
        &self,
        kind: CommandKind,
        world: &W,
        invocation: &Invocation<'_>,
        emit: &mut E,
    ) {
        match kind {
            CommandKind::Spawn | CommandKind::Despawn => {}
            CommandKind::Move => r#move::run(self, invocation, emit),
            CommandKind::Strike => strike::run(self, world, invocation, emit),
            CommandKind::Heal => heal::run(self, world, invocation, emit),
            CommandKind::Blast => blast::run(self, world, invocation, emit),
            CommandKind::Pick => pick::run(self, world, invocation, emit),
            CommandKind::Roam => roam::run(self, invocation, emit),
            CommandKind::Burn => burn::run(self, world, invocation, emit),
            CommandKind::Shout => shout::run(self, world, invocation, emit),
        }
    }

    fn has(&self, world: &impl World, slot: Slot, column: usize) -> bool {
        self.columns[usize::from(world.kind(slot))] >> column & 1 == 1
    }

    fn position(&self, world: &impl World, slot: Slot) -> [i32; 3] {
        let mut position = [0; 3];
        for (axis, p) in position.iter_mut().take(self.dimensions).enumerate() {
            *p = world.attribute(slot, axis);
        }
        position
    }

    /// The point in the world that a command's first words mean. Words are anything
    /// a client likes; in the world, distances cannot overflow.
    fn point(&self, words: &[i32]) -> [i32; 3] {
        let mut point = [0; 3];
        let axes = point.iter_mut().zip(self.size).take(self.dimensions);
        for ((axis, size), &word) in axes.zip(words) {
            *axis = word.clamp(0, size - 1);
        }
        point
    }

    /// The live entity that a word refers to, if it has this column and is in reach.
    fn target(
        &self,
        world: &impl World,
        from: Slot,
        word: i32,
        reach: i32,
        column: usize,
    ) -> Option<Slot> {
        let slot = resolve(world, EntityRef(word))?;
        let near = within_distance(
            self.position(world, from),
            self.position(world, slot),
            reach,
        );
        (near && self.has(world, slot, column)).then_some(slot)
    }

    fn random(&self, invocation: &Invocation<'_>) -> Random {
        Random::new(self.config.seed, invocation.tick, invocation.entity)
    }
}

/// The most updates that a command of a kind can come to.
pub fn updates_max(kind: CommandKind, config: &WorldConfig) -> u64 {
    match kind {
        CommandKind::Spawn | CommandKind::Despawn | CommandKind::Shout => 0,
        CommandKind::Move | CommandKind::Roam => config.dimensions() as u64,
        CommandKind::Strike | CommandKind::Heal | CommandKind::Pick => 1,
        CommandKind::Blast | CommandKind::Burn => u64::from(config.schema.world.capacity),
    }
}

/// The live entity that a reference means.
fn resolve(world: &impl World, reference: EntityRef) -> Option<Slot> {
    let generation = world.generation(reference.slot())?;
    reference
        .is_generation(generation)
        .then_some(reference.slot())
}

/// Whether two points are at most `distance` apart.
pub fn within_distance(a: [i32; 3], b: [i32; 3], distance: i32) -> bool {
    squared_distance(a, b) <= i64::from(distance) * i64::from(distance)
}

/// The square of two points' distance. Positions are below 2^30, so it fits.
pub fn squared_distance(a: [i32; 3], b: [i32; 3]) -> i64 {
    let along = |axis: usize| i64::from(a[axis]) - i64::from(b[axis]);
    (0..3).map(|axis| along(axis) * along(axis)).sum()
}
