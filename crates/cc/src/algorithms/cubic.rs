//! CUBIC: the window is a cubic function of the time since the last reduction.
//! It is flat around the window before the reduction.
//!
//! There are three versions: RFC 9438, that of today's Linux (`cubic/kernel.rs`), and v2.1 as in Linux 2.6.22 and in ns-2.35's TCP-Linux.
//! Version 2.1 uses whole numbers with a clock of 1 ms. If every segment is acknowledged, its estimate of delayed ACKs settles at 31/16,
//! which nearly doubles the growth.

use crate::silence::Silence;
use crate::{
    Ack, Arithmetic, Classic, CongestionEvent, Counted, Detector, Early, Event, Observation, ParamError, Start, StartUpConfig, Variable,
    Window, WindowLaw,
};
mod kernel;
mod v21;

use alloc::boxed::Box;
use kernel::Kernel;
use sojourn_units::Time;
use v21::V21;

/// The version of CUBIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Version {
    /// RFC 9438.
    #[default]
    #[cfg_attr(feature = "serde", serde(rename = "rfc9438"))]
    Rfc9438,
    /// v2.1 of Linux 2.6.22 (`ns-2 linux/tcp_cubic.c`).
    #[cfg_attr(feature = "serde", serde(rename = "2.1"))]
    V21,
    /// Linux 7, in whole numbers, with `HyStart` unless another start-up is chosen.
    /// Source: Linux `tcp_cubic.c`.
    #[cfg_attr(feature = "serde", serde(rename = "linux"))]
    Linux,
}

/// CUBIC.
pub type Cubic = Box<Classic<CubicLaw>>;

/// The traceable variables.
pub(crate) const VARIABLES: &[Variable<Cubic>] =
    &[Variable::new("w_max", "segments", "the window around which the cubic is flat (W_max)", |cc| cc.law().w_max())];

/// Parameters of CUBIC.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// The version of CUBIC; default: RFC 9438, or Linux's if `linux_growth` is set.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub version: Option<Version>,
    /// The fraction of the window kept after congestion, 0.001 to 0.999.
    /// It is by default 0.7 (rfc9438#4.6), and 819/1024 in v2.1.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub beta: Option<f64>,
    /// C, the steepness of the cubic in segments per cubic second, 0.01 to 100; default 0.4.
    /// Source: rfc9438#5.1. v2.1 uses 410/1024.
    pub c: f64,
    /// Whether congestion at a smaller window than last time reduces it further; default true.
    /// Source: rfc9438#4.7.
    pub fast_convergence: bool,
    /// Whether the window grows at least as fast as Reno's; default true (rfc9438#4.3).
    pub reno_friendly: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params { version: None, beta: None, c: 0.4, fast_convergence: true, reno_friendly: true }
    }
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<Cubic, ParamError> {
        let version = self.version.unwrap_or(if start.is_linux() { Version::Linux } else { Version::Rfc9438 });
        let beta = self.beta.unwrap_or(if version == Version::V21 { 0.8 } else { 0.7 });
        // The versions of Linux use 1024ths: from 1/1024 to 1023/1024.
        ParamError::unless((0.001..=0.999).contains(&beta), "beta", &beta, "a fraction, 0.001 to 0.999")?;
        ParamError::unless((0.01..=100.0).contains(&self.c), "c", &self.c, "segments per cubic second, 0.01 to 100")?;
        let (hystart, start_up) = match (version, start.start_up) {
            (Version::Linux, None) => (Some(Detector::new(Default::default(), start.pacing)), None),
            (Version::Linux, Some(StartUpConfig::HyStart(params))) => (Some(Detector::new(params, start.pacing)), None),
            (_, chosen) => (None, chosen),
        };
        let law = CubicLaw {
            version: match version {
                Version::Rfc9438 => AnyVersion::Rfc9438(Rfc9438 { c: self.c, beta, ..Rfc9438::default() }),
                Version::V21 => AnyVersion::V21(Box::new(V21::new(in_1024ths(beta), scale(self.c)))),
                Version::Linux => AnyVersion::Linux(Box::new(Kernel::new(in_1024ths(beta), scale(self.c), hystart))),
            },
            fast_convergence: self.fast_convergence,
            reno_friendly: self.reno_friendly,
        };
        Ok(Box::new(Classic::new(Start { start_up, ..start }, law)))
    }
}

