//! A controller compiled to integers, for use without floats, as in a kernel.

use crate::FuzzyError;
use crate::error::usable;
use crate::surface::{Error, measure};
use alloc::vec::Vec;

/// One input of an integer table.
/// The input is in whole steps of `unit`; cells are `2^shift` steps wide.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct IntegerAxis {
    /// The value of one step of the integer input, above zero.
    pub unit: f64,
    /// The input at the first knot, in steps, within +-2^30.
    pub low: i32,
    /// The width of a cell: `2^shift` steps, with `shift` at most 15.
    pub shift: u32,
    /// The number of cells.
    pub cells: u32,
}

impl IntegerAxis {
    /// The integer input nearest to `x`; 0 for NaN.
    pub fn quantize(&self, x: f64) -> i32 {
        libm::round(x / self.unit) as i32
    }

    /// The value of `steps`.
    pub fn real(&self, steps: i32) -> f64 {
        f64::from(steps) * self.unit
    }

    /// The input at the last knot, in steps.
    pub fn high(&self) -> i32 {
        let high = i64::from(self.low) + (i64::from(self.cells) << self.shift.min(16));
        high.min(i64::from(i32::MAX)) as i32
    }

    fn check(&self, what: &str) -> Result<(), FuzzyError> {
        if !(usable(self.unit) && self.unit > 0.0) {
            return Err(FuzzyError::value(format_args!("{what}: unit"), self.unit, "a finite number above zero"));
        }
        if self.shift > 15 {
            return Err(FuzzyError::value(format_args!("{what}: shift"), self.shift, "0 to 15"));
        }
        let within = |steps: i32| (-(1 << 30)..=1 << 30).contains(&steps);
        if self.cells == 0 || self.cells > 1 << 20 || !(within(self.low) && within(self.high())) {
            return Err(FuzzyError::value(format_args!("{what}: cells"), self.cells, "1 to 1,048,576 cells within +-2^30 steps"));
        }
        Ok(())
    }

    /// The cell of the input and the position in it in steps, 0 to `2^shift`.
    #[inline]
    fn place(&self, input: i32) -> (usize, i64) {
        let steps = (i64::from(input) - i64::from(self.low)).clamp(0, i64::from(self.cells) << self.shift);
        let cell = (steps >> self.shift).min(i64::from(self.cells) - 1);
        (cell as usize, steps - (cell << self.shift))
    }
}

/// A function of two integers as a table of fixed-point numbers, with a measured error bound.
/// A look-up consists of additions, multiplications and shifts of 64-bit integers.
#[derive(Clone, PartialEq, Debug)]
pub struct IntegerSurface {
    row: IntegerAxis,
    column: IntegerAxis,
    /// The number of fraction bits: a stored value `v` represents `v / 2^fraction`.
    fraction: u32,
    /// `(row.cells + 1) x (column.cells + 1)` values, row by row.
    values: Vec<i32>,
    error: Error,
}

impl IntegerSurface {
    /// Tabulates `function` with `fraction` bits after the point.
    /// Measures the error of the table.
    ///
    /// # Errors
    /// An axis exceeds its limits (see [`IntegerAxis`]), there are more than 1,048,576 cells, `fraction` is above 30, or a value does not
    /// fit in
    /// 32 bits.
    pub fn compile(
        row: IntegerAxis,
        column: IntegerAxis,
        fraction: u32,
        function: impl Fn(f64, f64) -> f64,
    ) -> Result<IntegerSurface, FuzzyError> {
        row.check("row")?;
        column.check("column")?;
        if u64::from(row.cells) * u64::from(column.cells) > 1 << 20 {
            return Err(FuzzyError::value("axes: cells", (row.cells, column.cells), "at most 1,048,576 cells together"));
        }
        if fraction > 30 {
            return Err(FuzzyError::value("fraction", fraction, "0 to 30 bits"));
        }
        let at = |axis: &IntegerAxis, steps: u64| axis.real((i64::from(axis.low) + steps as i64) as i32);
        let mut values = Vec::with_capacity((row.cells as usize + 1) * (column.cells as usize + 1));
        for i in 0..=u64::from(row.cells) {
            for j in 0..=u64::from(column.cells) {
                let value = function(at(&row, i << row.shift), at(&column, j << column.shift));
                let fixed = libm::round(value * f64::from(1u32 << fraction));
                if !(f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&fixed) {
                    return Err(FuzzyError::value("function", value, "finite and within 32 bits at this fraction"));
                }
                values.push(fixed as i32);
            }
        }
        let error = Error { sampled: 0.0, bound: 0.0 };
        let mut surface = IntegerSurface { row, column, fraction, values, error };
        surface.error = surface.measured(&function);
        if usable(surface.error.bound) {
            Ok(surface)
        } else {
            Err(FuzzyError::value("function", surface.error.bound, "finite everywhere on the axes"))
        }
    }

