//! The welcome of a client: a few bytes of its own, and a part that all welcomes of a world share.

use bytes::Bytes;
use shared::wire::control::{Quotas, Ticket};
use shared::wire::layers::{LayerInfo, LayerKind};
use shared::wire::rankings::RankingInfo;
use shared::wire::{EDITS_VERSION, LONGER_WELCOME_VERSION, PLANES_VERSION, codec, length};
use shared::{ClientRow, EntityId, Schema, Tick, WorldConfig};

use crate::servers::Others;

/// The shared parts of a world's welcomes, encoded once: the schema alone may be a MiB.
pub struct SharedWelcome {
    world: Bytes,
    reasons: Bytes,
    layers: Bytes,
    /// The last field.
    doors: Bytes,
    rankings: Bytes,
    planes: Bytes,
    editable: Bytes,
}

/// The fields that differ by client.
pub struct OwnWelcome<'a> {
    pub tick: Tick,
    pub entity: EntityId,
    pub commands_epoch: u8,
    pub ticket: Ticket,
    pub resumed: bool,
    /// See [`Welcome::processed`](shared::wire::control::Welcome::processed).
    pub processed: Option<u32>,
    pub client: ClientRow,
    pub others: &'a Others,
}

impl SharedWelcome {
    /// `schema` is without the parts that are hidden from clients.
    pub fn new(
        config: &WorldConfig,
        schema: &Schema,
        forecast: &[u8],
        layers: &[LayerInfo],
    ) -> SharedWelcome {
        let quotas = Quotas::of(&config.limits, config.spectators);
        let fields = (config.player_kind, quotas, schema, forecast);
        SharedWelcome {
            world: codec::to_bytes(&fields).into(),
            reasons: codec::to_bytes(&config.reasons).into(),
            layers: codec::to_bytes(&layers).into(),
            doors: codec::to_bytes(&schema.doors).into(),
            rankings: codec::to_bytes(&RankingInfo::all(&config.schema)).into(),
            planes: codec::to_bytes(&schema.atlas).into(),
            editable: codec::to_bytes(&editable(layers)).into(),
        }
    }

    /// The bytes of a [`Welcome`](shared::wire::control::Welcome) with the length in front of
    /// them, in parts, as clients of a version read it. Its fields are written one after the other,
    /// so parts can be joined.
    pub fn parts(&self, own: &OwnWelcome<'_>, version: u16) -> [Bytes; 9] {
        let mut head = codec::to_bytes(&(
            own.tick,
            own.entity,
            own.commands_epoch,
            own.ticket,
            own.resumed,
        ));
        if version >= LONGER_WELCOME_VERSION {
            head.extend(codec::to_bytes(&own.processed));
        }
        let servers: Vec<&str> = own.others.of(own.client).collect();
        let since = |first: u16, part: &Bytes| match version < first {
            true => Bytes::new(),
            false => part.clone(),
        };
        let mut parts = [
            head.into(),
            self.world.clone(),
            codec::to_bytes(&servers).into(),
            self.reasons.clone(),
            self.layers.clone(),
            since(LONGER_WELCOME_VERSION, &self.doors),
            since(LONGER_WELCOME_VERSION, &self.rankings),
            since(PLANES_VERSION, &self.planes),
            since(EDITS_VERSION, &self.editable),
        ];
        let mut begin = vec![];
        length::put(parts.iter().map(Bytes::len).sum(), &mut begin);
        begin.extend_from_slice(&parts[0]);
        parts[0] = begin.into();
        parts
    }
}

/// The layers whose cells scripts change.
fn editable(layers: &[LayerInfo]) -> Vec<LayerKind> {
    let editable = layers.iter().filter(|layer| layer.is_editable);
    editable.map(|layer| layer.kind).collect()
}

#[cfg(test)]
mod tests {
    use shared::wire::PROTOCOL_VERSION;
    use shared::wire::control::Welcome;
    use shared::world::door::Door;
    use shared::world::plane::{Atlas, Declared};
    use shared::world::ranking::Ranking;

    use super::*;

    fn atlas() -> Atlas {
        let cave = Declared {
            name: "cave".to_owned(),
            size: [20, 30],
            copies: 7,
        };
        Atlas::lay_out([100, 50], [10, 5], vec![cave], 1, 1000).expect("room")
    }

    #[test]
    fn the_parts_are_a_welcome_and_its_long_part_is_the_same_memory_for_all() {
        let mut config = world_file::default();
        config.reasons = vec!["too far away".to_owned(), "too poor".to_owned()];
        config.schema.doors = vec![Door {
            kind: 0,
            cells: [3, 1],
            closed: None,
        }];
        config.schema.atlas = atlas();
        let schema = config.schema.for_clients();
        config.schema.rankings = ["score", "secret"]
            .map(|name| Ranking {
                name: name.to_owned(),
                kind: 0,
                column: 2,
                is_least_first: false,
                length: 20,
                is_sent: name == "score",
            })
            .to_vec();
        let rankings = RankingInfo::all(&config.schema);
        assert_eq!(rankings.len(), 1);
        let forecast = vec![3; 300];
        let layers = vec![LayerInfo {
            kind: LayerKind::Blocked,
            cells: [20, 30],
            edge_bits: 12,
            hash: 77,
            packed_bytes: 19,
            tags: vec![],
            is_editable: true,
        }];
        let shared = SharedWelcome::new(&config, &schema, &forecast, &layers);
        let mut long = vec![];
        for (row, servers) in [(7, vec![]), (300_001, vec!["two:2", "three:3"])] {
            let others = Others::new(servers.iter().map(|&address| address.into()));
            let own = OwnWelcome {
                tick: Tick(u64::from(row) << 20),
                entity: EntityId::new(row, 9),
                commands_epoch: 3,
                ticket: [row as u8; 16],
                resumed: row == 7,
                processed: (row == 7).then_some(1000),
                client: ClientRow(row),
                others: &others,
            };
            let parts = shared.parts(&own, PROTOCOL_VERSION);
            let welcome = Welcome {
                tick: own.tick,
                entity: own.entity,
                commands_epoch: own.commands_epoch,
                ticket: own.ticket,
                resumed: own.resumed,
                processed: own.processed,
                player_kind: config.player_kind,
                quotas: Quotas::of(&config.limits, config.spectators),
                schema: schema.clone(),
                forecast: forecast.clone(),
                // An odd row begins with the second.
                servers: servers.iter().rev().map(|&s| s.to_owned()).collect(),
                reasons: config.reasons.clone(),
                layers: layers.clone(),
                doors: schema.doors.clone(),
                rankings: rankings.clone(),
                planes: schema.atlas.clone(),
                editable: vec![LayerKind::Blocked],
            };
            let whole = codec::to_bytes(&welcome);
            let mut expected = vec![];
            length::put(whole.len(), &mut expected);
            expected.extend(&whole);
            assert_eq!(parts.concat(), expected);
            assert!(parts[0].len() + parts[2].len() < 80);
            // Clients of the version before know nothing of these.
            let before = shared.parts(&own, LONGER_WELCOME_VERSION - 1).concat();
            let processed = codec::to_bytes(&welcome.processed).len();
            let doors = codec::to_bytes(&welcome.doors).len();
            let planes = codec::to_bytes(&welcome.planes).len();
            let editable = codec::to_bytes(&welcome.editable).len();
            let new = processed + doors + codec::to_bytes(&rankings).len() + planes + editable;
            assert_eq!(before.len() + new, parts.concat().len());
            long.push(parts[1].as_ptr());
        }
        assert_eq!(long[0], long[1]);
    }
}
