//! Controllers with slow start below a threshold and a window law above it, such as Reno and CUBIC.

use crate::{Ack, CongestionController, CongestionEvent, HyStart, Needs, Start, Window};
use alloc::boxed::Box;
use sojourn_units::{Duration, Stream, Time};

/// What differs between classic controllers: growth in congestion avoidance, and the reduction after congestion.
pub trait WindowLaw {
    /// Whether it has a count of its own in Linux, and not that of `tcp_cong_avoid_ai`. What slow start leaves of an ACK is lost to it.
    const COUNTS_ITSELF: bool = false;

    /// Whether it only grows by an acknowledgment: it has neither [`WindowLaw::observe`] nor [`WindowLaw::early`], and reads little of it.
    const ONLY_GROWS: bool = false;

    /// The window in segments after an acknowledgment in congestion avoidance.
    fn grow(&mut self, cwnd: f64, ack: &Ack) -> f64;

    /// The window and threshold after congestion.
    fn on_reduction(&mut self, event: &CongestionEvent) -> Window;

    /// The slow-start threshold in segments after a timeout, with this window in use: Reno's, in whole segments as in Linux and ns-2.
    fn ssthresh_after_rto(&mut self, _now: Time, window: f64) -> f64 {
        libm::floor(window * 0.5).max(Window::MIN_CWND)
    }

    /// Segments by which a window of so many grows at most in a round trip of congestion avoidance.
    fn growth_of_round(&self, _window: f64, _now: Time) -> f64 {
        1.0
    }

    /// The smallest window that rate halving may reach, for this slow-start threshold.
    fn min_cwnd(&self, ssthresh: f64) -> f64 {
        ssthresh
    }

    /// Where acknowledged segments are counted: for how many of them the window grows by one. `None` if the law counts otherwise.
    fn segments_per_increase(&mut self, _cwnd: f64, _acked: f64, _now: Time) -> Option<f64> {
        None
    }

    /// Growth in avoidance as in Linux, of a law that [counts itself](WindowLaw::COUNTS_ITSELF).
    fn grow_as_linux(&mut self, from: Counted, _ack: &Ack) -> Counted {
        from
    }

    /// What it takes from an acknowledgment besides growth, after [`WindowLaw::observe`]: a law by delays reduces the window by itself.
    #[inline]
    fn early(&mut self, _ack: &Ack, _window: Window) -> Early {
        Early::None
    }

    /// A reduction for marks or a loss is over; gives the window if that changes it.
    fn on_reduction_end(&mut self) -> Option<Window> {
        None
    }

    /// A loss is found while the window, now `in_use`, is being reduced for marks; gives the window that the reduction goes on to.
    fn on_loss_in_reduction(&mut self, _in_use: f64) -> Option<f64> {
        None
    }

    /// A reduction is taken back.
    fn on_undo(&mut self) {}

    /// The timer expired again, in a window that was reduced before.
    fn on_repeated_rto(&mut self, _now: Time) {}

    /// A segment is about to be sent while nothing is in flight; the last one was sent so long ago.
    fn on_idle_end(&mut self, _now: Time, _idle: Duration) {}

    /// The window, now this one, is about to fall after a pause.
    fn on_restart(&mut self, _cwnd: f64) {}

    /// The endpoint paces the segments.
    fn use_pacing(&mut self) {}

    /// Draws its random choices from this stream, where it needs one.
    fn use_random(&mut self, _random: Stream) {}

    /// Chooses the law that Linux has, with its own slow start; says whether it did.
    fn use_linux_growth(&mut self) -> bool {
        false
    }

    /// Whether the controller is boxed: it has much state.
    fn boxed() -> bool {
        false
    }

    /// What it asks of its endpoint.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The feedback does not count marks.
    fn use_classic_ecn(&mut self) {}

    /// Sees every acknowledgment before anything else, whether the window may grow or not. Says whether slow start ends.
    #[inline]
    fn observe(&mut self, _ack: &Ack, _window: Window) -> bool {
        false
    }
}

/// What a law takes from an acknowledgment before there is a loss or a mark.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Early {
    /// Nothing.
    None,
    /// The window must not grow.
    Hold,
    /// The window is reduced to this one.
    Reduce(Window),
}

/// A window in segments, and what is counted towards the next one (Linux `snd_cwnd`, `snd_cwnd_cnt`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Counted {
    /// The window.
    pub cwnd: f64,
    /// Acknowledged segments that are not used for growth yet.
    pub count: f64,
}

/// Sums of fractions of a segment may fall short of a whole one by this much.
const ROUNDING: f64 = 1e-9;

