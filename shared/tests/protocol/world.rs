//! The worlds of the golden cases. They are written out, so that no other change moves a bit.

use shared::world::hook::Zone;
use shared::world::plane::Atlas;
use shared::world::schema::{KindAttribute, KindRegions};
use shared::world::spawn::SpawnArea;
use shared::{
    Attribute, AttributeType, Audience, CommandKind, CommandSchema, CommandWord, Fixed, Kind,
    MergeRule, NotificationField, NotificationKind, NotificationSchema, Schema, Senders,
    WorldConstant, WorldInfo,
};

pub const PLAYER: u16 = 0;
pub const CHEST: u16 = 1;
/// In the world `bags`.
pub const AXE: u16 = 2;
/// A command with a point.
pub const MOVE: CommandKind = CommandKind(2);
/// A command with a word of each type.
pub const GIVE: CommandKind = CommandKind(7);
pub const SHOOT: CommandKind = CommandKind(8);
pub const SHOUT: NotificationKind = NotificationKind(5);

/// Two axes, sent exactly; attributes of all audiences and types.
pub fn flat() -> Schema {
    let mut attributes = axes(&[1000, 800], 0);
    attributes.extend([
        attribute("heading", AttributeType::I32, Audience::Movement, (0, 359)),
        attribute("hp", AttributeType::I32, Audience::State, (0, 100)),
        attribute(
            "gold",
            AttributeType::I32,
            Audience::Private,
            (-50, 1_000_000),
        ),
        attribute("", AttributeType::I32, Audience::Hidden, (0, 0)),
        attribute("open", AttributeType::Bool, Audience::State, (0, 1)),
        attribute(
            "owner",
            AttributeType::Entity,
            Audience::State,
            (i32::MIN, i32::MAX),
        ),
        attribute("mood", AttributeType::Symbol, Audience::State, (0, 2)),
    ]);
    let kinds = vec![
        kind("player", &[0, 1, 2, 3, 4, 8], &attributes),
        kind("chest", &[0, 1, 6, 7], &attributes),
    ];
    let mut shout = NotificationSchema::picked();
    shout.kind = SHOUT;
    shout.name = "shout".to_owned();
    shout.fields = vec![
        NotificationField::new("word", AttributeType::Symbol),
        NotificationField::new("loudness", AttributeType::Fixed),
        NotificationField::new("angry", AttributeType::Bool),
    ];
    Schema {
        world: WorldInfo {
            name: "flat".to_owned(),
            size: units(&[1000, 800]),
            aoi: unit(40),
            aoi_leave: unit(44),
            capacity: 1000,
            tick_hz: 10,
            visible_max: 200,
        },
        attributes,
        kinds,
        commands: vec![
            CommandSchema::spawn(),
            CommandSchema::despawn(),
            command(
                MOVE,
                "move",
                &[("x", AttributeType::Fixed), ("y", AttributeType::Fixed)],
            ),
            command(
                GIVE,
                "give",
                &[
                    ("count", AttributeType::I32),
                    ("gently", AttributeType::Bool),
                    ("to", AttributeType::Entity),
                    ("what", AttributeType::Symbol),
                    ("from", AttributeType::Fixed),
                ],
            ),
            command(
                SHOOT,
                "shoot",
                &[("at", AttributeType::Entity), ("seen", AttributeType::I32)],
            ),
        ],
        notifications: vec![
            NotificationSchema::fall(),
            NotificationSchema::picked(),
            shout,
        ],
        symbols: ["calm", "angry", "tired"].map(str::to_owned).to_vec(),
        zones: vec![Zone {
            name: "market".to_owned(),
            area: SpawnArea::Box {
                low: [4096, 8192, 0],
                high: [40_960, 81_920, 0],
            },
            carrier: None,
        }],
        world_kind: None,
        layers: Default::default(),
        rankings: vec![],
        groups: vec![],
        doors: vec![],
        fields: vec![],
        atlas: Atlas::default(),
        visibility: Default::default(),
        constants: vec![WorldConstant {
            name: "strike.reach".to_owned(),
            ty: AttributeType::Fixed,
            value: 8192,
        }],
    }
}