/// `beta` for the versions in whole numbers.
fn in_1024ths(beta: f64) -> u64 {
    libm::round(beta * 1024.0) as u64
}

/// `bic_scale` for the versions in whole numbers.
fn scale(c: f64) -> u64 {
    libm::round(c * 102.4) as u64
}

/// The window law.
#[derive(Clone, Debug)]
pub struct CubicLaw {
    version: AnyVersion,
    fast_convergence: bool,
    reno_friendly: bool,
}

#[derive(Clone, Debug)]
enum AnyVersion {
    Rfc9438(Rfc9438),
    V21(Box<V21>),
    Linux(Box<Kernel>),
}

impl CubicLaw {
    fn w_max(&self) -> f64 {
        match &self.version {
            AnyVersion::Rfc9438(cubic) => cubic.w_max,
            AnyVersion::V21(cubic) => cubic.last_max_cwnd as f64,
            AnyVersion::Linux(cubic) => cubic.last_max_cwnd as f64,
        }
    }
}

/// The version of RFC 9438, with its names. Windows are in segments, times in seconds.
#[derive(Clone, Debug, Default)]
struct Rfc9438 {
    c: f64,
    beta: f64,
    /// The window around which the cubic is flat.
    w_max: f64,
    /// The time until the cubic reaches `w_max` (rfc9438#4.2 eq. 2).
    k: f64,
    /// The window that Reno would have (rfc9438#4.3 eq. 4).
    w_est: f64,
    /// The window before the last reduction.
    cwnd_prior: f64,
    /// The start of the current congestion avoidance stage; `None` before its first ACK.
    epoch_start: Option<Time>,
    /// Time in which cwnd did not limit the sender, which does not count (rfc9438#5.8).
    silence: Silence,
}

impl Rfc9438 {
    /// The cubic at `t` seconds after the start of the epoch (rfc9438#4.2 eq. 1).
    #[inline]
    fn w_cubic(&self, t: f64) -> f64 {
        self.c * (t - self.k) * (t - self.k) * (t - self.k) + self.w_max
    }

    /// The window after an ACK (rfc9438#4.2 to rfc9438#4.5).
    fn grow(&mut self, cwnd: f64, ack: &Ack, friendly: bool) -> f64 {
        let epoch_start = *self.epoch_start.get_or_insert_with(|| {
            self.w_max = self.w_max.max(cwnd);
            self.k = libm::cbrt((self.w_max - cwnd) / self.c);
            self.w_est = cwnd;
            ack.now
        });
        let t = ack.now.since(epoch_start).as_secs_f64();
        let target = self.w_cubic(t + ack.srtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
        // rfc9438#4.3: as fast as Reno once the window before the last reduction is reached again.
        let alpha = if self.w_est >= self.cwnd_prior { 1.0 } else { 3.0 * (1.0 - self.beta) / (1.0 + self.beta) };
        self.w_est += alpha * ack.acked / cwnd;
        if friendly && self.w_cubic(t) < self.w_est { self.w_est.max(cwnd) } else { cwnd + (target - cwnd) / cwnd * ack.acked }
    }

    /// The window after congestion at this window (rfc9438#4.6, rfc9438#4.7).
    fn reduce(&mut self, window: f64, converge: bool) -> f64 {
        self.cwnd_prior = window;
        self.w_max = if converge && window < self.w_max { window * (1.0 + self.beta) / 2.0 } else { window };
        self.epoch_start = None;
        window * self.beta
    }
}

impl WindowLaw for CubicLaw {
    fn observe(&mut self, observation: Observation, window: &mut Window) -> Early {
        match (observation, &mut self.version) {
            (Observation::Ack(ack), AnyVersion::Rfc9438(cubic)) => cubic.silence.on_ack(ack, cubic.epoch_start.as_mut()),
            (Observation::Ack(ack), AnyVersion::V21(cubic)) => cubic.observe(ack),
            (Observation::Ack(ack), AnyVersion::Linux(cubic)) => {
                window.ssthresh = if cubic.observe(ack, *window) { window.cwnd } else { window.ssthresh };
            }
            (Observation::Event(Event::RepeatedRto { now }), AnyVersion::Linux(cubic)) => cubic.reset(*now),
            // V2.1 counts silence, as Linux did before 4.3 (commit 30927520dbae).
            (Observation::Event(Event::IdleEnd { now, .. }), AnyVersion::Rfc9438(cubic)) => {
                cubic.silence.on_idle_end(*now, cubic.epoch_start.as_mut());
            }
            (Observation::Event(Event::IdleEnd { now, idle, .. }), AnyVersion::Linux(cubic)) => cubic.on_idle_end(*now, *idle),
            // Slow start follows, and then a new stage of congestion avoidance (rfc9438#4.2).
            (Observation::Event(Event::IdleRestart(_)), AnyVersion::Rfc9438(cubic)) => cubic.epoch_start = None,
            _ => {}
        }
        Early::None
    }

