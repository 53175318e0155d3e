//! Watching a run from outside: every method does nothing unless an observer wants it.

use crate::packet::Packet;
use sojourn_units::Time;

/// Sees what happens; can change nothing. Calls come in the order of each component's own time.
pub trait Observer {
    /// A host sends a packet.
    fn on_send(&mut self, now: Time, packet: &Packet) {
        let _ = (now, packet);
    }
    /// A packet is dropped at a link.
    fn on_drop(&mut self, now: Time, link: u32, packet: &Packet) {
        let _ = (now, link, packet);
    }
    /// A packet reaches the end of its route; `bytes` became readable there.
    fn on_deliver(&mut self, now: Time, packet: &Packet, bytes: u64) {
        let _ = (now, packet, bytes);
    }
    /// A sender takes an RTT sample, in nanoseconds.
    fn on_rtt(&mut self, now: Time, flow: u32, rtt: u64) {
        let _ = (now, flow, rtt);
    }
    /// A sender has done what it had to do: its window and threshold in segments.
    fn on_window(&mut self, now: Time, flow: u32, cwnd: f64, ssthresh: f64) {
        let _ = (now, flow, cwnd, ssthresh);
    }
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blind;

impl Observer for Blind {}
