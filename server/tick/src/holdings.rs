//! Regions and subscriptions of clients: grants, suspension while a client is away, and removal once
//! it is gone. Without I/O and without a clock.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use durability::roster::{Roster, RosterChange};
use frontend::inbox::LongText;
use gpu_kernels::listen::{SubscribeError, SubscriptionRegistry, UnsubscribeError};
use gpu_kernels::tick::frame::RegionError;
use gpu_kernels::{Frame, Holder, Region, RegionChange};
use shared::predicate::TextError;
use shared::wire::control::Ticket;
use shared::wire::request::{self, RequestBody};
use shared::world::limits::REGIONS_PER_CLIENT_MAX;
use shared::{ClientRow, EntityId, WorldConfig};
use thiserror::Error;

use super::directory::{Presence, SightError};
use super::talk::TalkError;
use super::texts::TextsError;
use coverage::Coverage;

mod coverage;

/// The regions and subscriptions of all clients, within the world's limits.
pub struct Holdings {
    config: WorldConfig,
    /// The subscription registry; none in worlds without subscriptions.
    registry: Option<SubscriptionRegistry>,
    /// By client row; rows without regions and subscriptions are left out.
    clients: HashMap<ClientRow, ClientHoldings>,
    coverage: Coverage,
    /// The number of clients with regions.
    with_regions: usize,
    /// Clients that were granted something since the last tick.
    granted: Vec<ClientRow>,
    /// Changes since the last [`Holdings::take_changes`]; none if they are not recorded.
    changes: Option<Vec<RosterChange>>,
}

