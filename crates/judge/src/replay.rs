//! The replay of a log: our controller receives the sender's events, and its windows are compared with the reported ones.

use crate::growth::{Apart, Epoch, Interval, unexplained};
use crate::reduction::{Kind, Pending, cause_of_reduction};
use crate::rival::{self, Likely, Rival};
use crate::subject::{ESTIMATE, Subject, SubjectError, Transport};
use crate::{Acked, Action, Cause, Event, Limit};
use sojourn_cc::{Ack, CcConfig, Event as EndpointEvent, Signal, Window};
use sojourn_units::Time;

/// Both windows at a report of the sender, in bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// The time of the report.
    pub at: Time,
    /// The sender's windows. An unknown threshold is infinite.
    pub theirs: Window,
    /// Our controller's windows.
    pub ours: Window,
}

/// A divergence: the first of its cause.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Divergence {
    /// The time of the first report at which the windows were apart.
    pub at: Time,
    /// What happened at that time.
    pub event: &'static str,
    /// The window before a reduction in bytes; `None` for growth.
    pub before: Option<f64>,
    /// The sender's windows in bytes.
    pub theirs: Window,
    /// Our controller's windows in bytes.
    pub ours: Window,
    /// The likely cause.
    pub cause: Cause,
    /// How often it occurs in the log.
    pub count: u32,
}

/// The result of a replay.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Judgement {
    /// Both windows at each report.
    pub points: Vec<Point>,
    /// The first divergence of each cause, by time.
    pub divergences: Vec<Divergence>,
    /// The number of reductions that were compared.
    pub reductions: u32,
}

/// Replays the log of a sender through the controller that it claims to have.
///
/// After a divergence, our controller continues from the sender's windows, so that later faults are found too.
/// The tolerance is one packet, and a byte for each ACK that may round. Windows during TCP's recovery are not compared.
///
/// # Errors
/// No controller of the registry that can be judged has the name.
pub fn judge(subject: &Subject, events: &[Event]) -> Result<Judgement, SubjectError> {
    let config = subject.config()?;
    let mut best = replay(subject, &config, events, counts_of(subject)[0]);
    for &abc_limit in &counts_of(subject)[1..] {
        let Some(first) = best.divergences.first() else { break };
        let other = replay(subject, &config, events, abc_limit);
        if other.divergences.first().is_none_or(|later| later.at > first.at) {
            best = other;
        }
    }
    Ok(best)
}

/// What an ACK may count for, as [`Ack::abc_limit`].
/// QUIC counts bytes (rfc9002#7.3.1). TCP may count bytes or ACKs (rfc5681#3.1, rfc3465#2). Linux's numbers ignore it.
fn counts_of(subject: &Subject) -> &'static [f64] {
    match (subject.transport, subject.linux) {
        (Transport::Quic, _) | (_, true) => &[f64::INFINITY],
        (Transport::Tcp, false) => &[1.0, 0.0, 2.0],
    }
}

fn replay(subject: &Subject, config: &CcConfig, events: &[Event], abc_limit: f64) -> Judgement {
    let mut replay = Replay::new(subject, config.clone());
    replay.last_ack.abc_limit = abc_limit;
    for (number, event) in events.iter().enumerate() {
        let ends = |next: &Event| next.at <= event.at && matches!(next.action, Action::Recovered);
        replay.ends_recovery = !subject.linux && !subject.estimated && events.get(number + 1).is_some_and(ends);
        replay.handle(event);
    }
    replay.close();
    replay.done.divergences.sort_by_key(|divergence| divergence.at);
    replay.done
}

struct Replay<'a> {
    subject: &'a Subject,
    config: CcConfig,
    mss: u32,
    now: Time,
    /// Our controller, then its copies with faults; empty before the first report.
    /// A last one without faults is the twin of ours that decides on fast convergence the other way.
    rivals: Vec<Rival>,
    /// Their number without the twin.
    faulty: usize,
    theirs: Window,
    /// Our windows at the last report.
    reported: Window,
    pending: Option<Pending>,
    /// The rivals before the last reduction.
    saved: Vec<Rival>,
    /// Segments in flight after the last loss, if known.
    flight: Option<f64>,
    /// When the last reduction was (QUIC).
    recovery_start: Option<Time>,
    /// Whether losses are being repaired (TCP).
    in_recovery: bool,
    /// Whether this ACK ends TCP's recovery. It is then a first one after it (rfc6582#3.2), while Linux counts it as a last one of it.
    /// A capture tells the end of a recovery too roughly.
    ends_recovery: bool,
    /// The windows before the last reduction.
    undo: Window,
    adopt: bool,
    /// Whether the last ACK ended slow start.
    reached: bool,
    last_ack: Ack,
    acked: f64,
    interval: Interval,
    epoch: Epoch,
    done: Judgement,
}

