//! A placeholder in scenarios for a congestion control of a Linux kernel.
//! On a Linux host the kernel's own congestion control is used instead. The simulator has none of them. The placeholder itself is Reno.

use super::reno::{self, Reno};
use crate::{ParamError, Start, Variable};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

/// The congestion controls of Linux 7.3 (net/ipv4/Kconfig).
/// The names are those of `net.ipv4.tcp_congestion_control`.
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

/// The placeholder.
pub type Linux = Box<Reno>;

/// No variables: window and threshold are the whole state.
pub(crate) const VARIABLES: &[Variable<Linux>] = &[];

/// Parameters of a congestion control of the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Params {
    /// Its name in the kernel, such as `"bbr"`; required.
    pub linux: String,
}

impl Default for Params {
    fn default() -> Self {
        Params { linux: String::from("cubic") }
    }
}

impl Params {
    /// Creates the placeholder of a new connection.
    ///
    /// # Errors
    /// The kernel does not have this name.
    pub fn build(&self, start: Start) -> Result<Reno, ParamError> {
        let known = NAMES.contains(&self.linux.as_str());
        let expected = format!("a congestion control of Linux: {}", NAMES.join(", "));
        ParamError::unless(known, "linux", &format!("\"{}\"", self.linux), expected)?;
        reno::Params::default().build(start)
    }
}
