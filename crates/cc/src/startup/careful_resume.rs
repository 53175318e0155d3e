//! Careful Resume (rfc9959): jumps to half of an earlier connection's window.
//! It validates the window, and retreats if it is too large.
//!
//! | phase | here |
//! |---|---|
//! | Reconnaissance | slow start, until the initial data is acknowledged and the path is confirmed |
//! | Unvalidated | the window is `jump_cwnd`, paced over a round trip |
//! | Validating | slow start from the data in flight, until the last unvalidated segment is acknowledged |
//! | Safe Retreat | half of `PipeSize`, without growth, until the last unvalidated segment is acknowledged |
//! | Normal | the controller continues alone |
//!
//! It follows version 24 of the draft, which became the RFC; sections are those of the draft. Observing is the scenario's task: it supplies
//! what an earlier connection saved.
//!
//! `PipeSize` counts the segments in flight at the jump and the unvalidated ones that are acknowledged. In the draft's example of a loss
//! these are 29 + 34 = 63 (draft-ietf-tsvwg-careful-resume#B.4). The acknowledgments of the segments in flight at the jump thus add nothing.

use super::{Phase, StartUp, StartUpNeeds};
use crate::{Ack, CongestionEvent, Pacing, Window};
use sojourn_units::{Duration, ParamError, Time};

/// The window in segments below which the window is not reset without congestion (rfc6928#2).
const IW: f64 = 10.0;
/// The largest RTT over the saved one that confirms the path.
/// Source: draft-ietf-tsvwg-careful-resume#4.2.1.
const LONGEST_RTT: u64 = 10;
/// The smallest is the saved one over this (draft-ietf-tsvwg-careful-resume#3.2).
const SHORTEST_RTT: u64 = 2;

/// Parameters of Careful Resume.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// The window that an earlier connection used, in segments, above 0; absent if none is saved.
    /// Source: draft-ietf-tsvwg-careful-resume#3.1. Without it, start-up is classic.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub saved_cwnd: Option<f64>,
    /// The minimum RTT of the earlier connection; absent if none is saved.
    /// Source: draft-ietf-tsvwg-careful-resume#3.1. Without it, start-up is classic.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub saved_rtt: Option<Duration>,
    /// The time since they were saved, at the start of the connection; default "0 s".
    pub age: Duration,
    /// The age after which they must not be used; default "300 s".
    /// Source: draft-ietf-tsvwg-careful-resume#4.3.1, which leaves it to the sender and names the five minutes of rfc7661#4.
    pub lifetime: Duration,
    /// The largest window of the jump in segments, above 0; absent if there is no limit.
    /// Source: draft-ietf-tsvwg-careful-resume#3.3, `max_jump`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub max_jump: Option<f64>,
    /// The part of `PipeSize` that is the threshold after a retreat, 0.5 to 1; default 0.5.
    /// Source: draft-ietf-tsvwg-careful-resume#3.5.
    pub beta: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params { saved_cwnd: None, saved_rtt: None, age: Duration::ZERO, lifetime: Duration::from_secs(300), max_jump: None, beta: 0.5 }
    }
}

impl Params {
    pub(crate) fn check(&self) -> Result<(), ParamError> {
        for (field, window) in [("saved_cwnd", self.saved_cwnd), ("max_jump", self.max_jump)] {
            let window = window.unwrap_or(1.0);
            ParamError::unless(window > 0.0 && window.is_finite(), field, &window, "a number of segments above 0")?;
        }
        let rtt = self.saved_rtt.unwrap_or(Duration::MAX);
        ParamError::unless(rtt > Duration::ZERO, "saved_rtt", &rtt, "a time above 0 s")?;
        ParamError::unless((0.5..=1.0).contains(&self.beta), "beta", &self.beta, "a fraction, 0.5 to 1")
    }

