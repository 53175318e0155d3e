//! Controllers of a QUIC stack with the interface of quinn-proto: its own, and those of the registry.

use crate::api::{self, ControllerFactory, TransportConfig};
use crate::choice::{self, Choice, Unknown};
use sojourn_cc::{Driver, RoundTrip};
use sojourn_harness::{FlowInfo, Pair};
use sojourn_units::{Duration, Time};
use std::sync::Arc;
use std::time::Instant;

/// A congestion controller for connections of the stack.
pub type Factory = Arc<dyn ControllerFactory + Send + Sync>;

/// The names of all controllers.
pub fn names() -> Vec<String> {
    choice::names(api::own().map(|(name, _)| name))
}

/// Both ends of a connection with the controller of this name.
/// `None` is the stack's default.
///
/// # Errors
/// [`names`] does not contain it.
pub fn pair_named(flow: &FlowInfo, name: Option<&str>) -> Result<Pair, Unknown> {
    let Some(name) = name else { return Ok(crate::pair(flow, TransportConfig::default())) };
    let factory: Factory = match (choice::ours(name), api::own().into_iter().find(|(own, _)| *own == name)) {
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

impl Choice {
    /// The controller of a connection that begins now with packets of this size.
    pub fn begin(&self, now: Instant, packet: u16) -> Running {
        let (driver, initial) = self.start(packet.into());
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
        Time::ZERO + time.saturating_duration_since(self.base).into()
    }

    pub fn sent(&mut self, now: Instant, bytes: u64) {
        self.driver.on_sent(self.at(now), bytes);
    }

    /// A packet is acknowledged; `rtt` are the smoothed and the smallest RTT.
    pub fn acked(&mut self, now: Instant, sent: Instant, bytes: u64, rtt: [std::time::Duration; 2]) {
        let latest = Duration::from(now.saturating_duration_since(sent));
        // Before its first sample the stack tells its initial guess.
        let [smoothed, least] = rtt.map(Duration::from);
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
