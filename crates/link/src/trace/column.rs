//! Compressed columns of a block of rows.
//! A column has a minimum, a unit, and a multiple of the unit per row.

use alloc::vec::Vec;

/// The storage of a column. Its numbers are `least + unit * code`.
/// Codes have `width` bits, the lowest first.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Column {
    least: u64,
    unit: u64,
    /// The position of its codes in the bytes of the block.
    begin: u32,
    width: u8,
}

/// Bytes after the last code, so that eight can be read at any code.
const PADDING: usize = 8;

/// The widest code, in bits, that fits into eight bytes at any bit offset within a byte.
const WIDEST: u32 = 57;

impl Column {
    /// Appends these numbers to `bytes`.
    pub fn store(values: impl Iterator<Item = u64> + Clone, bytes: &mut Vec<u8>) -> Column {
        let (least, most) = values.clone().fold((u64::MAX, 0), |(least, most), value| (value.min(least), value.max(most)));
        let begin = bytes.len() as u32;
        if least >= most {
            return Column { least: most, unit: 1, begin, width: 0 };
        }
        let unit = values.clone().fold(0, |unit, value| greatest_common_divisor(unit, value - least));
        let bits = u64::BITS - ((most - least) / unit).leading_zeros();
        let width = if bits > WIDEST { u64::BITS } else { bits };
        let (mut free, mut held) = (0u128, 0);
        for value in values {
            let code = if unit == 1 { value - least } else { (value - least) / unit };
            free |= u128::from(code) << held;
            held += width;
            while held >= 8 {
                bytes.push(free as u8);
                (free, held) = (free >> 8, held - 8);
            }
        }
        bytes.push(free as u8);
        bytes.extend_from_slice(&[0; PADDING]);
        Column { least, unit, begin, width: width as u8 }
    }

    /// The number of this row of the block.
    #[inline]
    pub fn get(&self, bytes: &[u8], row: usize) -> u64 {
        if self.width == 0 {
            return self.least;
        }
        let bit = row * usize::from(self.width);
        let eight = bytes[self.begin as usize + bit / 8..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
        let code = (eight >> (bit % 8)) & (u64::MAX >> (64 - self.width));
        self.least + self.unit * code
    }

    /// Its content without the position of its codes, for hashing.
    pub fn content(&self) -> [u8; 17] {
        let mut content = [self.width; 17];
        content[..8].copy_from_slice(&self.least.to_le_bytes());
        content[8..16].copy_from_slice(&self.unit.to_le_bytes());
        content
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 && a != 1 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn numbers_come_back_whatever_they_are() {
        for (values, width) in [
            (vec![5, 5, 5], 0),
            (vec![0, 255, 3, 77, 0, 1], 8),
            (vec![1_000_000, 3_000_000, 1_025_000_000], 10),
            (vec![u64::MAX, 0, 1], 64),
            (vec![7, 7 + (1 << 56), 8, 9], 57),
            (vec![7, 1 << 58, 9, 9], 64),
            (vec![3, 2, 3, 3, 2, 3, 2, 2, 2, 3], 1),
            (vec![], 0),
        ] {
            let mut bytes = vec![9; 3];
            let column = Column::store(values.iter().copied(), &mut bytes);
            assert_eq!(column.width, width, "{values:?}");
            let back: Vec<u64> = (0..values.len()).map(|row| column.get(&bytes, row)).collect();
            assert_eq!(back, values);
        }
    }
}
