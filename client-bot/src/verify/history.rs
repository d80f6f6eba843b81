//! Where each bot's own entity was in the last ticks, for other bots to compare with.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

use shared::world::edit::LayerKind;
use shared::world::layer::Layers;
use shared::world::visibility::Visibility;
use shared::{EntityId, Schema, Slot, Tick};

use super::findings::Findings;
use super::sight::Sight;
use super::texts::KnownTexts;

/// Own positions of all bots, as each received them. All threads read and write it.
pub struct History {
    pub dimensions: usize,
    pub sight: Sight,
    pub visible_max: usize,
    /// What the world hides.
    pub visibility: Visibility,
    /// After so many ticks within range, an entity has entered.
    pub enter_ticks_max: u32,
    /// The largest coordinates.
    pub edges: [i32; 3],
    /// The layers of the world, once a bot has them.
    layers: OnceLock<Layers>,
    pub bots: usize,
    /// One bot of so many is verified.
    pub view_every: NonZeroUsize,
    /// How many are verified.
    verified: usize,
    /// Of large swarms, only one check in so many is made.
    pub share: usize,
    /// By slot: one more than the bot whose entity has it; 0: no bot's.
    owners: Vec<AtomicU32>,
    /// By tick modulo [`HISTORY_TICKS`], then verified bot.
    places: Vec<OwnPosition>,
    /// Requests that were granted.
    granted: AtomicU64,
    /// The reason of the first refusal.
    refusal: Mutex<Option<String>>,
    pub texts: KnownTexts,
    pub findings: Findings,
}

/// One bot's own position in one tick.
#[derive(Default)]
struct OwnPosition {
    /// One more than the tick.
    tick: AtomicU64,
    /// The entity's slot: it changes when the entity is reborn.
    slot: AtomicU32,
    position: [AtomicI32; 3],
}

impl History {
    /// Of so many bots, that are sent so many bytes a tick; 0: no limit. One of `view_every`
    /// is verified.
    pub fn new(
        schema: &Schema,
        bytes_per_tick: u32,
        bots: usize,
        view_every: NonZeroUsize,
    ) -> History {
        let verified = bots.div_ceil(view_every.get());
        History {
            dimensions: schema.dimensions(),
            sight: Sight::new(schema),
            visible_max: schema.world.visible_max as usize,
            visibility: Visibility::default(),
            enter_ticks_max: match bytes_per_tick {
                0 => 2,
                _ => ENTER_TICKS_MAX,
            },
            edges: schema.world.edges(),
            layers: OnceLock::new(),
            bots,
            view_every,
            verified,
            share: 1 + verified / BOTS_CHECKED,
            owners: (0..schema.world.capacity)
                .map(|_| AtomicU32::new(0))
                .collect(),
            places: (0..verified * HISTORY_TICKS as usize)
                .map(|_| OwnPosition::default())
                .collect(),
            granted: AtomicU64::new(0),
            refusal: Mutex::new(None),
            texts: KnownTexts::default(),
            findings: Findings::default(),
        }
    }

    /// The same in a world that hides something.
    pub fn hiding(self, visibility: Visibility) -> History {
        History { visibility, ..self }
    }

    /// A verified bot has an entity from now on.
    pub fn register(&self, bot: usize, entity: EntityId) {
        if let Some(owner) = self.owners.get(entity.slot.index()) {
            owner.store(bot as u32 + 1, Relaxed);
        }
    }

    /// The bot whose entity has this slot.
    pub fn owner(&self, slot: Slot) -> Option<usize> {
        (self.owners.get(slot.index())?.load(Relaxed) as usize).checked_sub(1)
    }

    /// Notes where a bot's own entity was.
    pub fn write(&self, bot: usize, tick: Tick, slot: Slot, position: &[i32]) {
        let place = self.place(bot, tick);
        place.slot.store(slot.0, Relaxed);
        for (axis, &value) in place.position.iter().zip(position) {
            axis.store(value, Relaxed);
        }
        place.tick.store(tick.next().0, Relaxed);
    }

    /// The slot and position of a bot's own entity in a tick, if it received one.
    pub fn read(&self, bot: usize, tick: Tick) -> Option<(Slot, [i32; 3])> {
        let place = self.place(bot, tick);
        let is_known = place.tick.load(Relaxed) == tick.next().0;
        is_known.then(|| {
            let position = [0, 1, 2].map(|axis| place.position[axis].load(Relaxed));
            (Slot(place.slot.load(Relaxed)), position)
        })
    }

    /// The position of a bot's entity in a tick, if its bot received it.
    pub fn read_entity(&self, entity: EntityId, tick: Tick) -> Option<[i32; 3]> {
        let (slot, position) = self.read(self.owner(entity.slot)?, tick)?;
        (slot == entity.slot).then_some(position)
    }

    fn place(&self, bot: usize, tick: Tick) -> &OwnPosition {
        let ring = (tick.0 % u64::from(HISTORY_TICKS)) as usize;
        &self.places[ring * self.verified + bot / self.view_every]
    }

    /// Whether the world's layers are missing.
    pub fn lacks_layers(&self) -> bool {
        self.layers.get().is_none()
    }

    pub fn set_layers(&self, layers: &Layers) {
        // Doors open and close while bots play.
        let mut layers = layers.clone();
        layers.close(vec![]);
        let _ = self.layers.set(layers);
    }

    /// Checks that an entity that a bot was shown in a tick is in no wall. Where scripts build walls,
    /// they may do so around it.
    pub fn check_free(&self, bot: usize, tick: Tick, slot: Slot, position: [i32; 3]) {
        let walls = self
            .layers
            .get()
            .filter(|layers| layers.blocked().is_some() && !layers.is_editable(LayerKind::Blocked));
        let Some(walls) = walls else {
            return;
        };
        self.findings.check(!walls.is_blocked(position), || {
            let slot = slot.0;
            format!("bot {bot}: in tick {tick}, slot {slot} is in a wall, at {position:?}")
        });
    }

    pub fn note_grant(&self) {
        self.granted.fetch_add(1, Relaxed);
    }

    pub fn note_refusal(&self, reason: &str) {
        let mut refusal = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        refusal.get_or_insert_with(|| reason.to_owned());
    }

    /// Checks that bots that make requests were granted at least one. The world may refuse
    /// others.
    pub fn check_granted(&self) {
        let is_granted = self.granted.load(Relaxed) > 0;
        let refusal = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        self.findings.check(is_granted, || match &*refusal {
            Some(reason) => format!("all requests of the bots were refused: {reason}"),
            None => "no request of the bots was answered".to_owned(),
        });
    }
}

/// Swarms of more bots are checked by sample, so that bots have time to play.
const BOTS_CHECKED: usize = 2048;
/// Where enters share a budget.
const ENTER_TICKS_MAX: u32 = 60;
/// How many ticks are kept.
pub const HISTORY_TICKS: u32 = 128;
