//! The traceable variables of a controller, in addition to its window and pacing rate.

use sojourn_units::Duration;

/// A variable of a controller.
#[derive(Clone, Copy, Debug)]
pub struct Variable<C> {
    /// The description.
    pub about: About,
    /// Reads the value from a controller; NaN if it has none.
    pub value: fn(&C) -> f64,
}

/// The description of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct About {
    /// The name, which is the column of a trace.
    pub name: &'static str,
    /// The unit; empty if it has none.
    pub unit: &'static str,
    /// One sentence that describes it.
    pub summary: &'static str,
}

impl<C> Variable<C> {
    /// A variable with name, unit, one sentence that describes it, and a function that reads it.
    pub const fn new(name: &'static str, unit: &'static str, summary: &'static str, value: fn(&C) -> f64) -> Self {
        Variable { about: About { name, unit, summary }, value }
    }
}

/// A time in seconds; NaN for [`Duration::MAX`], which means unknown.
pub(crate) fn if_known(time: Duration) -> f64 {
    if time < Duration::MAX { time.as_secs_f64() } else { f64::NAN }
}

/// A value; NaN if it is infinite, which means unset.
pub(crate) fn if_finite(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{REGISTRY, Start};
    use std::collections::HashMap;

    #[test]
    fn a_name_means_one_thing_and_has_a_value_or_nan() {
        let mut known: HashMap<&str, About> = HashMap::new();
        for entry in REGISTRY {
            let config = (entry.default)();
            let about: std::vec::Vec<About> = (entry.variables)();
            for variable in &about {
                assert!(!variable.summary.is_empty() && *known.entry(variable.name).or_insert(*variable) == *variable, "{variable:?}");
            }
            let Ok(controller) = config.build(Start::new(10.0, 1e9)) else { continue };
            let values = controller.values();
            assert_eq!(values.len(), about.len(), "{}", entry.name);
            assert!(values.iter().all(|value| !value.is_infinite()), "{}: {values:?}", entry.name);
        }
    }
}
