//! Bursty loss: a Markov chain with a good and a bad state, each with a loss probability.
//! Sources: gilbert-1960, elliott-1963; netem `loss gemodel`.
//!
//! If lengths are times, the chain is independent of packets: lengths are exponential with their own stream, so all algorithms see the same
//! channel. If lengths are packets, the chain makes a step after each packet, as in netem: lengths are geometric. netem's `p` is 1/good,
//! `r` is 1/bad, `1-h` is `loss_bad`, `1-k` is `loss_good`. The first state is the good one.

use crate::error_rate;
use crate::{Effect, Impairment, ParamError, Per, Spell, Streams, Transit};
use sojourn_units::{Duration, Stream, Time, range};

/// Parameters of loss in bursts.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "GilbertElliott"))]
pub struct Params {
    /// The mean length of the good state: a time above zero, or 1 packet and more.
    pub good: Spell,
    /// The mean length of the bad state: a time if `good` is one, else packets.
    pub bad: Spell,
    /// The probability that a packet is lost in the good state, 0 to 1; default 0.
    #[cfg_attr(feature = "serde", serde(default))]
    pub loss_good: f64,
    /// The probability that a packet is lost in the bad state, 0 to 1; default 1.
    #[cfg_attr(feature = "serde", serde(default = "one"))]
    pub loss_bad: f64,
}

#[cfg(feature = "serde")]
fn one() -> f64 {
    1.0
}

fn spell(field: &'static str, spell: Spell) -> Result<(), ParamError> {
    match spell {
        Spell::Time(time) => range::positive_time(field, time),
        Spell::Packets(packets) => ParamError::unless((1.0..=1e12).contains(&packets), field, &spell, "a time, or 1 to 10^12 packets"),
    }
}

impl crate::Params for Params {
    type Impairment = GilbertElliott;
    const ONLY_DROPS: bool = true;

    fn example() -> Self {
        let (good, bad) = (Duration::from_secs(10), Duration::from_millis(200));
        Params { good: Spell::Time(good), bad: Spell::Time(bad), loss_good: 0.0, loss_bad: 0.3 }
    }

    fn takes_time(&self) -> bool {
        let [good, bad] = [self.loss_good, self.loss_bad];
        let lost = match (self.good, self.bad) {
            (Spell::Packets(in_good), Spell::Packets(in_bad)) => (good * in_good + bad * in_bad) / (in_good + in_bad),
            _ => good.min(bad), // packets of one instant are in one state
        };
        error_rate::is_often(lost, Per::Packet)
    }

    fn check(&self) -> Result<(), ParamError> {
        spell("good", self.good)?;
        spell("bad", self.bad)?;
        let (alike, expected) = match (self.good, self.bad) {
            (Spell::Time(_), bad) => (matches!(bad, Spell::Time(_)), "a time, as good is one"),
            (Spell::Packets(_), bad) => (matches!(bad, Spell::Packets(_)), "a number of packets, as good is one"),
        };
        ParamError::unless(alike, "bad", &self.bad, expected)?;
        error_rate::check("loss_good", self.loss_good)?;
        error_rate::check("loss_bad", self.loss_bad)
    }

    fn start(&self, streams: &Streams) -> GilbertElliott {
        let chain = match (self.good, self.bad) {
            (Spell::Packets(good), Spell::Packets(bad)) => Chain::Packets { end: [1.0 / good, 1.0 / bad] },
            (good, bad) => {
                let mean = [good, bad].map(|spell| if let Spell::Time(time) = spell { time } else { Duration::ZERO });
                let mut states = streams.role("states");
                let until = Time::ZERO + length(mean[0], &mut states);
                Chain::Time { mean, until, states }
            }
        };
        GilbertElliott { loss: [self.loss_good, self.loss_bad], bad: false, chain, random: streams.packets() }
    }
}

/// The state of loss in bursts.
#[derive(Clone, Debug)]
pub struct GilbertElliott {
    /// The loss probabilities of the good and the bad state.
    loss: [f64; 2],
    bad: bool,
    chain: Chain,
    random: Stream,
}

/// When states change. The first of a pair belongs to the good state.
#[derive(Clone, Debug)]
enum Chain {
    /// The probability that a state ends with a packet.
    Packets { end: [f64; 2] },
    /// The mean lengths, and the end of the current state.
    Time { mean: [Duration; 2], until: Time, states: Stream },
}

/// Draws the length of a state with this mean.
fn length(mean: Duration, states: &mut Stream) -> Duration {
    Duration::from_secs_f64(states.exponential(mean.as_secs_f64())) + Duration::from_nanos(1)
}

/// The number of mean lengths after which a state is forgotten.
/// It then depends on the earlier one with a probability below e^-64.
const FORGOTTEN: u64 = 64;

