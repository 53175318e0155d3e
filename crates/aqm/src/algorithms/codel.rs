//! `CoDel`: controlled delay (Nichols and Jacobson 2012; rfc8289).
//!
//! It decides about packets as they leave, by their sojourn time. When the sojourn time has been above `target` for an
//! `interval`, one packet is dropped (or marked). More drops follow at gaps of interval/sqrt(count), until a packet leaves
//! with a shorter sojourn time. It never drops the last packet of a queue. The loop over packets of the pseudocode is here a
//! state machine over verdicts: after a drop the next packet is shown at once; after a mark the packet is sent.

use super::ce_threshold::CeThreshold;
use crate::{Aqm, ArrivalVerdict, Backlog, DepartureVerdict, Dropped, Link, Needs, PacketView, ParamError};
use sojourn_units::{Bytes, Duration, Stream, Time, range};

/// Initial drop count if a new dropping state starts soon after the last one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Rule {
    /// The number of drops in the last dropping state (rfc8289#5.5).
    #[default]
    #[cfg_attr(feature = "serde", serde(rename = "rfc8289"))]
    Rfc8289,
    /// One less than the last count (the code of 2012, as in ns-2.35).
    #[cfg_attr(feature = "serde", serde(rename = "2012"))]
    Nichols2012,
    /// As rfc8289, with Linux's arithmetic (`codel_impl.h`).
    /// 1/sqrt(count) is approximated, which is inaccurate after the count has jumped, and time is in ticks of 1024 ns. A full FQ-CoDel
    /// drops up to 64 packets at once (Linux `fq_codel_drop`).
    #[cfg_attr(feature = "serde", serde(rename = "linux"))]
    Linux,
}

/// The parameters of `CoDel`.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Acceptable standing sojourn time, above 0, default 5 ms (rfc8289#4.4).
    pub target: Duration,
    /// Time for which the sojourn time must exceed the target before the first drop.
    /// It is also the first gap between drops. Range: above 0; default 100 ms, about the largest usual round-trip time (rfc8289#4.3).
    pub interval: Duration,
    /// Initial drop count if a new dropping state starts soon after the last one.
    /// Default `"rfc8289"`.
    pub rule: Rule,
    /// A packet is dropped only if more than this many bytes stay in the queue.
    /// `"0 B"` (the default) is the largest packet seen, at first 256 B (ns-2 `maxpacket_`; ns-3 `MinBytes`). With the rule `"linux"` it is
    /// the link's packet (Linux: the MTU).
    pub max_packet: Bytes,
    /// Sojourn time above which ECN-capable packets are always marked, even if `ecn` is off.
    /// `"0 s"` (the default) disables it (Linux `ce_threshold`).
    pub ce_threshold: Duration,
}

impl Default for Params {
    fn default() -> Self {
        let (target, interval) = (Duration::from_millis(5), Duration::from_millis(100));
        Params { target, interval, rule: Rule::Rfc8289, max_packet: Bytes(0), ce_threshold: Duration::ZERO }
    }
}

impl Params {
    /// `CoDel` with these parameters.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<Codel, ParamError> {
        range::positive_time("target", self.target)?;
        range::positive_time("interval", self.interval)?;
        ParamError::unless(self.max_packet.0 <= 1_000_000_000, "max_packet", &self.max_packet.0, "0 B (the largest seen) to 1 GB")?;
        range::time("ce_threshold", self.ce_threshold)?;
        let mut params = self.clone();
        if params.rule == Rule::Linux && params.max_packet.0 == 0 {
            params.max_packet = Bytes(u64::from(link.mean_packet));
        }
        Ok(Codel::new(params))
    }
}

/// The position of the next packet to leave in the pseudocode's loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// The first packet of a dequeue.
    First,
    /// The packet behind the drop that entered the dropping state: it is sent.
    AfterEntry,
    /// The packet behind a drop in the dropping state.
    AfterDrop,
}

/// The state to restore if the last signal is a drop instead of a mark.
#[derive(Clone, Copy, Debug)]
struct OnDrop {
    next: Next,
    drop_next: Time,
}

