//! Copa (arun-2018): the paced window moves towards the rate 1/(delta d).
//! d is the queuing delay. If the queue does not drain, other flows fill it, and delta falls while there are no losses.

use crate::max_filter::MaxFilter;
use crate::silence::Silence;
use crate::{Ack, CongestionController, CongestionEvent, Event, Needs, Pacing, ParamError, Start, Variable, Window};
use alloc::boxed::Box;
use sojourn_units::{Duration, Time};

/// The traceable variables.
pub(crate) const VARIABLES: &[Variable<Copa>] = &[
    Variable::new("delta", "", "the target rate is 1 segment / (delta x queuing delay)", |cc| cc.0.delta),
    Variable::new("velocity", "", "the factor on the window's change of 1/delta per round trip", |cc| cc.0.velocity),
];

/// Parameters of Copa.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// The parameter delta, above 0 and at most 10; default 0.5 (arun-2018).
    /// Each flow keeps 1/delta segments queued on average.
    pub delta: f64,
    /// Whether it switches to competitive mode; default true (arun-2018).
    /// It does so next to flows that fill the queue.
    pub competitive: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params { delta: 0.5, competitive: true }
    }
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<Copa, ParamError> {
        ParamError::unless(self.delta > 0.0 && self.delta <= 10.0, "delta", &self.delta, "a number above 0 and at most 10")?;
        Ok(Copa(Box::new(State {
            params: self.clone(),
            cwnd: start.window,
            delta: self.delta,
            slow_start: true,
            velocity: 1.0,
            rising: true,
            same_direction: 0,
            cwnd_at_round: start.window,
            round_end: 0,
            srtt: Duration::ZERO,
            fastest: MaxFilter::default(),
            standing: MaxFilter::default(),
            slowest: MaxFilter::default(),
            last_empty: Time::ZERO,
            silence: Silence::default(),
            lost_in_round: false,
        })))
    }
}

/// The lifetime of the minimum RTT (arun-2018).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// Round trips in which the queue is nearly empty once, unless others fill it.
/// Source: arun-2018. Also the round trips of the maximum RTT.
const EMPTY_ROUNDS: u64 = 5;
const SLOWEST_ROUNDS: u64 = 4;
/// A queue up to this fraction of the maximum queuing delay is nearly empty (arun-2018).
const NEARLY_EMPTY: f64 = 0.1;
/// The round trips in the same direction before the velocity doubles (arun-2018).
const STEADY_ROUNDS: u32 = 3;
/// The minimum window in segments; the pacing rate in windows per round trip (arun-2018).
const MIN_CWND: f64 = 2.0;
const PACE: f64 = 2.0;

/// Copa.
#[derive(Clone, Debug)]
pub struct Copa(Box<State>);

#[derive(Clone, Debug)]
struct State {
    params: Params,
    cwnd: f64,
    delta: f64,
    slow_start: bool,
    velocity: f64,
    rising: bool,
    same_direction: u32,
    cwnd_at_round: f64,
    round_end: u64,
    srtt: Duration,
    /// The maximum 1/RTT of ten seconds, and of half a round trip.
    /// Also the maximum RTT of four round trips.
    fastest: MaxFilter,
    standing: MaxFilter,
    slowest: MaxFilter,
    /// The last time at which the queue was nearly empty, excluding pauses since then.
    last_empty: Time,
    silence: Silence,
    lost_in_round: bool,
}

impl State {
    /// The minimum RTT of half a round trip in seconds; infinite before the first sample.
    fn standing_rtt(&self) -> f64 {
        1.0 / self.standing.max()
    }

    fn observe(&mut self, now: Time, rtt: Duration) {
        let (at, seconds) = (now.as_nanos(), rtt.as_secs_f64());
        let round = self.srtt.max(rtt).as_nanos();
        self.fastest.update(MIN_RTT_WINDOW.as_nanos(), at, 1.0 / seconds);
        self.standing.update(round / 2, at, 1.0 / seconds);
        self.slowest.update(SLOWEST_ROUNDS * round, at, seconds);
        let least = 1.0 / self.fastest.max();
        if self.standing_rtt() - least <= NEARLY_EMPTY * (self.slowest.max() - least) || self.last_empty == Time::ZERO {
            self.last_empty = now;
        }
    }

