//! A controller compiled to a table, interpolated bilinearly between the knots of a grid.
//! The grid is uniform.

use crate::FuzzyError;
use crate::error::usable;
use alloc::vec::Vec;

/// The number of points per cell and direction at which the error is measured.
const SAMPLES: usize = 8;
/// The largest number of cells of a table.
const CELLS: usize = 1 << 20;

/// One input of a table: cells of equal width.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Axis {
    low: f64,
    high: f64,
    cells: usize,
    per_unit: f64,
}

impl Axis {
    /// `cells` cells of equal width from `low` to `high`.
    /// A table is most accurate if the centers of terms are knots.
    ///
    /// # Errors
    /// Unless `low < high`, both bounds are finite, and there is a cell.
    pub fn new(low: f64, high: f64, cells: usize) -> Result<Axis, FuzzyError> {
        let per_unit = cells as f64 / (high - low);
        if !(usable(low) && usable(high) && low < high && usable(per_unit)) {
            return Err(FuzzyError::value("axis", (low, high), "finite numbers, the first below the second"));
        }
        if !(1..=CELLS).contains(&cells) {
            return Err(FuzzyError::value("axis: cells", cells, "1 to 1,048,576 cells, for both axes together"));
        }
        Ok(Axis { low, high, cells, per_unit })
    }

    /// The number of cells.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// The point `part` of `parts` in the cell at `cell`.
    fn at(&self, cell: usize, part: usize, parts: usize) -> f64 {
        let share = (cell * parts + part) as f64 / (self.cells * parts) as f64;
        self.low + (self.high - self.low) * share
    }

    /// The cell of `x`, and the position in it in `[0, 1]`.
    /// Beyond the ends it is the nearest end, for NaN the low end.
    #[inline]
    fn place(&self, x: f64) -> (usize, f64) {
        let t = (x - self.low) * self.per_unit;
        // NaN fails the comparison and counts as the low end.
        let t = if t > 0.0 { t.min(self.cells as f64) } else { 0.0 };
        let cell = (t as usize).min(self.cells - 1);
        (cell, t - cell as f64)
    }
}

/// A function of two numbers as a table of `f64`, with a measured bound on its error.
#[derive(Clone, PartialEq, Debug)]
pub struct Surface {
    row: Axis,
    column: Axis,
    /// `(row.cells + 1) x (column.cells + 1)` values, row by row.
    values: Vec<f64>,
    error: Error,
}

/// The measured error of a table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Error {
    /// The largest error at any sample.
    pub sampled: f64,
    /// The maximum error, plus the largest change of the error between neighboring samples.
    pub bound: f64,
}

impl Surface {
    /// Tabulates `function` over two axes and measures the table's error at 64 points per cell.
    /// A [`crate::Controller`] with overrides must be compiled without them.
    ///
    /// # Errors
    /// There are more than 1,048,576 cells, or a value of `function` is not finite.
    pub fn compile(row: Axis, column: Axis, function: impl Fn(f64, f64) -> f64) -> Result<Surface, FuzzyError> {
        if row.cells.saturating_mul(column.cells) > CELLS {
            return Err(FuzzyError::value("axes: cells", (row.cells, column.cells), "at most 1,048,576 cells together"));
        }
        let mut values = Vec::with_capacity((row.cells + 1) * (column.cells + 1));
        for i in 0..=row.cells {
            for j in 0..=column.cells {
                let (x, y) = (row.at(i, 0, 1), column.at(j, 0, 1));
                let value = function(x, y);
                if !usable(value) {
                    return Err(FuzzyError::value(format_args!("function at {:?}", (x, y)), value, "finite"));
                }
                values.push(value);
            }
        }
        let mut surface = Surface { row, column, values, error: Error { sampled: 0.0, bound: 0.0 } };
        surface.error = measure(row.cells * SAMPLES, column.cells * SAMPLES, |i, j| {
            let (x, y) = (row.at(0, i, SAMPLES), column.at(0, j, SAMPLES));
            surface.evaluate(x, y) - function(x, y)
        });
        if usable(surface.error.bound) {
            Ok(surface)
        } else {
            Err(FuzzyError::value("function", surface.error.bound, "finite everywhere on the axes"))
        }
    }