/// A tick of Linux's clock here: `CODEL_SHIFT`.
const TICK_BITS: u32 = 10;
const TICK: Duration = Duration::from_nanos(1 << TICK_BITS);
/// The greatest `rec_inv_sqrt`.
const ONE: u64 = u16::MAX as u64;

fn whole_ticks(time: Duration) -> Duration {
    Duration::from_nanos(time.as_nanos() >> TICK_BITS << TICK_BITS)
}

/// The algorithm and its state; names as in rfc8289#5.
#[derive(Clone, Debug)]
pub struct Codel {
    params: Params,
    ce_threshold: CeThreshold,
    first_above_time: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
    /// Linux's 1/sqrt(count) in 65536ths (`rec_inv_sqrt`).
    rec_inv_sqrt: u64,
    max_packet: u64,
    next: Next,
    on_drop: OnDrop,
}

impl Codel {
    /// The state at time 0. The parameters must be in range.
    pub(super) fn new(mut params: Params) -> Self {
        if params.rule == Rule::Linux {
            (params.target, params.interval) = (whole_ticks(params.target), whole_ticks(params.interval).max(TICK));
        }
        let max_packet = if params.max_packet.0 == 0 { 256 } else { params.max_packet.0 };
        Codel {
            ce_threshold: CeThreshold::all(params.ce_threshold),
            params,
            first_above_time: None,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
            rec_inv_sqrt: ONE,
            max_packet,
            next: Next::First,
            on_drop: OnDrop { next: Next::First, drop_next: Time::ZERO },
        }
    }

    /// The control law: the time of the next drop, counted from `t` (rfc8289#5.3).
    fn control_law(&self, t: Time) -> Time {
        if self.params.rule == Rule::Linux {
            let ticks = ((self.params.interval.as_nanos() >> TICK_BITS) * self.rec_inv_sqrt) >> 16;
            return t + Duration::from_nanos(ticks.max(1) << TICK_BITS);
        }
        t + Duration::from_nanos((self.params.interval.as_nanos() as f64 / libm::sqrt(f64::from(self.count.max(1)))) as u64)
    }

    /// A step of Newton's method towards 1/sqrt(count) (Linux `codel_Newton_step`).
    /// It overflows after the count has jumped, as in Linux.
    fn newton_step(&mut self) {
        let inverse = self.rec_inv_sqrt << 16;
        let square = (inverse * inverse) >> 32;
        let rest = (3u64 << 32).wrapping_sub(u64::from(self.count) * square) >> 2;
        self.rec_inv_sqrt = (rest.wrapping_mul(inverse) >> (32 - 2 + 1) >> 16) & ONE;
    }

    /// Whether the sojourn time has been above the target for an interval (rfc8289#5.6).
    /// `backlog_bytes` stay in the queue.
    #[inline]
    fn ok_to_drop(&mut self, now: Time, sojourn: Duration, backlog_bytes: u64) -> bool {
        if sojourn < self.params.target || backlog_bytes <= self.max_packet {
            self.first_above_time = None;
            return false;
        }
        match self.first_above_time {
            None => {
                self.first_above_time = Some(now + self.params.interval);
                false
            }
            Some(time) => {
                if self.params.rule == Rule::Linux {
                    now > time
                } else {
                    now >= time
                }
            }
        }
    }

    /// Enters the dropping state (rfc8289#5.5).
    fn enter_dropping(&mut self, now: Time) {
        self.dropping = true;
        let has_dropped = self.drop_next > Time::ZERO;
        let recent = has_dropped && now.since(self.drop_next) < self.params.interval * 16;
        self.count = match self.params.rule {
            Rule::Rfc8289 | Rule::Linux => match self.count.saturating_sub(self.last_count) {
                delta if delta > 1 && recent => delta,
                _ => 1,
            },
            Rule::Nichols2012 if self.count > 1 && recent => self.count - 1,
            Rule::Nichols2012 => 1,
        };
        match self.count {
            1 => self.rec_inv_sqrt = ONE,
            _ => self.newton_step(),
        }
        self.last_count = self.count;
        self.drop_next = self.control_law(now);
    }

