//! Handles requests of operators, and logs them.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use accounts::bans::{BAN_SECONDS_MAX, Banned};
use accounts::guard::{BanError, Guard};
use accounts::identity::Account;
use accounts::moment::Moment;
use frontend::inbox::SessionKey;
use frontend::publication::LinkFigures;
use platform::audit::{Audit, Entry};
use platform::metrics;
use shared::{ClientRow, Fixed, Name, Text};
use tick::operator::{self, ClientFilter, ClientRef, OperatorRequest};
use tracing::info;

use super::port::Handler;
use super::request::{Client, Link, ListedClient, Request, Response};

impl Handler for Desk {
    fn answer(&self, request: &Request, by: &str) -> Response {
        Desk::answer(self, request, by)
    }
}

/// An operator's way into the server.
#[derive(Clone)]
pub struct Desk {
    to_tick: Sender<OperatorRequest>,
    guard: Arc<Guard>,
    stats: Arc<metrics::stats::Stats>,
    audit: Audit,
}

impl Desk {
    pub fn new(
        to_tick: Sender<OperatorRequest>,
        guard: Arc<Guard>,
        stats: Arc<metrics::stats::Stats>,
        audit: Audit,
    ) -> Desk {
        Desk {
            to_tick,
            guard,
            stats,
            audit,
        }
    }

    /// Handles a request. `by` names its sender, for the log.
    pub fn answer(&self, request: &Request, by: &str) -> Response {
        let answer = self.act(request).unwrap_or_else(Response::Error);
        let is_read_only = matches!(request, Request::List | Request::Bans | Request::Stats);
        let result = match &answer {
            Response::Error(reason) => format!("failed: {reason}"),
            Response::Done { clients } => format!("{clients} clients"),
            _ => "answered".to_owned(),
        };
        note(&self.audit, by, request, &result);
        if !is_read_only {
            info!(target: "audit", by, ?request, %result, "the operator has acted");
        } else {
            info!(target: "audit", by, ?request, "the operator has looked");
        }
        answer
    }

    fn act(&self, request: &Request) -> Result<Response, String> {
        Ok(match request {
            Request::List => Response::Clients(self.list(ClientFilter::All)?),
            Request::Kick { whom, reason } => {
                let clients = self.kick(vec![whom_of(whom)?], reason, false)?;
                match clients {
                    0 => return Err("there is no such client".to_owned()),
                    clients => Response::Done { clients },
                }
            }
            Request::Ban {
                whom,
                seconds,
                reason,
            } => self.ban(whom, *seconds, reason)?,
            Request::Unban { whom } => {
                let lifted = self.guard.unban(whom, Moment::now());
                lifted.map_err(|error| error.to_string())?;
                Response::Done { clients: 0 }
            }
            Request::Bans => Response::Bans(self.guard.bans(Moment::now())),
            Request::Forget { account } => {
                let account = Account::new(account.as_str()).map_err(|error| error.to_string())?;
                match self.ask(|done| OperatorRequest::Forget { account, done })? {
                    Some(clients) => Response::Done { clients },
                    None => return Err("the account has no character here".to_owned()),
                }
            }
            Request::Tell { whom, text } => self.tell(whom.as_ref(), text)?,
            Request::Stats => Response::Stats(self.stats()),
            Request::Promote { .. } => return Err("this server is no standby".to_owned()),
        })
    }

    /// Lists clients, those that look at the desk again and again too: it is not logged.
    pub fn list(&self, filter: ClientFilter) -> Result<Vec<ListedClient>, String> {
        let (clients, links) = self.clients_and_links(filter)?;
        let listed = clients.into_iter().map(|client| ListedClient {
            number: client.client.0,
            account: client.account.map(String::from),
            name: client.name.map(String::from),
            entity: client.entity.map(|e| [e.slot.0, e.generation]),
            link: client.session.and_then(|session| {
                let figures = links.get(&session)?;
                Some(link_of(session, figures))
            }),
            sight: Fixed::from_raw(client.sight).to_f64(),
            watches: client
                .watches
                .map(|point| point.map(|raw| Fixed::from_raw(raw).to_f64())),
        });
        Ok(listed.collect())
    }

