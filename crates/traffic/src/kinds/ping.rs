//! Periodic packets that the receiver returns, for RTT samples without TCP.

use crate::{FlowModel, ParamError, Write};
use sojourn_units::{Bytes, Duration, Stream, range};

/// Parameters of a ping.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Ping"))]
pub struct Params {
    /// Time between packets, above zero; default "200 ms".
    pub every: Duration,
    /// Size of a packet on the wire in both directions, 1 B to 65535 B; default "64 B".
    pub size: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Params { every: Duration::from_millis(200), size: Bytes(64) }
    }
}

impl crate::Params for Params {
    type Model = Ping;

    fn example() -> Self {
        Params::default()
    }

    fn largest_packet(&self) -> Option<Bytes> {
        Some(self.size)
    }

    fn check(&self) -> Result<(), ParamError> {
        range::packet_size("size", self.size)?;
        range::positive_time("every", self.every)
    }

    fn model(&self) -> Ping {
        Ping { size: self.size.0, every: self.every }
    }

    fn echoes(&self) -> bool {
        true
    }
}

/// The state of a ping.
#[derive(Clone, Debug)]
pub struct Ping {
    size: u64,
    every: Duration,
}

impl FlowModel for Ping {
    #[inline]
    fn write(&mut self, _random: &mut Stream) -> Write {
        Write { bytes: Some(self.size), last: false, next: Some(self.every) }
    }
}
