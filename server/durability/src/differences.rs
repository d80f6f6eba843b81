//! The differences between a world file and a persistent world, value by value.

use std::sync::Arc;

use serde_json::{Map, Value};
use shared::world::logic::Numbers;
use shared::world::source::{Origin, Source};
use shared::{CommandKind, WorldConfig};

/// The differences, each as a line with a path: `schema.kinds.player.hp.default: 100, now 90`.
/// Scripts, with the commands and notifications that they declare, and the rate of ticks may
/// differ, with the limits that follow from it. Numbers are raw: those of a fixed-point type in
/// 4096ths.
pub fn between(kept: &WorldConfig, given: &WorldConfig) -> Vec<String> {
    of_all(kept, &with_rate_of(given.clone(), kept))
}

/// The same, with the rate of ticks and the limits that follow from it.
pub fn of_all(kept: &WorldConfig, given: &WorldConfig) -> Vec<String> {
    let mut given = given.clone();
    let (constants, budget) = (given.logic.constants, given.logic.budget);
    let numbers = given.logic.numbers;
    given.logic = kept.logic.clone();
    (given.logic.constants, given.logic.budget) = (constants, budget);
    let names_of_given = Names::of(&given, &numbers);
    let names_of_kept = Names::of(kept, &kept.logic.numbers);
    let mut found = vec![];
    let mut walk = Walk {
        names: [&names_of_kept, &names_of_given],
        found: &mut found,
    };
    let values = [(kept, &names_of_kept), (&given, &names_of_given)];
    let [kept_value, given_value] = values.map(|(world, names)| names.value(world));
    walk.compare("", &kept_value, &given_value);
    if found.is_empty() && names_of_kept.columns != names_of_given.columns {
        found.push("the order of attributes".to_owned());
    }
    if found.is_empty() && names_of_kept.kinds != names_of_given.kinds {
        found.push("the order of kinds".to_owned());
    }
    found
}

/// A world with the tick rate of another one, and the limits that follow from it: how far from
/// their ticks commands may arrive, and how far spectators go in a tick. It shows clients the things
/// that the other one does, and keeps causes if either does. These are no part of a world's state.
pub fn with_rate_of(mut world: WorldConfig, of: &WorldConfig) -> WorldConfig {
    let is_another = world.schema.world.tick_hz != of.schema.world.tick_hz;
    // The texts differ in nothing else, but may name other scripts.
    world.source = Origin(Arc::new(Source {
        logic: world.source.0.logic.clone(),
        ..Source::clone(&of.source.0)
    }));
    world.schema.world.tick_hz = of.schema.world.tick_hz;
    world.limits.input_ticks_max = of.limits.input_ticks_max;
    world.limits.late_ticks_max = of.limits.late_ticks_max;
    world.shown = of.shown.clone();
    // What scripts ask for only needs room.
    world.causes |= of.causes;
    if let (true, Some(own), Some(others)) = (is_another, &mut world.spectators, of.spectators)
        && own.step_max.is_some() == others.step_max.is_some()
    {
        own.step_max = others.step_max;
    }
    world
}

/// The names that stand for numbers in a world.
struct Names<'a> {
    /// By column.
    columns: Vec<&'a str>,
    kinds: Vec<&'a str>,
    numbers: &'a Numbers,
}

impl<'a> Names<'a> {
    fn of(world: &'a WorldConfig, numbers: &'a Numbers) -> Names<'a> {
        let columns = world.schema.attributes.iter();
        let kinds = world.schema.kinds.iter();
        Names {
            columns: columns.map(|attribute| attribute.name.as_str()).collect(),
            kinds: kinds.map(|kind| kind.name.as_str()).collect(),
            numbers,
        }
    }

    /// A world as JSON, without declarations of scripts, and with names for numbers: those may
    /// be others in the other world.
    fn value(&self, world: &WorldConfig) -> Value {
        let mut world = world.clone();
        world.schema.commands.clear();
        world.schema.notifications.clear();
        // Those of scripts; those of `born` are compared as such.
        world.hooks.clear();
        world.causes = false;
        // Worlds are written as JSON elsewhere, too.
        let mut value = serde_json::to_value(world).unwrap_or_default();
        if let Some(logic) = value.get_mut("logic").and_then(Value::as_object_mut) {
            logic.remove("numbers");
        }
        self.name_numbers("", &mut value);
        value
    }

    fn name_numbers(&self, key: &str, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                let fields = fields.iter_mut();
                fields.for_each(|(key, value)| self.name_numbers(key, value));
            }
            Value::Array(items) => {
                let items = items.iter_mut();
                items.for_each(|item| self.name_numbers(key, item));
            }
            Value::Number(number) => {
                let number = number
                    .as_u64()
                    .and_then(|number| u16::try_from(number).ok());
                if let Some(name) = number.and_then(|number| self.name(key, number)) {
                    *value = name.into();
                }
            }
            _ => {}
        }
    }

    /// The names for numbers under this key.
    fn name(&self, key: &str, number: u16) -> Option<&str> {
        let index = usize::from(number);
        match key {
            "column" | "opened" | "tells_owner" | "velocity" | "persists" => {
                self.columns.get(index).copied()
            }
            "kind" | "kept_kinds" | "player_kind" | "carrier" => self.kinds.get(index).copied(),
            "command" | "born" => self.numbers.command_name(CommandKind(number)),
            _ => None,
        }
    }
}

