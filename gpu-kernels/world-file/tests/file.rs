use script::builtin;
use shared::Fixed;
use shared::world::command::Senders;
use shared::world::config::{Fall, Motion};
use shared::world::door::Door;
use shared::world::edit::LayerKind;
use shared::world::initial::Choice;
use shared::world::schema::KindRegions;
use shared::world::spawn::SpawnArea;
use world_file::Overrides;
use world_file::Reader;

/// The only problem of a file, without its line.
fn rejected(text: &str) -> String {
    let message = shown(text);
    let after = message.strip_prefix("w.toml:").expect("the file");
    // Its line, and for some its column.
    let is_place = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    let mut rest = after;
    while let Some((place, after)) = rest.split_once(':').filter(|(place, _)| is_place(place)) {
        rest = after;
        let _ = place;
    }
    format!("w.toml:{rest}")
}

/// All problems of a file.
fn shown(text: &str) -> String {
    let rejected = world_file::parse(text, "w.toml");
    rejected.expect_err("an error").to_string()
}

#[test]
fn an_empty_file_is_a_playable_world() {
    let config = world_file::parse("", "w.toml").unwrap();
    assert_eq!(config.schema.world.size.len(), 2);
    assert_eq!(config.schema.default_row(0), [0, 0, 100]);
    assert!(config.schema.command(builtin::STRIKE).is_some());
    assert!(config.schema.command(builtin::PICK).is_none());
}

#[test]
fn regions_default_to_none_and_kinds_with_some_allow_them() {
    let config = world_file::parse("", "w.toml").unwrap();
    let limits = &config.limits;
    assert_eq!(
        (limits.regions_per_client, limits.entity_regions),
        (0, false)
    );
    assert_eq!(limits.region_edge_max.to_f64(), 400.0);
    let config = world_file::parse(
        "[world]\naoi = 4\n[[kind]]\nname = \"a\"\n[[kind]]\nname = \"b\"\npublishes = [2, 0.5]",
        "w.toml",
    )
    .unwrap();
    assert!(config.limits.entity_regions);
    assert_eq!(config.schema.kinds[0].regions, KindRegions::default());
    assert_eq!(
        config.schema.kinds[1].regions.publishes,
        Some([8192, 2048, 1])
    );
    assert_eq!(config.schema.kinds[1].regions.subscribes, None);
}

