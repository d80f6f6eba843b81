//! The shards of tick hosts and gateways: clients' ends of the servers.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use accounts::authenticator::{Authenticator, Credentials, Rejection, UnixTime};
use accounts::guard::Guard;
use accounts::identity::{Account, Identity};
use accounts::shared_word::SharedWord;
use frontend::SessionWorld;
use frontend::inbox::SharedInbox;
use frontend::publication::FanOutReport;
use frontend::shard_channels::ShardSender;
use platform::audit::Audit;
use transport::handshake::{AdmissionPolicy, Capacity};
use transport::local_shard::LocalShard;
use transport::neighbours::Neighbours;
use transport::shard::{Shard, ShardWorld};

use crate::clock::Clock;

/// A shard that runs within the calls of its tick.
#[derive(Clone)]
pub struct SimulatedShard {
    shard: Arc<Mutex<LocalShard>>,
    clock: Clock,
}

impl SimulatedShard {
    /// Shard 0 of a server, and the tick's end of its channel.
    pub fn new(
        session: &Arc<SessionWorld>,
        guard: &Arc<Guard>,
        is_open: &Arc<AtomicBool>,
        inbox: &SharedInbox,
        reports: &Sender<FanOutReport>,
        clock: &Clock,
    ) -> (SimulatedShard, ShardSender) {
        let world = ShardWorld {
            admission: AdmissionPolicy {
                schema_hash: session.schema.hash(),
                guard: guard.clone(),
                is_open: is_open.clone(),
                audit: Audit::default(),
                update_url: None,
                capacity: Capacity::of_world(),
            },
            session: session.clone(),
        };
        let (neighbours, _) = Neighbours::new(1, None, None);
        let (sender, from_tick) = channel();
        let shard = Shard::new(0, Arc::new(world), inbox.clone(), neighbours);
        let shard = LocalShard::new(shard, from_tick, reports.clone(), clock.moment());
        let shard = SimulatedShard {
            shard: Arc::new(Mutex::new(shard)),
            clock: clock.clone(),
        };
        let woken = shard.clone();
        let sender = ShardSender::new(sender, move || woken.lock().take_messages());
        (shard, sender)
    }

    /// The shard, at the present time.
    pub fn lock(&self) -> MutexGuard<'_, LocalShard> {
        // A panic ends the simulation.
        let mut shard = self.shard.lock().unwrap_or_else(PoisonError::into_inner);
        shard.set_now(self.clock.moment());
        shard
    }
}

/// A guard that admits everybody; with accounts by their names, or without any.
pub fn open_guard(has_accounts: bool) -> Arc<Guard> {
    let authenticator: Arc<dyn Authenticator> = match has_accounts {
        true => Arc::new(ByName),
        false => Arc::new(SharedWord::new("")),
    };
    Arc::new(Guard::new(authenticator, u32::MAX))
}

/// Who says a name has the account of this name.
struct ByName;

impl Authenticator for ByName {
    fn authenticate(
        &self,
        credentials: &Credentials<'_>,
        _: UnixTime,
    ) -> Result<Identity, Rejection> {
        let name = credentials.name()?;
        let account = name.as_deref().map(Account::new).transpose()?;
        Ok(Identity { account, name })
    }

    fn description(&self) -> String {
        "accounts by what anybody says".to_owned()
    }
}
