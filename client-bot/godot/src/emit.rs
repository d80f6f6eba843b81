//! A signal for each event of a client.

use client_bot::client_core::{Event, EventType, LinkState, NamedEvent};
use godot::prelude::*;
use shared::EntityId;

use crate::client::MyriadClient;
use crate::convert::{number, text};

impl MyriadClient {
    /// Emits an event. Receivers of signals may call the client.
    pub(crate) fn emit(&mut self, event: Event) {
        let mut named = vec![];
        NamedEvent::each(&event, self.view(), |event| named.push(event));
        for event in named {
            self.emit_named(event);
        }
    }

    fn emit_named(&mut self, event: NamedEvent) {
        let or_empty = |words: &Option<String>| text(words.as_deref().unwrap_or_default());
        let entity = number(event.entity.unwrap_or(EntityId::NONE));
        let (name, channel) = (or_empty(&event.name), or_empty(&event.channel));
        let words = or_empty(&event.text);
        let request = i64::from(event.request);
        let change = event.change.map(|(old, new)| (old.number(), new.number()));
        let (old, new) = change.unwrap_or_default();
        let loss = event.loss;
        if let Some(loss) = &loss {
            self.loss = Some((loss.code, loss.update.clone()));
        }
        let mut signals = self.signals();
        match event.what {
            EventType::None => {}
            EventType::Welcomed => signals.welcomed().emit(entity),
            EventType::Resumed => signals.resumed().emit(entity),
            EventType::Reborn => signals.reborn().emit(entity),
            EventType::Entered => signals.entered().emit(entity, &name),
            EventType::Left => signals.left().emit(entity),
            EventType::Changed => signals.changed().emit(entity, &name, old, new),
            EventType::NoticedChange => {
                let kind = or_empty(&event.kind_name);
                let by = number(event.by.unwrap_or(EntityId::NONE));
                let mut signal = signals.noticed();
                signal.emit(entity, &kind, &name, old, new, &words, by);
            }
            // The world has no such notification.
            EventType::Notified if event.name.is_none() => {}
            EventType::Notified => {
                let values = event.fields.iter().map(|field| field.value.number());
                signals.notified().emit(&name, entity, &values.collect());
            }
            EventType::NoticesFull => signals.notices_full().emit(),
            EventType::Said => signals.said().emit(entity, &name, &words),
            EventType::Whispered => signals.whispered().emit(&name, &words),
            EventType::Spoken => signals.spoken().emit(&channel, &name, &words),
            EventType::JoinedChannel => signals.joined_channel().emit(&channel, &name),
            EventType::LeftChannel => signals.left_channel().emit(&channel, &name),
            EventType::Member => {
                let names = event.members.iter().map(|name| text(name)).collect();
                signals.members().emit(&channel, &names);
            }
            EventType::Announced => signals.announced().emit(&words),
            EventType::Answered => {
                signals.answered().emit(request, event.is_granted, &words);
            }
            EventType::SubscriptionLost => signals.subscription_lost().emit(request),
            EventType::InterfaceChanged => signals.interface_changed().emit(),
            // Cells are asked for by place, whenever a game wants to know.
            EventType::CellsChanged => {}
            // So are members, of the Rust client only.
            EventType::MemberJoined | EventType::MemberLeft | EventType::MemberChanged => {}
            EventType::Lost => {
                let wait = loss.and_then(|loss| loss.retry_in);
                let seconds = wait.map_or(-1.0, |wait| wait.as_secs_f64());
                signals.lost().emit(&words, seconds);
            }
            EventType::Refused => {
                signals.refused().emit(request, i64::from(event.count), &words);
            }
            EventType::Link => {
                let is_good = event.link == Some(LinkState::Good);
                signals.link_changed().emit(is_good);
            }
        }
    }
}