/// The packets by which two reported windows may differ and be equal.
const NEAR: f64 = 0.05;

const NO_WINDOW: Window = Window { cwnd: 0.0, ssthresh: f64::INFINITY };

impl<'a> Replay<'a> {
    fn new(subject: &'a Subject, config: CcConfig) -> Self {
        Replay {
            subject,
            config,
            mss: subject.mss.max(1),
            now: Time::ZERO,
            rivals: Vec::new(),
            faulty: 0,
            theirs: NO_WINDOW,
            reported: NO_WINDOW,
            pending: None,
            saved: Vec::new(),
            flight: None,
            recovery_start: None,
            in_recovery: false,
            ends_recovery: false,
            undo: NO_WINDOW,
            adopt: false,
            reached: false,
            last_ack: Ack { abc_limit: f64::INFINITY, ..Ack::ONE },
            acked: 0.0,
            interval: Interval::default(),
            epoch: Epoch::default(),
            done: Judgement::default(),
        }
    }

    fn handle(&mut self, event: &Event) {
        self.now = self.now.max(event.at);
        match event.action {
            Action::Window { cwnd, ssthresh } => {
                let segments = |bytes: u64| bytes as f64 / f64::from(self.mss);
                self.report(Window { cwnd: segments(cwnd), ssthresh: ssthresh.map_or(f64::INFINITY, segments) });
            }
            Action::Mss { bytes } => {
                let factor = f64::from(self.mss) / f64::from(bytes.max(1));
                self.theirs = Window { cwnd: self.theirs.cwnd * factor, ssthresh: self.theirs.ssthresh * factor };
                (self.mss, self.adopt) = (bytes.max(1), true);
            }
            _ if self.rivals.is_empty() => {}
            Action::Acked(acked) => self.ack(&acked),
            Action::Lost { sent, persistent, in_flight } => {
                self.flight = in_flight.map(|bytes| bytes as f64 / f64::from(self.mss));
                self.lost(sent, persistent);
            }
            Action::Marked { sent } => self.signal(sent, Signal::Mark, "a mark"),
            Action::Timeout => self.timeout(),
            Action::Recovered => {
                (self.in_recovery, self.adopt) = (false, true);
                self.tell(&EndpointEvent::ReductionEnd);
            }
            Action::Spurious => {
                self.tell(&EndpointEvent::Undo(self.undo));
                (self.adopt, self.recovery_start, self.in_recovery) = (true, None, false);
            }
        }
    }

    /// A byte in segments.
    fn byte(&self) -> f64 {
        1.0 / f64::from(self.mss)
    }

    fn tell(&mut self, event: &EndpointEvent) {
        self.rivals.iter_mut().for_each(|rival| rival.on_event(event));
    }

    fn ours(&self) -> Window {
        self.rivals[0].window()
    }

    /// Whether a packet that was sent at this time belongs to the round trip of the last reduction (rfc9002#7.3.2).
    fn of_recovery(&self, sent: Option<Time>) -> bool {
        self.in_recovery || self.recovery_start.is_some_and(|start| sent.is_some_and(|sent| sent <= start))
    }

    /// Whether TCP's recovery has ended since the last report.
    fn has_recovered(&self) -> bool {
        self.adopt && self.subject.transport == Transport::Tcp && self.interval.recovery > 0.0
    }

