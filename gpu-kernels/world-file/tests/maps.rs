//! Maps of LDtk and of Tiled become the images of layers.

use shared::wire::layers::LayerKind;
use world_file::maps::{self, Grid};

const LDTK: &str = r##"{
  "__header__": { "app": "LDtk" },
  "defs": { "layers": [
    { "identifier": "Ground", "type": "IntGrid", "intGridValues": [
      { "value": 1, "identifier": "road", "color": "#000000" },
      { "value": 2, "identifier": "mud", "color": "#FFFFFF" },
      { "value": 7, "identifier": null, "color": "#FFFFFF" } ] } ] },
  "levels": [ { "identifier": "Town", "layerInstances": [
    { "__identifier": "Things", "__type": "Entities", "__cWid": 4, "__cHei": 2, "intGridCsv": [] },
    { "__identifier": "Ground", "__type": "IntGrid", "__cWid": 4, "__cHei": 2,
      "intGridCsv": [2, 0, 0, 1, 7, 0, 1, 1] } ] } ] }"##;

const TILED: &str = r##"{
  "type": "map", "orientation": "orthogonal", "infinite": false, "width": 4, "height": 2,
  "layers": [
    { "type": "objectgroup", "name": "things", "objects": [] },
    { "type": "group", "name": "floor", "layers": [
      { "type": "tilelayer", "name": "ground", "width": 4, "height": 2,
        "data": [12, 0, 0, 11, 13, 0, 2147483659, 11] } ] } ],
  "tilesets": [ { "firstgid": 11, "name": "tiles", "tiles": [
    { "id": 0, "type": "road", "properties": [ { "name": "height", "type": "int", "value": -3 } ] },
    { "id": 1, "type": "mud", "properties": [ { "name": "height", "type": "int", "value": 40 } ] },
    { "id": 2, "properties": [ { "name": "height", "type": "int", "value": 0 } ] } ] } ] }"##;

/// A world of 4 x 2 cells with the layer that a grid becomes.
fn layers(grid: &Grid, name: &str, kind: LayerKind) -> shared::Schema {
    let image = grid.image(kind).unwrap();
    let tags = match image.tags.is_empty() {
        true => String::new(),
        false => format!("tags = {:?}\n", image.tags),
    };
    let folder = tempfile(&image.png);
    let file = format!(
        "[world]\nsize = [4, 2]\n[[layer]]\nname = \"{name}\"\nimage = \"map.png\"\n{tags}"
    );
    let path = folder.join("world.toml");
    std::fs::write(&path, file).unwrap();
    let schema = world_file::load(&path).unwrap().schema;
    std::fs::remove_dir_all(folder).unwrap();
    schema
}

/// A folder with an image.
fn tempfile(png: &[u8]) -> std::path::PathBuf {
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let name = format!("maps-{}-{number}", std::process::id());
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("map.png"), png).unwrap();
    folder
}

/// The cells, the highest row first.
fn cells<T>(of: impl Fn([i32; 3]) -> T) -> Vec<T> {
    let rows = [1, 0].into_iter();
    rows.flat_map(|y| (0..4).map(move |x| [x << 12, y << 12, 0]))
        .map(of)
        .collect()
}

#[test]
fn maps_of_both_editors_become_the_layers_that_they_show() {
    let ldtk = maps::ldtk("town.ldtk", LDTK.as_bytes()).unwrap();
    let tiled = maps::tiled("town.tmj", TILED.as_bytes()).unwrap();
    let names: Vec<_> = ldtk.iter().chain(&tiled).map(|grid| &*grid.name).collect();
    assert_eq!(names, ["Town/Ground", "floor/ground"]);
    for (grid, expected) in [
        (&ldtk[0], [2, 0, 0, 1, 7, 0, 1, 1]),
        (&tiled[0], [40, 0, 0, -3, 0, 0, -3, -3]),
    ] {
        let walls = layers(grid, "blocked", LayerKind::Blocked).layers;
        let blocked = cells(|at| walls.is_blocked(at));
        assert_eq!(
            blocked,
            [true, false, false, true, true, false, true, true],
            "{}",
            grid.name
        );
        let heights = layers(grid, "height", LayerKind::Height).layers;
        assert_eq!(cells(|at| heights.height_at(at).unwrap()), expected);
        let schema = layers(grid, "tag", LayerKind::Tag);
        let tags = cells(|at| {
            let tag = usize::try_from(schema.layers.tag_at(at).unwrap()).ok();
            tag.map_or("", |tag| &*schema.symbols[tag])
        });
        assert_eq!(tags, ["mud", "", "", "road", "", "", "road", "road"]);
    }
}

#[test]
fn maps_that_are_wrong_are_refused_with_the_place_and_what_was_expected() {
    let ldtk = |from: &str, to: &str| {
        let text = LDTK.replace(from, to);
        assert_ne!(text, LDTK);
        maps::ldtk("town.ldtk", text.as_bytes()).map(|_| ())
    };
    let tiled = |from: &str, to: &str| {
        let text = TILED.replace(from, to);
        assert_ne!(text, TILED);
        maps::tiled("town.tmj", text.as_bytes()).map(|_| ())
    };
    for (found, expected) in [
        (
            ldtk("7, 0, 1, 1]", "7, 0, 1]"),
            "town.ldtk: Town/Ground: expected 8 cells, 4 times 2, found 7",
        ),
        (
            ldtk("[2, 0, 0", "[2, -1, 0"),
            "town.ldtk: invalid value: integer `-1`, expected u32 at line 11",
        ),
        (
            ldtk(
                "\"__cWid\": 4, \"__cHei\": 2,\n",
                "\"__cWid\": 99999, \"__cHei\": 2,\n",
            ),
            "town.ldtk: Town/Ground: expected 1 to 8192 cells along an axis, found 99999 times 2",
        ),
        (
            tiled("\"infinite\": false", "\"infinite\": true"),
            "town.tmj: expected a map of a fixed size",
        ),
        (
            tiled("[12, 0, 0, 11, 13, 0, 2147483659, 11]", "\"eJwDAAAAAAE=\""),
            "town.tmj: floor/ground: expected the numbers of its tiles",
        ),
        (
            tiled("\"name\": \"tiles\"", "\"source\": \"tiles.tsx\""),
            "town.tmj: expected a tileset that is embedded, or saved as `.tsj`",
        ),
        (
            maps::tiled("town.tmj", b"<map>").map(|_| ()),
            "town.tmj: expected value at line 1 column 1",
        ),
    ] {
        let error = found.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let grid = &maps::ldtk("town.ldtk", LDTK.replace("7, 0", "40000, 0").as_bytes()).unwrap()[0];
    let error = grid.image(LayerKind::Height).unwrap_err().to_string();
    let expected = "Town/Ground: expected heights from -32768 to 32767, found 40000 in row 2, \
                    column 1";
    assert_eq!(error, expected);
    let error = maps::read(std::path::Path::new("town.tmx")).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("town.tmx: expected a file of LDtk")
    );
}
