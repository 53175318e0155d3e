//! Columns of numbers, which an answer keeps outside its JSON.

use serde_json::{Value, json};

/// Columns of numbers. JSON refers to one by its first number and its length.
#[derive(Default)]
pub(crate) struct Numbers(Vec<f64>);

impl Numbers {
    /// Adds a column; returns its place.
    pub fn add(&mut self, column: impl IntoIterator<Item = f64>) -> Value {
        let first = self.0.len();
        self.0.extend(column);
        json!([first, self.0.len() - first])
    }

    /// All columns, one after the other.
    pub fn all(self) -> Vec<f64> {
        self.0
    }
}
