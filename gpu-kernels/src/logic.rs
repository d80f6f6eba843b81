//! The built-in commands, one file each.
//!
//! A command is a plain function over a frozen world. It reads the state at the start of the
//! tick, and emits updates, which are merged after all commands have run. The tick runs each
//! command twice: first to count its updates, and then to store them at the places that a
//! scan of the counts gives (thesis 3.3). So a command must emit the same updates both times.

mod blast;
mod burn;
mod heal;
mod r#move;
mod pick;
mod roam;
mod shout;
mod strike;

use script::builtin;
use shared::world::mix::Random;
use shared::{
    AttributeType, CommandKind, EntityId, EntityRef, Fall, NotificationKind, Slot, Tick,
    WorldConfig,
};

use crate::space::Area;
use crate::tick::notification::Notification;

/// The world at the start of the tick.
pub trait World {
    /// An attribute of a live entity.
    fn attribute(&self, slot: Slot, column: usize) -> i32;
    /// The generation of a slot's live entity; `None` if there is none.
    fn generation(&self, slot: Slot) -> Option<u32>;
    /// The kind of a live entity.
    fn kind(&self, slot: Slot) -> u16;
    /// Calls `visit` for each live entity within `radius` of `center`.
    fn within(&self, center: [i32; 3], radius: i32, visit: impl FnMut(Slot));
}

/// Where a command's updates go.
pub trait Emit {
    /// Emits an update of an attribute. The column's merge rule gives `value` its meaning.
    fn update(&mut self, slot: Slot, column: usize, value: i32);

    /// Schedules a command `ticks` later: at least 1 and at most
    /// [`DELAY_TICKS_MAX`](shared::world::config::DELAY_TICKS_MAX), with at most
    /// [`TIMED_WORDS_MAX`](crate::tick::timed::TIMED_WORDS_MAX) words. It is scheduled even if
    /// the updates of this command are dropped at the limit of updates.
    fn after(&mut self, ticks: u32, entity: EntityId, kind: CommandKind, words: &[i32]);

    /// Emits a notification of a kind that the world has ([`Catalog::tells`]). It is emitted
    /// even if the updates of this command are dropped at the limit of updates.
    fn notify(&mut self, notification: Notification);
}

/// A command that is run.
pub struct Invocation<'a> {
    pub tick: Tick,
    pub entity: EntityId,
    pub words: &'a [i32],
}

/// The parts of the world's configuration that commands use, resolved once.
pub struct Catalog {
    config: WorldConfig,
    dimensions: usize,
    size: [i32; 3],
    hp: Option<usize>,
    owner: Option<usize>,
    /// By number of a command: its form, if the world has it.
    commands: Vec<Option<CommandForm>>,
    /// By entity kind: its columns, as bits.
    columns: Vec<u64>,
    default_rows: Vec<Vec<i32>>,
    /// A bit for each number of a notification that the world has.
    tells: u64,
}

/// What a tick needs to know of a command to judge it.
struct CommandForm {
    words: usize,
    has_actor: bool,
}

impl Catalog {
    pub fn new(config: &WorldConfig) -> Catalog {
        let schema = &config.schema;
        let column = |name: &str, ty: AttributeType| {
            let column = schema.column(name)?;
            (schema.attributes[column].ty == ty).then_some(column)
        };
        Catalog {
            config: config.clone(),
            dimensions: config.dimensions(),
            size: config.size_raw(),
            hp: column("hp", AttributeType::I32),
            owner: column("owner", AttributeType::Entity),
            commands: schema.commands_by_number(|command| CommandForm {
                words: command.words.len(),
                has_actor: command.has_actor,
            }),
            columns: schema
                .kinds
                .iter()
                .map(|k| k.attributes.iter().fold(0, |bits, a| bits | 1 << a.column))
                .collect(),
            default_rows: (0..schema.kinds.len())
                .map(|kind| schema.default_row(kind))
                .collect(),
            tells: schema
                .notifications
                .iter()
                .fold(0, |bits, n| bits | 1 << n.kind.id()),
        }
    }

    /// The command of this number, if the world has it and it takes this many words.
    pub fn command(&self, kind: u16, word_count: usize) -> Option<CommandKind> {
        let kind = CommandKind(kind);
        let expected = self.form(kind)?.words;
        let with_position = expected + self.dimensions;
        let fits =
            word_count == expected || kind == CommandKind::SPAWN && word_count == with_position;
        fits.then_some(kind)
    }

    /// Whether a living entity must give a command.
    pub fn has_actor(&self, kind: CommandKind) -> bool {
        self.form(kind).is_some_and(|form| form.has_actor)
    }

