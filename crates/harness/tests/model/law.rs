//! The windows of the model in bytes, and its faults.

use super::MSS;
use sojourn_harness::trials::Law;
use std::time::Duration;

/// A fault of the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    StartsWithHundred,
    GrowsTwofold,
    ExceedsTheWindow,
    ReducesForEachLoss,
    ReducesForEachMark,
    ReducesToSixTenths,
    AddsTwoPackets,
    ConvergesTheWindow,
    JumpsToTheLastWindow,
    StaysAtTheLastWindow,
    ForgetsFastConvergence,
    LosesIncrements,
    TakesKFromTheLastWindow,
    ForgetsReno,
    IgnoresPersistentCongestion,
    ReducesThresholdTwice,
    GrowsUnused,
    CountsLostAcks,
    LosesReordered,
    CollapsesWhenLate,
    Bursts,
    ReducesLittleForMarks,
    SendsEct0,
    HalvesForMarks,
    IgnoresLoss,
    TakesClassicMarksForOwn,
    SlowsToHalf,
    SlowsEarly,
    StaysSlow,
    SlowsForEver,
    SlowsByFewSamples,
    IgnoresTheRtt,
}

/// `HyStart++` (rfc9406#4.2). Times are those of the path.
struct Start {
    /// Packets sent from this time on are of the current round.
    round: Duration,
    samples: u32,
    least: Duration,
    last_least: Duration,
    /// The RTT at which conservative slow start began, and its rounds so far.
    conservative: Option<(Duration, u32)>,
}

impl Start {
    const NEW: Start = Start { round: Duration::ZERO, samples: 0, least: Duration::MAX, last_least: Duration::MAX, conservative: None };

    /// Handles a sample; returns whether slow start ends.
    fn on_sample(&mut self, now: Duration, sent: Duration, fault: Option<Fault>) -> bool {
        if sent >= self.round {
            (self.round, self.samples, self.last_least, self.least) = (now, 0, self.least, Duration::MAX);
            if let Some((_, rounds)) = &mut self.conservative {
                *rounds += 1;
                if *rounds > 5 && fault != Some(Fault::SlowsForEver) {
                    return true;
                }
            }
        }
        (self.samples, self.least) = (self.samples + 1, self.least.min(now - sent));
        let [low, high] = [4, 16].map(Duration::from_millis);
        let eighth = if fault == Some(Fault::SlowsEarly) { low } else { (self.last_least / 8).clamp(low, high) };
        let few = if fault == Some(Fault::SlowsByFewSamples) { 1 } else { 8 };
        if self.samples < few || self.last_least == Duration::MAX || fault == Some(Fault::IgnoresTheRtt) {
            return false;
        }
        match self.conservative {
            None if self.least >= self.last_least + eighth => self.conservative = Some((self.least, 0)),
            Some((baseline, _)) if self.least < baseline && fault != Some(Fault::StaysSlow) => self.conservative = None,
            _ => {}
        }
        false
    }
}

const PACKET: f64 = MSS as f64;
const C: f64 = 0.4;

pub struct Windows {
    law: Law,
    fault: Option<Fault>,
    pub cwnd: f64,
    pub ssthresh: f64,
    pub events: u64,
    /// Packets from this number on were sent after the last reduction, which was at `epoch`.
    recovery: u64,
    epoch: Duration,
    w_max: f64,
    k: f64,
    w_est: f64,
    /// The growth in packets that is due.
    due: f64,
    /// Scalable: the mean share of marked packets, and packets and marks of this round.
    alpha: f64,
    round: [u64; 2],
    /// The end of this round.
    round_until: u64,
    /// Marks of this round came while packets waited long: the queue is one for classic senders.
    classic: bool,
    start: Start,
}

