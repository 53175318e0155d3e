//! A run whose senders are controlled from outside, step by step, for learning controllers.

use crate::Error;
use crate::build::Laws;
use crate::simulation::{Outcome, Simulation};
use rayon::prelude::*;
use sojourn_cc::RateSample;
use sojourn_cc::algorithms::external::{Decider, Decision, Reduction, Supplier};
use sojourn_scenario::{Checked, Plan};
use sojourn_units::Time;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An agent's observation of a step. Data is in segments, times are in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Observation {
    /// The end of the step.
    pub now: f64,
    /// The congestion window in use: the agent's, or 1 after a timeout.
    pub window: f64,
    /// Segments in flight after the last ACK.
    pub in_flight: f64,
    /// Segments acknowledged for the first time in the step.
    pub acked: f64,
    /// Segments declared lost in the step.
    pub lost: f64,
    /// Marked segments in the step if the feedback counts them, else the number of ECN echoes.
    pub marked: f64,
    /// Timeouts in the step.
    pub timeouts: f64,
    /// Mean round-trip time of the step; NaN without a sample.
    pub rtt: f64,
    /// The minimum RTT so far; NaN before the first sample.
    pub least_rtt: f64,
    /// Smoothed round-trip time; 0 before the first sample.
    pub srtt: f64,
}

impl Observation {
    /// The names of the numbers.
    pub const NAMES: [&'static str; 10] = ["now", "window", "in_flight", "acked", "lost", "marked", "timeouts", "rtt", "least_rtt", "srtt"];

    /// The numbers in the order of [`Observation::NAMES`].
    pub fn values(&self) -> [f64; 10] {
        let Observation { now, window, in_flight, acked, lost, marked, timeouts, rtt, least_rtt, srtt } = *self;
        [now, window, in_flight, acked, lost, marked, timeouts, rtt, least_rtt, srtt]
    }
}

/// The feedback to the sender since the last step, and the agent's decision.
#[derive(Clone, Copy, Debug)]
struct StepState {
    decision: Option<Decision>,
    observation: Observation,
    rtt_sum: f64,
    rtt_count: f64,
    /// Marks in the step: those that the feedback counts, and those that it echoes.
    marks: [f64; 2],
}

impl StepState {
    const EMPTY: StepState = StepState {
        decision: None,
        observation: Observation {
            now: 0.0,
            window: 0.0,
            in_flight: 0.0,
            acked: 0.0,
            lost: 0.0,
            marked: 0.0,
            timeouts: 0.0,
            rtt: f64::NAN,
            least_rtt: f64::NAN,
            srtt: 0.0,
        },
        rtt_sum: 0.0,
        rtt_count: 0.0,
        marks: [0.0; 2],
    };

    /// Ends the step at this time, returns its observation, and starts the next step.
    fn take(&mut self, now: Time) -> Observation {
        let rtt = self.rtt_sum / self.rtt_count;
        let marked = if self.marks[0] > 0.0 { self.marks[0] } else { self.marks[1] };
        let observation = Observation { now: now.as_secs_f64(), rtt, marked, ..self.observation };
        let next = Observation { acked: 0.0, lost: 0.0, timeouts: 0.0, ..self.observation };
        *self = StepState { decision: self.decision, observation: next, ..StepState::EMPTY };
        observation
    }
}

/// The controller of an agent's sender. It applies the agent's latest decision.
#[derive(Clone, Debug)]
struct AgentController(Arc<Mutex<StepState>>);

impl AgentController {
    fn state(&self) -> MutexGuard<'_, StepState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Decider for AgentController {
    fn on_ack(&mut self, sample: &RateSample, last: Decision) -> Decision {
        let mut state = self.state();
        let decision = state.decision.unwrap_or(last);
        if let Some(rtt) = sample.rtt.map(|rtt| rtt.as_secs_f64()) {
            state.rtt_sum += rtt;
            state.rtt_count += 1.0;
            state.observation.least_rtt = state.observation.least_rtt.min(rtt);
        }
        state.marks[0] += sample.marked;
        let observation = &mut state.observation;
        observation.window = decision.window;
        observation.in_flight = sample.in_flight;
        observation.acked += sample.newly_acked;
        observation.lost += sample.newly_lost;
        observation.srtt = sample.srtt.as_secs_f64();
        decision
    }

    fn on_loss(&mut self, event: &Reduction, last: Decision) -> Decision {
        if !event.timeout {
            return last;
        }
        let restart = Decision { window: 1.0, ..last };
        let mut state = self.state();
        state.observation.timeouts += 1.0;
        state.observation.window = restart.window;
        state.decision = Some(restart);
        restart
    }

    fn on_mark(&mut self, _event: &Reduction, last: Decision) -> Decision {
        self.state().marks[1] += 1.0;
        last
    }

