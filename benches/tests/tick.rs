//! Small runs of the benches of the server's tick.

use benches::report::Row;

use crate::common::{Folder, run, run_and_keep};

#[test]
fn all_backends_agree_on_every_tick_of_a_fight() {
    let folder = Folder::new();
    let line = format!(
        "fight --clients 512,2048 --runs 3 --baseline-runs 2 --threads 2 --backend cpu --plots {}",
        folder.root().display()
    );
    let (report, ..) = run_and_keep(&line, &folder);

    let picture = folder.read("fight.svg");
    assert!(picture.contains("baseline") && picture.contains("cpu"));
    assert_eq!(report.rows.len(), 4);
    for pair in report.rows.chunks(2) {
        assert_eq!([&pair[0].backend, &pair[1].backend], ["baseline", "cpu"]);
        assert_eq!([pair[0].samples, pair[1].samples], [2, 3]);
        assert_eq!(pair[0].checksum, pair[1].checksum);
        let [clients, deliveries] = ["clients", "deliveries"].map(|n| pair[0].whole(n).unwrap());
        // 27 far from the edge of the map; half of 512 clients are near it.
        assert!(
            (15 * clients..29 * clients).contains(&deliveries),
            "{deliveries}"
        );
        assert_eq!(pair[1].work, deliveries);
        assert!(pair[1].total_ms > 0.0);
    }
}

#[test]
fn a_fight_goes_on_between_walls_and_all_backends_agree() {
    let folder = Folder::new();
    let line =
        "fight --clients 512 --runs 3 --baseline-runs 2 --threads 2 --backend cpu --walls 20";
    let (report, ..) = run_and_keep(line, &folder);
    assert_eq!(report.rows.len(), 2);
    assert_eq!(report.rows[0].checksum, report.rows[1].checksum);
    assert_eq!(report.rows[1].whole("walls"), Some(20));
}

#[test]
fn a_fight_where_walls_hide_others_delivers_less() {
    let folder = Folder::new();
    let deliveries = ["", " --sight"].map(|more| {
        let line = format!(
            "fight --clients 512 --runs 3 --baseline-runs 2 --threads 2 --backend cpu --walls 20{more}"
        );
        let (report, ..) = run_and_keep(&line, &folder);
        assert_eq!(report.rows[0].checksum, report.rows[1].checksum);
        report.rows[1].whole("deliveries")
    });
    assert!(deliveries[1] < deliveries[0], "{deliveries:?}");
}

#[test]
fn a_fight_in_planes_is_measured_beside_one_without() {
    let folder = Folder::new();
    let line =
        "fight --clients 512 --runs 3 --baseline-runs 2 --threads 2 --backend cpu --planes 64";
    let (report, ..) = run_and_keep(line, &folder);
    assert_eq!(report.rows.len(), 4);
    for pair in report.rows.chunks(2) {
        assert_eq!(pair[0].checksum, pair[1].checksum);
    }
    let planes: Vec<_> = report.rows.iter().map(|row| row.whole("planes")).collect();
    assert_eq!(planes, [None, None, Some(64), Some(64)]);
    // Each of eight sees itself and the others of its plane, and nobody else.
    assert!(report.rows[3].whole("deliveries") <= Some(8 * 512));
}

#[test]
fn each_stage_has_a_cost_beside_its_floor_on_one_thread_and_on_several() {
    let folder = Folder::new();
    let line = "stages --clients 512 --runs 2 --threads 2 --acting 50";
    let (report, tables, _) = run_and_keep(line, &folder);

    let threads: Vec<_> = report.rows.iter().map(|row| row.whole("threads")).collect();
    assert_eq!(threads, [Some(1), Some(2)]);
    assert_eq!(report.rows[0].checksum, report.rows[1].checksum);
    for row in &report.rows {
        for stage in ["logic", "merge", "index", "interest"] {
            assert!(row.float(&format!("{stage}_ns")).unwrap() > 0.0);
            assert!(row.float(&format!("{stage}_floor_ns")).unwrap() > 0.0);
        }
        let commands = row.whole("logic_units").unwrap();
        assert!((256..700).contains(&commands), "{commands}");
    }
    assert!(
        tables.contains("| 512 | 2 | interest | delivery |"),
        "{tables}"
    );
}