    /// The value at these numbers.
    /// A number beyond the end of an axis counts as the end, NaN as the low end.
    #[inline]
    pub fn evaluate(&self, row: f64, column: f64) -> f64 {
        let ((i, u), (j, v)) = (self.row.place(row), self.column.place(column));
        let width = self.column.cells + 1;
        let at = i * width + j;
        let (near, far) = (&self.values[at..at + 2], &self.values[at + width..at + width + 2]);
        let (low, high) = (near[0] + (near[1] - near[0]) * v, far[0] + (far[1] - far[0]) * v);
        low + (high - low) * u
    }

    /// A bound on the error at any point of the axes; measured, not proven.
    /// It is the largest difference from the function at 8 x 8 samples per cell, plus the largest change of the difference between
    /// neighboring samples in each direction. It holds for continuous and piecewise smooth functions, as most fuzzy controllers are.
    pub fn error_bound(&self) -> f64 {
        self.error.bound
    }

    /// The largest error at any sample.
    pub fn sampled_error(&self) -> f64 {
        self.error.sampled
    }

    /// The axes: rows, then columns.
    pub fn axes(&self) -> (Axis, Axis) {
        (self.row, self.column)
    }

    /// The table: `(rows' cells + 1) x (columns' cells + 1)` values, row by row.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

/// Measures `error` at the points `0..=rows` by `0..=columns` of a mesh.
pub(crate) fn measure(rows: usize, columns: usize, error: impl Fn(usize, usize) -> f64) -> Error {
    let mut before: Vec<f64> = Vec::with_capacity(columns + 1);
    let (mut largest, mut down, mut across) = (0.0f64, 0.0f64, 0.0f64);
    // f64::max ignores NaN.
    let keep = |most: &mut f64, size: f64| {
        if size.is_nan() || size > *most {
            *most = size;
        }
    };
    for i in 0..=rows {
        let mut left = None;
        for j in 0..=columns {
            let now = error(i, j);
            keep(&mut largest, now.abs());
            if let Some(left) = left.replace(now) {
                keep(&mut across, (now - left).abs());
            }
            match before.get_mut(j) {
                Some(above) => keep(&mut down, (now - core::mem::replace(above, now)).abs()),
                None => before.push(now),
            }
        }
    }
    // The samples do not show the rounding of the function itself: add a little.
    Error { sampled: largest, bound: (largest + down + across) * (1.0 + 1e-9) + 1e-12 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn a_bilinear_function_is_its_own_table() {
        let plane = |x: f64, y: f64| 1.0 + 2.0 * x - y + 0.5 * x * y;
        let surface = Surface::compile(Axis::new(-1.0, 3.0, 7).unwrap(), Axis::new(0.0, 1.0, 1).unwrap(), plane).unwrap();
        assert!(surface.error_bound() < 1e-11, "{}", surface.error_bound());
        assert!((surface.evaluate(0.3, 0.7) - plane(0.3, 0.7)).abs() < 1e-14);
        assert_eq!(surface.evaluate(9.0, -9.0), plane(3.0, 0.0));
        assert_eq!(surface.evaluate(f64::NAN, f64::NEG_INFINITY), plane(-1.0, 0.0));
        assert_eq!(surface.evaluate(f64::INFINITY, 1.0), plane(3.0, 1.0));
        assert_eq!(surface.values().len(), 16);
    }

    #[test]
    fn axes_and_functions_that_make_no_table_are_refused() {
        assert!(Axis::new(1.0, 1.0, 4).is_err());
        assert!(Axis::new(0.0, f64::NAN, 4).is_err());
        assert!(Axis::new(0.0, 1.0, 0).is_err());
        let axis = Axis::new(0.0, 1.0, 2).unwrap();
        let wide = Axis::new(0.0, 1.0, 1 << 20).unwrap();
        assert!(Surface::compile(axis, wide, |_, _| 0.0).unwrap_err().to_string().contains("1,048,576"));
        assert!(Surface::compile(axis, axis, |x, _| 1.0 / x).unwrap_err().to_string().contains("finite"));
        assert!(Surface::compile(axis, axis, |x, _| 1.0 / (x - 0.25)).is_err());
    }
}
