//! Regions in the tick: what subscriptions add to a client's sight, publications, regions
//! that follow entities, limits; and which clients hear a notification.

mod hearings;
mod large;
mod named;
mod snapshots;
mod table;