    fn ack(&mut self, acked: &Acked) {
        let segments = acked.bytes as f64 / f64::from(self.mss);
        let repairs = self.of_recovery(acked.sent);
        let in_recovery = repairs && !self.ends_recovery;
        self.acked += acked.bytes as f64;
        let in_flight = acked.in_flight as f64 / f64::from(self.mss);
        let ack = Ack {
            now: self.now,
            acked: segments,
            advanced: segments,
            rtt: acked.rtt,
            srtt: acked.srtt,
            rtt_min: acked.rtt_min,
            in_flight,
            cwnd_limited: acked.limit != Limit::Application,
            in_recovery,
            after_timeout: acked.after_timeout,
            open: !in_recovery && !acked.after_timeout,
            snd_una: self.acked as u64,
            snd_max: self.acked as u64 + acked.in_flight.saturating_sub(acked.bytes),
            ..self.last_ack
        };
        let before = self.ours();
        self.rivals.iter_mut().for_each(|rival| rival.on_ack(&ack));
        self.last_ack = ack;
        // Windows are rounded, so the ACK that reaches ssthresh or the next one may still count for slow start (rfc5681#3.1).
        let starting = before.cwnd < before.ssthresh - self.byte();
        let reached = starting && self.ours().cwnd >= before.ssthresh - self.byte();
        self.interval.crossed |= reached || self.reached;
        self.reached = reached;
        self.interval.acked += segments;
        self.interval.count(segments, repairs, acked.limit);
        if self.ours().cwnd >= self.ours().ssthresh {
            self.epoch.rounded += 1;
        }
    }

    fn lost(&mut self, sent: Option<Time>, persistent: bool) {
        if !persistent {
            return self.signal(sent, Signal::Loss, "a loss");
        }
        let again = self.of_recovery(sent);
        let before = if again { self.theirs.cwnd } else { self.begin("persistent congestion", Kind::Persistent) };
        let now = self.now;
        for rival in &mut self.rivals {
            let ssthresh = rival.window().ssthresh;
            rival.on_rto(now, before);
            let window = rival.window();
            // The threshold falls once in a round trip.
            rival.on_event(&EndpointEvent::IdleRestart(Window { cwnd: 2.0, ssthresh: if again { ssthresh } else { window.ssthresh } }));
        }
        self.pending = Some(Pending { at: now, event: "persistent congestion", before, kind: Kind::Persistent });
        self.recovery_start = None;
    }

    /// Begins a reduction; returns the window before it in segments.
    /// It is the sender's, with our growth since its last report. A recovery that has just ended left ssthresh (rfc6582#3.2).
    fn begin(&mut self, event: &'static str, kind: Kind) -> f64 {
        let grown = (self.ours().cwnd - self.reported.cwnd).max(0.0);
        let left = if self.has_recovered() && self.theirs.ssthresh.is_finite() { self.theirs.ssthresh } else { self.theirs.cwnd };
        self.undo = Window { cwnd: left + grown, ..self.theirs };
        self.close();
        self.rivals.truncate(self.faulty);
        self.pending = Some(Pending { at: self.now, event, before: self.undo.cwnd, kind });
        self.undo.cwnd
    }

    fn signal(&mut self, sent: Option<Time>, signal: Signal, event: &'static str) {
        if self.of_recovery(sent) {
            self.interval.again = true;
            return;
        }
        let (now, before) = (self.now, self.begin(event, Kind::Loss));
        self.saved.clone_from(&self.rivals);
        self.reduce(now, before, signal);
        match self.subject.transport {
            Transport::Quic => self.recovery_start = Some(now),
            Transport::Tcp => self.in_recovery = true,
        }
    }

    fn timeout(&mut self) {
        let (now, before) = (self.now, self.begin("a timeout", Kind::Timeout));
        self.rivals.iter_mut().for_each(|rival| rival.on_rto(now, before));
        self.in_recovery = false;
    }

    fn report(&mut self, theirs: Window) {
        if self.rivals.is_empty() {
            self.rivals = rival::all(self.subject, &self.config, theirs);
            self.faulty = self.rivals.len();
        }
        let apart = Apart { at: self.now, theirs, ours: self.ours() };
        self.done.points.push(Point { at: self.now, theirs: in_bytes(theirs, self.mss), ours: in_bytes(apart.ours, self.mss) });
        if self.acked == 0.0 {
            // Until data is acknowledged, the handshake sets the window.
            self.restart(theirs);
        } else if let Some(pending) = self.pending.take() {
            self.judge_reduction(&pending, &apart);
        } else if self.adopt {
            self.judge_adopted(&apart);
        } else if !self.in_recovery {
            self.judge_growth(&apart);
        }
        (self.theirs, self.reported) = (theirs, self.ours());
        self.interval = Interval::default();
    }

