//! The world as the outputs describe it.

use gpu_kernels::TickOutput;
use gpu_kernels::listen::Before;
use shared::{EntityId, Slot, WorldConfig};

/// The newest attributes of all slots, as far as outputs have had them.
#[derive(Clone)]
pub struct Mirror {
    pub ids: Vec<EntityId>,
    pub kinds: Vec<u16>,
    pub rows: Vec<Vec<i32>>,
}

impl Mirror {
    pub fn new(config: &WorldConfig) -> Mirror {
        let capacity = config.schema.world.capacity as usize;
        let mut mirror = Mirror {
            ids: vec![EntityId::NONE; capacity],
            kinds: vec![0; capacity],
            rows: vec![vec![]; capacity],
        };
        let schema = &config.schema;
        if let (Some(shared), Some(kind)) = (schema.world_entity(), schema.world_kind) {
            let slot = shared.slot.index();
            mirror.ids[slot] = shared;
            mirror.kinds[slot] = kind;
            mirror.rows[slot] = schema.default_row(usize::from(kind));
        }
        mirror
    }

    pub fn apply(&mut self, config: &WorldConfig, output: &TickOutput) {
        let columns = config.schema.attributes.len();
        let born = output
            .births
            .iter()
            .filter_map(|b| Some((b.kind, b.entity?)));
        for ((kind, id), row) in born.zip(output.birth_rows.chunks(columns)) {
            self.ids[id.slot.index()] = id;
            self.kinds[id.slot.index()] = kind;
            self.rows[id.slot.index()] = row.to_vec();
        }
        for (slot, columns, values) in output.changes.iter() {
            for (&column, &value) in columns.iter().zip(values) {
                self.rows[slot.index()][usize::from(column)] = value;
            }
        }
    }
}

impl Before for Mirror {
    fn id(&self, slot: Slot) -> EntityId {
        self.ids[slot.index()]
    }

    fn kind(&self, slot: Slot) -> u16 {
        self.kinds[slot.index()]
    }

    fn row(&self, slot: Slot) -> &[i32] {
        &self.rows[slot.index()]
    }
}
