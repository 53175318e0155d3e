//! AVQ: adaptive virtual queue (kunniyur-2001: Kunniyur and Srikant, SIGCOMM).
//!
//! All arrivals also enter a virtual queue of a given size that is served at a virtual capacity. A packet that the virtual
//! queue has no room for is marked or dropped in the real queue. The virtual capacity rises with time and falls with every
//! packet, so that the arrivals approach the share `utilization` of the link.

use crate::{Aqm, ArrivalVerdict, Backlog, Link, PacketView, ParamError};
use sojourn_units::{Probability, Stream, Time};

/// The parameters of AVQ.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Target share of the link for arrivals.
    /// Range: above 0 and up to 1; default 0.98 (gamma of kunniyur-2001#4).
    #[cfg_attr(feature = "serde", serde(alias = "gamma"))]
    pub utilization: f64,
    /// Speed of the virtual capacity in 1/s, above 0, default 0.15 (alpha of kunniyur-2001#4).
    pub alpha: f64,
    /// Size of the virtual queue in mean packets.
    /// 0 (the default) is the real queue's limit (kunniyur-2001#fig1).
    pub size: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params { utilization: 0.98, alpha: 0.15, size: 0.0 }
    }
}

impl Params {
    /// AVQ with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<Avq, ParamError> {
        let share = self.utilization > 0.0 && self.utilization <= 1.0;
        ParamError::unless(share, "utilization", &self.utilization, "a share above 0, up to 1")?;
        ParamError::unless(self.alpha > 0.0 && self.alpha < 1e6, "alpha", &self.alpha, "a number above 0 and below a million")?;
        ParamError::unless((0.0..1e9).contains(&self.size), "size", &self.size, "a number of packets, or 0 for the limit")?;
        let packets = if self.size == 0.0 { f64::from(link.limit_packets.max(1)) } else { self.size };
        let capacity = link.rate.as_bps() as f64 / 8.0;
        let shape =
            Shape { utilization: self.utilization, alpha: self.alpha, capacity, limit: packets * f64::from(link.mean_packet.max(1)) };
        Ok(Avq { shape, queue: 0.0, virtual_capacity: capacity, last: Time::ZERO, signaled: 0.0 })
    }
}

/// The parameters on a link, in bytes and seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shape {
    /// Target share of the link for arrivals.
    pub utilization: f64,
    /// Speed of the virtual capacity in 1/s.
    pub alpha: f64,
    /// The link's rate in bytes a second.
    pub capacity: f64,
    /// Size of the virtual queue in bytes.
    pub limit: f64,
}

/// The virtual queue and its capacity.
#[derive(Clone, Debug)]
pub struct Avq {
    shape: Shape,
    /// Bytes in the virtual queue.
    queue: f64,
    /// Bytes a second.
    virtual_capacity: f64,
    last: Time,
    /// Share of dropped or marked packets, averaged over about the last 64; only for traces.
    signaled: f64,
}

impl Avq {
    /// The parameters on this link.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The virtual capacity in bytes a second.
    pub fn virtual_capacity(&self) -> f64 {
        self.virtual_capacity
    }
}

impl Aqm for Avq {
    /// kunniyur-2001#fig1.
    fn on_enqueue(&mut self, arrival: &PacketView, _backlog: &Backlog, _random: &mut Stream) -> ArrivalVerdict {
        let (span, size, s) = (arrival.now.since(self.last).as_secs_f64(), f64::from(arrival.size), self.shape);
        self.last = arrival.now;
        self.queue = (self.queue - self.virtual_capacity * span).max(0.0);
        let full = self.queue + size > s.limit;
        if !full {
            self.queue += size;
        }
        let risen = (self.virtual_capacity + s.alpha * s.utilization * s.capacity * span).min(s.capacity);
        self.virtual_capacity = (risen - s.alpha * size).max(0.0);
        self.signaled += (f64::from(u8::from(full)) - self.signaled) / 64.0;
        if full { ArrivalVerdict::Signal } else { ArrivalVerdict::Pass }
    }

