//! Checks rankings that bots are sent: their order, and the bot's own place in them.

use std::collections::BTreeSet;

use client_core::{Ranked, RankingInfo};
use shared::EntityId;
use shared::wire::rankings::Standing;

use super::findings::Findings;

/// What a bot was sent of rankings.
#[derive(Default)]
pub struct Standings(Vec<(RankingInfo, Vec<Ranked>)>);

impl Standings {
    pub fn new(rankings: Vec<RankingInfo>) -> Standings {
        Standings(rankings.into_iter().map(|info| (info, vec![])).collect())
    }

    /// Judges a message to a bot that acts as an entity; none while it is dead.
    pub fn judge(&mut self, findings: &Findings, own: EntityId, standing: &Standing) {
        let ranking = self.0.get_mut(usize::from(standing.ranking));
        let Some((info, known)) = ranking else {
            let number = standing.ranking;
            return findings.check(false, || format!("there is no ranking {number}"));
        };
        if let Some(first) = &standing.first {
            known.clone_from(first);
        }
        let fault = fault(info, known, own, standing.own);
        findings.check(fault.is_none(), || {
            let (name, fault) = (&info.name, fault.unwrap_or_default());
            format!(
                "the ranking {name:?}: {fault}: {known:?}, own {own:?} at {}",
                standing.own
            )
        });
    }
}

/// What is wrong with a ranking's first entities, or with the place of the own one.
fn fault(info: &RankingInfo, first: &[Ranked], own: EntityId, place: u32) -> Option<&'static str> {
    let entities: BTreeSet<_> = first.iter().map(|ranked| ranked.entity.slot.0).collect();
    // By value, then by slot.
    let comes_before = |pair: &[Ranked]| {
        let key = |ranked: &Ranked| match info.is_least_first {
            true => (i64::from(ranked.value), ranked.entity.slot.0),
            false => (-i64::from(ranked.value), ranked.entity.slot.0),
        };
        key(&pair[0]) < key(&pair[1])
    };
    let listed = first.iter().position(|ranked| ranked.entity == own);
    let at_place = (place as usize).checked_sub(1).and_then(|at| first.get(at));
    if first.len() > usize::from(info.length) {
        Some("too many entities")
    } else if entities.len() != first.len() {
        Some("an entity twice")
    } else if !first.windows(2).all(comes_before) {
        Some("another order")
    } else if own == EntityId::NONE {
        None
    } else if at_place.is_some_and(|ranked| ranked.entity != own) {
        Some("another one has its place")
    } else if listed.is_some_and(|at| at + 1 != place as usize) {
        Some("it is at another place")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_orders_and_wrong_places_are_errors() {
        let info = RankingInfo {
            name: "score".to_owned(),
            kind: 0,
            column: 2,
            is_least_first: false,
            length: 3,
        };
        let of = |values: &[(u32, i32)]| {
            let ranked = values.iter().map(|&(slot, value)| Ranked {
                entity: EntityId::new(slot, 1),
                value,
                name: None,
            });
            ranked.collect::<Vec<_>>()
        };
        let own = EntityId::new(4, 1);
        let found = |values: &[(u32, i32)], place| fault(&info, &of(values), own, place);
        assert_eq!(found(&[(2, 9), (4, 7), (5, 7)], 2), None);
        assert_eq!(found(&[(2, 9), (5, 7)], 3), None);
        assert_eq!(
            found(&[(2, 9), (5, 7)], 2),
            Some("another one has its place")
        );
        assert_eq!(found(&[(2, 9), (4, 7)], 0), Some("it is at another place"));
        assert_eq!(found(&[(2, 7), (5, 9)], 0), Some("another order"));
        assert_eq!(found(&[(5, 9), (2, 9)], 0), Some("another order"));
        assert_eq!(found(&[(5, 9), (5, 8)], 0), Some("an entity twice"));
        let four = [(1, 9), (2, 8), (3, 7), (5, 6)];
        assert_eq!(found(&four, 0), Some("too many entities"));
    }
}
