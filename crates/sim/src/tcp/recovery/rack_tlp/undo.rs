//! The detection of unnecessary reductions: segments that seemed lost were only late.
//! It uses Eifel by timestamps (rfc3522), and the duplicates that the receiver reports (rfc3708).

use crate::tcp::ack::AckDigest;
use crate::tcp::clock::millis;
use sojourn_cc::Window;
use sojourn_units::Time;

/// The knowledge about the last reduction.
#[derive(Clone, Debug, Default)]
pub struct Undo {
    /// `snd_una` when the reduction began; `None` if it cannot be undone.
    marker: Option<u64>,
    /// Retransmissions for which no duplicate was reported; `None` if none were made.
    retransmissions: Option<u32>,
    /// The windows before; `None` if the reduction is final.
    pub before: Option<Window>,
    /// The timestamp of the first retransmission (`retrans_stamp`).
    first_stamp: Option<u64>,
    /// The time that the present ACK echoes, with timestamps.
    echo: Option<Time>,
}

impl Undo {
    /// Whether the last reduction may still be undone.
    pub fn is_possible(&self) -> bool {
        self.marker.is_some()
    }

    /// Records the timestamp that an ACK echoes.
    pub fn see(&mut self, ack: &AckDigest, timestamps: bool) {
        self.echo = timestamps.then_some(ack.packet.stamp);
    }

    /// A reduction begins, with this number of retransmissions in flight (Linux `tcp_init_undo`).
    pub fn start(&mut self, snd_una: u64, in_flight: u32) {
        self.marker = Some(snd_una);
        self.retransmissions = (in_flight > 0).then_some(in_flight);
    }

    /// Stores the windows before the reduction; `None` if it is final.
    pub fn set_before(&mut self, before: Option<Window>) {
        self.before = before;
    }

    /// Makes the last reduction final (Linux clears `undo_marker`).
    pub fn forbid(&mut self) {
        self.marker = None;
    }

    /// A segment was sent again.
    pub fn on_retransmission(&mut self, now: Time) {
        self.first_stamp.get_or_insert(millis(now));
        *self.retransmissions.get_or_insert(0) += 1;
    }

    /// No retransmission is outstanding: the next one is the first of its recovery.
    pub fn forget_stamp(&mut self) {
        self.first_stamp = None;
    }

    /// The receiver reports a duplicate of this number of segments, which ends at this byte.
    pub fn on_duplicate(&mut self, to: u64, segments: u32) {
        if self.marker.is_some_and(|marker| to > marker) {
            self.retransmissions = self.retransmissions.map(|count| count.saturating_sub(segments));
        }
    }

    /// Whether segments that seemed lost were late: the echo precedes the first retransmission.
    /// Source: Linux `tcp_packet_delayed`.
    pub fn is_delayed(&self) -> bool {
        self.first_stamp.is_none_or(|first| self.echo.is_some_and(|echo| millis(echo) < first))
    }

    pub fn all_duplicates(&self) -> bool {
        self.marker.is_some() && self.retransmissions == Some(0)
    }

    /// Whether the reduction should be undone (Linux `tcp_may_undo`).
    pub fn may_undo(&self) -> bool {
        self.marker.is_some() && (self.retransmissions == Some(0) || self.is_delayed())
    }
}