/// Why a request is rejected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RequestError {
    #[error("this world has no regions for clients")]
    NoRegions,
    #[error("there is no region {index}: a client has {count}, from 0 on")]
    NoSuchRegion { index: u32, count: u32 },
    #[error("the region: {0}")]
    Region(#[from] RegionError),
    #[error(
        "regions that touch {found} entities in each tick, where a client's part is {limit} now: \
         drop or shorten one first"
    )]
    TooMuchCovered { found: u64, limit: u64 },
    #[error("the region follows slot {slot}, where the world has {capacity}")]
    NoSuchSlot { slot: u32, capacity: u32 },
    #[error("this request is for nothing that a client holds")]
    NotHeld,
    #[error("this world has no subscriptions")]
    NoSubscriptions,
    #[error("the predicate: {0}")]
    Predicate(TextError),
    #[error(transparent)]
    Subscribe(SubscribeError),
    #[error(transparent)]
    Unsubscribe(#[from] UnsubscribeError),
    #[error(transparent)]
    Talk(#[from] TalkError),
    #[error(transparent)]
    Sight(#[from] SightError),
    #[error(transparent)]
    Texts(#[from] TextsError),
}

impl From<LongText> for RequestError {
    fn from(LongText { found, limit }: LongText) -> RequestError {
        RequestError::Subscribe(SubscribeError::LongText { found, limit })
    }
}

impl From<SubscribeError> for RequestError {
    fn from(error: SubscribeError) -> RequestError {
        match error {
            SubscribeError::Text(error) => RequestError::Predicate(error),
            error => RequestError::Subscribe(error),
        }
    }
}

/// The regions of one client, and the state for its subscriptions.
struct ClientHoldings {
    /// Distinguishes this client from the next one with the same row.
    ticket: Ticket,
    /// Its entity, as in its regions and its subscriptions.
    entity: Option<EntityId>,
    /// By index.
    regions: Vec<Option<Region>>,
    /// It is counted in [`Holdings::with_regions`].
    has_regions: bool,
    /// Regions that go into the next frame, as bits by index. Each goes once, at the end of a
    /// tick, so a frame has room for all however often clients change them.
    changed: u64,
    /// The world has the regions, since the client is connected.
    is_set: bool,
    /// The client has subscriptions, or had some.
    has_subscribed: bool,
}

impl Holdings {
    /// No client has regions or subscriptions. Without a registry clients can't subscribe.
    pub fn new(config: &WorldConfig, registry: Option<SubscriptionRegistry>) -> Holdings {
        Holdings {
            config: config.clone(),
            registry,
            clients: HashMap::new(),
            coverage: Coverage::new(config),
            with_regions: 0,
            granted: vec![],
            changes: None,
        }
    }

    /// Restores the holdings from a roster. Subscriptions that the world does not allow any more
    /// are left out; returns their number.
    pub fn restore(&mut self, roster: &Roster) -> usize {
        let mut left_out = 0;
        for (&client, saved) in &roster.clients {
            if saved.regions.is_empty() && saved.subscriptions.is_empty() {
                continue;
            }
            let presence = Presence {
                ticket: saved.row.first,
                is_connected: saved.row.is_connected(),
                entity: saved.row.entity(),
            };
            let holdings = self.of(client, &presence);
            holdings.is_set = presence.is_connected;
            for (&index, &region) in &saved.regions {
                if let Some(own) = holdings.regions.get_mut(index as usize) {
                    *own = Some(region);
                }
            }
            self.count_regions(client);
            for (&id, predicate) in &saved.subscriptions {
                let subscribed = self.registry().map(|registry| {
                    let subscribed = registry.subscribe(client, id, predicate);
                    subscribed.is_ok()
                });
                match subscribed {
                    Ok(true) => self.note_subscriber(client, &presence),
                    _ => left_out += 1,
                }
            }
        }
        left_out
    }

    /// Records changes from here on.
    pub fn record_changes(&mut self) {
        self.changes = Some(vec![]);
    }

    /// The changes since the last call.
    pub fn take_changes(&mut self) -> Vec<RosterChange> {
        let changes = self.changes.as_mut();
        changes.map(std::mem::take).unwrap_or_default()
    }

    fn note(&mut self, change: impl FnOnce() -> RosterChange) {
        if let Some(changes) = &mut self.changes {
            changes.push(change());
        }
    }

    /// Grants the request of a connected client. It holds from the tick whose frame the
    /// next [`Holdings::follow`] completes.
    pub fn grant(
        &mut self,
        client: ClientRow,
        presence: &Presence,
        body: &RequestBody,
    ) -> Result<(), RequestError> {
        match body {
            RequestBody::SetRegion { index, region } => {
                let region = self.check(*index, region.as_ref())?;
                if let Some(region) = &region {
                    self.check_coverage(client, *index, region)?;
                }
                let holdings = self.of(client, presence);
                holdings.regions[*index as usize] = region;
                holdings.changed |= 1 << index;
                self.count_regions(client);
            }
            RequestBody::Subscribe { id, predicate } => {
                self.registry()?.subscribe(client, *id, predicate)?;
                self.note_subscriber(client, presence);
                self.note(|| RosterChange::Subscribed {
                    client,
                    id: *id,
                    predicate: predicate.to_string(),
                });
            }
            RequestBody::Unsubscribe { id } => {
                self.registry()?.unsubscribe(client, *id)?;
                let id = *id;
                self.note(|| RosterChange::Unsubscribed { client, id });
            }
            // The directory sets observers, talk and texts are handled elsewhere, and front ends send
            // layers and rankings.
            RequestBody::SetSight { .. }
            | RequestBody::Watch { .. }
            | RequestBody::Talk(_)
            | RequestBody::Text { .. }
            | RequestBody::TextsOf { .. }
            | RequestBody::Layer { .. }
            | RequestBody::Ranking { .. } => return Err(RequestError::NotHeld),
        }
        Ok(())
    }

    /// Writes changed regions into the frame. Removes a client's regions from the world while it
    /// is away, sets them again when it returns, and drops its regions and subscriptions when
    /// it is gone. Those that follow the client's own entity follow its next one after a
    /// rebirth. `presence` gives the client of a row, and `changed` the rows where that has
    /// changed.
    pub fn follow(
        &mut self,
        changed: impl IntoIterator<Item = ClientRow>,
        presence: impl Fn(ClientRow) -> Option<Presence>,
        frame: &mut Frame,
    ) {
        let mut concerned = std::mem::take(&mut self.granted);
        let has_some = |client: &ClientRow| self.clients.contains_key(client);
        concerned.extend(changed.into_iter().filter(has_some));
        // The world's order of changes must not depend on that of requests.
        concerned.sort_unstable();
        concerned.dedup();
        for client in concerned.drain(..) {
            let Entry::Occupied(mut entry) = self.clients.entry(client) else {
                continue;
            };
            let holdings = entry.get_mut();
            let registry = self.registry.as_ref();
            let registry = registry.filter(|_| holdings.has_subscribed);
            let presence = presence(client).filter(|p| p.ticket == holdings.ticket);
            holdings.show(presence.is_some_and(|p| p.is_connected));
            let Some(presence) = presence else {
                // Its grants end with its row.
                holdings.write(client, frame, None);
                if let Some(registry) = registry {
                    registry.forget(client);
                }
                self.with_regions -= usize::from(holdings.has_regions);
                entry.remove();
                continue;
            };
            if holdings.set_entity(presence.entity)
                && let Some(registry) = registry
            {
                registry.set_entity(client, presence.entity);
            }
            holdings.write(client, frame, self.changes.as_mut());
            if !holdings.has_subscribed && holdings.regions.iter().all(Option::is_none) {
                entry.remove();
            }
        }
        self.granted = concerned;
    }

    fn registry(&self) -> Result<&SubscriptionRegistry, RequestError> {
        self.registry.as_ref().ok_or(RequestError::NoSubscriptions)
    }

    fn note_subscriber(&mut self, client: ClientRow, presence: &Presence) {
        let holdings = self.of(client, presence);
        if std::mem::replace(&mut holdings.has_subscribed, true) {
            return;
        }
        let entity = holdings.entity;
        if let Some(registry) = &self.registry {
            registry.set_entity(client, entity);
        }
    }

    /// The holdings of a client, which may be empty, for a grant.
    fn of(&mut self, client: ClientRow, presence: &Presence) -> &mut ClientHoldings {
        let count = self.config.limits.regions_per_client as usize;
        self.granted.push(client);
        self.clients
            .entry(client)
            .or_insert_with(|| ClientHoldings {
                ticket: presence.ticket,
                entity: presence.entity,
                regions: vec![None; count],
                has_regions: false,
                changed: 0,
                is_set: true,
                has_subscribed: false,
            })
    }

    /// Checks the coverage of a client's regions with one of them replaced.
    fn check_coverage(
        &self,
        client: ClientRow,
        index: u32,
        region: &Region,
    ) -> Result<(), RequestError> {
        let own = self.clients.get(&client);
        let others = own.map_or(&[][..], |own| &own.regions);
        let others = (0..).zip(others).filter(|&(other, _)| other != index);
        let others = others.filter_map(|(_, other)| other.as_ref());
        let prices = others
            .chain([region])
            .map(|region| self.coverage.price(region));
        let found = prices.sum();
        let is_new = !own.is_some_and(|own| own.has_regions);
        let limit = self.coverage.share(self.with_regions + usize::from(is_new));
        match found <= limit {
            true => Ok(()),
            false => Err(RequestError::TooMuchCovered { found, limit }),
        }
    }

    /// The regions of a client may have changed.
    fn count_regions(&mut self, client: ClientRow) {
        if let Some(holdings) = self.clients.get_mut(&client) {
            let has_some = holdings.regions.iter().any(Option::is_some);
            let had_some = std::mem::replace(&mut holdings.has_regions, has_some);
            self.with_regions += usize::from(has_some);
            self.with_regions -= usize::from(had_some);
        }
    }

    /// A requested region as the frame has it.
    fn check(
        &self,
        index: u32,
        requested: Option<&request::Region>,
    ) -> Result<Option<Region>, RequestError> {
        let count = self.config.limits.regions_per_client;
        if count == 0 {
            return Err(RequestError::NoRegions);
        }
        if index >= count {
            return Err(RequestError::NoSuchRegion { index, count });
        }
        let Some(requested) = requested else {
            return Ok(None);
        };
        let region = Region {
            low: requested.low,
            high: requested.high,
            follows: requested.follows,
        };
        let region = region.check(&self.config)?;
        let capacity = self.config.schema.world.capacity;
        match region.follows.map(|entity| entity.slot.0) {
            Some(slot) if slot >= capacity => Err(RequestError::NoSuchSlot { slot, capacity }),
            _ => Ok(Some(region)),
        }
    }
}

impl ClientHoldings {
    /// Sets the regions in the world, or removes them.
    fn show(&mut self, is_set: bool) {
        if std::mem::replace(&mut self.is_set, is_set) == is_set {
            return;
        }
        for (index, region) in self.regions.iter().enumerate() {
            self.changed |= u64::from(region.is_some()) << index;
        }
    }

    /// The client acts as another entity; false if it is the same one.
    fn set_entity(&mut self, entity: Option<EntityId>) -> bool {
        // A client without an entity keeps the one that died, until it is reborn.
        if entity.is_none() || entity == self.entity {
            return false;
        }
        let before = std::mem::replace(&mut self.entity, entity);
        for (index, region) in self.regions.iter_mut().enumerate() {
            if let Some(region) = region
                && region.follows.is_some()
                && region.follows == before
            {
                region.follows = entity;
                self.changed |= 1 << index;
            }
        }
        true
    }

    /// Writes the changed regions into the frame, and records them in `changes`.
    fn write(
        &mut self,
        client: ClientRow,
        frame: &mut Frame,
        mut changes: Option<&mut Vec<RosterChange>>,
    ) {
        for (index, &region) in (0..).zip(&self.regions) {
            if self.changed >> index & 1 == 1 {
                if let Some(changes) = &mut changes {
                    changes.push(RosterChange::Region {
                        client,
                        index,
                        region,
                    });
                }
                frame.regions.push(RegionChange {
                    holder: Holder::Client { client, index },
                    region: region.filter(|_| self.is_set),
                });
            }
        }
        self.changed = 0;
    }
}

const _: () = assert!(REGIONS_PER_CLIENT_MAX <= u64::BITS);

#[cfg(test)]
mod tests;
