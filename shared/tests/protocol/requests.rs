//! Golden cases of requests.

use shared::EntityId;
use shared::wire::request::{Region, Request, RequestBody, RequestReader};
use shared::wire::talk::TalkRequest;
use shared::world::words::TextHandle;

use crate::protocol::case::Case;

pub fn cases() -> Vec<Case> {
    let friend = EntityId::new(300, 2);
    let region = |region| RequestBody::SetRegion { index: 1, region };
    let bodies = [
        region(Some(Region::fixed(&[0, -8], &[4096, 400_000]))),
        region(Some(Region::around(friend, &[81_920, 40_960]))),
        region(None),
        RequestBody::Subscribe {
            id: 77,
            predicate: "hp < 20".to_owned(),
        },
        RequestBody::Unsubscribe { id: 77 },
        RequestBody::SetSight {
            radius: Some(40_960),
        },
        RequestBody::SetSight { radius: None },
        RequestBody::Watch {
            point: [409_600, 204_800, 0],
        },
    ];
    let text = || "good morning".to_owned();
    let channel = || "news".to_owned();
    let talk = [
        TalkRequest::Say { text: text() },
        TalkRequest::Whisper {
            to: "Édith".to_owned(),
            text: text(),
        },
        TalkRequest::Join { channel: channel() },
        TalkRequest::Leave { channel: channel() },
        TalkRequest::Speak {
            channel: channel(),
            text: text(),
        },
        TalkRequest::Members { channel: channel() },
        TalkRequest::Mute {
            name: "Édith".to_owned(),
        },
        TalkRequest::Unmute {
            name: String::new(),
        },
    ];
    let talk = talk.into_iter().map(RequestBody::Talk);
    let layer = RequestBody::Layer {
        hash: 0x0123_4567_89ab_cdef,
    };
    let ranking = RequestBody::Ranking {
        number: 0,
        length: 10,
    };
    let text = RequestBody::Text {
        text: "Beware".to_owned(),
    };
    let texts = RequestBody::TextsOf {
        handles: vec![TextHandle::new(6, 5), TextHandle::new(200, 0x12_3456)],
    };
    let all = bodies
        .into_iter()
        .chain(talk)
        .chain([layer, ranking, text, texts])
        .zip(300..);
    all.map(|(body, number)| case(Request { number, body }))
        .collect()
}

/// A request with its length.
fn case(request: Request) -> Case {
    let (name, text) = named(&request.body);
    let mut bytes = vec![];
    request.encode(&mut bytes);
    let mut reader = RequestReader::default();
    reader.push(&bytes);
    assert_eq!(reader.next_request(), Ok(Some(request.clone())), "{name}");
    Case::new(name, text, bytes, &request)
}

/// Names every form that there is.
fn named(body: &RequestBody) -> (&'static str, &'static str) {
    match body {
        RequestBody::SetRegion {
            region: Some(region),
            ..
        } => match region.follows {
            None => ("request-region", "a fixed region"),
            Some(_) => ("request-region-follows", "a region around an entity"),
        },
        RequestBody::SetRegion { region: None, .. } => ("request-region-none", "no region"),
        RequestBody::Subscribe { .. } => ("request-subscribe", "a subscription"),
        RequestBody::Unsubscribe { .. } => ("request-unsubscribe", "the end of a subscription"),
        RequestBody::SetSight { radius: Some(_) } => ("request-sight", "to see less far"),
        RequestBody::SetSight { radius: None } => ("request-sight-full", "to see as far as can be"),
        RequestBody::Watch { .. } => ("request-watch", "where a spectator watches"),
        RequestBody::Layer { .. } => ("request-layer", "the content of a layer"),
        RequestBody::Ranking { .. } => ("request-ranking", "the first ten of a ranking"),
        RequestBody::Text { .. } => ("request-text", "a text for commands"),
        RequestBody::TextsOf { .. } => ("request-texts", "the texts of two handles"),
        RequestBody::Talk(talk) => match talk {
            TalkRequest::Say { .. } => ("request-say", "to all that are near"),
            TalkRequest::Whisper { .. } => ("request-whisper", "to one player"),
            TalkRequest::Join { .. } => ("request-join", "to become a member of a channel"),
            TalkRequest::Leave { .. } => ("request-leave", "to be a member no more"),
            TalkRequest::Speak { .. } => ("request-speak", "to the members of a channel"),
            TalkRequest::Members { .. } => ("request-members", "who is in a channel"),
            TalkRequest::Mute { .. } => ("request-mute", "to hear no more of a player"),
            TalkRequest::Unmute { .. } => {
                ("request-unmute", "to hear players without a name again")
            }
        },
    }
}
