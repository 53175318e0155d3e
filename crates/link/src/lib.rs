//! Link impairments: what a link does to packets besides queuing them, such as random loss.
//!
//! An impairment is one file in [`kinds`] with its parameters, their ranges and its state machine, and one line in the
//! registry there. It has no clock and holds no packets: it is asked about each packet, draws from random streams of its
//! own, and answers what becomes of the packet. The network acts on the answer and counts it.
//!
//! [`trace`] has what a link can carry at each time, where that is measured or made by a program.
#![no_std]
extern crate alloc;

mod error_rate;
mod impairment;
mod impairments;
pub mod kinds;
mod spell;
mod token_bucket;
pub mod trace;

pub use error_rate::{Allowance, Per};
pub use impairment::{Ack, Effect, Impairment, Params, Streams, TcpOption, Transit};
pub use impairments::{Impairments, Started};
pub use kinds::{AnyImpairment, Entry, ImpairmentKind, REGISTRY};
pub use sojourn_units::ParamError;
pub use spell::Spell;
pub use trace::LinkTrace;

/// An impairment as a scenario gives it: its kind with parameters, and its place.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ImpairmentConfig {
    /// Its kind and the parameters.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub kind: ImpairmentKind,
    /// Where a packet meets it.
    pub place: Place,
}

/// Where a packet meets an impairment.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Place {
    /// When it arrives at the link: what is lost takes no room in the queue and no time to send.
    BeforeQueue,
    /// When it reaches the other end of the link: what is lost has taken both.
    #[default]
    AfterQueue,
}

impl<K: Into<ImpairmentKind>> From<K> for ImpairmentConfig {
    fn from(kind: K) -> Self {
        ImpairmentConfig { kind: kind.into(), place: Place::default() }
    }
}
