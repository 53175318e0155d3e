//! LED: load early detection (Durresi, Barolli, Sridharan, Chellappan and Jain, IPSJ Digital Courier 2, 2006).
//!
//! Once per interval the load, bytes offered over bytes that the link could send, enters a moving average; the
//! average gives a probability on a line from `min` to `max`, and early drops are spread evenly as in RED. What the
//! paper leaves open or prints wrongly is settled so:
//! - the load of the interval that ends now is used (its equation 3 names one that has not happened yet);
//! - an average that fell below `min` in idle intervals starts from `min` when packets come again (its text says
//!   "minimum" where it must mean the greater of the two);
//! - the packet's size scales the probability after the spreading, and the product stops at 1 (its equation 5);
//! - dropped packets count in the load, and a full queue starts the count anew, as RED's does.
//!
//! The paper changes only what gives RED its probability. So RED's guard stays unless `min_queue` is 0: while few
//! packets wait, none is struck, and the first that finds more passes and starts the count.

use crate::{Aqm, ArrivalVerdict, Backlog, Gate, Law, Link, PacketView, ParamError, Sample, Spread};
use sojourn_units::{Bytes, Duration, Probability, Stream, Time};

/// The parameters of LED; the defaults are the paper's.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Average load from which packets are struck, 0 or more, default 0.8 (led-2006#table2).
    #[cfg_attr(feature = "serde", serde(alias = "min_th"))]
    pub min: f64,
    /// Average load at which every packet is struck, above `min`, default 1.2 (led-2006#table1).
    #[cfg_attr(feature = "serde", serde(alias = "max_th"))]
    pub max: f64,
    /// Weight of the newest interval in the average, above 0 and up to 1, default 0.05 (led-2006#table2).
    #[cfg_attr(feature = "serde", serde(alias = "alpha"))]
    pub weight: f64,
    /// Time between two updates, at least 1 us, default `"50 ms"` (led-2006#table2; the paper advises the mean RTT).
    pub interval: Duration,
    /// Packet size that is struck with the full probability, smaller ones in proportion; `"0 B"` (the default) is the
    /// link's mean packet (led-2006#eq5).
    pub max_packet: Bytes,
    /// Packets that must wait before any is struck, default 2 as in ns-2's RED; 0 for none.
    pub min_queue: u32,
    /// Whether the packet under decision counts among those since the last strike, as in ns-2's RED; default false, so
    /// that gaps between strikes are uniform from 1 to 1/p (led-2006#eq4).
    pub count_own: bool,
    /// Whether a load above `max` strikes even the first packet that finds enough waiting, default true as in ns-2 until 2005;
    /// false spares it, as ns-2.35's RED does unless its `use_mark_p_` is off.
    pub forced: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            min: 0.8,
            max: 1.2,
            weight: 0.05,
            interval: Duration::from_millis(50),
            max_packet: Bytes(0),
            min_queue: 2,
            count_own: false,
            forced: true,
        }
    }
}

impl Params {
    /// LED with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<Led, ParamError> {
        ParamError::unless((0.0..1e3).contains(&self.min), "min", &self.min, "a load, 0 or more")?;
        ParamError::unless(self.max > self.min && self.max < 1e6, "max", &self.max, "above min and below a million")?;
        ParamError::unless(self.weight > 0.0 && self.weight <= 1.0, "weight", &self.weight, "above 0 and at most 1")?;
        ParamError::unless(self.interval >= Duration::from_micros(1), "interval", &self.interval, "1 us or more")?;
        let max_packet = link.mean_packet_or("max_packet", self.max_packet)?;
        let capacity = link.rate.as_bps() as f64 / 8.0 * self.interval.as_secs_f64();
        let law = LedLaw { params: self.clone(), capacity, load: self.min, idle: false };
        Ok(Led {
            law,
            scale: 1.0 / f64::from(max_packet),
            spread: Spread::new(false, None),
            open: false,
            bytes: 0,
            probability: Probability::ZERO,
        })
    }
}