    pub(crate) fn start(&self, _paced: bool) -> CarefulResume {
        let saved = self.saved_cwnd.zip(self.saved_rtt).filter(|_| self.age <= self.lifetime);
        let jump_cwnd = |cwnd: f64| (cwnd / 2.0).min(self.max_jump.unwrap_or(f64::INFINITY));
        let state = saved.map_or(State::Normal, |_| State::Reconnaissance { initial_end: None });
        let (saved_cwnd, saved_rtt) = saved.unwrap_or_default();
        CarefulResume { jump_cwnd: jump_cwnd(saved_cwnd), saved_rtt, beta: self.beta, state, pipe: Pipe::default(), pacing: None }
    }
}

/// The validated capacity.
#[derive(Clone, Copy, Default, Debug)]
struct Pipe {
    /// The segments in flight at the jump.
    at_jump: f64,
    /// The segments acknowledged since.
    acked: f64,
}

impl Pipe {
    /// `PipeSize`. The first segments acknowledged after the jump are those in flight before it.
    fn size(&self) -> f64 {
        self.acked.max(self.at_jump)
    }
}

/// The phase with its data.
#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Reconnaissance {
        /// The byte after the initial data, which the first ACK finds sent.
        initial_end: Option<u64>,
    },
    Unvalidated {
        since: Time,
        /// The first byte that is unvalidated.
        first: u64,
    },
    Validating {
        /// The byte after the last unvalidated segment.
        end: u64,
    },
    SafeRetreat {
        cwnd: f64,
        /// The byte after the last unvalidated segment; `None` before the next ACK.
        end: Option<u64>,
    },
    Normal,
}

/// Careful Resume.
#[derive(Clone, Debug)]
pub struct CarefulResume {
    jump_cwnd: f64,
    saved_rtt: Duration,
    beta: f64,
    state: State,
    pipe: Pipe,
    pacing: Option<Pacing>,
}

impl CarefulResume {
    /// Whether an RTT is too small for the path on which the window was saved.
    fn is_short(&self, rtt: Duration) -> bool {
        rtt <= Duration::from_nanos(self.saved_rtt.as_nanos() / SHORTEST_RTT)
    }

    fn is_path_confirmed(&self, rtt_min: Duration) -> bool {
        !self.is_short(rtt_min) && rtt_min <= self.saved_rtt * LONGEST_RTT
    }

    /// The Reconnaissance Phase (draft-ietf-tsvwg-careful-resume#3.2).
    /// A sender that has too little data remains in it.
    fn reconnoiter(&mut self, initial_end: Option<u64>, ack: &Ack, window: &mut Window) -> Phase {
        let end = initial_end.unwrap_or(ack.snd_max);
        self.state = State::Reconnaissance { initial_end: Some(end) };
        if ack.snd_una < end || !ack.cwnd_limited || ack.in_recovery {
            return Phase::SlowStart;
        }
        if !self.is_path_confirmed(ack.rtt_min) || window.cwnd >= self.jump_cwnd.min(window.ssthresh) {
            self.state = State::Normal;
            return Phase::Over;
        }
        self.pipe = Pipe { at_jump: ack.in_flight - ack.acked, acked: 0.0 };
        self.state = State::Unvalidated { since: ack.now, first: ack.snd_max };
        window.cwnd = self.jump_cwnd;
        self.pace(ack);
        Phase::Hold
    }

    /// Sets the pacing rate of `jump_cwnd` over the current RTT.
    /// Source: draft-ietf-tsvwg-careful-resume#4.3.2.
    fn pace(&mut self, ack: &Ack) {
        let rtt = ack.rtt.unwrap_or(ack.srtt).as_secs_f64();
        self.pacing = (rtt > 0.0).then(|| Pacing::of_quantum(self.jump_cwnd / rtt, 1.0));
    }

    /// The Unvalidated Phase (draft-ietf-tsvwg-careful-resume#3.3).
    fn send_unvalidated(&mut self, since: Time, first: u64, ack: &Ack, window: &mut Window) -> Phase {
        if ack.rtt.is_some_and(|rtt| self.is_short(rtt)) {
            return self.retreat(window);
        }
        self.pace(ack);
        let all_sent = ack.in_flight + 1.0 > window.cwnd;
        if !all_sent && ack.snd_una <= first && ack.now.since(since) <= ack.rtt.unwrap_or(ack.srtt) {
            return Phase::Hold;
        }
        self.pacing = None;
        let flight_size = ack.in_flight - ack.acked;
        if flight_size < IW || flight_size <= self.pipe.size() {
            window.cwnd = self.pipe.size().max(IW);
            self.state = State::Normal;
            return Phase::Over;
        }
        window.cwnd = flight_size;
        self.state = State::Validating { end: ack.snd_max };
        Phase::SlowStart
    }

