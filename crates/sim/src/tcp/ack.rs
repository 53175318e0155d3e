//! The content of an ACK, read once for recovery, congestion controller and samples.

use super::ack_options::{AckOptions, SackBlocks};
use super::ecn::ByteCounts;
use crate::packet::Packet;
use sojourn_units::Duration;

/// An ACK of an established connection, with the sender's state before it.
#[derive(Clone, Copy, Debug)]
pub struct AckDigest<'a> {
    /// The ACK itself.
    pub packet: &'a Packet,
    /// Its SACK blocks.
    pub sack: Option<&'a SackBlocks>,
    /// `AccECN`'s option.
    pub byte_counts: Option<&'a ByteCounts>,
    /// `snd_una` before it.
    pub prior_una: u64,
    /// Whether data was outstanding before it.
    pub outstanding: bool,
    /// Whether it echoes a congestion mark, and the sender uses ECN.
    pub ece: bool,
    /// Whether it acknowledges everything up to `recover`, which ends recovery.
    /// `recover` is taken as it was before an ECN echo in this ACK moved it.
    pub full: bool,
}

impl<'a> AckDigest<'a> {
    /// An ACK without options that echoes no mark.
    /// The sender has this `snd_una`, and data is outstanding.
    #[inline(always)]
    pub fn plain(packet: &'a Packet, prior_una: u64) -> Self {
        AckDigest { packet, sack: None, byte_counts: None, prior_una, outstanding: true, ece: false, full: false }
    }

    /// The same ACK with these options.
    #[inline]
    pub fn with(self, options: &'a AckOptions) -> Self {
        AckDigest { sack: options.sack.as_ref(), byte_counts: options.byte_counts.as_ref(), ..self }
    }

    /// Whether it acknowledges new data cumulatively.
    #[inline]
    pub fn advances(&self) -> bool {
        self.packet.seq > self.prior_una
    }

    /// Whether it acknowledges nothing new while data is outstanding (rfc5681#2).
    #[inline]
    pub fn is_duplicate(&self) -> bool {
        self.packet.seq == self.prior_una && self.outstanding
    }

    /// The delay from sender to receiver in ns, as the difference of their two clocks.
    /// `None` without timestamps, or if the ACK acknowledges no new data: it echoes a timestamp that was echoed before (rfc7323#4.1).
    #[inline(always)]
    pub fn one_way_delay(&self, timestamps: bool) -> Option<i64> {
        (timestamps && self.advances()).then(|| self.packet.peer.as_nanos() as i64 - self.packet.stamp.as_nanos() as i64)
    }
}

/// The data that an ACK delivered, for the congestion controller.
/// The fields have the meaning of those of [`Ack`](sojourn_cc::Ack).
#[derive(Clone, Copy, Debug)]
pub struct Delivered {
    pub acked: f64,
    pub advanced: f64,
    pub in_flight: f64,
    pub rtt: Option<Duration>,
    pub one_way_delay: Option<i64>,
    pub cwnd_limited: bool,
    pub in_recovery: bool,
    pub after_timeout: bool,
    pub open: bool,
    pub abc_limit: f64,
    /// Whether the ACK echoes a congestion mark.
    pub ece: bool,
}