    fn form(&self, kind: CommandKind) -> Option<&CommandForm> {
        self.commands.get(usize::from(kind.id()))?.as_ref()
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

    /// The attributes of newborn entities of a kind, except the position.
    pub fn default_row(&self, kind: u16) -> &[i32] {
        &self.default_rows[usize::from(kind)]
    }

    /// The column whose new owners are told of.
    pub fn tells_owner(&self) -> Option<usize> {
        self.config.tells_owner.map(usize::from)
    }

    /// Whether the entities of any kind fall.
    pub fn has_falls(&self) -> bool {
        self.config.has_falls()
    }

    fn fall(&self, kind: u16) -> Option<&Fall> {
        self.config.falls[usize::from(kind)].as_ref()
    }

    /// The ticks after which a fallen entity of a kind respawns by itself; `None` if it
    /// doesn't. Players don't: the server respawns those that have a client.
    pub fn respawn_ticks(&self, kind: u16) -> Option<u32> {
        let by_itself = self.fall(kind).filter(|_| kind != self.config.player_kind);
        by_itself.map(|fall| fall.respawn_ticks)
    }

    /// Whether an entity falls.
    pub fn has_fallen(&self, kind: u16, row: &[i32]) -> bool {
        self.fall(kind)
            .is_some_and(|fall| row[usize::from(fall.column)] <= fall.at)
    }

    /// The most notifications in a tick.
    pub fn notifications_max(&self) -> usize {
        self.config.limits.notifications_per_tick as usize
    }

    /// Whether the world has notifications of a kind.
    pub fn tells(&self, kind: NotificationKind) -> bool {
        self.tells >> kind.id() & 1 == 1
    }

    /// The notification that an item has a new owner; `None` unless the owner is alive.
    pub fn picked(&self, world: &impl World, item: Slot) -> Option<Notification> {
        let owner = world.attribute(item, self.tells_owner()?);
        let owner = resolve(world, EntityRef(owner))?;
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
            NotificationKind::PICKED,
            own,
            Some(self.place(self.position(world, item.slot))),
            &[item.reference().0],
        ))
    }

    /// The notification that an entity has fallen. `row` has its attributes at that time.
    pub fn fell(&self, entity: EntityId, kind: u16, row: &[i32]) -> Notification {
        let mut position = [0; 3];
        position[..self.dimensions].copy_from_slice(&row[..self.dimensions]);
        Notification::new(
            NotificationKind::FALL,
            entity,
            Some(self.place(position)),
            &[i32::from(kind)],
        )
    }

    /// The area of a single place.
    fn place(&self, position: [i32; 3]) -> Area {
        Area::around(position, 0, self.dimensions)
    }

    /// Runs a command. Spawn and despawn emit nothing: the lifecycle stage handles them.
    pub fn run<W: World, E: Emit>(
        &self,
        kind: CommandKind,
        world: &W,
        invocation: &Invocation<'_>,
        emit: &mut E,
    ) {
        match kind {
            builtin::MOVE => r#move::run(self, invocation, emit),
            builtin::STRIKE => strike::run(self, world, invocation, emit),
            builtin::HEAL => heal::run(self, world, invocation, emit),
            builtin::BLAST => blast::run(self, world, invocation, emit),
            builtin::PICK => pick::run(self, world, invocation, emit),
            builtin::ROAM => roam::run(self, invocation, emit),
            builtin::BURN => burn::run(self, world, invocation, emit),
            builtin::SHOUT => shout::run(self, world, invocation, emit),
            _ => {}
        }
    }

    /// Whether an entity has a column.
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

    /// The point that a command's first words give, moved into the world. A client may send
    /// any words, but distances of points in the world can't overflow.
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
        world: &impl World,
        from: Slot,
        word: i32,
        reach: i32,
        column: usize,
    ) -> Option<Slot> {
        let slot = resolve(world, EntityRef(word))?;
        let is_near = within_distance(
            self.position(world, from),
            self.position(world, slot),
            reach,
        );
        (is_near && self.has(world, slot, column)).then_some(slot)
    }

    fn random(&self, invocation: &Invocation<'_>) -> Random {
        Random::new(self.config.seed, invocation.tick, invocation.entity)
    }
}

/// The most updates that one command of a kind can emit.
pub fn updates_max(kind: CommandKind, config: &WorldConfig) -> u64 {
    match kind {
        builtin::MOVE | builtin::ROAM => config.dimensions() as u64,
        builtin::STRIKE | builtin::HEAL | builtin::PICK => 1,
        builtin::BLAST | builtin::BURN => u64::from(config.schema.world.capacity),
        _ => 0,
    }
}

/// The numbers of the built-in commands, as kernels name them.
pub const COMMANDS: [(&str, CommandKind); 8] = [
    ("move", builtin::MOVE),
    ("strike", builtin::STRIKE),
    ("heal", builtin::HEAL),
    ("blast", builtin::BLAST),
    ("pick", builtin::PICK),
    ("roam", builtin::ROAM),
    ("burn", builtin::BURN),
    ("shout", builtin::SHOUT),
];
/// The numbers of the built-in notifications.
pub const NOTIFICATIONS: [(&str, NotificationKind); 2] = [
    ("blast", builtin::BLAST_NOTIFICATION),
    ("shout", builtin::SHOUT_NOTIFICATION),
];

/// The slot of the live entity that a reference refers to.
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

/// The square of the distance of two points. It can't overflow, since positions are below
/// 2^30.
pub fn squared_distance(a: [i32; 3], b: [i32; 3]) -> i64 {
    let along = |axis: usize| i64::from(a[axis]) - i64::from(b[axis]);
    (0..3).map(|axis| along(axis) * along(axis)).sum()
}
