//! Wrong calls are errors with a sentence, and never more than that.

use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};
use std::thread;

use myriad_client::connection::{
    MyriadOptions, myriad_abandon, myriad_connect, myriad_leave, myriad_poll, myriad_set_network,
    myriad_ticket,
};
use myriad_client::events::{EventType, MyriadEntity, MyriadLink, MyriadLoss, myriad_loss_words};
use myriad_client::input::{myriad_command, myriad_flush, myriad_input_due, myriad_ready_ticks};
use myriad_client::interest::{myriad_set_region, myriad_set_sight, myriad_subscribe};
use myriad_client::members::{myriad_member_name, myriad_member_value, myriad_members};
use myriad_client::next_event::myriad_next_event;
use myriad_client::rankings::{myriad_ask_ranking, myriad_ranked_name, myriad_ranking};
use myriad_client::schema::{
    myriad_schema, myriad_schema_attribute, myriad_schema_command, myriad_schema_field,
    myriad_schema_kind, myriad_schema_kind_attribute, myriad_schema_notification,
    myriad_schema_parameter,
};
use myriad_client::talk::myriad_talk;
use myriad_client::things::myriad_things;
use myriad_client::world::{
    myriad_cell, myriad_entities, myriad_kind_name, myriad_player_name, myriad_position,
    myriad_referenced, myriad_state, myriad_value,
};
use myriad_client::{MyriadClient, MyriadStatus};

use crate::common::sentence;

const NO_ENTITY: MyriadEntity = MyriadEntity {
    slot: u32::MAX,
    generation: 0,
};

fn options() -> MyriadOptions {
    MyriadOptions {
        server: c"127.0.0.1:9".as_ptr(),
        server_name: null(),
        fingerprint: null(),
        authority: null(),
        any_certificate: true,
        token: null(),
        name: null(),
        spectates: false,
        ticket: null(),
        attempts: 1,
        bindings: std::ptr::null(),
    }
}

fn connect(options: &MyriadOptions) -> (MyriadStatus, MyriadClient) {
    let mut client = 0;
    let status = unsafe { myriad_connect(options, &mut client) };
    (status, client)
}

fn connected() -> MyriadClient {
    let (status, client) = connect(&options());
    assert_eq!(status, MyriadStatus::Ok, "{}", sentence());
    client
}

#[test]
fn options_that_cannot_be_used_say_what_was_expected() {
    let bad = |change: &dyn Fn(&mut MyriadOptions), status, expected: &str| {
        let mut options = options();
        change(&mut options);
        assert_eq!(connect(&options), (status, 0));
        assert!(sentence().contains(expected), "{}", sentence());
    };
    let (argument, connection) = (MyriadStatus::Argument, MyriadStatus::Connection);
    bad(&|o| o.server = null(), argument, "a server's address");
    bad(&|o| o.server = c"nowhere".as_ptr(), connection, "HOST:PORT");
    bad(&|o| o.server = c"\xff:1".as_ptr(), argument, "UTF-8");
    bad(&|o| o.any_certificate = false, argument, "a fingerprint");
    bad(
        &|o| o.fingerprint = c"12".as_ptr(),
        argument,
        "64 hexadecimal",
    );
    bad(&|o| o.authority = c"/none".as_ptr(), connection, "/none");
    assert_eq!(
        unsafe { myriad_connect(null(), &mut 0) },
        MyriadStatus::Argument
    );
    assert_eq!(
        unsafe { myriad_connect(&options(), null_mut()) },
        MyriadStatus::Argument
    );
}

#[test]
fn a_client_that_is_gone_is_unknown() {
    let client = connected();
    assert_eq!(myriad_leave(client), MyriadStatus::Ok);
    let other = connected();
    assert_ne!(client, other, "a number is never used again");
    for status in [
        myriad_poll(client),
        myriad_flush(client),
        myriad_leave(client),
        myriad_abandon(client),
        unsafe { myriad_next_event(client, null_mut()) },
        unsafe { myriad_state(client, null_mut()) },
        myriad_poll(0),
    ] {
        assert_eq!(status, MyriadStatus::UnknownClient, "{}", sentence());
    }
    assert_eq!(myriad_abandon(other), MyriadStatus::Ok);
}

