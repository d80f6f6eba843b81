//! What some attacks cost, printed. Nothing is asserted but that the server stands: run them one
//! at a time on a quiet machine, with a release build as `MYRIAD_BINARY`.

use std::fmt::Write;

use client_bot::connect::hello;
use shared::wire::control::Close;
use shared::wire::request::RequestBody;

use crate::attacks::attacker::Attacker;
use crate::attacks::field::Field;
use crate::attacks::streams::send_request;

#[tokio::test]
#[ignore = "prints figures"]
async fn figures_of_subscriptions_that_match_every_change() {
    let world = "
        [world]
        size = [200, 200]
        aoi = 10
        capacity = 4096
        tick_hz = 10

        [limits]
        clients = 128
        resume_seconds = 2
        subscriptions_per_client = 16
        # The attackers read nothing, and are to stay.
        idle_seconds = 120
        unread_seconds = 120
        client_stream_bytes = 4194304

        [[kind]]
        name = 'player'
        attributes = [{ name = 'hp', type = 'i32', default = 100, audience = 'state' }]

        [[kind]]
        name = 'sheep'
        population = 1000

        [[every]]
        kind = 'sheep'
        ticks = 1
        command = 'roam'
    ";
    for subscriptions in [0, 8, 16] {
        let field = Field::start_in(world).await;
        let mut clients = vec![];
        for _ in 0..10 {
            let mut client = field.join().await;
            for id in 0..subscriptions {
                let filters = (0..16).map(|i| format!("x > -{i}.{id}5"));
                let predicate = filters.collect::<Vec<_>>().join(" || ");
                send_request(&mut client, id, RequestBody::Subscribe { id, predicate }).await;
            }
            clients.push(client);
        }
        field.ticks(20).await;
        let sums = || {
            ["listen", "backend"].map(|step| {
                field.figure(&format!("myriad_tick_step_seconds_sum{{step=\"{step}\"}}"))
            })
        };
        let before = sums();
        field.ticks(TICKS).await;
        let after = sums();
        let ms = |step: usize| (after[step] - before[step]) * 1000.0 / TICKS as f64;
        println!(
            "10 clients with {subscriptions} subscriptions each: listen {:.2} ms a tick, \
             backend {:.2} ms",
            ms(0),
            ms(1)
        );
        for client in &clients {
            client.connection.close(Close::Bye.code().into(), b"bye");
        }
        field.stands().await;
    }
}

#[tokio::test]
#[ignore = "prints figures"]
async fn figures_of_silent_joins() {
    // The welcome names all symbols: most of a megabyte.
    let mut symbols = String::new();
    for number in 0..SYMBOLS {
        let _ = write!(symbols, "'{number:0>48}', ");
    }
    let world = format!(
        "[world]\nsize = [200, 200]\naoi = 50\ncapacity = 512\ntick_hz = 20\n\
         [limits]\nclients = 400\nresume_seconds = 2\nunread_seconds = 60\n\
         [[kind]]\nname = 'player'\nattributes = [{{ name = 'hp', type = 'i32', \
         default = 100, audience = 'state' }}, {{ name = 'rank', type = 'symbol', \
         audience = 'state', symbols = [{symbols}] }}]\n"
    );
    let field = Field::start_in(&world).await;
    for joined in [50, 100, 250] {
        let attacker = Attacker::with_window(&field, joined as u8, 500);
        let mut silent = vec![];
        for _ in 0..joined {
            silent.push(attacker.greet(&hello("", None)).await);
        }
        field.ticks(20).await;
        println!(
            "{joined} silent joins: the server holds {} KiB more, {} clients",
            field.memory_grown() >> 10,
            field.figure("myriad_clients")
        );
        for (connection, ..) in &silent {
            connection.close(Close::Bye.code().into(), b"bye");
        }
        field.until_figure("myriad_clients", 50).await;
    }
    field.stands().await;
}

const TICKS: u64 = 100;
const SYMBOLS: usize = 16_000;
