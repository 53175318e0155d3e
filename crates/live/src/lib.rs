//! Real packets through the simulator's links and queues, in wall-clock time.
//!
//! A [`Router`] is the network of a planned scenario between hosts that send real IP packets. It has no I/O: its caller passes the bytes of
//! each packet with the time of its arrival, and receives the bytes of each packet that leaves the network. The router parses headers,
//! assigns packets to the scenario's flows, sets ECN marks, and follows TCP connections for the record.
//! On Linux, [`Ports`] connects a router with file descriptors such as those of TUN devices.
//!
//! ```text
//!   TUN of host a --> Ports --> Router --> network of the scenario --> Router --> Ports --> TUN of host b
//!                                  |
//!                                  +--> accounts --> record
//! ```

mod addresses;
mod counts;
mod lateness;
#[cfg(target_os = "linux")]
mod ports;
mod router;
mod snapshot;
mod store;
mod table;
mod tracker;
mod wire;

pub use addresses::{PREFIX_V4, PREFIX_V6, address_v4, address_v6};
pub use counts::{Completed, Counts, SenderState};
pub use lateness::Lateness;
#[cfg(target_os = "linux")]
pub use ports::{Ports, adopt};
pub use router::{Leaving, Router, Switch};
pub use snapshot::{GroupState, LinkState, Snapshot};
pub use wire::{Parsed, Transport, parse, set_ce};
