//! Maps of LDtk and of Tiled become the images of layers, and lines of world files.

use shared::wire::layers::LayerKind;
use shared::world::spawn::SpawnArea;
use world_file::maps::{self, Grid, ObjectsAs};

const LDTK: &str = r##"{
  "__header__": { "app": "LDtk" },
  "defs": { "layers": [
    { "identifier": "Ground", "type": "IntGrid", "intGridValues": [
      { "value": 1, "identifier": "road", "color": "#000000" },
      { "value": 2, "identifier": "mud", "color": "#FFFFFF" },
      { "value": 7, "identifier": null, "color": "#FFFFFF" } ] } ],
    "entities": [ { "identifier": "gate", "resizableX": false, "resizableY": false },
      { "identifier": "sheep", "resizableX": true, "resizableY": true } ] },
  "levels": [ { "identifier": "Town", "layerInstances": [
    { "__identifier": "Things", "__type": "Entities", "__cWid": 4, "__cHei": 2, "intGridCsv": [],
      "__gridSize": 16, "entityInstances": [
      { "__identifier": "gate", "px": [16, 16], "width": 16, "height": 16, "__pivot": [0.5, 1],
        "fieldInstances": [] },
      { "__identifier": "sheep", "px": [32, 8], "width": 24, "height": 16, "__pivot": [0, 0],
        "fieldInstances": [ { "__identifier": "population", "__type": "Int", "__value": 7 },
          { "__identifier": "Name", "__type": "String", "__value": "meadow" } ] } ] },
    { "__identifier": "Ground", "__type": "IntGrid", "__cWid": 4, "__cHei": 2,
      "intGridCsv": [2, 0, 0, 1, 7, 0, 1, 1] } ] } ] }"##;

const TILED: &str = r##"{
  "type": "map", "orientation": "orthogonal", "infinite": false, "width": 4, "height": 2,
  "tilewidth": 16, "tileheight": 16,
  "layers": [
    { "type": "objectgroup", "name": "things", "offsetx": -8, "objects": [
      { "id": 1, "name": "", "type": "gate", "x": 24, "y": 8, "width": 0, "height": 0, "rotation": 0,
        "point": true },
      { "id": 2, "name": "", "type": "gate", "gid": 12, "x": 56, "y": 32, "width": 16, "height": 16,
        "rotation": 0 },
      { "id": 3, "name": "meadow", "type": "sheep", "x": 40, "y": 8, "width": 24, "height": 16,
        "rotation": 0, "properties": [ { "name": "population", "type": "int", "value": 7 } ] },
      { "id": 4, "name": "well", "type": "rest", "x": 8, "y": 0, "width": 32, "height": 32,
        "rotation": 0, "ellipse": true } ] },
    { "type": "group", "name": "floor", "layers": [
      { "type": "tilelayer", "name": "ground", "width": 4, "height": 2,
        "data": [12, 0, 0, 11, 13, 0, 2147483659, 11] } ] } ],
  "tilesets": [ { "firstgid": 11, "name": "tiles", "tiles": [
    { "id": 0, "type": "road", "properties": [ { "name": "height", "type": "int", "value": -3 } ] },
    { "id": 1, "type": "mud", "properties": [ { "name": "height", "type": "int", "value": 40 } ] },
    { "id": 2, "properties": [ { "name": "height", "type": "int", "value": 0 } ] } ] } ] }"##;

const TMX: &str = r##"<?xml version="1.0" encoding="UTF-8"?>
<map version="1.10" orientation="orthogonal" width="4" height="2" tilewidth="16"
  tileheight="16" infinite="0">
 <tileset firstgid="11" name="tiles" tilecount="3">
  <tile id="0" type="road">
   <properties><property name="height" type="int" value="-3"/></properties>
   <objectgroup><object id="1"><properties><property name="height" type="int" value="9"/>
   </properties></object></objectgroup>
  </tile>
  <tile id="1" class="mud"><properties>
   <property name="height" type="int" value="40"/></properties></tile>
  <tile id="2"><properties><property name="height" type="int" value="0"/></properties></tile>
 </tileset>
 <objectgroup id="3" name="things" offsetx="-8">
  <object id="1" type="gate" x="24" y="8"><point/></object>
  <object id="2" class="gate" gid="12" x="56" y="32" width="16" height="16"/>
  <object id="3" name="meadow" type="sheep" x="40" y="8" width="24" height="16">
   <properties><property name="population" type="int" value="7"/></properties></object>
  <object id="4" name="well" type="rest" x="8" y="0" width="32" height="32"><ellipse/></object>
 </objectgroup>
 <group id="4" name="floor">
  <layer id="1" name="ground" width="4" height="2">
   <data encoding="csv">
