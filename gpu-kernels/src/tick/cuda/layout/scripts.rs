//! What the text of a command's kernels must know of the structures and of the world.

use device::layout::Described;
use script::interpreter::Space;
use script::ptx::Layout;
use script::ptx::layout::{
    AfterFields, CommandFields, CounterFields, NotificationFields, Numbers, TickFields, WorldFields,
};
use shared::WorldConfig;

use super::super::sizes::{Sizes, buckets};
use super::{AfterRecord, Tick, Verdict, World};
use crate::notification::Notification;
use crate::slot::SlotState;
use crate::tick::counts::Counters;
use crate::tick::frame::Command;

/// The layout for the scripts of a world.
pub fn script_layout(config: &WorldConfig, sizes: &Sizes) -> Layout {
    let limits = &config.limits;
    Layout {
        world: fields::<World, _>(|bytes, offset| WorldFields::new(bytes, offset)),
        tick: fields::<Tick, _>(|bytes, offset| TickFields::new(bytes, offset)),
        counters: fields::<Counters, _>(|bytes, offset| CounterFields::new(bytes, offset)),
        command: fields::<Command, _>(|bytes, offset| CommandFields::new(bytes, offset)),
        after: fields::<AfterRecord, _>(|bytes, offset| AfterFields::new(bytes, offset)),
        notification: fields::<Notification, _>(|bytes, offset| {
            NotificationFields::new(bytes, offset)
        }),
        numbers: Numbers {
            seed: config.seed,
            space: Space {
                dimensions: config.dimensions(),
                size: config.size_raw(),
                budget: config.logic.budget,
            },
            capacity: sizes.capacity as u32,
            layer_words: sizes.layer_words as u32,
            field_words: sizes.field_words as u32,
            columns: sizes.columns as u32,
            rankings: config.schema.rankings.iter().map(|r| r.kind).collect(),
            kind_columns: config.schema.kind_columns(),
            rewind_ticks: limits.rewind_ticks,
            bucket_edge: config.schema.world.aoi.raw(),
            buckets: buckets(config),
            directory_shift: sizes.directory.shift,
            timed_max: limits.timed_commands,
            notifications_max: limits.notifications_per_tick,
            has_causes: sizes.causes > 0,
            live: SlotState::Live as u32,
            over_budget: Verdict::OverBudget as u32,
            refused: Verdict::Refused as u32,
            moved: Verdict::Moved as u32,
            idle: Verdict::Idle as u32,
            atomic_max: sizes.atomics as u32,
        },
    }
}

/// The fields of a structure, by name.
fn fields<T: Described, F>(new: impl Fn(u32, &mut dyn FnMut(&str) -> u32) -> F) -> F {
    let structure = T::structure();
    let mut offset = |name: &str| structure.offset(name) as u32;
    new(structure.bytes as u32, &mut offset)
}
