//! The built-in texts beyond the usual ones: what each must do, said once more in the
//! simplest way. The oracle of the test kit does this for the usual ones.

use crate::common::{Done, TestWorld, builtins};
use script::interpreter::NoEffect;
use script::{Command, Logic};
use shared::world::logic::Constants;
use shared::{EntityId, EntityRef};

const UNIT: i32 = 4096;

/// A player at (10, 10), and others around it.
struct Stage {
    world: TestWorld,
    logic: Logic,
    me: EntityId,
    /// At (12, 10).
    friend: EntityId,
    /// At (90, 90).
    stranger: EntityId,
    /// At (11, 10): without hit points, gold, wood, target and score.
    item: EntityId,
}

impl Stage {
    fn new() -> Stage {
        let mut world = TestWorld::new();
        let me = world.add("player", 10, 10);
        let friend = world.add("player", 12, 10);
        let stranger = world.add("player", 90, 90);
        let item = world.add("item", 11, 10);
        world.rows.push(None);
        Stage {
            world,
            logic: builtins(&Constants::default()),
            me,
            friend,
            stranger,
            item,
        }
    }

    fn command(&self, name: &str) -> &Command {
        let mut commands = self.logic.commands.iter();
        commands.find(|c| c.schema.name == name).unwrap()
    }

    fn run(&self, name: &str, words: &[i32]) -> Done {
        self.run_as(self.me, name, words)
    }

    fn run_as(&self, me: EntityId, name: &str, words: &[i32]) -> Done {
        self.world.run(self.command(name), me, words).unwrap()
    }

    /// Of an atomic command: what it leaves, or that it was refused.
    fn take(&self, name: &str, words: &[i32]) -> Result<Done, NoEffect> {
        self.world.run(self.command(name), self.me, words)
    }

    fn column(&self, name: &str) -> u16 {
        self.world.schema.column(name).unwrap() as u16
    }

    fn number(&self, name: &str) -> u16 {
        self.command(name).schema.kind.0
    }

    /// Words for a target, each with the entity that it names, if one lives by it.
    fn targets(&self) -> Vec<(i32, Option<EntityId>)> {
        let live = [self.me, self.friend, self.stranger, self.item];
        let live = live.map(|entity| (entity.reference().0, Some(entity)));
        let before = EntityId::new(self.friend.slot.0, self.friend.generation - 1);
        let never = EntityId::new(4, 1);
        let dead = [before, never].map(|entity| entity.reference().0);
        let invented = [EntityRef::NONE.0, i32::MIN, i32::MAX, 77, 1 << 24];
        let nobody = dead.into_iter().chain(invented).map(|word| (word, None));
        live.into_iter().chain(nobody).collect()
    }
}

fn updates(updates: &[(EntityId, u16, i32)]) -> Done {
    let updates = updates.iter();
    Done {
        updates: updates
            .map(|&(e, column, v)| (e.slot.0, column, v))
            .collect(),
        ..Done::default()
    }
}

/// What an atomic command leaves.
fn writes(writes: &[(EntityId, u16, i32)]) -> Done {
    Done {
        writes: updates(writes).updates,
        ..Done::default()
    }
}

fn after(done: Done, ticks: u32, entity: EntityId, number: u16, words: &[i32]) -> Done {
    Done {
        afters: vec![(ticks, entity, number, words.to_vec())],
        ..done
    }
}

const NUMBERS: [i32; 9] = [i32::MIN, -7, -1, 0, 1, 2, 10, 11, i32::MAX];

#[test]
fn poison_comes_in_bouts() {
    let stage = Stage::new();
    let sicken = stage.number("sicken");
    for (word, target) in stage.targets() {
        // The stranger is out of reach, the item has no hit points.
        let expected = match target {
            Some(target) if target == stage.friend => {
                after(Done::default(), 1, target, sicken, &[5])
            }
            _ => Done::default(),
        };
        assert_eq!(stage.run("poison", &[word]), expected, "{word}");
    }
    for bouts in NUMBERS {
        let mut expected = updates(&[(stage.me, stage.column("hp"), -2)]);
        if bouts > 1 {
            expected = after(expected, 10, stage.me, sicken, &[bouts - 1]);
        }
        assert_eq!(stage.run("sicken", &[bouts]), expected, "{bouts}");
    }
}

