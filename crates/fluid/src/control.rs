//! The control of the loop: a law at its interval, or the continuous form of an algorithm.
//! The continuous form is for algorithms that decide packet by packet.

use crate::plant::Plant;
use sojourn_aqm::algorithms::red::Resolved;
use sojourn_aqm::{AnyAqm, AnyLaw, Aqm, AqmConfig, Link, ParamError, Sample};
use sojourn_units::{Duration, Time};

/// An algorithm as the fluid model sees it.
#[derive(Clone, Debug)]
pub enum Control {
    /// Any algorithm that is a law: its own code, called once per interval.
    Law(Box<dyn AnyLaw>),
    /// RED: the average follows the queue with one sample per packet.
    /// The profile is RED's own code.
    Red(Red),
    /// AVQ: the virtual queue and its capacity as differential equations.
    Avq(Avq),
    /// Only the limit drops packets.
    DropTail,
}

/// RED's parameters in packets.
#[derive(Clone, Debug)]
pub struct Red {
    resolved: Resolved,
    gentle: bool,
    /// The unit of the average, per packet: 1, or the bytes of a packet.
    unit: f64,
    /// The rate of the average, per packet.
    pub per_packet: f64,
}

impl Red {
    /// The probability of an early drop at this average in packets.
    /// It does not include the correction for even spacing.
    pub fn profile(&self, average: f64) -> f64 {
        self.resolved.profile(average * self.unit, self.resolved.max_p, self.gentle)
    }
}

/// AVQ's parameters in packets and seconds.
#[derive(Clone, Copy, Debug)]
pub struct Avq {
    /// The target share of the link for arrivals.
    pub utilization: f64,
    /// The adaptation speed of the virtual capacity in 1/s.
    pub alpha: f64,
    /// The size of the virtual queue in packets.
    pub limit: f64,
}

/// The reason why an algorithm has no fluid form.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum NoForm {
    /// A parameter is out of range.
    #[error("{0}")]
    Param(ParamError),
    /// It acts on events that a fluid does not have.
    #[error("{name} has no fluid form: {reason}")]
    Events {
        /// The algorithm.
        name: &'static str,
        /// The reason.
        reason: &'static str,
    },
}

impl Control {
    /// The form of a registered algorithm on the plant's link.
    ///
    /// # Errors
    /// A parameter is out of range, or the algorithm acts on single packets.
    pub fn of(config: &AqmConfig, link: &Link, plant: &Plant) -> Result<Control, NoForm> {
        let built = config.build(link).map_err(NoForm::Param)?;
        match (config, built) {
            (AqmConfig::DropTail(_), _) => Ok(Control::DropTail),
            (AqmConfig::Red(params), AnyAqm::Red(red)) => {
                if params.adaptive || params.cautious != 0 {
                    return Err(NoForm::Events { name: "this RED", reason: "`adaptive` and `cautious` change it while it runs" });
                }
                let resolved = red.resolved().clone();
                let unit = if params.queue_in_bytes { f64::from(resolved.mean_packet) } else { 1.0 };
                let per_packet = -libm::log((1.0 - resolved.weight).max(f64::MIN_POSITIVE));
                Ok(Control::Red(Red { gentle: params.gentle, unit, per_packet, resolved }))
            }
            (AqmConfig::Avq(_), AnyAqm::Avq(avq)) => {
                let shape = avq.shape();
                let limit = shape.limit / plant.packet;
                Ok(Control::Avq(Avq { utilization: shape.utilization, alpha: shape.alpha, limit }))
            }
            (_, aqm) => match aqm.law() {
                Some(law) => Ok(Control::Law(law)),
                None => Err(NoForm::Events { name: config.name(), reason: reason(&aqm) }),
            },
        }
    }

    /// A law that is not in the registry.
    pub fn law(law: impl AnyLaw + 'static) -> Control {
        Control::Law(Box::new(law))
    }

