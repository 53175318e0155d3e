//! CPC: cascade probability control of the queue.
//! Source: cpc-2015 (To, Thi and Hwang, Mathematical Problems in Engineering).
//!
//! An outer PID controller turns the error of the queue into a set point for the window of a flow. An inner integrator moves the
//! probability until the window, estimated from the measured load, equals that set point. Both are designed by the paper's margin-optimal
//! method, in closed form, from the number of flows N, the rate C of the link in packets a second and the round-trip time R at the target.
//! With w = R C / N: inner gain 4 / (R w^4), outer gain w / (2N), integral time R w, derivative time R w / 2.
//!
//! The paper defines the two controllers in continuous time and does not treat packets. The estimate of the window, the discrete form and
//! the anti-windup are ours: backward Euler for I and D. D is applied behind the inner integrator, where it is a difference of the queue
//! and needs no filter. The tuning is ours too: TCP in steady state has a window of sqrt(2/p), and the packets in flight over this window
//! are the number of flows.

use crate::law::Meter;
use crate::{Bernoulli, Law, Link, ParamError, Sample, Sampled};
use sojourn_units::{Duration, Probability, range};

/// How the inner loop uses the set point of the window.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Inner {
    /// Integrates the error of the measured window against the set point (the paper's cascade).
    #[default]
    Measured,
    /// Integrates the error of the design's window: the cascade without inner feedback.
    #[cfg_attr(feature = "serde", serde(alias = "blind"))]
    OpenLoop,
    /// Sets the probability 2 / w^2 at which TCP has that window: the outer loop alone.
    Static,
}

/// The parameters of CPC.
/// The defaults are those of the paper's simulation: three flows, a queue of 20 packets.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Number of long flows N for which the controller is designed.
    /// Range: above 0; default 3 (cpc-2015#5.1).
    pub flows: f64,
    /// Round-trip time of the flows without queuing, default 60 ms.
    /// 20 packets of 1500 bytes at 2 Mbit/s add up to the 180 ms of cpc-2015#fig6.
    pub rtt: Duration,
    /// Target queue in packets, 0 or more, default 20 (cpc-2015#table1).
    pub target: f64,
    /// Time between two updates.
    /// Range: at least 1 us; default 10 ms. It should be a tenth of the round-trip time or less (no source: the paper is continuous).
    pub interval: Duration,
    /// Time constant of the averaged load.
    /// `"0 s"` (the default) is the round-trip time at the target (no source).
    pub averaging: Duration,
    /// Largest probability, above 0 to 1, default 1 (no source).
    pub max_p: f64,
    /// Smallest set point of the window in packets, above 0, default 1 (no source).
    pub min_window: f64,
    /// Largest set point of the window as a multiple of R C / N.
    /// Range: 1 or more; default 10. With 2 the queue settles below the target at short round-trip times (no source).
    pub max_window: f64,
    /// How the inner loop uses the set point, default `"measured"` (cpc-2015#4.1).
    pub inner: Inner,
    /// Time constant of the estimated number of flows, to which the design adapts.
    /// The number is at least one and follows from load and probability. `"0 s"` (the default) keeps `flows`. 10 s keeps the queue at the
    /// target even if `flows` and `rtt` are wrong by a factor of four (no source).
    pub tuning: Duration,
    /// Whether queue and load are measured in bytes over the mean packet, default false.
    pub queue_in_bytes: bool,
    /// Inner gain 1/T_C in probability per packet and second.
    /// By default the design computes it (cpc-2015#eq9).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub inner_gain: Option<f64>,
    /// Outer proportional gain in packets of window per packet of queue.
    /// By default the design computes it (cpc-2015#eq11).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub outer_gain: Option<f64>,
    /// Outer integral time; by default the design computes it (cpc-2015#eq11).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub integral_time: Option<Duration>,
    /// Outer derivative time; by default the design computes it (cpc-2015#eq11).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub derivative_time: Option<Duration>,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            flows: 3.0,
            rtt: Duration::from_millis(60),
            target: 20.0,
            interval: Duration::from_millis(10),
            averaging: Duration::ZERO,
            max_p: 1.0,
            min_window: 1.0,
            max_window: 10.0,
            inner: Inner::Measured,
            tuning: Duration::ZERO,
            queue_in_bytes: false,
            inner_gain: None,
            outer_gain: None,
            integral_time: None,
            derivative_time: None,
        }
    }
}

/// CPC on one link.
pub type Cpc = Sampled<CpcLaw, Bernoulli>;

