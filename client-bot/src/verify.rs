//! Checks of the server's data. They use nothing of the server: they
//! compare what different bots received.
//!
//! | module | checks |
//! | --- | --- |
//! | [`Checker`] | in play: positions of others, and entities missing from view |
//! | [`check_at_rest`] | whole views, once nothing moves |
//! | [`check_notices`] | notices of subscriptions, and those by place |
//! | [`check_bags`] | things, once nothing moves |
//! | [`check_possessions`] | things that were bots' meanwhile |
//! | [`check_texts`] | texts of attributes |
//! | [`check_members`] | members of groups, likewise |

mod at_rest;
mod bag;
mod checker;
mod earshot;
mod findings;
mod history;
mod members;
mod notices;
mod possession;
mod record;
mod regions;
mod sight;
mod spot;
mod standings;
mod texts;

use client_core::{Entity, Member, Region};
use rustc_hash::FxHashMap;
use shared::{EntityId, Schema, Tick};

pub use at_rest::check_at_rest;
pub use bag::check_bags;
pub use checker::Checker;
pub use findings::Findings;
pub use history::History;
pub use members::check_members;
use notices::KnownEvents;
use possession::Possession;
pub use possession::check_possessions;
pub use record::BotRecord;
use record::RECORDED_TICKS;
pub use spot::Spot;
pub use texts::{OwnText, check_texts};

/// A bot's final state.
pub struct FinalView {
    pub bot: usize,
    pub entity: EntityId,
    /// Its entity is dead, or was reborn so recently that it may not be in view yet.
    pub is_dead: bool,
    pub newest: Tick,
    pub entities: FxHashMap<u32, Entity>,
    /// By slot.
    pub things: FxHashMap<u32, Entity>,
    pub possessions: Vec<Possession>,
    /// Of its entity.
    pub texts: Vec<OwnText>,
    /// The other members of the groups of its entity.
    pub members: Vec<Member>,
    /// Slots that a reliable message named in the last second.
    pub touched: Vec<u32>,
    pub regions: Vec<Region>,
    /// From where a spectator sees; `None`: from its entity, or it is not sure from where.
    pub spot: Option<Spot>,
    pub record: BotRecord,
}

/// Checks that bots received all that they subscribed to, and notifications by place where
/// they were. The last few ticks are left out, as not every bot may have received them.
pub fn check_notices(history: &History, schema: &Schema, views: &[FinalView]) {
    let all: Vec<_> = views.iter().map(|v| (v.bot, &v.record)).collect();
    if all.iter().all(|(_, record)| record.is_empty()) {
        return;
    }
    let newest = views.iter().map(|v| v.newest);
    let last = newest.clone().min().unwrap_or_default().before(LAST_TICKS);
    let after = newest.max().unwrap_or_default().next();
    let first = after.before(RECORDED_TICKS);
    let known = KnownEvents::new(&history.findings, &all);
    for &one in &all {
        notices::check(&history.findings, schema, &known, one, &(first..=last));
    }
    earshot::check(history, &known, &all, &(first..=last));
}

const LAST_TICKS: u32 = 5;
