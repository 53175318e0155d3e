//! States of the recovery: of congestion control, of the timer, and of the use of the window.

use crate::tcp::sender::SenderCore;
use sojourn_cc::LossState;
use sojourn_units::Time;

/// The state, with Linux's names (`tcp_ca_state`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Nothing unusual.
    Open,
    /// Segments arrive out of order, or a retransmission is outstanding.
    Disorder,
    /// The window is being reduced, for a mark or a loss that a probe has repaired.
    Cwr,
    /// Losses are being repaired after a fast retransmit.
    Recovery,
    /// Losses are being repaired after a timeout.
    Loss,
}

impl State {
    /// The state of loss recovery.
    #[inline]
    pub fn of_losses(self) -> LossState {
        match self {
            State::Recovery => LossState::Recovery,
            State::Loss => LossState::Timeout,
            State::Open | State::Disorder | State::Cwr => LossState::Open,
        }
    }

    /// Whether the window is being reduced.
    pub fn is_reduction(self) -> bool {
        matches!(self, State::Cwr | State::Recovery)
    }
}

/// The transmissions that an ACK requires in addition to the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resend {
    Nothing,
    /// Lost segments.
    Lost,
    /// New data, to see whether a timeout was spurious (rfc5682#3).
    NewData,
}

/// The meaning of the timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pending {
    Retransmission,
    Probe,
    Reordering,
}

/// The time of the last setting of the timer, and the time that was set.
/// Linux's timer wheel delays the expiry. The delay is computed when the timer comes, because the timer has nearly always been set again by
/// then.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub at: Time,
    pub due: Time,
}

impl Setting {
    /// No timer was set.
    pub const NONE: Setting = Setting { at: Time::ZERO, due: Time::NEVER };
}

/// A probe that is outstanding.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// `snd_nxt` when it was sent (`tlp_high_seq`).
    pub high_seq: u64,
    /// Whether it is a retransmission.
    pub resent: bool,
}

/// The use of the congestion window (Linux `tcp_cwnd_validate`).
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// Whether the congestion window limited the sender in this window of data.
    limited: bool,
    /// The most segments outstanding in it.
    max_packets_out: u32,
    /// It ends when this byte is acknowledged.
    end: u64,
}

impl Usage {
    /// Whether the congestion window limits the sender (Linux `tcp_is_cwnd_limited`).
    pub fn is_cwnd_limited(&self, sender: &SenderCore) -> bool {
        self.limited || (sender.cwnd() < sender.ssthresh() && sender.cwnd() < f64::from(2 * self.max_packets_out))
    }

    pub fn update(&mut self, limited: bool, packets_out: u32, sender: &SenderCore) {
        if sender.snd_una() >= self.end || limited || (!self.limited && packets_out > self.max_packets_out) {
            (self.limited, self.max_packets_out, self.end) = (limited, packets_out, sender.snd_max());
        }
    }
}
