//! Gateways, and their links to the tick host.

use super::{Checked, Link, Simulation, Way, What};
use crate::clock::{MILLISECOND, Micros, SECOND};
use crate::dice::index;
use crate::gateway_process::GatewayProcess;
use crate::tick_host::LinkId;

impl Simulation {
    pub(super) fn start_gateway(&mut self, gateway: usize) {
        let process = &mut self.gateways[gateway];
        if process.running.is_some() {
            return;
        }
        process.starts += 1;
        process.running = Some(GatewayProcess::new(gateway, &self.clock));
        let start = process.starts;
        self.note(format!("gateway {gateway} starts"));
        self.plan_in(MILLISECOND, What::ConnectGateway(gateway, start));
        self.plan_in(MILLISECOND, What::GatewayStep(gateway, start));
    }

    pub(super) fn step_gateway(&mut self, gateway: usize, start: u64) -> Checked {
        if self.gateways[gateway].starts != start {
            return Ok(());
        }
        self.advance_gateway(gateway)?;
        // As long as a busy process may take.
        let next = 2 * MILLISECOND + self.dice.below(60 * MILLISECOND);
        self.plan_in(next, What::GatewayStep(gateway, start));
        Ok(())
    }

    pub(super) fn advance_gateway(&mut self, gateway: usize) -> Checked {
        let Some(process) = &mut self.gateways[gateway].running else {
            return Ok(());
        };
        let advanced = process.advance();
        advanced.map_err(|error| format!("gateway {gateway} has failed: {error:#}"))?;
        let shard = process.shard().cloned();
        let (link, outgoing) = (process.link(), process.take_outgoing());
        if let Some(link) = link {
            for bytes in outgoing {
                self.send_up_link(link, bytes);
            }
        }
        if let Some(shard) = shard {
            self.flush_shard(&shard);
        }
        Ok(())
    }

    pub(super) fn connect_gateway(&mut self, gateway: usize, start: u64) {
        let process = &mut self.gateways[gateway];
        if process.starts != start || process.running.is_none() {
            return;
        }
        self.numbers += 1;
        let link = self.numbers;
        self.links.insert(
            link,
            Link {
                gateway,
                gateway_start: start,
                host_start: 0,
                up: Way::default(),
                down: Way::default(),
            },
        );
        if let Some(process) = &mut self.gateways[gateway].running {
            let hello = process.open_link(link);
            let at = self.clock.now() + LINK_DELAY;
            if let Some(link) = self.links.get_mut(&link) {
                link.up.last = at;
            }
            self.plan_at(at, What::OpenLink(link));
            self.send_up_link(link, hello);
        }
    }

    pub(super) fn open_link(&mut self, link: LinkId) {
        let start = self.host.starts;
        match (&mut self.host.running, self.links.get_mut(&link)) {
            (Some(host), Some(own)) => {
                own.host_start = start;
                host.open_link(link);
            }
            _ => self.end_link_down(link, LINK_DELAY),
        }
    }

    pub(super) fn is_at_host(&self, link: LinkId) -> bool {
        let link = self.links.get(&link);
        link.is_some_and(|link| link.host_start == self.host.starts)
    }

    pub(super) fn receive_at_host(&mut self, link: LinkId, bytes: &[u8]) {
        if !self.is_at_host(link) {
            return;
        }
        self.digest(link, bytes);
        let Some(host) = &mut self.host.running else {
            return;
        };
        if let Err(last) = host.receive(link, bytes) {
            host.close_link(link);
            if let Some(last) = last {
                self.send_down_link(link, last);
            }
            self.note(format!("the tick host ends link {link}"));
            self.end_link_down(link, 0);
        }
    }

