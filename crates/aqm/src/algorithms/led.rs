//! LED: load early detection.
//! Source: led-2006 (Durresi, Barolli, Sridharan, Chellappan and Jain, IPSJ Digital Courier 2).
//!
//! The load is the bytes offered divided by the bytes that the link could send. Once per interval it enters a moving average. The average
//! determines a probability on a line from `min` to `max`, and early drops are evenly spaced as in RED. This implementation decides what
//! the paper leaves open or contradicts:
//! - The load of the interval that ends now is used (led-2006#eq3 names the next one).
//! - If the average fell below `min` in idle intervals, it starts from `min` when packets arrive again (the paper's
//!   "minimum" must mean the greater of the two).
//! - The packet's size scales the probability after the spacing, and the product is at most 1 (led-2006#eq5).
//! - Dropped packets are part of the load, and a full queue restarts the count, as in RED.
//!
//! The paper changes only the source of RED's probability. RED's guard therefore stays unless `min_queue` is 0: no packet is dropped or
//! marked while fewer packets than `min_queue` wait, and the first packet that finds more passes and starts the count.

use crate::{Candidate, Gate, Law, Link, ParamError, Sample, Sampled, Spread};
use sojourn_units::{Bytes, Duration, Probability, Stream, range};

/// The parameters of LED; the defaults are the paper's.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Average load above which packets are dropped or marked.
    /// Range: 0 or more; default 0.8 (led-2006#table2).
    #[cfg_attr(feature = "serde", serde(alias = "min_th"))]
    pub min: f64,
    /// Average load from which every packet is dropped or marked.
    /// Range: above `min`; default 1.2 (led-2006#table1).
    #[cfg_attr(feature = "serde", serde(alias = "max_th"))]
    pub max: f64,
    /// Weight of the newest interval in the average.
    /// Range: above 0 and up to 1; default 0.05 (led-2006#table2).
    #[cfg_attr(feature = "serde", serde(alias = "alpha"))]
    pub weight: f64,
    /// Time between two updates.
    /// Range: at least 1 us; default `"50 ms"` (led-2006#table2; the paper recommends the mean RTT).
    pub interval: Duration,
    /// Packet size at which the full probability applies, smaller packets in proportion.
    /// `"0 B"` (the default) is the link's mean packet (led-2006#eq5).
    pub max_packet: Bytes,
    /// Packets that must wait before any packet is dropped or marked.
    /// Default 2 as in ns-2's RED; 0 for no guard.
    pub min_queue: u32,
    /// Whether the packet under decision is included in the count since the last drop or mark.
    /// True as in ns-2's RED; default false, so that gaps are uniform from 1 to 1/p (led-2006#eq4).
    pub count_own: bool,
    /// Whether a load above `max` signals even the first packet that finds `min_queue` waiting.
    /// Default true as in ns-2 until 2005. With false that packet passes, as in ns-2.35's RED unless its `use_mark_p_` is off.
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

/// LED on one link.
pub type Led = Sampled<LedLaw, LedGate>;

impl Params {
    /// LED with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<Led, ParamError> {
        ParamError::unless((0.0..1e3).contains(&self.min), "min", &self.min, "a load, 0 or more")?;
        ParamError::unless(self.max > self.min && self.max < 1e6, "max", &self.max, "a load above min and below a million")?;
        ParamError::unless(self.weight > 0.0 && self.weight <= 1.0, "weight", &self.weight, "a number above 0, up to 1")?;
        range::interval("interval", self.interval)?;
        let max_packet = link.mean_packet_or("max_packet", self.max_packet)?;
        let capacity = link.rate.as_bps() as f64 / 8.0 * self.interval.as_secs_f64();
        let law = LedLaw { params: self.clone(), capacity, load: self.min, idle: false };
        let gate = LedGate {
            scale: 1.0 / f64::from(max_packet),
            min_queue: self.min_queue,
            count_own: self.count_own,
            forced: self.forced,
            spread: Spread::new(false, None),
            above: false,
        };
        Ok(Sampled::new(law, gate))
    }
}

/// The average load and the line from it to the probability.
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

    /// Adds an interval in which this many bytes arrived to the average.
    /// See led-2006#eq2 to led-2006#eq4, led-2006#eq6.
    fn update_average(&mut self, bytes: f64) {
        let idle = bytes == 0.0;
        if self.idle && !idle {
            self.load = self.load.max(self.params.min);
        }
        self.idle = idle;
        self.load = (1.0 - self.params.weight) * self.load + self.params.weight * bytes / self.capacity;
    }
}

impl Law for LedLaw {
    fn interval(&self) -> Duration {
        self.params.interval
    }

    fn step(&mut self, sample: &Sample) -> Probability {
        self.update_average(sample.arrived_bytes);
        Probability::clamped((self.load - self.params.min) / (self.params.max - self.params.min))
    }
}

