//! Clients get the layers of their world once: over the session, and by HTTP from the page.

use std::net::SocketAddr;

use client_bot::GameClient;
use client_bot::client_core::{GameOptions, LayerCache};
use server::Server;
use shared::wire::layers::{contents, pack, unpack};

use crate::common::{DEADLINE, get_bytes, start_with, trust, until_game, web, world};

/// A world with each layer, and cells of different sizes.
const MIRE: &str = r#"
[world]
size = [24, 8]
aoi = 10
capacity = 16

[[layer]]
name = "blocked"
drawing = """
########################
#......................#
#......................#
#..........##..........#
#..........##..........#
#......................#
#......................#
########################
"""

[[layer]]
name = "height"
cell = 4
legend = { "^" = 30000, "_" = -7 }
drawing = """
..12^^
__3...
"""

[[layer]]
name = "tag"
cell = 2
legend = { "~" = "mire", "=" = "road" }
drawing = """
~~~~........
~~~.........
............
============
"""
"#;
const UNIT: i32 = 4096;

fn game(server: &Server, cache: &LayerCache) -> GameClient {
    let options = GameOptions {
        layer_cache: cache.clone(),
        ..GameOptions::default()
    };
    let trust = trust(server);
    GameClient::new(server.address(), "localhost", &trust, options).expect("a socket")
}

#[test]
fn a_game_has_the_layers_of_the_server_and_keeps_them_for_the_next() {
    let server = start_with(MIRE, |_| ());
    let layers = world(MIRE).schema.layers;
    let cache = LayerCache::default();
    let mut first = game(&server, &cache);
    until_game(&mut first, ("the layers come", DEADLINE), |game, _| {
        game.layers().map(|_| ())
    });
    let found = first.layers().expect("they have come");
    assert_eq!((found, found.words()), (&layers, layers.words()));
    assert_eq!(found.height_at([17 * UNIT, 7 * UNIT, 0]), Some(30_000));
    assert_eq!(found.height_at([UNIT, UNIT, 0]), Some(-7));
    let tag = |place: [i32; 3]| {
        let symbol = usize::try_from(found.tag_at(place)?).ok()?;
        first.view()?.schema().symbols.get(symbol).cloned()
    };
    assert_eq!(tag([UNIT, 7 * UNIT, 0]).as_deref(), Some("mire"));
    assert_eq!(tag([23 * UNIT, UNIT, 0]).as_deref(), Some("road"));
    assert_eq!(tag([23 * UNIT, 7 * UNIT, 0]), None);
    // The next one has them with its welcome.
    let mut second = game(&server, &cache);
    until_game(&mut second, ("it is welcomed", DEADLINE), |game, _| {
        game.view().map(|_| ())
    });
    assert_eq!(second.layers(), Some(&layers));
    for game in [first, second] {
        game.leave();
    }
    server.stop().unwrap();
}

/// The head of an answer, in lower case, and its body.
fn get(address: SocketAddr, path: &str) -> (String, Vec<u8>) {
    let mut answer = get_bytes(address, path);
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let body = answer.split_off(end.expect("a head") + 4);
    (String::from_utf8_lossy(&answer).to_lowercase(), body)
}

#[test]
fn the_page_has_each_layer_by_its_hash_for_ever() {
    let server = start_with(MIRE, web);
    let page = server.page().expect("a page");
    let all = contents(&world(MIRE).schema.layers);
    assert_eq!(all.len(), 3);
    let for_ever = "cache-control: public, max-age=31536000, immutable";
    for (info, content) in &all {
        let (head, body) = get(page, &format!("/layers/{:016x}", info.hash));
        assert!(head.starts_with("http/1.1 200 "), "{head}");
        assert!(head.contains(for_ever) && !head.contains("no-cache"));
        assert!(head.contains("content-encoding: deflate"), "{head}");
        assert_eq!(unpack(info, &body).as_ref(), Ok(content));
    }
    let mut wrong = vec!["", "1", "0123456789abcdef", "+123456789abcdef"];
    let twice = format!("{0:016x}{0:016x}", all[0].0.hash);
    wrong.push(&twice);
    for wrong in wrong {
        let (head, body) = get(page, &format!("/layers/{wrong}"));
        assert!(head.starts_with("http/1.1 404 "), "{head}");
        assert!(head.contains("no-cache"), "{head}");
        assert_eq!(body, b"the world has no layer with this hash\n");
    }
    server.stop().unwrap();
}

#[test]
fn a_long_layer_comes_in_parts_while_the_world_goes_on() {
    // Heights that can hardly be packed.
    let mut dice = 7u64;
    let mut row = || -> String {
        let digit = |_| {
            dice = shared::world::mix::mix(dice, 3);
            char::from(b'0' + (dice >> 40) as u8 % 10)
        };
        (0..800).map(digit).collect()
    };
    let rows: Vec<String> = (0..800).map(|_| row()).collect();
    let text = format!(
        "[world]\nsize = [800, 800]\naoi = 10\ncapacity = 16\ntick_hz = 20\n\
         [[layer]]\nname = 'height'\ndrawing = \"\"\"\n{}\n\"\"\"\n",
        rows.join("\n")
    );
    let world = world(&text);
    let packed = pack(&contents(&world.schema.layers)[0].1).len();
    assert!(packed > 200_000, "{packed}");
    let server = start_with(&text, |_| ());
    let mut game = game(&server, &LayerCache::default());
    let newest = |game: &GameClient| Some(game.view()?.newest());
    let first = until_game(&mut game, ("it is welcomed", DEADLINE), |game, _| {
        newest(game)
    });
    let last = until_game(&mut game, ("the layer comes", DEADLINE), |game, _| {
        game.layers().and(newest(game))
    });
    // A part in each tick.
    let ticks = last.since(first);
    assert!(ticks >= 10, "{ticks} ticks");
    assert_eq!(game.layers(), Some(&world.schema.layers));
    game.leave();
    server.stop().unwrap();
}