/// The average load and the line over it.
#[derive(Clone, Debug)]
pub struct LedLaw {
    params: Params,
    /// Bytes that the link can send in an interval.
    capacity: f64,
    load: f64,
    /// Whether nothing arrived in the last interval.
    idle: bool,
}

impl LedLaw {
    /// The average load.
    pub fn load(&self) -> f64 {
        self.load
    }

    /// led-2006#eq2 to #eq4 and #eq6.
    fn average(&mut self, bytes: f64) {
        let idle = bytes == 0.0;
        if self.idle && !idle {
            self.load = self.load.max(self.params.min);
        }
        self.idle = idle;
        self.load = (1.0 - self.params.weight) * self.load + self.params.weight * bytes / self.capacity;
    }

    fn probability(&self) -> Probability {
        Probability::clamped((self.load - self.params.min) / (self.params.max - self.params.min))
    }
}

impl Law for LedLaw {
    fn interval(&self) -> Duration {
        self.params.interval
    }

    fn step(&mut self, sample: &Sample) -> Probability {
        self.average(sample.arrived_bytes);
        self.probability()
    }
}

/// LED on one link.
#[derive(Clone, Debug)]
pub struct Led {
    law: LedLaw,
    /// One over the packet size that is struck with the full probability.
    scale: f64,
    spread: Spread,
    /// Whether the previous arrival that was not struck for a load above `max` found the load above `min` and enough packets
    /// waiting (`old` of ns-2's RED).
    open: bool,
    bytes: u64,
    probability: Probability,
}

impl Led {
    /// The average load.
    pub fn load(&self) -> f64 {
        self.law.load
    }
}

impl Aqm for Led {
    fn on_enqueue(&mut self, arrival: &PacketView, backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
        self.bytes += u64::from(arrival.size);
        let draw = random.unit();
        let p = self.probability.get();
        let guard = self.law.params.min_queue;
        if self.law.load <= self.law.params.min || backlog.packets < guard {
            self.open = false;
            self.spread.reset();
            return ArrivalVerdict::Pass;
        }
        if p >= 1.0 && (self.law.params.forced || guard == 0) {
            self.spread.reset();
            return ArrivalVerdict::Signal;
        }
        if !core::mem::replace(&mut self.open, true) && guard > 0 {
            self.spread.restart(arrival.size);
            return ArrivalVerdict::Pass;
        }
        let own = self.law.params.count_own;
        if own {
            self.spread.count(arrival.size);
        }
        // led-2006#eq5.
        let scaled = self.spread.corrected(p, arrival.size) * (f64::from(arrival.size) * self.scale).min(1.0);
        if p >= 1.0 || draw < scaled {
            self.spread.reset();
            return ArrivalVerdict::Signal;
        }
        if !own {
            self.spread.count(arrival.size);
        }
        ArrivalVerdict::Pass
    }

    fn on_overflow(&mut self) {
        self.spread.reset();
    }

    fn update_interval(&self) -> Option<Duration> {
        Some(self.law.params.interval)
    }

    fn on_update(&mut self, _now: Time, _backlog: &Backlog) {
        self.law.average(self.bytes as f64);
        self.bytes = 0;
        self.probability = self.law.probability();
    }

    fn probability(&self) -> Probability {
        self.probability
    }

