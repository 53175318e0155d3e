//! Classic slow start (rfc5681#3.1): it ends with the first loss, mark or timeout.
//! Controllers run it themselves, so this state does nothing.

use super::{Phase, StartUp};
use crate::{Ack, Window};
use sojourn_units::ParamError;

/// Parameters of classic slow start: none.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {}

impl Params {
    pub(crate) fn check(&self) -> Result<(), ParamError> {
        Ok(())
    }

    pub(crate) fn start(&self, _paced: bool) -> Classic {
        Classic
    }
}

/// Classic slow start.
#[derive(Clone, Debug)]
pub struct Classic;

impl StartUp for Classic {
    fn on_ack(&mut self, _ack: &Ack, _window: &mut Window) -> Phase {
        Phase::Over
    }
}