#[test]
fn all_backends_agree_on_whom_a_client_sees_in_a_crowd() {
    let folder = Folder::new();
    let line = "crowd --clients 600 --visible-max 50 --runs 3 --baseline-runs 3 --threads 2";
    let (report, ..) = run_and_keep(line, &folder);

    assert_eq!(report.rows.len(), 2);
    assert_eq!(report.rows[0].checksum, report.rows[1].checksum);
    for row in &report.rows {
        // All entities of a known set move or leave, and as many come as leave.
        assert_eq!(row.whole("enters"), row.whole("leaves"));
        let enters = row.whole("enters").unwrap();
        assert_eq!(row.whole("deliveries"), Some(600 * 50 + enters));
        assert!(row.stage("interest").is_some());
    }
}

#[test]
fn a_flash_crowd_has_the_same_end_on_the_baseline_and_a_row_of_seconds() {
    let folder = Folder::new();
    let line = "crowd --flash 400 --visible-max 20 --threads 2";
    let (report, tables, _) = run_and_keep(line, &folder);

    assert_eq!(report.rows.len(), 1);
    let row = &report.rows[0];
    assert_eq!(row.whole("clients"), Some(400));
    // Two seconds before the rush, five of it, two to settle, and three that count.
    assert_eq!(row.samples, 60);
    let deliveries: Vec<Vec<u64>> =
        serde_json::from_value(row.params["second_deliveries"].clone()).unwrap();
    assert_eq!(deliveries.len(), 12);
    // All of the crowd see as much as they can, and all that they see moves.
    let last = deliveries[11].iter().sum::<u64>();
    assert!(last >= 200 * 20, "{deliveries:?}");
    assert_eq!(row.whole("deliveries"), Some(last));
    assert!(tables.contains("400 clients, cpu on 1"), "{tables}");
}

#[test]
fn questions_of_scripts_have_the_same_answers_on_all_backends() {
    let line = "asking --entities 3000 --asking 500 --runs 2 --baseline-runs 2 --threads 2";
    let (report, tables) = run(line);
    let rows = report.rows.iter();
    let checksums: Vec<&str> = rows.map(|row| row.checksum.as_str()).collect();
    // Each question has a baseline and a backend.
    assert!(
        checksums.chunks(2).all(|pair| pair[0] == pair[1]),
        "{tables}"
    );
    let questions = ["hit", "place", "step", "way", "wide_way", "held", "pay"];
    let own = |question| {
        report
            .rows
            .iter()
            .find(|row| row.text("question") == Some(question))
    };
    for question in questions {
        assert!(own(question).is_some(), "{question}: {tables}");
    }
    // They do go around walls, and by ways that a larger square makes shorter.
    let checksum = |question| own(question).map(|row| row.checksum.as_str());
    assert_ne!(checksum("step"), checksum("way"));
    assert_ne!(checksum("place"), checksum("hit"));
}

#[test]
fn a_hot_entity_loses_no_update() {
    let folder = Folder::new();
    let line = "hot --updates 5000 --runs 2 --baseline-runs 2 --threads 2";
    let (report, ..) = run_and_keep(line, &folder);

    let rows = report.rows.iter();
    let spreads: Vec<&str> = rows.map(|row| row.text("spread").unwrap()).collect();
    assert_eq!(
        spreads,
        [
            "one target",
            "one target",
            "an even spread",
            "an even spread"
        ]
    );
    let rows = report.rows.iter();
    let checksums: Vec<&str> = rows.map(|row| row.checksum.as_str()).collect();
    assert_eq!(checksums[0], checksums[1]);
    assert_eq!(checksums[2], checksums[3]);
    assert_ne!(checksums[0], checksums[2]);
}

