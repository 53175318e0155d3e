//! A valid scenario, as a document and checked.

use sojourn_scenario::{Checked, Document};
use toml::Table;

/// A scenario that can be run.
#[derive(Clone, Debug)]
pub struct World {
    /// The scenario as in a file.
    pub document: Document,
    /// The checked scenario.
    pub checked: Checked,
}

impl World {
    /// The scenario of this table.
    ///
    /// # Errors
    /// The first error as one line.
    pub fn from_table(table: Table) -> Result<World, String> {
        let document = Document::from_table("world.toml", table);
        let checked = document.check().map_err(|error| error.to_string())?;
        Ok(World { document, checked })
    }

    /// The text of the scenario.
    pub fn text(&self) -> String {
        self.document.table().to_string()
    }
}
