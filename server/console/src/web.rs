//! What browsers get: the page to play, and the dashboard.
//!
//! | module | holds |
//! | --- | --- |
//! | [`page`] | the files of the page to play, and where its connection goes |
//! | [`root`] | the files of a page of one's own |
//! | [`dashboard`] | the server's health, its world and its clients, for operators |
//! | [`site`] | both at one address |
//! | [`replay`] | a recording, to look at tick by tick |

pub mod dashboard;
pub mod page;
pub mod replay;
pub mod root;
pub mod site;
