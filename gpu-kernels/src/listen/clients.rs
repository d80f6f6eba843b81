//! The state of each client that listening needs.

use shared::{ClientRow, EntityId, WorldConfig};

/// Each client's own entity, and the number of its notices in this tick.
pub struct Clients {
    rows: Vec<Client>,
    /// By slot: the generation and client of an entity that is a client's own.
    own: Vec<(u32, u32)>,
    notices_max: u32,
    /// Clients with notices or work in this tick.
    used: Vec<u32>,
    /// The matcher's work for all clients in this tick; see [`Clients::charge`].
    work: u64,
    /// Matches beyond the limits of clients in this tick.
    dropped: u64,
    /// The number of clients at their limit.
    full: usize,
}

#[derive(Clone, Copy)]
struct Client {
    entity: Option<EntityId>,
    subscriptions: u32,
    /// Notices in this tick.
    notices: u32,
    /// The place of the last one.
    last: u32,
    /// Matches beyond its limit in this tick.
    dropped: u32,
    work: u32,
}

impl Clients {
    pub fn new(config: &WorldConfig) -> Clients {
        let client = Client {
            entity: None,
            subscriptions: 0,
            notices: 0,
            last: u32::MAX,
            dropped: 0,
            work: 0,
        };
        Clients {
            rows: vec![client; config.limits.clients as usize],
            own: vec![(0, NO_CLIENT); config.schema.world.capacity as usize],
            notices_max: config.limits.client_notices_per_tick,
            used: vec![],
            work: 0,
            dropped: 0,
            full: 0,
        }
    }

    /// Counts a subscription of a client.
    pub fn add_subscription(&mut self, client: ClientRow) {
        self.rows[client.index()].subscriptions += 1;
    }

    pub fn remove_subscription(&mut self, client: ClientRow) {
        self.rows[client.index()].subscriptions -= 1;
    }

    /// Begins a tick: no client has notices, and none has cost anything.
    pub fn begin(&mut self) {
        for &client in &self.used {
            let row = &mut self.rows[client as usize];
            row.notices = 0;
            row.last = u32::MAX;
            row.dropped = 0;
            row.work = 0;
        }
        self.used.clear();
        self.work = 0;
        self.dropped = 0;
        self.full = 0;
    }

    /// Notes the matcher's work for a client's subscriptions, in filters checked.
    pub fn charge(&mut self, client: ClientRow, work: u32) {
        self.work += u64::from(work);
        let row = &mut self.rows[client.index()];
        if row.notices == 0 && row.work == 0 {
            self.used.push(client.0);
        }
        row.work = row.work.saturating_add(work);
    }

    /// The matcher's work for all clients in this tick.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// Whether any client may have more matches beyond its limit than this.
    pub fn may_have_dropped(&self, matches: u32) -> bool {
        self.dropped > u64::from(matches)
    }

    /// The clients for which the matcher worked in this tick: its work, and how much
    /// of that was beyond their limits.
    pub fn costs(&self) -> impl Iterator<Item = (ClientRow, u32, u32)> {
        self.used.iter().map(|&client| {
            let row = &self.rows[client as usize];
            (ClientRow(client), row.work, row.dropped)
        })
    }

    /// Sets a client's own entity, or that it has none.
    pub fn set_entity(&mut self, client: ClientRow, entity: Option<EntityId>) {
        if let Some(old) = self.rows[client.index()].entity.take()
            && self.client_of(old) == Some(client)
        {
            self.own[old.slot.index()] = (0, NO_CLIENT);
        }
        if let Some(entity) = entity
            && let Some(own) = self.own.get_mut(entity.slot.index())
        {
            *own = (entity.generation, client.0);
            self.rows[client.index()].entity = Some(entity);
        }
    }

    /// The client whose own entity this is.
    pub fn client_of(&self, entity: EntityId) -> Option<ClientRow> {
        let &(generation, client) = self.own.get(entity.slot.index())?;
        (client != NO_CLIENT && generation == entity.generation).then_some(ClientRow(client))
    }

    pub fn has_subscriptions(&self, client: ClientRow) -> bool {
        self.rows[client.index()].subscriptions > 0
    }

    /// The number of clients at their limit.
    pub fn full(&self) -> usize {
        self.full
    }

    /// Whether a client is at its limit.
    pub fn is_full(&self, client: ClientRow) -> bool {
        self.rows[client.index()].notices == self.notices_max
    }

    /// Counts a notice for a client. Returns false if the client is at its limit and
    /// doesn't have this notice already, through another of its subscriptions.
    pub fn count(&mut self, client: ClientRow, notice: u32) -> bool {
        let row = &mut self.rows[client.index()];
        if row.last == notice {
            return true;
        }
        if row.notices == self.notices_max {
            row.dropped = row.dropped.saturating_add(1);
            self.dropped += 1;
            return false;
        }
        if row.notices == 0 && row.work == 0 {
            self.used.push(client.0);
        }
        row.notices += 1;
        row.last = notice;
        self.full += usize::from(row.notices == self.notices_max);
        true
    }
}

const NO_CLIENT: u32 = u32::MAX;
