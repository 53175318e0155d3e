//! `CHOKe`: compares an arriving packet with a random waiting one; on a match both drop.
//! They match if they belong to one flow. Packets are compared while the average queue is above a threshold (Pan, Prabhakar and Psounis
//! 2000), as in Linux's `sch_choke`.
//!
//! A flow with many packets in the queue is drawn often and loses two packets each time. RED decides about the packets that pass the
//! comparison: without gentle or wait, in packets, with evenly spaced signals.

use super::red::{TC_BURST, tc_weight};
use crate::{Aqm, ArrivalVerdict, Backlog, Link, Needs, PacketView, ParamError, Spread};
use sojourn_units::{Duration, Probability, Stream, Time};

/// The parameters of `CHOKe`, under the names of `tc choke`.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Average queue in packets above which packets are compared.
    /// 0 (the default) is a third of `max`, at least 1 (tc).
    pub min: f64,
    /// Average queue in packets above which every packet is dropped or marked.
    /// 0 (the default) is a quarter of the queue's limit (tc).
    pub max: f64,
    /// Probability of RED at `max`, above 0 and up to 1, default 0.02 (tc `probability`).
    #[cfg_attr(feature = "serde", serde(alias = "probability"))]
    pub max_p: f64,
    /// Packets that may arrive at an empty queue in one burst.
    /// The weight of the average follows from it as in tc. 0 (the default) is (2 min + max)/3, at least 1.
    pub burst: u32,
    /// Whether ECN-capable packets above `max` are marked instead of dropped.
    /// Default true (tc without `harddrop`).
    pub mark_above_max: bool,
    /// Whether the average is rounded down to whole packets at each update, as in Linux.
    /// This makes it about half a packet higher. Default false.
    pub rounded_average: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params { min: 0.0, max: 0.0, max_p: 0.02, burst: 0, mark_above_max: true, rounded_average: false }
    }
}

impl Params {
    /// `CHOKe` with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<Choke, ParamError> {
        let max = if self.max == 0.0 { f64::from(link.limit_packets / 4).max(2.0) } else { self.max };
        let min = if self.min == 0.0 { libm::floor(max / 3.0).max(1.0) } else { self.min };
        ParamError::unless((0.0..=1e9).contains(&min), "min", &min, "a number of packets, 0 or more")?;
        ParamError::unless(max > min && max <= 1e9, "max", &max, "a number of packets above min")?;
        ParamError::unless(self.max_p > 0.0 && self.max_p <= 1.0, "max_p", &self.max_p, "a number above 0, up to 1")?;
        ParamError::unless(self.burst <= 1_000_000_000, "burst", &self.burst, "a number of packets up to 1000000000, or 0")?;
        let automatic = self.burst == 0;
        let burst = if automatic { libm::floor((2.0 * min + max) / 3.0).max(1.0) } else { f64::from(self.burst) };
        // With thresholds of a packet or two no weight fits a burst: then RED's usual weight.
        let weight = tc_weight(burst, min);
        ParamError::unless(automatic || weight.is_some(), "burst", &self.burst, TC_BURST)?;
        Ok(Choke {
            min,
            max,
            max_p: self.max_p,
            weight: weight.unwrap_or(libm::ldexp(1.0, -9)),
            mark_above_max: self.mark_above_max,
            rounded_average: self.rounded_average,
            transmission: link.rate.time_for(u64::from(link.mean_packet)),
            average: 0.0,
            spread: Spread::new(false, None),
        })
    }
}

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct Choke {
    min: f64,
    max: f64,
    max_p: f64,
    weight: f64,
    mark_above_max: bool,
    rounded_average: bool,
    /// The transmission time of a mean packet: one sample of the average while the link is idle.
    transmission: Duration,
    average: f64,
    spread: Spread,
}

impl Choke {
    fn update_average(&mut self, now: Time, backlog: &Backlog) {
        let idle = backlog.idle_since.map_or(0.0, |since| now.since(since).as_secs_f64() / self.transmission.as_secs_f64().max(1e-12));
        if idle > 0.0 {
            self.average *= libm::pow(1.0 - self.weight, idle);
        } else {
            let last = if self.rounded_average { libm::floor(self.average) } else { self.average };
            self.average += self.weight * (f64::from(backlog.packets) - last);
        }
    }

    /// RED's verdict on a packet that passed the comparison.
    fn red(&mut self, random: &mut Stream) -> ArrivalVerdict {
        if self.average > self.max {
            self.spread.clear();
            return if self.mark_above_max { ArrivalVerdict::Signal } else { ArrivalVerdict::Drop };
        }
        let p = self.max_p * (self.average - self.min) / (self.max - self.min);
        if self.spread.draw(Probability::clamped(p), 1, random) { ArrivalVerdict::Signal } else { ArrivalVerdict::Pass }
    }
}

impl Aqm for Choke {
    fn on_enqueue(&mut self, arrival: &PacketView, backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
        match arrival.drawn {
            Some(drawn) if drawn.flow == Some(arrival.flow) => return ArrivalVerdict::DropBoth(drawn.position),
            Some(_) => return self.red(random),
            None => self.update_average(arrival.now, backlog),
        }
        if self.average <= self.min {
            self.spread.clear();
            return ArrivalVerdict::Pass;
        }
        if backlog.packets == 0 {
            return self.red(random);
        }
        ArrivalVerdict::Inspect(random.below(u64::from(backlog.packets)) as u32)
    }