#[test]
fn each_way_to_keep_waiting_commands_has_a_row() {
    let folder = Folder::new();
    let line = "due --pending 600 --due 30 --runs 3 --threads 2";
    let (report, tables, _) = run_and_keep(line, &folder);

    let rows = report.rows.iter();
    let backends: Vec<_> = rows.map(|row| row.backend.as_str()).collect();
    assert_eq!(backends, ["heap", "baseline", "cpu"]);
    assert!(report.rows.iter().all(|row| row.stage("due").is_some()));
    assert_eq!(tables.matches("| 600 |").count(), 3);
}

#[test]
fn each_way_to_run_and_to_change_scripts_has_a_row() {
    let folder = Folder::new();
    let line = "logic --clients 800 --runs 2 --reloads 3 --reload-clients 100 --tick-hz 100";
    let (report, tables, _) = run_and_keep(line, &folder);

    let of = |scenario: &str| {
        let rows = report.rows.iter().filter(|row| row.scenario == scenario);
        rows.collect::<Vec<_>>()
    };
    for ways in of("logic commands").chunks(3) {
        let names = ["baseline", "machine code", "interpreter"];
        assert_eq!([0, 1, 2].map(|i| &ways[i].backend), names);
        assert!(ways.iter().all(|row| row.checksum == ways[0].checksum));
        assert!(ways[0].whole("updates") > Some(0));
    }
    assert_eq!(of("logic commands").len(), 12 * 3);
    assert!(of("logic compiling").len() > 5);
    let reloads = of("logic reloads");
    assert_eq!(reloads.len(), 2);
    assert_eq!(reloads[0].checksum, reloads[1].checksum);
    assert!(reloads.iter().all(|row| row.whole("reloads") == Some(3)));
    assert!(tables.contains("| fight |") && tables.contains("| compiled on the spot |"));
}

#[test]
fn each_way_to_match_changes_has_a_row() {
    let folder = Folder::new();
    let line =
        "listen --subscriptions 50,300 --entities 400 --runs 2 --backend cpu,auto --threads 2";
    let (report, tables, _) = run_and_keep(line, &folder);

    let rows = report.rows.iter();
    let backends: Vec<_> = rows.map(|row| row.backend.as_str()).collect();
    assert_eq!(backends, ["direct", "cpu", "auto", "direct", "cpu", "auto"]);
    assert!(report.rows[1].whole("notices").unwrap() > 50);
    assert_ne!(report.rows[0].checksum, format!("{:016x}", 0));
    assert_eq!(tables.matches("| 300 | 300 |").count(), 3, "{tables}");
}

#[test]
fn ticks_in_flight_overlap_and_end_in_the_same_state() {
    let folder = Folder::new();
    let line = format!(
        "overlap --clients 1024 --ticks 4 --runs 2 --threads 1 --plots {}",
        folder.root().display()
    );
    let (report, ..) = run_and_keep(&line, &folder);

    let picture = folder.read("overlap-cpu.svg");
    assert!(picture.contains("two ticks in flight: collect"));
    assert_eq!(report.rows.len(), 2);
    assert_eq!(report.rows[0].checksum, report.rows[1].checksum);
    for (row, in_flight) in report.rows.iter().zip([1, 2]) {
        assert_eq!(row.samples, 2);
        let timeline = row.params["timeline"].as_array().unwrap();
        assert_eq!(timeline.len(), 4);
        // A call of a tick: its begin, or its end.
        let at = |call: &str, tick: usize, end: usize| timeline[tick][call][end].as_f64().unwrap();
        for tick in 0..4 {
            assert!(at("submit_ms", tick, 0) <= at("submit_ms", tick, 1));
            assert!(at("submit_ms", tick, 1) <= at("collect_ms", tick, 0));
            assert!(at("collect_ms", tick, 0) <= at("collect_ms", tick, 1));
        }
        for tick in 0..3 {
            let is_submitted_before = at("submit_ms", tick + 1, 1) <= at("collect_ms", tick, 0);
            assert_eq!(is_submitted_before, in_flight == 2, "tick {tick}");
        }
    }
}

