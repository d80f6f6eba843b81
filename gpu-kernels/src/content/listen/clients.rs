//! What there is to know of each client.

use shared::{ClientRow, EntityId, WorldConfig};

/// Who is who, and how much each was told of in this tick.
pub struct Clients {
    rows: Vec<Client>,
    /// By slot: the generation and client of the entity that is some client's own.
    own: Vec<(u32, u32)>,
    quota: u32,
    /// Those with notices in this tick.
    told: Vec<u32>,
    /// How many of them have their fill.
    full: usize,
}

#[derive(Clone, Copy)]
struct Client {
    entity: Option<EntityId>,
    subscriptions: u32,
    /// In this tick: how many notices, and the place of the last.
    notices: u32,
    last: u32,
}

impl Clients {
    pub fn new(config: &WorldConfig) -> Clients {
        let nobody = Client {
            entity: None,
            subscriptions: 0,
            notices: 0,
            last: u32::MAX,
        };
        Clients {
            rows: vec![nobody; config.limits.clients as usize],
            own: vec![(0, u32::MAX); config.schema.world.capacity as usize],
            quota: config.limits.client_notices_per_tick,
            told: vec![],
            full: 0,
        }
    }

    /// One more of a client's subscriptions, or one less.
    pub fn count(&mut self, client: ClientRow, is_more: bool) {
        let subscriptions = &mut self.rows[client.index()].subscriptions;
        match is_more {
            true => *subscriptions += 1,
            false => *subscriptions -= 1,
        }
    }

    /// In this tick nobody was told of anything yet.
    pub fn begin(&mut self) {
        for &client in &self.told {
            let row = &mut self.rows[client as usize];
            row.notices = 0;
            row.last = u32::MAX;
        }
        self.told.clear();
        self.full = 0;
    }

    /// An entity becomes the client's own, or it has none.
    pub fn embody(&mut self, client: ClientRow, entity: Option<EntityId>) {
        if let Some(old) = self.rows[client.index()].entity.take()
            && self.of(old) == Some(client)
        {
            self.own[old.slot.index()] = (0, u32::MAX);
        }
        if let Some(entity) = entity
            && let Some(own) = self.own.get_mut(entity.slot.index())
        {
            *own = (entity.generation, client.0);
            self.rows[client.index()].entity = Some(entity);
        }
    }

    /// Whose own entity it is.
    pub fn of(&self, entity: EntityId) -> Option<ClientRow> {
        let &(generation, client) = self.own.get(entity.slot.index())?;
        (client != u32::MAX && generation == entity.generation).then_some(ClientRow(client))
    }

    /// Whether it has any subscription.
    pub fn listens(&self, client: ClientRow) -> bool {
        self.rows[client.index()].subscriptions > 0
    }

    /// How many have their fill.
    pub fn full(&self) -> usize {
        self.full
    }

    /// Whether it has its fill.
    pub fn is_full(&self, client: ClientRow) -> bool {
        self.rows[client.index()].notices == self.quota
    }

    /// Whether a client is told of a notice: if there is room for it, or it was told of
    /// it just now because of another subscription.
    pub fn tell(&mut self, client: ClientRow, notice: u32) -> bool {
        let row = &mut self.rows[client.index()];
        if row.last == notice {
            return true;
        }
        if row.notices == self.quota {
            return false;
        }
        if row.notices == 0 {
            self.told.push(client.0);
        }
        row.notices += 1;
        row.last = notice;
        self.full += usize::from(row.notices == self.quota);
        true
    }
}