    fn boxed_clone(&self) -> Box<dyn Decider> {
        Box::new(self.clone())
    }
}

/// A run with agents as senders.
/// They are the flows whose controller is `external` with the agent's name. The run schedules an event at every hop, so a decision applies
/// from the next ACK on.
pub struct Episode {
    simulation: Simulation,
    agents: Vec<Agent>,
}

/// One agent of an episode.
struct Agent {
    state: Arc<Mutex<StepState>>,
    /// The rate of its flow's path in segments per second.
    path_rate: f64,
}

impl Agent {
    fn state(&self) -> MutexGuard<'_, StepState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Episode {
    /// The run of a scenario with a seed, at time 0, with the agents of these names.
    ///
    /// # Errors
    /// A queue does not fit its link, or nobody supplies the controller of a flow.
    pub fn new(scenario: &Checked, seed: u64, names: &[String]) -> Result<Self, Error> {
        let states: Vec<_> = names.iter().map(|_| Arc::new(Mutex::new(StepState::EMPTY))).collect();
        let supplier = |state: &Arc<Mutex<StepState>>| {
            let controller = AgentController(Arc::clone(state));
            Supplier(Arc::new(move |_| Box::new(controller.clone())))
        };
        let controllers = names.iter().cloned().zip(states.iter().map(supplier)).collect();
        let simulation = Simulation::with_all_events(scenario, seed, &Laws { controllers, ..Laws::default() })?;
        let agent = |(name, state): (&String, _)| Agent { state, path_rate: path_rate(simulation.plan(), name) };
        let agents = names.iter().zip(states).map(agent).collect();
        Ok(Episode { simulation, agents })
    }

    /// The capacity of each agent's path in segments per second.
    /// It is the smallest rate of its links at time 0; infinite without a rate.
    pub fn path_rates(&self) -> Vec<f64> {
        self.agents.iter().map(|agent| agent.path_rate).collect()
    }

    /// Runs to `until` or the end. Returns each agent's observation and whether the run ended.
    /// `decisions` has one entry per agent; `None` keeps its last decision.
    ///
    /// # Errors
    /// The run does not advance or needs too much memory.
    pub fn step(&mut self, decisions: &[Option<Decision>], until: Time) -> Result<(Vec<Observation>, bool), Error> {
        debug_assert_eq!(decisions.len(), self.agents.len());
        let until = until.min(self.simulation.plan().duration);
        for (agent, decision) in self.agents.iter().zip(decisions) {
            if decision.is_some() {
                agent.state().decision = *decision;
            }
        }
        self.simulation.advance(until, &|| false)?;
        let ended = until == self.simulation.plan().duration;
        Ok((self.agents.iter().map(|agent| agent.state().take(until)).collect(), ended))
    }

    /// Runs to the end and returns the outcome.
    ///
    /// # Errors
    /// The run does not advance, or the audit fails.
    pub fn finish(self) -> Result<Outcome, Error> {
        self.simulation.finish()
    }
}

/// The capacity of a path in segments per second, for the flow with this controller.
fn path_rate(plan: &Plan, name: &str) -> f64 {
    let is_agent = |options: &sojourn_spec::tcp::TcpOptions| matches!(&options.control, sojourn_cc::CcConfig::External(params) if params.controller == name);
    let of_flow = |flow: &sojourn_scenario::plan::Flow| {
        let options = plan.tcp(flow).filter(|options| is_agent(options))?;
        let rate = |path: &[u32]| {
            let rates = path.iter().filter_map(|&link| plan.link(link).rate);
            rates.map(sojourn_units::Rate::as_bps).min().map_or(f64::INFINITY, |bps| bps as f64)
        };
        let path_rate = match &flow.paths {
            Some(paths) if paths.times.is_empty() && !paths.drawn => paths.forward.iter().map(|path| rate(path)).sum(),
            _ => rate(&flow.forward),
        };
        Some(path_rate / (8.0 * f64::from(options.mss + options.header)))
    };
    plan.flows.iter().find_map(of_flow).unwrap_or(f64::INFINITY)
}

/// One step of an episode: the decisions of its agents, and its end.
pub type Step<'a> = (&'a mut Episode, Vec<Option<Decision>>, Time);

/// Steps many episodes on all cores.
/// Returns the observations of their agents, and whether each run ended.
pub fn step_all(steps: &mut [Step<'_>]) -> Vec<Result<(Vec<Observation>, bool), Error>> {
    let step = |(episode, decisions, until): &mut Step<'_>| episode.step(decisions, *until);
    if steps.len() < 2 { steps.iter_mut().map(step).collect() } else { steps.par_iter_mut().map(step).collect() }
}