#[test]
fn awaited_and_overlapped_fan_outs_lead_to_the_same_state() {
    let folder = Folder::new();
    let line = "fan-out --clients 256 --ticks 4 --runs 2 --shards 2 --threads 2 --record";
    let (report, tables, _) = run_and_keep(line, &folder);

    let rows = &report.rows;
    let ways: Vec<&str> = rows.iter().map(|row| row.approach.as_str()).collect();
    let expected = [
        "awaited, the steps on one thread",
        "the fan-out awaited",
        "the fan-out overlapped",
    ];
    assert_eq!(ways, expected);
    assert!(rows.iter().all(|row| row.checksum == rows[0].checksum));
    assert!(rows.iter().all(|row| row.samples == 8 && row.work > 0));
    assert!(rows.iter().all(|row| row.stage("order").is_some()));
    assert!(tables.contains("| gather | order | backend |"), "{tables}");
}

#[test]
fn a_kept_world_comes_to_the_same_state_and_is_recovered() {
    let folder = Folder::new();
    let line = format!(
        "keep --clients 256 --items 100 --ticks 8 --runs 2 --shards 2 --threads 2 --tick-hz 50 \
         --seconds 2 --checkpoint-every 1 --recover-ticks 20 --folder {}",
        folder.root().display()
    );
    let (report, tables, _) = run_and_keep(&line, &folder);

    let of = |scenario: &str| -> Vec<&Row> {
        let rows = report.rows.iter();
        rows.filter(|row| row.scenario == scenario).collect()
    };
    let levels = of("keep levels");
    let ways: Vec<&str> = levels.iter().map(|row| row.approach.as_str()).collect();
    let expected = ["in memory", "kept: none", "kept: soon", "kept: synced"];
    assert_eq!(ways[..4], expected);
    assert!(levels.iter().all(|row| row.checksum == levels[0].checksum));
    assert_eq!(levels[3].samples, 16);
    assert!(levels[3].whole("journal_bytes").unwrap() > 256, "{tables}");

    let [without, with] = of("keep checkpoints")[..] else {
        panic!("{tables}");
    };
    assert_eq!(without.checksum, with.checksum);
    assert_eq!(without.whole("checkpoints"), Some(0));
    assert!(with.whole("checkpoints").unwrap() > 0, "{tables}");
    assert_eq!(with.whole("entities"), Some(356));

    let [played, recovered] = of("keep recovery")[..] else {
        panic!("{tables}");
    };
    assert_eq!((played.work, recovered.work), (20, 20));
    assert_eq!((played.samples, recovered.samples), (1, 2));
    assert_eq!(played.checksum, recovered.checksum);
}

#[test]
fn all_backends_find_the_crossings_of_zones_that_a_loop_finds() {
    let folder = Folder::new();
    let line = "zones --entities 20000 --zones 300 --carried 40 --watched 90 --moving 50,100 \
                --runs 4 --threads 2";
    let (report, tables, _) = run_and_keep(line, &folder);

    // The loop, and two backends without zones and with them.
    assert_eq!(report.rows.len(), 2 * 5);
    for rows in report.rows.chunks(5) {
        let cells = |name: &str| rows.iter().map(|row| row.cell(name)).collect::<Vec<_>>();
        assert_eq!(cells("zones"), ["300", "0", "300", "0", "300"]);
        let subjects: Vec<&str> = rows.iter().map(|row| row.backend.as_str()).collect();
        assert_eq!(subjects, ["loop", "baseline", "baseline", "cpu", "cpu"]);
        assert_eq!(rows[1].checksum, rows[3].checksum);
        assert_eq!(rows[2].checksum, rows[4].checksum);
        let crossings = rows[2].whole("crossings").unwrap();
        assert!(crossings > 5, "{crossings}");
        for row in [&rows[0], &rows[4]] {
            assert_eq!(row.whole("crossings"), Some(crossings));
            assert!(row.stage("index").is_some());
        }
    }
    assert!(tables.contains("zones add to index"), "{tables}");
}
