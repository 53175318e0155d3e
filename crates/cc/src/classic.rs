//! Controllers with slow start below a threshold and a window law above it.
//! Examples are Reno and CUBIC.

use crate::{Ack, Arithmetic, CongestionController, CongestionEvent, Event, HyStart, Needs, Start, Window};
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

/// Slow start (rfc5681#3.1) and a [`WindowLaw`].
#[derive(Clone, Debug)]
pub struct Classic<L> {
    window: Window,
    /// Ends the first slow start early, if enabled.
    hystart: Option<Box<HyStart>>,
    arithmetic: Arithmetic,
    /// Whether a reduction has ended. In Linux the law learns this after processing the ACK.
    reduction_ended: bool,
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
        Classic { window, hystart: None, arithmetic: start.arithmetic, reduction_ended: false, count: 0.0, law }
    }

    /// Sets the method of the first slow start; `None` is the standard one.
    #[must_use]
    pub(crate) fn with_hystart(self, hystart: Option<HyStart>) -> Self {
        Classic { hystart: hystart.map(Box::new), ..self }
    }

    /// The window law and its state.
    pub fn law(&self) -> &L {
        &self.law
    }

    fn slow_start(&mut self, ack: &Ack) {
        let Some(hystart) = &mut self.hystart else {
            self.window.cwnd += ack.slow_start_growth();
            return;
        };
        self.window.cwnd += hystart.growth(ack);
        if hystart.done() {
            self.window.ssthresh = self.window.cwnd;
            self.hystart = None;
        }
    }

    /// Slow start as in Linux (`tcp_slow_start`). Returns the unused acknowledged segments.
    fn slow_start_in_linux(&mut self, ack: &Ack) -> f64 {
        let growth = self.hystart.as_mut().map_or(ack.acked, |hystart| hystart.whole_growth(ack));
        if self.hystart.as_ref().is_some_and(|hystart| hystart.done()) {
            (self.window.ssthresh, self.hystart) = (self.window.cwnd, None);
        }
        let grown = (self.window.cwnd + growth).min(self.window.ssthresh);
        let left = ack.acked - (grown - self.window.cwnd);
        self.window.cwnd = grown;
        left
    }

    /// Grows the window in whole segments.
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
    fn reduce(&mut self, to: Window) {
        self.hystart = None;
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
        if core::mem::take(&mut self.reduction_ended) {
            self.law.observe(Observation::Event(&Event::ReductionEnd), &mut self.window);
        }
        match self.law.observe(Observation::Turn(ack), &mut self.window) {
            Early::None => {}
            Early::Hold => return,
            Early::Reduced => return self.reduce(self.window),
        }
        if ack.in_recovery || !ack.cwnd_limited {
            return;
        }
        let Window { cwnd, ssthresh } = self.window;
        if self.arithmetic != Arithmetic::Fractions {
            self.grow_whole(ack);
        } else if cwnd < ssthresh {
            self.slow_start(ack);
        } else {
            let from = Counted { cwnd, count: 0.0, acked: ack.acked, in_slow_start: false, arithmetic: Arithmetic::Fractions };
            self.window.cwnd = self.law.grow(from, ack).cwnd;
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let window = self.law.on_reduction(event);
        self.reduce(window);
    }

    fn on_rto(&mut self, now: Time, window: f64) {
        self.hystart = None;
        self.window = Window { cwnd: 1.0, ssthresh: self.law.after_rto(now, window) };
        self.count = 0.0;
    }

    fn on_event(&mut self, event: &Event) {
        if matches!(event, Event::ReductionEnd) && self.arithmetic == Arithmetic::Linux {
            // Linux reports it after `in_ack_event` and `pkts_acked`.
            self.reduction_ended = true;
            return;
        }
        self.law.observe(Observation::Event(event), &mut self.window);
        match event {
            Event::RepeatedRto { .. } => self.count = 0.0,
            Event::IdleRestart(window) => self.window = *window,
            Event::Undo(before) => {
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
        own + self.hystart.as_ref().map_or(0, |_| size_of::<HyStart>())
    }

    fn needs(&self) -> Needs {
        self.law.needs()
    }
}