#[test]
fn regions_that_contradict_each_other_are_rejected() {
    let cases = [
        (
            "[limits]\nregions_per_client = 65",
            "limits.regions_per_client: expected 0 to 64, found 65",
        ),
        (
            "[limits]\nentity_regions = false\n[[kind]]\nname = \"a\"\nsubscribes = [1, 1]",
            "limits.entity_regions: expected true, since a kind has `publishes` or `subscribes`, \
             found false",
        ),
        (
            "[[kind]]\nname = \"a\"\npublishes = [1]",
            "kind.a.publishes: expected 2 numbers, one per axis, found 1",
        ),
        (
            "[limits]\nregion_edge_max = 9\n[[kind]]\nname = \"a\"\npublishes = [1, 9.5]",
            "kind.a.publishes: expected at most limits.region_edge_max = 9, found 9.5",
        ),
        (
            "[limits]\nregion_edge_max = 0",
            "limits.region_edge_max: expected 0.000244140625 to 262143, found 0",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(rejected(text), format!("w.toml: {expected}"));
    }
}

#[test]
fn movement_is_told_as_courses_where_clients_remember() {
    let motion = |text: &str| world_file::parse(text, "w.toml").unwrap().motion;
    let usual = Motion {
        tolerance: 0,
        velocity: vec![],
    };
    assert_eq!(motion(""), Some(usual));
    assert_eq!(motion("[world]\nmotion = false"), None);
    assert_eq!(motion("[world]\nvisible_max = 0"), None);
    let kind = "[[kind]]\nname = \"a\"\nattributes = [\
                { name = \"hp\", type = \"i32\", audience = \"state\" }, \
                { name = \"vy\", type = \"fixed\", audience = \"hidden\" }, \
                { name = \"vx\", type = \"fixed\", audience = \"hidden\" }]";
    let keys = |keys: &str| format!("[world]\n{keys}\n{kind}");
    let found = motion(&keys("velocity = [\"vx\", \"vy\"]\nwire_tolerance = 0.5"));
    let declared = Motion {
        tolerance: 2048,
        velocity: vec![4, 3],
    };
    assert_eq!(found, Some(declared));

    let cases = [
        (
            "motion = true\nvisible_max = 0",
            "world.motion: clients that are sent changes only, as with visible_max = 0, \
             can't know the course of who comes into view",
        ),
        (
            "velocity = [\"vx\"]",
            "world.velocity: expected 2 names, one for each axis, found 1",
        ),
        (
            "velocity = [\"vx\", \"vz\"]",
            "world.velocity: expected names of attributes of type fixed that a kind has, \
             found \"vz\"",
        ),
        (
            "velocity = [\"x\", \"y\"]",
            "world.velocity: expected names of attributes of type fixed that a kind has, \
             found \"x\"",
        ),
        (
            "velocity = [\"vx\", \"hp\"]",
            "kind.a.attributes.hp: an attribute of `world.velocity` has type fixed",
        ),
        (
            "wire_tolerance = -1",
            "world.wire_tolerance: expected 0 to 262143, found -1",
        ),
        (
            "wire_step = 0.3",
            "world.wire_step: expected a power of two from 0.000244140625 to 1, found 0.3",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(rejected(&keys(text)), format!("w.toml: {expected}"));
    }
}

#[test]
fn known_entities_leave_at_most_twice_as_far_away_as_they_enter() {
    let leave = |text: &str| {
        let text = format!("[world]\naoi = 33.3\n{text}");
        world_file::parse(&text, "w.toml").map(|world| world.schema.world.aoi_leave)
    };
    assert_eq!(leave("").unwrap(), Fixed::from_f64(33.3).unwrap());
    assert_eq!(
        leave("aoi_leave = 40").unwrap(),
        Fixed::from_f64(40.0).unwrap()
    );
    assert!(leave("aoi_leave = 33.3").is_ok());
    let cases = [
        (
            "aoi_leave = 30",
            "expected 33.300048828125 to 66.60009765625, found 30",
        ),
        (
            "aoi_leave = 70",
            "expected 33.300048828125 to 66.60009765625, found 70",
        ),
        (
            "aoi_leave = 40\nvisible_max = 0",
            "clients that remember nothing, as with visible_max = 0, know no entity that could \
             leave",
        ),
    ];
    for (text, expected) in cases {
        let text = format!("[world]\naoi = 33.3\n{text}");
        assert_eq!(
            rejected(&text),
            format!("w.toml: world.aoi_leave: {expected}")
        );
    }
}

#[test]
fn errors_name_the_file_the_key_and_what_was_expected() {
    let cases = [
        (
            "[world]\naoi = -3",
            "world.aoi: expected 1 to 262143, found -3",
        ),
        (
            "[world]\nsize = [5]",
            "world.size: expected 2 or 3 numbers, found 1",
        ),
        (
            "[world]\nplayer_kind = \"elf\"",
            "world.player_kind: expected one of [\"player\"], found \"elf\"",
        ),
        (
            "[[every]]\nkind = \"player\"\nticks = 0\ncommand = \"roam\"",
            "every[0].ticks: expected 1 to 1000000, found 0",
        ),
        (
            "[[every]]\nkind = \"player\"\nticks = 1\ncommand = \"spawn\"",
            "every[0].command: expected one of [\"move\", \"blast\", \"roam\"], found \"spawn\"",
        ),
        (
            "[[every]]\nkind = \"player\"\nticks = 1\ncommand = \"blast\"\nwords = [1, 2, 3]",
            "every[0].words: `blast` takes 2 numbers, found 3",
        ),
        (
            "[[kind]]\nname = \"a\"\npopulation = 5000",
            "kind.population: expected at most world.capacity = 4096 of all kinds together, \
             found 5000",
        ),
        (
            "[world]\ncapacity = 2\n[[kind]]\nname = \"a\"\npopulation = 1\nplaces = [[1, 1], [2, 2]]",
            "kind.places: expected at most world.capacity = 2 of all kinds together, found 3",
        ),
        (
            "[[kind]]\nname = \"a\"\nplaces = [[1, 1], [1, 2, 3]]",
            "kind.a.places[1]: expected 2 numbers, one per axis, found 3",
        ),
        (
            "[[kind]]\nname = \"a\"\nplaces = [[1, 1000.5]]",
            "kind.a.places[0]: expected 0 to 1000, found 1000.5",
        ),
        (
            "[limits]\nobservers_per_client = 100",
            "limits.observers_per_client: expected 1 to 64, found 100",
        ),
        (
            "[limits]\ntimed_commands = 0\n[commands]\nblast.ember_ticks = 1",
            "limits.timed_commands: `blast` of blast.rs schedules a command by `after`, `spawn` or \
             `despawn`, which needs this limit: expected 1 to 2147483647, found 0",
        ),
        (
            "[commands]\nblast.ember_ticks = 1000001",
            "commands.blast.ember_ticks: expected 0 to 1000000, found 1000001",
        ),
        (
            "[limits]\nnotifications_per_tick = 0\n[commands]\nshout.radius_max = 1",
            "limits.notifications_per_tick: `shout` of shout.rs notifies clients by \
             `tell`, which needs this limit: expected 1 to 2147483647, found 0",
        ),
        (
            "[limits]\nclient_hearings_per_tick = 1025",
            "limits.client_hearings_per_tick: expected 1 to 1024, found 1025",
        ),
        (
            "[[kind]]\nname = \"a\"\n[[kind]]\nname = \"b\"\nrespawn_ticks = 9",
            "kind.b.respawn_ticks: the kind needs an attribute with `falls_at`: the value at \
             which its entities fall",
        ),
        (
            "[[kind]]\nname = \"a\"\n[[kind]]\nname = \"b\"\nattributes = [{ name = \"g\", \
             type = \"i32\", audience = \"state\", persist = true }]",
            "kind.b.attributes.g.persist: only attributes of the players' kind persist",
        ),
        (
            "[[kind]]\nname = \"a\"\nattributes = [{ name = \"g\", type = \"entity\", \
             audience = \"state\", persist = true }]",
            "kind.a.attributes.g.persist: an entity may be gone when its account comes back; what a \
             player holds persists by `persist = true` of its kind, and what it is a member of has \
             `group = true`",
        ),
        (
            "[[kind]]\nname = \"a\"\npersist = true",
            "kind.a.persist: players persist by their attributes: write `persist = true` for those \
             that accounts keep",
        ),
        (
            "[[kind]]\nname = \"a\"\n[[kind]]\nname = \"b\"\npersist = true",
            "kind.b.persist: only a kind with `place = \"none\"` persists: accounts keep what their \
             players hold",
        ),
        (
            "[[kind]]\nname = \"a\"\n[[kind]]\nname = \"b\"\nplace = \"none\"\nattributes = \
             [{ name = \"g\", type = \"i32\", audience = \"state\", persist = true }]",
            "kind.b.attributes.g.persist: things persist as a whole: write `persist = true` for \
             their kind",
        ),
        (
            "[[kind]]\nname = \"a\"\n[[kind]]\nname = \"b\"\nplace = \"none\"\npersist = true\n\
             attributes = [{ name = \"things\", type = \"i32\", audience = \"state\" }]",
            "kind.b.attributes.things: a character says something else of its things under this \
             name; rename it",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(rejected(text), format!("w.toml: {expected}"), "for {text}");
    }
}

#[test]
fn errors_name_the_attribute() {
    let cases = [
        (
            "name = \"hp\", type = \"i32\", default = 9, max = 5",
            "hp.default: expected -2147483648 to 5, found 9",
        ),
        (
            "name = \"hp\", type = \"i32\", min = 9, max = 5",
            "hp.min: expected at most max = 5, found 9",
        ),
        (
            "name = \"hp\", type = \"bool\", max = 5",
            "hp: only i32 and fixed attributes have `min` and `max`",
        ),
        (
            "name = \"event\", type = \"i32\"",
            "event: `event` is reserved; rename this attribute",
        ),
        (
            "name = \"prefix\", type = \"i32\"",
            "prefix: `prefix` is reserved; rename this attribute",
        ),
    ];
    for (attribute, expected) in cases {
        let text = format!(
            "[limits]\nsubscriptions_per_client = 1\n[[kind]]\nname = \"a\"\nattributes = \
             [{{ {attribute}, audience = \"state\" }}]"
        );
        let expected = format!("w.toml: kind.a.attributes.{expected}");
        assert_eq!(rejected(&text), expected, "for {text}");
    }
}

#[test]
fn attributes_have_names_that_scripts_can_write_and_that_mean_nothing_else() {
    let file = |name: &str| {
        let name = toml_text(name);
        format!(
            "[[kind]]\nname = \"a\"\nattributes = [{{ name = {name}, type = \"i32\", \
             audience = \"state\" }}]"
        )
    };
    let cases = [
        (
            "a name of the letters",
            &[
                "",
                "my gold",
                "2nd",
                "_",
                "hit-points",
                "größe",
                "a.b",
                "a\n",
            ][..],
        ),
        (
            "another name: every entity has `position`",
            &["position", "kind", "x", "y", "z"],
        ),
        (
            "another name: this word",
            &["type", "true", "fn", "self", "Self", "match", "yield"],
        ),
    ];
    for (expected, names) in cases {
        for name in names {
            let message = rejected(&file(name));
            let start = format!("w.toml: kind.a.attributes.{name}: expected {expected}");
            assert!(message.starts_with(&start), "{message}");
            assert!(message.contains(&format!("found {name:?}")), "{message}");
        }
    }
    for name in [
        "gold",
        "_gold",
        "Gold2",
        "kinds",
        "position_x",
        "me",
        "none",
        "i32",
        "event",
    ] {
        let config = world_file::parse(&file(name), "w.toml").unwrap();
        assert_eq!(config.schema.column(name), Some(2), "{name}");
    }
}

/// A text as TOML has it.
fn toml_text(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

#[test]
fn only_numbers_merge_by_a_sum_or_an_order() {
    let file = |ty: &str, merge: &str| {
        let symbols = match ty {
            "symbol" => ", symbols = [\"red\"]",
            _ => "",
        };
        format!(
            "[[kind]]\nname = \"a\"\nattributes = [{{ name = \"it\", type = \"{ty}\", merge = \
             \"{merge}\", audience = \"state\"{symbols} }}]"
        )
    };
    for ty in ["bool", "entity", "symbol"] {
        for merge in ["sum", "min", "max"] {
            let expected = format!(
                "w.toml: kind.a.attributes.it.merge: expected \"first\" or \"last\": of values of \
                 type {ty}, none is the sum, the least or the greatest, found \"{merge}\""
            );
            assert_eq!(rejected(&file(ty, merge)), expected);
        }
        for merge in ["first", "last"] {
            world_file::parse(&file(ty, merge), "w.toml").unwrap();
        }
    }
    for ty in ["i32", "fixed"] {
        for merge in ["sum", "min", "max", "first", "last"] {
            world_file::parse(&file(ty, merge), "w.toml").unwrap();
        }
    }
}

#[test]
fn there_is_room_for_what_scripts_of_a_folder_may_do_later() {
    let folder = std::env::temp_dir().join(format!("myriad-room-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("logic")).unwrap();
    std::fs::write(
        folder.join("logic/a.rs"),
        "#[command(clients)]\nfn a(me: Entity) {}\n",
    )
    .unwrap();
    let file = folder.join("w.toml").display().to_string();
    let room = |limits: &str| {
        let text =
            format!("[world]\ncapacity = 100\n[limits]\n{limits}\n[logic]\nfolder = \"logic\"");
        let limits = world_file::parse(&text, &file).unwrap().limits;
        (limits.timed_commands, limits.notifications_per_tick > 0)
    };
    assert_eq!(room(""), (100, true));
    assert_eq!(room("timed_commands = 7"), (7, true));
    assert_eq!(
        room("timed_commands = 0\nnotifications_per_tick = 0"),
        (0, false)
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn there_is_room_for_timed_commands_where_anything_is_scheduled() {
    let room = |text| {
        let config = world_file::parse(text, "w.toml").unwrap();
        let burns = config.schema.command(builtin::BURN).is_some();
        (config.limits.timed_commands, burns)
    };
    assert_eq!(room(""), (0, false));
    assert_eq!(room("[limits]\ntimed_commands = 7"), (7, true));
    assert_eq!(room("[commands]\nblast.ember_ticks = 1"), (4096, true));
    let wolves = "[[kind]]\nname = \"player\"\n[[kind]]\nname = \"wolf\"\nrespawn_ticks = 9\n\
                  attributes = [{ name = \"hp\", type = \"i32\", min = 0, default = 5, falls_at = 0, \
                  audience = \"state\" }]";
    assert_eq!(room(wolves), (4096, true));
}

#[test]
fn notifications_exist_where_they_can_be_heard_or_subscribed_to() {
    let names = |text: &str| {
        let config = world_file::parse(text, "w.toml").unwrap();
        let names = config.schema.notifications.iter().map(|n| n.name.clone());
        let room = config.limits.notifications_per_tick > 0;
        assert_eq!(room, !config.schema.notifications.is_empty());
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(""), "");
    assert_eq!(names("[limits]\nsubscriptions_per_client = 1"), "");
    assert_eq!(names("[commands]\nblast.sound = 9"), "blast");
    assert_eq!(names("[commands]\nshout.radius_max = 9"), "shout");
    let wolves = "[[kind]]\nname = \"player\"\n[[kind]]\nname = \"wolf\"\nrespawn_ticks = 9\n\
                  attributes = [{ name = \"hp\", type = \"i32\", min = 0, default = 5, falls_at = 0, \
                  audience = \"hidden\" }]\n[[kind]]\nname = \"thing\"\nattributes = \
                  [{ name = \"owner\", type = \"entity\", audience = \"state\", tells_owner = true }]\n";
    assert_eq!(names(wolves), "");
    let with = |limits: &str| format!("[limits]\n{limits}\n{wolves}");
    assert_eq!(names(&with("subscriptions_per_client = 1")), "fall pick");
    assert_eq!(names(&with("notifications_per_tick = 1")), "fall pick");
    let none = "subscriptions_per_client = 1\nnotifications_per_tick = 0";
    assert_eq!(names(&with(none)), "");
}

/// A player, and a wolf of these lines and attributes.
fn wolves(lines: &str, attributes: &str) -> String {
    format!(
        "[[kind]]\nname = \"player\"\n[[kind]]\nname = \"wolf\"\n{lines}\nattributes = [{attributes}]"
    )
}

#[test]
fn kinds_fall_by_an_attribute_of_any_name() {
    let parse = |attributes: &str| {
        let config = world_file::parse(&wolves("respawn_ticks = 9", attributes), "w.toml");
        config.unwrap().falls
    };
    let fall = |column, at| {
        let respawn_ticks = 9;
        vec![
            None,
            Some(Fall {
                column,
                at,
                respawn_ticks,
            }),
        ]
    };
    let hull = r#"{ name = "hull", type = "i32", min = -9, default = 5, falls_at = -3, audience = "hidden" }"#;
    let heat =
        r#"{ name = "heat", type = "fixed", default = 0.5, falls_at = 0.25, audience = "state" }"#;
    let hp = r#"{ name = "hp", type = "i32", default = 5, audience = "state" }"#;
    assert_eq!(parse(hull), fall(2, -3));
    assert_eq!(parse(&format!("{hp}, {heat}")), fall(3, 1024));
}

#[test]
fn falls_and_owners_that_contradict_each_other_are_rejected() {
    let respawning = |attributes: &str| wolves("respawn_ticks = 9", attributes);
    let hp = |rest: &str| {
        respawning(&format!(
            r#"{{ name = "hp", type = "i32", audience = "state", {rest} }}"#
        ))
    };
    let owner = |name: &str, rest: &str| {
        format!(r#"{{ name = "{name}", type = "entity", audience = "state"{rest} }}"#)
    };
    let owned = owner("owner", ", tells_owner = true");
    let cases = [
        (
            hp("default = 0, falls_at = 0"),
            "hp.falls_at: the attribute's default must be above it",
        ),
        (
            hp("default = 5, min = 1, falls_at = 0"),
            "hp.falls_at: the attribute's minimum is above it, so no entity would fall",
        ),
        (
            hp("default = 5, falls_at = 0.5"),
            "hp.falls_at: expected a whole number, found 0.5",
        ),
        (
            respawning(
                r#"{ name = "up", type = "bool", default = true, falls_at = false, audience = "state" }"#,
            ),
            "up.falls_at: only i32 and fixed attributes have `falls_at`",
        ),
        (
            respawning(
                r#"{ name = "a", type = "i32", default = 5, falls_at = 0, audience = "state" },
                   { name = "b", type = "i32", default = 5, falls_at = 0, audience = "state" }"#,
            ),
            "b.falls_at: `a` of the kind has one already",
        ),
        (
            wolves(
                "",
                r#"{ name = "hp", type = "i32", default = 5, falls_at = 0, audience = "state" }"#,
            ),
            "hp.falls_at: the kind has no `respawn_ticks`, so its entities don't fall",
        ),
        (
            wolves(
                "",
                r#"{ name = "n", type = "i32", tells_owner = true, audience = "state" }"#,
            ),
            "n.tells_owner: only attributes of type entity have `tells_owner`",
        ),
        (
            wolves(
                "",
                &format!("{owned}, {}", owner("rider", ", tells_owner = true")),
            ),
            "rider.tells_owner: `owner` has it already; one attribute can",
        ),
        (
            wolves("", &owner("owner", ""))
                + &format!("\n[[kind]]\nname = \"thing\"\nattributes = [{owned}]"),
            "owner.tells_owner: expected true as in other kinds",
        ),
    ];
    for (text, expected) in cases {
        let expected = format!("w.toml: kind.wolf.attributes.{expected}");
        assert_eq!(rejected(&text), expected, "for {text}");
    }
}

#[test]
fn the_commands_of_a_world_say_who_sends_them_and_what_they_take() {
    let text = "[limits]\ntimed_commands = 1\n[commands]\nshout.radius_max = 1";
    let schema = world_file::parse(text, "w.toml").unwrap().schema;
    let lines: Vec<String> = schema
        .commands
        .iter()
        .map(|c| {
            let words: Vec<_> = c.words.iter().map(|word| word.name.as_str()).collect();
            let Senders { clients, rules } = c.senders;
            let (kind, name) = (c.kind.id(), &c.name);
            format!(
                "{kind} {name} {} {clients} {rules} {}",
                words.join(","),
                c.has_actor
            )
        })
        .collect();
    let expected = [
        "0 spawn kind,token false false false",
        "1 despawn  false false true",
        "2 move x,y true true true",
        "3 strike target true false true",
        "4 heal target true false true",
        "5 blast x,y true true true",
        "7 roam  false true true",
        "8 burn x,y,ticks false false false",
        "9 shout radius,number true true true",
    ];
    assert_eq!(lines, expected);
    assert_eq!(schema.command_named("burn"), schema.command(builtin::BURN));
    assert_eq!(schema.command_named("pick"), None);
    assert_eq!(
        schema.notification_named("shout").map(|n| n.kind),
        Some(builtin::SHOUT_NOTIFICATION)
    );
}

#[test]
fn players_talk_to_those_near_where_a_world_has_the_command_and_what_it_tells() {
    let text = "[logic]\nbuiltin = ['move', 'say']";
    let schema = world_file::parse(text, "w.toml").unwrap().schema;
    let command = schema.command_named("say").unwrap().kind;
    let notification = schema.notification_named("say").unwrap().kind;
    assert_eq!(schema.say(), Some((command, notification)));
    let mut untold = schema.clone();
    untold.notifications.retain(|n| n.kind != notification);
    assert_eq!(untold.say(), None);
    let mut other = schema.clone();
    other.commands.retain(|c| c.kind != command);
    assert_eq!(other.say(), None);
}

#[test]
fn a_misspelt_key_is_shown_with_its_line() {
    let message = shown("[world]\nsizes = [1, 2]");
    let expected = "w.toml:2:1: world.sizes: unknown key `sizes`, expected one of `name`, `size`,";
    assert!(message.starts_with(expected), "{message}");
    assert!(shown("[world]\naoi = 5\n[world").starts_with("w.toml:3:"));
}

#[test]
fn all_problems_of_a_file_are_told_by_line() {
    let text = r#"
[world]
aoi = -3
capacity = "many"

[limits]
idle_seconds = 0
clients = 0

[[kind]]
name = "elf"
attributes = [
    { name = "hp", type = "i32", audience = "state", symbols = ["a"] },
    { name = "mood", type = "symbol", audience = "state" },
]

[[every]]
kind = "orc"
ticks = 1
command = "roam"
extra = 1

[game]
"#;
    let output: Vec<String> = shown(text).lines().map(str::to_owned).collect();
    let expected = [
        "w.toml:3: world.aoi: expected 1 to 262143, found -3",
        "w.toml:4:12: world.capacity: expected a whole number from 0 to 4294967295, found \"many\"",
        "w.toml:7: limits.idle_seconds: expected 1 to 3600, found 0",
        "w.toml:8: limits.clients: expected 1 to 16777215, found 0",
        "w.toml:13: kind.elf.attributes.hp.symbols: only attributes of type symbol have `symbols`",
        "w.toml:14: kind.elf.attributes.mood.symbols: expected a list of the texts that the \
         attribute can have, found an empty list",
        "w.toml:21:1: every[0].extra: unknown key `extra`, expected one of `kind`, `ticks`, \
         `command`, `words`, `at`",
        "w.toml:23:2: game: unknown key `game`, expected one of `world`, `limits`, `logic`, \
         `commands`, `spectators`, `visibility`, `kind`, `zone`, `ranking`, `layer`, `field`, \
         `plane`, `every`",
    ];
    assert_eq!(output, expected);
}

#[test]
fn all_keys_of_a_wrong_shape_are_told_with_line_and_column() {
    let text = r#"
[world]
aoi = "near"
sizes = [1, 2]
tick_hz = -3

[kind]
name = "elf"

[limits]
clients = "many"
idle_second = 3
rewind_ticks = 1.5

[logic]
builtin = "move"
"#;
    let output: Vec<String> = shown(text).lines().map(str::to_owned).collect();
    let expected = [
        "w.toml:3:7: world.aoi: expected a number, found \"near\"",
        "w.toml:4:1: world.sizes: unknown key `sizes`, expected one of",
        "w.toml:5:11: world.tick_hz: expected a whole number from 0 to 4294967295, found -3",
        "w.toml:7:2: kind: expected a list, each entry of which begins with `[[kind]]`, found a table",
        "w.toml:11:11: limits.clients: expected a whole number from 0 to 4294967295, found \"many\"",
        "w.toml:12:1: limits.idle_second: unknown key `idle_second`, expected one of",
        "w.toml:13:16: limits.rewind_ticks: expected a whole number from 0 to 4294967295, found 1.5",
        "w.toml:16:11: logic.builtin: expected a list, found \"move\"",
    ];
    assert_eq!(output.len(), expected.len(), "{output:#?}");
    for (output, expected) in output.iter().zip(expected) {
        assert!(output.starts_with(expected), "{output}\n{expected}");
    }
}

#[test]
fn all_wrong_shapes_of_a_kind_and_its_attributes_are_told_at_once() {
    let text = r#"
[[kind]]
population = "few"
colour = 3
attributes = [
    { name = "hp", type = "int", audience = "state", mni = 3 },
    { name = "mana", audience = "state" },
    { name = 3, type = "i32", audience = "everyone" },
    7,
]
[[kind]]
name = "item"
attributes = { name = "owner" }
[[every]]
ticks = "often"
command = "roam"
"#;
    let output: Vec<String> = shown(text).lines().map(str::to_owned).collect();
    let expected = [
        "the key `name` is missing",
        "w.toml:3:14: kind[0].population: expected a whole number from 0 to 4294967295, found \"few\"",
        "w.toml:4:1: kind[0].colour: unknown key `colour`, expected one of",
        "w.toml:6:27: kind[0].attributes.hp.type: expected one of `i32`, `fixed`, `bool`, `entity`, `symbol`, `i64`, `text`, found `int`",
        "w.toml:6:54: kind[0].attributes.hp.mni: unknown key `mni`, expected one of",
        "w.toml:7:5: kind[0].attributes.mana: the key `type` is missing",
        "w.toml:8:14: kind[0].attributes[2].name: expected a string, found 3",
        "w.toml:8:42: kind[0].attributes[2].audience: expected one of",
        "w.toml:9:5: kind[0].attributes[3]: expected a table, found 7",
        "w.toml:13:14: kind.item.attributes: expected a list, found a table",
        "the key `kind` is missing",
        "w.toml:15:9: every[0].ticks: expected a whole number from 0 to 4294967295, found \"often\"",
    ];
    assert_eq!(output.len(), expected.len(), "{output:#?}");
    for expected in expected {
        assert!(
            output.iter().any(|output| output.contains(expected)),
            "{expected}\n{output:#?}"
        );
    }
}

#[test]
fn a_key_of_a_wrong_shape_hides_no_problem_of_a_value_and_makes_none() {
    let text = "[world]\nsize = [9, 9]\naoi = 0\ncapacity = \"x\"\n[limits]\nclients = 0";
    let output: Vec<String> = shown(text).lines().map(str::to_owned).collect();
    let expected = [
        "w.toml:3: world.aoi: expected 1 to 262143, found 0",
        "w.toml:4:12: world.capacity: expected a whole number from 0 to 4294967295, found \"x\"",
        "w.toml:6: limits.clients: expected 1 to 16777215, found 0",
    ];
    assert_eq!(output, expected);
}

#[test]
fn keys_of_an_area_of_a_wrong_shape_are_the_only_problems_of_it() {
    let text = "[[kind]]\nname = \"a\"\nspawn = { center = 3, radius = \"x\" }\n\
                [world]\nname = 2026-01-02\nseed = 99999999999999999999";
    let output: Vec<String> = shown(text).lines().map(str::to_owned).collect();
    let expected = [
        "w.toml:3:20: kind.a.spawn.center: expected a list, found 3",
        "w.toml:3:32: kind.a.spawn.radius: expected a number, found \"x\"",
        "w.toml:5:8: world.name: expected a string, found a date",
        "w.toml:6:8: world.seed: expected a whole number from 0 to 18446744073709551615, \
         found 99999999999999999999",
    ];
    assert_eq!(output, expected);
}

#[test]
fn messages_list_no_more_names_than_people_read() {
    let symbols: Vec<String> = (0..1000).map(|i| format!("'s{i:03}'")).collect();
    let symbols = symbols.join(", ");
    let text = format!(
        "[[kind]]\nname = 'a'\nattributes = [{{ name = 'b', type = 'symbol', audience = 'state', \
         default = 'x', symbols = [{symbols}] }}]"
    );
    let output = shown(&text);
    assert!(
        output.contains(", \"s031\"] and 968 more, found \"x\""),
        "{output}"
    );
    let text = text.replace("default = 'x', ", "");
    let checked = Reader::default().parse(&text, "w.toml");
    let output = checked.unwrap().warnings[0].to_string();
    assert!(
        output.contains(", \"s032\"] and 967 more: no kind"),
        "{output}"
    );
}

#[test]
fn a_key_that_is_there_twice_is_named_with_both_places_beside_other_problems() {
    let text = "[world]\naoi = 5\nname = \"a\"\naoi = 6\nsizes = 3\n[limits]\nclients = 1\n\
                [world]\ncapacity = 9\n[[kind]]\nname = \"a\"\n\
                attributes = [{ name = \"hp\", type = \"i32\", type = \"bool\", audience = \"state\" }]";
    let output = shown(text);
    for expected in [
        "w.toml:4:1: world.aoi: duplicate key `aoi`, which line 2 has, too",
        "w.toml:5:1: world.sizes: unknown key `sizes`",
        "w.toml:8:2: world: duplicate key `world`",
        "w.toml:12:44: kind.a.attributes.hp.type: duplicate key `type`",
    ] {
        assert!(output.contains(expected), "{expected}\n{output}");
    }
}

#[test]
fn all_mistakes_of_syntax_are_told_with_line_and_column() {
    let output: Vec<String> = shown("[world]\naoi = \nname = a\n[limits\n")
        .lines()
        .map(str::to_owned)
        .collect();
    let lines: Vec<&str> = output
        .iter()
        .map(|line| line.split(':').nth(1).unwrap())
        .collect();
    assert_eq!(lines, ["2", "3", "4"], "{output:#?}");
    assert!(
        output
            .iter()
            .all(|line| line.split(':').nth(2).unwrap().parse::<u32>().is_ok())
    );
}

#[test]
fn where_there_is_no_name_to_choose_from_no_empty_list_is_shown() {
    let text = "[logic]\nbuiltin = []\n[[kind]]\nname = \"a\"\nborn = \"wake\"\n\
                [[every]]\nkind = \"a\"\nticks = 1\ncommand = \"roam\"";
    let output = shown(text);
    assert!(!output.contains("[]"), "{output}");
    assert!(
        output.contains("a command with `#[command(rules)]`, which no script declares"),
        "{output}"
    );
}

#[test]
fn a_limit_that_a_script_needs_names_the_script() {
    let output = shown("[limits]\ntimed_commands = 0\n[logic]\nbuiltin = [\"poison\"]");
    assert!(output.contains("limits.timed_commands: `"), "{output}");
    assert!(
        output.contains(".rs schedules a command by `after`"),
        "{output}"
    );
}

#[test]
fn a_rate_that_is_set_beside_the_file_has_what_follows_from_it_and_is_checked_with_it() {
    let text = "[world]\ntick_hz = 20\n[limits]\nlate_ticks_max = 7\nunread_seconds = 40\n\
                [spectators]\nallowed = true\nspeed_max = 100";
    let at = |text: &str, tick_hz: u32| {
        let overrides = Overrides {
            tick_hz: Some(tick_hz),
            ..Overrides::default()
        };
        let reader = Reader {
            overrides,
            ..Reader::default()
        };
        reader.parse(text, "w.toml").map(|checked| checked.config)
    };
    let fast = at(text, 100).unwrap();
    let written = text.replace("tick_hz = 20", "tick_hz = 100");
    assert_eq!(fast, world_file::parse(&written, "w.toml").unwrap());
    assert_eq!(
        (fast.limits.input_ticks_max, fast.limits.late_ticks_max),
        (50, 7)
    );
    let rejected = at(text, 1000).unwrap_err().to_string();
    assert_eq!(
        rejected,
        "w.toml:5: limits.unread_seconds: expected 1 to 30, found 40"
    );
    assert!(
        at(text, 0)
            .unwrap_err()
            .to_string()
            .contains("world.tick_hz")
    );
    // The same for a world whose file is not at hand.
    let kept = world_file::parse(text, "w.toml").unwrap();
    let same = world_file::at_rate(&kept, 100, "a kept world").unwrap();
    assert_eq!(same, fast);
    assert!(world_file::at_rate(&kept, 1000, "a kept world").is_err());
}

#[test]
fn contradictions_that_a_world_survives_are_told() {
    let warnings = |text: &str| -> Vec<String> {
        let checked = Reader::default().parse(text, "w.toml").unwrap();
        checked.warnings.iter().map(|w| w.to_string()).collect()
    };
    assert!(warnings("").is_empty());
    // Files of earlier versions, also those in persistent worlds, may have the key.
    let exact = "world.interest: interest is always exact, so the key has no effect: remove it";
    assert_eq!(
        warnings("[world]\ninterest = \"exact\""),
        [format!("w.toml:2: {exact}")]
    );
    let full = "[world]\ncapacity = 5\n[[kind]]\nname = \"a\"\npopulation = 5";
    let expected = "w.toml:3: kind.population: populations fill world.capacity = 5, so no player \
                    can join";
    assert_eq!(warnings(full), [expected]);
    let narrow = "[world]\ncapacity = 9\n[limits]\nclients = 6\n\
                  [[kind]]\nname = \"a\"\npopulation = 5";
    let expected = "w.toml:4: limits.clients: there is room for 4 players: world.capacity = 9 \
                    less populations of 5; found 6";
    assert_eq!(warnings(narrow), [expected]);
    let mood = "[[kind]]\nname = \"a\"\nattributes = [\n{ name = \"mood\", type = \"symbol\", \
                audience = \"state\", symbols = [\"glad\", \"sad\"] },\n]";
    let expected = "w.toml:4: kind.a.attributes.mood.symbols: nobody ever has [\"sad\"]: no kind \
                    is born with it, and no command changes `mood`";
    assert_eq!(warnings(mood), [expected]);
    let other = "\n[[kind]]\nname = \"b\"\nattributes = [{ name = \"mood\", type = \"symbol\", \
                 audience = \"state\", symbols = [\"sad\"] }]";
    assert!(warnings(&format!("{mood}{other}")).is_empty());
}

#[test]
fn commands_that_a_world_cannot_have_are_told_with_the_reason() {
    let text = "[[kind]]\nname = \"a\"\nattributes = [{ name = \"hp\", type = \"i32\", \
                merge = \"first\", audience = \"state\" }]";
    let checked = Reader::default().parse(text, "w.toml").unwrap();
    let notes: Vec<String> = checked.notes.iter().map(|n| n.to_string()).collect();
    let strike = notes.iter().find(|note| note.contains("`strike`"));
    assert!(strike.is_some_and(|note| note.contains("hp")), "{notes:?}");
    let pick = notes.iter().find(|note| note.contains("`pick`"));
    assert!(pick.is_some_and(|note| note.contains("owner")), "{notes:?}");
}

#[test]
fn kinds_share_a_column_only_if_they_agree_on_it() {
    let kind = |name: &str, merge: &str| {
        format!(
            "[[kind]]\nname = \"{name}\"\nattributes = [{{ name = \"hp\", type = \"i32\", merge = \"{merge}\", audience = \"state\" }}]\n"
        )
    };
    let shared = kind("a", "sum") + &kind("b", "sum");
    let config = world_file::parse(&shared, "w.toml").unwrap();
    assert_eq!(config.schema.attributes.len(), 3);
    assert_eq!(
        rejected(&(kind("a", "sum") + &kind("b", "min"))),
        "w.toml: kind.b.attributes.hp: expected type i32, merge sum, audience state as in other \
         kinds, found type i32, merge min, audience state"
    );
}

#[test]
fn symbols_are_interned_and_checked() {
    let text = r#"
        [[kind]]
        name = "flag"
        attributes = [{ name = "team", type = "symbol", symbols = ["red", "blue"], default = "red", audience = "state" }]
    "#;
    let config = world_file::parse(text, "w.toml").unwrap();
    assert_eq!(config.schema.symbols, ["blue", "red"]);
    assert_eq!(config.schema.default_row(0)[2], 1);
    let message = rejected(&text.replace("default = \"red\"", "default = \"green\""));
    assert!(
        message.contains(r#"expected one of ["red", "blue"]"#),
        "{message}"
    );
}

#[test]
fn births_have_an_area_of_the_world() {
    let world = |spawn: &str| {
        format!("[world]\nsize = [100, 100]\n[[kind]]\nname = \"a\"\nspawn = {spawn}")
    };
    let area = |spawn: &str| {
        let config = world_file::parse(&world(spawn), "w.toml").unwrap();
        config.spawns[0]
    };
    let units = |n: i32| n * 4096;
    assert_eq!(world_file::parse("", "w.toml").unwrap().spawns, [None]);
    assert_eq!(
        area("{ center = [50, 100], radius = 5 }"),
        Some(SpawnArea::Ball {
            center: [units(50), units(100) - 1, 0],
            radius: units(5),
        })
    );
    assert_eq!(
        area("{ area = [[1, 2], [3, 2]] }"),
        Some(SpawnArea::Box {
            low: [units(1), units(2), 0],
            high: [units(3), units(2), 0],
        })
    );
    let cases = [
        (
            "{}",
            "kind.a.spawn: expected `center` and `radius`, or `area`",
        ),
        (
            "{ center = [1, 101] }",
            "kind.a.spawn.center: expected 0 to 100, found 101",
        ),
        (
            "{ center = [1] }",
            "kind.a.spawn.center: expected 2 numbers, one per axis, found 1",
        ),
        (
            "{ center = [1, 1], radius = -1 }",
            "kind.a.spawn.radius: expected 0 to 262143, found -1",
        ),
        (
            "{ area = [[5, 5], [9, 4]] }",
            "kind.a.spawn.area: the first corner must be the low one along every axis",
        ),
    ];
    for (spawn, expected) in cases {
        assert_eq!(rejected(&world(spawn)), format!("w.toml: {expected}"));
    }
}

#[test]
fn zones_are_discs_or_boxes_of_the_world_or_around_their_carriers() {
    let text = "[world]\nsize = [100, 100]\naoi = 10\n[[kind]]\nname = \"cart\"\n\
                [[zone]]\nname = \"pond\"\ncenter = [5, 100]\nradius = 2\n\
                [[zone]]\nname = \"yard\"\narea = [[1, 2], [3, 4]]\n\
                [[zone]]\nname = \"shade\"\ncarrier = \"cart\"\nradius = 40\n\
                [[zone]]\nname = \"wake\"\ncarrier = \"cart\"\narea = [[-3, -1], [-1, 1]]\n";
    let config = world_file::parse(text, "w.toml").unwrap();
    let units = |n: i32| n * 4096;
    let area = |name: &str| {
        let zone = config.schema.zones.iter().find(|zone| zone.name == name);
        zone.map(|zone| (zone.carrier, zone.area)).unwrap()
    };
    let ball = |x: i32, y: i32, radius: i32| SpawnArea::Ball {
        center: [x, y, 0],
        radius: units(radius),
    };
    let box_of = |low: [i32; 2], high: [i32; 2]| SpawnArea::Box {
        low: [units(low[0]), units(low[1]), 0],
        high: [units(high[0]), units(high[1]), 0],
    };
    assert_eq!(area("pond"), (None, ball(units(5), units(100) - 1, 2)));
    assert_eq!(area("yard"), (None, box_of([1, 2], [3, 4])));
    assert_eq!(area("shade"), (Some(0), ball(0, 0, 40)));
    assert_eq!(area("wake"), (Some(0), box_of([-3, -1], [-1, 1])));
}

#[test]
fn zones_that_a_world_cannot_have_are_rejected() {
    let zone = |keys: &str| {
        let head = "[world]\nsize = [100, 100]\naoi = 10\n[[kind]]\nname = \"cart\"\n";
        format!("{head}[[zone]]\nname = \"pond\"\n{keys}\n")
    };
    let cases = [
        ("", "zone.pond: expected `center` and `radius`, or `area`"),
        (
            "center = [5, 101]\nradius = 2",
            "zone.pond.center: expected 0 to 100, found 101",
        ),
        (
            "center = [5]\nradius = 2",
            "zone.pond.center: expected 2 numbers, one per axis, found 1",
        ),
        (
            "center = [5, 5]\nradius = -2",
            "zone.pond.radius: expected 0 to 262143, found -2",
        ),
        (
            "area = [[5, 5], [9, 4]]",
            "zone.pond.area: the first corner must be the low one along every axis",
        ),
        (
            "center = [5, 5]\nradius = 2\narea = [[5, 5], [9, 9]]",
            "zone.pond: expected `center` and `radius`, or `area`",
        ),
        (
            "radius = 2\ncarrier = \"card\"",
            "zone.pond.carrier: expected one of [\"cart\"], found \"card\"",
        ),
        (
            "radius = 41\ncarrier = \"cart\"",
            "zone.pond: expected a carried zone of at most 8 times `world.aoi`, 80 from edge to \
             edge",
        ),
        (
            "area = [[-70000, 0], [0, 0]]\ncarrier = \"cart\"",
            "zone.pond.area: expected -65535 to 65535, found -70000",
        ),
        (
            "radius = 2\ncenter = [1, 1]\n[[zone]]\nname = \"pond\"\narea = [[1, 1], [2, 2]]",
            "zone[1].name: expected a name that no other zone has, found \"pond\"",
        ),
    ];
    for (keys, expected) in cases {
        let text = zone(keys);
        assert_eq!(rejected(&text), format!("w.toml: {expected}"), "{keys}");
    }
    let unnamed = "[[zone]]\nname = \"\"\ncenter = [1, 1]\nradius = 1\n";
    let expected = "w.toml: zone[0].name: expected a name that no other zone has, found \"\"";
    assert_eq!(rejected(unnamed), expected);
    let many: String = (0..4097)
        .map(|n| format!("[[zone]]\nname = \"{n}\"\ncenter = [1, 1]\nradius = 1\n"))
        .collect();
    assert_eq!(
        rejected(&many),
        "w.toml: zone: expected at most 4096 zones, found 4097"
    );
    let misspelt = zone("middle = [1, 1]");
    assert!(shown(&misspelt).contains("middle"), "{}", shown(&misspelt));
}

#[test]
fn hooks_need_room_for_timed_commands_and_those_of_falls_for_causes() {
    let folder = std::env::temp_dir().join(format!("myriad-hooks-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("logic")).unwrap();
    let read = |script: &str, limits: &str| {
        std::fs::write(folder.join("logic/hooks.rs"), script).unwrap();
        let text = format!("[limits]\n{limits}\n[logic]\nfolder = \"logic\"\nbuiltin = []\n");
        world_file::parse(&text, &folder.join("w.toml").display().to_string())
    };
    let birth = "#[on(birth)]\nfn born(me: Entity) { me.hp += 1; }\n";
    let config = read(birth, "").unwrap();
    assert_eq!(config.limits.timed_commands, 4096);
    assert!(!config.causes);
    let error = read(birth, "timed_commands = 0").unwrap_err().to_string();
    let expected = "limits.timed_commands: `born` of hooks.rs is a hook, which needs this limit: \
                    expected 1 to 2147483647, found 0";
    assert!(error.ends_with(expected), "{error}");
    let fall = "#[on(fall)]\nfn fell(me: Entity, by: Entity) { by.hp += 1; }\n";
    assert!(read(fall, "subscriptions_per_client = 0").unwrap().causes);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_default_can_be_a_choice_of_values() {
    let world = |attribute: &str| {
        format!(
            "[[kind]]\nname = \"a\"\nattributes = [\n\
             {{ name = \"it\", audience = \"state\", {attribute} }}]"
        )
    };
    let choice = |attribute: &str| {
        let config = world_file::parse(&world(attribute), "w.toml").unwrap();
        let [initial] = &config.initials[0][..] else {
            panic!("{:?}", config.initials);
        };
        assert_eq!(initial.column, 2);
        // Schema and falls go by the least value.
        assert_eq!(config.schema.default_row(0)[2], initial.choice.least());
        initial.choice.clone()
    };
    let between = |low, count| Choice::Between { low, count };
    assert_eq!(world_file::parse("", "w.toml").unwrap().initials, [[]]);
    let one = choice("type = \"i32\", min = 5, max = 100, default = { from = 50, to = 100 }");
    assert_eq!(one, between(50, 51));
    let one = choice("type = \"fixed\", default = { from = -0.5, to = 1 }");
    assert_eq!(one, between(-2048, 6145));
    let one = choice("type = \"i32\", default = { from = -2147483647, to = 2147483647 }");
    assert_eq!(one, between(-i32::MAX, u32::MAX));
    let one = choice("type = \"bool\", default = { one_of = [true, false, false] }");
    assert_eq!(one, Choice::OneOf(vec![1, 0, 0]));
    let symbol = "type = \"symbol\", symbols = [\"red\", \"blue\"], default =";
    let one = choice(&format!("{symbol} {{ in_turn = [\"red\", \"blue\"] }}"));
    assert_eq!(one, Choice::InTurn(vec![1, 0]));
    let key = "w.toml:4: kind.a.attributes.it.default";
    let cases = [
        (
            "type = \"i32\", default = { from = 1 }",
            ": expected a value, `{ from = …, to = … }`, `{ one_of = […] }` or `{ in_turn = […] }`",
        ),
        (
            "type = \"i32\", default = { from = 2, to = 1 }",
            ".from: expected at most to = 1, found 2",
        ),
        (
            "type = \"i32\", min = 0, default = { from = -1, to = 1 }",
            ".from: -1 is not from `min` to `max`",
        ),
        (
            "type = \"i32\", default = { from = -2147483648, to = 2147483647 }",
            ": expected a smaller range than all of 32 bits",
        ),
        (
            "type = \"i32\", default = { one_of = [] }",
            ".one_of: expected 1 to 64 values, found 0",
        ),
        (
            "type = \"i32\", default = { one_of = 3 }",
            ".one_of: expected a list of values, found 3",
        ),
        (
            "type = \"bool\", default = { from = false, to = true }",
            ": only i32 and fixed attributes have `from` and `to`",
        ),
        (
            "type = \"entity\", default = { in_turn = [1] }",
            ".in_turn: an attribute of type entity has no default",
        ),
        (
            &format!("{symbol} {{ one_of = [\"green\"] }}"),
            ".one_of: expected one of [\"red\", \"blue\"], found \"green\"",
        ),
    ];
    for (attribute, expected) in cases {
        let error = world_file::parse(&world(attribute), "w.toml").unwrap_err();
        assert_eq!(error.to_string(), format!("{key}{expected}"));
    }
}

#[test]
fn all_values_of_a_choice_are_above_that_of_a_fall() {
    let world = |default: &str| {
        format!(
            "[[kind]]\nname = \"a\"\nrespawn_ticks = 5\nattributes = [\n\
             {{ name = \"hp\", type = \"i32\", audience = \"state\", falls_at = 10, \
             default = {default} }}]"
        )
    };
    let parse = |default: &str| world_file::parse(&world(default), "w.toml");
    assert!(parse("{ from = 11, to = 12 }").is_ok());
    for default in ["{ from = 10, to = 12 }", "{ one_of = [50, 3] }"] {
        let error = parse(default).unwrap_err().to_string();
        assert!(
            error.contains("the attribute's default must be above it"),
            "{error}"
        );
    }
}

#[test]
fn a_rule_can_take_the_place_of_its_entity_as_point() {
    let world = |rule: &str| format!("[[every]]\nkind = \"player\"\nticks = 5\n{rule}");
    let config = world_file::parse(&world("command = \"blast\"\nat = \"own\""), "w.toml");
    let every = &config.unwrap().every[0];
    assert_eq!((every.own_place, &every.words[..]), (Some(0), &[0, 0][..]));
    let cases = [
        (
            "command = \"roam\"\nat = \"own\"",
            "w.toml:5: every[0].at: `roam` does not take one point",
        ),
        (
            "command = \"blast\"\nat = \"own\"\nwords = [1, 2]",
            "w.toml:6: every[0].words: `blast` takes 0 numbers besides its point, found 2",
        ),
        (
            "command = \"blast\"\nat = \"here\"",
            "w.toml:5:6: every[0].at: expected `own`, found `here`",
        ),
    ];
    for (rule, expected) in cases {
        let error = world_file::parse(&world(rule), "w.toml").unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_kind_can_name_a_command_for_its_newborns() {
    let world = |born: &str| format!("[[kind]]\nname = \"a\"\nborn = \"{born}\"");
    let config = world_file::parse(&world("roam"), "w.toml").unwrap();
    let roam = config.schema.command_named("roam").map(|c| c.kind);
    assert_eq!(config.born, [roam]);
    // They wait for a tick.
    assert_eq!(config.limits.timed_commands, 4096);
    for name in ["move", "despawn", "nobody"] {
        let error = world_file::parse(&world(name), "w.toml").unwrap_err();
        let expected = format!(
            "w.toml:3: kind.a.born: expected a command that takes `me` and nothing else, one of \
             [\"roam\"], found {name:?}"
        );
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_schema_that_clients_would_not_read_is_rejected() {
    // 15 bytes each, and 22 unpacked.
    let rejected = |count: usize| {
        let symbols: Vec<String> = (0..count).map(|i| format!("'symbol{i:08}'")).collect();
        let text = format!(
            "[[kind]]\nname = 'elf'\nattributes = [{{ name = 'mood', type = 'symbol', \
             audience = 'state', symbols = [{}] }}]",
            symbols.join(", ")
        );
        let parsed = world_file::parse(&text, "w.toml");
        parsed.err().map(|error| error.to_string())
    };
    assert_eq!(rejected(40_000), None);
    let message = rejected(55_000).expect("no client would read it");
    assert!(
        message.contains("unpacked more than the 1048576"),
        "{message}"
    );
    let message = rejected(80_000).expect("it is too long");
    assert!(message.contains("at most 940238 are allowed"), "{message}");
}

#[test]
fn values_in_turn_of_what_scripts_spawn_are_warned_of() {
    let folder = std::env::temp_dir().join(format!("myriad-turns-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("logic")).unwrap();
    let text = "#[command(clients)]\nfn call(me: Entity) { spawn(\"wolf\", me); }\n";
    std::fs::write(folder.join("logic/a.rs"), text).unwrap();
    let file = folder.join("w.toml").display().to_string();
    let kind = |name: &str| {
        format!(
            "[[kind]]\nname = \"{name}\"\nattributes = [{{ name = \"side\", type = \"i32\", \
             default = {{ in_turn = [1, 2] }}, audience = \"state\" }}]\n"
        )
    };
    let text = format!(
        "[logic]\nfolder = \"logic\"\n{}{}",
        kind("player"),
        kind("wolf")
    );
    let checked = Reader::default().parse(&text, &file).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    let [warning] = &checked.warnings[..] else {
        panic!("{:?}", checked.warnings);
    };
    assert_eq!(warning.key, "kind.wolf.attributes.side.default");
}

/// A symbol is a word of a rule by its name, if it is one of the parameter's attribute.
#[test]
fn rules_give_symbols_of_the_attribute_that_a_parameter_names() {
    let folder = std::env::temp_dir().join(format!("myriad-rule-symbols-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("logic")).unwrap();
    let text = "#[command(rules)]\nfn be(me: Entity, what: Symbol<mood>) { me.mood = what; }\n\
                #[command(rules)]\nfn any(me: Entity, what: Symbol) { me.mood = what; }\n";
    std::fs::write(folder.join("logic/a.rs"), text).unwrap();
    let file = folder.join("w.toml").display().to_string();
    let words = |command: &str, word: &str| {
        let text = format!(
            "[logic]\nfolder = \"logic\"\n[[kind]]\nname = \"player\"\nattributes = [\n\
             {{ name = \"mood\", type = \"symbol\", symbols = [\"calm\", \"wild\"], audience = \"state\" }},\n\
             {{ name = \"hue\", type = \"symbol\", symbols = [\"red\"], audience = \"state\" }}]\n\
             [[every]]\nkind = \"player\"\nticks = 1\ncommand = \"{command}\"\nwords = [\"{word}\"]"
        );
        world_file::parse(&text, &file).map(|config| config.every[0].words.clone())
    };
    assert_eq!(words("be", "wild").unwrap(), [2]);
    assert_eq!(words("any", "red").unwrap(), [1]);
    let problem = words("be", "red").unwrap_err().to_string();
    assert!(
        problem.contains("expected one of [\"calm\", \"wild\"], found \"red\""),
        "{problem}"
    );
    std::fs::remove_dir_all(folder).unwrap();
}

/// A world of 4 by 3 cells with a layer.
fn with_layer(lines: &str) -> String {
    format!("[world]\nsize = [4, 3]\n[[layer]]\n{lines}\n")
}

#[test]
fn layers_are_drawn_with_the_highest_row_first() {
    let file = with_layer(
        "name = 'blocked'\ndrawing = '''\n#..#\n....\n##..\n'''\n\
         [[layer]]\nname = 'height'\ncell = 2\nlegend = { a = -7 }\ndrawing = '''\n.a\n9.\n'''\n\
         [[layer]]\nname = 'tag'\ncell = 4\nlegend = { m = 'mud' }\ndrawing = 'm'",
    );
    let config = world_file::parse(&file, "w.toml").unwrap();
    let layers = &config.schema.layers;
    let walls: Vec<Vec<bool>> = (0..3)
        .map(|y| {
            (0..4)
                .map(|x| layers.is_blocked([x << 12, y << 12, 0]))
                .collect()
        })
        .collect();
    assert_eq!(walls[0], [true, true, false, false]);
    assert_eq!(walls[1], [false; 4]);
    assert_eq!(walls[2], [true, false, false, true]);
    assert!(layers.height().is_some() && layers.tag().is_some());
    assert_eq!(config.schema.symbols, ["mud"]);
}

#[test]
fn layers_are_part_of_what_worlds_are_compared_by_and_of_the_state_hash() {
    let worlds = ["#..#", "#...", "#..#"].map(|row| {
        let file = with_layer(&format!(
            "name = 'blocked'\ndrawing = '''\n{row}\n....\n....\n'''"
        ));
        world_file::parse(&file, "w.toml").unwrap()
    });
    assert_ne!(worlds[0].schema, worlds[1].schema);
    assert_ne!(worlds[0].logic.hash(), worlds[1].logic.hash());
    assert_eq!(worlds[0].schema, worlds[2].schema);
    assert_eq!(worlds[0].logic.hash(), worlds[2].logic.hash());
}

#[test]
fn layers_change_where_the_file_says_so_and_not_below_fields() {
    let file = with_layer(
        "name = 'blocked'\neditable = true\ndrawing = '''\n....\n....\n....\n'''\n\
         [[layer]]\nname = 'height'\ncell = 4\ndrawing = '1'",
    );
    let config = world_file::parse(&file, "w.toml").unwrap();
    let of = |kind| config.schema.layers.is_editable(kind);
    assert_eq!(LayerKind::ALL.map(of), [true, false, false]);
    let limits = &config.limits;
    assert_eq!((limits.edits_per_tick, limits.edited_cells), (256, 65_536));
    assert!(limits.notifications_per_tick > 0);
    let fixed = world_file::parse(&file.replace("editable = true\n", ""), "w.toml").unwrap();
    assert_ne!(fixed.schema.layers.hash(), config.schema.layers.hash());
    assert_eq!(fixed.limits.edits_per_tick, 0);
    for (more, expected) in [
        (
            "[limits]\nedits_per_tick = 0",
            "limits.edits_per_tick: expected 1 to 65536, found 0",
        ),
        (
            "[limits]\nnotifications_per_tick = 0",
            "limits.notifications_per_tick: expected 1 to 2147483647, found 0",
        ),
        (
            "[[kind]]\nname = 'player'\n[[field]]\nname = 'a'\nkind = 'player'\nrefresh_ticks = 1",
            "field: expected no field where the layer `blocked` is editable: fields don't know edits",
        ),
    ] {
        assert_eq!(
            rejected(&format!("{file}\n{more}")),
            format!("w.toml: {expected}")
        );
    }
    let planes = "[[plane]]\nname = 'cave'\nsize = [4, 3]\n[[layer]]\nname = 'blocked'\nplane = 'cave'\n\
                  drawing = '''\n....\n....\n....\n'''";
    let expected =
        "layer.blocked.editable: expected the same in all planes, as their cells are one grid";
    assert_eq!(
        rejected(&format!("{file}\n{planes}")),
        format!("w.toml: {expected}")
    );
}

#[test]
fn layers_that_do_not_fit_the_world_are_rejected_with_the_place() {
    for (lines, expected) in [
        (
            "name = 'wall'\ndrawing = ''",
            "layer.wall.name: expected one of [\"blocked\", \"height\", \"tag\"], found \"wall\"",
        ),
        (
            "name = 'blocked'",
            "layer.blocked: expected either `drawing` or `image`",
        ),
        (
            "name = 'blocked'\ncell = 3\ndrawing = ''",
            "layer.blocked.cell: expected a power of two from 0.0625 to 1024, found 3",
        ),
        (
            "name = 'blocked'\ndrawing = '''\n....\n....\n'''",
            "layer.blocked.drawing: expected 3 lines, one for each row of cells, found 2 lines",
        ),
        (
            "name = 'blocked'\ndrawing = '''\n....\n.....\n....\n'''",
            "layer.blocked.drawing: expected 4 cells in line 2, found 5",
        ),
        (
            "name = 'blocked'\ndrawing = '''\n....\n..x.\n....\n'''",
            "layer.blocked.drawing: expected `#` or `.`, found 'x' in line 2, column 3",
        ),
        (
            "name = 'blocked'\ndrawing = '''\n####\n####\n####\n'''",
            "layer.blocked: expected at least one cell that is free",
        ),
        (
            "name = 'height'\nlegend = { a = 40000 }\ndrawing = ''",
            "layer.height.legend: expected a whole number from -32768 to 32767, found 40000",
        ),
        (
            "name = 'tag'\nlegend = { ab = 'mud' }\ndrawing = ''",
            "layer.tag.legend: expected a single character, found \"ab\"",
        ),
        (
            "name = 'tag'\ndrawing = ''",
            "layer.tag.legend: expected 1 to 255 tags, found 0",
        ),
        (
            "name = 'blocked'\nimage = 'data:image/png;base64,AAAA'",
            "layer.blocked.image: the image: expected a PNG image: unexpected end of file",
        ),
    ] {
        assert_eq!(
            rejected(&with_layer(lines)),
            format!("w.toml: {expected}"),
            "{lines}"
        );
    }
    let small = "[world]\nsize = [10000, 4]\n[[layer]]\nname = 'blocked'\ndrawing = ''";
    let expected = "w.toml: layer.blocked.cell: expected cells so large that 8192 along an axis \
                    cover the world, found 10000 times 4";
    assert_eq!(rejected(small), expected);
}

/// A PNG image of these rows of samples.
fn png_image(width: u32, color: png::ColorType, depth: png::BitDepth, bytes: &[u8]) -> Vec<u8> {
    let mut image = vec![];
    let mut encoder = png::Encoder::new(&mut image, width, 3);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if color == png::ColorType::Indexed {
        encoder.set_palette(vec![255, 255, 255, 0, 0, 0, 200, 10, 10]);
    }
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(bytes).unwrap();
    writer.finish().unwrap();
    image
}

#[test]
fn kinds_that_block_cells_are_part_of_the_state_hash() {
    let world = |blocks: &str| {
        let kinds = format!(
            "[[kind]]\nname = 'a'\n[[kind]]\nname = 'gate'\n{blocks}\nattributes = [\
             {{ name = 'closed', type = 'bool', audience = 'state' }}]\n\
             [[kind]]\nname = 'house'\nblocks = [4, 3]\n"
        );
        world_file::parse(&(with_layer(FLAT) + &kinds), "w.toml").unwrap()
    };
    let worlds = ["blocks = [2, 1]", "blocks = [1, 2]", ""].map(world);
    let closed = worlds[0].schema.column("closed");
    let gate = Door {
        kind: 1,
        cells: [2, 1],
        closed: closed.map(|column| column as u16),
    };
    let house = Door {
        kind: 2,
        cells: [4, 3],
        closed: None,
    };
    assert_eq!(worlds[0].schema.doors, [gate, house]);
    assert_eq!(worlds[2].schema.doors, [house]);
    let hashes = worlds.map(|world| world.logic.hash());
    assert!(
        hashes[0] != hashes[1] && hashes[1] != hashes[2],
        "{hashes:?}"
    );
}

/// 4 x 3 free cells.
const FLAT: &str = "name = 'blocked'\ndrawing = '''\n....\n....\n....\n'''";

#[test]
fn kinds_that_cannot_block_cells_are_rejected() {
    let heights = FLAT.replace("blocked", "height");
    let closed = |ty: &str, audience: &str| {
        format!(
            "blocks = [1, 1]\n\
             attributes = [{{ name = 'closed', type = '{ty}', audience = '{audience}' }}]"
        )
    };
    for (layer, kind, expected) in [
        (
            FLAT,
            "blocks = [2]".to_owned(),
            "kind.a.blocks: expected two numbers of cells, along x and y, found 1",
        ),
        (
            FLAT,
            "blocks = [0, 1]".to_owned(),
            "kind.a.blocks: expected 1 to 32, found 0",
        ),
        (
            FLAT,
            "blocks = [1, 33]".to_owned(),
            "kind.a.blocks: expected 1 to 32, found 33",
        ),
        (
            &heights,
            "blocks = [1, 1]".to_owned(),
            "kind.a.blocks: the world has no layer `blocked`, whose cells it would block",
        ),
        (
            FLAT,
            closed("i32", "state"),
            "kind.a.attributes.closed.type: expected type bool, as the kind has `blocks`, found i32",
        ),
        (
            FLAT,
            closed("bool", "hidden"),
            "kind.a.attributes.closed.audience: expected \"state\", as all who see the entity walk \
             around it, found \"hidden\"",
        ),
    ] {
        let file = with_layer(layer) + &format!("[[kind]]\nname = 'a'\n{kind}\n");
        let found = rejected(&file);
        assert!(
            found.starts_with("w.toml") && found.ends_with(expected),
            "{found}"
        );
    }
}

#[test]
fn layers_are_read_from_images_which_stored_worlds_carry() {
    use png::{BitDepth, ColorType};
    let folder = std::env::temp_dir().join(format!("myriad-layers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let save = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    // One bit each: black is a wall.
    let walls = png_image(4, ColorType::Grayscale, BitDepth::One, &[0x60, 0xf0, 0x30]);
    save("walls.png", &walls);
    let heights: Vec<u8> = (0..12u16)
        .flat_map(|i| (32_760 + i).to_be_bytes())
        .collect();
    save(
        "heights.png",
        &png_image(4, ColorType::Grayscale, BitDepth::Sixteen, &heights),
    );
    let tags = png_image(
        4,
        ColorType::Indexed,
        BitDepth::Two,
        &[0b0001_1000, 0, 0b0100_0000],
    );
    save("tags.png", &tags);
    let file = with_layer(
        "name = 'blocked'\nimage = 'walls.png'\n[[layer]]\nname = 'height'\nimage = 'heights.png'\n\
         [[layer]]\nname = 'tag'\nimage = \"tags.png\"\ntags = ['road', 'bog']",
    );
    let path = folder.join("w.toml");
    std::fs::write(&path, &file).unwrap();
    let config = world_file::load(&path).unwrap();
    let layers = &config.schema.layers;
    let walls = |y: i32| [0, 1, 2, 3].map(|x| layers.is_blocked([x << 12, y << 12, 0]));
    assert_eq!(walls(2), [true, false, false, true]);
    assert_eq!(walls(1), [false; 4]);
    assert_eq!(walls(0), [true, true, false, false]);
    // The images are gone, and a stored world is the same nevertheless.
    std::fs::remove_dir_all(&folder).unwrap();
    let stored = world_file::StoredWorld::of(&config)
        .restore("a recording")
        .unwrap();
    assert_eq!(stored.schema.layers.words(), layers.words());
    assert_eq!(stored, config);
    assert!(world_file::load(&path).is_err());
    // Wrong images are named with what was expected.
    std::fs::create_dir_all(&folder).unwrap();
    save(
        "walls.png",
        &png_image(5, ColorType::Grayscale, BitDepth::Eight, &[0; 15]),
    );
    save(
        "heights.png",
        &png_image(4, ColorType::Rgb, BitDepth::Eight, &[0; 36]),
    );
    save(
        "tags.png",
        &png_image(4, ColorType::Grayscale, BitDepth::Eight, &[3; 12]),
    );
    std::fs::write(&path, &file).unwrap();
    let error = world_file::load(&path).unwrap_err().to_string();
    for expected in [
        "walls.png: expected 4 times 3 pixels, one for each cell, found 5 times 3",
        "expected shades of gray, without transparency",
        "expected numbers up to 2, of as many tags, found 3",
    ] {
        assert!(error.contains(expected), "{error}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

fn with_ranking(lines: &str) -> String {
    format!(
        "[[kind]]\nname = 'a'\nattributes = [\
         {{ name = 'hp', type = 'i32', audience = 'state' }},\
         {{ name = 'ripe', type = 'bool', audience = 'state' }},\
         {{ name = 'rage', type = 'i32', audience = 'hidden' }}]\n\
         [[kind]]\nname = 'b'\npopulation = 300\n[[ranking]]\n{lines}\n"
    )
}

#[test]
fn a_ranking_is_named_as_its_attribute_and_has_the_ten_greatest_unless_it_says_more() {
    let file = with_ranking(
        "kind = 'a'\nby = 'hp'\n[[ranking]]\nname = 'weak'\nkind = 'a'\nby = 'hp'\n\
         first = 'least'\nlength = 3\nclients = true",
    );
    let config = world_file::parse(&file, "w.toml").unwrap();
    let rankings = config.schema.rankings.iter();
    let shown: Vec<_> = rankings
        .map(|r| (&r.name[..], r.kind, r.column, r.is_least_first, r.length))
        .collect();
    assert_eq!(shown, [("hp", 0, 2, false, 10), ("weak", 0, 2, true, 3)]);
    let are_sent = config.schema.rankings.iter().map(|ranking| ranking.is_sent);
    assert_eq!(are_sent.collect::<Vec<_>>(), [false, true]);
    let other = world_file::parse(&file.replace("length = 3", "length = 4"), "w.toml").unwrap();
    assert_ne!(
        config.logic.hash(),
        other.logic.hash(),
        "what scripts see is part of the state hash"
    );
}

#[test]
fn rankings_that_a_world_cannot_have_are_rejected() {
    for (lines, expected) in [
        ("kind = 'c'\nby = 'hp'", "ranking.hp.kind"),
        (
            "kind = 'b'\nby = 'hp'",
            "an attribute of `b` that is a number",
        ),
        (
            "kind = 'a'\nby = 'ripe'",
            "that is a number, one of [\"x\", \"y\", \"hp\", \"rage\"]",
        ),
        (
            "kind = 'a'\nby = 'hp'\nlength = 257",
            "expected 1 to 256, found 257",
        ),
        (
            "kind = 'a'\nby = 'hp'\nfirst = 'most'",
            "`greatest` or `least`",
        ),
        (
            "kind = 'a'\nby = 'hp'\n[[ranking]]\nkind = 'a'\nby = 'hp'",
            "a name that no other ranking has",
        ),
        (
            "kind = 'a'\nby = 'x'\nclients = true",
            "ranking.x.clients: expected `false`, as `x` is a position, found true",
        ),
        (
            "kind = 'a'\nby = 'rage'\nclients = true",
            "ranking.rage.clients: expected `false`, as `rage` is hidden, found true",
        ),
    ] {
        let message = shown(&with_ranking(lines));
        assert!(message.contains(expected), "{lines}: {message}");
    }
}

#[test]
fn scripts_go_over_all_of_a_kind_only_where_there_are_few() {
    let folder = std::env::temp_dir().join(format!("all-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let text =
        "#[command(clients)]\nfn rally(me: Entity) { for it in all(\"b\") { it.x += 1.0; } }";
    std::fs::write(folder.join("rally.rs"), text).unwrap();
    let file = with_ranking("kind = 'a'\nby = 'hp'\n[logic]\nfolder = '.'");
    let path = folder.join("w.toml");
    let read = |population: &str| {
        std::fs::write(&path, file.replace("population = 300", population)).unwrap();
        Reader::default().load(&path).map(|_| ())
    };
    let message = read("population = 257").unwrap_err().to_string();
    assert!(
        message.contains("at most 256, as `rally` of rally.rs goes over"),
        "{message}"
    );
    read("population = 256").unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A world of 4 by 3 cells with a zone, a tag and a field.
fn with_field(lines: &str) -> String {
    format!(
        "[world]\nsize = [4, 3]\n[[kind]]\nname = 'player'\n[[kind]]\nname = 'cart'\n\
         [[zone]]\nname = 'yard'\narea = [[0, 0], [2, 1]]\n\
         [[zone]]\nname = 'wall'\narea = [[3.25, 0.25], [3.75, 0.75]]\n\
         [[zone]]\nname = 'wake'\ncarrier = 'cart'\nradius = 1\n\
         [[layer]]\nname = 'blocked'\ndrawing = \"\"\"\n....\n....\n...#\n\"\"\"\n\
         [[layer]]\nname = 'tag'\nlegend = {{ m = 'mud', r = 'road' }}\n\
         drawing = \"\"\"\n....\n.mr.\n....\n\"\"\"\n[[field]]\n{lines}\n"
    )
}

#[test]
fn a_field_has_goals_costs_and_a_turn() {
    let file = with_field(
        "name = 'yard'\nzone = 'yard'\nrefresh_ticks = 10\ncosts = { road = 2, mud = 15 }\n\
         [[field]]\nname = 'cart'\nkind = 'cart'\nrefresh_ticks = 9\n\
         [[field]]\nname = 'spots'\nplaces = [[3.5, 2.9], [0, 0], [0.5, 0.25]]\n\
         refresh_ticks = 1\n",
    );
    let config = world_file::parse(&file, "w.toml").unwrap();
    let fields = &config.schema.fields;
    let goals = fields.iter().map(|field| field.own_goals().to_vec());
    // The middles of the yard's cells; two places of one cell.
    let expected = [vec![0, 1], vec![], vec![0, 2 * 32 + 3]];
    assert_eq!(goals.collect::<Vec<_>>(), expected);
    let turns = fields
        .iter()
        .map(|field| (field.refresh_ticks, field.first));
    assert_eq!(turns.collect::<Vec<_>>(), [(10, 0), (9, 3), (1, 0)]);
    assert_eq!([0, 1, 2, 3].map(|tag| fields[0].cost(tag)), [1, 15, 2, 1]);
    let other = world_file::parse(&file.replace("mud = 15", "mud = 14"), "w.toml").unwrap();
    assert_ne!(
        config.logic.hash(),
        other.logic.hash(),
        "what scripts see is part of the state hash"
    );
}

#[test]
fn fields_that_a_world_cannot_have_are_rejected() {
    for (lines, expected) in [
        (
            "name = 'a'\nrefresh_ticks = 1",
            "field.a: expected one of `kind`, `zone` and `places`",
        ),
        (
            "name = 'a'\nkind = 'cart'\nzone = 'yard'\nrefresh_ticks = 1",
            "field.a: expected one of `kind`, `zone` and `places`",
        ),
        (
            "name = 'a'\nkind = 'card'\nrefresh_ticks = 1",
            "field.a.kind: ",
        ),
        (
            "name = 'a'\nzone = 'wake'\nrefresh_ticks = 1",
            "field.a.zone: expected a zone that no entity carries, one of [\"yard\", \"wall\"], \
             found \"wake\"",
        ),
        (
            "name = 'a'\nzone = 'wall'\nrefresh_ticks = 1",
            "field.a.zone: expected a zone with the middle of a free cell in it, found none",
        ),
        (
            "name = 'a'\nplaces = []\nrefresh_ticks = 1",
            "field.a.places: expected at least one place, found none",
        ),
        (
            "name = 'a'\nplaces = [[1, 1], [3.5, 0.5]]\nrefresh_ticks = 1",
            "field.a.places[1]: expected a place in a free cell, found [3.5, 0.5] in a wall",
        ),
        (
            "name = 'a'\nplaces = [[5, 1]]\nrefresh_ticks = 1",
            "field.a.places[0]: expected 0 to 4, found 5",
        ),
        (
            "name = 'a'\nkind = 'cart'\nrefresh_ticks = 0",
            "field.a.refresh_ticks: expected 1 to 100000, found 0",
        ),
        ("name = 'a'\nkind = 'cart'", "refresh_ticks"),
        (
            "name = 'a'\nkind = 'cart'\nrefresh_ticks = 1\ncosts = { mud = 16 }",
            "field.a.costs.mud: expected 1 to 15, found 16",
        ),
        (
            "name = 'a'\nkind = 'cart'\nrefresh_ticks = 1\ncosts = { bog = 2 }",
            "field.a.costs: expected tags of the layer `tag`, one of [\"mud\", \"road\"], found \"bog\"",
        ),
        (
            "name = 'a'\nkind = 'cart'\nrefresh_ticks = 1\nspeed = 2",
            "unknown key `speed`",
        ),
        (
            "name = 'a'\nkind = 'cart'\nrefresh_ticks = 1\n[[field]]\nname = 'a'\n\
             kind = 'cart'\nrefresh_ticks = 1",
            "field[1].name: expected a name that no other field has, found \"a\"",
        ),
    ] {
        let message = shown(&with_field(lines));
        assert!(message.contains(expected), "{lines}: {message}");
    }
    let open = "[[field]]\nname = 'a'\nkind = 'player'\nrefresh_ticks = 1";
    let expected = "field: the world has no layer `blocked`, through whose cells ways would lead";
    assert!(shown(open).contains(expected), "{}", shown(open));
    let many: String = (0..65)
        .map(|n| format!("name = 'a{n}'\nkind = 'cart'\nrefresh_ticks = 1\n[[field]]\n"))
        .collect();
    let message = shown(&with_field(many.trim_end_matches("[[field]]\n")));
    assert!(
        message.contains("field: expected at most 64 fields, found 65"),
        "{message}"
    );
    let line = ".".repeat(8192) + "\n";
    let large = format!(
        "[world]\nsize = [8192, 8192]\n[[layer]]\nname = 'blocked'\n\
         drawing = \"\"\"\n{}\"\"\"\n{open}\n{}",
        line.repeat(8192),
        open.replace("'a'", "'b'")
    );
    let expected = "field: expected at most 1 fields of 8192 rows of 8192 cells, 67108864 cells in \
                    all; a larger `cell` of the layer `blocked` leaves room for more, found 2";
    let message = rejected(&large);
    assert!(message.contains(expected), "{message}");
}
