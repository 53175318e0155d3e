//! Controllers with slow start below a threshold and a window law above it.
//! Examples are Reno and CUBIC.

use crate::startup::{AnyStartUp, Phase, StartUp, StartUpConfig};
use crate::{Ack, Arithmetic, CongestionController, CongestionEvent, Event, LostSegment, Needs, Pacing, Start, Window};
use alloc::boxed::Box;
use sojourn_units::Time;

/// The law of a classic controller.
/// It defines growth in congestion avoidance and the reduction after congestion.
pub trait WindowLaw {
    /// The window after an ACK in congestion avoidance.
    /// Also returns what is counted towards the next segment.
    fn grow(&mut self, from: Counted, ack: &Ack) -> Counted;

    /// The window and threshold after congestion.
    fn on_reduction(&mut self, event: &CongestionEvent) -> Window;

    /// The slow-start threshold in segments after a timeout with `window` in use.
    /// Default: Reno's, in whole segments as in Linux and ns-2.
    fn after_rto(&mut self, _now: Time, window: f64) -> f64 {
        libm::floor(window * 0.5).max(Window::MIN_CWND)
    }

    /// Observes ACKs and events.
    /// A law may change the window. It returns whether the window may still grow.
    #[inline]
    fn observe(&mut self, _observation: Observation, _window: &mut Window) -> Early {
        Early::None
    }

    /// The law's requirements on its endpoint.
    fn needs(&self) -> Needs {
        Needs::OF_LAW
    }

    /// The maximum growth in segments of a window per round trip of congestion avoidance.
    fn growth_of_round(&self, _window: f64, _now: Time) -> f64 {
        1.0
    }
}

/// A law in fractions of a segment, or Linux's version of it in whole numbers.
#[derive(Clone, Debug)]
pub enum LawOrKernel<L, K> {
    /// The law as published.
    Law(L),
    /// Linux's version.
    Kernel(K),
}

/// Forwards a call to either version.
macro_rules! of_either {
    ($either:expr, $law:ident => $call:expr) => {
        match $either {
            LawOrKernel::Law($law) => $call,
            LawOrKernel::Kernel($law) => $call,
        }
    };
}

impl<L: WindowLaw, K: WindowLaw> WindowLaw for LawOrKernel<L, K> {
    #[inline]
    fn grow(&mut self, from: Counted, ack: &Ack) -> Counted {
        of_either!(self, law => law.grow(from, ack))
    }

    fn on_reduction(&mut self, event: &CongestionEvent) -> Window {
        of_either!(self, law => law.on_reduction(event))
    }

    fn after_rto(&mut self, now: Time, window: f64) -> f64 {
        of_either!(self, law => law.after_rto(now, window))
    }

    #[inline]
    fn observe(&mut self, observation: Observation, window: &mut Window) -> Early {
        of_either!(self, law => law.observe(observation, window))
    }

    fn needs(&self) -> Needs {
        of_either!(self, law => law.needs())
    }

    fn growth_of_round(&self, window: f64, now: Time) -> f64 {
        of_either!(self, law => law.growth_of_round(window, now))
    }
}

/// The observations of a law in addition to growth.
#[derive(Clone, Copy, Debug)]
pub enum Observation<'a> {
    /// An ACK, before anything else, whether the window may grow or not.
    Ack(&'a Ack),
    /// The same ACK, after the end of a reduction that it causes.
    /// The law's reaction to it counts.
    Turn(&'a Ack),
    /// An event of the endpoint.
    Event(&'a Event),
}

/// The early reaction of a law to an ACK, before a loss or a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Early {
    /// No reaction.
    None,
    /// The window must not grow.
    Hold,
    /// The window was reduced.
    Reduced,
}

/// A window in segments, and the count towards the next one.
/// In Linux these are `snd_cwnd` and `snd_cwnd_cnt`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Counted {
    /// The window.
    pub cwnd: f64,
    /// Acknowledged segments that have not caused growth yet.
    /// With fractions, it is the fraction of the next segment.
    pub count: f64,
    /// Acknowledged segments that slow start did not use.
    pub acked: f64,
    /// Whether slow start used a part of the ACK.
    /// Linux's laws with a count of their own then ignore the rest.
    pub in_slow_start: bool,
    /// The numbers in which the window counts.
    pub arithmetic: Arithmetic,
}

/// The error of sums of fractions of a segment, by which they may miss a whole one.
const ROUNDING: f64 = 1e-9;

impl Counted {
    /// Sets the window to `cwnd`. In whole segments, the fraction is counted.
    #[inline]
    #[must_use]
    pub fn to(self, cwnd: f64) -> Self {
        if self.arithmetic == Arithmetic::Fractions {
            return Counted { cwnd, ..self };
        }
        let gained = self.count + cwnd - self.cwnd;
        let whole = libm::floor(gained + ROUNDING);
        Counted { cwnd: self.cwnd + whole, count: gained - whole, ..self }
    }