#[test]
fn poison_reaches_five_units_and_no_farther() {
    let mut stage = Stage::new();
    for (x, reaches) in [(15 * UNIT, true), (15 * UNIT + 1, false), (5 * UNIT, true)] {
        stage.world.set(stage.friend, "x", x);
        let done = stage.run("poison", &[stage.friend.reference().0]);
        assert_eq!(!done.afters.is_empty(), reaches, "{x}");
    }
}

#[test]
fn a_shield_goes_as_it_came() {
    let stage = Stage::new();
    let shield = stage.column("shield");
    let raised = updates(&[(stage.me, shield, 20)]);
    let unshield = stage.number("unshield");
    let expected = after(raised, 50, stage.me, unshield, &[]);
    assert_eq!(stage.run("shield", &[]), expected);
    let expected = updates(&[(stage.me, shield, -20)]);
    assert_eq!(stage.run("unshield", &[]), expected);
    // An item has no shield to raise, and none is lowered later.
    let done = stage.run_as(stage.item, "shield", &[]);
    assert!(done.updates.is_empty());
    assert_eq!(stage.run_as(stage.item, "unshield", &[]), Done::default());
}

#[test]
fn who_follows_stops_three_units_away() {
    let mut stage = Stage::new();
    // To where the other is, in raw units; the step by hand.
    for ((x, y), step) in [
        ((0, 0), None),
        ((3 * UNIT, 0), None),
        ((4 * UNIT, 0), Some([UNIT, 0])),
        ((-4 * UNIT, 0), Some([-UNIT, 0])),
        ((0, 40 * UNIT), Some([0, 2 * UNIT])),
        // 2 of 5 units, 3 and 4 parts of which are 0.6 and 0.8: 2457 and 3276 of 4096.
        ((3 * UNIT, 4 * UNIT), Some([2 * 2457, 2 * 3276])),
        ((-3 * UNIT, -4 * UNIT), Some([-2 * 2457, -2 * 3276])),
        ((50 * UNIT, 0), Some([2 * UNIT, 0])),
        ((50 * UNIT + 1, 0), None),
    ] {
        stage.world.set(stage.friend, "x", 10 * UNIT + x);
        stage.world.set(stage.friend, "y", 10 * UNIT + y);
        let done = stage.run("follow", &[stage.friend.reference().0]);
        let expected = match step {
            Some([x, y]) => updates(&[(stage.me, 0, x), (stage.me, 1, y)]),
            None => Done::default(),
        };
        assert_eq!(done, expected, "({x}, {y})");
    }
    let stage = Stage::new();
    for (word, _) in stage.targets() {
        // Nobody is both in sight and farther than three units here.
        assert_eq!(stage.run("follow", &[word]), Done::default(), "{word}");
    }
}

#[test]
fn teleports_end_within_the_world_and_in_reach() {
    let stage = Stage::new();
    let own = 10 * UNIT;
    let (last, reach) = (100 * UNIT - 1, i64::from(100 * UNIT));
    let places = [
        i32::MIN,
        -1,
        0,
        own,
        60 * UNIT,
        75 * UNIT,
        last,
        last + 1,
        i32::MAX,
    ];
    let mut moved = 0;
    for x in places {
        for y in places {
            let step = [x, y].map(|word| word.max(0).min(last) - own);
            let squares = step.map(|step| i64::from(step) * i64::from(step));
            let expected = match squares[0] + squares[1] <= reach * reach {
                true => updates(&[(stage.me, 0, step[0]), (stage.me, 1, step[1])]),
                false => Done::default(),
            };
            moved += expected.updates.len();
            assert_eq!(stage.run("teleport", &[x, y]), expected, "({x}, {y})");
        }
    }
    assert!(moved > 0 && moved < 2 * places.len() * places.len());
}

