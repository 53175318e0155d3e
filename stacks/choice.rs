//! A controller of the registry, chosen by name, for the connections of a QUIC stack.

use sojourn_cc::{CcConfig, Driver, ParamError, drivable};
use sojourn_units::Stream;
use std::fmt;

/// Bytes of the initial window, at most (rfc9002#7.2).
const INITIAL_WINDOW: u64 = 14_720;

/// Precedes the names of the registry in [`names`].
const REGISTRY_OF: &str = "sojourn:";

/// The names of all controllers: the stack's own, then the registry's as `sojourn:cubic`.
pub fn names(own: impl IntoIterator<Item = &'static str>) -> Vec<String> {
    own.into_iter().map(String::from).chain(drivable().map(|entry| format!("{REGISTRY_OF}{}", entry.name))).collect()
}

/// The registry's controller that this name of [`names`] means; `None` if it is the stack's own.
pub fn ours(name: &str) -> Option<&str> {
    name.strip_prefix(REGISTRY_OF)
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
    pub name: String,
    pub known: Vec<String>,
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

    /// The controller of a connection with packets of this size, and its initial window in bytes.
    pub fn start(&self, packet: u64) -> (Driver, u64) {
        let initial = (10 * packet).min(INITIAL_WINDOW.max(2 * packet));
        let mut driver = Driver::new(&self.config, packet, initial).expect("the parameters were checked");
        driver.use_random(Stream::named(self.seed, "controller"));
        (driver, initial)
    }
}