12,0,0,11,
13,0,2147483659,11
</data>
  </layer>
 </group>
</map>
"##;

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
    let tmx = maps::tiled("town.tmx", TMX.as_bytes()).unwrap();
    assert_eq!(tmx, tiled);
    let names: Vec<_> = ldtk
        .grids
        .iter()
        .chain(&tiled.grids)
        .map(|grid| &*grid.name)
        .collect();
    assert_eq!(names, ["Town/Ground", "floor/ground"]);
    for (grid, expected) in [
        (&ldtk.grids[0], [2, 0, 0, 1, 7, 0, 1, 1]),
        (&tiled.grids[0], [40, 0, 0, -3, 0, 0, -3, -3]),
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
fn objects_become_kinds_and_zones_where_they_are() {
    let ldtk = maps::ldtk("town.ldtk", LDTK.as_bytes()).unwrap();
    let tiled = maps::tiled("town.tmx", TMX.as_bytes()).unwrap();
    let world = |lines: &str| {
        let file = format!("[world]\nsize = [8, 4]\n{lines}");
        world_file::parse(&file, "world.toml").unwrap()
    };
    let unit = 4096;
    for (layer, gates) in [
        (&ldtk.objects[0], vec![[2 * unit, 3 * unit, 0]]),
        (
            &tiled.objects[0],
            vec![[2 * unit, 3 * unit, 0], [7 * unit, unit, 0]],
        ),
    ] {
        let lines = layer.lines(ObjectsAs::Kinds, 2.0).unwrap();
        let config = world(&lines);
        let kind = |name: &str| {
            config
                .schema
                .kinds
                .iter()
                .position(|kind| kind.name == name)
                .unwrap()
        };
        assert_eq!(config.places[kind("gate")], gates, "{lines}");
        let sheep = kind("sheep");
        assert_eq!(config.populations[sheep], 7);
        let low = [4 * unit, unit, 0];
        let high = [7 * unit, 3 * unit, 0];
        assert_eq!(config.spawns[sheep], Some(SpawnArea::Box { low, high }));
    }
    let zones = |layer: &maps::ObjectLayer| layer.lines(ObjectsAs::Zones, 1.0);
    let error = zones(&tiled.objects[0]).unwrap_err().to_string();
    assert_eq!(
        error,
        "things: expected a rectangle or a circle, found the object \"\" of the class \"gate\" at [1, 1.5]"
    );
    let areas = TMX.replace(
        "  <object id=\"1\" type=\"gate\" x=\"24\" y=\"8\"><point/></object>\n",
        "",
    );
    let areas = areas.replace("gid=\"12\" x=\"56\" y=\"32\"", "x=\"56\" y=\"16\"");
    let areas = maps::tiled("town.tmx", areas.as_bytes()).unwrap();
    let config = world(&zones(&areas.objects[0]).unwrap().replace("gate", "yard"));
    let names: Vec<_> = config.schema.zones.iter().map(|zone| &*zone.name).collect();
    assert_eq!(names, ["yard", "meadow", "well"]);
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
    let tmx = |from: &str, to: &str| {
        let text = TMX.replace(from, to);
        assert_ne!(text, TMX);
        maps::tiled("town.tmx", text.as_bytes()).map(|_| ())
    };
    for (found, expected) in [
        (
            ldtk("7, 0, 1, 1]", "7, 0, 1]"),
            "town.ldtk: Town/Ground: expected 8 cells, 4 times 2, found 7",
        ),
        (
            ldtk("[2, 0, 0", "[2, -1, 0"),
            "town.ldtk: invalid value: integer `-1`, expected u32 at line 19",
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
            maps::tiled("town.tmj", b"map").map(|_| ()),
            "town.tmj: expected value at line 1 column 1",
        ),
        (
            tmx("infinite=\"0\"", "infinite=\"1\""),
            "town.tmx: expected a map of a fixed size",
        ),
        (
            tmx("encoding=\"csv\"", "encoding=\"base64\""),
            "town.tmx: floor/ground: expected the numbers of its tiles, found a text of 31 bytes",
        ),
        (
            tmx("13,0,2147483659", "13,0,wall"),
            "town.tmx: expected the number of a tile, found \"wall\" at line 26",
        ),
        (
            tmx(
                "width=\"4\" height=\"2\">\n   <data",
                "width=\"-4\" height=\"2\">\n   <data",
            ),
            "town.tmx: expected a whole number as `width`, found \"-4\" at line 22",
        ),
        (
            tmx("<point/>", "<polygon points=\"0,0 3,4 5,1\"/>"),
            "town.tmx: things: object 1: expected a point, a tile, a rectangle or a circle",
        ),
        (
            tmx("x=\"40\"", "rotation=\"30\" x=\"40\""),
            "town.tmx: things: object 3: expected a rectangle or a circle that is not turned",
        ),
        (
            tmx("width=\"32\"", "width=\"30\""),
            "town.tmx: things: object 4: expected a circle, as wide as high",
        ),
        (
            tmx("<object id=\"1\"", "<object template=\"gate.tx\" id=\"1\""),
            "town.tmx: things: object 1: expected an object of its own",
        ),
        (
            tmx("y=\"8\"", "y=\"inf\""),
            "town.tmx: expected a number as `y`, found \"inf\" at line",
        ),
        (tmx(" </group>\n", ""), "town.tmx: ill-formed document"),
        (
            tmx("</map>", ""),
            "town.tmx: expected the end of the element `map` at line",
        ),
        (
            maps::tiled("town.tmx", "<map>".repeat(100_000).as_bytes()).map(|_| ()),
            "town.tmx: expected at most 64 elements within each other at line 1",
        ),
        (
            maps::tiled("town.tmx", b"<tileset/>").map(|_| ()),
            "town.tmx: expected the element `map`, found \"tileset\"",
        ),
        (
            tmx("name=\"tiles\"", "source=\"tiles.tsx\""),
            "tiles.tsx: expected a tileset that is embedded in the map",
        ),
    ] {
        let error = found.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let grid = &maps::ldtk("town.ldtk", LDTK.replace("7, 0", "40000, 0").as_bytes())
        .unwrap()
        .grids[0];
    let error = grid.image(LayerKind::Height).unwrap_err().to_string();
    let expected = "Town/Ground: expected heights from -32768 to 32767, found 40000 in row 2, \
                    column 1";
    assert_eq!(error, expected);
    let error = maps::read(std::path::Path::new("town.png")).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("town.png: expected a file of LDtk")
    );
}

#[test]
fn a_map_has_the_tilesets_that_are_saved_beside_it() {
    let folder = tempfile(&[]);
    let begin = TMX.find(" <tileset").unwrap();
    let end = TMX.find(" <objectgroup id").unwrap();
    let map = [
        &TMX[..begin],
        "<tileset firstgid=\"11\" source=\"tiles.tsx\"/>",
        &TMX[end..],
    ];
    let tileset = TMX[begin..end].replace(" firstgid=\"11\"", "");
    std::fs::write(folder.join("town.tmx"), map.concat()).unwrap();
    std::fs::write(folder.join("tiles.tsx"), tileset).unwrap();
    let found = maps::read(&folder.join("town.tmx")).unwrap();
    assert_eq!(found, maps::tiled("town.tmx", TMX.as_bytes()).unwrap());
    std::fs::write(folder.join("tiles.tsx"), "<map/>").unwrap();
    let error = maps::read(&folder.join("town.tmx"))
        .unwrap_err()
        .to_string();
    let expected = "tiles.tsx: expected the element `tileset`, found \"map\"";
    assert_eq!(error, expected);
    std::fs::remove_dir_all(folder).unwrap();
}
