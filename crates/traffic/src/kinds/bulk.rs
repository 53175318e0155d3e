//! Bulk data, available at the start. TCP sends it as fast as its windows allow.

use crate::{FlowModel, ParamError, Transport, Write};
use sojourn_units::{Bytes, Stream, range};

/// Parameters of a bulk transfer.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields, default))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Bulk"))]
pub struct Params {
    /// Bytes to send, 1 B to 1000000 GB, after which the connection closes; default: unlimited.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub size: Option<Bytes>,
}

impl crate::Params for Params {
    type Model = Bulk;

    fn example() -> Self {
        Params::default()
    }

    fn check(&self) -> Result<(), ParamError> {
        self.size.map_or(Ok(()), |size| range::transfer_size("size", size))
    }

    fn model(&self) -> Bulk {
        Bulk { size: self.size.map(|size| size.0) }
    }

    fn transport(&self) -> Transport {
        Transport::Tcp
    }

    fn segments_at_once(&self, mss: u32) -> f64 {
        self.size.map_or(f64::INFINITY, |size| size.0 as f64 / f64::from(mss))
    }

    fn is_finite(&self) -> bool {
        self.size.is_some()
    }
}

/// The state of a bulk transfer.
#[derive(Clone, Default, Debug)]
pub struct Bulk {
    /// The size in bytes; `None` is endless.
    pub(crate) size: Option<u64>,
}

impl Bulk {
    /// One write of all data.
    pub(crate) fn all(&self) -> Write {
        Write { bytes: self.size, last: self.size.is_some(), next: None }
    }
}

impl FlowModel for Bulk {
    #[inline]
    fn write(&mut self, _random: &mut Stream) -> Write {
        self.all()
    }
}
