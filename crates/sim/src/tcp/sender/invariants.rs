//! The invariants of a sender after each call, checked in debug builds.

use super::{SenderCore, State};
use crate::tcp::outstanding::Outstanding;
use sojourn_cc::CongestionController;
use sojourn_units::Time;

/// The state of a sender before a call.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    snd_una: u64,
    snd_max: u64,
    last_sent: Time,
    cwnd: f64,
    limited_transmit_bytes: u32,
}

impl SenderCore {
    /// The state before a call.
    #[inline]
    pub fn before(&self) -> Before {
        let SenderCore { snd_una, snd_max, last_sent, limited_transmit_bytes, .. } = *self;
        Before { snd_una, snd_max, last_sent, cwnd: self.cc.cwnd(), limited_transmit_bytes }
    }

    /// Checks the sequence numbers, windows and times after a call at `now`.
    ///
    /// # Panics
    /// If one does not hold: the sender has a defect.
    pub fn check_invariants(&self, before: &Before, now: Time) {
        let (una, nxt, max, end) = (self.snd_una, self.snd_nxt, self.snd_max, self.write_end);
        assert!(una <= nxt && nxt <= max && max <= end, "snd_una {una}, snd_nxt {nxt}, snd_max {max}, write_end {end}");
        assert!(before.snd_una <= una && before.snd_max <= max, "{before:?}, then snd_una {una}, snd_max {max}");
        assert!(before.last_sent <= self.last_sent && self.last_sent <= now, "{before:?}, then {:?} at {now:?}", self.last_sent);
        assert!(self.recover <= max, "recover {} above snd_max {max}", self.recover);
        assert!(self.timed.end <= max && self.timed.sent <= now, "{:?} with snd_max {max} at {now:?}", self.timed);
        let limited = u64::from(self.limited_transmit_bytes);
        assert!(limited <= max - una, "{limited} bytes of limited transmit, {} outstanding", max - una);
        let is_open = matches!(self.state, State::Established | State::Recovery);
        assert!(is_open || self.state == State::Finished || max == 0, "{max} bytes sent in state {:?}", self.state);
        // rfc6298#5.1: data that is outstanding has a timer.
        assert!(!is_open || una == max || self.timer < Time::NEVER, "{} bytes outstanding without a timer", max - una);
        let (cwnd, ssthresh) = (self.cc.cwnd(), self.cc.ssthresh());
        assert!(cwnd > 0.0 && cwnd.is_finite() && ssthresh >= 0.0, "cwnd {cwnd}, ssthresh {ssthresh}");
        if let Some(path) = &self.path {
            path.check_invariants(una, max);
        }
    }

    /// Checks that new data left within the congestion window, or by limited transmit.
    /// The window is inflated by `inflation` segments of `mss` bytes. For strategies that count all outstanding data as in flight.
    ///
    /// # Panics
    /// If it did not.
    pub fn check_window(&self, before: &Before, inflation: u32, mss: u32) {
        let sent_window = self.snd_max > before.snd_max && self.limited_transmit_bytes <= before.limited_transmit_bytes;
        if sent_window && !self.owns_window() {
            let window = (self.cc.cwnd().max(before.cwnd).max(1.0) as u64 + u64::from(inflation)) * u64::from(mss);
            let in_flight = self.snd_max - self.snd_una;
            assert!(in_flight <= window, "{in_flight} bytes in flight, the last of them sent in a window of {window}");
        }
    }

    /// Checks that samples count these segments correctly as in flight or lost.
    /// They are all outstanding segments.
    ///
    /// # Panics
    /// If samples do not.
    pub fn check_samples(&self, outstanding: &Outstanding) {
        if let Some(sampler) = self.path.as_ref().and_then(|path| path.sampler.as_ref()) {
            outstanding.if_few().into_iter().for_each(|segments| sampler.check_invariants(segments));
        }
    }
}
