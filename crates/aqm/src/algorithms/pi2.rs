//! PI2: a proportional-integral controller of the queuing delay whose output is squared before it strikes (De Schepper et
//! al. 2016), the base law of RFC 9332.
//!
//! A Reno flow sends in proportion to 1/sqrt(p): with the square taken at the packet, the controller acts on a plant that is
//! linear at any load and needs no table of gains. Marks end at `max_mark`: above it packets are dropped.

use crate::{Aqm, ArrivalVerdict, Backlog, Law, Link, PacketView, ParamError, Sample};
use sojourn_units::{Duration, Probability, Stream, Time};

/// The parameters of PI2.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Queuing delay to be held, above 0, default 15 ms (rfc9332#A.1).
    pub target: Duration,
    /// Time between two updates, at least 1 us, default 15 ms (rfc9332#A.1).
    pub tupdate: Duration,
    /// Gain on the delay's error in Hz: probability before squaring that one update adds for a second of delay; 0 or more,
    /// default 0.15 (rfc9332#A.1: 0.1 of `tupdate` over the square of 100 ms).
    pub alpha: f64,
    /// Gain on the delay's change in Hz, 0 or more, default 3 (rfc9332#A.1: 0.3 over 100 ms).
    pub beta: f64,
    /// Probability after squaring above which packets are dropped instead of marked, 0 to 1, default 0.25 (rfc9332#A.2).
    pub max_mark: f64,
}

impl Default for Params {
    fn default() -> Self {
        let (target, tupdate) = (Duration::from_millis(15), Duration::from_millis(15));
        Params { target, tupdate, alpha: 0.15, beta: 3.0, max_mark: 0.25 }
    }
}

impl Params {
    /// PI2 with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<Pi2, ParamError> {
        let time = self.target > Duration::ZERO && self.target <= Duration::from_secs(1000);
        ParamError::unless(time, "target", &self.target, "a time above 0, up to 1000 s")?;
        ParamError::unless(self.tupdate >= Duration::from_micros(1), "tupdate", &self.tupdate, "1 us or more")?;
        ParamError::unless((0.0..=1e6).contains(&self.alpha), "alpha", &self.alpha, "0 to 1000000 Hz")?;
        ParamError::unless((0.0..=1e6).contains(&self.beta), "beta", &self.beta, "0 to 1000000 Hz")?;
        ParamError::unless((0.0..=1.0).contains(&self.max_mark), "max_mark", &self.max_mark, "0 to 1")?;
        Ok(Pi2 { params: self.clone(), rate: link.rate.as_bps() as f64 / 8.0, delay: 0.0, root: 0.0 })
    }
}

/// The controller and its state.
#[derive(Clone, Debug)]
pub struct Pi2 {
    params: Params,
    /// The link's, in bytes a second.
    rate: f64,
    /// The delay at the last update in seconds.
    delay: f64,
    /// The probability before squaring.
    root: f64,
}

impl Pi2 {
    /// rfc9332#A.1, with the delay from the backlog in bytes and the link's rate.
    fn advance(&mut self, bytes: f64) {
        let Params { target, alpha, beta, .. } = self.params;
        let delay = bytes / self.rate;
        let step = alpha * (delay - target.as_secs_f64()) + beta * (delay - self.delay);
        self.root = (self.root + step).clamp(0.0, 1.0);
        self.delay = delay;
    }
}

impl Law for Pi2 {
    fn interval(&self) -> Duration {
        self.params.tupdate
    }

    fn step(&mut self, sample: &Sample) -> Probability {
        self.advance(sample.backlog_bytes);
        self.probability()
    }

    fn rest(&mut self, sample: &Sample, probability: f64) {
        (self.delay, self.root) = (sample.backlog_bytes / self.rate, libm::sqrt(probability));
    }
}

impl Aqm for Pi2 {
    #[inline]
    fn on_enqueue(&mut self, _arrival: &PacketView, _backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
        let p = self.root * self.root;
        match random.unit() < p {
            false => ArrivalVerdict::Pass,
            true if p > self.params.max_mark => ArrivalVerdict::Drop,
            true => ArrivalVerdict::Signal,
        }
    }

    fn update_interval(&self) -> Option<Duration> {
        Some(self.params.tupdate)
    }

    fn on_update(&mut self, _now: Time, backlog: &Backlog) {
        self.advance(backlog.bytes as f64);
    }

    /// After squaring.
    fn probability(&self) -> Probability {
        Probability::clamped(self.root * self.root)
    }

    fn law(&mut self) -> Option<&mut dyn Law> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::test_link;

    /// 10 Mbit/s: a millisecond is 1250 bytes.
    fn backlog(ms: u64) -> Backlog {
        Backlog { packets: 1, bytes: 1250 * ms, idle_since: None }
    }

    #[test]
    fn an_update_adds_what_error_and_change_say_and_packets_meet_the_square() {
        let mut pi2 = Params::default().build(&test_link()).unwrap();
        pi2.on_update(Time::ZERO, &backlog(25));
        // 0.15 * 10 ms + 3 * 25 ms.
        assert!((pi2.root - 0.0765).abs() < 1e-12);
        pi2.on_update(Time::ZERO, &backlog(35));
        assert!((pi2.root - (0.0765 + 0.003 + 0.03)).abs() < 1e-12);
        assert!((pi2.probability().get() - pi2.root * pi2.root).abs() < 1e-15);
        (0..100).for_each(|_| pi2.on_update(Time::ZERO, &backlog(0)));
        assert_eq!(pi2.root, 0.0);
    }

    #[test]
    fn strikes_come_at_the_square_and_are_drops_in_overload() {
        let (mut pi2, mut random) = (Params::default().build(&test_link()).unwrap(), Stream::named(1, "x"));
        let arrival = PacketView { now: Time::ZERO, size: 1000, flow: 0, rtt_hint_ms: 0, has_data: true };
        for (root, verdict) in [(0.3, ArrivalVerdict::Signal), (0.6, ArrivalVerdict::Drop)] {
            pi2.root = root;
            let struck = (0..100_000).filter(|_| pi2.on_enqueue(&arrival, &backlog(9), &mut random) == verdict).count();
            assert!((struck as f64 / 1e5 - root * root).abs() < 0.005, "{struck}");
        }
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let default = Params::default;
        for (params, field) in [
            (Params { target: Duration::ZERO, ..default() }, "target"),
            (Params { tupdate: Duration::ZERO, ..default() }, "tupdate"),
            (Params { alpha: -1.0, ..default() }, "alpha"),
            (Params { beta: f64::NAN, ..default() }, "beta"),
            (Params { max_mark: 2.0, ..default() }, "max_mark"),
        ] {
            assert_eq!(params.build(&test_link()).unwrap_err().field, field);
        }
    }
}