#[test]
fn what_needs_a_world_says_that_there_is_none() {
    let client = connected();
    let (mut value, mut count, mut number) = (0.0, 0, 0);
    let mut buffer = [0; 64];
    let (text, room): (*mut c_char, usize) = (buffer.as_mut_ptr(), buffer.len());
    let say = c"hello".as_ptr();
    for status in unsafe {
        [
            myriad_command(client, say, null(), 0, null_mut()),
            myriad_entities(client, null_mut(), 0, &mut count),
            myriad_things(client, NO_ENTITY, null_mut(), 0, &mut count),
            myriad_members(client, say, null_mut(), 0, &mut count),
            myriad_member_name(client, NO_ENTITY, null_mut(), 0),
            myriad_member_value(client, NO_ENTITY, say, &mut value),
            myriad_value(client, NO_ENTITY, say, &mut value),
            myriad_ask_ranking(client, say, 3),
            myriad_ranking(client, say, &mut number, null_mut(), 0, &mut count),
            myriad_ranked_name(client, say, 1, text, room),
            myriad_kind_name(client, 0, text, room),
            myriad_player_name(client, NO_ENTITY, text, room),
            myriad_set_sight(client, 5.0, &mut number),
            myriad_set_region(client, 0, null(), null(), null(), null_mut()),
            myriad_subscribe(client, 1, say, null_mut()),
            myriad_talk(client, 0, null(), say, null_mut()),
            myriad_ticket(client, buffer.as_mut_ptr().cast()),
            myriad_schema(client, null_mut(), text, room),
            myriad_schema_attribute(client, 0, null_mut(), null_mut(), 0),
            myriad_schema_kind(client, 0, null_mut(), text, room),
            myriad_schema_kind_attribute(client, 0, usize::MAX, null_mut()),
            myriad_schema_command(client, usize::MAX, null_mut(), text, room),
            myriad_schema_parameter(client, 0, 0, null_mut(), text, room),
            myriad_schema_notification(client, 0, null_mut(), text, room),
            myriad_schema_field(client, 0, 0, null_mut(), text, room),
        ]
    } {
        assert_eq!(status, MyriadStatus::NotInWorld, "{}", sentence());
    }
    let mut tick = 0;
    assert_eq!(
        unsafe { myriad_input_due(client, &mut tick) },
        MyriadStatus::Ok
    );
    assert_eq!(tick, -1);
    assert_eq!(myriad_abandon(client), MyriadStatus::Ok);
}

#[test]
fn null_pointers_and_wrong_numbers_are_arguments_that_are_refused() {
    let client = connected();
    let low = [f64::NAN; 3];
    for status in unsafe {
        [
            myriad_state(client, null_mut()),
            myriad_next_event(client, null_mut()),
            myriad_input_due(client, null_mut()),
            myriad_cell(client, f64::NAN, f64::INFINITY, null_mut()),
            myriad_ready_ticks(client, null(), null_mut()),
            myriad_set_network(client, null(), 1),
            myriad_set_network(client, c"no such network".as_ptr(), 1),
            myriad_command(client, null(), null(), 0, null_mut()),
            myriad_command(client, c"move".as_ptr(), null(), 2, null_mut()),
            myriad_entities(client, null_mut(), 5, null_mut()),
            myriad_things(client, NO_ENTITY, null_mut(), 5, null_mut()),
            myriad_members(client, c"party".as_ptr(), null_mut(), 5, null_mut()),
            myriad_members(client, null(), null_mut(), 0, null_mut()),
            myriad_subscribe(client, 1, null(), null_mut()),
            myriad_set_sight(client, f64::NAN, null_mut()),
            myriad_set_region(client, 0, low.as_ptr(), null(), null(), null_mut()),
            myriad_talk(client, 99, null(), null(), null_mut()),
            myriad_talk(client, 1, null(), c"hello".as_ptr(), null_mut()),
        ]
    } {
        assert_eq!(status, MyriadStatus::Argument, "{}", sentence());
        assert!(sentence().contains("expected"), "{}", sentence());
    }
    for status in unsafe {
        [
            myriad_position(client, NO_ENTITY, [0.0; 3].as_mut_ptr()),
            myriad_referenced(client, f64::INFINITY, &mut { NO_ENTITY }),
        ]
    } {
        assert_ne!(status, MyriadStatus::Ok);
    }
    assert_eq!(myriad_abandon(client), MyriadStatus::Ok);
}

#[test]
fn nobody_listening_ends_with_an_event() {
    let client = connected();
    let mut event = None;
    // Attempts end by time: this waits as long as a client does.
    while event.is_none() {
        assert_eq!(myriad_poll(client), MyriadStatus::Ok);
        let mut next = std::mem::MaybeUninit::uninit();
        assert_eq!(
            unsafe { myriad_next_event(client, next.as_mut_ptr()) },
            MyriadStatus::Ok
        );
        let next = unsafe { next.assume_init() };
        event = Some(next).filter(|event| event.what != EventType::None);
        thread::sleep(std::time::Duration::from_millis(20));
    }
    let event = event.expect("the loop ends with one");
    assert_eq!(event.what, EventType::Lost);
    assert!(!unsafe { CStr::from_ptr(event.text) }.is_empty());
    assert_eq!(event.loss, MyriadLoss::TimedOut);
    assert_eq!(event.link, MyriadLink::None);
    let words = unsafe { CStr::from_ptr(myriad_loss_words(event.loss as i32)) };
    assert_eq!(words, c"the server does not answer");
    for number in [-1, 17, 255, 261, i32::MIN, i32::MAX] {
        assert!(unsafe { CStr::from_ptr(myriad_loss_words(number)) }.is_empty());
    }
    assert_eq!(
        (event.server_version, event.update_url.is_null()),
        (0, true)
    );
    assert_eq!(myriad_abandon(client), MyriadStatus::Ok);
}

#[test]
fn many_threads_may_use_and_end_one_client() {
    let client = connected();
    let threads: Vec<_> = (0..8)
        .map(|i| {
            thread::spawn(move || {
                for _ in 0..200 {
                    let _ = (myriad_poll(client), myriad_flush(client));
                }
                (i == 3).then(|| myriad_abandon(client))
            })
        })
        .collect();
    let ended = threads.into_iter().map(|t| t.join().expect("no panic"));
    assert_eq!(ended.flatten().collect::<Vec<_>>(), [MyriadStatus::Ok]);
    assert_eq!(myriad_poll(client), MyriadStatus::UnknownClient);
}
