//! Lines of the audit log about the clients of a shard.

use std::net::SocketAddr;

use platform::audit::{Audit, Entry};
use shared::wire::control::Close;

use super::Shard;
use crate::client::Player;
use crate::handshake::AdmissionError;

/// Refused connections since the last tick that have no lines of their own: there may be as many as
/// a flood brings, and nothing is known of them.
#[derive(Debug, Default)]
pub struct Summed {
    unreadable: u64,
    unchecked: u64,
}

impl Shard {
    fn audit_log(&self) -> &Audit {
        &self.world.admission.audit
    }

    /// Notes the tick, and the sums of the one before.
    pub(super) fn begin_audit(&mut self) {
        let Summed {
            unreadable,
            unchecked,
        } = std::mem::take(&mut self.summed);
        let audit = self.audit_log();
        audit.note_tick(self.tick.0);
        for (count, reason) in [
            (unreadable, "no readable hello"),
            (
                unchecked,
                "too many wrong tokens before, so these were not checked",
            ),
        ] {
            if count > 0 {
                audit.note(Entry {
                    event: "refused",
                    tick: Some(self.tick.0),
                    reason: Some(reason),
                    count: Some(count),
                    ..Entry::default()
                });
            }
        }
    }

    pub(super) fn audit_refusal(&mut self, address: SocketAddr, error: &AdmissionError) {
        if error.is_audited {
            return self.audit_log().note(Entry {
                event: "refused",
                tick: Some(self.tick.0),
                address: Some(address.to_string()),
                account: error.account.as_ref().map(|account| account.as_str()),
                reason: Some(&error.reason),
                ..Entry::default()
            });
        }
        // Those that came while the log could not be written are counted there.
        self.summed.unchecked += u64::from(error.is_guess_over);
        self.summed.unreadable += u64::from(error.close == Close::Malformed);
    }

    /// Notes what has happened to a player.
    pub(super) fn audit(
        &self,
        event: &'static str,
        address: impl ToString,
        player: &Player,
        reason: Option<&str>,
    ) {
        let audit = self.audit_log();
        if !audit.is_on() {
            return;
        }
        let entity = player.session.entity();
        audit.note(Entry {
            event,
            tick: Some(self.tick.0),
            address: Some(address.to_string()),
            account: player
                .join
                .identity
                .account
                .as_ref()
                .map(|account| account.as_str()),
            name: player.join.identity.name.as_deref(),
            client: player.session.client().map(|client| client.0),
            entity: entity.map(|entity| [entity.slot.0, entity.generation]),
            reason,
            ..Entry::default()
        });
    }
}
