//! What an impairment is asked.

use sojourn_units::{ParamError, Stream, Time};

/// A packet that meets an impairment.
#[derive(Clone, Copy, Debug)]
pub struct Transit {
    /// When.
    pub now: Time,
    /// Its size on the wire in bytes.
    pub size: u32,
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Effect {
    /// Nothing: it goes on.
    Pass,
    /// It is lost.
    Drop,
}

/// The running state of an impairment.
pub trait Impairment {
    /// What becomes of this packet.
    fn on_packet(&mut self, packet: &Transit, random: &mut Stream) -> Effect;
}

/// The parameters of an impairment.
pub trait Params {
    /// The state machine that they describe.
    type Impairment: Impairment;

    /// Parameters for a listing and for tests over all kinds.
    fn example() -> Self;

    /// Whether every parameter is in its range.
    ///
    /// # Errors
    /// The first parameter that is not.
    fn check(&self) -> Result<(), ParamError>;

    /// The state machine at its start. The parameters are in their ranges.
    fn start(&self) -> Self::Impairment;
}
