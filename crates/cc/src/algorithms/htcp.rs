//! H-TCP (leith-2004): the longer the time since the last congestion, the faster the growth.
//! A reduction empties the queue. As in Linux `tcp_htcp.c`, without its fixed-point numbers; `htcp/kernel.rs` has Linux's numbers.

mod kernel;

use crate::silence::Silence;
use crate::{
    Ack, Classic, CongestionEvent, Counted, Early, Event, LawOrKernel, Observation, ParamError, Start, Variable, Window, WindowLaw,
};
use alloc::boxed::Box;
use kernel::Kernel;
use sojourn_units::Time;

/// H-TCP.
pub type Htcp = Box<Classic<LawOrKernel<HtcpLaw, Kernel>>>;

/// The traceable variables.
pub(crate) const VARIABLES: &[Variable<Htcp>] = &[
    Variable::new("beta", "0..1", "the factor by which a loss multiplies the window", |cc| beta_and_min_rtt(cc).0),
    Variable::new("min_rtt", "s", "the smallest round-trip time", |cc| beta_and_min_rtt(cc).1),
];

/// Parameters of H-TCP.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// Minimum fraction of the window kept after congestion; default 0.5 (leith-2004).
    /// It is above 0 and not above `beta_max`.
    pub beta_min: f64,
    /// Maximum fraction of the window kept after congestion, below 1; default 0.8 (leith-2004).
    pub beta_max: f64,
    /// Whether growth is scaled to depend less on the RTT; default true.
    /// Source: Linux `use_rtt_scaling`.
    pub rtt_scaling: bool,
    /// Whether `beta_min` applies after a change of the throughput; default true.
    /// The change must be more than a fifth (Linux `use_bandwidth_switch`).
    pub bandwidth_switch: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params { beta_min: 0.5, beta_max: 0.8, rtt_scaling: true, bandwidth_switch: true }
    }
}

impl Params {
    /// Creates the controller of a new connection.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, start: Start) -> Result<Htcp, ParamError> {
        let max = self.beta_max > 0.0 && self.beta_max < 1.0;
        ParamError::unless(max, "beta_max", &self.beta_max, "a fraction above 0 and below 1")?;
        let min = self.beta_min > 0.0 && self.beta_min <= self.beta_max;
        ParamError::unless(min, "beta_min", &self.beta_min, "a fraction above 0 and at most beta_max")?;
        if start.is_linux() {
            let kernel = Kernel::new([self.beta_min, self.beta_max], self.rtt_scaling, self.bandwidth_switch);
            return Ok(Box::new(Classic::new(start, LawOrKernel::Kernel(kernel))));
        }
        Ok(Box::new(Classic::new(start, LawOrKernel::Law(HtcpLaw::new(self)))))
    }
}

fn beta_and_min_rtt(cc: &Htcp) -> (f64, f64) {
    match cc.law() {
        LawOrKernel::Law(law) => (law.beta, law.min_rtt),
        LawOrKernel::Kernel(kernel) => kernel.beta_and_min_rtt(),
    }
}

/// Seconds after congestion with Reno's growth, and the growth after them (leith-2004).
const LOW_SPEED: f64 = 1.0;
const LINEAR: f64 = 10.0;
/// The maximum excess of a sample over the maximum RTT, in seconds (Linux `measure_rtt`).
const RTT_STEP: f64 = 0.02;
/// The RTT in seconds below which the reduction is fixed (Linux `htcp_beta_update`).
/// It is also the RTT to which growth is scaled (Linux `htcp_alpha_update`).
const SHORT_RTT: f64 = 0.01;
const REFERENCE_RTT: f64 = 0.1;
/// The fraction of the RTT range that remains after congestion (Linux `htcp_param_update`).
const FADING: f64 = 0.95;
/// The minimum relative change of throughput that counts.
const CHANGE: f64 = 0.2;

/// The throughput in segments per second, measured over windows.
/// Source: Linux `measure_achieved_throughput`.
#[derive(Clone, Copy, Default, Debug)]
struct Throughput {
    since: Time,
    segments: f64,
    mean: f64,
    most: f64,
    /// The maximum before the last congestion.
    most_before: f64,
}

/// The window law. Times are in seconds.
#[derive(Clone, Debug)]
pub struct HtcpLaw {
    params: Params,
    beta: f64,
    /// Whether the RTTs of a whole epoch are known.
    adapts: bool,
    min_rtt: f64,
    max_rtt: f64,
    /// The last congestion, excluding time in which the window did not limit the sender.
    last_congestion: Time,
    silence: Silence,
    throughput: Throughput,
    /// Whether losses were being repaired at the last ACK.
    recovering: bool,
}

impl HtcpLaw {
    fn new(params: &Params) -> Self {
        HtcpLaw {
            beta: params.beta_min,
            params: params.clone(),
            adapts: false,
            min_rtt: 0.0,
            max_rtt: 0.0,
            last_congestion: Time::ZERO,
            silence: Silence::default(),
            throughput: Throughput::default(),
            recovering: false,
        }
    }

    fn measure_rtt(&mut self, rtt: f64, open: bool) {
        if self.min_rtt == 0.0 || rtt < self.min_rtt {
            self.min_rtt = rtt;
        }
        if open {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            if rtt <= self.max_rtt + RTT_STEP {
                self.max_rtt = self.max_rtt.max(rtt);
            }
        }
    }

