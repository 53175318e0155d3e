//! Our controller, and copies of it with known faults of growth.
//! If a copy follows the sender's window better, its faults are the likely causes.

use crate::Cause;
use crate::growth::Apart;
use crate::subject::{Subject, Transport};
use sojourn_cc::{Ack, AnyController, CcConfig, CongestionController, CongestionEvent, Event, Signal, Window};
use sojourn_units::Time;

/// The fraction of the window that CUBIC keeps (rfc9438#4.6).
const BETA: f64 = 0.7;

/// Whether a sender can have a fault.
type Applies = fn(Transport, &CcConfig) -> bool;

/// The faults of growth that a copy can have, and the senders that can have them.
/// TCP may count ACKs (rfc5681#3.1).
const FAULTS: [(Cause, Applies); 5] = [
    (Cause::LostIncrements, |_, _| true),
    (Cause::EarlyEpoch, |_, config| matches!(config, CcConfig::Cubic(_))),
    (Cause::KOfWMax, |_, config| matches!(config, CcConfig::Cubic(_))),
    (Cause::AcksCounted, |transport, config| transport == Transport::Quic && !matches!(config, CcConfig::Cubic(_))),
    (Cause::SlowerThanReno, |_, config| matches!(config, CcConfig::Cubic(_))),
];

/// A controller that replays the log.
#[derive(Clone, Debug)]
pub(crate) struct Rival {
    faults: Vec<Cause>,
    controller: AnyController,
    /// Its count towards the next packet, if it loses increments.
    count: f64,
    /// Whether congestion avoidance has not begun since a reduction, if the fault is in its beginning.
    begins: bool,
    /// The sum of its distances to the sender's window in the current epoch, in packets.
    error: f64,
    /// The first report at which it was further from the sender than the tolerance.
    first: Option<Apart>,
}

/// Our controller, then each combination of faults.
pub(crate) fn all(subject: &Subject, config: &CcConfig, window: Window) -> Vec<Rival> {
    let of = |combination: usize| -> Option<Rival> {
        let chosen = FAULTS.iter().enumerate().filter(|(bit, _)| combination >> bit & 1 == 1);
        let faults =
            chosen.map(|(_, (cause, applies))| applies(subject.transport, config).then_some(*cause)).collect::<Option<Vec<_>>>()?;
        let mut config = config.clone();
        if let CcConfig::Cubic(params) = &mut config {
            params.reno_friendly = !faults.contains(&Cause::SlowerThanReno);
        }
        Some(Rival { faults, controller: subject.build(&config, window), count: 0.0, begins: false, error: 0.0, first: None })
    };
    // Linux counts whole segments, so copies in fractions have no meaning.
    (0..if subject.linux { 1 } else { 1 << FAULTS.len() }).filter_map(of).collect()
}

impl Rival {
    pub fn window(&self) -> Window {
        self.controller.window()
    }

    /// CUBIC's `W_max` in segments.
    pub fn w_max(&self) -> Option<f64> {
        let is_cubic = matches!(self.controller, AnyController::Cubic(_));
        self.controller.values().first().copied().filter(|_| is_cubic)
    }

    fn has(&self, fault: Cause) -> bool {
        self.faults.contains(&fault)
    }

    /// Handles an ACK. With a fault it is that of an endpoint that reports each packet.
    pub fn on_ack(&mut self, ack: &Ack) {
        let mut ack = *ack;
        if self.begins && !ack.in_recovery {
            self.begin(&ack);
        }
        if self.has(Cause::AcksCounted) {
            (ack.acked, ack.advanced) = (ack.acked.min(1.0), ack.advanced.min(1.0));
        }
        if !self.has(Cause::LostIncrements) {
            return self.controller.on_ack(&ack);
        }
        let mut left = ack.acked;
        while left > 0.0 {
            self.on_packet(&Ack { acked: left.min(1.0), advanced: left.min(1.0), ..ack });
            left -= 1.0;
        }
    }

    /// Handles an ACK of a packet, and drops what exceeds a whole increment.
    fn on_packet(&mut self, ack: &Ack) {
        let before = self.controller.window();
        self.controller.on_ack(ack);
        if before.cwnd < before.ssthresh {
            return;
        }
        self.count += self.controller.cwnd() - before.cwnd;
        let whole = self.count >= 1.0;
        if whole {
            self.count = 0.0;
        }
        self.controller.set_cwnd(before.cwnd + f64::from(u8::from(whole)));
    }

