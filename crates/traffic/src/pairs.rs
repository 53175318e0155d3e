//! Tables of two columns, inline or in a file.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use sojourn_units::{Bytes, Duration};

/// A column of a file: its name, and the power of ten that scales its numbers.
/// Scaled numbers are rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// The name in messages.
    pub name: &'static str,
    /// The power of ten.
    pub power: u32,
}

/// A row of a two-column table.
pub trait Row: Sized {
    /// Its columns in a file.
    const COLUMNS: [Column; 2];

    /// The row with these scaled numbers.
    fn of(numbers: [u64; 2]) -> Self;
}

/// Reads the rows of a file with these columns. Each number is scaled.
pub type ReadFile<'a, E> = &'a mut dyn FnMut(&str, &[Column; 2]) -> Result<Vec<[u64; 2]>, E>;

/// A table of two columns: inline rows, or the name of a file with one row per line.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(untagged))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Pairs<T> {
    /// The name of the file. A relative path starts at the folder of the scenario.
    File(String),
    /// The rows.
    Rows(Arc<Vec<T>>),
}

impl<T: Row> Pairs<T> {
    /// Replaces the file's name by its rows.
    ///
    /// # Errors
    /// The errors of `read`.
    pub fn read<E>(&mut self, read: ReadFile<'_, E>) -> Result<(), E> {
        if let Pairs::File(name) = self {
            let rows = read(name, &T::COLUMNS)?;
            *self = Pairs::Rows(Arc::new(rows.into_iter().map(T::of).collect()));
        }
        Ok(())
    }
}

impl<T> Pairs<T> {
    /// The rows; empty before the file is read.
    pub fn rows(&self) -> &[T] {
        match self {
            Pairs::File(_) => &[],
            Pairs::Rows(rows) => rows,
        }
    }
}

/// A size and its cumulative probability.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeUpTo(pub Bytes, pub f64);

impl Row for SizeUpTo {
    const COLUMNS: [Column; 2] = [Column { name: "size in bytes", power: 0 }, Column { name: "cumulative probability", power: 9 }];

    fn of([size, probability]: [u64; 2]) -> Self {
        SizeUpTo(Bytes(size), probability as f64 / 1e9)
    }
}

/// A transfer: its start and its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Transfer(pub Duration, pub Bytes);

impl Row for Transfer {
    const COLUMNS: [Column; 2] = [Column { name: "time in s", power: 9 }, Column { name: "size in bytes", power: 0 }];

    fn of([at, size]: [u64; 2]) -> Self {
        Transfer(Duration::from_nanos(at), Bytes(size))
    }
}
