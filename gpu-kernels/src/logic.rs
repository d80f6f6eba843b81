//! The catalog of a tick: commands, kinds and owners.
//!
//! A command is a script (crate `script`). It reads the state at the start of the tick, and
//! emits updates, which are merged after all commands have run. The tick runs each command
//! twice: first to count its updates, and then to store them at the places that a scan of
//! the counts gives (thesis 3.3).

mod reload;
mod scripts;

use script::interpreter::World;
use shared::world::birthplace::Birthplace;
use shared::world::command::WAITING_WORDS_MAX;
use shared::world::initial::Initial;
use shared::{
    CommandKind, CommandSchema, EntityId, EntityRef, Fall, Hook, NotificationKind, Occasion, Slot,
    WorldConfig,
};

use crate::notification::Notification;
use crate::space::Area;

pub use reload::{CompiledLogic, LogicCompiler};
pub use scripts::{Engine, ScriptError, Scripts};

/// The parts of the world's configuration by which commands are judged, resolved once.
pub struct Catalog {
    config: WorldConfig,
    dimensions: usize,
    size: [i32; 3],
    /// By number of a command: its form, if the world has it.
    commands: Vec<Option<CommandForm>>,
    default_rows: Vec<Vec<i32>>,
    /// By kind and column.
    bounds: Vec<Vec<(i32, i32)>>,
    /// By kind.
    birthplaces: Vec<Birthplace>,
    /// A bit for each number of a notification that the world has.
    notifications: u64,
}

/// The properties by which a tick judges a command.
pub struct CommandForm {
    words: usize,
    /// Whether a living entity must give it.
    pub has_actor: bool,
    is_clients: bool,
    /// How often an entity may be made to give it in a tick; `None`: as often as one wants.
    pub per_tick: Option<usize>,
    /// How it rests after a use; `None`: it doesn't.
    pub rest: Option<Rest>,
}

/// How a command rests after a use.
#[derive(Clone, Copy)]
pub struct Rest {
    /// Its place among the commands that do.
    pub place: usize,
    pub ticks: u32,
}

impl Catalog {
    pub fn new(config: &WorldConfig) -> Catalog {
        let schema = &config.schema;
        let rest = |command: &CommandSchema| {
            let place = schema.resting_commands().position(|c| c == command)?;
            let ticks = command.cooldown;
            Some(Rest { place, ticks })
        };
        Catalog {
            config: config.clone(),
            dimensions: config.dimensions(),
            size: config.size_raw(),
            commands: schema.commands_by_number(|command| CommandForm {
                words: command.words.len(),
                has_actor: command.has_actor,
                is_clients: command.senders.clients,
                per_tick: Some(usize::from(command.per_tick)).filter(|&most| most > 0),
                rest: rest(command),
            }),
            default_rows: (0..schema.kinds.len())
                .map(|kind| schema.default_row(kind))
                .collect(),
            bounds: (0..schema.kinds.len())
                .map(|kind| schema.bounds(kind))
                .collect(),
            birthplaces: (0..)
                .zip(&schema.kinds)
                .map(|(kind, _)| Birthplace::of(config, kind))
                .collect(),
            notifications: schema
                .notifications
                .iter()
                .fold(0, |bits, n| bits | 1 << n.kind.id()),
        }
    }

    /// The form of the command of this number, if the world has it and it takes this many words.
    #[inline]
    pub fn form_of(&self, kind: u16, word_count: usize) -> Option<&CommandForm> {
        let kind = CommandKind(kind);
        let form = self.form(kind)?;
        let fits = match kind {
            CommandKind::SPAWN => self.is_birth(word_count) || word_count == WAITING_WORDS_MAX,
            _ => word_count == form.words,
        };
        fits.then_some(form)
    }

    /// Whether a birth has so many words: it may have a position, or all columns.
    pub fn is_birth(&self, word_count: usize) -> bool {
        let columns = self.config.schema.attributes.len();
        [0, self.dimensions, columns].contains(&word_count.wrapping_sub(2))
    }

    /// Whether a living entity must give a command.
    #[inline]
    pub fn has_actor(&self, kind: CommandKind) -> bool {
        self.form(kind).is_some_and(|form| form.has_actor)
    }

