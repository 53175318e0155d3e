//! `CHOKeR`: `CHOKe` with a load-dependent number of draws (after Lu, Du and Liu 2014).
//!
//! An arriving packet is compared with packets drawn from the queue. The first one of its own flow is dropped together with it. While the
//! average queue is above a band, the number of draws rises in steps of several sizes. While it is below, the number falls in steps of one
//! size. The paper of 2014 was not available: the form of the steps follows its abstract, and their sizes are ours.

use crate::{Aqm, ArrivalVerdict, Backlog, Link, Needs, PacketView, ParamError};
use sojourn_units::{Bytes, Duration, Stream, range};

/// The parameters of `CHOKeR`.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Target queuing time, above 0, default 10 ms (fuzzyrtt-2024#4).
    pub target: Duration,
    /// Average queue below which no packet is drawn, in targets, default 0.5.
    pub idle: f64,
    /// Average queue below which the number of draws falls, in targets.
    /// Range: from `idle` up; default 0.75.
    pub low: f64,
    /// Average queue above which the number of draws rises, in targets.
    /// Range: from `low` up; default 1.25.
    pub high: f64,
    /// Weight of the newest queue length in the average, above 0 and up to 1, default 0.002.
    pub weight: f64,
    /// Draws that one step at an arrival adds, above 0 and up to 100, default 0.002.
    pub rise: f64,
    /// Draws that one step at an arrival removes, above 0 and up to 100, default 0.001.
    pub fall: f64,
    /// Additional steps at an arrival when the average is at the queue's limit.
    /// Between `high` and the limit they grow in proportion. Range: up to 1000; default 4.
    pub steps: u32,
    /// Packet size that converts the target to packets; `"0 B"` (the default) is the link's.
    pub packet: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            target: Duration::from_millis(10),
            idle: 0.5,
            low: 0.75,
            high: 1.25,
            weight: 0.002,
            rise: 0.002,
            fall: 0.001,
            steps: 4,
            packet: Bytes(0),
        }
    }
}

/// The largest number of packets drawn for one arrival.
const MAX_DRAWS: f64 = 64.0;

impl Params {
    /// `CHOKeR` with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<Choker, ParamError> {
        range::target("target", self.target)?;
        ParamError::unless((0.0..=1e6).contains(&self.idle), "idle", &self.idle, "a number of targets, 0 to 1000000")?;
        ParamError::unless(self.low >= self.idle && self.low <= 1e6, "low", &self.low, "a number of targets from idle up")?;
        ParamError::unless(self.high >= self.low && self.high <= 1e6, "high", &self.high, "a number of targets from low up")?;
        ParamError::unless(self.weight > 0.0 && self.weight <= 1.0, "weight", &self.weight, "a number above 0, up to 1")?;
        ParamError::unless(self.rise > 0.0 && self.rise <= 100.0, "rise", &self.rise, "a number above 0, up to 100")?;
        ParamError::unless(self.fall > 0.0 && self.fall <= 100.0, "fall", &self.fall, "a number above 0, up to 100")?;
        ParamError::unless(self.steps <= 1000, "steps", &self.steps, "a whole number up to 1000")?;
        let packet = f64::from(link.mean_packet_or("packet", self.packet)?);
        let target = self.target.as_secs_f64() * link.rate.packets_per_sec(packet);
        let high = self.high * target;
        Ok(Choker {
            idle: self.idle * target,
            low: self.low * target,
            high,
            room: (f64::from(link.limit_packets) - high).max(1.0),
            params: self.clone(),
            average: 0.0,
            draws: 0.0,
            remaining: 0,
        })
    }
}

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct Choker {
    /// The thresholds in packets.
    idle: f64,
    low: f64,
    high: f64,
    /// The span from `high` to the queue's limit, in packets.
    room: f64,
    params: Params,
    average: f64,
    /// Packets to draw for an arrival.
    /// The fraction is the probability of one more draw.
    draws: f64,
    /// Draws that remain for the present arrival.
    remaining: u32,
}