#[test]
fn what_is_ripe_is_harvested_and_regrows() {
    let mut stage = Stage::new();
    let (ripe, wood) = (stage.column("ripe"), stage.column("wood"));
    let taken = writes(&[(stage.item, ripe, 0), (stage.me, wood, 1)]);
    let taken = after(taken, 100, stage.item, stage.number("regrow"), &[]);
    for (word, target) in stage.targets() {
        let expected = match target == Some(stage.item) {
            true => Ok(taken.clone()),
            false => Err(NoEffect::Refused),
        };
        assert_eq!(stage.take("harvest", &[word]), expected, "{word}");
    }
    let item = stage.item.reference().0;
    for (attribute, value) in [("ripe", 0), ("x", 13 * UNIT + 1)] {
        let mut stage = Stage::new();
        stage.world.set(stage.item, attribute, value);
        assert_eq!(stage.take("harvest", &[item]), Err(NoEffect::Refused));
    }
    let expected = updates(&[(stage.item, ripe, 1)]);
    assert_eq!(stage.run_as(stage.item, "regrow", &[]), expected);
    stage.world.set(stage.item, "x", 13 * UNIT);
    let done = stage.take("harvest", &[item]);
    assert_eq!(done, Ok(taken), "it is just in reach");
}

#[test]
fn trade_gives_what_is_there_and_no_more() {
    for held in NUMBERS {
        let mut stage = Stage::new();
        stage.world.set(stage.me, "gold", held);
        let gold = stage.column("gold");
        for (word, target) in stage.targets() {
            for amount in NUMBERS {
                let given = if amount < 0 || held < 0 {
                    0
                } else if amount < held {
                    amount
                } else {
                    held
                };
                let has = stage.world.row_of(stage.friend)[usize::from(gold)];
                let sum = i64::from(has) + i64::from(given);
                let left = |friend| {
                    writes(&[(stage.me, gold, held - given), (stage.friend, gold, friend)])
                };
                let expected = match i32::try_from(sum) {
                    Ok(sum) if target == Some(stage.friend) => Ok(left(sum)),
                    _ => Err(NoEffect::Refused),
                };
                let done = stage.take("trade", &[word, amount]);
                assert_eq!(done, expected, "{amount} of {held} to {word}");
            }
        }
    }
}

#[test]
fn a_taunt_turns_all_around_to_oneself() {
    let mut stage = Stage::new();
    let target = stage.column("target");
    let me = stage.me.reference().0;
    let expected = updates(&[(stage.friend, target, me)]);
    assert_eq!(stage.run("taunt", &[]), expected);
    // Just in reach, and just out of it.
    let near = stage.world.add("player", 10, 25);
    let far = stage.world.add("player", 10, 25);
    stage.world.set(far, "y", 25 * UNIT + 1);
    let expected = updates(&[(stage.friend, target, me), (near, target, me)]);
    assert_eq!(stage.run("taunt", &[]), expected);
}

#[test]
fn a_score_adds_up_and_its_best_is_kept() {
    let mut stage = Stage::new();
    let (score, best) = (stage.column("score"), stage.column("best"));
    for (had, before) in NUMBERS.iter().flat_map(|&a| [(a, -5), (a, 5)]) {
        stage.world.set(stage.me, "score", had);
        stage.world.set(stage.me, "best", before);
        for points in NUMBERS {
            let sum = (i64::from(had) + i64::from(points)) as i32;
            let most = if sum > before { sum } else { before };
            let expected = updates(&[(stage.me, best, most), (stage.me, score, points)]);
            assert_eq!(stage.run("score", &[points]), expected, "{had} + {points}");
        }
    }
    let done = stage.run_as(stage.item, "score", &[5]);
    assert_eq!(done, Done::default(), "an item has no score");
}

#[test]
fn who_is_steered_drifts_as_far_as_it_was_told() {
    let mut stage = Stage::new();
    let (vx, vy) = (stage.column("vx"), stage.column("vy"));
    let most = 2 * UNIT;
    for (word, clamped) in [
        (i32::MIN, -most),
        (-most - 1, -most),
        (-7, -7),
        (0, 0),
        (most, most),
        (i32::MAX, most),
    ] {
        let steered = stage.run("steer", &[word, 5]);
        assert_eq!(
            steered,
            updates(&[(stage.me, vx, clamped), (stage.me, vy, 5)])
        );
        stage.world.set(stage.me, "vx", clamped);
        stage.world.set(stage.me, "vy", 5);
        let drifted = stage.run("drift", &[]);
        assert_eq!(
            drifted,
            updates(&[(stage.me, 0, clamped), (stage.me, 1, 5)])
        );
    }
    // An item has no velocity to set.
    assert_eq!(stage.run_as(stage.item, "steer", &[1, 1]), Done::default());
}
