//! The output of `myriad export` equals the world.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use serde_json::{Value, json};
use server::host::DataOptions;

use crate::common::folder::TestFolder;
use crate::common::names::{ByName, named};
use crate::common::{Player, listen_for, myriad_binary, start_with};

const WORLD: &str = "
    [world]
    size = [200, 200]
    capacity = 64
    tick_hz = 20
    player_kind = 'player'

    [limits]
    clients = 8

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'rank', type = 'i32', default = 7, audience = 'hidden' },
        { name = 'gold', type = 'i64', default = -5_000_000_000, audience = 'private' },
        { name = 'luck', type = 'fixed', default = 1.5, audience = 'private' },
        { name = 'team', type = 'symbol', symbols = ['red', 'blue'], default = 'blue', audience = 'state' },
        { name = 'ready', type = 'bool', default = true, audience = 'state' },
        { name = 'friend', type = 'entity', audience = 'state' },
    ]

    [[kind]]
    name = 'item'
    population = 3
    attributes = [{ name = 'team', type = 'symbol', symbols = ['red', 'blue'], audience = 'state' }]
";

fn export(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(myriad_binary());
    command.arg("export").arg(folder).args(arguments);
    command.output().unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn an_analyst_finds_all_attributes_by_name() {
    let place = TestFolder::new("exported");
    let data = place.join("data");
    let server = start_with(WORLD, |options| {
        options.authenticator = Arc::new(ByName);
        options.data = Some(DataOptions::new(&data));
    });
    let mut ann = Player::join_as(&server, &named("ann")).await;
    listen_for(&server, &mut [&mut ann], 3).await;
    let own = ann.entity();
    let row = ann.client.view().own().unwrap().row.clone();
    server.stop().unwrap();

    let all = lines(&export(&data, &[]));
    assert_eq!(all.len(), 4);
    let line = all.iter().find(|line| line["kind"] == "player").unwrap();
    assert_eq!(
        (&line["account"], &line["name"]),
        (&json!("ann"), &json!("ann"))
    );
    assert_eq!(line["slot"], own.slot.0);
    assert_eq!(line["generation"], own.generation);
    let place_of = |axis: usize| f64::from(row[axis]) / 4096.0;
    let expected = json!({
        "x": place_of(0), "y": place_of(1),
        "rank": 7, "gold": -5_000_000_000i64, "luck": 1.5, "team": "blue", "ready": true,
    });
    let found = &line["attributes"];
    for name in ["x", "y", "rank", "gold", "luck", "team", "ready"] {
        assert_eq!(found[name], expected[name], "{name}: {line}");
    }
    assert_eq!(found.as_object().unwrap().len(), 8);
    let items = all.iter().filter(|line| line["kind"] == "item");
    for item in items.clone() {
        assert_eq!(item["attributes"].get("luck"), None);
        assert_eq!(item.get("account"), None);
    }
    assert_eq!(items.count(), 3);

    #[cfg(feature = "parquet")]
    as_parquet::is_the_same(&place, &data, &all);

    // Before its first tick, the world is empty.
    assert!(lines(&export(&data, &["--at", "0"])).is_empty());
    let first = lines(&export(&data, &["--at", "1"]));
    let items = first.iter().filter(|line| line["kind"] == "item");
    assert_eq!(items.count(), 3);
    let beyond = export(&data, &["--at", "1000000"]);
    assert!(!beyond.status.success());
}

#[cfg(feature = "parquet")]
mod as_parquet {
    use std::fs::File;

    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    use super::*;

    /// The file that is exported from a folder has the entities that the lines of JSON have.
    pub fn is_the_same(place: &TestFolder, data: &Path, all: &[Value]) {
        let file = place.join("world.parquet");
        let written = export(data, &["--to", file.to_str().unwrap()]);
        assert!(written.status.success(), "{written:?}");
        let reader = SerializedFileReader::new(File::open(&file).unwrap()).unwrap();
        let rows: Vec<_> = reader
            .get_row_iter(None)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(rows.len(), 4);
        for (row, line) in rows.iter().zip(all) {
            assert_eq!(row.get_long(0).unwrap(), line["tick"].as_i64().unwrap());
            assert_eq!(row.get_string(4).unwrap(), line["kind"].as_str().unwrap());
            let attributes = row.get_group(7).unwrap();
            assert_eq!(attributes.get_double(0).unwrap(), line["attributes"]["x"]);
        }
        let row = rows
            .iter()
            .find(|row| row.get_string(4).unwrap() == "player");
        let row = row.unwrap();
        assert_eq!(row.get_string(5).unwrap(), "ann");
        let names: Vec<String> = row
            .get_group(7)
            .unwrap()
            .get_column_iter()
            .map(|(name, _)| name.clone())
            .collect();
        let attributes = row.get_group(7).unwrap();
        let at = |name: &str| names.iter().position(|own| own == name).unwrap();
        assert_eq!(attributes.get_long(at("rank")).unwrap(), 7);
        assert_eq!(attributes.get_long(at("gold")).unwrap(), -5_000_000_000);
        assert_eq!(names.len(), 8);
        assert_eq!(attributes.get_string(at("team")).unwrap(), "blue");
        assert!(attributes.get_bool(at("ready")).unwrap());
    }
}