/// Slow start (rfc5681#3.1) and a [`WindowLaw`].
#[derive(Clone, Debug)]
pub struct Classic<L> {
    cwnd: f64,
    ssthresh: f64,
    /// Ends the first slow start early, if asked for.
    hystart: Option<Box<HyStart>>,
    counting: Counting,
    law: L,
}

/// How the window counts.
#[derive(Clone, Copy, Debug)]
enum Counting {
    /// In fractions of a segment.
    Fractions,
    /// In whole segments: the fraction of the next one that was gained.
    Whole(f64),
    /// As in Linux.
    Linux {
        /// Acknowledged segments that are not used for growth yet (`snd_cwnd_cnt`), or what was gained by another law.
        count: f64,
        /// A reduction is over, which the law learns after what the acknowledgment brings.
        reduction_ended: bool,
    },
}

impl<L: WindowLaw> Classic<L> {
    /// A controller at the start of a connection.
    pub fn new(start: Start, law: L) -> Self {
        Classic { cwnd: start.window, ssthresh: start.ssthresh, hystart: None, counting: Counting::Fractions, law }
    }

    /// The same controller with this first slow start; `None` is the standard one.
    #[must_use]
    pub fn with_hystart(self, hystart: Option<HyStart>) -> Self {
        Classic { hystart: hystart.map(Box::new), ..self }
    }

    /// The window law and its state.
    pub fn law(&self) -> &L {
        &self.law
    }

    /// The window law, for tests of what it keeps.
    #[cfg(test)]
    pub(crate) fn law_mut(&mut self) -> &mut L {
        &mut self.law
    }

    fn slow_start(&mut self, ack: &Ack) {
        let Some(hystart) = &mut self.hystart else {
            self.cwnd += ack.slow_start_growth();
            return;
        };
        self.cwnd += hystart.growth(ack);
        if hystart.done() {
            self.ssthresh = self.cwnd;
            self.hystart = None;
        }
    }

    /// Growth in whole segments, of which `gained` is a fraction.
    fn grow_whole(&mut self, ack: &Ack, gained: f64) {
        if self.cwnd <= self.ssthresh {
            self.slow_start(ack);
            self.forget_gain();
            return;
        }
        self.gain(ack, gained);
    }

    /// Growth in whole segments in avoidance, of which `gained` is a fraction.
    fn gain(&mut self, ack: &Ack, gained: f64) {
        let gained = gained + self.law.grow(self.cwnd, ack) - self.cwnd;
        let whole = libm::floor(gained + ROUNDING);
        self.set_gain(gained - whole);
        self.cwnd += whole;
    }

    /// Growth as in Linux (`tcp_slow_start`, `tcp_cong_avoid_ai`), with so many acknowledged segments not used yet.
    fn grow_as_linux(&mut self, ack: &Ack, cwnd_cnt: f64) {
        let mut acked = ack.acked;
        if self.cwnd < self.ssthresh {
            let growth = self.hystart.as_mut().map_or(acked, |hystart| hystart.whole_growth(ack));
            if self.hystart.as_ref().is_some_and(|hystart| hystart.done()) {
                (self.ssthresh, self.hystart) = (self.cwnd, None);
            }
            let grown = (self.cwnd + growth).min(self.ssthresh);
            acked -= grown - self.cwnd;
            self.cwnd = grown;
            if acked <= 0.0 || self.cwnd < self.ssthresh || L::COUNTS_ITSELF {
                return;
            }
        } else if L::COUNTS_ITSELF {
            let grown = self.law.grow_as_linux(Counted { cwnd: self.cwnd, count: cwnd_cnt }, ack);
            self.cwnd = grown.cwnd;
            self.set_gain(grown.count);
            return;
        }
        let Some(needed) = self.law.segments_per_increase(self.cwnd, acked, ack.now) else {
            self.gain(ack, cwnd_cnt);
            return;
        };
        let needed = needed.max(1.0);
        let mut cwnd_cnt = cwnd_cnt;
        if cwnd_cnt >= needed {
            // Gained where more were needed.
            cwnd_cnt = 0.0;
            self.cwnd += 1.0;
        }
        cwnd_cnt += acked;
        let whole = libm::floor(cwnd_cnt / needed);
        self.cwnd += whole;
        self.set_gain(cwnd_cnt - whole * needed);
    }

    /// Falls to this window.
    fn reduce(&mut self, to: Window) {
        self.hystart = None;
        let mut window = to;
        if !matches!(self.counting, Counting::Fractions) {
            window = Window { cwnd: libm::floor(window.cwnd).max(1.0), ssthresh: libm::floor(window.ssthresh) };
        }
        self.forget_gain();
        (self.cwnd, self.ssthresh) = (window.cwnd, window.ssthresh);
    }

