//! The network of a scenario between the TCP stacks of a running Linux.
//!
//! The same code runs twice. Inside the kernel (`hosts/linux`), [`KernelNetwork`] carries the packets of real sockets, and a log records
//! the actions of hosts: sends, reads, RTT samples. Afterwards the log is replayed through the same network to create the record, so every
//! average, wait and trace of a link is computed by the simulator's code.
//!
//! ```text
//!   scenario -> plan -> Wiring -- TOML --> kernel: KernelNetwork <-> sockets
//!                          |                  |
//!                          |                  v
//!                          |                 log of Entry
//!                          v                  |
//!                    KernelNetwork <- replay -+-> record
//! ```
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod controllers;
mod discipline;
mod groups;
mod guest;
mod header;
mod log;
mod network;
mod packet;
mod script;
mod source;
mod wiring;

pub use controllers::{Connection, KernelAck, KernelController, KernelNeeds, Windows};
pub use discipline::{Discipline, Task};
pub use guest::{Guest, GuestFlow};
pub use header::{Header, HeaderReader};
pub use log::{ENTRY_BYTES, Entry, Logged};
pub use network::{CopyPacket, Fate, KernelNetwork, LinkAction, LinkEvent, MakeQueue, QueueOrder, Settled};
pub use packet::{Packet, flag};
pub use script::Script;
pub use sojourn_aqm::{Dequeued, DropReason, HostPacket, HostQueue, Lost};
pub use sojourn_units::Time;
pub use source::Written;
pub use wiring::{ClassRules, Flow, Tcp, Wiring, WrittenTrace};
