//! `DropTail`: a FIFO that drops what finds it full. The limit is the queue's own, so there is nothing to decide.

use crate::{Aqm, ArrivalVerdict, Backlog, Link, PacketView, ParamError};
use sojourn_units::Stream;

/// No parameters: the queue's limit is all there is.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {}

impl Params {
    /// The algorithm; never fails.
    pub fn build(&self, _link: &Link) -> Result<DropTail, ParamError> {
        Ok(DropTail)
    }
}

/// The algorithm that lets everything through.
#[derive(Clone, Debug)]
pub struct DropTail;

impl Aqm for DropTail {
    #[inline]
    fn on_enqueue(&mut self, _arrival: &PacketView, _backlog: &Backlog, _random: &mut Stream) -> ArrivalVerdict {
        ArrivalVerdict::Pass
    }
}
