//! A client lists what its world is made of; wrong numbers and pointers are errors with a
//! sentence.

use std::ffi::{CStr, CString, c_char};
use std::ptr::{null, null_mut};

use myriad_client::MyriadStatus;
use myriad_client::connection::myriad_abandon;
use myriad_client::schema::{
    MyriadAttribute, MyriadAudience, MyriadCommand, MyriadConstant, MyriadKindAttribute,
    MyriadSchema, MyriadType, myriad_constant, myriad_schema, myriad_schema_attribute,
    myriad_schema_command, myriad_schema_constant, myriad_schema_field, myriad_schema_kind,
    myriad_schema_kind_attribute, myriad_schema_notification, myriad_schema_parameter,
};
use server::{Server, ServerOptions};

use crate::common::{join, sentence};

const WORLD: &str = "
    [world]
    name = \"yard\"
    size = [100, 60]
    aoi = 20
    capacity = 64
    tick_hz = 20
    constants = [\"strike.damage\", \"strike.reach\"]

    [limits]
    subscriptions_per_client = 1

    [commands]
    strike = { cooldown = 40, damage = 7, reach = 2.5 }

    [[kind]]
    name = \"player\"
    respawn_ticks = 20
    attributes = [
        { name = \"hp\", type = \"i32\", default = 90, min = 0, max = 100, falls_at = 0, audience = \"state\" },
        { name = \"gold\", type = \"fixed\", default = 1.5, min = 0, max = 8, audience = \"private\" },
        { name = \"luck\", type = \"i32\", default = 3, min = 0, max = 9, audience = \"hidden\" },
    ]
";

/// Room for a name.
struct Name([c_char; 64]);

impl Name {
    fn room() -> Name {
        Name([0; 64])
    }

    fn text(&self) -> &str {
        let text = unsafe { CStr::from_ptr(self.0.as_ptr()) };
        text.to_str().expect("UTF-8")
    }
}

#[test]
fn a_world_is_listed_and_what_it_lacks_is_unknown() {
    let world = world_file::parse(WORLD, "a test's world").expect("a valid world file");
    let server = Server::start(ServerOptions::local(world)).expect("the server starts");
    let client = join(&server);
    let mut name = Name::room();
    let (text, room) = (name.0.as_mut_ptr(), name.0.len());
    let ok = |status| assert_eq!(status, MyriadStatus::Ok, "{}", sentence());

    let mut schema = MyriadSchema::default();
    ok(unsafe { myriad_schema(client, &mut schema, text, room) });
    assert_eq!(name.text(), "yard");
    assert_eq!((schema.dimensions, schema.size), (2, [100.0, 60.0, 0.0]));
    assert_eq!((schema.sight, schema.ticks_per_second), (20.0, 20));
    assert_eq!((schema.kinds, schema.attributes), (1, 5));

    // Attributes: the position, then those of the file.
    let mut attributes = vec![];
    for index in 0..schema.attributes {
        let mut attribute = std::mem::MaybeUninit::<MyriadAttribute>::uninit();
        ok(unsafe { myriad_schema_attribute(client, index, attribute.as_mut_ptr(), text, room) });
        let attribute = unsafe { attribute.assume_init() };
        attributes.push((name.text().to_owned(), attribute.what, attribute.audience));
        if name.text() == "gold" {
            assert_eq!((attribute.min, attribute.max), (0.0, 8.0));
        }
    }
    let of = |name: &str, what, audience| (name.to_owned(), what, audience);
    let expected = [
        of("x", MyriadType::Fixed, MyriadAudience::Movement),
        of("y", MyriadType::Fixed, MyriadAudience::Movement),
        of("hp", MyriadType::I32, MyriadAudience::State),
        of("gold", MyriadType::Fixed, MyriadAudience::Private),
        // Of a hidden one, clients know only that it is there.
        of("", MyriadType::I32, MyriadAudience::Hidden),
    ];
    assert_eq!(attributes, expected);

    let mut count = 0;
    ok(unsafe { myriad_schema_kind(client, 0, &mut count, text, room) });
    assert_eq!((name.text(), count), ("player", 4));
    let mut own = MyriadKindAttribute {
        attribute: 0,
        initial: 0.0,
        min: 0.0,
        max: 0.0,
    };
    ok(unsafe { myriad_schema_kind_attribute(client, 0, 3, &mut own) });
    assert_eq!((own.attribute, own.initial, own.max), (3, 1.5, 8.0));

    // Commands with their parameters.
    let mut commands = vec![];
    for index in 0..schema.commands {
        let mut command = std::mem::MaybeUninit::<MyriadCommand>::uninit();
        ok(unsafe { myriad_schema_command(client, index, command.as_mut_ptr(), text, room) });
        let command = unsafe { command.assume_init() };
        let mut line = format!("{} {}:", name.text(), command.cooldown_ticks);
        for parameter in 0..command.parameters {
            let mut what = MyriadType::Bool;
            ok(unsafe { myriad_schema_parameter(client, index, parameter, &mut what, text, room) });
            line += &format!(" {} {what:?}", name.text());
        }
        commands.push(line);
    }
    for expected in ["move 0: x Fixed y Fixed", "strike 40: target Entity"] {
        assert!(commands.iter().any(|line| line == expected), "{commands:?}");
    }
    assert!(!commands.iter().any(|line| line.starts_with("spawn")));

    // Notifications with their fields.
    let mut notifications = vec![];
    for index in 0..schema.notifications {
        ok(unsafe { myriad_schema_notification(client, index, &mut count, text, room) });
        let mut line = format!("{}:", name.text());
        for field in 0..count {
            let mut what = MyriadType::Bool;
            ok(unsafe { myriad_schema_field(client, index, field, &mut what, text, room) });
            line += &format!(" {} {what:?}", name.text());
        }
        notifications.push(line);
    }
    assert_eq!(notifications, ["fall: kind I32"]);

    // Constants, by number and by name.
    assert_eq!(schema.constants, 2);
    let mut constants = vec![];
    for index in 0..schema.constants {
        let mut constant = std::mem::MaybeUninit::<MyriadConstant>::uninit();
        ok(unsafe { myriad_schema_constant(client, index, constant.as_mut_ptr(), text, room) });
        let constant = unsafe { constant.assume_init() };
        let by_name = CString::new(name.text()).expect("no zero bytes");
        let mut value = 0.0;
        ok(unsafe { myriad_constant(client, by_name.as_ptr(), &mut value) });
        assert_eq!(value, constant.value);
        constants.push((name.text().to_owned(), constant.what, value));
    }
    let expected = [
        ("strike.damage".to_owned(), MyriadType::I32, 7.0),
        ("strike.reach".to_owned(), MyriadType::Fixed, 2.5),
    ];
    assert_eq!(constants, expected);

    // Unknown names, and no room.
    let fails = |status, expected, found: MyriadStatus| {
        assert_eq!(found, status, "{}", sentence());
        assert!(sentence().contains(expected), "{}", sentence());
    };
    let (unknown, argument) = (MyriadStatus::Unknown, MyriadStatus::Argument);
    let mut what = MyriadType::Bool;
    unsafe {
        let found = myriad_schema_kind(client, 1, &mut count, text, room);
        fails(unknown, "expected a kind below 1, found 1", found);
        let found = myriad_schema_attribute(client, 5, null_mut(), text, room);
        fails(unknown, "expected an attribute below 5, found 5", found);
        let found = myriad_schema_kind_attribute(client, 0, 4, &mut own);
        fails(unknown, "an attribute of the kind below 4, found 4", found);
        let found = myriad_schema_kind_attribute(client, 1, 0, &mut own);
        fails(unknown, "expected a kind below 1, found 1", found);
        let found = myriad_schema_command(client, usize::MAX, null_mut(), text, room);
        fails(unknown, "expected a command below ", found);
        let found = myriad_schema_parameter(client, 0, 9, &mut what, text, room);
        fails(unknown, "expected a parameter below ", found);
        let found = myriad_schema_notification(client, usize::MAX, &mut count, text, room);
        fails(unknown, "expected a notification below ", found);
        let found = myriad_schema_field(client, 0, 9, &mut what, text, room);
        fails(unknown, "expected a field below ", found);
        let found = myriad_schema_constant(client, 2, null_mut(), text, room);
        fails(unknown, "expected a constant below 2, found 2", found);
        let mut value = 0.0;
        let found = myriad_constant(client, c"strike.width".as_ptr(), &mut value);
        fails(unknown, "no constant `strike.width`", found);
        let found = myriad_constant(client, c"strike.reach".as_ptr(), null_mut());
        fails(argument, "expected room for a number", found);
        let found = myriad_constant(client, null(), &mut value);
        fails(argument, "a constant's name", found);
        let found = myriad_schema(client, null_mut(), text, room);
        fails(argument, "expected room for a schema", found);
        let found = myriad_schema(client, &mut schema, text, 4);
        fails(
            argument,
            "expected a buffer of 5 bytes, found one of 4",
            found,
        );
        let found = myriad_schema(client, &mut schema, null_mut(), 64);
        fails(
            argument,
            "expected a buffer of 5 bytes, found one of 0",
            found,
        );
        let found = myriad_schema_kind(client, 0, null_mut(), text, room);
        fails(argument, "expected room for a number", found);
        let found = myriad_schema_parameter(client, 0, 0, null_mut(), text, room);
        fails(argument, "expected room for a type", found);
    }
    assert_eq!(myriad_abandon(client), MyriadStatus::Ok);
    assert_eq!(
        unsafe { myriad_schema(client, &mut schema, text, room) },
        MyriadStatus::UnknownClient
    );
    server.stop().expect("the server stops");
}
