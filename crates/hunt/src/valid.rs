//! A valid scenario, written and checked.

use sojourn_scenario::{Checked, Document};
use toml::Table;

/// A scenario that can be run.
#[derive(Clone, Debug)]
pub struct World {
    /// As in a file.
    pub document: Document,
    /// Checked.
    pub checked: Checked,
}

impl World {
    /// The scenario of this table.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub fn from_table(table: Table) -> Result<World, String> {
        let document = Document::from_table("world.toml", table);
        let checked = document.check().map_err(|error| error.to_string())?;
        Ok(World { document, checked })
    }

    /// Its text.
    pub fn text(&self) -> String {
        self.document.table().to_string()
    }
}