    fn law(&mut self) -> Option<&mut dyn Law> {
        Some(&mut self.law)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::test_link;
    use sojourn_units::Rate;

    fn arrival(size: u32) -> PacketView {
        PacketView { now: Time::ZERO, size, flow: 0, rtt_hint_ms: 0, has_data: true }
    }

    fn backlog(packets: u32) -> Backlog {
        Backlog { packets, bytes: 1000 * u64::from(packets), idle_since: None }
    }

    /// 5 Mbit/s: 31250 bytes in 50 ms.
    fn led(min_queue: u32) -> Led {
        let link = Link { rate: Rate::from_bps(5_000_000).unwrap(), ..test_link() };
        Params { min_queue, ..Params::default() }.build(&link).unwrap()
    }

    #[test]
    fn average_and_probability_are_those_of_the_reference_vectors() {
        let (mut led, mut random) = (led(0), Stream::named(1, "led"));
        let expected = [
            (20_000, 0.792, 0.0),
            (40_000, 0.8164, 0.041),
            (45_000, 0.84758, 0.11895),
            (31_250, 0.855_201, 0.138_002),
            (0, 0.812_441, 0.031_102),
            (0, 0.771_819, 0.0),
            (0, 0.733_228, 0.0),
            (31_250, 0.81, 0.025),
        ];
        for (bytes, load, p) in expected {
            if bytes > 0 {
                led.on_enqueue(&arrival(bytes), &backlog(0), &mut random);
            }
            led.on_update(Time::ZERO, &backlog(0));
            assert!((led.load() - load).abs() < 6e-7, "{} {load}", led.load());
            assert!((led.probability().get() - p).abs() < 2e-6, "{} {p}", led.probability().get());
        }
    }

    /// The rate of strikes while the average load is held at `load`.
    fn rate(led: &mut Led, load: f64, size: u32, waiting: u32) -> f64 {
        led.law.load = load;
        led.probability = led.law.probability();
        let mut random = Stream::named(3, "led");
        let strikes = (0..400_000).filter(|_| led.on_enqueue(&arrival(size), &backlog(waiting), &mut random) == ArrivalVerdict::Signal);
        strikes.count() as f64 / 400_000.0
    }

    #[test]
    fn strikes_are_spread_so_that_their_rate_is_twice_p_over_one_and_p() {
        for p in [0.01, 0.1, 0.25, 0.5] {
            assert!((rate(&mut led(0), 0.8 + 0.4 * p, 1000, 0) - 2.0 * p / (1.0 + p)).abs() < 0.003);
        }
    }

    #[test]
    fn a_packet_that_counts_itself_is_struck_sooner() {
        // Gaps are uniform from 1 to 1/p - 1: their mean is 1/(2p).
        for p in [0.02, 0.1, 0.25] {
            let mut led = led(0);
            led.law.params.count_own = true;
            assert!((rate(&mut led, 0.8 + 0.4 * p, 1000, 0) - 2.0 * p).abs() < 0.003);
        }
    }

    #[test]
    fn above_max_every_packet_is_struck_and_at_min_none() {
        for load in [1.2, 1.3] {
            assert_eq!(rate(&mut led(0), load, 40, 0), 1.0);
        }
        assert_eq!(rate(&mut led(0), 0.8, 1000, 0), 0.0);
    }

    #[test]
    fn small_packets_are_struck_less() {
        let (small, large) = (rate(&mut led(0), 0.9, 250, 0), rate(&mut led(0), 0.9, 1000, 0));
        assert!(small < 0.6 * large, "{small} {large}");
    }

    #[test]
    fn the_guard_spares_a_short_queue() {
        assert_eq!(rate(&mut led(2), 1.3, 1000, 1), 0.0);
        assert_eq!(rate(&mut led(2), 1.3, 1000, 2), 1.0);
    }

    #[test]
    fn above_max_the_first_packet_is_spared_only_where_asked_for() {
        for (forced, first) in [(true, ArrivalVerdict::Signal), (false, ArrivalVerdict::Pass)] {
            let (mut led, mut random) = (led(2), Stream::named(4, "led"));
            led.law.params.forced = forced;
            led.law.load = 1.3;
            led.probability = led.law.probability();
            led.on_enqueue(&arrival(1000), &backlog(1), &mut random);
            assert_eq!(led.on_enqueue(&arrival(1000), &backlog(2), &mut random), first);
            for size in [1000, 40] {
                assert_eq!(led.on_enqueue(&arrival(size), &backlog(2), &mut random), ArrivalVerdict::Signal);
            }
        }
    }

    #[test]
    fn thresholds_the_wrong_way_round_are_refused() {
        assert_eq!(Params { max: 0.7, ..Params::default() }.build(&test_link()).unwrap_err().field, "max");
    }
}
