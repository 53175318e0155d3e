//! Reads captures: pcapng and classic pcap files, and the TCP flows in them.

mod file;
mod flows;
mod headers;

pub use file::{Damage, Format, Frame, Reader};
pub use flows::{Direction, Flow, Summary, summary};