    fn judge_reduction(&mut self, pending: &Pending, apart: &Apart) {
        self.done.reductions += 1;
        let apart = &self.of_flight(pending, apart);
        let Apart { theirs, ours, .. } = *apart;
        // TCP's recovery and restart after a timeout set the window.
        let compares_window = self.subject.transport == Transport::Quic && pending.kind != Kind::Timeout;
        let tolerance = self.subject.tolerance(pending.before);
        let window_parts = compares_window && (theirs.cwnd - ours.cwnd).abs() > tolerance;
        let threshold_parts = theirs.ssthresh.is_finite() && (theirs.ssthresh - ours.ssthresh).abs() > tolerance;
        if window_parts || threshold_parts {
            let cause = cause_of_reduction(pending, &theirs, &ours, compares_window, matches!(self.config, CcConfig::Cubic(_)));
            self.add(apart, pending.event, Some(pending.before), cause);
        } else if self.subject.transport == Transport::Tcp && pending.kind == Kind::Loss && theirs.ssthresh.is_finite() {
            self.reduce_again(pending, theirs.ssthresh / ours.ssthresh);
        }
        let known = Window { ssthresh: if theirs.ssthresh.is_finite() { theirs.ssthresh } else { ours.ssthresh }, ..theirs };
        let ack = Ack { now: pending.at, ..self.last_ack };
        self.rivals.iter_mut().for_each(|rival| rival.restart(known, (pending.kind == Kind::Loss).then_some(&ack)));
        // A window that recovery or a restart moves is adopted at its end.
        self.adopt = self.subject.transport == Transport::Tcp && !self.in_recovery;
        self.epoch = Epoch::default();
    }

    /// The windows after a reduction, from the data in flight if the sender reduces that (rfc9438#4.6).
    fn of_flight(&mut self, pending: &Pending, apart: &Apart) -> Apart {
        let Some(flight) = self.flight.filter(|_| self.subject.transport == Transport::Quic && pending.kind == Kind::Loss) else {
            return *apart;
        };
        let share = flight / pending.before;
        if apart.distance() > 1.0 && share < 1.0 && (apart.theirs.cwnd - share * apart.ours.cwnd).abs() <= 1.0 {
            self.reduce_again(pending, share);
        }
        Apart { ours: self.ours(), ..*apart }
    }

    /// Repeats a reduction from the window that the sender had in use.
    /// It may be the data in flight instead of the window (rfc5681#3.1 eq. 4); their thresholds differ by `factor`.
    fn reduce_again(&mut self, pending: &Pending, factor: f64) {
        let in_use = pending.before * factor;
        let whole = in_use.round();
        let window = if (in_use - whole).abs() <= 2.0 * self.byte() { whole } else { in_use };
        self.rivals.clone_from(&self.saved);
        self.reduce(pending.at, window, Signal::Loss);
    }

    /// Reduces our window. A window close to `W_max` may be on either side of it, so a twin is on the other (rfc9438#4.7).
    fn reduce(&mut self, at: Time, window: f64, signal: Signal) {
        let near = if self.subject.estimated { ESTIMATE } else { NEAR };
        let w_max = self.rivals[0].w_max().filter(|&w_max| w_max > 0.0 && (window - w_max).abs() <= near);
        let twin = w_max.map(|w_max| (self.rivals[0].clone(), if window < w_max { w_max } else { w_max - NEAR }));
        self.rivals.iter_mut().for_each(|rival| rival.on_congestion(at, window, signal));
        if let Some((mut twin, other)) = twin {
            twin.on_congestion(at, other, signal);
            self.rivals.push(twin);
        }
    }

    /// Exchanges ours and its twin if only the twin is near the sender.
    fn choose(&mut self, theirs: f64, tolerance: f64) {
        let is_apart = |rival: &Rival| (rival.window().cwnd - theirs).abs() > tolerance;
        let twin = self.faulty;
        if self.rivals.len() > twin && self.rivals[0].first().is_none() && is_apart(&self.rivals[0]) && !is_apart(&self.rivals[twin]) {
            self.rivals.swap(0, twin);
            self.rivals.truncate(twin);
        }
    }

    /// The endpoint has set the window: after TCP's recovery, an undo or a change of the packet size.
    fn judge_adopted(&mut self, apart: &Apart) {
        let Apart { theirs, ours, .. } = *apart;
        let recovered = self.has_recovered();
        self.adopt = false;
        let tolerance = self.subject.tolerance(theirs.cwnd);
        if recovered && theirs.cwnd > ours.ssthresh + tolerance && theirs.cwnd > self.theirs.cwnd + tolerance {
            self.add(apart, "the end of recovery", None, Cause::AboveSsthresh);
        }
        if recovered && theirs.ssthresh < ours.ssthresh - tolerance {
            self.add(apart, "the end of recovery", None, Cause::ReducedAgain);
        }
        self.restart(theirs);
    }