struct Walk<'a> {
    /// Those of the persistent world, and those of the given one.
    names: [&'a Names<'a>; 2],
    found: &'a mut Vec<String>,
}

impl Walk<'_> {
    fn compare(&mut self, path: &str, kept: &Value, given: &Value) {
        match (kept, given) {
            _ if kept == given => {}
            (Value::Object(kept), Value::Object(given)) => self.compare_fields(path, kept, given),
            (Value::Array(kept), Value::Array(given)) => {
                let sides = [(self.names[0], kept), (self.names[1], given)];
                let [kept, given] = sides.map(|(names, items)| by_name(names, path, items));
                self.compare_fields(path, &kept, &given);
            }
            _ => self.found.push(format!("{path}: {kept}, now {given}")),
        }
    }

    fn compare_fields(
        &mut self,
        path: &str,
        kept: &Map<String, Value>,
        given: &Map<String, Value>,
    ) {
        let within = |name: &str| match path {
            "" => name.to_owned(),
            _ => format!("{path}.{name}"),
        };
        for (name, value) in kept {
            match given.get(name) {
                Some(given) => self.compare(&within(name), value, given),
                None => self.found.push(format!("{} is missing", within(name))),
            }
        }
        for name in given.keys().filter(|name| !kept.contains_key(*name)) {
            self.found.push(format!("{} is new", within(name)));
        }
    }
}

/// The items of a list, each with its own name, that of its attribute or kind, or else its
/// number.
fn by_name(names: &Names<'_>, path: &str, items: &[Value]) -> Map<String, Value> {
    let is_by_kind = BY_KIND.contains(&path) && items.len() == names.kinds.len();
    let name = |(number, item): (usize, &Value)| {
        let of = |key: &str| item.get(key).and_then(Value::as_str);
        let kind = names.kinds.get(number).filter(|_| is_by_kind);
        let name = of("name").or(of("column")).or(kind.copied());
        let name = name.map_or_else(|| number.to_string(), str::to_owned);
        (name, item.clone())
    };
    items.iter().enumerate().map(name).collect()
}

/// Lists with an item for each kind.
const BY_KIND: [&str; 7] = [
    "shown.kinds",
    "populations",
    "places",
    "spawns",
    "initials",
    "born",
    "falls",
];

#[cfg(test)]
mod tests {
    use super::*;

    const WORLD: &str = "
        [world]
        size = [200, 200]
        aoi = 20
        capacity = 64
        tick_hz = 20

        [[kind]]
        name = 'player'
        attributes = [
            { name = 'hp', type = 'i32', default = 100, min = 0, max = 100, audience = 'state' },
            { name = 'mana', type = 'i32', audience = 'state' },
        ]

        [[kind]]
        name = 'item'
        population = 6
    ";