    fn grow(&mut self, from: Counted, ack: &Ack) -> Counted {
        let (cwnd, friendly) = (from.cwnd, self.reno_friendly);
        match &mut self.version {
            AnyVersion::Rfc9438(cubic) => from.to(cubic.grow(cwnd, ack, friendly)),
            AnyVersion::V21(cubic) => from.to(cubic.grow(cwnd, ack, friendly)),
            AnyVersion::Linux(cubic) if from.arithmetic == Arithmetic::Linux => {
                from.every(cubic.update(cwnd as u64, from.acked as u64, ack.now, friendly) as f64)
            }
            AnyVersion::Linux(cubic) => from.to(cwnd + ack.acked / cubic.update(cwnd as u64, ack.acked as u64, ack.now, friendly) as f64),
        }
    }

    /// rfc9438#4.2: the target is at most 1.5 windows.
    fn growth_of_round(&self, window: f64, _now: Time) -> f64 {
        0.5 * window
    }

    fn on_reduction(&mut self, event: &CongestionEvent) -> Window {
        let kept = match &mut self.version {
            AnyVersion::Rfc9438(cubic) => cubic.reduce(event.window, self.fast_convergence),
            AnyVersion::V21(cubic) => cubic.recalc_ssthresh(event.window, self.fast_convergence),
            AnyVersion::Linux(cubic) => cubic.recalc_ssthresh(event.window, self.fast_convergence),
        };
        // rfc9438#4.6: at least two segments.
        Window::reduced(kept)
    }