    /// Enters the Safe Retreat Phase (draft-ietf-tsvwg-careful-resume#3.5).
    fn retreat(&mut self, window: &mut Window) -> Phase {
        let cwnd = (self.pipe.size() / 2.0).max(Window::MIN_CWND);
        let end = if let State::Validating { end } = self.state { Some(end) } else { None };
        (self.state, self.pacing) = (State::SafeRetreat { cwnd, end }, None);
        *window = Window { cwnd, ssthresh: cwnd };
        Phase::Hold
    }

    /// The Safe Retreat Phase. Loss recovery ends before it.
    fn drain(&mut self, cwnd: f64, end: Option<u64>, ack: &Ack, window: &mut Window) -> Phase {
        let end = end.unwrap_or(ack.snd_max);
        self.state = State::SafeRetreat { cwnd, end: Some(end) };
        window.cwnd = window.cwnd.min(cwnd);
        if ack.snd_una < end || ack.in_recovery {
            return Phase::Hold;
        }
        window.ssthresh = (self.pipe.size() * self.beta).max(Window::MIN_CWND);
        self.state = State::Normal;
        Phase::Over
    }
}

impl StartUp for CarefulResume {
    fn on_ack(&mut self, ack: &Ack, window: &mut Window) -> Phase {
        if !matches!(self.state, State::Reconnaissance { .. }) {
            self.pipe.acked += ack.acked;
        }
        match self.state {
            State::Reconnaissance { initial_end } => self.reconnoiter(initial_end, ack, window),
            State::Unvalidated { since, first } => self.send_unvalidated(since, first, ack, window),
            State::Validating { end } if ack.snd_una < end => Phase::SlowStart,
            State::SafeRetreat { cwnd, end } => self.drain(cwnd, end, ack, window),
            State::Validating { .. } | State::Normal => {
                self.state = State::Normal;
                Phase::Over
            }
        }
    }

    fn on_congestion(&mut self, _event: &CongestionEvent, reduced: &mut Window) -> bool {
        let unvalidated = matches!(self.state, State::Unvalidated { .. } | State::Validating { .. });
        if unvalidated {
            self.retreat(reduced);
        } else {
            self.state = State::Normal;
        }
        unvalidated
    }

    fn pacing(&self) -> Option<Pacing> {
        self.pacing
    }

