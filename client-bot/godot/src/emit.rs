//! A signal for each event of a client.

use client_bot::client_core::{Event, LinkState, Notice, NoticeBody, Talk};
use client_bot::named::{NamedChange, command_name, kind_name, number as value};
use godot::prelude::*;

use crate::client::MyriadClient;
use crate::convert::{number, text};

impl MyriadClient {
    /// Emits an event. Receivers of signals may call the client.
    pub(crate) fn emit(&mut self, event: Event) {
        match event {
            Event::Welcomed(entity) => self.signals().welcomed().emit(number(entity)),
            Event::Resumed(entity) => self.signals().resumed().emit(number(entity)),
            Event::Reborn(entity) => self.signals().reborn().emit(number(entity)),
            Event::Entered { entity, kind, .. } => {
                let kind = self.kind_name(kind);
                self.signals().entered().emit(number(entity), &kind);
            }
            Event::Left { entity, .. } => self.signals().left().emit(number(entity)),
            Event::Changed {
                entity, changes, ..
            } => {
                for change in changes {
                    let (name, old, new) = self.change(change.column, change.old, change.new);
                    let mut signals = self.signals();
                    signals.changed().emit(number(entity), &name, old, new);
                }
            }
            Event::Notice { notice, .. } => self.emit_notice(&notice),
            Event::NoticesFull(_) => self.signals().notices_full().emit(),
            Event::Talk { talk, .. } => self.emit_talk(talk),
            Event::Refused { commands, .. } => {
                let reason = text(&commands.reason.to_string());
                let (first, count) = (i64::from(commands.first), i64::from(commands.count));
                self.signals().refused().emit(first, count, &reason);
            }
            Event::Answered(answer) => {
                let reason = answer.result.as_ref().err().map_or("", String::as_str);
                let is_granted = answer.result.is_ok();
                let mut signals = self.signals();
                let request = i64::from(answer.request);
                signals.answered().emit(request, is_granted, &text(reason));
            }
            Event::SubscriptionLost(id) => {
                self.signals().subscription_lost().emit(i64::from(id));
            }
            Event::InterfaceChanged => self.signals().interface_changed().emit(),
            Event::Link { state, .. } => {
                let is_good = state == LinkState::Good;
                self.signals().link_changed().emit(is_good);
            }
            Event::Lost {
                code,
                reason,
                update,
                retry_in,
            } => {
                let seconds = retry_in.map_or(-1.0, |wait| wait.as_secs_f64());
                self.loss = Some((code, update));
                self.signals().lost().emit(&text(&reason), seconds);
            }
        }
    }

    fn emit_notice(&mut self, notice: &Notice) {
        match &notice.body {
            NoticeBody::Change {
                entity,
                kind,
                column,
                old,
                new,
                command,
                by,
            } => {
                let kind = self.kind_name(*kind);
                let (name, old, new) = self.change(*column, *old, *new);
                let command = command.and_then(|command| command_name(self.view()?, command));
                let command = text(command.unwrap_or_default());
                let (entity, by) = (number(*entity), number(*by));
                let mut signals = self.signals();
                signals
                    .noticed()
                    .emit(entity, &kind, &name, old, new, &command, by);
            }
            NoticeBody::Notification {
                kind,
                source,
                words,
            } => {
                let form = self.view().and_then(|v| v.schema().notification(*kind));
                let Some(form) = form else { return };
                let values = form.fields.iter().zip(words);
                let values = values.map(|(field, raw)| value(field.ty, *raw)).collect();
                let (name, source) = (text(&form.name), number(*source));
                self.signals().notified().emit(&name, source, &values);
            }
        }
    }

    fn emit_talk(&mut self, talk: Talk) {
        let mut signals = self.signals();
        match talk {
            Talk::Said {
                speaker,
                name,
                text: words,
            } => {
                let name = text(name.as_deref().unwrap_or_default());
                signals.said().emit(number(speaker), &name, &text(&words));
            }
            Talk::Whispered { from, text: words } => {
                signals.whispered().emit(&text(&from), &text(&words));
            }
            Talk::Spoken {
                channel,
                from,
                text: words,
            } => {
                let mut signal = signals.spoken();
                signal.emit(&text(&channel), &text(&from), &text(&words));
            }
            Talk::Joined { channel, name } => {
                signals.joined_channel().emit(&text(&channel), &text(&name));
            }
            Talk::Left { channel, name } => {
                signals.left_channel().emit(&text(&channel), &text(&name));
            }
            Talk::Members { channel, names } => {
                let names = names.iter().map(|name| text(name)).collect();
                signals.members().emit(&text(&channel), &names);
            }
            Talk::Announced { text: words } => signals.announced().emit(&text(&words)),
        }
    }

    fn kind_name(&self, kind: u16) -> GString {
        let name = self.view().and_then(|view| kind_name(view, kind));
        text(name.unwrap_or_default())
    }

    /// An attribute's name, and its old and new value.
    fn change(&self, column: u16, old: i32, new: i32) -> (GString, f64, f64) {
        let change = self
            .view()
            .and_then(|view| NamedChange::of(view, column, old, new));
        match change {
            Some(change) => (text(&change.attribute), change.old, change.new),
            None => (GString::new(), old.into(), new.into()),
        }
    }
}
