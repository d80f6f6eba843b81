//! Attacks on a server while fifty honest bots play on it. Each must leave them undisturbed:
//! everything they receive is right, none is lost, others can connect, and in the end the
//! server holds no more memory than before.
//!
//! The server is a process of its own, so its memory, its log and its end are seen as an
//! operator sees them. Latencies are printed and not asserted. `ATTACK_SCALE=20` attacks
//! twenty times as much.
//!
//! | module | attacks |
//! | --- | --- |
//! | `admission` | before the hello: half-open handshakes, silent ones, garbage, replays |
//! | `hellos` | with hellos: come and go, tokens, tickets |
//! | `datagrams` | with datagrams of a client that is in |
//! | `streams` | with its stream: requests, resets, silence |
//! | `page` | the port of the metrics |
//! | `web` | the port of the page and the dashboard |
//! | `figures` | what some attacks cost, printed |
//! | `field` | the server, the bots, and what must hold after an attack |
//! | `attacker` | connections that end, break off or lie as they like |

mod admission;
mod attacker;
mod datagrams;
mod field;
mod figures;
mod hellos;
mod page;
mod streams;
mod web;