    pub(super) fn receive_at_gateway(&mut self, link: LinkId, bytes: &[u8]) -> Checked {
        let Some((gateway, start)) = self.gateway_of(link) else {
            return Ok(());
        };
        if self.gateways[gateway].starts != start {
            return Ok(());
        }
        self.digest(link, bytes);
        let Some(process) = &mut self.gateways[gateway].running else {
            return Ok(());
        };
        let was_open = process.is_open();
        let received = process.receive(link, bytes);
        let is_open = process.is_open();
        if was_open != is_open {
            let what = if is_open {
                "has its world"
            } else {
                "has no world"
            };
            self.note(format!("gateway {gateway} {what}"));
        }
        match received {
            Ok(true) => self.advance_gateway(gateway),
            Ok(false) => {
                self.plan_in(LINK_DELAY, What::EndLinkUp(link));
                self.lose_link(link)
            }
            Err(error) => Err(format!("gateway {gateway} has failed: {error:#}")),
        }
    }

    pub(super) fn gateway_of(&self, link: LinkId) -> Option<(usize, u64)> {
        let link = self.links.get(&link)?;
        Some((link.gateway, link.gateway_start))
    }

    /// The connection to the tick host has ended for its gateway.
    pub(super) fn lose_link(&mut self, link: LinkId) -> Checked {
        let Some((gateway, start)) = self.gateway_of(link) else {
            return Ok(());
        };
        let process = &mut self.gateways[gateway];
        if process.starts != start {
            return Ok(());
        }
        let Some(process) = process.running.as_mut().filter(|p| p.link() == Some(link)) else {
            return Ok(());
        };
        let closed = process.close_link(link);
        closed.map_err(|error| format!("gateway {gateway} has failed: {error:#}"))?;
        self.note(format!("gateway {gateway} has lost link {link}"));
        self.plan_in(LINK_RETRY, What::ConnectGateway(gateway, start));
        Ok(())
    }

    pub(super) fn end_link_down(&mut self, link: LinkId, delay: Micros) {
        let at = self.clock.now() + delay + LINK_DELAY;
        let last = self.links.get(&link).map_or(0, |link| link.down.last);
        self.plan_at(at.max(last), What::EndLinkDown(link));
    }

    /// Both ends notice it sooner or later, and get a part of what is on its way.
    pub(super) fn cut_link(&mut self, link: LinkId) {
        let (up, down) = (self.dice.below(3000), self.dice.below(3000));
        let Some(own) = self.links.get_mut(&link) else {
            return;
        };
        own.up.left.get_or_insert(index(up));
        own.down.left.get_or_insert(index(down));
        let (up, down) = (self.dice.below(LINK_SILENCE), self.dice.below(LINK_SILENCE));
        let last = self.links.get(&link).map_or(0, |link| link.up.last);
        let now = self.clock.now();
        self.plan_at(last.max(now + up), What::EndLinkUp(link));
        self.end_link_down(link, down);
    }

    pub(super) fn send_up_link(&mut self, link: LinkId, bytes: Vec<u8>) {
        let now = self.clock.now();
        if let Some(own) = self.links.get_mut(&link) {
            let at = own.up.send(now, LINK_DELAY);
            self.plan_at(at, What::LinkUp(link, bytes));
        }
    }

    pub(super) fn send_down_link(&mut self, link: LinkId, bytes: Vec<u8>) {
        let now = self.clock.now();
        if let Some(own) = self.links.get_mut(&link) {
            let at = own.down.send(now, LINK_DELAY);
            self.plan_at(at, What::LinkDown(link, bytes));
        }
    }

    pub(super) fn kill_gateway(&mut self, gateway: usize, back: Micros) {
        let Some(process) = self.gateways[gateway].running.take() else {
            return;
        };
        self.note(format!("gateway {gateway} dies"));
        if let Some(shard) = process.shard() {
            let ids: Vec<_> = shard.lock().connections().collect();
            for id in ids {
                self.lose_server(id, back);
            }
        }
        if let Some(link) = process.link() {
            self.cut_link(link);
        }
        self.gateways[gateway].starts += 1;
        self.plan_in(back, What::StartGateway(gateway));
    }
}

const LINK_DELAY: Micros = 300;
const LINK_RETRY: Micros = 200 * MILLISECOND;
/// Silence after which a link is lost.
const LINK_SILENCE: Micros = 3 * SECOND;
