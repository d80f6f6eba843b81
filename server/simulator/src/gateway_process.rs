//! A gateway: its loop, and a shard with its clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::Result;
use device::cpu::Workers;
use frontend::SessionWorld;
use frontend::inbox::SharedInbox;
use frontend::servers::OtherServers;
use frontend::shard_channels::ShardChannels;
use frontend::wire::MESSAGE_BYTES_MAX;
use gateway::gateway_loop::{FirstWorld, GatewayLoop, Parts};
use gateway::host_link::{FromHost, Outgoing};
use gateway::message::{Hello, ToGateway, ToHost, VERSION};
use peer::frames::FrameReader;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::clock::Clock;
use crate::shards::{SimulatedShard, open_guard};
use crate::tick_host::LinkId;

/// A running gateway.
pub struct GatewayProcess {
    number: usize,
    clock: Clock,
    /// None before it has a world.
    serving: Option<Serving>,
    link: Option<GatewayEnd>,
}

struct Serving {
    gateway: GatewayLoop,
    shard: SimulatedShard,
    is_open: Arc<AtomicBool>,
}

/// The gateway's end of a link.
struct GatewayEnd {
    id: LinkId,
    reader: FrameReader,
    outgoing: Outgoing,
    messages: UnboundedReceiver<Vec<u8>>,
    has_world: bool,
}

impl GatewayProcess {
    pub fn new(number: usize, clock: &Clock) -> GatewayProcess {
        GatewayProcess {
            number,
            clock: clock.clone(),
            serving: None,
            link: None,
        }
    }

    /// The shard with its clients; `None`: its port is not open yet.
    pub fn shard(&self) -> Option<&SimulatedShard> {
        self.serving.as_ref().map(|serving| &serving.shard)
    }

    /// Whether it admits clients.
    pub fn is_open(&self) -> bool {
        let serving = self.serving.as_ref();
        serving.is_some_and(|serving| serving.is_open.load(Ordering::Relaxed))
    }

    /// The connection to the tick host, if there is one.
    pub fn link(&self) -> Option<LinkId> {
        self.link.as_ref().map(|link| link.id)
    }

    /// A connection to the tick host is open. Returns the first bytes for it.
    pub fn open_link(&mut self, id: LinkId) -> Vec<u8> {
        let (outgoing, messages) = Outgoing::channel();
        self.link = Some(GatewayEnd {
            id,
            reader: FrameReader::new(MESSAGE_BYTES_MAX),
            outgoing,
            messages,
            has_world: false,
        });
        let hello = ToHost::Hello(Hello {
            version: VERSION,
            clients_at: address_of(self.number),
            page_at: String::new(),
            name: format!("gateway {}", self.number),
        });
        hello.encode()
    }

    /// The connection to the tick host has ended.
    pub fn close_link(&mut self, id: LinkId) -> Result<()> {
        let Some(link) = self.link.take_if(|link| link.id == id) else {
            return Ok(());
        };
        match (&mut self.serving, link.has_world) {
            (Some(serving), true) => serving.gateway.take(FromHost::Lost),
            _ => Ok(()),
        }
    }

    /// Takes bytes of the tick host, as the thread of the link does. False if the connection must
    /// end; an error ends the process.
    pub fn receive(&mut self, id: LinkId, bytes: &[u8]) -> Result<bool> {
        let Some(link) = self.link.as_mut().filter(|link| link.id == id) else {
            return Ok(true);
        };
        link.reader.push(bytes);
        loop {
            let message = match link.reader.message::<ToGateway>() {
                Ok(Some(message)) => message,
                Ok(None) => return Ok(true),
                Err(_) => return Ok(false),
            };
            let Ok(message) = FromHost::new(
                message,
                &link.outgoing,
                self.clock.instant(),
                Duration::ZERO,
            ) else {
                return Ok(false);
            };
            link.has_world |= matches!(message, FromHost::World(..));
            match (&mut self.serving, message) {
                (Some(serving), message) => serving.gateway.take(message)?,
                (serving @ None, FromHost::World(world, outgoing)) => {
                    let first = FirstWorld::new(*world, outgoing)?;
                    *serving = Some(Serving::new(first, &self.clock)?);
                }
                (None, _) => {}
            }
        }
    }

    /// Does what is due.
    pub fn advance(&mut self) -> Result<()> {
        match &mut self.serving {
            Some(serving) => serving.gateway.advance(self.clock.instant()),
            None => Ok(()),
        }
    }

    /// The bytes for the tick host.
    pub fn take_outgoing(&mut self) -> Vec<Vec<u8>> {
        let mut all = vec![];
        if let Some(link) = &mut self.link {
            while let Ok(bytes) = link.messages.try_recv() {
                all.push(bytes);
            }
        }
        all
    }
}

impl Serving {
    fn new(first: FirstWorld, clock: &Clock) -> Result<Serving> {
        let session = Arc::new(SessionWorld::new(&first.config));
        let is_open: Arc<AtomicBool> = Arc::default();
        let (to_loop, reports) = channel();
        let inbox = SharedInbox::default();
        let guard = open_guard(first.config.has_characters());
        let (shard, sender) =
            SimulatedShard::new(&session, &guard, &is_open, &inbox, &to_loop, clock);
        let gateway = GatewayLoop::new(Parts {
            first,
            workers: Workers::new(1)?,
            inboxes: vec![inbox],
            channels: ShardChannels::new(vec![sender], reports),
            session,
            is_open: is_open.clone(),
            gateways: OtherServers::default(),
            stop: Arc::default(),
        })?;
        Ok(Serving {
            gateway,
            shard,
            is_open,
        })
    }
}

/// Where clients reach a gateway.
pub fn address_of(gateway: usize) -> String {
    format!("gateway-{gateway}:1")
}
