//! `[[plane]]`: worlds within the world, and where they are in its space. What lies in each copy of a
//! plane is laid into all of them here, so nothing behind the world file knows which plane it is in.

use shared::world::fixed::Fixed;
use shared::world::id::{EntityId, Tick};
use shared::world::logic::Text;
use shared::world::mix::Random;
use shared::world::plane::{Atlas, Declared, PLANE_NAMES_MAX, PLANES_MAX, Rectangle};
use shared::world::schema::WorldInfo;
use shared::world::spawn::{SpawnArea, spawn_seed};

use super::cells::{BLOCKED, EDGE_BITS, edge_bits};
use super::check::{Problem, Problems, SIZE_MAX, fixed, in_range, one_of, problem, unexpected};
use super::logic::add_note;
use super::raw;

/// Where the planes of a world are, whose size is that of its plane 0.
pub(super) fn atlas(
    world: &WorldInfo,
    raw: &raw::World,
    kinds: &[raw::Kind],
    problems: &mut Problems,
) -> Atlas {
    if raw.plane.is_empty() {
        if raw.world.gap.is_some() {
            let message = "the world has no planes that could be apart";
            problems.take::<()>(problem("world.gap", message));
        }
        return Atlas::default();
    }
    let before = problems.0.len();
    no_reach_beyond(raw, problems);
    let declared = declared(raw, problems);
    let found = gap(world, raw, kinds);
    let (gap, around) = problems.take_or((Fixed::ONE, Fixed::ONE), found);
    if problems.0.len() > before {
        return Atlas::default();
    }
    let edges = edges(&raw.layer);
    let [width, height, _] = world.size_raw();
    let sizes = std::iter::once(("world.size".to_owned(), [width, height]));
    let all = declared.iter();
    let sizes = sizes.chain(all.map(|own| (format!("plane.{}.size", own.name), own.size)));
    let wall = 1 << walls_edge(raw, [width, height]);
    for (key, size) in sizes {
        if size.iter().any(|edge| edge % wall != 0) {
            let wall = Fixed::from_raw(wall);
            let message = format!(
                "expected whole cells of the layer `blocked`, which has walls between planes: \
                 multiples of {wall}"
            );
            problems.take::<()>(problem(key, message));
        }
    }
    let align = edges
        .map(|(_, bits)| 1 << bits)
        .max()
        .unwrap_or(1)
        .max(wall);
    let longest = Fixed::from_f64(SIZE_MAX).map_or(i32::MAX, Fixed::raw);
    let apart = [gap, around].map(Fixed::raw);
    let laid = Atlas::lay_out([width, height], apart, declared, align, longest);
    laid.unwrap_or_else(|| {
        let message = format!(
            "these are more planes than there is room for: with {gap} between them an axis would \
             be longer than {SIZE_MAX}"
        );
        problems.take::<()>(problem("plane", message));
        Atlas::default()
    })
}

/// The edge of the cells that are walls between planes: as the layer `blocked` has them, else as large
/// as they can be.
pub(super) fn walls_edge(raw: &raw::World, [width, height]: [i32; 2]) -> u32 {
    if let Some((_, bits)) = edges(&raw.layer).find(|(name, _)| *name == BLOCKED) {
        return bits;
    }
    let planes = raw.plane.iter().flat_map(|plane| &plane.size);
    let planes = planes.filter_map(|&edge| Some(Fixed::from_f64(edge)?.raw()));
    let zeros = planes.chain([width, height]).map(i32::trailing_zeros);
    let most = zeros.min().unwrap_or(0);
    most.clamp(EDGE_BITS.start, EDGE_BITS.end - 1)
}

/// Layers by name, with the binary logarithms of the edges of their cells.
fn edges(raw: &[raw::Layer]) -> impl Iterator<Item = (&str, u32)> {
    let edge = |layer| -> Option<(&str, u32)> {
        let layer: &raw::Layer = layer;
        let bits = edge_bits("", layer.cell).ok()?;
        Some((&layer.name, bits))
    };
    raw.iter().filter_map(edge)
}

/// What clients may ask of anywhere would show them other planes.
fn no_reach_beyond(raw: &raw::World, problems: &mut Problems) {
    let limits = [
        (
            "regions_per_client",
            raw.limits.regions_per_client.unwrap_or(0),
        ),
        (
            "subscriptions_per_client",
            raw.limits.subscriptions_per_client.unwrap_or(0),
        ),
    ];
    for (name, found) in limits {
        if found > 0 {
            let expected = "0: they reach anywhere, and the world has planes";
            problems.take::<()>(unexpected(format!("limits.{name}"), found, expected));
        }
    }
}