impl Params {
    /// CPC with these parameters on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn build(&self, link: &Link) -> Result<Cpc, ParamError> {
        Ok(Sampled::new(self.law(link)?, Bernoulli))
    }

    fn law(&self, link: &Link) -> Result<CpcLaw, ParamError> {
        let gain = |v: Option<f64>| v.is_none_or(|v| (0.0..=1e9).contains(&v));
        let shown = |v: Option<f64>| v.unwrap_or(f64::NAN);
        ParamError::unless((1e-3..=1e9).contains(&self.flows), "flows", &self.flows, "a number of flows above 0, 0.001 to 1e9")?;
        ParamError::unless((0.0..1e9).contains(&self.target), "target", &self.target, "a number of packets, 0 or more")?;
        let some_rtt = self.target > 0.0 || self.rtt > Duration::ZERO;
        ParamError::unless(some_rtt, "rtt", &self.rtt, "a time above 0 s if target is 0")?;
        range::interval("interval", self.interval)?;
        ParamError::unless(self.max_p > 0.0 && self.max_p <= 1.0, "max_p", &self.max_p, "a probability above 0, up to 1")?;
        ParamError::unless((1e-6..=1e9).contains(&self.min_window), "min_window", &self.min_window, "a number of packets above 0")?;
        ParamError::unless((1.0..=1e9).contains(&self.max_window), "max_window", &self.max_window, "1 to 1e9 times R C / N")?;
        ParamError::unless(gain(self.inner_gain), "inner_gain", &shown(self.inner_gain), "0 to 1e9 per packet and second")?;
        ParamError::unless(gain(self.outer_gain), "outer_gain", &shown(self.outer_gain), "0 to 1e9 packets per packet")?;
        if let Some(time) = self.integral_time {
            range::interval("integral_time", time)?;
        }
        let rate = link.rate.packets_per_sec(f64::from(link.mean_packet.max(1)));
        Ok(CpcLaw::new(self, rate, Meter::new(self.queue_in_bytes.then_some(link.mean_packet))))
    }

    /// The design on this link.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub(crate) fn design(&self, link: &Link) -> Result<Design, ParamError> {
        self.law(link).map(|law| law.design)
    }
}

/// The smallest window that the formulas of the design use.
/// Smaller windows have very large gains (no source: below about 0.8 packets the delay makes the inner loop unstable).
const MIN_DESIGN_WINDOW: f64 = 2.0;

/// Values computed from the parameters and the number of flows.
#[derive(Clone, Debug)]
pub(crate) struct Design {
    pub rate: f64,
    pub propagation: f64,
    pub window: f64,
    pub window_max: f64,
    pub averaging: f64,
    pub inner_gain: f64,
    pub outer_gain: f64,
    pub integral_time: f64,
    pub derivative_time: f64,
}

impl Design {
    /// cpc-2015#eq8 to cpc-2015#eq11 in closed form.
    /// With w = R C / N: k_I = w^3 / 4, T = R w / 2, T_C = 2 k_I T.
    fn new(params: &Params, flows: f64, rate: f64) -> Self {
        let rtt = params.rtt.as_secs_f64() + params.target / rate;
        let window = rtt * rate / flows;
        let w = window.max(MIN_DESIGN_WINDOW);
        let time = |own: Option<Duration>, derived: f64| own.map_or(derived, Duration::as_secs_f64);
        Design {
            rate,
            propagation: params.rtt.as_secs_f64(),
            window,
            window_max: (params.max_window * window).max(params.min_window),
            averaging: if params.averaging == Duration::ZERO { rtt } else { params.averaging.as_secs_f64() },
            inner_gain: params.inner_gain.unwrap_or(4.0 / (rtt * w * w * w * w)),
            outer_gain: params.outer_gain.unwrap_or(w / (2.0 * flows)),
            integral_time: time(params.integral_time, rtt * w),
            derivative_time: time(params.derivative_time, rtt * w / 2.0),
        }
    }
}

/// The controller and its state.
#[derive(Clone, Debug)]
pub struct CpcLaw {
    params: Params,
    design: Design,
    meter: Meter,
    /// The inner integrator.
    probability: f64,
    /// The outer integrator, in packets of window.
    integral: f64,
    /// Averaged load in packets a second.
    load: f64,
    /// The error at the previous step.
    previous: Option<f64>,
    /// The averaged derivative part of the set point; only [`Inner::Static`] uses it.
    derivative: f64,
    /// The number of flows for which the controller is designed.
    flows: f64,
    /// The averaged probability; only the tuning uses it.
    mean_probability: f64,
    /// The time over which the probability was averaged, in seconds.
    averaged_for: f64,
}