impl Windows {
    pub fn new(law: Law, fault: Option<Fault>) -> Self {
        let initial = if fault == Some(Fault::StartsWithHundred) { 100.0 } else { 10.0 };
        let epoch = Duration::ZERO;
        let (cwnd, ssthresh) = (initial * PACKET, f64::INFINITY);
        Windows {
            law,
            fault,
            cwnd,
            ssthresh,
            events: 0,
            recovery: 0,
            epoch,
            w_max: 0.0,
            k: 0.0,
            w_est: 0.0,
            due: 0.0,
            alpha: 0.0,
            round: [0, 0],
            round_until: 0,
            classic: false,
            start: Start::NEW,
        }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn beta(&self) -> f64 {
        if self.law == Law::Reno { 0.5 } else { 0.7 }
    }

    /// A sample of the RTT, also of a sender that the application limits.
    pub fn on_sample(&mut self, now: Duration, sent: Duration) {
        if self.cwnd < self.ssthresh && self.law != Law::Scalable && self.start.on_sample(now, sent, self.fault) {
            (self.ssthresh, self.epoch) = (self.cwnd, now);
            (self.w_max, self.w_est, self.k) = (self.cwnd / PACKET, self.cwnd / PACKET, 0.0);
        }
    }

    /// A packet that was sent at `sent` is acknowledged.
    pub fn grow(&mut self, now: Duration, sent: Duration, rtt: Duration) {
        if self.events > 0 && sent <= self.epoch {
            return;
        }
        if self.cwnd < self.ssthresh {
            let conservative = if self.has(Fault::SlowsToHalf) { 0.5 } else { 0.25 };
            let factor = if self.start.conservative.is_some() { conservative } else { 1.0 };
            self.cwnd += factor * PACKET * if self.has(Fault::GrowsTwofold) { 2.0 } else { 1.0 };
        } else if matches!(self.law, Law::Reno | Law::Scalable) {
            self.cwnd += PACKET * PACKET / self.cwnd * if self.has(Fault::AddsTwoPackets) { 2.0 } else { 1.0 };
        } else {
            self.grow_cubic(now, rtt);
        }
    }

    fn grow_cubic(&mut self, now: Duration, rtt: Duration) {
        let t = (now - self.epoch).as_secs_f64();
        let cwnd = self.cwnd / PACKET;
        let mut at = t + rtt.as_secs_f64();
        if self.has(Fault::JumpsToTheLastWindow) {
            at = at.max(self.k);
        }
        if self.has(Fault::StaysAtTheLastWindow) {
            at = at.min(self.k);
        }
        let target = (C * (at - self.k).powi(3) + self.w_max).clamp(cwnd, 1.5 * cwnd);
        let alpha = if self.w_est < self.w_max { 3.0 * 0.3 / 1.7 } else { 1.0 };
        self.w_est += alpha / cwnd;
        let mut grown = cwnd + (target - cwnd) / cwnd;
        if self.has(Fault::LosesIncrements) {
            self.due += grown - cwnd;
            grown = cwnd;
            if self.due >= 1.0 {
                (grown, self.due) = (cwnd + 1.0, 0.0);
            }
        }
        let friendly = !self.has(Fault::ForgetsReno) && self.w_est > grown;
        self.cwnd = PACKET * if friendly { self.w_est } else { grown };
    }

    pub fn on_loss(&mut self, now: Duration, newest: u64, next: u64, persistent: bool) {
        self.events += 1;
        if self.has(Fault::IgnoresLoss) {
            return;
        }
        if newest >= self.recovery || self.has(Fault::ReducesForEachLoss) {
            self.recovery = next;
            let beta = if self.has(Fault::ReducesToSixTenths) { 0.6 } else { self.beta() };
            self.reduce(now, beta);
            if persistent && !self.has(Fault::IgnoresPersistentCongestion) {
                if self.has(Fault::ReducesThresholdTwice) {
                    self.ssthresh *= beta;
                }
                self.collapse(now);
            }
        }
    }

    pub fn on_mark(&mut self, now: Duration, newest: u64, next: u64) {
        self.events += 1;
        if newest >= self.recovery || self.has(Fault::ReducesForEachMark) {
            self.recovery = next;
            let beta = if self.has(Fault::ReducesLittleForMarks) { 0.9 } else { self.beta() };
            self.reduce(now, beta);
        }
    }

    pub fn reduce(&mut self, now: Duration, beta: f64) {
        let cwnd = self.cwnd / PACKET;
        let converges = self.law == Law::Cubic && cwnd < self.w_max;
        let kept = beta * if converges && self.has(Fault::ConvergesTheWindow) { 0.85 } else { 1.0 };
        self.w_max = cwnd * if converges && !self.has(Fault::ForgetsFastConvergence) { 0.85 } else { 1.0 };
        (self.epoch, self.cwnd) = (now, (self.cwnd * kept).max(2.0 * PACKET));
        (self.ssthresh, self.w_est) = (self.cwnd, self.cwnd / PACKET);
        let least = if self.has(Fault::TakesKFromTheLastWindow) { 0.7 * self.w_max } else { self.w_est };
        self.k = ((self.w_max - least).max(0.0) / C).cbrt();
    }

    /// The marks of a round reduce a scalable window by half of their mean share.
    /// They do so once (rfc8257#3.3).
    /// Where the queue is long, a mark counts as in a classic queue.
    pub fn on_shares(&mut self, now: Duration, acked: u64, marks: u64, (newest, next): (u64, u64), queue: Duration) {
        self.round[0] += acked;
        self.round[1] += marks;
        if marks > 0 && queue > Duration::from_millis(5) && !self.has(Fault::TakesClassicMarksForOwn) {
            self.classic = true;
        }
        if newest < self.round_until {
            return;
        }
        let share = self.round[1] as f64 / self.round[0].max(1) as f64;
        self.alpha += (share - self.alpha) / 16.0;
        if share > 0.0 {
            self.events += 1;
            let kept = if self.classic { 0.7 } else { 1.0 - self.alpha / 2.0 };
            self.reduce(now, if self.has(Fault::HalvesForMarks) { 0.5 } else { kept });
        }
        (self.round, self.round_until, self.classic) = ([0, 0], next, false);
    }

    /// The window after persistent congestion.
    pub fn collapse(&mut self, now: Duration) {
        (self.cwnd, self.epoch) = (2.0 * PACKET, now);
    }
}