    fn end_reduction(&mut self) {
        if let Some(Window { cwnd, ssthresh }) = self.law.on_reduction_end() {
            (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
        }
    }

    /// Remembers what was gained of the next segment.
    fn set_gain(&mut self, gain: f64) {
        match &mut self.counting {
            Counting::Fractions => {}
            Counting::Whole(gained) | Counting::Linux { count: gained, .. } => *gained = gain,
        }
    }

    fn forget_gain(&mut self) {
        self.set_gain(0.0);
    }
}

impl<L: WindowLaw> CongestionController for Classic<L> {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if self.law.observe(ack, Window { cwnd: self.cwnd, ssthresh: self.ssthresh }) {
            self.ssthresh = self.cwnd;
        }
        if let Counting::Linux { reduction_ended, .. } = &mut self.counting
            && core::mem::take(reduction_ended)
        {
            self.end_reduction();
        }
        match self.law.early(ack, Window { cwnd: self.cwnd, ssthresh: self.ssthresh }) {
            Early::None => {}
            Early::Hold => return,
            Early::Reduce(window) => return self.reduce(window),
        }
        if ack.in_recovery || !ack.cwnd_limited {
            return;
        }
        match self.counting {
            Counting::Fractions if self.cwnd < self.ssthresh => self.slow_start(ack),
            Counting::Fractions => self.cwnd = self.law.grow(self.cwnd, ack),
            Counting::Whole(gained) => self.grow_whole(ack, gained),
            Counting::Linux { count, .. } => self.grow_as_linux(ack, count),
        }
    }

    #[inline(always)]
    fn on_ack_of(&mut self, ack: impl Fn() -> Ack) {
        if !L::ONLY_GROWS || self.cwnd < self.ssthresh || !matches!(self.counting, Counting::Fractions) {
            return self.on_ack(&ack());
        }
        let ack = ack();
        if !ack.in_recovery && ack.cwnd_limited {
            self.cwnd = self.law.grow(self.cwnd, &ack);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let window = self.law.on_reduction(event);
        self.reduce(window);
    }

    fn on_rto(&mut self, now: Time, window: f64) {
        self.hystart = None;
        self.ssthresh = self.law.ssthresh_after_rto(now, window);
        self.cwnd = 1.0;
        self.forget_gain();
    }

    fn on_repeated_rto(&mut self, now: Time) {
        self.law.on_repeated_rto(now);
        self.forget_gain();
    }

    fn restart_after_idle(&mut self, window: Window) {
        self.law.on_restart(self.cwnd);
        (self.cwnd, self.ssthresh) = (window.cwnd, window.ssthresh);
    }

    fn on_idle_end(&mut self, now: Time, idle: Duration) {
        self.law.on_idle_end(now, idle);
    }

    fn on_reduction_end(&mut self) {
        match &mut self.counting {
            // Linux tells of it after `in_ack_event` and `pkts_acked`.
            Counting::Linux { reduction_ended, .. } => *reduction_ended = true,
            Counting::Fractions | Counting::Whole(_) => self.end_reduction(),
        }
    }

    fn on_loss_in_reduction(&mut self, in_use: f64) -> Option<f64> {
        let target = self.law.on_loss_in_reduction(in_use);
        self.ssthresh = target.unwrap_or(self.ssthresh);
        target
    }

    fn undo(&mut self, before: Window) {
        self.law.on_undo();
        self.cwnd = self.cwnd.max(before.cwnd);
        self.ssthresh = self.ssthresh.max(before.ssthresh);
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.cwnd = cwnd;
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn limit_of_flight(&self, flight: f64, now: Time) -> f64 {
        if self.cwnd < self.ssthresh { 2.0 * flight } else { flight + self.law.growth_of_round(flight, now) }
    }

    fn min_cwnd(&self) -> f64 {
        self.law.min_cwnd(self.ssthresh)
    }

    fn memory(&self) -> usize {
        let own = if L::boxed() { size_of::<Self>() } else { 0 };
        own + self.hystart.as_ref().map_or(0, |_| size_of::<HyStart>())
    }

    fn needs(&self) -> Needs {
        self.law.needs()
    }

    fn use_classic_ecn(&mut self) {
        self.law.use_classic_ecn();
    }

    fn use_whole_segments(&mut self) {
        self.counting = Counting::Whole(0.0);
    }

    fn use_pacing(&mut self) {
        self.law.use_pacing();
    }

    fn use_random(&mut self, random: Stream) {
        self.law.use_random(random);
    }

    fn use_linux_growth(&mut self) {
        self.counting = Counting::Linux { count: 0.0, reduction_ended: false };
        if self.law.use_linux_growth() {
            self.hystart = None;
        }
    }
}