    /// Updates delta, direction and velocity once per round trip (arun-2018).
    fn end_round(&mut self, now: Time) {
        let others_fill = self.params.competitive && now.since(self.last_empty) > self.srtt * EMPTY_ROUNDS;
        self.delta = match (others_fill, self.lost_in_round) {
            (false, _) => self.params.delta,
            (true, true) => (2.0 * self.delta).min(self.params.delta),
            (true, false) => 1.0 / (1.0 / self.delta + 1.0),
        };
        self.lost_in_round = false;
        let rising = self.cwnd > self.cwnd_at_round;
        if rising == self.rising {
            self.same_direction += 1;
            if self.same_direction >= STEADY_ROUNDS {
                self.velocity *= 2.0;
            }
        } else {
            (self.rising, self.same_direction, self.velocity) = (rising, 0, 1.0);
        }
        self.velocity = self.velocity.min(self.cwnd * self.delta).max(1.0);
        self.cwnd_at_round = self.cwnd;
    }

    /// Changes the direction of the window.
    /// A velocity reached in the other direction is lost (mvfst `changeDirection`).
    fn turn(&mut self, rising: bool) {
        if rising != self.rising && self.velocity > 1.0 {
            (self.rising, self.same_direction, self.velocity) = (rising, 0, 1.0);
            self.cwnd_at_round = self.cwnd;
        }
    }

    fn move_window(&mut self, ack: &Ack) {
        let standing = self.standing_rtt();
        let delay = standing - 1.0 / self.fastest.max();
        let below = delay <= 0.0 || self.cwnd / standing <= 1.0 / (self.delta * delay);
        let may_grow = !ack.in_recovery && ack.cwnd_limited;
        if self.slow_start && below {
            self.cwnd += if may_grow { ack.acked } else { 0.0 };
            return;
        }
        self.slow_start = false;
        self.turn(below);
        let step = self.velocity * ack.acked / (self.delta * self.cwnd);
        if !below {
            self.cwnd = (self.cwnd - step).max(MIN_CWND);
        } else if may_grow {
            self.cwnd += step.min(ack.acked);
        }
    }
}

impl CongestionController for Copa {
    fn on_ack(&mut self, ack: &Ack) {
        let state = &mut *self.0;
        state.srtt = ack.srtt;
        state.silence.on_ack(ack, None);
        if let Some(rtt) = ack.rtt.filter(|&rtt| rtt > Duration::ZERO) {
            state.observe(ack.now, rtt);
        }
        if state.standing.max() <= 0.0 {
            return;
        }
        if ack.snd_una > state.round_end {
            state.end_round(ack.now);
            state.round_end = ack.snd_max;
        }
        state.move_window(ack);
    }

    /// Losses count if others fill the queue.
    fn on_congestion(&mut self, _event: &CongestionEvent) {
        self.0.lost_in_round = true;
    }

    fn on_event(&mut self, event: &Event) {
        let state = &mut *self.0;
        match event {
            Event::IdleEnd { now, .. } => state.silence.on_idle_end(*now, Some(&mut state.last_empty)),
            _ => event.apply(self),
        }
    }

    fn on_rto(&mut self, _now: Time, _window: f64) {
        let state = &mut *self.0;
        (state.cwnd, state.velocity, state.same_direction) = (1.0, 1.0, 0);
        state.lost_in_round = true;
    }

    fn window(&self) -> Window {
        Window { cwnd: self.0.cwnd, ssthresh: f64::INFINITY }
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.0.cwnd = cwnd;
    }

    fn limit_of_flight(&self, _flight: f64, _now: Time) -> f64 {
        f64::INFINITY
    }

    fn memory(&self) -> usize {
        size_of::<State>()
    }

    fn needs(&self) -> Needs {
        Needs { pacing: true, ..Needs::default() }
    }