    /// The time between two steps of a law.
    pub fn interval(&self) -> Option<Duration> {
        match self {
            Control::Law(law) => Some(law.interval()),
            _ => None,
        }
    }

    /// The number of state variables of its continuous form.
    pub(crate) fn states(&self) -> usize {
        match self {
            Control::Red(_) => 1,
            Control::Avq(_) => 2,
            Control::Law(_) | Control::DropTail => 0,
        }
    }

    /// Initializes the state.
    pub(crate) fn start(&self, plant: &Plant, queue: f64, state: &mut [f64]) {
        match self {
            Control::Red(_) => state[0] = queue,
            Control::Avq(_) => (state[0], state[1]) = (0.0, plant.capacity),
            Control::Law(_) | Control::DropTail => {}
        }
    }

    /// The probability of a continuous form in this state.
    #[inline]
    pub(crate) fn probability(&self, state: &[f64], arriving: f64) -> f64 {
        match self {
            Control::Red(red) => red.profile(state[0]),
            Control::Avq(avq) if state[0] >= avq.limit && arriving > 0.0 => (1.0 - state[1] / arriving).max(0.0),
            _ => 0.0,
        }
    }

    /// The derivative of the state.
    /// `arriving` packets per second arrive at `queue` waiting packets.
    #[inline]
    pub(crate) fn derive(&self, plant: &Plant, queue: f64, arriving: f64, state: &[f64], slope: &mut [f64]) {
        match self {
            Control::Red(red) => slope[0] = red.per_packet * arriving * (queue - state[0]),
            Control::Avq(avq) => {
                let flow = arriving - state[1];
                let stuck = (state[0] <= 0.0 && flow < 0.0) || (state[0] >= avq.limit && flow > 0.0);
                slope[0] = if stuck { 0.0 } else { flow };
                let rise = avq.alpha * (avq.utilization * plant.capacity - arriving);
                let stopped = (state[1] >= plant.capacity && rise > 0.0) || (state[1] <= 0.0 && rise < 0.0);
                slope[1] = if stopped { 0.0 } else { rise };
            }
            Control::Law(_) | Control::DropTail => {}
        }
    }

    /// Keeps the state within its bounds after a step.
    pub(crate) fn bound(&self, plant: &Plant, state: &mut [f64]) {
        if let Control::Avq(avq) = self {
            state[0] = state[0].clamp(0.0, avq.limit);
            state[1] = state[1].clamp(0.0, plant.capacity);
        }
    }
}

/// The reason why an algorithm without a law has no fluid form.
fn reason(aqm: &AnyAqm) -> &'static str {
    let needs = aqm.needs();
    match () {
        () if aqm.layout().is_some_and(|layout| layout.takes_filters) => "it has two queues",
        () if aqm.layout().is_some_and(|layout| layout.hashes_flows) => "each flow has its own queue",
        () if aqm.layout().is_some() => "its losses are noticed before the queue ahead of them is sent",
        () if needs.rtt_hints => "its probability depends on each flow's round-trip time, and the model has one probability for all flows",
        () if needs.waiting_packets => "it compares packets of single flows",
        () if needs.head_drop => "it drops single packets at its own times, by their sojourn time",
        () => "it reacts to single losses, marks or idle times, or not at all",
    }
}

/// The sample of an interval in steady state: `queue` packets waited and the load was `load`.
pub(crate) fn steady(plant: &Plant, interval: f64, queue: f64, load: f64) -> Sample {
    let arrived = load * plant.capacity * interval;
    let departed = arrived.min(plant.capacity * interval);
    Sample {
        now: Time::ZERO,
        backlog_packets: queue,
        backlog_bytes: queue * plant.packet,
        least_backlog_packets: queue,
        arrived_packets: arrived,
        arrived_bytes: arrived * plant.packet,
        departed_packets: departed,
        departed_bytes: departed * plant.packet,
        sojourn: queue / plant.capacity,
    }
}