    /// Measures the path from an ACK.
    fn measure(&mut self, ack: &Ack, cwnd: f64) {
        self.silence.on_ack(ack, Some(&mut self.last_congestion));
        let open = !ack.in_recovery && !ack.after_timeout;
        if let Some(rtt) = ack.rtt {
            self.measure_rtt(rtt.as_secs_f64(), open);
        }
        if core::mem::replace(&mut self.recovering, !open) && open {
            self.last_congestion = ack.now;
        }
        if self.params.bandwidth_switch {
            self.measure_throughput(ack, cwnd);
        }
    }

    fn measure_throughput(&mut self, ack: &Ack, cwnd: f64) {
        let since_congestion = ack.now.since(self.last_congestion).as_secs_f64();
        let measured = &mut self.throughput;
        if ack.in_recovery {
            (measured.segments, measured.since) = (0.0, ack.now);
            return;
        }
        measured.segments += ack.acked;
        let seconds = ack.now.since(measured.since).as_secs_f64();
        if self.min_rtt <= 0.0 || seconds < self.min_rtt || measured.segments < cwnd - 1.0 {
            return;
        }
        let rate = measured.segments / seconds;
        if since_congestion <= 4.0 * self.min_rtt {
            (measured.mean, measured.most) = (rate, rate);
        } else {
            measured.mean += (rate - measured.mean) / 4.0;
            measured.most = measured.most.max(measured.mean);
        }
        (measured.segments, measured.since) = (0.0, ack.now);
    }

    /// Updates the fraction of the window that congestion leaves (leith-2004).
    fn update_beta(&mut self) {
        let Params { beta_min, beta_max, bandwidth_switch, .. } = self.params;
        let before = core::mem::replace(&mut self.throughput.most_before, self.throughput.most);
        if bandwidth_switch && (self.throughput.most - before).abs() > CHANGE * before {
            (self.beta, self.adapts) = (beta_min, false);
        } else if self.adapts && self.min_rtt > SHORT_RTT {
            self.beta = (self.min_rtt / self.max_rtt).clamp(beta_min, beta_max);
        } else {
            (self.beta, self.adapts) = (beta_min, true);
        }
    }

    /// The growth of the window per round trip in segments (leith-2004).
    fn alpha(&self, now: Time) -> f64 {
        let late = now.since(self.last_congestion).as_secs_f64() - LOW_SPEED;
        let mut factor = if late > 0.0 { 1.0 + LINEAR * late + (late / 2.0) * (late / 2.0) } else { 1.0 };
        if self.params.rtt_scaling && self.min_rtt > 0.0 {
            factor = (factor / (REFERENCE_RTT / self.min_rtt).clamp(0.5, 10.0)).max(1.0);
        }
        2.0 * factor * (1.0 - self.beta)
    }

    fn on_congestion(&mut self, now: Time, window: f64) -> f64 {
        self.update_beta();
        if self.min_rtt > 0.0 && self.max_rtt > self.min_rtt {
            self.max_rtt = self.min_rtt + FADING * (self.max_rtt - self.min_rtt);
        }
        self.last_congestion = now;
        window * self.beta
    }
}

impl WindowLaw for HtcpLaw {
    fn observe(&mut self, observation: Observation, window: &mut Window) -> Early {
        match observation {
            Observation::Ack(ack) => self.measure(ack, window.cwnd),
            Observation::Event(Event::IdleEnd { now, .. }) => self.silence.on_idle_end(*now, Some(&mut self.last_congestion)),
            _ => {}
        }
        Early::None
    }

    #[inline]
    fn grow(&mut self, from: Counted, ack: &Ack) -> Counted {
        from.by(self.alpha(ack.now), ack)
    }

    fn growth_of_round(&self, _window: f64, now: Time) -> f64 {
        self.alpha(now)
    }

    fn on_reduction(&mut self, event: &CongestionEvent) -> Window {
        let kept = self.on_congestion(event.now, event.window).max(1.0);
        Window { cwnd: kept, ssthresh: kept.max(2.0) }
    }

    fn after_rto(&mut self, now: Time, window: f64) -> f64 {
        self.on_congestion(now, window).max(2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_units::Duration;

    fn law(min_rtt: f64, max_rtt: f64) -> HtcpLaw {
        HtcpLaw { min_rtt, max_rtt, ..HtcpLaw::new(&Params { bandwidth_switch: false, ..Params::default() }) }
    }

    #[test]
    fn growth_is_renos_for_a_second_and_then_quadratic_in_the_time() {
        let grown = |millis: u64| law(0.1, 0.1).alpha(Time::ZERO + Duration::from_millis(millis));
        // 2 (1 - 0.5) times 1, 1 + 10 * 1 + 0.25, 1 + 10 * 3 + 2.25.
        assert_eq!([grown(500), grown(1000), grown(2000), grown(4000)], [1.0, 1.0, 11.25, 33.25]);
    }

    #[test]
    fn from_the_second_congestion_on_the_window_falls_to_what_empties_the_queue() {
        let mut law = law(0.06, 0.1);
        let kept = [0, 1].map(|_| law.on_congestion(Time::ZERO, 100.0));
        assert_eq!(kept[0], 50.0);
        // 60 ms of 60 + 0.95 * 40 ms.
        assert!((kept[1] - 100.0 * 0.06 / 0.098).abs() < 1e-9, "{}", kept[1]);
    }
}