fn declared(raw: &raw::World, problems: &mut Problems) -> Vec<Declared> {
    if raw.plane.len() > PLANE_NAMES_MAX {
        let expected = format!("at most {PLANE_NAMES_MAX}; `copies` makes more of one");
        problems.take::<()>(unexpected("plane", raw.plane.len(), expected));
        return vec![];
    }
    let mut all: Vec<Declared> = vec![];
    let mut left = PLANES_MAX - 1;
    for (i, own) in raw.plane.iter().enumerate() {
        let key = format!("plane.{}", own.name);
        if own.name.is_empty() || all.iter().any(|known| known.name == own.name) {
            let expected = "a name that no other plane has";
            let key = format!("plane[{i}].name");
            problems.take::<()>(unexpected(key, format!("{:?}", own.name), expected));
        }
        let copies = in_range(&format!("{key}.copies"), own.copies, 1, left.max(1));
        let copies = problems.take_or(1, copies);
        left = left.saturating_sub(copies);
        if own.name.len() > PLANE_NAME_BYTES_MAX {
            let expected = format!("a name of at most {PLANE_NAME_BYTES_MAX} bytes");
            let key = format!("plane[{i}].name");
            problems.take::<()>(unexpected(key, format!("{:?}", own.name), expected));
        }
        if let Some(size) = problems.take(size(&format!("{key}.size"), &own.size)) {
            let name = own.name.clone();
            all.push(Declared { name, size, copies });
        }
    }
    all
}

fn size(key: &str, raw: &[f64]) -> Result<[i32; 2], Problem> {
    let &[x, y] = raw else {
        let expected = "2 numbers, along `x` and `y`";
        return unexpected(key, raw.len(), expected);
    };
    let edge = |edge| Ok(fixed(key, edge, 1.0, SIZE_MAX)?.raw());
    Ok([edge(x)?, edge(y)?])
}

/// What lies between two planes, as the file has it, which must be as much as anything reaches; and how
/// far notifications reach, so that clients that see as far as that from another plane receive none.
fn gap(
    world: &WorldInfo,
    raw: &raw::World,
    kinds: &[raw::Kind],
) -> Result<(Fixed, Fixed), Problem> {
    let aoi = world.aoi.to_f64();
    let longest = |of: fn(&raw::Kind) -> &Option<Vec<f64>>| {
        let edges = kinds.iter().flat_map(|kind| of(kind).iter().flatten());
        edges.fold(0.0_f64, |most, &edge| most.max(edge))
    };
    let seen = longest(|kind| &kind.subscribes) / 2.0;
    let boxes = longest(|kind| &kind.publishes) / 2.0 + seen;
    let with_area = |gap: Fixed| {
        let around = (gap.to_f64() - aoi.max(seen)).max(0.0);
        (gap, Fixed::from_f64(around).unwrap_or(Fixed::from_raw(0)))
    };
    let zones = raw.zone.iter().filter(|zone| zone.carrier.is_some());
    let corners = |zone: &raw::Zone| {
        let area = zone.area.iter().flatten().flatten();
        let center = zone.center.iter().flatten();
        let far = area
            .chain(center)
            .fold(0.0_f64, |far, axis| far.max(axis.abs()));
        far + zone.radius.unwrap_or(0.0)
    };
    let zones = zones.map(corners).fold(0.0_f64, f64::max);
    let [width, height, _] = world.size_raw();
    let cell = Fixed::from_raw(1 << walls_edge(raw, [width, height])).to_f64();
    let doors = kinds.iter().flat_map(|kind| kind.blocks.iter().flatten());
    // Else each cell of a plane is free.
    let has_walls = raw.layer.iter().any(|layer| layer.name == BLOCKED)
        || kinds.iter().any(|kind| kind.blocks.is_some());
    let doors = doors.max().map_or(0.0, |&cells| f64::from(cells) * cell);
    let needs = [
        ("world.aoi", aoi),
        ("world.aoi_leave", world.aoi_leave.to_f64()),
        ("`publishes` and `subscribes` of kinds", boxes),
        ("carried zones", zones),
        ("`blocks` of kinds", doors),
        (
            "the search for a free cell around a wall",
            if has_walls { cell * SEARCH_CELLS } else { 0.0 },
        ),
    ];
    let (what, least) =
        needs.into_iter().fold(
            ("", 0.0),
            |most, need| {
                if need.1 > most.1 { need } else { most }
            },
        );
    let key = "world.gap";
    let Some(found) = raw.world.gap else {
        let usual = least.max(aoi + aoi.max(seen)).min(SIZE_MAX);
        return fixed(key, usual, 1.0, SIZE_MAX).map(with_area);
    };
    if found < least {
        let expected = format!("at least {least}, as far as {what} may reach");
        return unexpected(key, found, expected);
    }
    fixed(key, found, 1.0, SIZE_MAX).map(with_area)
}

/// Zones that stay where they are must end before the next plane.
pub(super) fn check_zones(
    atlas: &Atlas,
    zones: &[shared::world::hook::Zone],
    problems: &mut Problems,
) {
    if atlas.is_empty() {
        return;
    }
    for zone in zones.iter().filter(|zone| zone.carrier.is_none()) {
        let [_, high] = zone.corners();
        if (0..2).any(|axis| high[axis] >= atlas.size[axis].saturating_add(atlas.gap)) {
            let gap = Fixed::from_raw(atlas.gap);
            let message =
                format!("expected a zone that ends less than world.gap = {gap} beyond the world");
            problems.take::<()>(problem(format!("zone.{}", zone.name), message));
        }
    }
}

