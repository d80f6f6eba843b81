//! Faults.

use client_core::Close;

use super::{IDLE_MAX, Simulation, What};
use crate::disk::Faults;
use crate::gateway_process::GatewayProcess;
use crate::plan::{Comeback, Fault};

impl Simulation {
    pub(super) fn fail(&mut self, fault: Fault) {
        self.note(format!("fault: {fault:?}"));
        let now = self.clock.now();
        match fault {
            Fault::CutPlayer(player) => {
                if let Some(id) = self.players[player].connection
                    && let Some(own) = self.connections.get_mut(&id)
                {
                    own.is_cut = true;
                    self.end_at_server(id, None);
                }
            }
            Fault::StallPlayer(player, time) => {
                let connection = self.players[player].connection;
                if let Some(own) = connection.and_then(|id| self.connections.get_mut(&id)) {
                    own.up.stalled_until = now + time;
                    own.down.stalled_until = now + time;
                }
            }
            Fault::PausePlayer(player, time) => {
                // A shorter pause within another one must not overtake what has arrived.
                let until = self.players[player].paused_until.max(now + time);
                self.players[player].paused_until = until;
                // It would not find out by itself once it goes on.
                self.players[player].step_at = Some(until);
                self.plan_at(until, What::PlayerStep(player));
                if time > IDLE_MAX
                    && let Some(id) = self.players[player].connection
                {
                    self.plan_in(IDLE_MAX, What::EndUp(id, None));
                    self.plan_in(IDLE_MAX, What::EndDown(id, None));
                }
            }
            Fault::KillPlayer(player, comeback) => {
                if self.players[player].is_gone || !self.players[player].is_expected {
                    return;
                }
                if let Some(id) = self.players[player].connection.take() {
                    self.end_at_server(id, None);
                }
                self.go(player, comeback);
            }
            Fault::LeavePlayer(player, comeback) => {
                if self.players[player].is_gone || !self.players[player].is_expected {
                    return;
                }
                self.players[player].game.leave();
                if let Some(id) = self.players[player].connection.take() {
                    self.end_at_server(id, Some(Close::Bye));
                }
                self.go(player, comeback);
            }
            Fault::CutLink(gateway) => {
                let process = self.gateways[gateway].running.as_ref();
                if let Some(link) = process.and_then(GatewayProcess::link) {
                    self.cut_link(link);
                }
            }
            Fault::StallLink(gateway, time) => {
                let process = self.gateways[gateway].running.as_ref();
                let link = process.and_then(GatewayProcess::link);
                if let Some(own) = link.and_then(|link| self.links.get_mut(&link)) {
                    own.up.stalled_until = now + time;
                    own.down.stalled_until = now + time;
                }
            }
            Fault::PauseGateway(gateway, time) => self.gateways[gateway].pause(now + time),
            Fault::KillGateway(gateway, back) => self.kill_gateway(gateway, back),
            Fault::PauseHost(time) => self.host.pause(now + time),
            Fault::KillHost(death, back) => self.kill_host(death, back),
            Fault::KillHostAtChange(changes) => {
                if self.host.running.is_some() {
                    self.disk.set_faults(Faults {
                        changes_left: Some(changes),
                        ..Faults::default()
                    });
                }
            }
            Fault::StopHost(back) => self.stop_host(back),
            Fault::FailSyncs(syncs) => {
                if self.host.running.is_some() {
                    self.disk.set_faults(Faults {
                        next_syncs_fail: syncs,
                        ..Faults::default()
                    });
                }
            }
        }
    }

    pub(super) fn go(&mut self, player: usize, comeback: Comeback) {
        self.players[player].end_session();
        self.players[player].is_gone = true;
        match comeback {
            Comeback::Never => self.players[player].is_expected = false,
            Comeback::Resumes(time) => self.plan_in(time, What::PlayerBack(player, true)),
            Comeback::New(time) => self.plan_in(time, What::PlayerBack(player, false)),
        }
    }
}
