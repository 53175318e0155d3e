//! rLEDBAT (rfc9840): LEDBAT++ at the receiver. The sender is an ordinary CUBIC of RFC 9438.
//! The receiver measures the delay from its own timestamps, detects retransmissions, and limits the sender by the receive window that it
//! advertises.
//!
//! The law is the code of `ledbat++` with the input of a receiver. Differences from the RFC: windows are whole segments, so window scaling
//! rounds nothing (rfc9840#4.1.2). While data is missing the right edge does not move, so that duplicate ACKs are recognized by their equal
//! window.

use super::{cubic, ledbatpp};
use crate::{Ack, CcConfig, CongestionController, CongestionEvent, DelayBased, EstimatorParams, ParamError, Signal, Start, Variable};
use sojourn_units::{Duration, Time};

/// The sender of rLEDBAT.
pub type RLedbat = cubic::Cubic;

/// The traceable variables of the sender.
pub(crate) const VARIABLES: &[Variable<RLedbat>] = cubic::VARIABLES;

/// Parameters of rLEDBAT.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// The target queuing delay, 1 ms to 10 s; default 60 ms, as in LEDBAT++.
    pub target: Duration,
    /// Fraction of the window removed per round trip, above 0 and at most 10; default 1.
    /// It applies at twice the target, as in LEDBAT++.
    pub decrease: f64,
    /// Whether to slow down periodically; default true, as LEDBAT++.
    pub slowdown: bool,
    /// Parameters of the estimator of the queuing delay; default from the round-trip time.
    /// The receiver measures it (rfc9840#4.2.1).
    pub delay: EstimatorParams,
}

impl Default for Params {
    fn default() -> Self {
        let ledbatpp::Params { target, decrease, slowdown, delay, .. } = ledbatpp::Params::default();
        Params { target, decrease, slowdown, delay }
    }
}

impl Params {
    fn law(&self, start: Start) -> Result<DelayBased<ledbatpp::LedbatPpLaw>, ParamError> {
        let Params { target, decrease, slowdown, delay } = self.clone();
        ledbatpp::Params { target, decrease, slowdown, delay, ..ledbatpp::Params::default() }.build(start)
    }

    /// Creates the controller of the sender.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<RLedbat, ParamError> {
        self.law(start)?;
        cubic::Params::default().build(start)
    }

    /// Creates the controller of the receiver. A full segment has `mss` bytes.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn receiver(&self, start: Start, mss: u32) -> Result<Receiver, ParamError> {
        Ok(Receiver {
            law: self.law(start)?,
            mss: u64::from(mss.max(1)),
            edge: 0,
            highest: Highest { end: 0, sent: Time::ZERO },
            echoed: Time::ZERO,
            srtt: Duration::ZERO,
            round: Round { since: Time::ZERO, received: 0, window: start.window },
            received: 0,
            limited: true,
            fresh: 0,
            next_reduction: Time::ZERO,
        })
    }
}

impl CcConfig {
    /// Creates the controller of a new connection's receiver. A full segment has `mss` bytes.
    /// `None` if only the buffer limits the receive window.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build_receiver(&self, start: Start, mss: u32) -> Result<Option<Receiver>, ParamError> {
        match self {
            CcConfig::RLedbat(params) => params.receiver(start, mss).map(Some),
            _ => Ok(None),
        }
    }
}

/// A data segment that arrived. Sequence numbers are bytes.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// The arrival time by the receiver's clock.
    pub now: Time,
    /// The send time by the sender's clock: its TSval (rfc7323#3.2).
    pub sent: Time,
    /// The receiver's timestamp that it echoes (its TSecr); 0 if none.
    pub echoed: Time,
    /// The first byte.
    pub start: u64,
    /// The byte after the last one.
    pub end: u64,
    /// Whether data is missing below the highest data received.
    pub gap: bool,
}

/// A round trip of the receiver.
/// It is from an ACK to the first segment sent after the ACK arrived.
#[derive(Clone, Copy, Debug)]
struct Round {
    since: Time,
    /// Bytes received before its start.
    received: u64,
    /// The window at its start in segments.
    window: f64,
}

/// The highest data that arrived (rfc9840#4.3).
#[derive(Clone, Copy, Debug)]
struct Highest {
    /// The byte after the last one (RCV.HGH).
    end: u64,
    /// The timestamp of its segment (TSV.HGH).
    sent: Time,
}