/// RED's evenly spaced drops with a guard for short queues.
#[derive(Clone, Debug)]
pub struct LedGate {
    /// One over the packet size at which the full probability applies.
    scale: f64,
    min_queue: u32,
    count_own: bool,
    forced: bool,
    spread: Spread,
    /// Whether the previous packet, too, found a probability above 0 and a long enough queue.
    /// The queue is long enough with `min_queue` packets waiting. A forced signal does not change it (`old` of ns-2's RED).
    above: bool,
}

impl Gate for LedGate {
    #[inline]
    fn signals(&mut self, candidate: &Candidate<'_>, random: &mut Stream) -> bool {
        let (p, size) = (candidate.probability.get(), candidate.packet.size);
        let draw = random.unit();
        if p == 0.0 || candidate.backlog.packets < self.min_queue {
            self.above = false;
            self.spread.clear();
            return false;
        }
        if p >= 1.0 && (self.forced || self.min_queue == 0) {
            self.spread.clear();
            return true;
        }
        if !core::mem::replace(&mut self.above, true) && self.min_queue > 0 {
            self.spread.restart(size);
            return false;
        }
        if self.count_own {
            self.spread.count(size);
        }
        // led-2006#eq5.
        let scaled = self.spread.corrected(p, size) * (f64::from(size) * self.scale).min(1.0);
        if p >= 1.0 || draw < scaled {
            self.spread.clear();
            return true;
        }
        if !self.count_own {
            self.spread.count(size);
        }
        false
    }

    fn reset(&mut self) {
        self.spread.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{test_link, test_packet};
    use crate::{Aqm, ArrivalVerdict, Backlog, PacketView};
    use sojourn_units::{Rate, Time};

    fn arrival(size: u32) -> PacketView {
        PacketView { size, ..test_packet() }
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
            let average = led.inner().load();
            assert!((average - load).abs() < 6e-7, "{average} {load}");
            assert!((led.probability().unwrap().get() - p).abs() < 2e-6, "{} {p}", led.probability().unwrap().get());
        }
    }

    /// The share of packets that are dropped or marked at this probability.
    fn rate(led: &mut Led, p: f64, size: u32, waiting: u32) -> f64 {
        led.gate_at(p);
        let mut random = Stream::named(3, "led");
        let signals = (0..400_000).filter(|_| led.on_enqueue(&arrival(size), &backlog(waiting), &mut random) == ArrivalVerdict::Signal);
        signals.count() as f64 / 400_000.0
    }

    #[test]
    fn signals_are_spaced_so_that_their_share_is_twice_p_over_one_plus_p() {
        for p in [0.01, 0.1, 0.25, 0.5] {
            assert!((rate(&mut led(0), p, 1000, 0) - 2.0 * p / (1.0 + p)).abs() < 0.003);
        }
    }

    #[test]
    fn a_packet_that_counts_itself_is_dropped_sooner() {
        // Gaps are uniform from 1 to 1/p - 1: their mean is 1/(2p).
        for p in [0.02, 0.1, 0.25] {
            let mut led = led(0);
            led.gate_at(p).count_own = true;
            assert!((rate(&mut led, p, 1000, 0) - 2.0 * p).abs() < 0.003);
        }
    }

    #[test]
    fn from_max_on_every_packet_is_dropped_or_marked_and_up_to_min_none() {
        let (mut led, link) = (led(0), Link { rate: Rate::from_bps(5_000_000).unwrap(), ..test_link() });
        for (load, expected) in [(0.8, 0.0), (1.2, 1.0), (1.3, 1.0)] {
            let offered = load * link.rate.as_bps() as f64 / 8.0 * 0.05;
            led.inner().load = load;
            led.on_enqueue(&arrival(offered.round() as u32), &backlog(0), &mut Stream::named(3, "led"));
            led.on_update(Time::ZERO, &backlog(0));
            assert!((led.probability().unwrap().get() - expected).abs() < 1e-12);
        }
        assert_eq!((rate(&mut led, 1.0, 40, 0), rate(&mut led, 0.0, 1000, 0)), (1.0, 0.0));
    }

    #[test]
    fn small_packets_are_dropped_or_marked_less() {
        let (small, large) = (rate(&mut led(0), 0.25, 250, 0), rate(&mut led(0), 0.25, 1000, 0));
        assert!(small < 0.6 * large, "{small} {large}");
    }

    #[test]
    fn the_guard_lets_all_packets_pass_a_short_queue() {
        assert_eq!(rate(&mut led(2), 1.0, 1000, 1), 0.0);
        assert_eq!(rate(&mut led(2), 1.0, 1000, 2), 1.0);
    }

    #[test]
    fn above_max_the_first_packet_passes_only_if_forced_is_off() {
        for (forced, first) in [(true, ArrivalVerdict::Signal), (false, ArrivalVerdict::Pass)] {
            let (mut led, mut random) = (led(2), Stream::named(4, "led"));
            led.gate_at(1.0).forced = forced;
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