    fn found(change: &[(&str, &str)]) -> Vec<String> {
        let world = |text: &str| world_file::parse(text, "a test's world").unwrap();
        let mut text = WORLD.to_owned();
        for (from, to) in change {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        between(&world(WORLD), &world(&text))
    }

    #[test]
    fn what_a_world_file_changes_is_named() {
        assert_eq!(
            found(&[("default = 100", "default = 90")]),
            ["schema.kinds.player.attributes.hp.default: 100, now 90"]
        );
        // Some limits follow from it.
        let changed = found(&[("capacity = 64", "capacity = 65")]);
        let expected = "schema.world.capacity: 64, now 65";
        assert!(changed.contains(&expected.to_owned()), "{changed:?}");
        assert_eq!(
            found(&[("population = 6", "population = 7")]),
            ["populations.item: 6, now 7"]
        );
    }

    #[test]
    fn attributes_and_kinds_that_come_and_go_are_named() {
        let changed = found(&[("'mana'", "'rage'"), ("'item'", "'chest'")]);
        for expected in [
            "schema.attributes.mana is missing",
            "schema.attributes.rage is new",
            "schema.kinds.item is missing",
            "schema.kinds.chest is new",
        ] {
            assert!(changed.contains(&expected.to_owned()), "{changed:?}");
        }
    }

    /// Numbers follow from the order, and a state is full of them.
    #[test]
    fn another_order_of_kinds_or_attributes_is_a_difference_and_other_text_is_none() {
        let world = |text: &str| world_file::parse(text, "a test's world").unwrap();
        let kind = "[[kind]]\n        name = 'item'\n        population = 6";
        assert!(WORLD.contains(kind));
        let text = WORLD.replace(kind, "");
        let first = format!(
            "{kind}\n{}",
            text.replace("[world]", "\n[world]\nplayer_kind = 'player'")
        );
        assert_eq!(
            between(&world(WORLD), &world(&first)),
            ["the order of kinds"]
        );
        let (hp, mana) = (
            WORLD.find("{ name = 'hp'").unwrap(),
            WORLD.find("{ name = 'mana'").unwrap(),
        );
        let end = mana + WORLD[mana..].find("},").unwrap() + 2;
        let (before, hp, mana) = (&WORLD[..hp], &WORLD[hp..mana], &WORLD[mana..end]);
        let swapped = format!("{before}{mana}\n{hp}{}", &WORLD[end..]);
        let expected = ["the order of attributes"];
        assert_eq!(between(&world(WORLD), &world(&swapped)), expected);
        let moved = "[world]\n        tick_hz = 20 # a comment\n        size = [200, 200]";
        let text = WORLD.replace("        tick_hz = 20\n", "");
        let text = text.replace("[world]\n        size = [200, 200]", moved);
        let worlds = [WORLD, &text].map(world);
        assert_ne!(text, WORLD);
        assert_eq!(between(&worlds[0], &worlds[1]), [""; 0]);
    }

    #[test]
    fn the_rate_of_ticks_and_the_scripts_may_change() {
        let logic = "[logic]\nbuiltin = ['move']\n[world]";
        let changes = [("tick_hz = 20", "tick_hz = 30"), ("[world]", logic)];
        assert_eq!(found(&changes), [""; 0]);
    }

    #[test]
    fn hooks_may_change_and_zones_may_not() {
        let folder = std::env::temp_dir().join(format!("myriad-hooked-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let world = |script: &str, radius: u32| {
            std::fs::write(folder.join("hooks.rs"), script).unwrap();
            let zone = format!("[[zone]]\nname = 'disc'\ncarrier = 'item'\nradius = {radius}\n");
            let text = format!(
                "{WORLD}\n{zone}\n[logic]\nfolder = '.'\n[limits]\nsubscriptions_per_client = 0\n"
            );
            world_file::parse(&text, &folder.join("w.toml").display().to_string()).unwrap()
        };
        let kept = world("#[on(birth)] fn born(me: Entity) { me.hp += 1; }", 3);
        let fall = "#[on(fall)] fn fell(me: Entity, by: Entity) { by.hp += 1; }";
        let given = world(fall, 3);
        assert_ne!(kept.hooks, given.hooks);
        assert_eq!(between(&kept, &given), [""; 0]);
        // The kept world has the room that its next scripts need.
        assert!(!kept.causes && with_rate_of(kept.clone(), &given).causes);
        let larger = world(fall, 4);
        assert_eq!(
            between(&given, &larger),
            ["schema.zones.disc.area.Ball.radius: 12288, now 16384"]
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_world_at_another_rate_has_what_follows_from_it() {
        let watched = |tick_hz: u32| {
            let text = format!("[spectators]\nallowed = true\nspeed_max = 60\n{WORLD}");
            let text = text.replace("tick_hz = 20", &format!("tick_hz = {tick_hz}"));
            world_file::parse(&text, "a test's world").unwrap()
        };
        let (kept, given) = (watched(20), watched(100));
        assert_ne!(kept.spectators, given.spectators);
        assert_eq!(between(&kept, &given), [""; 0]);
        assert_eq!(with_rate_of(kept.clone(), &given), given);
        assert_eq!(with_rate_of(given.clone(), &kept), kept);
        // At the same rate, another speed is a difference.
        let mut slower = kept.clone();
        slower.spectators.as_mut().unwrap().step_max = Some(1);
        assert!(between(&kept, &slower)[0].contains("step_max"));
    }
}