/// The population of kinds in the world itself, if they are born anywhere.
pub(super) fn keep_at_home(world: &WorldInfo, atlas: &Atlas, spawns: &mut [Option<SpawnArea>]) {
    if atlas.is_empty() {
        return;
    }
    let home = whole(world, world.size_raw());
    for spawn in spawns {
        spawn.get_or_insert(home);
    }
}

fn whole(world: &WorldInfo, mut size: [i32; 3]) -> SpawnArea {
    size[world.size.len()..].fill(1);
    SpawnArea::Box {
        low: [0; 3],
        high: size.map(|edge| edge - 1),
    }
}

/// The world as a copy of the plane has it that a kind is in; the world itself for all other kinds.
pub(super) fn info_of(world: &WorldInfo, atlas: &Atlas, kind: &raw::Kind) -> WorldInfo {
    let mut info = world.clone();
    let group = kind.plane.as_ref().and_then(|name| {
        let mut groups = atlas.groups.iter();
        groups.find(|group| group.name == *name)
    });
    if let Some(group) = group {
        for (own, &size) in info.size.iter_mut().zip(&group.size) {
            *own = Fixed::from_raw(size);
        }
    }
    info
}

/// Lays the places and the population of each kind of a plane into its copies.
pub(super) fn lay_kinds(
    world: &WorldInfo,
    atlas: &Atlas,
    seed: u64,
    kinds: &[raw::Kind],
    (places, spawns): (&mut [Vec<[i32; 3]>], &mut [Option<SpawnArea>]),
    problems: &mut Problems,
) {
    let all = kinds.iter().zip(places).zip(spawns);
    for (number, ((kind, places), spawn)) in (0..).zip(all) {
        let Some(name) = &kind.plane else {
            continue;
        };
        let key = kind.key();
        let Some((first, copies)) = problems.take(named(atlas, &format!("{key}.plane"), name))
        else {
            continue;
        };
        if kind.respawn_ticks.is_some() {
            let message = "expected none, as the kind has a `plane`: of which copy something was \
                           is known to scripts only";
            problems.take::<()>(problem(format!("{key}.respawn_ticks"), message));
        }
        let size = info_of(world, atlas, kind).size_raw();
        let area = spawn.unwrap_or_else(|| whole(world, size));
        let own = std::mem::take(places);
        for copy in 0..copies {
            let Rectangle { low, .. } = atlas.rectangle(first + copy);
            let laid = |place: [i32; 3]| {
                let inside = |axis: usize| place[axis].max(0).min(size[axis] - 1);
                [low[0] + inside(0), low[1] + inside(1), inside(2)]
            };
            places.extend(own.iter().map(|&place| laid(place)));
            let drawn = (0..kind.population).map(|i| {
                let birth = EntityId::new(copy * kind.population + i, number);
                let mut random = Random::new(spawn_seed(seed), Tick(0), birth);
                laid(area.place(world.size.len(), &mut random))
            });
            places.extend(drawn);
        }
        *spawn = None;
    }
}

/// The first copy of a plane, and how many there are.
pub(super) fn named(atlas: &Atlas, key: &str, name: &str) -> Result<(u32, u32), Problem> {
    let names = atlas.groups.iter().map(|group| &group.name);
    atlas
        .named(name)
        .map_or_else(|| unexpected(key, format!("{name:?}"), one_of(names)), Ok)
}

/// How many of the kind's places there are for each that the file has.
pub(super) fn copies_of(raw: &raw::World, kind: &raw::Kind) -> u32 {
    let Some(name) = &kind.plane else {
        return 1;
    };
    let own = raw.plane.iter().find(|plane| plane.name == *name);
    own.map_or(1, |plane| plane.copies)
}

/// Adds a text to those of a world with planes that says where they are: so whatever depends on the
/// scripts, such as the state hash, depends on the planes.
pub(super) fn add_text(atlas: &Atlas, texts: &mut Vec<Text>) -> Result<(), Problem> {
    let mut text = format!(
        "// The world has {:?}, and {} lies between planes.\n",
        atlas.size, atlas.gap
    );
    for group in &atlas.groups {
        text += &format!(
            "// {} of {:?} have {:?}, {} in a row, every {:?} from {} on.\n",
            group.copies, group.name, group.size, group.columns, group.stride, group.low
        );
    }
    let text = Text {
        file: TEXT_FILE.to_owned(),
        text,
        is_builtin: true,
    };
    add_note(texts, text, "plane", "planes")
}

/// Cells around a wall that are searched for a free one in each direction, and one more.
const SEARCH_CELLS: f64 = 25.0;
/// The most bytes of a plane's name.
pub(super) const PLANE_NAME_BYTES_MAX: usize = 64;
const TEXT_FILE: &str = "world-planes.rs";
