//! Benches of the server with live clients.
//!
//! | module | measures |
//! | --- | --- |
//! | `swarm` | live clients on one machine, the server's cores and the bots' apart or shared |
//! | `gateways` | the same with the clients at gateways, in processes of their own |
//! | `deals` | transfers that are confirmed once they are on disk |
//! | `dashboards` | what open dashboards cost the tick |
//! | `networks` | what bad networks do to a player |
//! | `bots` | the bots, in a process of their own |
//! | `floor` | the same packets without QUIC, as UDP carries them at best |
//! | `cores` | which cores a thread may run on |

#[cfg(target_os = "linux")]
pub mod bots;
#[cfg(target_os = "linux")]
mod cores;
#[cfg(target_os = "linux")]
mod dashboards;
#[cfg(target_os = "linux")]
mod deals;
#[cfg(target_os = "linux")]
mod floor;
#[cfg(target_os = "linux")]
pub mod gateways;
pub mod networks;
#[cfg(target_os = "linux")]
mod swarm;

#[cfg(target_os = "linux")]
pub use dashboards::Dashboards;
#[cfg(target_os = "linux")]
pub use deals::LiveDeals;
#[cfg(target_os = "linux")]
pub use gateways::Gateways;
pub use networks::Networks;
#[cfg(target_os = "linux")]
pub use swarm::Swarm;
