//! A step: signals every packet above a threshold of the queue or of the sojourn time.
//! Switches do so for DCTCP (rfc8257#3.1).

use crate::{Aqm, ArrivalVerdict, Backlog, DepartureVerdict, Link, Needs, PacketView, ParamError};
use sojourn_units::{Bytes, Duration, Stream};

/// The parameters of the step.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Threshold in packets, default 20; 0 disables it (rfc8257#3.1 K).
    pub packets: u32,
    /// Threshold in bytes; `"0 B"` (the default) disables it.
    pub bytes: Bytes,
    /// Threshold of the sojourn time, checked on dequeue; `"0 s"` (the default) disables it.
    pub time: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Params { packets: 20, bytes: Bytes(0), time: Duration::ZERO }
    }
}

impl Params {
    /// The step with these parameters.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, _link: &Link) -> Result<Step, ParamError> {
        ParamError::unless(self.bytes.0 <= 1_000_000_000_000, "bytes", &self.bytes.0, "0 B (none) to 1 TB")?;
        ParamError::unless(self.time <= Duration::from_secs(1_000_000), "time", &self.time, "0 s (none) to 1000000 s")?;
        Ok(Step { params: self.clone() })
    }
}

/// The algorithm; it has no state.
#[derive(Clone, Debug)]
pub struct Step {
    params: Params,
}

impl Aqm for Step {
    #[inline]
    fn on_enqueue(&mut self, _arrival: &PacketView, backlog: &Backlog, _: &mut Stream) -> ArrivalVerdict {
        let Params { packets, bytes, .. } = self.params;
        let above = (packets > 0 && backlog.packets >= packets) || (bytes.0 > 0 && backlog.bytes >= bytes.0);
        if above { ArrivalVerdict::Signal } else { ArrivalVerdict::Pass }
    }

    #[inline]
    fn on_dequeue(&mut self, _departure: &PacketView, sojourn: Duration, _: &Backlog, _: &mut Stream) -> DepartureVerdict {
        let above = self.params.time > Duration::ZERO && sojourn > self.params.time;
        if above { DepartureVerdict::Signal } else { DepartureVerdict::Pass }
    }

    fn needs(&self) -> Needs {
        let timed = self.params.time > Duration::ZERO;
        Needs { departures: timed, head_drop: timed, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{test_link, test_packet};

    #[test]
    fn signals_begin_at_each_threshold_and_none_is_at_zero() {
        let arrival = test_packet();
        let mut random = Stream::named(1, "x");
        let mut signals = |params: Params, packets: u32, ms: u64| {
            let mut step = params.build(&test_link()).unwrap();
            let backlog = Backlog { packets, bytes: 1000 * u64::from(packets), idle_since: None };
            let early = step.on_enqueue(&arrival, &backlog, &mut random) == ArrivalVerdict::Signal;
            early || step.on_dequeue(&arrival, Duration::from_millis(ms), &backlog, &mut random) == DepartureVerdict::Signal
        };
        let (none, two) = (Params { packets: 0, ..Params::default() }, Duration::from_millis(2));
        assert_eq!([19, 20].map(|packets| signals(Params::default(), packets, 1000)), [false, true]);
        assert_eq!([9, 10].map(|packets| signals(Params { bytes: Bytes(10_000), ..none.clone() }, packets, 1000)), [false, true]);
        assert_eq!([2, 3].map(|ms| signals(Params { time: two, ..none.clone() }, 1000, ms)), [false, true]);
        assert!(!signals(none, 1000, 1000));
    }
}
