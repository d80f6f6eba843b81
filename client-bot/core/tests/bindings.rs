//! A game with bindings leaves a world that lacks some of what they name, and says which.

use std::time::Duration;

use crate::common::{OWN, Server, schema, welcome};
use client_core::{Bindings, Event, Game, GameOptions, LossCode, Outline, Step};
use shared::wire::control::{Close, Interface, Welcome};
use shared::wire::{codec, length};
use shared::{AttributeType, CommandWord, Schema};

fn differences(change: impl FnOnce(&mut Schema)) -> String {
    let text = Outline::of(&schema()).bindings("plain", "cs");
    let bindings = Bindings::parse(&text).expect("its own text");
    let mut changed = schema();
    change(&mut changed);
    bindings.check(&changed).err().unwrap_or_default()
}

fn column(schema: &Schema, name: &str) -> usize {
    schema.column(name).expect("an attribute")
}

#[test]
fn what_is_renamed_missing_or_otherwise_is_named() {
    let hp = |schema: &mut Schema, name: &str| {
        let column = column(schema, "hp");
        schema.attributes[column].name = name.to_owned();
    };
    assert_eq!(differences(|_| ()), "");
    assert_eq!(
        differences(|schema| hp(schema, "health")),
        "the world is not that of the game's bindings of `plain`: attribute `player.hp` is now \
         called `player.health`. Generate the bindings again with `myriad bindings --lang cs`"
    );
    let other = differences(|schema| {
        let hp = column(schema, "hp");
        schema.attributes[hp].ty = AttributeType::Fixed;
    });
    assert!(
        other.contains("attribute `player.hp` is `fixed` now, and was `i32`"),
        "{other}"
    );
    let gone = differences(|schema| {
        schema.commands.retain(|command| command.name != "strike");
    });
    assert!(gone.contains("command `strike` is missing"), "{gone}");
    let kind = differences(|schema| schema.kinds[0].name = "hero".to_owned());
    assert!(
        kind.contains("kind `player` is now called `hero`. "),
        "{kind}"
    );
    let words = differences(|schema| {
        let strike = schema.commands.iter_mut().find(|c| c.name == "strike");
        let words = &mut strike.expect("a command").words;
        words.push(CommandWord::new("force", AttributeType::I32));
    });
    let expected = "command `strike` is `(target: entity, force: i32)` now, and was \
                    `(target: entity)`";
    assert!(words.contains(expected), "{words}");
}

#[test]
fn what_is_new_in_the_world_is_no_difference() {
    let found = differences(|schema| {
        let mut kind = schema.kinds[0].clone();
        kind.name = "tree".to_owned();
        schema.kinds.push(kind);
        schema.symbols.push("new".to_owned());
        let mut command = schema.commands[schema.commands.len() - 1].clone();
        command.name = "dance".to_owned();
        schema.commands.push(command);
    });
    assert_eq!(found, "");
}

#[test]
fn a_text_that_is_no_text_of_bindings_is_an_error() {
    let text = Outline::of(&schema()).bindings("plain", "rs");
    for wrong in [
        "",
        "nonsense",
        "bindings of a for b, hash 0\nkind",
        &text[1..],
    ] {
        assert!(Bindings::parse(wrong).is_err(), "{wrong}");
    }
    // Names may be any text.
    let mut odd = schema();
    odd.symbols.push("so\nodd".to_owned());
    let bindings = Bindings::parse(&Outline::of(&odd).bindings("a\nb", "rs"));
    assert_eq!(bindings.expect("a text of lines").check(&odd), Ok(()));
    // One that was changed by hand.
    assert!(Bindings::parse(&text.replace("hp", "xp")).is_err());
}

fn joined(text: &str) -> Game {
    let mut game = Game::new(GameOptions {
        bindings: text.to_owned(),
        ..GameOptions::default()
    });
    assert_eq!(game.next_step(Duration::ZERO), Step::Connect);
    game.opened(None);
    let body = codec::to_bytes::<Welcome>(&welcome());
    let mut bytes = vec![];
    length::put(body.len(), &mut bytes);
    bytes.extend(body);
    game.handle_stream(&bytes, Duration::ZERO)
        .expect("a welcome");
    game
}

/// The game has given up, for this reason.
fn given_up(game: &mut Game) -> String {
    let events = game.poll(Duration::ZERO);
    let Some(Event::Lost {
        code,
        reason,
        retry_in,
        ..
    }) = events.last()
    else {
        panic!("{events:?}");
    };
    assert_eq!(
        (*code, *retry_in),
        (LossCode::Closed(Close::SchemaMismatch), None)
    );
    assert!(matches!(
        game.next_step(Duration::ZERO),
        Step::Close(Close::Bye, _)
    ));
    assert_eq!(game.next_step(Duration::ZERO), Step::Wait);
    assert!(game.is_over());
    reason.clone()
}

#[test]
fn a_game_enters_the_world_of_its_bindings_only() {
    let mut game = joined(&Outline::of(&schema()).bindings("plain", "rs"));
    assert_eq!(game.poll(Duration::ZERO), [Event::Welcomed(OWN)]);
    let mut older = schema();
    let hp = column(&older, "hp");
    older.attributes[hp].name = "life".to_owned();
    let mut game = joined(&Outline::of(&older).bindings("plain", "rs"));
    let reason = given_up(&mut game);
    let expected = "attribute `player.life` is now called `player.hp`";
    assert!(reason.contains(expected), "{reason}");
    assert!(game.view().is_none());
    let mut game = joined("nonsense");
    assert!(given_up(&mut game).contains("can't be read"));
}

#[test]
fn a_game_leaves_a_world_whose_scripts_lose_a_command() {
    let server = Server::new();
    let mut game = joined(&Outline::of(&schema()).bindings("plain", "rs"));
    game.poll(Duration::ZERO);
    let mut commands = schema().commands;
    let interface = |epoch, commands: &[_]| Interface {
        commands_epoch: epoch,
        commands: commands.to_vec(),
        notifications: schema().notifications,
        constants: vec![],
        forecast: vec![],
        reasons: vec![],
    };
    let same = interface(2, &commands);
    let frame = server.frame(11, |stream, writer| stream.interface(writer, &same));
    game.handle_stream(&frame, Duration::ZERO).expect("a frame");
    assert!(game.is_playing());
    commands.retain(|command| command.name != "strike");
    let less = interface(3, &commands);
    let frame = server.frame(12, |stream, writer| stream.interface(writer, &less));
    game.handle_stream(&frame, Duration::ZERO).expect("a frame");
    assert!(given_up(&mut game).contains("command `strike` is missing"));
}
