//! The network of a scenario between the TCP stacks of a running Linux.
//!
//! The same code runs twice. In the kernel (`hosts/linux`), a [`KernelNetwork`] carries the packets of real sockets, and a log records
//! the actions of the hosts: sends, reads and RTT samples. Afterwards the log is replayed through the same network to create the record.
//! The simulator's code therefore computes every average, wait and trace of a link.
//!
//! ```text
//!   scenario -> plan -> Wiring -- TOML --> kernel: KernelNetwork <-> sockets
//!                          |                  |
//!                          |                  v
//!                          |                 log of Entry
//!                          v                  |
//!                    KernelNetwork <- replay -+-> record
//! ```
//!
//! ```
//! use sojourn_linux::{Fate, Flow, KernelNetwork, Packet, Time, Wiring};
//! use sojourn_spec::{link::Link, queue::Queue};
//! use sojourn_traffic::{Traffic, kinds::bulk};
//! use sojourn_units::{Duration, Rate};
//!
//! // Two hosts: 12 Mbit/s there, a pure delay back.
//! let delay = Duration::from_millis(10);
//! let there = Link { name: "there".into(), rate: Rate::from_bps(12_000_000), delay, queue: Some(Queue::default().into()), ..Link::default() };
//! let back = Link { name: "back".into(), delay, ..Link::default() };
//! let end = Time::from_secs_f64(1.0);
//! let flow = Flow {
//!     name: "upload".into(), group: 0, dscp: 0, source: 0, destination: 1, forward: vec![0], back: vec![1], start: Time::ZERO, stop: end,
//!     traffic: Traffic::Bulk(bulk::Params::default()), tcp: None,
//! };
//! let wiring = Wiring {
//!     seed: 1, warmup: Time::ZERO, duration: end, packet: 1500, hosts: 2, headers: false, links: vec![there, back], flows: vec![flow],
//!     traces: Vec::new(), classes: Vec::new(),
//! };
//!
//! // The kernel reads the wiring as text. No queue of this network is one of the kernel's own.
//! let read = Wiring::from_toml(&wiring.to_toml().unwrap()).unwrap();
//! let mut network = KernelNetwork::new(&read, &mut |_| Err("expected no kernel queue".to_string())).unwrap();
//! network.send(Time::ZERO, Packet { handle: 7, flow: 0, size: 1500, payload: 1448, ..Packet::default() });
//! network.advance(Time::ZERO + delay * 2);
//!
//! // 1500 B take 1 ms at 12 Mbit/s, and then 10 ms to the other host.
//! let settled = network.settled().unwrap();
//! assert_eq!((settled.at.as_millis(), settled.packet.handle, settled.fate), (11, 7, Fate::Delivered));
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
pub use source::{Source, Written};
pub use wiring::{ClassRules, Flow, Tcp, Wiring, WrittenTrace};
