//! TCP endpoints: what is lost, what is sent again and when. How much may be in flight is the controller's.

mod connection;
mod halving;
mod inflight;
pub mod params;
mod ranges;
mod receiver;
mod recovery;
mod rto;
mod sack;
pub(crate) mod sender;

pub use params::{Handshake, Recovery, RttHint, SackAlgorithm, TcpParams, WindowBasis};
pub use receiver::{Receiver, SackBlocks, SackPool};
pub use sender::{Progress, Sender, SenderStats};
