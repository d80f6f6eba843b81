//! `myriad serve --pair`: two servers with the same options, of which the lease makes one the
//! primary, and the other its standby.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use durability::checkpoint;
use durability::disk::Folder;
use durability::epoch::Epoch;
use durability::folder::DataFolder;
use durability::role::{Role, Standing};
use host::following::Follow;
use host::{Begin, Server, ServerOptions};
use program::signals::Endings;
use standby::lease::etcd::Known;
use standby::lease::renewal::{Contender, LeaseOptions};
use tracing::{info, warn};

use super::follow::{PairOptions, follow_until_promoted};
use super::lease::{address_of, holder};

/// What a server of a pair does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Be the primary, in this epoch.
    Lead(Epoch),
    /// Be the primary with the world of a standby, which has all ticks that clients were sent.
    TakeOver,
    /// Follow the primary at this address.
    Follow(String),
    Wait(String),
}

/// What a folder holds.
#[derive(Clone, Copy, Debug)]
pub struct Holds {
    pub standing: Standing,
    pub has_world: bool,
    /// A new world may begin there.
    pub begins: bool,
}

/// Decides by the keys at etcd and the folder. `own` is this server's id and its address for
/// followers.
pub fn decide(known: &Known, holds: Holds, own: (&str, &str), is_required: bool) -> Step {
    let (id, at) = own;
    if let Some(holder) = &known.holder {
        return match address_of(holder) {
            address if address == at => {
                Step::Wait("the lease of this server's last process has not ended yet".to_owned())
            }
            address => Step::Follow(address.to_owned()),
        };
    }
    if let Some(alone) = known.alone.as_ref().filter(|alone| *alone != id) {
        return Step::Wait(format!(
            "the server {alone} has run without a standby, so it alone has all ticks that clients \
             were sent: start it, or use `myriad promote --offline` on this folder and remove the \
             key of the lease that ends with /alone"
        ));
    }
    let Standing { role, epoch } = holds.standing;
    if !holds.has_world {
        return match (holds.begins, known.epoch) {
            (true, None) => Step::Lead(Epoch(1)),
            (true, Some(_)) => Step::Wait("another server has run this world".to_owned()),
            (false, _) => Step::Wait(
                "the folder holds no world, and no server has the lease: a new world begins with \
                 `myriad init` in one of the two folders"
                    .to_owned(),
            ),
        };
    }
    match role {
        Role::Primary => match epoch.restarted() {
            Ok(next) if known.epoch.is_none_or(|known| known < next) => Step::Lead(next),
            Ok(_) => Step::Wait(format!(
                "another server has run this world, in epoch {}",
                known.epoch.unwrap_or_default()
            )),
            Err(error) => Step::Wait(format!("{error:#}")),
        },
        // Its primary would have noted that it was alone.
        Role::Standby if is_required && known.epoch == Some(epoch) => Step::TakeOver,
        Role::Standby => Step::Wait(
            "this folder is a standby's that may lack ticks, and its primary is gone: start that, or \
             use `myriad promote --offline`"
                .to_owned(),
        ),
        Role::Deposed => Step::Wait("this server was deposed, and there is no primary".to_owned()),
    }
}

/// Runs a server of a pair until it is the primary, and returns that with the signals from then
/// on; `None`: it was stopped.
pub fn run(
    options: ServerOptions,
    pair: &PairOptions,
    run_time: Option<Duration>,
) -> Result<Option<(Server, Endings)>> {
    let data = options.data.as_ref().context("a pair needs a folder")?;
    let path = data.folder.clone();
    let begins = data.begin != Begin::Continue;
    let lease = options.lease.clone().context("a pair needs a lease")?;
    let lease = LeaseOptions {
        id: DataFolder::open(&path)?.server_id()?,
        holder: holder(&pair.followers_at),
        ..lease
    };
    let options = ServerOptions {
        lease: Some(lease.clone()),
        ..options
    };
    let standby = options.standby.as_ref();
    let is_required = standby.is_some_and(|standby| standby.feed.is_required);
    let end = run_time.map(|run_time| Instant::now() + run_time);
    let mut logged = String::new();
    loop {
        if end.is_some_and(|end| Instant::now() >= end) {
            return Ok(None);
        }
        let known = match Contender::new(lease.clone())?.known() {
            Ok(known) => known,
            Err(error) => {
                warn!("the lease can't be read: {error:#}");
                std::thread::sleep(WAIT);
                continue;
            }
        };
        let holds = Holds {
            standing: Standing::read(&path)?,
            has_world: !checkpoint::ticks(&Folder::new(&path))?.is_empty(),
            begins,
        };
        let own = (&*lease.id, &*pair.followers_at);
        let taken = match decide(&known, holds, own, is_required) {
            Step::Follow(primary) => {
                let follow = Follow {
                    primary,
                    key: pair.key.clone(),
                    clients_at: pair.clients_at.clone(),
                    // The lease has ended it.
                    notifies: false,
                };
                return follow_until_promoted(options, follow, run_time);
            }
            Step::Wait(reason) => {
                if reason != logged {
                    info!(reason, "waiting for the lease");
                    logged = reason;
                }
                std::thread::sleep(WAIT);
                continue;
            }
            Step::Lead(epoch) => Contender::new(lease.clone())?.take(epoch),
            Step::TakeOver => take_over(&path, &lease),
        };
        match taken {
            Ok(taken) => {
                let server = Server::start_with(options, Some(taken))?;
                return Ok(Some((server, Endings::new())));
            }
            // The other one was first.
            Err(error) => {
                warn!("the lease was not acquired: {error:#}");
                std::thread::sleep(WAIT);
            }
        }
    }
}

