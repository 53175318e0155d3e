//! The sender that is judged: its transport and the controller that it claims to have.

use sojourn_cc::{AnyController, CcConfig, CongestionController, REGISTRY, Start, StartUpConfig, Window};
use std::fmt;

/// The rules of recovery that apply to a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// QUIC: packets sent before a reduction do not grow the window (rfc9002#7.3.2).
    Quic,
    /// TCP: the window belongs to loss recovery until all losses are repaired (rfc6675#5, rfc6937).
    Tcp,
}

/// A sender that is judged.
#[derive(Clone, PartialEq, Debug)]
pub struct Subject {
    /// The name of its controller in the registry.
    pub controller: String,
    /// The rules of recovery.
    pub transport: Transport,
    /// Whether it counts in whole segments as Linux does.
    pub linux: bool,
    /// The size of full packets in bytes, at least 1.
    pub mss: u32,
    /// Whether the windows are estimates from packets in flight. They may be off by [`ESTIMATE`] packets and
    /// [`ESTIMATE_SHARE`] of the window.
    pub estimated: bool,
}

/// The packets by which an estimated window may be off.
/// One is the packet that the ACK of the estimate acknowledges with a delay, and one is partly filled.
pub const ESTIMATE: f64 = 2.0;

/// The part of the window by which an estimate may be off besides.
/// An error of the window before a loss stays in the threshold and in CUBIC's `W_max`.
pub const ESTIMATE_SHARE: f64 = 0.03;

/// Why a sender cannot be judged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SubjectError(String);

impl fmt::Display for SubjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SubjectError {}

impl Subject {
    /// A QUIC sender with this controller and packets of `mss` bytes.
    pub fn quic(controller: &str, mss: u32) -> Self {
        Subject { controller: controller.into(), transport: Transport::Quic, linux: false, mss, estimated: false }
    }

    /// A TCP sender with this controller and segments of `mss` bytes.
    pub fn tcp(controller: &str, mss: u32) -> Self {
        Subject { transport: Transport::Tcp, ..Subject::quic(controller, mss) }
    }

    /// The tolerance in packets at a window: one, and what an estimate may be off.
    pub(crate) fn tolerance(&self, window: f64) -> f64 {
        1.0 + if self.estimated { ESTIMATE + ESTIMATE_SHARE * window } else { 0.0 }
    }

    /// The configuration of our controller.
    ///
    /// # Errors
    /// The registry has no such controller, or its input is not in logs.
    pub(crate) fn config(&self) -> Result<CcConfig, SubjectError> {
        let expected = || SubjectError(format!("controller: expected one of {}, got \"{}\"", controllers().join(", "), self.controller));
        let entry = REGISTRY.iter().find(|entry| entry.name == self.controller).ok_or_else(expected)?;
        let config = (entry.default)();
        if judged(&config) { Ok(config) } else { Err(expected()) }
    }

    /// Our controller with these windows at the start of the log.
    pub(crate) fn build(&self, config: &CcConfig, window: Window) -> AnyController {
        // An early end of slow start is accepted whatever detects it, so ours must not add one.
        let classic = Some(StartUpConfig::Classic(Default::default()));
        let start = Start { start_up: classic, ..Start::new(window.cwnd, window.ssthresh) };
        let start = if self.linux { start.in_linux() } else { start };
        config.build(start).unwrap_or_else(|error| unreachable!("defaults are in range: {error}"))
    }
}

/// Whether logs contain all inputs of a controller.
/// They lack rate samples, one-way delays, counts of marks and random numbers.
/// The caller supplies `external` and `linux`, and `rledbat` acts at the receiver.
fn judged(config: &CcConfig) -> bool {
    if matches!(config, CcConfig::External(_) | CcConfig::Linux(_) | CcConfig::RLedbat(_)) {
        return false;
    }
    let needs = config.build(Start::new(10.0, f64::INFINITY)).map(|controller| controller.needs());
    needs.is_ok_and(|needs| !needs.rate_samples && !needs.random && needs.delays.is_none() && !needs.ecn.is_strict())
}

/// The names of the controllers that can be judged.
pub fn controllers() -> Vec<&'static str> {
    REGISTRY.iter().filter(|entry| judged(&(entry.default)())).map(|entry| entry.name).collect()
}