/// Three axes, sent in steps of 1/64; one kind, so that a kind takes no bits.
pub fn deep() -> Schema {
    let mut attributes = axes(&[3000, 3000, 500], 6);
    attributes.push(Attribute {
        step: 8,
        ..attribute(
            "turret",
            AttributeType::Fixed,
            Audience::Movement,
            (-12_288, 12_288),
        )
    });
    let mut ship = kind("ship", &[0, 1, 2, 3], &attributes);
    ship.regions = KindRegions {
        publishes: Some([81_920, 81_920, 1]),
        subscribes: None,
    };
    Schema {
        world: WorldInfo {
            name: "deep".to_owned(),
            size: units(&[3000, 3000, 500]),
            aoi: unit(60),
            aoi_leave: unit(60),
            capacity: 70_000,
            tick_hz: 20,
            visible_max: 0,
        },
        attributes,
        kinds: vec![ship],
        commands: vec![CommandSchema::spawn(), CommandSchema::despawn()],
        notifications: vec![],
        symbols: vec![],
        zones: vec![Zone {
            name: "nebula".to_owned(),
            area: SpawnArea::Ball {
                center: [0, 0, 0],
                radius: 8192,
            },
            carrier: Some(0),
        }],
        world_kind: None,
        constants: vec![],
        layers: Default::default(),
        rankings: vec![],
        groups: vec![],
        doors: vec![],
        fields: vec![],
        atlas: Atlas::default(),
        visibility: Default::default(),
    }
}

/// More than 64 columns, of two kinds: a column takes 8 bits.
pub fn wide() -> Schema {
    let mut attributes = axes(&[100, 100], 0);
    for n in 2..130 {
        let bounds = (0, [1, 100][n % 2]);
        let name = format!("a{n}");
        attributes.push(attribute(
            &name,
            AttributeType::I32,
            Audience::State,
            bounds,
        ));
    }
    let low: Vec<u16> = (0..64).collect();
    let high: Vec<u16> = [0, 1, 2].into_iter().chain(70..130).collect();
    let kinds = vec![
        kind("player", &low, &attributes),
        kind("tower", &high, &attributes),
    ];
    Schema {
        world: WorldInfo {
            name: "wide".to_owned(),
            size: units(&[100, 100]),
            aoi: unit(40),
            aoi_leave: unit(40),
            capacity: 1000,
            tick_hz: 10,
            visible_max: 0,
        },
        attributes,
        kinds,
        commands: vec![CommandSchema::spawn(), CommandSchema::despawn()],
        notifications: vec![],
        symbols: vec![],
        zones: vec![],
        world_kind: None,
        constants: vec![],
        layers: Default::default(),
        rankings: vec![],
        groups: vec![],
        doors: vec![],
        fields: vec![],
        atlas: Atlas::default(),
        visibility: Default::default(),
    }
}

fn axes(size: &[i32], step: u32) -> Vec<Attribute> {
    let axes = ["x", "y", "z"].into_iter().zip(size);
    axes.map(|(name, &size)| Attribute {
        step,
        ..attribute(
            name,
            AttributeType::Fixed,
            Audience::Movement,
            (0, unit(size).raw() - 1),
        )
    })
    .collect()
}

/// The world `flat` with things: axes, which are worn and have their price.
pub fn bags() -> Schema {
    let mut schema = flat();
    schema.world.name = "bags".to_owned();
    let whole = (i32::MIN, i32::MAX);
    let holder = attribute("holder", AttributeType::Entity, Audience::State, whole);
    schema.attributes.push(holder);
    let mut axe = kind("axe", &[0, 1, 3, 4, 9], &schema.attributes);
    // It has no place.
    for axis in &mut axe.attributes[..2] {
        (axis.min, axis.max) = (0, 0);
    }
    schema.kinds.push(axe);
    schema
}

fn attribute(name: &str, ty: AttributeType, audience: Audience, bounds: (i32, i32)) -> Attribute {
    let (min, max) = bounds;
    Attribute {
        name: name.to_owned(),
        ty,
        merge: MergeRule::Last,
        audience,
        min,
        max,
        step: 0,
    }
}

fn kind(name: &str, columns: &[u16], attributes: &[Attribute]) -> Kind {
    let own = columns.iter().map(|&column| {
        let attribute = &attributes[usize::from(column)];
        KindAttribute {
            column,
            default: attribute.min,
            min: attribute.min,
            max: attribute.max,
        }
    });
    Kind {
        name: name.to_owned(),
        attributes: own.collect(),
        regions: KindRegions::default(),
    }
}

fn command(kind: CommandKind, name: &str, words: &[(&str, AttributeType)]) -> CommandSchema {
    CommandSchema {
        kind,
        name: name.to_owned(),
        senders: Senders {
            clients: true,
            rules: false,
        },
        has_actor: true,
        words: words
            .iter()
            .map(|&(name, ty)| CommandWord::new(name, ty))
            .collect(),
        per_tick: 1,
        cooldown: if words.len() == 1 { 30 } else { 0 },
    }
}

fn unit(units: i32) -> Fixed {
    Fixed::from_raw(units << Fixed::FRACTION_BITS)
}

fn units(units: &[i32]) -> Vec<Fixed> {
    units.iter().map(|&each| unit(each)).collect()
}