    /// Grows the window by one for each `needed` acknowledged segments.
    /// Source: Linux `tcp_cong_avoid_ai`.
    #[must_use]
    pub fn every(self, needed: f64) -> Self {
        let needed = needed.max(1.0);
        let Counted { mut cwnd, mut count, .. } = self;
        if count >= needed {
            // It was counted when more segments were needed.
            count = 0.0;
            cwnd += 1.0;
        }
        count += self.acked;
        let whole = libm::floor(count / needed);
        Counted { cwnd: cwnd + whole, count: count - whole * needed, ..self }
    }

    /// A window in Linux's numbers, with one acknowledged segment.
    #[cfg(test)]
    pub(crate) fn in_linux(cwnd: f64, count: f64) -> Self {
        Counted { cwnd, count, acked: 1.0, in_slow_start: false, arithmetic: Arithmetic::Linux }
    }

    /// Grows as Reno by `increase` segments per round trip (rfc5681#3.1 eq. 3).
    #[inline]
    #[must_use]
    pub fn by(self, increase: f64, ack: &Ack) -> Self {
        match self.arithmetic {
            Arithmetic::Linux => self.every(self.cwnd / increase),
            _ => self.to(self.cwnd + increase * ack.avoidance_count() / self.cwnd),
        }
    }
}

/// A start-up that is not over.
#[derive(Clone, Debug)]
struct Running {
    start_up: AnyStartUp,
    /// The fraction of a segment by which a window of whole segments has not grown yet.
    part: f64,
}

/// Slow start (rfc5681#3.1) and a [`WindowLaw`].
#[derive(Clone, Debug)]
pub struct Classic<L> {
    window: Window,
    /// The start-up, until it is over; `None` in classic slow start.
    start_up: Option<Box<Running>>,
    arithmetic: Arithmetic,
    /// Whether a reduction has ended. In Linux the law learns this after processing the ACK.
    reduction_ended: bool,
    /// Whether the next ACK needs more than the law: a start-up runs, or a reduction has ended.
    is_special: bool,
    /// The value of [`Counted::count`].
    count: f64,
    law: L,
}

/// A law of more bytes is boxed in the registry.
const BOXED_ABOVE: usize = 16;

impl<L: WindowLaw> Classic<L> {
    /// A controller at the start of a connection.
    pub fn new(start: Start, law: L) -> Self {
        let window = Window { cwnd: start.window, ssthresh: start.ssthresh };
        let config = start.start_up.filter(|config| !matches!(config, StartUpConfig::Classic(_)));
        let start_up = config.map(|config| Box::new(Running { start_up: config.start(start.pacing), part: 0.0 }));
        let is_special = start_up.is_some();
        Classic { window, start_up, arithmetic: start.arithmetic, reduction_ended: false, is_special, count: 0.0, law }
    }

    /// The window law and its state.
    pub fn law(&self) -> &L {
        &self.law
    }

    /// The growth in slow start in segments, if classic slow start grows by `classic`.
    #[inline]
    fn growth(&mut self, ack: &Ack, classic: f64) -> f64 {
        if self.start_up.is_none() { classic } else { self.growth_of_start_up(&{ *ack }, classic) }
    }

    /// The growth of a start-up in segments.
    #[cold]
    fn growth_of_start_up(&mut self, ack: &Ack, classic: f64) -> f64 {
        let Some(running) = &mut self.start_up else { return classic };
        let growth = running.start_up.growth(ack, classic);
        if self.arithmetic == Arithmetic::Fractions {
            return growth;
        }
        let whole = libm::floor(running.part + growth);
        running.part += growth - whole;
        whole
    }

    fn slow_start(&mut self, ack: &Ack) {
        self.window.cwnd += self.growth(ack, ack.slow_start_growth());
    }

    /// Slow start as in Linux (`tcp_slow_start`). Returns the unused acknowledged segments.
    fn slow_start_in_linux(&mut self, ack: &Ack) -> f64 {
        let growth = self.growth(ack, ack.acked);
        let grown = (self.window.cwnd + growth).min(self.window.ssthresh);
        let left = ack.acked - (grown - self.window.cwnd);
        self.window.cwnd = grown;
        left
    }

    /// Handles an ACK of which more than the law learns. Returns whether the window may grow.
    #[cold]
    fn on_special_ack(&mut self, ack: &Ack) -> bool {
        if core::mem::take(&mut self.reduction_ended) {
            self.law.observe(Observation::Event(&Event::ReductionEnd), &mut self.window);
        }
        let phase = self.start_up.as_mut().map_or(Phase::Over, |running| running.start_up.on_ack(ack, &mut self.window));
        if self.start_up.is_some() && self.arithmetic != Arithmetic::Fractions {
            self.window.cwnd = libm::floor(self.window.cwnd);
        }
        if phase == Phase::Over {
            self.end_start_up();
        }
        phase != Phase::Hold
    }

    /// Ends the start-up; what follows is classic.
    #[cold]
    fn end_start_up(&mut self) {
        self.start_up = None;
        self.is_special = self.reduction_ended;
    }

