//! `CoDel`: controlled delay (Nichols and Jacobson 2012; RFC 8289).
//!
//! Judges packets as they leave, by how long they waited. Once the wait has stayed above `target` for an `interval`
//! one packet is dropped (or marked), then more and more of them, at gaps of interval/sqrt(count), until a packet leaves
//! that waited less. A queue of one packet is never judged. The pseudocode's loop over packets is here a state machine
//! over verdicts: a drop means that the next packet is shown at once, a mark that the packet goes.

use crate::{Aqm, ArrivalVerdict, Backlog, DepartureVerdict, Link, Needs, PacketView, ParamError};
use sojourn_units::{Bytes, Duration, Stream, Time};

/// From which count dropping goes on when it starts again soon after it stopped.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Rule {
    /// As many as were dropped the last time (rfc8289#5.5; Linux).
    #[default]
    #[cfg_attr(feature = "serde", serde(rename = "rfc8289"))]
    Rfc8289,
    /// One less than it ended at (the code of 2012, as in ns-2.35).
    #[cfg_attr(feature = "serde", serde(rename = "2012"))]
    Nichols2012,
}

/// The parameters of `CoDel`.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Wait that may stand, above 0, default 5 ms (rfc8289#4.4).
    pub target: Duration,
    /// For how long the wait must stay above the target before the first drop, and the gap after it; above 0, default
    /// 100 ms: about the largest usual round-trip time (rfc8289#4.3).
    pub interval: Duration,
    /// From which count dropping goes on when it starts again, default `"rfc8289"`.
    pub rule: Rule,
    /// What stays behind must be more than this for a packet to be judged; `"0 B"` (the default) is the largest packet
    /// seen, at first 256 B (ns-2 `maxpacket_`; ns-3 `MinBytes`).
    pub max_packet: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        let (target, interval) = (Duration::from_millis(5), Duration::from_millis(100));
        Params { target, interval, rule: Rule::Rfc8289, max_packet: Bytes(0) }
    }
}

impl Params {
    /// `CoDel` with these parameters.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, _link: &Link) -> Result<Codel, ParamError> {
        let fine = |time: Duration| (Duration::from_nanos(1)..=Duration::from_secs(1_000_000)).contains(&time);
        ParamError::unless(fine(self.target), "target", &self.target, "a time above 0, up to 1000000 s")?;
        ParamError::unless(fine(self.interval), "interval", &self.interval, "a time above 0, up to 1000000 s")?;
        ParamError::unless(self.max_packet.0 <= 1_000_000_000, "max_packet", &self.max_packet.0, "0 B (the largest seen) to 1 GB")?;
        Ok(Codel::new(self.clone()))
    }
}

/// What the next packet to leave is to this dequeue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// The first to be considered.
    First,
    /// The packet behind the one with whose drop dropping began: it goes.
    AfterEntry,
    /// The packet behind one dropped in the course of dropping.
    AfterDrop,
}

/// The algorithm and its state; names as in rfc8289#5.
#[derive(Clone, Debug)]
pub struct Codel {
    params: Params,
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
    max_packet: u64,
    next: Next,
    /// What `next` and `drop_next` are should the mark that was just asked for be a drop instead.
    if_dropped: (Next, Time),
}

impl Codel {
    /// At time 0. The parameters must be in range.
    pub(super) fn new(params: Params) -> Self {
        let max_packet = if params.max_packet.0 == 0 { 256 } else { params.max_packet.0 };
        Codel {
            params,
            first_above: None,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
            max_packet,
            next: Next::First,
            if_dropped: (Next::First, Time::ZERO),
        }
    }

    /// The control law (rfc8289#5.3).
    fn control_law(&self, from: Time) -> Time {
        from + Duration::from_nanos((self.params.interval.as_nanos() as f64 / libm::sqrt(f64::from(self.count.max(1)))) as u64)
    }

    /// Whether the wait has been above the target for an interval (rfc8289#5.6).
    #[inline]
    fn above(&mut self, now: Time, sojourn: Duration, left: u64) -> bool {
        if sojourn < self.params.target || left <= self.max_packet {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + self.params.interval);
                false
            }
            Some(since) => now >= since,
        }
    }

    /// Dropping begins (rfc8289#5.5).
    fn begin(&mut self, now: Time) {
        self.dropping = true;
        let recent = now.since(self.drop_next) < self.params.interval * 16;
        self.count = match self.params.rule {
            Rule::Rfc8289 => match self.count.saturating_sub(self.last_count) {
                delta if delta > 1 && recent => delta,
                _ => 1,
            },
            Rule::Nichols2012 if self.count > 1 && recent => self.count - 1,
            Rule::Nichols2012 => 1,
        };
        self.last_count = self.count;
        self.drop_next = self.control_law(now);
    }

    /// Judges a packet that leaves `left` bytes behind.
    #[inline]
    pub(super) fn judge(&mut self, departure: &PacketView, sojourn: Duration, left: u64) -> DepartureVerdict {
        if self.params.max_packet.0 == 0 {
            self.max_packet = self.max_packet.max(u64::from(departure.size));
        }
        let now = departure.now;
        let above = self.above(now, sojourn, left);
        match core::mem::replace(&mut self.next, Next::First) {
            Next::AfterEntry => return DepartureVerdict::Pass,
            Next::AfterDrop if above => self.drop_next = self.control_law(self.drop_next),
            Next::First | Next::AfterDrop => {}
        }
        if self.dropping {
            self.dropping = above;
            if above && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                self.if_dropped = (Next::AfterDrop, self.drop_next);
                self.drop_next = self.control_law(self.drop_next);
                return DepartureVerdict::Signal;
            }
        } else if above {
            self.begin(now);
            self.if_dropped = (Next::AfterEntry, self.drop_next);
            return DepartureVerdict::Signal;
        }
        DepartureVerdict::Pass
    }

    /// The packet to be marked was dropped instead.
    pub(super) fn dropped(&mut self) {
        (self.next, self.drop_next) = self.if_dropped;
    }
}

impl Aqm for Codel {
    #[inline]
    fn on_enqueue(&mut self, _arrival: &PacketView, _backlog: &Backlog, _random: &mut Stream) -> ArrivalVerdict {
        ArrivalVerdict::Pass
    }

    #[inline]
    fn on_dequeue(&mut self, departure: &PacketView, sojourn: Duration, backlog: &Backlog, _: &mut Stream) -> DepartureVerdict {
        self.judge(departure, sojourn, backlog.bytes)
    }

    fn on_unmarkable(&mut self) {
        self.dropped();
    }

    fn needs(&self) -> Needs {
        Needs { departures: true, head_drop: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests;
