//! Link impairments, such as random loss.
//!
//! An impairment is one file in [`kinds`] with its parameters, their ranges and its state machine, and one line in the registry there. It
//! has no clock and holds no packets: it is called for each packet, draws from its own random streams, and returns the fate of the packet.
//! The network applies and counts it.
//!
//! [`trace`] contains link traces: capacity over time, measured or generated.
#![no_std]
extern crate alloc;

use alloc::string::ToString;

mod error_rate;
mod impairment;
mod impairments;
pub mod kinds;
mod spell;
mod token_bucket;
pub mod trace;
mod windowed;

pub use error_rate::{Allowance, Per};
pub use impairment::{Ack, Effect, Impairment, Params, Streams, TcpOption, Transit};
pub use impairments::{Impairments, Started};
pub use kinds::{AnyImpairment, Entry, ImpairmentKind, REGISTRY};
pub use sojourn_units::ParamError;
pub use spell::Spell;
pub use trace::LinkTrace;
pub use windowed::Windowed;

use sojourn_units::{Duration, Time, range};

/// An impairment of a scenario: its kind with parameters, its place, and its active time.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ImpairmentConfig {
    /// Its kind and the parameters.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub kind: ImpairmentKind,
    /// Its place on the link.
    pub place: Place,
    /// The start of its active time, since the start of the run.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    pub from: Duration,
    /// The end of its active time; `None`: the end of the run.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub until: Option<Duration>,
}

#[cfg(feature = "serde")]
fn is_zero(time: &Duration) -> bool {
    *time == Duration::ZERO
}

impl ImpairmentConfig {
    /// Whether every parameter is in its range.
    ///
    /// # Errors
    /// The first parameter that is not.
    pub fn check(&self) -> Result<(), ParamError> {
        self.kind.check()?;
        range::time("from", self.from)?;
        let Some(until) = self.until else { return Ok(()) };
        range::time("until", until)?;
        ParamError::unless(until > self.from, "until", &until, format_args!("a time after `from` ({})", self.from).to_string())
    }

    /// See [`Params::takes_time`]; an impairment that is active for a part of the run leaves times without a delay.
    pub fn takes_time(&self) -> bool {
        self.kind.takes_time() && self.from == Duration::ZERO && self.until.is_none()
    }

    /// The state machine at its start. The parameters are in their ranges.
    pub fn start(&self, streams: &Streams) -> Windowed {
        let until = self.until.map_or(Time::NEVER, |until| Time::ZERO + until);
        Windowed::new(self.kind.start(streams), Time::ZERO + self.from, until)
    }
}

/// The place of an impairment.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Place {
    /// On arrival at the link: lost packets use no buffer and no transmission time.
    BeforeQueue,
    /// At the end of the link: lost packets have used both.
    #[default]
    AfterQueue,
}

impl<K: Into<ImpairmentKind>> From<K> for ImpairmentConfig {
    fn from(kind: K) -> Self {
        ImpairmentConfig { kind: kind.into(), place: Place::default(), from: Duration::ZERO, until: None }
    }
}
