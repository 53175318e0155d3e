//! A placeholder in scenarios for a congestion control of a Linux kernel. On a Linux host the kernel's own takes its place; the
//! simulator has none. The placeholder itself is Reno.

use super::reno;
use crate::{Ack, Classic, CongestionController, CongestionEvent, ParamError, Start, Variable};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use sojourn_units::Time;

/// The congestion controls of Linux 7.3 (net/ipv4/Kconfig), by the names that `net.ipv4.tcp_congestion_control` has for them.
const NAMES: &[&str] = &[
    "reno",
    "cubic",
    "bbr",
    "bic",
    "cdg",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// Window and threshold are all its state.
pub const VARIABLES: &[Variable<Linux>] = &[];

/// Parameters of a congestion control of the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Its name in the kernel, such as `"bbr"`; no default.
    pub linux: String,
}

impl Default for Params {
    fn default() -> Self {
        Params { linux: String::from("cubic") }
    }
}

impl Params {
    /// The placeholder of a new connection.
    ///
    /// # Errors
    /// A name that the kernel does not have.
    pub fn build(&self, start: Start) -> Result<Linux, ParamError> {
        let known = NAMES.contains(&self.linux.as_str());
        let expected = format!("a congestion control of Linux: {}", NAMES.join(", "));
        ParamError::unless(known, "linux", &format!("\"{}\"", self.linux), expected)?;
        reno::Params::default().build(start).map(|reno| Linux(Box::new(reno)))
    }
}

/// The placeholder.
#[derive(Clone, Debug)]
pub struct Linux(Box<Classic<reno::RenoLaw>>);

impl CongestionController for Linux {
    fn memory(&self) -> usize {
        size_of_val(&*self.0)
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.0.on_ack(ack);
    }
    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.0.on_congestion(event);
    }
    fn on_rto(&mut self, now: Time, window: f64) {
        self.0.on_rto(now, window);
    }
    fn cwnd(&self) -> f64 {
        self.0.cwnd()
    }
    fn set_cwnd(&mut self, cwnd: f64) {
        self.0.set_cwnd(cwnd);
    }
    fn ssthresh(&self) -> f64 {
        self.0.ssthresh()
    }
}