    /// The error at inputs in whole steps, plus an allowance for the rounding of a real input.
    fn measured(&self, function: &impl Fn(f64, f64) -> f64) -> Error {
        // At most 8 samples per cell, each at a whole step.
        let stride = |axis: &IntegerAxis| axis.shift.saturating_sub(3);
        let (down, across) = (stride(&self.row), stride(&self.column));
        let rows = (self.row.cells << (self.row.shift - down)) as usize;
        let columns = (self.column.cells << (self.column.shift - across)) as usize;
        let input = |i: usize, j: usize| (self.row.low + ((i as i32) << down), self.column.low + ((j as i32) << across));
        let exact = |i: usize, j: usize| {
            let (x, y) = input(i, j);
            function(self.row.real(x), self.column.real(y))
        };
        let table = measure(rows, columns, |i, j| {
            let (x, y) = input(i, j);
            self.real(self.lookup(x, y)) - exact(i, j)
        });
        // Rounding moves an input by at most half a step; the allowance is a whole step, because slopes are means over a stride.
        let slope = |steps: u32, next: (usize, usize)| {
            let change = |i: usize, j: usize| {
                if i + next.0 > rows || j + next.1 > columns { 0.0 } else { exact(i + next.0, j + next.1) - exact(i, j) }
            };
            let most =
                (0..=rows).flat_map(|i| (0..=columns).map(move |j| (i, j))).fold(0.0f64, |most, (i, j)| most.max(change(i, j).abs()));
            most / f64::from(1u32 << steps)
        };
        Error { bound: table.bound + slope(down, (1, 0)) + slope(across, (0, 1)), ..table }
    }

    /// The value at these inputs, in units of `2^-fraction`.
    /// An input beyond the end of an axis counts as the end.
    #[inline]
    pub fn lookup(&self, row: i32, column: i32) -> i32 {
        let ((i, u), (j, v)) = (self.row.place(row), self.column.place(column));
        let width = self.column.cells as usize + 1;
        let at = i * width + j;
        let (near, far) = (&self.values[at..at + 2], &self.values[at + width..at + width + 2]);
        let (whole_u, whole_v) = (1i64 << self.row.shift, 1i64 << self.column.shift);
        let along = |pair: &[i32]| i64::from(pair[0]) * (whole_v - v) + i64::from(pair[1]) * v;
        // Values of 32 bits and weights of 15 and 15 bits sum to less than 62.
        let sum = along(near) * (whole_u - u) + along(far) * u;
        let shift = self.row.shift + self.column.shift;
        ((sum + ((1i64 << shift) >> 1)) >> shift) as i32
    }

    /// The value at real inputs. It quantizes them, looks the value up, and converts it back.
    pub fn evaluate(&self, row: f64, column: f64) -> f64 {
        self.real(self.lookup(self.row.quantize(row), self.column.quantize(column)))
    }

    /// Converts a stored number to its value.
    pub fn real(&self, value: i32) -> f64 {
        f64::from(value) / f64::from(1u32 << self.fraction)
    }

    /// A bound on the error of [`IntegerSurface::evaluate`] at any point of the axes.
    /// It is measured like [`crate::Surface::error_bound`], and includes the rounding of inputs and output.
    pub fn error_bound(&self) -> f64 {
        self.error.bound
    }

    /// The largest error at any sample; samples lie on whole steps.
    pub fn sampled_error(&self) -> f64 {
        self.error.sampled
    }

    /// The axes: rows, then columns.
    pub fn axes(&self) -> (IntegerAxis, IntegerAxis) {
        (self.row, self.column)
    }

    /// The table: `(rows' cells + 1) x (columns' cells + 1)` fixed-point values, row by row.
    pub fn values(&self) -> &[i32] {
        &self.values
    }

    /// The number of fraction bits of its values.
    pub fn fraction(&self) -> u32 {
        self.fraction
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXIS: IntegerAxis = IntegerAxis { unit: 1.0 / 256.0, low: -512, shift: 6, cells: 16 };

    #[test]
    fn a_look_up_is_the_rounded_bilinear_value() {
        let plane = |x: f64, y: f64| x + 2.0 * y;
        let table = IntegerSurface::compile(AXIS, AXIS, 16, plane).unwrap();
        assert_eq!(AXIS.high(), 512);
        assert_eq!(table.lookup(AXIS.quantize(1.0), AXIS.quantize(-0.5)), 0);
        assert_eq!(table.lookup(3, 5), 13 * 256);
        assert_eq!(table.lookup(i32::MAX, i32::MIN), -2 << 16);
        assert!((table.evaluate(0.123, 0.456) - plane(0.123, 0.456)).abs() <= table.error_bound());
        assert!(table.sampled_error() <= 0.5 / 65536.0, "{}", table.sampled_error());
        assert_eq!(AXIS.quantize(f64::NAN), 0);
    }

    #[test]
    fn tables_that_do_not_fit_are_refused() {
        let plane = |x: f64, y: f64| x + y;
        let with = |axis: IntegerAxis, fraction| IntegerSurface::compile(axis, AXIS, fraction, plane);
        assert!(with(AXIS, 31).is_err());
        assert!(with(AXIS, 30).is_err(), "4 does not fit with 30 bits after the point");
        assert!(with(IntegerAxis { shift: 16, ..AXIS }, 8).is_err());
        assert!(with(IntegerAxis { cells: 0, ..AXIS }, 8).is_err());
        assert!(with(IntegerAxis { low: i32::MAX, ..AXIS }, 8).is_err());
        assert!(with(IntegerAxis { unit: f64::NAN, ..AXIS }, 8).is_err());
        assert!(IntegerSurface::compile(AXIS, AXIS, 8, |x, _| 1.0 / x).is_err());
    }
}
