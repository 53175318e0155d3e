//! Columns of numbers, which an answer keeps outside its JSON.

use serde_json::{Value, json};

/// Columns of numbers. JSON refers to a column by its first index and its length.
#[derive(Default)]
pub(crate) struct Numbers(Vec<f64>);

impl Numbers {
    /// Makes room for `count` numbers more, so that they are not copied as they become more.
    pub fn reserve(&mut self, count: usize) {
        self.0.reserve(count);
    }

    /// Adds a column and returns its reference.
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
