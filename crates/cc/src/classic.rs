//! Controllers with slow start below a threshold and a window law above it, such as Reno and CUBIC.

use crate::{Ack, Arithmetic, CongestionController, CongestionEvent, Event, HyStart, Needs, Start, Window};
use alloc::boxed::Box;
use sojourn_units::Time;

/// What differs between classic controllers: growth in congestion avoidance, and the reduction after congestion.
pub trait WindowLaw {
    /// The window after an acknowledgment in congestion avoidance, and what is counted towards the next segment.
    fn grow(&mut self, from: Counted, ack: &Ack) -> Counted;

    /// The window and threshold after congestion.
    fn on_reduction(&mut self, event: &CongestionEvent) -> Window;

    /// The slow-start threshold in segments after a timeout, with this window in use: Reno's, in whole segments as in Linux and ns-2.
    fn after_rto(&mut self, _now: Time, window: f64) -> f64 {
        libm::floor(window * 0.5).max(Window::MIN_CWND)
    }

    /// Sees acknowledgments and events. A law may change the window, and says whether it still grows.
    #[inline]
    fn observe(&mut self, _seen: Seen, _window: &mut Window) -> Early {
        Early::None
    }

    /// What it asks of its endpoint.
    fn needs(&self) -> Needs {
        Needs::OF_LAW
    }

    /// Segments by which a window of so many grows at most in a round trip of congestion avoidance.
    fn growth_of_round(&self, _window: f64, _now: Time) -> f64 {
        1.0
    }
}

/// A law in fractions of a segment, or in its place that of Linux in whole numbers.
#[derive(Clone, Debug)]
pub enum LawOrKernel<L, K> {
    /// The law as it was published.
    Law(L),
    /// Linux's.
    Kernel(K),
}

/// The same call of either.
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
    fn observe(&mut self, seen: Seen, window: &mut Window) -> Early {
        of_either!(self, law => law.observe(seen, window))
    }

    fn needs(&self) -> Needs {
        of_either!(self, law => law.needs())
    }

    fn growth_of_round(&self, window: f64, now: Time) -> f64 {
        of_either!(self, law => law.growth_of_round(window, now))
    }
}

/// What a law sees besides growth.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'a> {
    /// An acknowledgment, before anything else, whether the window may grow or not.
    Ack(&'a Ack),
    /// The same acknowledgment, after the end of a reduction that it brings: what it takes from it counts.
    Turn(&'a Ack),
    /// The endpoint tells of something.
    Event(&'a Event),
}

/// What a law takes from an acknowledgment before there is a loss or a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Early {
    /// Nothing.
    None,
    /// The window must not grow.
    Hold,
    /// The window was reduced.
    Reduced,
}

/// A window in segments, and what is counted towards the next one (Linux `snd_cwnd`, `snd_cwnd_cnt`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Counted {
    /// The window.
    pub cwnd: f64,
    /// Acknowledged segments that are not used for growth yet, or the fraction of the next segment.
    pub count: f64,
    /// Acknowledged segments that slow start left of the acknowledgment.
    pub acked: f64,
    /// Whether slow start took a part of the acknowledgment: Linux's laws with a count of their own lose the rest.
    pub in_slow_start: bool,
    /// In which numbers it counts.
    pub arithmetic: Arithmetic,
}

/// Sums of fractions of a segment may fall short of a whole one by this much.
const ROUNDING: f64 = 1e-9;

impl Counted {
    /// The law comes to this window: in whole segments the fraction is counted.
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

    /// The window grows by one for each `needed` acknowledged segments (Linux `tcp_cong_avoid_ai`).
    #[must_use]
    pub fn every(self, needed: f64) -> Self {
        let needed = needed.max(1.0);
        let Counted { mut cwnd, mut count, .. } = self;
        if count >= needed {
            // Gained where more were needed.
            count = 0.0;
            cwnd += 1.0;
        }
        count += self.acked;
        let whole = libm::floor(count / needed);
        Counted { cwnd: cwnd + whole, count: count - whole * needed, ..self }
    }

    /// A window in Linux's numbers, of which one segment is acknowledged.
    #[cfg(test)]
    pub(crate) fn in_linux(cwnd: f64, count: f64) -> Self {
        Counted { cwnd, count, acked: 1.0, in_slow_start: false, arithmetic: Arithmetic::Linux }
    }

    /// Reno's growth: so many segments more in a round trip (rfc5681#3.1 eq. 3).
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
    /// Ends the first slow start early, if asked for.
    hystart: Option<Box<HyStart>>,
    arithmetic: Arithmetic,
    /// In Linux a reduction is over, which the law learns after what the acknowledgment brings.
    reduction_ended: bool,
    /// [`Counted::count`]
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

    /// The same controller with this first slow start; `None` is the standard one.
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

    /// Slow start as in Linux (`tcp_slow_start`); gives the acknowledged segments that it leaves.
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

    /// Growth in whole segments.
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

    /// Falls to this window.
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
        self.law.observe(Seen::Ack(ack), &mut self.window);
        if core::mem::take(&mut self.reduction_ended) {
            self.law.observe(Seen::Event(&Event::ReductionEnd), &mut self.window);
        }
        match self.law.observe(Seen::Turn(ack), &mut self.window) {
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
            // Linux tells of it after `in_ack_event` and `pkts_acked`.
            self.reduction_ended = true;
            return;
        }
        self.law.observe(Seen::Event(event), &mut self.window);
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
    fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.window.cwnd = cwnd;
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        self.window.ssthresh
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
