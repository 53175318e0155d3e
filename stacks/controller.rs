//! Controllers of a QUIC stack with the interface of quinn-proto: its own, and those of the registry.

use crate::api::{self, ControllerFactory, TransportConfig};
use sojourn_cc::{CcConfig, Driver, ParamError, RoundTrip, drivable};
use sojourn_harness::{FlowInfo, Pair};
use sojourn_units::{Duration, Stream, Time};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// Bytes of the initial window, at most (rfc9002#7.2).
pub const INITIAL_WINDOW: u64 = 14_720;

/// A congestion controller for connections of the stack.
pub type Factory = Arc<dyn ControllerFactory + Send + Sync>;

/// Precedes the names of the registry in [`names`].
const REGISTRY_OF: &str = "sojourn:";

/// The names of all controllers: the stack's own, then the registry's as `sojourn:cubic`.
pub fn names() -> Vec<String> {
    let own = api::own().map(|(name, _)| name.to_string());
    own.into_iter().chain(drivable().map(|entry| format!("{REGISTRY_OF}{}", entry.name))).collect()
}

/// Both ends of a connection with the controller of this name.
/// `None` is the stack's default.
///
/// # Errors
/// [`names`] does not contain it.
pub fn pair_named(flow: &FlowInfo, name: Option<&str>) -> Result<Pair, Unknown> {
    let Some(name) = name else { return Ok(crate::pair(flow, TransportConfig::default())) };
    let factory: Factory = match (name.strip_prefix(REGISTRY_OF), api::own().into_iter().find(|(own, _)| *own == name)) {
        (Some(ours), _) => Arc::new(Choice::named(ours, flow.seed)?),
        (None, Some((_, own))) => own,
        (None, None) => return Err(Unknown { name: name.into(), known: names() }),
    };
    Ok(pair_with(flow, factory))
}

/// Both ends of a connection with this controller and the stack's other defaults.
pub fn pair_with(flow: &FlowInfo, controller: Factory) -> Pair {
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(controller);
    crate::pair(flow, transport)
}

/// A controller of the registry, with its parameters and the seed of its random choices.
#[derive(Clone, Debug)]
pub struct Choice {
    config: CcConfig,
    seed: u64,
}

/// A name that no controller has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unknown {
    name: String,
    known: Vec<String>,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected a controller, one of {}, got {:?}", self.known.join(", "), self.name)
    }
}

impl std::error::Error for Unknown {}

impl Choice {
    /// The controller of this name with its defaults, such as "flower-plus".
    ///
    /// # Errors
    /// There is none of this name.
    pub fn named(name: &str, seed: u64) -> Result<Choice, Unknown> {
        let unknown = || Unknown { name: name.into(), known: drivable().map(|entry| entry.name.into()).collect() };
        let entry = drivable().find(|entry| entry.name == name).ok_or_else(unknown)?;
        Ok(Choice { config: (entry.default)(), seed })
    }

    /// A controller with these parameters.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn configured(config: CcConfig, seed: u64) -> Result<Choice, ParamError> {
        Driver::new(&config, 1200, INITIAL_WINDOW)?;
        Ok(Choice { config, seed })
    }

    /// The controller of a connection that begins now with packets of this size.
    pub fn start(&self, now: Instant, packet: u16) -> Running {
        let packet = u64::from(packet);
        let initial = (10 * packet).min(INITIAL_WINDOW.max(2 * packet));
        let mut driver = Driver::new(&self.config, packet, initial).expect("the parameters were checked");
        driver.use_random(Stream::named(self.seed, "controller"));
        Running { driver, base: now, rtt: RoundTrip::default(), initial }
    }
}

/// The controller of a connection.
#[derive(Clone, Debug)]
pub struct Running {
    pub driver: Driver,
    base: Instant,
    rtt: RoundTrip,
    pub initial: u64,
}

impl Running {
    fn at(&self, time: Instant) -> Time {
        Time::ZERO + duration(time.saturating_duration_since(self.base))
    }

    pub fn sent(&mut self, now: Instant, bytes: u64) {
        self.driver.on_sent(self.at(now), bytes);
    }

    /// A packet is acknowledged; `rtt` are the smoothed and the smallest RTT.
    pub fn acked(&mut self, now: Instant, sent: Instant, bytes: u64, rtt: [std::time::Duration; 2]) {
        let latest = duration(now.saturating_duration_since(sent));
        // Before its first sample the stack tells its initial guess.
        let [smoothed, least] = rtt.map(duration);
        let guessed = least > latest;
        self.rtt = RoundTrip { latest: Some(latest), smoothed: if guessed { latest } else { smoothed }, least: least.min(latest) };
        self.driver.on_ack(self.at(now), self.at(sent), bytes);
    }

    pub fn acks_end(&mut self, now: Instant, in_flight: u64, app_limited: bool) {
        if in_flight == 0 {
            self.driver.on_empty();
        }
        self.driver.on_acks_end(self.at(now), self.rtt, 0, app_limited);
    }

    /// Packets are lost, or one was marked if no bytes were lost.
    pub fn congestion(&mut self, now: Instant, sent: Instant, persistent: bool, lost_bytes: u64) {
        let (now, sent) = (self.at(now), self.at(sent));
        match lost_bytes {
            0 => self.driver.on_mark(now, sent),
            _ => self.driver.on_lost(now, sent, lost_bytes),
        }
        if persistent {
            self.driver.on_persistent_congestion(now);
        }
    }
}

fn duration(time: std::time::Duration) -> Duration {
    Duration::from_nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
