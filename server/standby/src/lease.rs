//! Which of two servers is the primary, decided by a third party: it holds a key as long as
//! its lease is renewed.
//!
//! | module | holds |
//! | --- | --- |
//! | [`holding`] | for how long a server may rely on its lease, without I/O and without a clock |
//! | [`alone`] | the note that a primary has no standby |
//! | [`etcd`] | the third party: etcd, by its JSON gateway |
//! | [`renewal`] | the key with the thread that renews its lease |

pub mod alone;
pub mod etcd;
pub mod holding;
pub mod renewal;
