//! BLUE (feng-1999: Feng, Kandlur, Saha and Shin; ToN 10(4), 2002).
//!
//! One probability for all packets. It rises when packets are lost to a full queue (or when the queue is longer than
//! `length`) and falls when the link is idle, at most once in `freeze`. While the link stays idle, it falls once in every
//! `freeze`.

use crate::{Aqm, ArrivalVerdict, Backlog, Dropped, Link, PacketView, ParamError};
use sojourn_units::{Duration, Probability, Stream, Time, range};

/// The parameters of BLUE.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Rise of the probability at a loss, 0 to 1, default 0.02 (d1 of feng-1999#3).
    #[cfg_attr(feature = "serde", serde(alias = "d1"))]
    pub increment: f64,
    /// Fall of the probability at an idle link, 0 to 1, default 0.002 (d2 of feng-1999#3).
    #[cfg_attr(feature = "serde", serde(alias = "d2"))]
    pub decrement: f64,
    /// Shortest time between two changes.
    /// Range: at least 1 us; default `"100 ms"` (freeze_time of feng-1999#3).
    #[cfg_attr(feature = "serde", serde(alias = "freeze_time"))]
    pub freeze: Duration,
    /// Number of waiting packets above which an arrival counts as a loss.
    /// 0 (the default) counts real losses only (L of feng-1999#fig2).
    pub length: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params { increment: 0.02, decrement: 0.002, freeze: Duration::from_millis(100), length: 0 }
    }
}

impl Params {
    /// BLUE with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, _link: &Link) -> Result<Blue, ParamError> {
        let step = |v: f64| (0.0..=1.0).contains(&v);
        ParamError::unless(step(self.increment), "increment", &self.increment, "a probability, 0 to 1")?;
        ParamError::unless(step(self.decrement), "decrement", &self.decrement, "a probability, 0 to 1")?;
        range::interval("freeze", self.freeze)?;
        Ok(Blue { params: self.clone(), probability: 0.0, changed: Time::ZERO, now: Time::ZERO })
    }
}

/// The probability and the time of its last change.
#[derive(Clone, Debug)]
pub struct Blue {
    params: Params,
    probability: f64,
    changed: Time,
    now: Time,
}

impl Blue {
    fn on_loss(&mut self) {
        if self.now.since(self.changed) >= self.params.freeze {
            self.probability = (self.probability + self.params.increment).min(1.0);
            self.changed = self.now;
        }
    }

    /// The link has been idle since `since`.
    fn on_idle(&mut self, since: Time) {
        let freeze = self.params.freeze.as_nanos();
        let first = since.as_nanos().max(self.changed.as_nanos().saturating_add(freeze));
        let Some(span) = self.now.as_nanos().checked_sub(first) else { return };
        let steps = span / freeze;
        self.probability = (self.probability - self.params.decrement * (steps + 1) as f64).max(0.0);
        self.changed = Time::from_nanos(first + steps * freeze);
    }
}

impl Aqm for Blue {
    fn on_enqueue(&mut self, arrival: &PacketView, backlog: &Backlog, random: &mut Stream) -> ArrivalVerdict {
        self.now = arrival.now;
        if let Some(since) = backlog.idle_since {
            self.on_idle(since);
        }
        if self.params.length > 0 && backlog.packets > self.params.length {
            self.on_loss();
        }
        if random.unit() < self.probability { ArrivalVerdict::Signal } else { ArrivalVerdict::Pass }
    }

    fn on_drop(&mut self, dropped: Dropped) {
        if dropped != Dropped::Unmarkable {
            self.on_loss();
        }
    }

    fn probability(&self) -> Option<Probability> {
        Some(Probability::clamped(self.probability))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{test_link, test_packet};

    fn arrive(blue: &mut Blue, ms: u64, packets: u32, idle_ms: Option<u64>) {
        let idle_since = idle_ms.map(|ms| Time::ZERO + Duration::from_millis(ms));
        let backlog = Backlog { packets, bytes: 1000 * u64::from(packets), idle_since };
        let now = Time::ZERO + Duration::from_millis(ms);
        let arrival = PacketView { now, ..test_packet() };
        blue.on_enqueue(&arrival, &backlog, &mut Stream::named(1, "blue"));
    }

    #[test]
    fn losses_raise_and_idleness_lowers_the_probability_once_in_a_freeze() {
        let mut blue = Params::default().build(&test_link()).unwrap();
        for (ms, p) in [(100, 0.02), (150, 0.02), (199, 0.02), (200, 0.04)] {
            arrive(&mut blue, ms, 100, None);
            blue.on_drop(Dropped::NoRoom);
            assert!((blue.probability - p).abs() < 1e-12);
        }
        arrive(&mut blue, 250, 0, Some(210));
        assert!((blue.probability - 0.04).abs() < 1e-12);
        // Idle from 260 on: steps at 300, 400 and 500.
        arrive(&mut blue, 550, 0, Some(260));
        assert!((blue.probability - 0.034).abs() < 1e-12);
    }

    #[test]
    fn a_long_queue_counts_as_a_loss_if_length_is_set() {
        let mut blue = Params { length: 10, ..Params::default() }.build(&test_link()).unwrap();
        arrive(&mut blue, 100, 10, None);
        assert_eq!(blue.probability, 0.0);
        arrive(&mut blue, 100, 11, None);
        assert_eq!(blue.probability, 0.02);
    }
}
