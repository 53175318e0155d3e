//! Laws: functions from the measurements of one interval to a probability.
//! Most papers define an algorithm in this form.

use crate::Needs;
use alloc::boxed::Box;
use sojourn_units::{Duration, Probability, Time};

/// The inputs of a law: measurements over one interval.
///
/// An algorithm sees departures only if it asks for them: the fields marked *departures* are filled only if [`Law::needs`] sets
/// [`Needs::departures`].
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The end of the interval.
    pub now: Time,
    /// Packets waiting at `now`.
    pub backlog_packets: f64,
    /// Bytes waiting at `now`.
    pub backlog_bytes: f64,
    /// The smallest number of packets that waited at any time in the interval (*departures*).
    /// Without departures it is the smaller of the numbers at the two ends.
    pub least_backlog_packets: f64,
    /// Packets offered in the interval, including dropped ones.
    pub arrived_packets: f64,
    /// Bytes offered in the interval, including dropped ones.
    pub arrived_bytes: f64,
    /// Packets that left in the interval (*departures*; else 0).
    pub departed_packets: f64,
    /// Bytes that left in the interval (*departures*; else 0).
    pub departed_bytes: f64,
    /// Mean sojourn time in seconds of the packets that left (*departures*).
    /// 0 if none left or without departures.
    pub sojourn: f64,
}

/// Reads a sample in packets: as counted, or as bytes divided by the mean packet size.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    mean_packet: Option<f64>,
}

impl Meter {
    /// Divides bytes by this mean; `None` counts packets.
    pub fn new(mean_packet: Option<u32>) -> Self {
        Meter { mean_packet: mean_packet.map(|mean| f64::from(mean.max(1))) }
    }

    /// The backlog.
    pub fn backlog(&self, sample: &Sample) -> f64 {
        self.mean_packet.map_or(sample.backlog_packets, |mean| sample.backlog_bytes / mean)
    }

    /// The arrivals in the interval.
    pub fn arrived(&self, sample: &Sample) -> f64 {
        self.mean_packet.map_or(sample.arrived_packets, |mean| sample.arrived_bytes / mean)
    }
}

/// A law of any kind that can be copied, for models that feed it with numbers.
pub trait AnyLaw: Law + Send + Sync {
    /// A copy with all its state.
    fn boxed_clone(&self) -> Box<dyn AnyLaw>;
}

impl<T: Law + Clone + Send + Sync + 'static> AnyLaw for T {
    fn boxed_clone(&self) -> Box<dyn AnyLaw> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn AnyLaw> {
    fn clone(&self) -> Self {
        (**self).boxed_clone()
    }
}

impl core::fmt::Debug for dyn AnyLaw {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Law")
    }
}

impl Law for Box<dyn AnyLaw> {
    fn interval(&self) -> Duration {
        (**self).interval()
    }

    fn step(&mut self, sample: &Sample) -> Probability {
        (**self).step(sample)
    }

    fn needs(&self) -> Needs {
        (**self).needs()
    }

    fn rest(&mut self, sample: &Sample, probability: f64) {
        (**self).rest(sample, probability);
    }

    fn first_step(&self) -> Time {
        (**self).first_step()
    }
}

/// A control law: once per interval, a new probability.
pub trait Law {
    /// The time between two steps.
    fn interval(&self) -> Duration;

    /// The probability for the next interval.
    fn step(&mut self, sample: &Sample) -> Probability;

    /// What the host must supply beyond arrivals and the timer.
    /// [`Needs::departures`] if the law reads those fields of the sample.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Sets the law's memory to its steady state at `probability`, as far as it has one.
    /// Every later sample is assumed to equal this one. Only a law whose memory is more than one integrator implements this: other laws are
    /// brought to their steady state from outside, by calls of [`Law::step`].
    fn rest(&mut self, _sample: &Sample, _probability: f64) {}

    /// The time of the first step.
    fn first_step(&self) -> Time {
        Time::ZERO + self.interval()
    }
}