    fn clients_and_links(
        &self,
        filter: ClientFilter,
    ) -> Result<(Vec<operator::Listed>, HashMap<SessionKey, LinkFigures>), String> {
        let listing = self.ask(|done| OperatorRequest::List { filter, done })?;
        let mut links = HashMap::new();
        // A shard in the middle of a long fan-out answers when it is done.
        for _ in 0..listing.shards {
            let (shard, figures) = receive(&listing.links)?;
            let figures = figures.into_iter();
            links.extend(figures.map(|figures| ((shard, figures.session), figures)));
        }
        Ok((listing.clients, links))
    }

    fn kick(&self, clients: Vec<ClientRef>, reason: &str, is_ban: bool) -> Result<usize, String> {
        let reason = one_line(reason)?;
        self.ask(|done| OperatorRequest::Kick {
            clients,
            reason,
            is_ban,
            done,
        })
    }

    fn ban(&self, whom: &Banned, seconds: u64, reason: &str) -> Result<Response, String> {
        if !(1..=BAN_SECONDS_MAX).contains(&seconds) {
            return Err(format!(
                "expected 1 to {BAN_SECONDS_MAX} seconds, found {seconds}"
            ));
        }
        let (time, text) = (Duration::from_secs(seconds), one_line(reason)?);
        // First the ban: a kicked client must not be back before it.
        let kept = match self.guard.ban(whom.clone(), time, text, Moment::now()) {
            // The ban holds all the same.
            Err(error @ BanError::NotKept(_)) => Err(error.to_string()),
            done => Ok(done.map_err(|error| error.to_string())?),
        };
        let (clients, links) = self.clients_and_links(ClientFilter::All)?;
        let banned = clients.into_iter().filter(|client| {
            let figures = client.session.and_then(|session| links.get(&session));
            let address: Option<IpAddr> = figures.map(|figures| figures.address.ip());
            client.is(whom, address)
        });
        // All at once: each request waits for its tick, and then a row may be another's.
        let banned = banned.map(|client| ClientRef::Row(client.client)).collect();
        let clients = self.kick(banned, reason, true)?;
        kept.map(|()| Response::Done { clients })
    }

    fn tell(&self, whom: Option<&Client>, text: &str) -> Result<Response, String> {
        let text = Text::new(text).map_err(|error| error.to_string())?;
        let whom = whom.map(whom_of).transpose()?;
        let is_to_one = whom.is_some();
        match self.ask(|done| OperatorRequest::Announce {
            to: whom,
            text,
            done,
        })? {
            0 if is_to_one => Err("there is no such client, or it is not connected".to_owned()),
            clients => Ok(Response::Done { clients }),
        }
    }

    fn stats(&self) -> BTreeMap<String, u64> {
        let figures = self.stats.figures();
        let all = [
            ("clients", figures.clients),
            ("ticks", figures.ticks),
            ("ticks_late", figures.ticks_late),
            ("ticks_skipped", figures.ticks_skipped),
            ("commands_applied", figures.commands_applied),
            ("deliveries", figures.deliveries),
            ("notices", figures.notices),
            ("sessions_lost", figures.sessions_lost),
            ("malformed", figures.malformed),
            ("packets_sent", figures.packets_sent),
            ("packets_received", figures.packets_received),
            ("bans", self.guard.bans(Moment::now()).len() as u64),
        ];
        all.map(|(name, figure)| (name.to_owned(), figure)).into()
    }

    /// Sends a request to the tick thread, and waits for the answer.
    fn ask<T>(&self, request: impl FnOnce(Sender<T>) -> OperatorRequest) -> Result<T, String> {
        let (done, answer) = channel();
        let ended = |_| "the world has ended".to_owned();
        self.to_tick.send(request(done)).map_err(ended)?;
        receive(&answer)
    }
}

fn receive<T>(answer: &Receiver<T>) -> Result<T, String> {
    let received = answer.recv_timeout(ANSWER_WAIT);
    received.map_err(|_| "the world does not answer".to_owned())
}