    /// Decides about a packet that leaves; `backlog_bytes` stay in the queue.
    #[inline]
    pub(super) fn on_departure(&mut self, departure: &PacketView, sojourn: Duration, backlog_bytes: u64) -> DepartureVerdict {
        if self.params.max_packet.0 == 0 {
            self.max_packet = self.max_packet.max(u64::from(departure.size));
        }
        let (mut now, mut sojourn) = (departure.now, sojourn);
        if self.params.rule == Rule::Linux {
            let arrived = departure.now.since(Time::ZERO + sojourn);
            now = Time::ZERO + whole_ticks(departure.now.since(Time::ZERO));
            sojourn = now.since(Time::ZERO + whole_ticks(arrived));
        }
        let ok_to_drop = self.ok_to_drop(now, sojourn, backlog_bytes);
        match core::mem::replace(&mut self.next, Next::First) {
            Next::AfterEntry => return DepartureVerdict::Pass,
            Next::AfterDrop if ok_to_drop => self.drop_next = self.control_law(self.drop_next),
            Next::First | Next::AfterDrop => {}
        }
        if self.dropping {
            self.dropping = ok_to_drop;
            if ok_to_drop && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                self.newton_step();
                self.on_drop = OnDrop { next: Next::AfterDrop, drop_next: self.drop_next };
                self.drop_next = self.control_law(self.drop_next);
                return DepartureVerdict::Signal;
            }
        } else if ok_to_drop {
            self.enter_dropping(now);
            self.on_drop = OnDrop { next: Next::AfterEntry, drop_next: self.drop_next };
            return DepartureVerdict::Signal;
        }
        DepartureVerdict::Pass
    }

    /// Handles the departure of a packet in advance and returns true if it certainly passes.
    /// The packet will leave after a wait of `sojourn`, with at least `behind` bytes waiting behind it. If the result is true,
    /// [`Aqm::on_dequeue`] is not called for it; if it is false, nothing changes. Packets come in the order of their departures. A host can
    /// use this to know departure times early.
    #[inline]
    pub fn passes_ahead(&mut self, departure: &PacketView, sojourn: Duration, behind: u64) -> bool {
        // Linux's clock may round a wait up by a tick.
        if sojourn + TICK > self.params.target {
            let is_last = behind <= self.max_packet.max(u64::from(departure.size));
            let is_above = self.first_above_time.is_some_and(|time| departure.now >= time);
            if is_last || (is_above && !(self.dropping && departure.now < self.drop_next)) {
                return false;
            }
        }
        let is_marked = self.ce_threshold.apply(DepartureVerdict::Pass, sojourn, departure.ecn) != DepartureVerdict::Pass;
        if is_marked || self.next != Next::First {
            return false;
        }
        let verdict = self.on_departure(departure, sojourn, behind);
        debug_assert_eq!(verdict, DepartureVerdict::Pass, "a packet that was sure to pass");
        true
    }

    /// A dequeue found the queue empty (rfc8289#5.5).
    pub(super) fn empty(&mut self) {
        (self.first_above_time, self.dropping, self.next) = (None, false, Next::First);
    }

    /// A packet was dropped for room, which Linux counts as a signal (`fq_codel_drop`).
    pub(super) fn overflowed(&mut self) {
        if self.params.rule == Rule::Linux {
            self.count = self.count.saturating_add(1);
        }
    }

    /// The last signal was a drop instead of a mark.
    pub(super) fn dropped(&mut self) {
        OnDrop { next: self.next, drop_next: self.drop_next } = self.on_drop;
    }
}

impl Aqm for Codel {
    #[inline]
    fn on_enqueue(&mut self, _arrival: &PacketView, _backlog: &Backlog, _random: &mut Stream) -> ArrivalVerdict {
        ArrivalVerdict::Pass
    }

    #[inline]
    fn on_dequeue(&mut self, departure: &PacketView, sojourn: Duration, backlog: &Backlog, _: &mut Stream) -> DepartureVerdict {
        let verdict = self.on_departure(departure, sojourn, backlog.bytes);
        self.ce_threshold.apply(verdict, sojourn, departure.ecn)
    }

    fn on_drop(&mut self, dropped: Dropped) {
        if dropped == Dropped::Unmarkable {
            self.dropped();
        }
    }

    fn needs(&self) -> Needs {
        Needs { head_drop: true, no_arrivals: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests;