    pub fn on_congestion(&mut self, now: Time, window: f64, signal: Signal) {
        self.controller.on_congestion(&CongestionEvent { now, window, signal });
    }

    pub fn on_rto(&mut self, now: Time, window: f64) {
        self.controller.on_rto(now, window);
    }

    pub fn on_event(&mut self, event: &Event) {
        self.controller.on_event(event);
    }

    pub fn set_cwnd(&mut self, cwnd: f64) {
        self.controller.set_cwnd(cwnd);
    }

    /// Continues from the sender's windows after a reduction at `reduced`.
    pub fn restart(&mut self, theirs: Window, reduced: Option<&Ack>) {
        self.controller.on_event(&Event::IdleRestart(theirs));
        self.count = 0.0;
        self.settle();
        let avoids = theirs.cwnd >= theirs.ssthresh;
        self.begins = reduced.is_some() && avoids && self.has(Cause::KOfWMax);
        if let (true, Some(ack)) = (self.has(Cause::EarlyEpoch) && avoids, reduced) {
            self.begin(ack);
        }
    }

    /// Starts CUBIC's epoch by an ACK of nothing.
    /// The window from which K follows is the present one, or with the fault the part of `W_max` that a decrease keeps.
    fn begin(&mut self, ack: &Ack) {
        let window = self.controller.window();
        if let (true, Some(w_max)) = (self.has(Cause::KOfWMax), self.controller.values().first()) {
            self.controller.on_event(&Event::IdleRestart(Window { cwnd: BETA * w_max, ssthresh: BETA * w_max }));
        }
        self.controller.on_ack(&Ack { acked: 0.0, advanced: 0.0, in_recovery: false, cwnd_limited: true, ..*ack });
        self.controller.on_event(&Event::Undo(window));
        self.controller.set_cwnd(window.cwnd);
        self.begins = false;
    }

    /// Forgets the distances so far.
    pub fn settle(&mut self) {
        (self.error, self.first) = (0.0, None);
    }

    /// Compares its window with the sender's.
    pub fn compare(&mut self, at: Time, theirs: Window, tolerance: f64) {
        let apart = Apart { at, theirs, ours: self.window() };
        self.error += apart.distance();
        if apart.distance() > tolerance {
            self.first.get_or_insert(apart);
        }
    }

    /// The first report at which it was further from the sender than the tolerance.
    pub fn first(&self) -> Option<Apart> {
        self.first
    }

    /// The mean distance to the sender's window in packets, over a number of reports.
    pub fn mean_error(&self, reports: u32) -> f64 {
        self.error / f64::from(reports.max(1))
    }
}

/// What a fault must improve the mean distance by, in packets, to be believed.
const LEAST_GAIN: f64 = 0.25;
/// The part of our controller's distance that the best copy may have.
const BELIEVED: f64 = 0.5;

/// A likely cause, and the first report at which the other causes do not suffice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Likely {
    pub cause: Cause,
    pub apart: Apart,
}

/// The faults of the copy that follows the sender best, by what each explains; empty if none follows it well.
/// A fault without which the copy stays within the tolerance is not among them.
pub(crate) fn likely(rivals: &[Rival], reports: u32) -> Vec<Likely> {
    let score = |rival: &&Rival| rival.mean_error(reports) + LEAST_GAIN * rival.faults.len() as f64;
    let best = rivals.iter().min_by(|one, other| score(one).total_cmp(&score(other)));
    let Some(best) = best.filter(|best| best.mean_error(reports) <= BELIEVED * rivals[0].mean_error(reports)) else { return Vec::new() };
    let without = |cause: Cause| {
        let rest = |rival: &&Rival| rival.faults.iter().eq(best.faults.iter().filter(|&&fault| fault != cause));
        rivals.iter().find(rest).and_then(|rival| Some((rival.error, Likely { cause, apart: rival.first? })))
    };
    let mut found: Vec<(f64, Likely)> = best.faults.iter().filter_map(|&cause| without(cause)).collect();
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    found.into_iter().map(|(_, likely)| likely).collect()
}
