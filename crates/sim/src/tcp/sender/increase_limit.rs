//! Rate-limited increase: limits the growth of a window that is not fully used.
//! The window grows to at most what its flights allow (draft-ietf-ccwg-ratelimited-increase#3). Windows and flights are in segments.

use sojourn_cc::{AnyController, CongestionController};
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::Time;

/// The largest flight of one connection since its window was last reduced.
#[derive(Clone, Debug)]
pub struct IncreaseLimit {
    max_flight: f64,
    /// The window after the last ACK: a smaller one before the next ACK was reduced.
    cwnd: f64,
}

impl IncreaseLimit {
    /// The limit of a new connection; `None` if its stack has none.
    /// Controllers that use rate samples need none, because unused windows do not grow.
    pub fn new(cc: &AnyController, params: &TcpOptions) -> Option<Self> {
        let limited = params.rate_limited_increase && !cc.needs().rate_samples;
        limited.then_some(IncreaseLimit { max_flight: params.initial_window, cwnd: 0.0 })
    }

    /// Records the segments in flight before an ACK, the most since the previous one.
    /// A window counts as full if another whole segment does not fit.
    pub fn on_flight(&mut self, flight: f64, cc: &AnyController) {
        let cwnd = cc.cwnd();
        if cwnd < self.cwnd {
            self.max_flight = 0.0;
        }
        self.max_flight = self.max_flight.max(if flight + 1.0 > cwnd { flight.max(cwnd) } else { flight });
        self.cwnd = cwnd;
    }

    /// Limits the window after an ACK.
    /// By the letter of the draft that is a reduction too, which would reset the largest flight each time; here it does not.
    pub fn cap(&mut self, cc: &mut AnyController, now: Time) {
        let most = cc.limit_of_flight(self.max_flight, now);
        if cc.cwnd() > most {
            cc.set_cwnd(most);
        }
        self.cwnd = cc.cwnd();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_cc::{Ack, CcConfig, Start};

    /// A Reno sender with a window of 10, and its limit if it has one.
    struct Sender(AnyController, Option<IncreaseLimit>);

    impl Sender {
        fn new(ssthresh: f64, limited: bool) -> Sender {
            let cc = CcConfig::Reno(Default::default()).build(Start::new(10.0, ssthresh)).unwrap();
            let params = TcpOptions { rate_limited_increase: limited, initial_window: 10.0, ..TcpOptions::rfc() };
            let limit = IncreaseLimit::new(&cc, &params);
            Sender(cc, limit)
        }

        /// The window after a round of this number of segments, with an ACK for each.
        fn round(&mut self, segments: u32) -> f64 {
            let Sender(cc, limit) = self;
            for left in (1..=segments).rev() {
                limit.iter_mut().for_each(|limit| limit.on_flight(f64::from(left), cc));
                cc.on_ack(&ack(f64::from(left)));
                limit.iter_mut().for_each(|limit| limit.cap(cc, Time::ZERO));
            }
            cc.cwnd()
        }

        fn rounds(mut self, of: &[u32]) -> Vec<f64> {
            of.iter().map(|&segments| self.round(segments)).collect()
        }
    }

    fn ack(in_flight: f64) -> Ack {
        Ack { in_flight, ..Ack::ONE }
    }

    #[test]
    fn slow_start_doubles_the_largest_flight_as_in_the_examples_of_the_draft() {
        // draft-ietf-ccwg-ratelimited-increase#3.1, and the rounds of its appendix A.
        assert_eq!(Sender::new(1e9, false).rounds(&[10, 4]), [20.0, 24.0]);
        assert_eq!(Sender::new(1e9, true).rounds(&[10, 4]), [20.0, 20.0]);
        assert_eq!(Sender::new(1e9, true).rounds(&[4, 8, 4, 20]), [14.0, 20.0, 20.0, 40.0]);
    }

    #[test]
    fn avoidance_goes_one_segment_beyond_the_largest_flight() {
        let found = Sender::new(2.0, true).rounds(&[5; 100]);
        assert!(found[0] > 10.0 && found[99] == 11.0, "{found:?}");
    }

    #[test]
    fn a_window_that_is_used_grows_as_without_a_limit() {
        for ssthresh in [2.0, 1e9] {
            let (mut limited, mut free) = (Sender::new(ssthresh, true), Sender::new(ssthresh, false));
            for _ in 0..5 {
                let window = free.0.cwnd() as u32;
                assert_eq!(limited.round(window), free.round(window));
            }
        }
    }

    #[test]
    fn a_reduction_forgets_the_flights_before_it() {
        let mut sender = Sender::new(1e9, true);
        assert_eq!(sender.round(10), 20.0);
        sender.0.on_rto(Time::ZERO, 20.0);
        assert_eq!([sender.round(1), sender.round(1), sender.round(1)], [2.0; 3]);
    }
}
