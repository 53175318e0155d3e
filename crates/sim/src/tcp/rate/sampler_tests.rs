//! Delivery-rate samples by hand, against draft-cheng-iccrg-delivery-rate-estimation.

use super::*;

const MSS: u32 = 1000;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(time: u64) -> Time {
    Time::ZERO + ms(time)
}

/// A sender that counts each segment as one, and its segments that are not acknowledged.
struct Flow {
    sampler: Sampler,
    sent: VecDeque<Segment>,
    next: u64,
}

impl Flow {
    fn new() -> Self {
        Flow { sampler: Sampler::counting(MSS), sent: VecDeque::new(), next: 0 }
    }

    fn send(&mut self, now: u64, segments: u64) {
        for _ in 0..segments {
            let sending = self.sampler.on_sent(MSS.into(), at(now));
            self.sent.push_back(Segment::new(self.next, self.next + u64::from(MSS), at(now), sending));
            self.next += u64::from(MSS);
        }
    }

    fn send_first_again(&mut self, now: u64) {
        self.sampler.on_sent_again(&mut self.sent[0], at(now));
    }

    /// The sample of an ACK for this number of segments.
    fn ack(&mut self, now: u64, segments: usize) -> RateSample {
        self.sampler.begin_ack(0, false);
        for segment in self.sent.drain(..segments) {
            self.sampler.take(&segment, at(now));
        }
        self.sampler.end_ack(MSS);
        self.sampler.sample(at(now), STANDING)
    }
}

const STANDING: Standing = Standing {
    srtt: ms(100),
    rtt_min: ms(100),
    state: LossState::Open,
    selective_acks: true,
    mss: MSS,
    pacing_delay: Duration::ZERO,
    marked: 0.0,
};

/// With nothing in flight, both times are set to the time of the transmission.
/// They are `C.first_sent_time` and `C.delivered_time` (draft-cheng-iccrg-delivery-rate-estimation#3.3).
#[test]
fn a_silence_is_no_part_of_the_time_over_which_a_rate_is_taken() {
    let mut flow = Flow::new();
    flow.send(0, 2);
    assert_eq!(flow.ack(100, 2).delivery_rate, 20.0);
    flow.send(30_000, 4);
    // Four segments in a round trip of 100 ms, not in 30 s.
    assert_eq!(flow.ack(30_100, 4).delivery_rate, 40.0);
}

/// Samples are application-limited until the data in flight at the pause is delivered.
/// `C.app_limited` ends with the first ACK beyond that data (#3.4 and #3.5 there).
#[test]
fn samples_are_limited_by_the_application_until_more_is_delivered_than_was_in_flight() {
    let mut flow = Flow::new();
    flow.send(0, 2);
    flow.sampler.check_app_limited(10 * u64::from(MSS));
    assert!(flow.sampler.is_app_limited());
    flow.send(10, 1);
    // These were sent before the application ran out of data.
    assert!(!flow.ack(100, 2).is_app_limited);
    // Exactly the data in flight at the pause is delivered, so segments sent now are limited too.
    assert!(flow.sampler.is_app_limited());
    flow.send(105, 1);
    assert!(flow.ack(110, 1).is_app_limited);
    assert!(!flow.sampler.is_app_limited());
    flow.send(115, 1);
    assert!(flow.ack(205, 1).is_app_limited);
    assert!(!flow.ack(215, 1).is_app_limited);
}

/// A sender is not application-limited with a full window or with lost segments to resend.
/// See #3.4 there.
#[test]
fn a_full_window_is_no_limit_of_the_application() {
    let mut flow = Flow::new();
    flow.send(0, 2);
    flow.sampler.check_app_limited(2 * u64::from(MSS));
    assert!(!flow.sampler.is_app_limited());
    flow.sampler.lose(&mut flow.sent[0], at(50), STANDING, &mut |_| ());
    flow.sampler.check_app_limited(2 * u64::from(MSS));
    assert!(!flow.sampler.is_app_limited());
}

/// The interval is the longer one of the send and the delivery interval (#3.5 there).
#[test]
fn the_time_of_a_rate_is_the_larger_of_sending_and_delivering() {
    let mut flow = Flow::new();
    flow.send(0, 1);
    flow.send(100, 1);
    flow.ack(200, 1);
    // The ACK of the second is late: one segment since the ACK before that flight began, 300 ms ago.
    let late = flow.ack(400, 1);
    assert_eq!((late.delivered, late.delivery_rate), (2.0, 2.0 / 0.4));
    let mut flow = Flow::new();
    flow.send(0, 1);
    flow.send(150, 1);
    flow.ack(160, 1);
    // Delivered within 161 ms, but sent within 310 ms: the last segment that had arrived when this one left was sent at 0.
    flow.send(310, 1);
    flow.ack(320, 1);
    let compressed = flow.ack(321, 1);
    assert_eq!((compressed.delivered, compressed.delivery_rate), (2.0, 2.0 / 0.31));
}

/// An interval below the smallest RTT yields no rate (#3.5 there).
#[test]
fn a_rate_over_less_than_the_least_rtt_is_none() {
    let mut flow = Flow::new();
    flow.send(0, 1);
    assert_eq!(flow.ack(99, 1).delivery_rate, 0.0);
    flow.send(100, 1);
    assert_eq!(flow.ack(200, 1).delivery_rate, 10.0);
}

/// Karn's algorithm (rfc6298#3).
#[test]
fn a_segment_sent_again_gives_no_rtt() {
    let mut flow = Flow::new();
    flow.send(0, 2);
    flow.send_first_again(50);
    assert_eq!(flow.ack(100, 1).rtt, None);
    assert_eq!(flow.ack(100, 1).rtt, Some(ms(100)));
}
