//! `DropTail`: a FIFO that drops packets that arrive at a full queue.
//! The queue itself has the limit, so the algorithm decides nothing.

use crate::{Aqm, ArrivalVerdict, Backlog, Link, PacketView, ParamError};
use sojourn_units::Stream;

/// No parameters: the limit belongs to the queue.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {}

impl Params {
    /// The algorithm.
    ///
    /// # Errors
    /// None.
    pub fn build(&self, _link: &Link) -> Result<DropTail, ParamError> {
        Ok(DropTail)
    }
}

/// The algorithm that passes every packet.
#[derive(Clone, Debug)]
pub struct DropTail;

impl Aqm for DropTail {
    #[inline]
    fn on_enqueue(&mut self, _arrival: &PacketView, _backlog: &Backlog, _random: &mut Stream) -> ArrivalVerdict {
        ArrivalVerdict::Pass
    }
}
