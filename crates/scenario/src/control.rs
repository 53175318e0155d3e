//! Which window law a TCP flow runs, by name and with its own parameters.

use serde::{Deserialize, Deserializer, Serialize};
use toml::Table;

/// A window law as written: its name, and its parameters still as a table.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ControlConfig {
    cc: String,
    #[serde(flatten)]
    params: Table,
}

impl ControlConfig {
    /// The name in scenario files.
    pub fn name(&self) -> &str {
        &self.cc
    }

    /// The parameters as written.
    pub fn params(&self) -> &Table {
        &self.params
    }

    /// Reads the parameters of the window law called `name`; `None` if there is none of that name.
    pub fn deserialize<'de, D: Deserializer<'de>>(name: &str, input: D) -> Option<Result<Self, D::Error>> {
        let params = <Table as Deserialize>::deserialize(input);
        Some(params.map(|params| ControlConfig { cc: name.to_string(), params }))
    }

    /// The names there are; empty while any name is taken.
    pub fn names() -> Vec<&'static str> {
        Vec::new()
    }
}