/// The receiver's side of one connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    law: DelayBased<ledbatpp::LedbatPpLaw>,
    mss: u64,
    /// The byte after the last one that the advertised window has ever allowed.
    edge: u64,
    /// The highest data that arrived.
    highest: Highest,
    /// The receiver's latest timestamp that was echoed.
    echoed: Time,
    srtt: Duration,
    round: Round,
    /// Bytes received, including retransmissions.
    received: u64,
    /// Whether the window limited the sender in the last round trip.
    limited: bool,
    /// New bytes received since the last sample.
    fresh: u64,
    /// A loss before this time belongs to a round trip whose loss has already reduced the window.
    next_reduction: Time,
}

impl Receiver {
    /// The window of the law, in segments.
    pub fn window(&self) -> f64 {
        self.law.cwnd()
    }

    /// Processes a segment with data.
    pub fn on_segment(&mut self, segment: &Segment) {
        self.received += segment.end - segment.start;
        if segment.end > self.highest.end {
            self.fresh += segment.end - segment.start.max(self.highest.end);
            self.highest = Highest { end: segment.end, sent: segment.sent };
        } else if segment.sent > self.highest.sent {
            // rfc9840#4.3: it was sent after data above it, so it is a retransmission.
            self.on_retransmission(segment.now);
        }
        // rfc9840#4.2.1: among the segments that echo one timestamp, the first is an RTT sample.
        if segment.echoed > self.echoed {
            self.echoed = segment.echoed;
            self.sample(segment);
        }
    }

    /// Reduces the window after a loss, at most once per round trip (rfc9840#4.3).
    fn on_retransmission(&mut self, now: Time) {
        if now < self.next_reduction {
            return;
        }
        self.next_reduction = now + self.srtt;
        self.law.on_congestion(&CongestionEvent { now, window: self.law.cwnd(), signal: Signal::Loss });
    }

    fn sample(&mut self, segment: &Segment) {
        let Segment { now, sent, echoed, gap, .. } = *segment;
        let rtt = now.since(echoed);
        // rfc6298#2.2 and rfc6298#2.3.
        let seven = self.srtt * 7;
        self.srtt = if self.srtt == Duration::ZERO { rtt } else { Duration::from_nanos((seven + rtt).as_nanos() / 8) };
        if echoed >= self.round.since {
            // A sender that uses less than half of its window is not limited by it (rfc7661#4.3).
            self.limited = (self.received - self.round.received) as f64 >= 0.5 * self.round.window * self.mss as f64;
            self.round = Round { since: now, received: self.received, window: self.law.cwnd() };
        }
        let acked = core::mem::take(&mut self.fresh) as f64 / self.mss as f64;
        self.law.on_ack(&Ack {
            now,
            acked,
            advanced: acked,
            rtt: Some(rtt),
            srtt: self.srtt,
            rtt_min: rtt,
            one_way_delay: Some(now.as_nanos().wrapping_sub(sent.as_nanos()) as i64),
            in_flight: self.law.cwnd(),
            cwnd_limited: self.limited,
            in_recovery: gap,
            after_timeout: false,
            open: true,
            abc_limit: 0.0,
            snd_una: self.highest.end,
            snd_max: self.edge,
            marked: 0.0,
        });
    }