    /// Grows the window in whole segments.
    #[inline(never)]
    fn grow_whole(&mut self, ack: &Ack) {
        let is_linux = self.arithmetic == Arithmetic::Linux;
        if !is_linux && self.window.cwnd <= self.window.ssthresh {
            self.slow_start(ack);
            self.count = 0.0;
            return;
        }
        let (mut acked, in_slow_start) = (ack.acked, is_linux && self.window.cwnd < self.window.ssthresh);
        if in_slow_start {
            acked = self.slow_start_in_linux(ack);
            if acked <= 0.0 || self.window.cwnd < self.window.ssthresh {
                return;
            }
        }
        let from = Counted { cwnd: self.window.cwnd, count: self.count, acked, in_slow_start, arithmetic: self.arithmetic };
        let grown = self.law.grow(from, ack);
        (self.window.cwnd, self.count) = (grown.cwnd, grown.count);
    }

    /// Reduces the window to `to`.
    #[cold]
    fn reduce(&mut self, to: Window) {
        self.count = 0.0;
        self.window = to;
        if self.arithmetic != Arithmetic::Fractions {
            self.window = Window { cwnd: libm::floor(to.cwnd).max(1.0), ssthresh: libm::floor(to.ssthresh) };
        }
    }
}

impl<L: WindowLaw> CongestionController for Classic<L> {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.law.observe(Observation::Ack(ack), &mut self.window);
        // Copies for rare calls: so the ACK of a caller into which this is inlined stays in registers.
        let held = self.is_special && !self.on_special_ack(&{ *ack });
        match self.law.observe(Observation::Turn(ack), &mut self.window) {
            Early::None => {}
            Early::Hold => return,
            Early::Reduced => {
                self.end_start_up();
                return self.reduce(self.window);
            }
        }
        if ack.in_recovery || !ack.cwnd_limited || held {
            return;
        }
        let Window { cwnd, ssthresh } = self.window;
        if self.arithmetic != Arithmetic::Fractions {
            self.grow_whole(&{ *ack });
        } else if cwnd < ssthresh {
            self.slow_start(ack);
        } else {
            let from = Counted { cwnd, count: 0.0, acked: ack.acked, in_slow_start: false, arithmetic: Arithmetic::Fractions };
            self.window.cwnd = self.law.grow(from, ack).cwnd;
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let mut window = self.law.on_reduction(event);
        if !self.start_up.as_mut().is_some_and(|running| running.start_up.on_congestion(event, &mut window)) {
            self.end_start_up();
        }
        self.reduce(window);
    }

    fn on_lost(&mut self, lost: &LostSegment) {
        if let Some(running) = &mut self.start_up {
            running.start_up.on_lost(lost.size);
        }
    }

    fn on_rto(&mut self, now: Time, window: f64) {
        self.end_start_up();
        self.window = Window { cwnd: 1.0, ssthresh: self.law.after_rto(now, window) };
        self.count = 0.0;
    }

    fn on_event(&mut self, event: &Event) {
        if matches!(event, Event::ReductionEnd) && self.arithmetic == Arithmetic::Linux {
            // Linux reports it after `in_ack_event` and `pkts_acked`.
            (self.reduction_ended, self.is_special) = (true, true);
            return;
        }
        self.law.observe(Observation::Event(event), &mut self.window);
        match event {
            Event::RepeatedRto { .. } => self.count = 0.0,
            Event::IdleRestart(window) => self.window = *window,
            Event::IdleEnd { srtt, .. } => {
                if let Some(running) = &mut self.start_up {
                    running.start_up.on_flight_start(self.window, *srtt);
                }
            }
            Event::Undo(before) => {
                self.end_start_up();
                let Window { cwnd, ssthresh } = self.window;
                self.window = Window { cwnd: cwnd.max(before.cwnd), ssthresh: ssthresh.max(before.ssthresh) };
            }
            _ => event.apply(self),
        }
    }

    #[inline]
    fn window(&self) -> Window {
        self.window
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.window.cwnd = cwnd;
    }

    fn limit_of_flight(&self, flight: f64, now: Time) -> f64 {
        if self.window.cwnd < self.window.ssthresh { 2.0 * flight } else { flight + self.law.growth_of_round(flight, now) }
    }

    fn memory(&self) -> usize {
        let own = if size_of::<L>() > BOXED_ABOVE { size_of::<Self>() } else { 0 };
        own + self.start_up.as_ref().map_or(0, |_| size_of::<Running>())
    }

    fn start_up_pacing(&self) -> Option<Pacing> {
        self.start_up.as_ref()?.start_up.pacing()
    }

    fn needs(&self) -> Needs {
        let needs = self.law.needs();
        let start_up = self.start_up.as_ref().map(|running| running.start_up.needs()).unwrap_or_default();
        Needs { start_up: true, start_up_pacing: start_up.pacing, losses: start_up.losses, ..needs }
    }
}