    fn restart(&mut self, theirs: Window) {
        let known = Window { ssthresh: if theirs.ssthresh.is_finite() { theirs.ssthresh } else { self.ours().ssthresh }, ..theirs };
        self.rivals.iter_mut().for_each(|rival| rival.restart(known, None));
        self.epoch = Epoch::default();
    }

    fn judge_growth(&mut self, apart: &Apart) {
        let (last, interval) = (self.theirs, self.interval);
        let Apart { theirs, ours, .. } = *apart;
        let ended_early = ours.cwnd < ours.ssthresh && theirs.ssthresh < last.ssthresh && (theirs.cwnd - theirs.ssthresh).abs() <= 1.0;
        if ended_early {
            self.close();
            return self.restart(theirs);
        }
        let late = if self.subject.estimated { self.epoch.round(self.now, self.last_ack.srtt, &ours) } else { 0.0 };
        let tolerance = self.epoch.tolerance(self.subject.tolerance(theirs.cwnd) + late, self.mss);
        if self.subject.estimated && ours.ssthresh.is_infinite() && theirs.cwnd < ours.cwnd - tolerance {
            // The first slow start has ended early, and a capture does not tell where.
            self.close();
            return self.restart(Window { ssthresh: theirs.cwnd, ..theirs });
        }
        let least = self.subject.tolerance(theirs.cwnd);
        if theirs.cwnd < last.cwnd - least && ours.cwnd > theirs.cwnd + least {
            let (cause, event) =
                if interval.again { (Cause::ReducedAgain, "a signal in recovery") } else { (Cause::NoSignal, "no signal") };
            self.close();
            self.add(apart, event, Some(last.cwnd), cause);
            return self.restart(theirs);
        }
        if interval.crossed && self.rivals[0].first().is_none() && apart.distance() <= tolerance + interval.acked {
            // A restart would begin congestion avoidance an ACK later, from another window.
            if apart.distance() > self.byte() {
                self.restart(theirs);
            }
            return;
        }
        let unsure = interval.unknown > 0.0 && self.rivals[0].first().is_none();
        if unsure && theirs.cwnd >= last.cwnd - tolerance && theirs.cwnd <= ours.cwnd + tolerance {
            // Growth that they left out is not due. Growth beyond ours adds up.
            self.rivals.iter_mut().for_each(|rival| rival.set_cwnd(rival.window().cwnd.min(theirs.cwnd)));
            return;
        }
        self.choose(theirs.cwnd, tolerance);
        self.epoch.grow(theirs.cwnd - last.cwnd, &interval);
        self.epoch.reports += 1;
        self.rivals.iter_mut().for_each(|rival| rival.compare(apart.at, theirs, tolerance));
    }

    /// Ends an epoch of growth: names the causes if the windows were apart.
    fn close(&mut self) {
        let epoch = std::mem::take(&mut self.epoch);
        let Some(apart) = self.rivals.first().and_then(Rival::first) else { return };
        let mut found = rival::likely(&self.rivals, epoch.reports);
        if let Some(cause) = epoch.cause(&apart) {
            found = vec![Likely { cause, apart }];
        } else if found.is_empty() {
            found.push(Likely { cause: unexplained(&apart), apart });
        }
        self.rivals.iter_mut().for_each(Rival::settle);
        for Likely { cause, apart } in found {
            self.add(&apart, "an ACK", None, cause);
        }
    }

    /// Stores a divergence, or counts it if its cause is known. `before` is in segments.
    fn add(&mut self, apart: &Apart, event: &'static str, before: Option<f64>, cause: Cause) {
        if let Some(known) = self.done.divergences.iter_mut().find(|known| known.cause == cause) {
            known.count += 1;
            return;
        }
        let (theirs, ours) = (in_bytes(apart.theirs, self.mss), in_bytes(apart.ours, self.mss));
        let before = before.map(|segments| segments * f64::from(self.mss));
        self.done.divergences.push(Divergence { at: apart.at, event, before, theirs, ours, cause, count: 1 });
    }
}

fn in_bytes(window: Window, mss: u32) -> Window {
    let mss = f64::from(mss);
    Window { cwnd: window.cwnd * mss, ssthresh: window.ssthresh * mss }
}