    /// The window to advertise with the acknowledgment number `next`, in segments.
    /// The right edge never moves back: a reduced window takes effect as data arrives (rfc9840#4.1.1).
    pub fn advertise(&mut self, next: u64) -> u64 {
        let wanted = next + self.law.cwnd() as u64 * self.mss;
        let segments = self.edge.max(wanted).saturating_sub(next).div_ceil(self.mss);
        self.edge = next + segments * self.mss;
        segments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    const MSS: u64 = 1000;
    const START: Start = Start::new(10.0, 1e9);

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// A receiver without slow start and slowdowns.
    fn receiver(window: f64) -> Receiver {
        let params = Params { slowdown: false, ..Params::default() };
        params.receiver(Start::new(window, window), MSS as u32).unwrap()
    }

    fn segment(now: u64, rtt: u64, number: u64) -> Segment {
        let (start, end) = (number * MSS, (number + 1) * MSS);
        // Sent halfway through the round trip, by a clock that is an hour ahead.
        Segment { now: at(now), sent: at(3_600_000 + now - rtt / 2), echoed: at(now - rtt), start, end, gap: false }
    }

    /// The windows advertised after each of several rounds of full windows from segment 0 on.
    /// Each segment echoes a timestamp of its own.
    fn rounds(receiver: &mut Receiver, from: u64, rtt: u64, rounds: u64) -> Vec<u64> {
        let mut number = 0;
        (0..rounds)
            .map(|round| {
                let count = receiver.window() as u64;
                for i in 0..count {
                    receiver.on_segment(&segment(from + round * rtt + i * rtt / count, rtt, number));
                    number += 1;
                }
                receiver.advertise(number * MSS)
            })
            .collect()
    }

    #[test]
    fn the_window_grows_by_the_gain_of_the_base_delay_while_the_queue_is_empty() {
        // 100 ms: half a segment a round trip.
        let windows = rounds(&mut receiver(20.0), 1000, 100, 20);
        assert!((29..=30).contains(&windows[19]), "{windows:?}");
    }

    #[test]
    fn a_window_that_shrinks_does_not_move_the_right_edge_back() {
        let mut receiver = receiver(40.0);
        rounds(&mut receiver, 1000, 100, 2);
        let (mut next, mut edge) = (receiver.highest.end / MSS, receiver.edge);
        let mut seen = Vec::new();
        for i in 0..200 {
            receiver.on_segment(&segment(2000 + i, 220, next));
            next += 1;
            let segments = receiver.advertise(next * MSS);
            assert!(next * MSS + segments * MSS >= edge, "the edge moved back");
            edge = next * MSS + segments * MSS;
            seen.push(segments);
        }
        assert!(seen[0] >= 39 && *seen.last().unwrap() < 5, "{seen:?}");
        assert!(seen.windows(2).all(|pair| pair[1] + 1 >= pair[0]), "by a segment for each that came: {seen:?}");
    }

    #[test]
    fn only_the_first_segment_that_echoes_a_timestamp_gives_an_rtt_sample() {
        let mut receiver = receiver(20.0);
        receiver.on_segment(&segment(1000, 100, 0));
        // The same echo, much later: the sender had nothing to send meanwhile.
        receiver.on_segment(&Segment { now: at(9000), ..segment(1000, 100, 1) });
        assert_eq!(receiver.srtt, Duration::from_millis(100));
        assert_eq!(receiver.fresh, MSS);
    }

    #[test]
    fn a_retransmission_halves_the_window_once_a_round_trip_and_reordering_does_not() {
        let mut receiver = receiver(32.0);
        rounds(&mut receiver, 1000, 100, 1);
        let next = receiver.highest.end / MSS;
        // Segment `next` was sent before the one after it and arrives later.
        receiver.on_segment(&segment(2000, 100, next + 1));
        receiver.on_segment(&Segment { sent: at(3_601_900), ..segment(2001, 100, next) });
        assert!(receiver.window() > 31.0);
        // A retransmission: below the highest data, with a later timestamp.
        let before = receiver.window();
        receiver.on_segment(&segment(2100, 100, next - 3));
        assert!((receiver.window() - before / 2.0).abs() < 0.1, "{before} {}", receiver.window());
        let halved = receiver.window();
        receiver.on_segment(&segment(2150, 100, next - 2));
        assert!(receiver.window() >= halved, "the same round trip");
        receiver.on_segment(&segment(2300, 100, next - 1));
        assert!((receiver.window() - halved / 2.0).abs() < 0.1, "a later one");
    }

    #[test]
    fn a_window_that_the_sender_does_not_use_does_not_grow() {
        let mut receiver = receiver(20.0);
        for i in 0..500 {
            receiver.on_segment(&segment(1000 + 25 * i, 100, i));
        }
        assert!(receiver.window() < 21.0, "{}", receiver.window());
    }

    #[test]
    fn slowdowns_take_a_tenth_of_the_time_at_most() {
        let mut receiver = Params::default().receiver(Start::new(10.0, 32.0), MSS as u32).unwrap();
        let (mut number, mut least) = (0, 0);
        for round in 0..2000 {
            for _ in 0..receiver.window() as u64 {
                receiver.on_segment(&segment(1000 + 100 * round, 100, number));
                number += 1;
            }
            least += u64::from(receiver.window() <= 2.0);
        }
        assert!(least > 10 && least < 200, "{least}");
    }

    proptest! {
        #[test]
        fn any_segments_leave_a_window_that_is_finite_and_an_edge_that_does_not_move_back(
            segments in prop::collection::vec((any::<u64>(), any::<u64>(), 0u64..1 << 40, 0u64..100, any::<bool>()), 1..300)
        ) {
            let mut receiver = Params::default().receiver(START, MSS as u32).unwrap();
            let (mut now, mut next, mut edge) = (0, 0, 0);
            for (sent, echoed, gap, number, missing) in segments {
                now += gap;
                let (start, end) = (next + number * MSS, next + (number + 1) * MSS);
                let (sent, echoed) = (Time::from_nanos(sent), Time::from_nanos(echoed));
                receiver.on_segment(&Segment { now: Time::from_nanos(now), sent, echoed, start, end, gap: missing });
                if number == 0 {
                    next = end;
                }
                prop_assert!(receiver.window().is_finite() && receiver.window() >= 1.0);
                let segments = receiver.advertise(next);
                prop_assert!(segments >= 1 && next + segments * MSS >= edge);
                edge = next + segments * MSS;
            }
        }
    }
}