impl CpcLaw {
    fn new(params: &Params, rate: f64, meter: Meter) -> Self {
        let (design, flows) = (Design::new(params, params.flows, rate), params.flows);
        let integral = design.window.clamp(params.min_window, design.window_max);
        let params = params.clone();
        CpcLaw {
            params,
            design,
            meter,
            probability: 0.0,
            integral,
            load: 0.0,
            previous: None,
            derivative: 0.0,
            flows,
            mean_probability: 0.0,
            averaged_for: 0.0,
        }
    }

    /// The window of a flow by Little's law.
    /// It is the load of `arrived` packets in one interval times the present round-trip time.
    fn window(&mut self, queue: f64, arrived: f64) -> f64 {
        let (interval, d) = (self.params.interval.as_secs_f64(), &self.design);
        self.load += interval / (interval + d.averaging) * (arrived / interval - self.load);
        (d.propagation + queue / d.rate) * self.load / self.flows
    }

    /// Moves the design towards the number of flows that load and probability indicate.
    /// It starts once both have settled.
    fn tune(&mut self, queue: f64) {
        let (interval, span) = (self.params.interval.as_secs_f64(), self.params.tuning.as_secs_f64());
        let share = interval / (interval + span);
        self.mean_probability += share * (self.probability - self.mean_probability);
        self.averaged_for += interval;
        if self.averaged_for >= 2.0 * span && self.mean_probability > 0.0 {
            let flows = self.flows_at(queue, self.mean_probability);
            self.redesign(self.flows + share * (flows - self.flows));
        }
    }

    /// The number of flows, at least one, that produce this load at this probability.
    fn flows_at(&self, queue: f64, probability: f64) -> f64 {
        let in_flight = (self.design.propagation + queue / self.design.rate) * self.load;
        (in_flight * libm::sqrt(probability / 2.0)).clamp(1.0, 1e9)
    }

    /// Designs the controller for another number of flows.
    fn redesign(&mut self, flows: f64) {
        // The design changes, but the set point of the sum of all windows stays the same.
        self.integral *= self.flows / flows;
        self.flows = flows;
        self.design = Design::new(&self.params, flows, self.design.rate);
    }

    /// The probability for the next interval.
    fn control(&mut self, queue: f64, window: f64) -> f64 {
        let (interval, d, p) = (self.params.interval.as_secs_f64(), &self.design, &self.params);
        let error = p.target - queue;
        let rise = error - self.previous.replace(error).unwrap_or(error);
        let integral = self.integral + d.outer_gain * interval / d.integral_time * error;
        let asked = d.outer_gain * error + integral;
        let derivative = d.outer_gain * d.derivative_time * rise;
        let set_point = asked.clamp(p.min_window, d.window_max);
        let moved = match p.inner {
            Inner::Measured => self.probability + (interval * (window - set_point) - derivative) * d.inner_gain,
            Inner::OpenLoop => self.probability + (interval * (d.window - set_point) - derivative) * d.inner_gain,
            Inner::Static => {
                self.derivative += interval / (interval + d.averaging) * (derivative / interval - self.derivative);
                let held = (asked + self.derivative).clamp(p.min_window, d.window_max);
                2.0 / (held * held)
            }
        };
        let stuck = (moved < 0.0 && error > 0.0) || (moved > p.max_p && error < 0.0);
        let out_of_range = (asked > d.window_max && error > 0.0) || (asked < p.min_window && error < 0.0);
        if !stuck && !out_of_range {
            self.integral = integral.clamp(p.min_window, d.window_max);
        }
        self.probability = moved.clamp(0.0, p.max_p);
        self.probability
    }
}

impl Law for CpcLaw {
    fn interval(&self) -> Duration {
        self.params.interval
    }

    fn step(&mut self, sample: &Sample) -> Probability {
        let queue = self.meter.backlog(sample);
        if self.params.tuning > Duration::ZERO {
            self.tune(queue);
        }
        let window = self.window(queue, self.meter.arrived(sample));
        Probability::clamped(self.control(queue, window))
    }

    fn rest(&mut self, sample: &Sample, probability: f64) {
        let (queue, arrived) = (self.meter.backlog(sample), self.meter.arrived(sample));
        self.load = arrived / self.params.interval.as_secs_f64();
        if self.params.tuning > Duration::ZERO {
            (self.mean_probability, self.averaged_for) = (probability, f64::INFINITY);
            self.redesign(self.flows_at(queue, probability));
        }
        let set_point = match self.params.inner {
            Inner::Measured => self.window(queue, arrived),
            Inner::OpenLoop => self.design.window,
            Inner::Static => libm::sqrt(2.0 / probability),
        };
        self.integral = set_point.clamp(self.params.min_window, self.design.window_max);
        self.probability = probability.clamp(0.0, self.params.max_p);
        (self.previous, self.derivative) = (Some(self.params.target - queue), 0.0);
    }
}

#[cfg(test)]
mod tests;