/// Takes the lease for the folder of a standby, which becomes a primary's.
fn take_over(path: &Path, lease: &LeaseOptions) -> Result<standby::lease::renewal::HeldLease> {
    let taken = Contender::new(lease.clone())?.succeed(false)?;
    let standing = Standing {
        role: Role::Primary,
        epoch: taken.epoch,
    };
    standing.write(path)?;
    Ok(taken)
}

/// Between two looks.
const WAIT: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: (&str, &str) = ("a1", "one:4500");

    fn known(holder: Option<&str>, epoch: Option<u32>, alone: Option<&str>) -> Known {
        Known {
            holder: holder.map(|at| format!("{at}, process 7")),
            epoch: epoch.map(Epoch),
            alone: alone.map(str::to_owned),
            ..Known::default()
        }
    }

    fn holds(role: Role, epoch: u32) -> Holds {
        Holds {
            standing: Standing {
                role,
                epoch: Epoch(epoch),
            },
            has_world: true,
            begins: false,
        }
    }

    fn is_wait(step: &Step) -> bool {
        matches!(step, Step::Wait(_))
    }

    #[test]
    fn a_server_follows_the_one_that_has_the_lease() {
        let held = known(Some("two:4500"), Some(3), None);
        let follow = Step::Follow("two:4500".to_owned());
        for role in [Role::Primary, Role::Standby, Role::Deposed] {
            assert_eq!(decide(&held, holds(role, 3), OWN, true), follow);
        }
        let own = known(Some("one:4500"), Some(3), None);
        assert!(is_wait(&decide(&own, holds(Role::Primary, 3), OWN, true)));
    }

    #[test]
    fn a_server_leads_only_with_all_ticks_that_clients_were_sent() {
        let step = |alone, holds: Holds, is_required| {
            decide(&known(None, Some(5), alone), holds, OWN, is_required)
        };
        let (primary, standby) = (holds(Role::Primary, 5), holds(Role::Standby, 5));
        assert_eq!(step(None, primary, true), Step::Lead(Epoch(6)));
        assert_eq!(step(Some("a1"), primary, true), Step::Lead(Epoch(6)));
        assert!(is_wait(&step(Some("b2"), primary, true)));
        assert!(is_wait(&step(None, holds(Role::Primary, 4), true)));
        assert_eq!(step(None, standby, true), Step::TakeOver);
        assert!(is_wait(&step(Some("b2"), standby, true)));
        assert!(is_wait(&step(None, standby, false)));
        // It followed an earlier primary.
        assert!(is_wait(&step(None, holds(Role::Standby, 4), true)));
        assert!(is_wait(&step(None, holds(Role::Deposed, 5), true)));
    }

    #[test]
    fn a_world_begins_once() {
        let empty = |begins| Holds {
            has_world: false,
            begins,
            ..holds(Role::Primary, 0)
        };
        let new = known(None, None, None);
        assert_eq!(decide(&new, empty(true), OWN, true), Step::Lead(Epoch(1)));
        assert!(is_wait(&decide(&new, empty(false), OWN, true)));
        assert!(is_wait(&decide(
            &known(None, Some(2), None),
            empty(true),
            OWN,
            true
        )));
    }
}