    fn probability(&self) -> Option<Probability> {
        Some(Probability::clamped(self.signaled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{test_link, test_packet};
    use sojourn_units::Duration;

    /// Sends packets of 1000 bytes at `rate` times the link's rate for `seconds`.
    /// Returns the share of signals in the second half.
    fn feed(avq: &mut Avq, rate: f64, seconds: f64) -> f64 {
        let mut random = Stream::named(1, "avq");
        let gap = Duration::from_secs_f64(1000.0 / (1.25e6 * rate));
        let count = (seconds / gap.as_secs_f64()) as u32;
        let (mut now, mut signals) = (avq.last, 0);
        for i in 0..count {
            now += gap;
            let arrival = PacketView { now, ..test_packet() };
            let verdict = avq.on_enqueue(&arrival, &Backlog { packets: 0, bytes: 0, idle_since: None }, &mut random);
            signals += u32::from(i >= count / 2 && verdict == ArrivalVerdict::Signal);
        }
        f64::from(signals) / f64::from(count - count / 2)
    }

    #[test]
    fn a_load_below_the_target_passes_and_one_above_is_signaled_more_and_more() {
        let mut avq = Params { size: 20.0, ..Params::default() }.build(&test_link()).unwrap();
        assert_eq!(feed(&mut avq, 0.97, 100.0), 0.0);
        assert_eq!(avq.virtual_capacity(), 1.25e6 - 0.15 * 1000.0);
        // At 1.05 the virtual capacity falls by alpha (1.05 - 0.98) C a second, to 1 - 0.07 * 0.15 * t of the link.
        feed(&mut avq, 1.05, 10.0);
        assert!((avq.virtual_capacity() / 1.25e6 - (1.0 - 0.15 * 0.07 * 10.0)).abs() < 1e-3);
    }

    #[test]
    fn a_full_virtual_queue_signals_the_arrivals_above_its_capacity() {
        let mut avq = Params { size: 5.0, alpha: 1e-9, ..Params::default() }.build(&test_link()).unwrap();
        assert!((feed(&mut avq, 1.25, 20.0) - 0.2).abs() < 1e-3);
    }

    #[test]
    fn a_target_of_no_load_is_refused() {
        assert_eq!(Params { utilization: 0.0, ..Params::default() }.build(&test_link()).unwrap_err().field, "utilization");
    }

    #[test]
    fn numbers_outside_their_ranges_are_refused_by_name() {
        let refused = |params: Params, field: &str| params.build(&test_link()).is_err_and(|error| error.field == field);
        for alpha in [0.0, -0.1, 1e6, f64::NAN] {
            assert!(refused(Params { alpha, ..Params::default() }, "alpha"), "{alpha}");
        }
        for utilization in [-0.1, 1.001, f64::NAN] {
            assert!(refused(Params { utilization, ..Params::default() }, "utilization"), "{utilization}");
        }
        for size in [-1.0, 1e9, f64::NAN] {
            assert!(refused(Params { size, ..Params::default() }, "size"), "{size}");
        }
        assert!(Params { utilization: 1.0, alpha: 999_999.0, size: 1.0 }.build(&test_link()).is_ok());
    }

    /// After n signals, a mean of signals with the weight 1/64 is 1 - (63/64)^n.
    #[test]
    fn the_probability_shown_is_a_mean_of_the_signals() {
        let mut avq = Params { size: 0.5, ..Params::default() }.build(&test_link()).unwrap();
        assert_eq!(avq.probability(), Some(Probability::ZERO));
        assert_eq!(feed(&mut avq, 0.5, 0.16), 1.0);
        let found = avq.probability().unwrap().get();
        assert!((found - (1.0 - (63.0f64 / 64.0).powi(100))).abs() < 1e-9, "{found}");
    }
}
