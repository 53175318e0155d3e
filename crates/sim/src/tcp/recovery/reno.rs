//! Reno: one fast retransmit on the third duplicate ACK (rfc5681#3.2).
//! Recovery ends with the next ACK of new data.

use super::loss_recovery::{LossRecovery, send_all};
use crate::tcp::ack::AckDigest;
use crate::tcp::call::{Call, SegmentSink};
use crate::tcp::sender::{RecoveryEntry, SendLimits, SenderCore};

/// The state of Reno.
#[derive(Clone, Default, Debug)]
pub struct Reno {
    /// Duplicate ACKs since new data was acknowledged.
    pub(super) dupacks: u32,
    /// Segments that inflate the congestion window in recovery: one for each duplicate ACK.
    pub(super) inflation: u32,
}

impl Reno {
    /// An ACK of new data outside recovery, or one that ends it.
    #[inline]
    pub(super) fn full_ack<O: SegmentSink>(&mut self, sender: &mut SenderCore, ack: &AckDigest, call: &mut Call<O>) {
        let recovered = sender.in_recovery();
        *self = Reno::default();
        sender.exit_recovery();
        sender.accept_ack(ack, call);
        if recovered && call.params.deflate_on_exit {
            // rfc6582#3.2 step 3: min(ssthresh, max(FlightSize, SMSS) + SMSS).
            let flight_size = ((sender.snd_max() - sender.snd_una()) / u64::from(call.params.mss)) as f64;
            sender.set_cwnd(sender.ssthresh().min(flight_size.max(1.0) + 1.0));
        } else {
            sender.grow(ack, call);
        }
    }

    /// Handles a duplicate ACK: limited transmit, fast retransmit, or inflation by a segment.
    /// Returns whether recovery began.
    pub(super) fn duplicate_ack<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) -> RecoveryEntry {
        self.dupacks += 1;
        let threshold = call.params.dupack_threshold;
        if self.dupacks == threshold {
            let entry = sender.enter_recovery(sender.may_reduce_again(call.params), call);
            if entry != RecoveryEntry::Refused {
                sender.fast_retransmit(call);
                self.inflation = threshold;
            }
            return entry;
        }
        if self.dupacks < threshold && call.params.limited_transmit {
            sender.limited_transmit(self.dupacks, call);
        } else if self.dupacks > threshold && sender.in_recovery() {
            self.inflation += 1;
        }
        RecoveryEntry::Refused
    }

    /// Sends the segments that the inflated window allows, at most `burst` unless that is 0.
    /// After fewer duplicate ACKs than the threshold it sends nothing.
    #[inline]
    pub(super) fn send_inflated<O: SegmentSink>(&self, sender: &mut SenderCore, burst: u32, call: &mut Call<O>) {
        if self.dupacks == 0 || self.dupacks >= call.params.dupack_threshold {
            send_all(sender, SendLimits { inflation: self.inflation, burst }, call);
        }
    }
}

impl LossRecovery for Reno {
    #[inline]
    fn on_ack<O: SegmentSink>(&mut self, sender: &mut SenderCore, ack: &AckDigest, call: &mut Call<O>) {
        if ack.advances() {
            self.full_ack(sender, ack, call);
        } else if ack.is_duplicate() {
            self.duplicate_ack(sender, call);
        } else {
            return;
        }
        self.send_inflated(sender, 0, call);
    }

    fn on_timeout(&mut self, sender: &mut SenderCore) {
        *self = Reno::default();
        sender.go_back();
    }

    fn send_window<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        send_all(sender, SendLimits { inflation: self.inflation, burst: 0 }, call);
    }

    fn is_quiet(&self) -> bool {
        self.dupacks == 0 && self.inflation == 0
    }

    fn check_invariants(&self, sender: &SenderCore) {
        let inflates = self.inflation == 0 || sender.in_recovery();
        assert!(inflates || sender.owns_window(), "{} segments of inflation outside of recovery", self.inflation);
        assert!(self.inflation <= self.dupacks, "{} segments of inflation, {} duplicate ACKs", self.inflation, self.dupacks);
    }

    fn inflation(&self) -> u32 {
        self.inflation
    }
}
