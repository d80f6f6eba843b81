//! Rankings that a client has asked for.

use shared::wire::rankings::{Ranked, RankingInfo, Standing};
use shared::{AttributeType, AttributeValue, Schema, Tick};

/// A ranking of the world. It is empty until the client has [asked](crate::Game::ask_ranking) for it
/// and the server has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranking {
    /// What it orders, and how.
    pub info: RankingInfo,
    /// The place of the client's own entity, from 1 on; `None`: it has none, or nothing has come yet.
    pub own: Option<u32>,
    /// Its first entities, in order: as many as the client has asked for, if there are.
    pub first: Vec<Ranked>,
    /// The tick of the last message about it; `None`: nothing has come yet.
    pub changed: Option<Tick>,
}

impl Ranking {
    /// The values that decide about its first entities, as a schema's attributes have them.
    pub fn values(&self, schema: &Schema) -> impl Iterator<Item = f64> {
        let attribute = schema.attributes.get(usize::from(self.info.column));
        let ty = attribute.map_or(AttributeType::I32, |attribute| attribute.ty);
        let first = self.first.iter();
        first.map(move |ranked| AttributeValue::of_word(ty, ranked.value).number())
    }

    pub(crate) fn new(info: &RankingInfo) -> Ranking {
        Ranking {
            info: info.clone(),
            own: None,
            first: vec![],
            changed: None,
        }
    }

    pub(crate) fn take(&mut self, tick: Tick, standing: Standing) {
        self.own = Some(standing.own).filter(|&own| own > 0);
        if let Some(first) = standing.first {
            self.first = first;
        }
        self.changed = Some(tick);
    }
}
