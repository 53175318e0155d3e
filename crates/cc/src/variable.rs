//! What a trace can show of a controller besides its window and its pace.

use sojourn_units::Duration;

/// A variable of a controller.
#[derive(Clone, Copy, Debug)]
pub struct Variable<C> {
    /// What it is called and what it is.
    pub about: About,
    /// Its value in a controller, NaN while it has none.
    pub value: fn(&C) -> f64,
}

/// What a variable is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct About {
    /// Its name, as the column of a trace.
    pub name: &'static str,
    /// Its unit; empty if it has none.
    pub unit: &'static str,
    /// One sentence on what it is.
    pub summary: &'static str,
}

impl<C> Variable<C> {
    /// A variable from its name, its unit, one sentence on what it is, and how it is read.
    pub const fn new(name: &'static str, unit: &'static str, summary: &'static str, value: fn(&C) -> f64) -> Self {
        Variable { about: About { name, unit, summary }, value }
    }
}

/// A time in seconds that is [`Duration::MAX`] while it is not known.
pub(crate) fn if_known(time: Duration) -> f64 {
    if time < Duration::MAX { time.as_secs_f64() } else { f64::NAN }
}

/// A value that is infinite while nothing sets it.
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
