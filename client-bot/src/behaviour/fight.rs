use client_core::{Entity, View};
use shared::{CommandKind, EntityId, Schema};

use super::wander::Wander;
use super::{Behaviour, Dice, Input, command};

/// Wanders, and sometimes strikes, heals, blasts or picks up an entity in view. A command
/// whose target is out of reach has no effect.
pub struct Fight {
    walk: Wander,
    /// Those that the world has.
    strike: Option<CommandKind>,
    heal: Option<CommandKind>,
    blast: Option<CommandKind>,
    pick: Option<CommandKind>,
}

impl Fight {
    pub fn new(schema: &Schema, dice: &mut Dice) -> Fight {
        Fight {
            walk: Wander::new(schema, dice),
            strike: command(schema, "strike"),
            heal: command(schema, "heal"),
            blast: command(schema, "blast"),
            pick: command(schema, "pick"),
        }
    }
}

impl Behaviour for Fight {
    fn act(&mut self, view: &View, dice: &mut Dice, input: &mut Input) {
        self.walk.act(view, dice, input);
        let Some(own) = view.own() else { return };
        match dice.below(8) {
            0..3 => {
                if let Some(strike) = self.strike
                    && let Some(target) = any_target(view, own, dice)
                {
                    input.command(strike, &[target.reference().0]);
                }
            }
            3 => {
                if let Some(heal) = self.heal {
                    input.command(heal, &[own.id.reference().0]);
                }
            }
            4 => {
                if let Some(blast) = self.blast {
                    let dimensions = view.schema().dimensions();
                    input.command(blast, &own.row[..dimensions]);
                }
            }
            5 => {
                if let Some(pick) = self.pick
                    && let Some(item) = any_item(view, own, dice)
                {
                    input.command(pick, &[item.reference().0]);
                }
            }
            _ => {}
        }
    }
}

/// One of the nearest entities.
fn any_target(view: &View, own: &Entity, dice: &mut Dice) -> Option<EntityId> {
    nearest(view, own, dice, |_| true)
}

/// One of the nearest entities that can be owned.
fn any_item(view: &View, own: &Entity, dice: &mut Dice) -> Option<EntityId> {
    let owner = view.schema().column("owner")? as u16;
    let kinds = &view.schema().kinds;
    nearest(view, own, dice, |e| {
        let kind = &kinds[usize::from(e.kind)];
        kind.attributes.iter().any(|a| a.column == owner)
    })
}

/// One of the three nearest entities that suit.
fn nearest(
    view: &View,
    own: &Entity,
    dice: &mut Dice,
    suits: impl Fn(&Entity) -> bool,
) -> Option<EntityId> {
    let dimensions = view.schema().dimensions();
    let distance = |e: &Entity| {
        (0..dimensions)
            .map(|axis| (f64::from(e.row[axis]) - f64::from(own.row[axis])).powi(2))
            .sum::<f64>()
    };
    let others = view.entities().values();
    let others = others.filter(|e| e.id != own.id && suits(e));
    let skip = dice.below(3);
    let mut near: Vec<(f64, EntityId)> = others.map(|e| (distance(e), e.id)).collect();
    near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    near.get(skip).or(near.last()).map(|&(_, id)| id)
}