impl Choker {
    fn adapt(&mut self) {
        let Params { rise, fall, steps, .. } = self.params;
        if self.average < self.idle {
            self.draws = 0.0;
        } else if self.average > self.high {
            let further = libm::floor(f64::from(steps) * (self.average - self.high) / self.room);
            self.draws = (self.draws + (1.0 + further) * rise).min(MAX_DRAWS);
        } else if self.average < self.low {
            self.draws = (self.draws - fall).max(0.0);
        }
    }

    fn draw(&mut self, backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
        if self.remaining == 0 || backlog.packets == 0 {
            return ArrivalVerdict::Pass;
        }
        self.remaining -= 1;
        ArrivalVerdict::Inspect(random.below(u64::from(backlog.packets)) as u32)
    }
}

impl Aqm for Choker {
    fn on_enqueue(&mut self, arrival: &PacketView, backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
        match arrival.drawn {
            Some(drawn) if drawn.flow == Some(arrival.flow) => return ArrivalVerdict::DropBoth(drawn.position),
            Some(_) => return self.draw(backlog, random),
            None => {}
        }
        self.average += self.params.weight * (f64::from(backlog.packets) - self.average);
        self.adapt();
        let whole = libm::floor(self.draws);
        self.remaining = whole as u32 + u32::from(random.unit() < self.draws - whole);
        self.draw(backlog, random)
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
    fn shown(flow: u32, position: u32) -> PacketView {
        PacketView { drawn: Some(Drawn { position, flow: Some(flow) }), ..arrival(1) }
    }

    fn backlog(packets: u32) -> Backlog {
        Backlog { packets, bytes: 1000 * u64::from(packets), idle_since: None }
    }

    #[test]
    fn draws_rise_in_steps_of_several_sizes_and_fall_in_steps_of_one_size() {
        // The target is 12.5 packets, the band is 9.375 to 15.625, the limit 100.
        let mut c = Params::default().build(&test_link()).unwrap();
        let mut draws = |average: f64| {
            c.average = average;
            c.adapt();
            (c.draws * 1e6).round() / 1e6
        };
        assert_eq!([draws(12.0), draws(16.0), draws(16.0)], [0.0, 0.002, 0.004]);
        assert_eq!([draws(58.0), draws(15.0), draws(9.0), draws(6.0)], [0.010, 0.010, 0.009, 0.0]);
    }

    #[test]
    fn the_number_of_draws_is_exact_until_one_is_of_the_same_flow() {
        let (mut c, mut random) = (Params::default().build(&test_link()).unwrap(), Stream::named(1, "x"));
        let mut inspected = 0;
        for _ in 0..10_000 {
            (c.average, c.draws) = (12.0, 2.25);
            let mut verdict = c.on_enqueue(&arrival(1), &backlog(12), &mut random);
            while let ArrivalVerdict::Inspect(position) = verdict {
                assert!(position < 12);
                inspected += 1;
                verdict = c.on_enqueue(&shown(2, position), &backlog(12), &mut random);
            }
            assert_eq!(verdict, ArrivalVerdict::Pass);
        }
        assert!((22_200..22_800).contains(&inspected), "{inspected}");
        let ArrivalVerdict::Inspect(position) = c.on_enqueue(&arrival(1), &backlog(12), &mut random) else { panic!("no draw") };
        assert_eq!(c.on_enqueue(&shown(1, position), &backlog(12), &mut random), ArrivalVerdict::DropBoth(position));
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let default = Params::default;
        for (params, field) in [
            (Params { target: Duration::ZERO, ..default() }, "target"),
            (Params { low: 0.1, ..default() }, "low"),
            (Params { high: 0.6, ..default() }, "high"),
            (Params { weight: 0.0, ..default() }, "weight"),
            (Params { rise: f64::NAN, ..default() }, "rise"),
            (Params { steps: 9999, ..default() }, "steps"),
        ] {
            assert_eq!(params.build(&test_link()).unwrap_err().field, field);
        }
    }
}