    fn after_rto(&mut self, now: Time, window: f64) -> f64 {
        match &mut self.version {
            AnyVersion::Rfc9438(cubic) => {
                let kept = cubic.reduce(window, self.fast_convergence);
                // rfc9438#4.8: the next epoch starts from the window that slow start reaches.
                cubic.w_max = 0.0;
                kept.max(2.0)
            }
            AnyVersion::V21(cubic) => {
                let kept = cubic.recalc_ssthresh(window, self.fast_convergence);
                cubic.reset();
                kept
            }
            AnyVersion::Linux(cubic) => {
                let kept = cubic.recalc_ssthresh(window, self.fast_convergence);
                cubic.reset(now);
                kept
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CongestionController, Signal};
    use sojourn_units::Duration;

    const RTT: Duration = Duration::from_millis(100);

    fn loss(window: f64) -> CongestionEvent {
        CongestionEvent { now: Time::ZERO, window, signal: Signal::Loss }
    }

    /// The windows after each of `count` round trips of full windows, starting at `from`.
    fn rounds(cc: &mut Cubic, from: Time, count: u64) -> std::vec::Vec<f64> {
        let round = |i| {
            let now = from + RTT * i;
            let window = cc.cwnd() as u64;
            let gap = Duration::from_nanos(RTT.as_nanos() / window);
            (0..window).for_each(|j| cc.on_ack(&Ack { now: now + gap * j, rtt: Some(RTT), srtt: RTT, rtt_min: RTT, ..Ack::ONE }));
            cc.cwnd()
        };
        (0..count).map(round).collect()
    }

    #[test]
    fn the_rfc_keeps_seven_tenths_and_comes_back_after_k_seconds() {
        let params = Params { reno_friendly: false, ..Params::default() };
        let mut cubic = params.build(Start::new(1000.0, 1000.0)).unwrap();
        cubic.on_congestion(&loss(1000.0));
        assert_eq!((cubic.ssthresh(), cubic.cwnd()), (700.0, 700.0));
        // K = cbrt(300 / 0.4) = 9.086 s.
        let windows = rounds(&mut cubic, Time::from_secs_f64(1.0), 91);
        assert!((windows[90] - 1000.0).abs() < 2.0, "{}", windows[90]);
        assert!(windows[45] > 900.0 && windows[45] < 980.0, "{}", windows[45]);
    }

    #[test]
    fn where_the_cubic_is_slower_the_window_follows_reno_at_the_rate_of_its_beta() {
        let mut cubic = Params { c: 0.01, ..Params::default() }.build(Start::new(20.0, 20.0)).unwrap();
        cubic.on_congestion(&loss(20.0));
        let windows = rounds(&mut cubic, Time::from_secs_f64(1.0), 4);
        // alpha = 3 * 0.3 / 1.7 = 0.529 segments a round trip above 14.
        assert!((windows[3] - (14.0 + 4.0 * 0.529)).abs() < 0.2, "{windows:?}");
    }

    #[test]
    fn a_second_loss_below_the_first_leaves_room_for_newcomers() {
        let mut law = Rfc9438 { c: 0.4, beta: 0.7, ..Rfc9438::default() };
        law.reduce(100.0, true);
        assert_eq!(law.w_max, 100.0);
        law.reduce(80.0, true);
        assert_eq!(law.w_max, 68.0);
    }

    #[test]
    fn v2_1_is_back_at_its_origin_after_k_and_restarts_from_nothing_after_a_timeout() {
        let params = Params { version: Some(Version::V21), reno_friendly: false, ..Params::default() };
        let mut cubic = params.build(Start::new(1000.0, 1000.0)).unwrap();
        cubic.on_congestion(&loss(1000.0));
        assert_eq!(cubic.cwnd(), 799.0);
        // K = cbrt(201 * 2681735677) / 1024 = 7.95 s.
        let windows = rounds(&mut cubic, Time::from_secs_f64(2.0), 80);
        assert!((windows[79] - 1000.0).abs() < 8.0, "{}", windows[79]);
        cubic.on_rto(Time::ZERO, 500.0);
        assert_eq!((cubic.ssthresh(), cubic.cwnd()), (399.0, 1.0));
    }

    #[test]
    fn every_version_grows_in_whole_segments_where_linux_growth_is_asked_for() {
        for version in [None, Some(Version::Rfc9438), Some(Version::V21), Some(Version::Linux)] {
            let mut cubic = Params { version, ..Params::default() }.build(Start::new(20.0, 20.0).in_linux()).unwrap();
            cubic.on_congestion(&loss(20.0));
            let windows = rounds(&mut cubic, Time::from_secs_f64(1.0), 100);
            assert!(windows.iter().all(|window| window.fract() == 0.0), "{version:?}: {windows:?}");
            assert!(windows[99] > 40.0, "{version:?}: {windows:?}");
        }
    }

    #[test]
    fn a_part_of_all_or_nothing_is_refused() {
        for beta in [0.0, 1.0, f64::NAN, 0.9999] {
            let params = Params { beta: Some(beta), ..Params::default() };
            assert_eq!(params.build(Start::new(2.0, 20.0)).unwrap_err().field, "beta");
        }
    }
}
