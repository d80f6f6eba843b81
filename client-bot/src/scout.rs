//! Finds out at which of a server's addresses it answers, for programs whose many connections all
//! go there.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use quic::Addresses;
use quic::proto::{ConnectionError, Incoming};
use quic::race::Race;
use quic::{Application, Endpoint, Event, Handle, Link, Load, Open, Turns};
use shared::wire::control::Close;

use crate::connect::{ClientError, Trust, client_config, ended};
use crate::game_client::Sockets;

/// The address that completes a handshake first. A single one is not tried. Where none answers
/// in time, it is the first: a server may be about to start.
pub fn reach(addresses: &Addresses, name: &str, trust: &Trust) -> Result<SocketAddr, ClientError> {
    let first = addresses.first();
    if addresses.iter().nth(1).is_none() {
        return Ok(first);
    }
    let config = client_config(trust, Turns::default())?;
    let mut endpoint = Endpoint::new(vec![], None).map_err(ClientError::Socket)?;
    let (mut sockets, mut scout) = (Sockets::default(), Scout::default());
    let (begun, mut number) = (Instant::now(), 0);
    let mut race = Race::new(addresses, begun);
    loop {
        let now = Instant::now();
        while let Some(address) = race.begin(now) {
            number += 1;
            let errors = endpoint.counts().send_errors;
            let socket = sockets.towards(address, &mut endpoint);
            let connecting = socket.map_err(ClientError::Socket).and_then(|socket| {
                let config = config.clone();
                Ok(endpoint.connect(config, address, name, socket, number, now)?)
            });
            endpoint.flush();
            match connecting {
                // There is no route to the address, as far as the system knows.
                Ok(_) if endpoint.counts().send_errors > errors => race.hurry(now),
                Ok(_) => {}
                Err(error) => scout.failures.push(error),
            }
        }
        let until = race.next_due().unwrap_or(now + LOOK_PERIOD);
        let until = until.min(now + LOOK_PERIOD);
        endpoint.wait(until).map_err(ClientError::Socket)?;
        endpoint.receive(&mut scout, PACKETS_MAX);
        endpoint.upkeep(&mut scout);
        endpoint.flush();
        if let Some(reached) = scout.reached {
            close(&mut endpoint, &mut scout);
            return Ok(reached);
        }
        for error in scout.failures.drain(..) {
            if !race.fail(Instant::now()) {
                return Err(error);
            }
        }
        if begun.elapsed() >= PATIENCE {
            close(&mut endpoint, &mut scout);
            return Ok(first);
        }
    }
}

fn close(endpoint: &mut Endpoint<u32>, scout: &mut Scout) {
    for handle in endpoint.handles() {
        endpoint.visit(handle, scout, Instant::now(), |_, link, _| {
            link.close(Close::Bye.code(), "only looking");
        });
    }
    endpoint.flush();
}

#[derive(Default)]
struct Scout {
    reached: Option<SocketAddr>,
    failures: Vec<ClientError>,
}

impl Application for Scout {
    type Session = u32;

    fn open(&mut self, _: &Incoming, _: Load, _: Instant) -> Open<u32> {
        Open::Ignore
    }

    fn event(&mut self, event: Event, link: &mut Link<'_>, _: &mut u32) {
        if event == Event::Connected && self.reached.is_none() {
            self.reached = Some(link.remote_address());
        }
    }

    fn settled(&mut self, _: &mut Link<'_>, _: &mut u32) {}

    fn closed(&mut self, _: Handle, _: u32, reason: ConnectionError) {
        self.failures.push(ended(reason));
    }
}

const LOOK_PERIOD: Duration = Duration::from_millis(10);
const PACKETS_MAX: usize = 64;
const PATIENCE: Duration = Duration::from_secs(5);