    /// Whether clients give a command of this number.
    pub fn is_clients(&self, kind: u16) -> bool {
        let form = self.form(CommandKind(kind));
        form.is_some_and(|form| form.is_clients)
    }

    /// How a command rests after a use; `None`: it doesn't.
    pub fn rest(&self, kind: u16) -> Option<Rest> {
        self.form(CommandKind(kind))?.rest
    }

    #[inline]
    fn form(&self, kind: CommandKind) -> Option<&CommandForm> {
        self.commands.get(usize::from(kind.id()))?.as_ref()
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

    /// Whether entities of this kind are born: there is a kind of what the whole world shares.
    pub fn is_born(&self, kind: u16) -> bool {
        self.is_kind(kind) && self.config.schema.world_kind != Some(kind)
    }

    pub fn is_kind(&self, kind: u16) -> bool {
        usize::from(kind) < self.default_rows.len()
    }

    /// The attributes of newborn entities of a kind, except the position and those of
    /// [`Catalog::initials`].
    pub fn default_row(&self, kind: u16) -> &[i32] {
        &self.default_rows[usize::from(kind)]
    }

    /// The attributes of newborn entities of a kind that are chosen for each.
    pub fn initials(&self, kind: u16) -> &[Initial] {
        &self.config.initials[usize::from(kind)]
    }

    /// The bounds of a kind's columns; those that it lacks are 0.
    pub fn bounds(&self, kind: u16) -> &[(i32, i32)] {
        &self.bounds[usize::from(kind)]
    }

    /// Where entities of a kind are born again.
    pub fn birthplace(&self, kind: u16) -> &Birthplace {
        &self.birthplaces[usize::from(kind)]
    }

    /// The commands that an occasion makes entities of a kind give.
    pub fn hooks(&self, occasion: Occasion, kind: u16) -> impl Iterator<Item = &Hook> {
        self.config.hooks_of(occasion, kind)
    }

    /// Whether any hook watches the borders of zones.
    pub fn has_zone_hooks(&self) -> bool {
        let is_of_zone =
            |hook: &Hook| matches!(hook.occasion, Occasion::Enter(_) | Occasion::Exit(_));
        self.config.hooks.iter().any(is_of_zone)
    }

    /// Whether entities of a kind outlive their fall by one tick, for its hooks.
    pub fn has_fall_hooks(&self, kind: u16) -> bool {
        self.hooks(Occasion::Fall, kind).next().is_some()
    }

    /// The column that decides whether entities of a kind have fallen.
    pub fn fall_column(&self, kind: u16) -> Option<usize> {
        self.fall(kind).map(|fall| usize::from(fall.column))
    }

    /// The column whose new owners are reported.
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

    /// The kinds of things that end with the players who hold them, ascending: accounts keep them.
    pub fn kept_kinds(&self) -> &[u16] {
        &self.config.kept_kinds
    }

    /// Whether entities of a kind are those of clients.
    pub fn is_player(&self, kind: u16) -> bool {
        kind == self.config.player_kind
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
    pub fn has_notification(&self, kind: NotificationKind) -> bool {
        self.notifications >> kind.id() & 1 == 1
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

    fn position(&self, world: &impl World, slot: Slot) -> [i32; 3] {
        let mut position = [0; 3];
        for (axis, p) in position.iter_mut().take(self.dimensions).enumerate() {
            *p = world.attribute(slot, axis);
        }
        position
    }
}

/// The slot of the live entity that a reference refers to.
fn resolve(world: &impl World, reference: EntityRef) -> Option<Slot> {
    let generation = world.generation(reference.slot())?;
    reference
        .is_generation(generation)
        .then_some(reference.slot())
}

/// Whether two points are at most `distance` apart.
pub fn within_distance(a: [i32; 3], b: [i32; 3], distance: i32) -> bool {
    squared_distance(a, b) <= u64::from(distance.unsigned_abs()).pow(2)
}

/// The square of the distance of two points. It can't overflow if one is in the world, and
/// no coordinate is below -2^30: the places around which scripts look are anywhere there.
pub fn squared_distance(a: [i32; 3], b: [i32; 3]) -> u64 {
    let along = |axis: usize| i64::from(a[axis]) - i64::from(b[axis]);
    (0..3).map(|axis| (along(axis) * along(axis)) as u64).sum()
}