pub fn whom_of(client: &Client) -> Result<ClientRef, String> {
    Ok(match client {
        Client::Account(account) => {
            ClientRef::Account(Account::new(account.as_str()).map_err(|error| error.to_string())?)
        }
        Client::Name(name) => {
            ClientRef::Name(Name::new(name.as_str()).map_err(|error| error.to_string())?)
        }
        Client::Number(number) => ClientRef::Row(ClientRow(*number)),
    })
}

/// A reason travels with the end of a connection.
fn one_line(reason: &str) -> Result<String, String> {
    match reason {
        "" => Ok(String::new()),
        reason => match Text::new(reason) {
            Ok(reason) => Ok(reason.into()),
            Err(error) => Err(format!("the reason: {error}")),
        },
    }
}

fn link_of((shard, _): SessionKey, figures: &LinkFigures) -> Link {
    Link {
        shard,
        address: figures.address.to_string(),
        round_trip_ms: (figures.round_trip.as_secs_f64() * 1e5).round() / 100.0,
        packets_sent: figures.packets_sent,
        packets_lost: figures.packets_lost,
        bytes_sent: figures.bytes_sent,
        bytes_received: figures.bytes_received,
        age_ticks: figures.view.age_ticks,
        in_view: figures.view.in_view,
        waiting: figures.view.waiting,
        bytes_unsent: figures.bytes_unsent,
    }
}

const ANSWER_WAIT: Duration = Duration::from_secs(5);

/// Notes a request of an operator, and what came of it.
pub fn note(audit: &Audit, by: &str, request: &Request, result: &str) {
    audit.note(Entry {
        event: "admin",
        by: Some(by),
        // Nothing in it can fail.
        request: serde_json::to_value(request).ok(),
        result: Some(result),
        ..Entry::default()
    });
}

#[cfg(test)]
mod tests {
    use accounts::shared_word::SharedWord;
    use frontend::publication::ViewStatus;
    use tick::operator::Listing;

    use super::*;

    #[test]
    fn a_ban_throws_out_all_clients_of_a_network_by_one_request() {
        let (to_tick, requests) = channel();
        let guard = Guard::new(Arc::new(SharedWord::new("")), u32::MAX);
        let desk = Desk::new(to_tick, Arc::new(guard), Arc::default(), Audit::default());
        let world = std::thread::spawn(move || {
            let mut kicked = vec![];
            for request in requests {
                match request {
                    OperatorRequest::List { done, .. } => done.send(listing()).unwrap(),
                    OperatorRequest::Kick { clients, done, .. } => {
                        done.send(clients.len()).unwrap();
                        kicked.push(clients);
                    }
                    OperatorRequest::Announce { .. } | OperatorRequest::Forget { .. } => {
                        panic!("only a ban was requested")
                    }
                }
            }
            kicked
        });
        let whom = Banned::Network("10.1.0.0/16".parse().unwrap());
        let reason = String::new();
        let seconds = 60;
        let ban = Request::Ban {
            whom,
            seconds,
            reason,
        };
        assert_eq!(desk.answer(&ban, "test"), Response::Done { clients: 3 });
        drop(desk);
        let kicked = [0, 1, 2].map(|row| ClientRef::Row(ClientRow(row)));
        assert_eq!(world.join().unwrap(), [kicked]);
    }

    /// Three clients of a network, and one of another.
    fn listing() -> operator::Listing {
        let (sender, links) = channel();
        let addresses = ["10.1.0.1:1", "10.1.0.2:1", "10.1.7.7:1", "10.2.0.1:1"];
        let figures = addresses
            .iter()
            .zip(0..)
            .map(|(address, session)| LinkFigures {
                session,
                address: address.parse().unwrap(),
                round_trip: Duration::ZERO,
                packets_sent: 0,
                packets_lost: 0,
                bytes_sent: 0,
                bytes_received: 0,
                bytes_unsent: 0,
                view: ViewStatus::default(),
            });
        let figures: Vec<LinkFigures> = figures.collect();
        let clients = figures
            .iter()
            .zip(0..)
            .map(|(figures, row)| operator::Listed {
                client: ClientRow(row),
                session: Some((0, figures.session)),
                account: None,
                name: None,
                entity: None,
                sight: 0,
                watches: None,
            });
        let clients = clients.collect();
        sender.send((0, figures)).unwrap();
        Listing {
            clients,
            links,
            shards: 1,
        }
    }
}
