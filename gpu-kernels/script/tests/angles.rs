//! Angles are those of mathematics, as near as `Fixed` is.

use std::f64::consts::PI;

use crate::common::{TestWorld, compile};
use script::Command;
use shared::EntityId;

/// A command that changes `me.gold` by the raw value of an expression of two points and an angle.
struct Formula {
    world: TestWorld,
    me: EntityId,
    command: Command,
}

impl Formula {
    fn new(expression: &str) -> Formula {
        let text = format!(
            "#[command(clients)] fn test(me: Entity, at: Point, to: Point, by: Fixed) {{
                let value: Fixed = {expression};
                me.speed = value;
            }}"
        );
        let logic = compile(&text).unwrap_or_else(|problems| panic!("{expression}: {problems:?}"));
        let mut world = TestWorld::new();
        let me = world.add("player", 10, 10);
        let command = logic.commands.into_iter().next().unwrap();
        Formula { world, me, command }
    }

    fn of(&self, at: [i32; 2], to: [i32; 2], by: i32) -> i32 {
        let words = [at[0], at[1], to[0], to[1], by];
        self.world
            .run(&self.command, self.me, &words)
            .unwrap()
            .updates[0]
            .2
    }
}

const DEGREE: i32 = 4096;

/// Numbers of all sizes, and the ends.
fn numbers() -> impl Iterator<Item = i32> {
    let mut number = 1_i64;
    let growing = std::iter::from_fn(move || {
        number = number * 7 / 3 + 1;
        i32::try_from(number).ok()
    });
    let both = growing.flat_map(|number| [number, -number]);
    [0, i32::MIN, i32::MAX].into_iter().chain(both)
}

#[test]
fn sines_and_cosines_are_at_most_one_step_off() {
    let (sine, cosine) = (Formula::new("sine(by)"), Formula::new("cosine(by)"));
    let angles = (-400 * DEGREE..800 * DEGREE).step_by(397);
    for angle in angles.chain(numbers()) {
        let radians = f64::from(angle) / f64::from(DEGREE) * PI / 180.0;
        for (formula, expected) in [(&sine, radians.sin()), (&cosine, radians.cos())] {
            let off = f64::from(formula.of([0; 2], [0; 2], angle)) - expected * 4096.0;
            assert!(off.abs() <= 1.0, "{angle}: {off}");
        }
    }
    for (degrees, expected) in [(0, 0), (30, 2048), (90, 4096), (180, 0), (270, -4096)] {
        let found = sine.of([0; 2], [0; 2], degrees * DEGREE);
        assert_eq!(found, expected, "{degrees}");
        let found = cosine.of([0; 2], [0; 2], (degrees - 90) * DEGREE);
        assert_eq!(found, expected, "{degrees}");
    }
}

#[test]
fn directions_are_at_most_two_steps_off() {
    let angle = Formula::new("angle(at, to)");
    for x in numbers() {
        for y in numbers() {
            let found = angle.of([0; 2], [x, y], 0);
            let expected = f64::from(y).atan2(f64::from(x)) * 180.0 / PI * 4096.0;
            let off = f64::from(found) - expected;
            assert!(off.abs() <= 2.0, "{x} {y}: {off}");
        }
    }
    for (to, expected) in [
        ([0, 0], 0),
        ([5, 0], 0),
        ([7, 7], 45),
        ([0, 1], 90),
        ([-1, 0], 180),
        ([-9, -9], -135),
        ([0, -3], -90),
    ] {
        assert_eq!(angle.of([0; 2], to, 0), expected * DEGREE, "{to:?}");
    }
    // From where the first is.
    assert_eq!(angle.of([100, 50], [60, 90], 0), 135 * DEGREE);
}

#[test]
fn a_turned_offset_keeps_its_length_and_has_another_direction() {
    let (x, y) = (
        Formula::new("turn(at, by).x"),
        Formula::new("turn(at, by).y"),
    );
    let at = [30 * DEGREE, -40 * DEGREE];
    for degrees in (-720..720).step_by(13) {
        let by = degrees * DEGREE;
        let found = [&x, &y].map(|axis| f64::from(axis.of(at, [0; 2], by)) / 4096.0);
        let (sine, cosine) = (f64::from(degrees) * PI / 180.0).sin_cos();
        let expected = [30.0 * cosine + 40.0 * sine, 30.0 * sine - 40.0 * cosine];
        for (found, expected) in found.into_iter().zip(expected) {
            assert!(
                (found - expected).abs() < 0.02,
                "{degrees}: {found} {expected}"
            );
        }
    }
    assert_eq!(x.of([3, 1], [0; 2], 90 * DEGREE), -1);
    assert_eq!(y.of([3, 1], [0; 2], 90 * DEGREE), 3);
}

#[test]
fn functions_and_commands_of_a_world_go_before_those_of_angles() {
    let own = "fn sine(n: i32) -> i32 { n + 1 }
        #[command(clients)] fn turn(me: Entity) { me.gold += sine(4); }";
    let logic = compile(own).unwrap();
    let mut world = TestWorld::new();
    let me = world.add("player", 10, 10);
    let run = world.run(&logic.commands[0], me, &[]).unwrap();
    assert_eq!(run.updates[0].2, 5);
}
