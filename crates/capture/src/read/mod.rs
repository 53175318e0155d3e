//! Reads captures: pcapng and classic pcap files, and the TCP flows and datagrams in them.

mod datagrams;
mod file;
mod flows;
mod headers;
mod layers;
mod load;
mod order;
mod segments;
mod sides;
mod summary;
mod unread;

pub use datagrams::{DatagramDirection, Datagrams};
pub use file::{Damage, Format, Frame, Reader};
pub use flows::{Delivered, Direction, Flow, Samples, Waits};
pub use load::Load;
pub use order::Falls;
pub use segments::{Captured, segments};
pub use summary::{Carried, Count, Summary, summary};
pub use unread::Unread;
