//! Networks in a few words, as scenarios.

use crate::error::Error;
use sojourn_scenario::{Checked, Document};
use sojourn_units::parse_duration;
use std::fmt::Write as _;

/// A dumbbell: one bottleneck between two hosts, and a reverse path without a queue.
///
/// ```
/// use sojourn_harness::Dumbbell;
/// let network = Dumbbell::new("10 Mbit/s", "40 ms").queue("codel").flow("mine", "quinn").tcp("theirs", "cubic");
/// assert!(network.to_toml().contains("codel"));
/// ```
#[derive(Clone, Debug)]
pub struct Dumbbell {
    rate: String,
    rtt: String,
    queue: String,
    limit: Option<String>,
    ecn: bool,
    parameters: String,
    changes: Vec<String>,
    impairments: [Vec<String>; 2],
    duration: String,
    flows: String,
}

impl Dumbbell {
    /// A bottleneck on a path with a round-trip time, such as "10 Mbit/s" and "40 ms".
    /// Half of the time passes in each direction. The queue is `droptail`, and the run takes 10 s.
    pub fn new(rate: &str, rtt: &str) -> Self {
        let [rate, rtt, queue, duration] = [rate, rtt, "droptail", "10 s"].map(String::from);
        let (changes, impairments) = (Vec::new(), [Vec::new(), Vec::new()]);
        Dumbbell {
            rate,
            rtt,
            queue,
            limit: None,
            ecn: false,
            parameters: String::new(),
            changes,
            impairments,
            duration,
            flows: String::new(),
        }
    }

    /// Sets the queue discipline, such as "codel"; `sojourn list` shows all.
    #[must_use]
    pub fn queue(self, aqm: &str) -> Self {
        Dumbbell { queue: aqm.into(), ..self }
    }

    /// Sets parameters of the queue discipline, such as `target = "10 ms"`.
    #[must_use]
    pub fn parameters(self, lines: &str) -> Self {
        Dumbbell { parameters: format!(", {lines}"), ..self }
    }

    /// Sets the limit of the queue, such as "100 packets".
    #[must_use]
    pub fn limit(self, limit: &str) -> Self {
        Dumbbell { limit: Some(limit.into()), ..self }
    }

    /// Lets the queue mark ECN-capable packets instead of dropping them.
    #[must_use]
    pub fn ecn(self) -> Self {
        Dumbbell { ecn: true, ..self }
    }

    /// Changes the bottleneck at a time, such as "5 s" and `rate = "1 Mbit/s"`.
    #[must_use]
    pub fn change(mut self, at: &str, what: &str) -> Self {
        self.changes.push(format!("{{ at = {at:?}, {what} }}"));
        self
    }

    /// Adds an impairment to the bottleneck, such as `kind = "loss", probability = 0.01`.
    #[must_use]
    pub fn impair(mut self, what: &str) -> Self {
        self.impairments[0].push(format!("{{ {what} }}"));
        self
    }

    /// Adds an impairment to the reverse path, which carries the ACKs.
    #[must_use]
    pub fn impair_acks(mut self, what: &str) -> Self {
        self.impairments[1].push(format!("{{ {what} }}"));
        self
    }

    /// Sets the length of the run, such as "30 s".
    #[must_use]
    pub fn duration(self, duration: &str) -> Self {
        Dumbbell { duration: duration.into(), ..self }
    }

    /// Adds a flow of bulk data over the endpoints that are called `host`.
    #[must_use]
    pub fn flow(self, name: &str, host: &str) -> Self {
        self.with_flow(name, &format!("host = {host:?}"))
    }

    /// Adds a flow of bulk data over the simulator's TCP, as Linux does it, with this controller.
    #[must_use]
    pub fn tcp(self, name: &str, controller: &str) -> Self {
        self.with_flow(name, &format!("tcp = {{ profile = \"linux\", control = {{ cc = {controller:?} }} }}"))
    }

    /// Adds a flow with these lines of TOML.
    pub(crate) fn with_flow(mut self, name: &str, more: &str) -> Self {
        let _ = write!(self.flows, "\n[[flows]]\nname = {name:?}\nfrom = \"a\"\nto = \"b\"\n{more}\n");
        self
    }

    /// The scenario as TOML.
    pub fn to_toml(&self) -> String {
        let Dumbbell { rate, queue, duration, flows, ecn, parameters, .. } = self;
        // The check of the scenario reports a time that cannot be read.
        let delay = parse_duration(&self.rtt).map_or_else(|_| self.rtt.clone(), |rtt| format!("{} ns", rtt.as_nanos() / 2));
        let limit = self.limit.as_ref().map_or(String::new(), |limit| format!(", limit = {limit:?}"));
        let ecn = if *ecn { ", ecn = true" } else { "" };
        let list =
            |name: &str, items: &[String]| if items.is_empty() { String::new() } else { format!("{name} = [{}]\n", items.join(", ")) };
        let changes = list("changes", &self.changes);
        let [forward, back] = [0, 1].map(|way| list("impairments", &self.impairments[way]));
        format!(
            "duration = {duration:?}\n\n[[links]]\nname = \"bottleneck\"\nfrom = \"a\"\nto = \"b\"\nrate = {rate:?}\n\
             delay = {delay:?}\nqueue = {{ aqm = {queue:?}{limit}{ecn}{parameters} }}\n{changes}{forward}\n\
             [[links]]\nname = \"reverse\"\nfrom = \"b\"\nto = \"a\"\ndelay = {delay:?}\n{back}{flows}"
        )
    }

    /// The checked scenario.
    ///
    /// # Errors
    /// A value that the engine does not accept.
    pub fn check(&self) -> Result<Checked, Error> {
        scenario(&self.to_toml())
    }
}

/// Reads and checks a scenario from a text in TOML.
///
/// # Errors
/// The place of the first error, what was expected there, and what was found.
pub fn scenario(text: &str) -> Result<Checked, Error> {
    let document = Document::from_toml("scenario", text).map_err(|error| Error::Scenario(error.to_string()))?;
    document.check().map_err(|error| Error::Scenario(error.to_string()))
}