    fn pacing(&self) -> Option<Pacing> {
        let state = &*self.0;
        (state.standing.max() > 0.0).then(|| Pacing::of_quantum(PACE * state.cwnd * state.standing.max(), 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// The window after `rounds` round trips on a path of 100 ms and `bdp` segments.
    fn settled(delta: f64, bdp: f64, rounds: u64) -> f64 {
        let mut cc = Params { delta, competitive: false }.build(Start::new(10.0, 1e9)).unwrap();
        let mut now = Time::ZERO;
        for round in 0..rounds {
            let rtt = Duration::from_secs_f64(0.1 * (cc.cwnd() / bdp).max(1.0));
            let segments = cc.cwnd() as u64;
            for i in 0..segments {
                now += rtt / segments;
                let (snd_una, snd_max) = (round * 1000 + i + 1, round * 1000 + 999);
                cc.on_ack(&Ack { now, rtt: Some(rtt), srtt: rtt, snd_una, snd_max, ..Ack::ONE });
            }
        }
        cc.cwnd()
    }

    #[test]
    fn about_one_over_delta_segments_stay_in_the_queue() {
        // At the target rate the queue has 1/delta segments. The window varies around that by a few.
        for (delta, queued) in [(0.5, 2.0), (0.1, 10.0)] {
            let window = settled(delta, 50.0, 300);
            assert!((window - 50.0 - queued).abs() < 6.0 + queued, "{delta}: {window}");
        }
    }

    /// One ACK per round trip, each with its RTT in ms.
    struct Rounds {
        cc: Copa,
        now: Time,
        round: u64,
    }

    impl Rounds {
        fn new(window: f64) -> Self {
            let cc = Params::default().build(Start::new(window, 1e9)).unwrap();
            Rounds { cc, now: Time::ZERO, round: 0 }
        }

        fn see(&mut self, ms: u64, acked: f64) -> &State {
            let rtt = Duration::from_millis(ms);
            self.now += rtt;
            self.round += 1;
            self.cc.on_ack(&Ack { now: self.now, rtt: Some(rtt), srtt: rtt, acked, snd_una: self.round, snd_max: self.round, ..Ack::ONE });
            &self.cc.0
        }

        /// 1/delta after each of `rounds` rounds with this RTT.
        fn targets(&mut self, ms: u64, rounds: usize) -> Vec<f64> {
            (0..rounds).map(|_| 1.0 / self.see(ms, 1.0).delta).collect()
        }

        fn lose(&mut self) {
            self.cc.on_congestion(&CongestionEvent { now: self.now, window: 10.0, signal: crate::Signal::Loss });
        }
    }

    /// Tests arun-2018, section 2.2: AIMD on 1/delta.
    /// It applies while the queue has not been nearly empty for five round trips.
    #[test]
    fn where_others_fill_the_queue_its_target_grows_by_a_segment_a_round_trip_and_halves_for_a_loss() {
        let mut rounds = Rounds::new(10.0);
        rounds.see(100, 1.0);
        // 100 ms were measured 750 ms before the sixth round of 150, and 900 ms before the next.
        for (round, target) in rounds.targets(150, 8).into_iter().enumerate() {
            let expected = 2.0 + (round as f64 - 4.0).max(0.0);
            assert!((target - expected).abs() < 1e-9, "{round}: {target}");
        }
        let halved = [0; 3].map(|_| {
            rounds.lose();
            1.0 / rounds.see(150, 1.0).delta
        });
        assert!((halved[0] - 2.5).abs() < 1e-9, "{halved:?}");
        assert_eq!(halved[1..], [2.0, 2.0], "it is never less than at first");
        assert!(rounds.targets(150, 3)[2] > 4.9);
        assert_eq!(rounds.targets(105, 2), [2.0, 2.0], "a tenth of 50 ms is nearly empty");
    }

    #[test]
    fn the_greatest_round_trip_time_counts_for_four_round_trips() {
        let mut rounds = Rounds::new(10.0);
        rounds.see(100, 1.0);
        rounds.see(200, 1.0);
        // 10 ms are a tenth of 100 for four rounds. Five rounds later they are a queue that others fill.
        let targets = rounds.targets(110, 12);
        let changed = targets.iter().position(|&target| target > 2.0);
        assert_eq!(changed, Some(9), "{targets:?}");
    }

    #[test]
    fn the_velocity_doubles_each_round_after_three_in_one_direction_and_ends_with_a_turn() {
        let mut rounds = Rounds::new(200.0);
        rounds.cc.0.slow_start = false;
        // 10 acknowledged segments are 10/(0.5 200) = 0.1 segments per velocity. The first round has no predecessor.
        let velocities: Vec<f64> = (0..8).map(|_| rounds.see(100, 10.0).velocity).collect();
        assert_eq!(velocities, [1.0, 1.0, 1.0, 1.0, 2.0, 4.0, 8.0, 16.0]);
        let before = rounds.cc.cwnd();
        assert!(before > 200.0);
        assert_eq!(rounds.see(500, 10.0).velocity, 1.0);
        let step = 10.0 / (0.5 * before);
        assert!((before - rounds.cc.cwnd() - step).abs() < 1e-9);
    }

    #[test]
    fn a_timeout_ends_the_velocity_and_leaves_one_segment() {
        let mut rounds = Rounds::new(200.0);
        rounds.cc.0.slow_start = false;
        (0..8).for_each(|_| _ = rounds.see(100, 10.0));
        rounds.cc.on_rto(rounds.now, 200.0);
        assert_eq!((rounds.cc.cwnd(), rounds.cc.0.velocity), (1.0, 1.0));
        assert!(rounds.cc.0.lost_in_round);
    }
}