    fn needs(&self) -> StartUpNeeds {
        StartUpNeeds { pacing: self.state != State::Normal, losses: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;

    const RTT: Duration = Duration::from_millis(50);

    /// A sender of the draft's examples (draft-ietf-tsvwg-careful-resume#B).
    /// A segment has one byte. The saved window has 300 segments, and 29 are in flight at the jump.
    struct Sender {
        state: CarefulResume,
        window: Window,
        una: u64,
        next: u64,
        ms: u64,
    }

    impl Sender {
        fn new(params: Params) -> Sender {
            let window = Window { cwnd: 10.0, ssthresh: 1e9 };
            Sender { state: params.start(false), window, una: 0, next: 10, ms: 50 }
        }

        /// An ACK of `segments`, after which the sender sends up to `next`.
        fn ack(&mut self, segments: u64, next: u64) -> Phase {
            self.ack_of(segments, next, |ack| ack)
        }

        fn ack_of(&mut self, segments: u64, next: u64, change: impl Fn(Ack) -> Ack) -> Phase {
            let in_flight = (self.next - self.una) as f64;
            self.una += segments;
            let now = Time::ZERO + Duration::from_millis(self.ms);
            let (rtt, snd_una, snd_max) = (Some(RTT), self.una, self.next);
            let ack = Ack { now, acked: segments as f64, rtt, srtt: RTT, rtt_min: RTT, in_flight, snd_una, snd_max, ..Ack::ONE };
            let phase = self.state.on_ack(&change(ack), &mut self.window);
            if phase == Phase::SlowStart {
                self.window.cwnd += segments as f64;
            }
            self.next = next;
            phase
        }

        fn lose(&mut self) -> bool {
            let event = CongestionEvent { now: Time::ZERO, window: self.window.cwnd, signal: Signal::Loss };
            let mut reduced = Window { cwnd: self.window.cwnd / 2.0, ssthresh: self.window.cwnd / 2.0 };
            let goes_on = self.state.on_congestion(&event, &mut reduced);
            self.window = reduced;
            goes_on
        }

        /// The sender after its jump with 29 segments in flight.
        fn jumped(params: Params) -> Sender {
            let mut sender = Sender::new(params);
            assert_eq!(sender.ack(9, 29), Phase::SlowStart, "the initial data is not acknowledged yet");
            sender.next = 39;
            assert_eq!(sender.ack(1, 39), Phase::Hold);
            sender
        }
    }

    fn saved() -> Params {
        Params { saved_cwnd: Some(300.0), saved_rtt: Some(RTT), ..Params::default() }
    }

    #[test]
    fn example_no_loss_29_in_flight_jump_to_150_and_121_unvalidated_segments_validate_it() {
        let mut sender = Sender::jumped(saved());
        assert_eq!((sender.window.cwnd, sender.state.pipe.size()), (150.0, 29.0));
        assert_eq!(sender.state.pacing().map(|pacing| pacing.rate), Some(150.0 / 0.05));
        // The ACKs of the 29 add nothing to PipeSize, and the window does not grow.
        assert_eq!(sender.ack(29, 160), Phase::Hold);
        assert_eq!((sender.window.cwnd, sender.state.pipe.size()), (150.0, 29.0));
        // The ACK of the first unvalidated segment begins the Validating Phase from the data in flight.
        assert_eq!(sender.ack(1, 161), Phase::SlowStart);
        assert_eq!((sender.state.state, sender.state.pipe.size()), (State::Validating { end: 160 }, 30.0));
        assert_eq!((sender.window.cwnd, sender.state.pacing()), (120.0 + 1.0, None));
        // That of the last returns to normal congestion control, which may use slow start.
        assert_eq!(sender.ack(119, 300), Phase::SlowStart);
        assert_eq!(sender.ack(1, 300), Phase::Over);
        assert_eq!(sender.window.ssthresh, 1e9);
    }

    #[test]
    fn example_rate_limited_50_unvalidated_segments_reset_the_window_to_the_data_in_flight() {
        let mut sender = Sender::jumped(saved());
        sender.ack(29, 89);
        sender.ms += 51;
        assert_eq!(sender.ack(0, 89), Phase::SlowStart, "more than a round trip has passed");
        assert_eq!((sender.window.cwnd, sender.state.state), (50.0, State::Validating { end: 89 }));
    }

    #[test]
    fn a_sender_that_used_no_more_than_pipe_size_returns_to_normal_with_it() {
        for (sent, cwnd) in [(0, 29.0), (25, 29.0)] {
            let mut sender = Sender::jumped(saved());
            sender.ack(29, 39 + sent);
            sender.ms += 51;
            assert_eq!(sender.ack(0, 39 + sent), Phase::Over);
            assert_eq!(sender.window.cwnd, cwnd);
        }
    }

    #[test]
    fn the_unvalidated_phase_ends_when_the_data_in_flight_fills_the_window() {
        let mut sender = Sender::jumped(saved());
        sender.next = 39 + 120;
        assert_eq!(sender.ack(1, 160), Phase::Hold, "one segment fits");
        sender.next = 40 + 150;
        assert_eq!(sender.ack(1, 190), Phase::SlowStart);
    }

    #[test]
    fn example_loss_in_reconnaissance_leaves_it_to_normal_congestion_control() {
        let mut sender = Sender::new(saved());
        sender.ack(5, 15);
        assert!(!sender.lose());
        assert_eq!(sender.ack(5, 20), Phase::Over);
        assert_eq!(sender.window.cwnd, 15.0 / 2.0);
    }

    #[test]
    fn example_loss_in_validating_halves_pipe_size_63_and_later_sets_the_threshold() {
        let mut sender = Sender::jumped(saved());
        sender.ack(29, 160);
        for _ in 0..34 {
            sender.ack(1, 160);
        }
        assert_eq!(sender.state.pipe.size(), 63.0);
        assert!(sender.lose());
        assert_eq!((sender.window.cwnd, sender.window.ssthresh), (31.5, 31.5));
        // Selective acknowledgments of the other 86 track PipeSize and do not change the window.
        for _ in 0..86 {
            assert_eq!(sender.ack_of(0, 160, |ack| Ack { acked: 1.0, in_recovery: true, ..ack }), Phase::Hold);
        }
        assert_eq!((sender.window.cwnd, sender.state.pipe.size()), (31.5, 149.0));
        sender.una = 159;
        assert_eq!(sender.ack_of(1, 170, |ack| Ack { acked: 0.0, ..ack }), Phase::Over);
        assert_eq!(sender.window, Window { cwnd: 31.5, ssthresh: 149.0 / 2.0 });
    }

    #[test]
    fn a_loss_in_the_unvalidated_phase_retreats_too_and_keeps_at_least_two_segments() {
        let mut sender = Sender::jumped(saved());
        assert!(sender.lose());
        assert_eq!(sender.window.cwnd, 14.5);
        assert!(!sender.lose(), "a second congestion is the controller's");
        sender = Sender::jumped(saved());
        sender.state.pipe.at_jump = 1.0;
        sender.lose();
        assert_eq!(sender.window.cwnd, 2.0);
    }

    #[test]
    fn an_rtt_of_half_the_saved_one_in_the_unvalidated_phase_is_another_path() {
        let mut sender = Sender::jumped(saved());
        let short = |ack| Ack { rtt: Some(RTT / 2), ..ack };
        assert_eq!(sender.ack_of(1, 40, short), Phase::Hold);
        assert!(matches!(sender.state.state, State::SafeRetreat { .. }));
    }

    /// Whether a sender jumps on a path with this minimum RTT.
    fn jumps(params: Params, rtt_ms: u64) -> bool {
        let mut sender = Sender::new(params);
        let rtt_min = Duration::from_millis(rtt_ms);
        sender.ack_of(10, 30, |ack| Ack { rtt_min, ..ack });
        matches!(sender.state.state, State::Unvalidated { .. })
    }

    #[test]
    fn a_path_is_confirmed_above_half_of_the_saved_rtt_and_up_to_ten_times_that() {
        assert_eq!([25, 26, 50, 500, 501].map(|ms| jumps(saved(), ms)), [false, true, true, true, false]);
    }

    #[test]
    fn saved_parameters_are_used_until_their_lifetime_ends() {
        let aged = |seconds| Params { age: Duration::from_secs(seconds), ..saved() };
        assert_eq!([0, 300, 301].map(|seconds| jumps(aged(seconds), 50)), [true, true, false]);
        assert!(!jumps(Params { saved_rtt: None, ..saved() }, 50));
        assert!(!jumps(Params { saved_cwnd: None, ..saved() }, 50));
    }

    #[test]
    fn the_jump_is_half_of_the_saved_window_and_at_most_max_jump_and_never_less_than_the_window() {
        assert_eq!(Sender::jumped(Params { max_jump: Some(70.0), ..saved() }).window.cwnd, 70.0);
        assert!(!jumps(Params { saved_cwnd: Some(20.0), ..saved() }, 50));
    }

    #[test]
    fn a_sender_with_little_data_remains_in_reconnaissance() {
        let mut sender = Sender::new(saved());
        assert_eq!(sender.ack_of(10, 12, |ack| Ack { cwnd_limited: false, ..ack }), Phase::SlowStart);
        assert!(matches!(sender.state.state, State::Reconnaissance { .. }));
    }
}