    fn needs(&self) -> Needs {
        Needs { waiting_packets: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Drawn;
    use crate::algorithms::{test_link, test_packet};

    fn arrival(flow: u32) -> PacketView {
        PacketView { flow, ..test_packet() }
    }

    /// A packet of flow 1 that is compared with a waiting packet of `flow`.
    fn shown(flow: Option<u32>, position: u32) -> PacketView {
        PacketView { drawn: Some(Drawn { position, flow }), ..arrival(1) }
    }

    const FULL: Backlog = Backlog { packets: 50, bytes: 50_000, idle_since: None };

    /// `CHOKe` whose average equals the last queue length.
    fn quick(params: &Params) -> Choke {
        Choke { weight: 1.0, ..params.build(&test_link()).unwrap() }
    }

    #[test]
    fn above_the_threshold_a_drawn_packet_of_the_same_flow_is_dropped_with_the_arriving_one() {
        let (mut choke, mut random) = (quick(&Params { min: 10.0, max: 90.0, ..Params::default() }), Stream::named(1, "x"));
        let few = Backlog { packets: 10, ..FULL };
        assert_eq!(choke.on_enqueue(&arrival(1), &few, &mut random), ArrivalVerdict::Pass);
        let mut drawn = [0; 50];
        for _ in 0..5000 {
            let ArrivalVerdict::Inspect(position) = choke.on_enqueue(&arrival(1), &FULL, &mut random) else { panic!("no draw") };
            drawn[position as usize] += 1;
            assert_eq!(choke.on_enqueue(&shown(Some(1), position), &FULL, &mut random), ArrivalVerdict::DropBoth(position));
        }
        assert!(drawn.iter().all(|&n| (50..160).contains(&n)), "{drawn:?}");
    }

    #[test]
    fn red_decides_about_packets_that_pass_the_comparison() {
        let (mut choke, mut random) = (quick(&Params { min: 10.0, max: 90.0, max_p: 0.1, ..Params::default() }), Stream::named(1, "x"));
        let mut signals = 0;
        for _ in 0..100_000 {
            choke.on_enqueue(&arrival(1), &FULL, &mut random);
            signals += u32::from(choke.on_enqueue(&shown(Some(2), 0), &FULL, &mut random) == ArrivalVerdict::Signal);
        }
        // Half of 0.1, as gaps uniform on 1 to 20: 2p/(1 + p).
        assert!((f64::from(signals) / 1e5 - 0.1 / 1.05).abs() < 0.003, "{signals}");
        let above = Backlog { packets: 91, ..FULL };
        choke.on_enqueue(&arrival(1), &above, &mut random);
        assert_eq!(choke.on_enqueue(&shown(None, 0), &above, &mut random), ArrivalVerdict::Signal);
        choke.mark_above_max = false;
        assert_eq!(choke.on_enqueue(&shown(None, 0), &above, &mut random), ArrivalVerdict::Drop);
    }

    #[test]
    fn on_an_idle_link_the_average_decays_packet_by_packet() {
        let mut choke = Choke { weight: 0.25, average: 16.0, ..quick(&Params::default()) };
        // A packet of 1000 bytes takes 0.8 ms.
        let idle = Backlog { packets: 0, bytes: 0, idle_since: Some(Time::ZERO) };
        choke.update_average(Time::from_nanos(1_600_000), &idle);
        assert!((choke.average - 9.0).abs() < 1e-9);
    }

    #[test]
    fn a_rounded_average_ends_within_a_packet_above_the_queue() {
        for (rounded_average, expected) in [(false, 10.0), (true, 10.75)] {
            let mut choke = Choke { weight: 0.25, average: 40.0, rounded_average, ..quick(&Params::default()) };
            (0..200).for_each(|_| choke.update_average(Time::ZERO, &Backlog { packets: 10, ..FULL }));
            assert!((choke.average - expected).abs() < 1e-9, "{}", choke.average);
        }
    }

    #[test]
    fn the_weight_is_that_of_tc_and_bursts_that_tc_refuses_are_refused() {
        let choke = |min, burst| Params { min, max: 3.0 * min, burst, ..Params::default() }.build(&test_link());
        // tc-red(8)'s own example, 55 packets behind a min of 30: 26 <= (1 - (1 - W)^55) / W first holds for 1/32.
        assert_eq!(choke(30.0, 55).unwrap().weight, 1.0 / 32.0);
        // A burst of 20 packets ends below min with any weight; the other one ends above it.
        for (min, burst) in [(30.0, 20), (2.0, 1_000_000_000)] {
            assert_eq!(choke(min, burst).unwrap_err().field, "burst", "{min} {burst}");
        }
    }

    #[test]
    fn without_a_burst_every_pair_of_thresholds_has_a_weight() {
        for (min, max) in [(1.0, 2.0), (1.5, 1.6), (0.5, 1.0), (30.0, 90.0)] {
            let choke = Params { min, max, ..Params::default() }.build(&test_link()).unwrap();
            assert!(choke.weight > 0.0 && choke.weight <= 0.5, "{min} {max}");
        }
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let default = Params::default;
        for (params, field) in [
            (Params { min: -1.0, ..default() }, "min"),
            (Params { min: 20.0, max: 10.0, ..default() }, "max"),
            (Params { max_p: 0.0, ..default() }, "max_p"),
            (Params { burst: u32::MAX, ..default() }, "burst"),
        ] {
            assert_eq!(params.build(&test_link()).unwrap_err().field, field);
        }
    }

    /// `tc`'s defaults (iproute2 `q_choke.c`), in whole packets.
    /// `max` is a quarter of the limit, and `min` a third of `max`.
    #[test]
    fn thresholds_that_are_not_given_follow_the_limit_as_in_tc() {
        for (limit_packets, min, max) in [(100, 8.0, 25.0), (1000, 83.0, 250.0), (4, 1.0, 2.0)] {
            let choke = Params { min: 0.0, max: 0.0, ..Params::default() }.build(&Link { limit_packets, ..test_link() }).unwrap();
            assert_eq!((choke.min, choke.max), (min, max), "{limit_packets}");
        }
    }
}