impl Impairment for GilbertElliott {
    fn on_packet(&mut self, packet: &Transit) -> Effect {
        if let Chain::Time { mean, until, states } = &mut self.chain {
            if packet.now.since(*until) > mean[0].max(mean[1]) * FORGOTTEN {
                let (good, bad) = (mean[0].as_secs_f64(), mean[1].as_secs_f64());
                self.bad = states.unit() * (good + bad) < bad;
                *until = packet.now + length(mean[usize::from(self.bad)], states);
            }
            while *until <= packet.now {
                self.bad = !self.bad;
                *until += length(mean[usize::from(self.bad)], states);
            }
        }
        // Always draws, so that results with different probabilities use the same random numbers.
        let lost = self.random.unit() < self.loss[usize::from(self.bad)];
        if let Chain::Packets { end } = &self.chain {
            self.bad ^= self.random.unit() < end[usize::from(self.bad)];
        }
        if lost { Effect::Drop } else { Effect::Pass }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params as _;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    /// Whether each of a million packets is lost; `gap` is the time between packets.
    fn lost(params: &Params, gap: Duration) -> Vec<bool> {
        params.check().unwrap();
        let mut made = params.start(&Streams::new(1, "ge".to_string()));
        let packet = |number: u64| Transit { now: Time::ZERO + gap * number, size: 1000, has_data: true, has_option: false };
        (0..1_000_000).map(|number| made.on_packet(&packet(number)) == Effect::Drop).collect()
    }

    fn share(lost: &[bool]) -> f64 {
        lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64
    }

    /// The numbers of runs of exactly 1, 2, 3, ... losses, and their mean length.
    fn runs(lost: &[bool]) -> (Vec<usize>, f64) {
        let lengths: Vec<usize> = lost.chunk_by(|a, b| a == b).filter(|run| run[0]).map(<[bool]>::len).collect();
        let mean = lengths.iter().sum::<usize>() as f64 / lengths.len() as f64;
        ((1..=5).map(|n| lengths.iter().filter(|&&length| length == n).count()).collect(), mean)
    }

    fn near(found: f64, exact: f64, part: f64) {
        assert!((found - exact).abs() <= part * exact, "{found}, expected {exact}");
    }

    #[test]
    fn the_share_of_losses_is_that_of_the_stationary_distribution() {
        let packets = Params { good: Spell::Packets(95.0), bad: Spell::Packets(5.0), loss_good: 0.01, loss_bad: 0.6 };
        near(share(&lost(&packets, Duration::ZERO)), 0.95 * 0.01 + 0.05 * 0.6, 0.03);
        let ms = |ms| Spell::Time(Duration::from_millis(ms));
        let times = Params { good: ms(300), bad: ms(100), loss_good: 0.0, loss_bad: 0.5 };
        near(share(&lost(&times, Duration::from_millis(10))), 0.25 * 0.5, 0.03);
        // Packets are so rare that no state lasts from one to the next.
        near(share(&lost(&times, Duration::from_secs(100))), 0.25 * 0.5, 0.03);
    }

    #[test]
    fn runs_of_losses_are_geometric() {
        let params = Params { good: Spell::Packets(50.0), bad: Spell::Packets(4.0), loss_good: 0.0, loss_bad: 1.0 };
        let (counts, mean) = runs(&lost(&params, Duration::ZERO));
        near(mean, 4.0, 0.03);
        let all = counts[0] as f64 / 0.25;
        counts.iter().enumerate().for_each(|(n, &count)| near(count as f64, all * 0.25 * 0.75f64.powi(n as i32), 0.06));
    }

    #[test]
    fn the_bad_state_lasts_its_time_whatever_packets_come() {
        let ms = |ms| Spell::Time(Duration::from_millis(ms));
        let params = Params { good: ms(1000), bad: ms(200), loss_good: 0.0, loss_bad: 1.0 };
        let fine = lost(&params, Duration::from_millis(1));
        near(runs(&fine).1, 200.0, 0.1);
        // Every tenth packet meets the same states.
        let coarse = lost(&params, Duration::from_millis(10));
        assert!(fine.iter().step_by(10).zip(&coarse).all(|(fine, coarse)| fine == coarse));
    }

    /// Tests that a state has a length. Otherwise the next packet could never come.
    #[test]
    fn a_state_lasts_a_nanosecond_at_least() {
        let mut states = Stream::named(1, "states");
        let lengths: Vec<Duration> = (0..100_000).map(|_| length(Duration::from_nanos(3), &mut states)).collect();
        assert_eq!(lengths.iter().min(), Some(&Duration::from_nanos(1)));
        // One plus the whole nanoseconds of an exponential time with mean m: 1 + 1/(e^(1/m) - 1), which is 3.53 for 3. Rounding to the
        // nearest
        // would yield 4.
        let mean = lengths.iter().map(|length| length.as_nanos() as f64).sum::<f64>() / 100_000.0;
        assert!((3.4..=4.1).contains(&mean), "{mean}");
    }

    #[test]
    fn states_last_times_or_packets() {
        let error = |good, bad| Params { good, bad, ..Params::example() }.check().unwrap_err().field;
        assert_eq!(error(Spell::Packets(2.0), Spell::Time(Duration::from_millis(1))), "bad");
        assert_eq!(error(Spell::Packets(0.5), Spell::Packets(1.0)), "good");
        assert_eq!(error(Spell::Time(Duration::ZERO), Spell::Packets(1.0)), "good");
    }
}
