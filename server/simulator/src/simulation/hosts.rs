//! The tick host: it starts, ticks and dies.

use super::{Checked, HISTORY_TICKS, Simulation, What};
use crate::clock::{Micros, SECOND};
use crate::disk::Faults;
use crate::plan::Death;
use crate::shards::SimulatedShard;
use crate::tick_host::{LinkId, TickHost};

impl Simulation {
    pub(super) fn start_host(&mut self) -> Checked {
        if self.host.running.is_some() {
            return Ok(());
        }
        self.host.starts += 1;
        let start = self.host.starts;
        // Now and then it dies again while it starts.
        let dies = self.is_playing() && start > 1 && self.dice.one_of(6);
        let changes_left = dies.then(|| self.dice.below(12));
        self.disk.set_faults(Faults {
            changes_left,
            ..Faults::default()
        });
        let kept = (&self.disk, &self.characters);
        match TickHost::start(&self.plan, kept, &self.clock, start) {
            Ok(host) => {
                self.note(format!("the tick host starts before tick {}", host.first));
                self.check_recovered(&host)?;
                for player in &mut self.players {
                    player.lose_from(host.first);
                }
                self.outcome.starts += 1;
                self.host.running = Some(host);
                self.plan_in(self.period(), What::HostTick(start));
                Ok(())
            }
            Err(error) if dies => {
                self.note(format!("the tick host dies while it starts: {error:#}"));
                if self.dice.one_of(2) {
                    self.disk.crash();
                }
                self.plan_in(SECOND / 5, What::StartHost);
                Ok(())
            }
            Err(error) => Err(format!("the tick host can't start: {error:#}")),
        }
    }

    pub(super) fn period(&self) -> Micros {
        SECOND / Micros::from(self.plan.config.schema.world.tick_hz)
    }

    pub(super) fn tick(&mut self, start: u64) -> Checked {
        if start != self.host.starts {
            return Ok(());
        }
        let Some(host) = &mut self.host.running else {
            return Ok(());
        };
        if let Err(error) = host.tick() {
            let reason = format!("the tick host has failed: {error:#}");
            // The last fault may show a little later.
            if self.clock.now() > self.plan.play + 4 * SECOND {
                return Err(reason);
            }
            self.note(reason);
            let death = match self.dice.one_of(2) {
                true => Death::Process,
                false => Death::Machine,
            };
            self.kill_host(death, SECOND / 2);
            return Ok(());
        }
        self.outcome.ticks += 1;
        let tick = host.newest();
        Simulation::check_things(&self.plan, host)?;
        self.history.retain(|(before, _)| *before < tick);
        self.history.push_back((tick, host.world()));
        if self.history.len() > HISTORY_TICKS {
            self.history.pop_front();
        }
        self.flush_host();
        let shard = self.host.running.as_ref().map(|host| host.shard.clone());
        if let Some(shard) = shard {
            self.flush_shard(&shard);
        }
        self.plan_in(self.period(), What::HostTick(start));
        Ok(())
    }

    /// Sends what the tick host has for gateways.
    pub(super) fn flush_host(&mut self) {
        let Some(host) = &mut self.host.running else {
            return;
        };
        for (link, bytes) in host.take_outgoing() {
            match bytes {
                Some(bytes) => self.send_down_link(link, bytes),
                None => {
                    if let Some(host) = &mut self.host.running {
                        host.close_link(link);
                    }
                    self.note(format!("the tick host closes link {link}"));
                    self.end_link_down(link, 0);
                }
            }
        }
    }

    pub(super) fn kill_host(&mut self, death: Death, back: Micros) {
        let Some(host) = self.host.running.take() else {
            return;
        };
        self.note(format!("the tick host dies: {death:?}"));
        self.outcome.market_deaths += u64::from(self.plan.is_market);
        let own = host.shard.clone();
        // It does nothing more for its disk.
        self.disk.set_faults(Faults {
            changes_left: Some(0),
            ..Faults::default()
        });
        drop(host);
        if death == Death::Machine {
            self.disk.crash();
        }
        self.host_is_gone(&own, back);
    }

    pub(super) fn host_is_gone(&mut self, own: &SimulatedShard, back: Micros) {
        let ids: Vec<_> = own.lock().connections().collect();
        for id in ids {
            self.lose_server(id, back);
        }
        let links: Vec<LinkId> = self.links.keys().copied().collect();
        for link in links {
            if self.is_at_host(link) {
                self.cut_link(link);
            }
        }
        self.host.starts += 1;
        self.plan_in(back, What::StartHost);
    }

    /// As at Ctrl-C.
    pub(super) fn stop_host(&mut self, back: Micros) {
        let Some(host) = self.host.running.take() else {
            return;
        };
        let own = host.shard.clone();
        match host.stop() {
            Ok(()) => self.note("the tick host stops".to_owned()),
            Err(error) => self.note(format!("the tick host stops with an error: {error:#}")),
        }
        self.flush_shard(&own);
        self.host_is_gone(&own, back);
    }
}
