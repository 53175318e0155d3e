//! Sets of byte ranges: what a receiver holds out of order, and what a sender knows to have arrived.

/// Disjoint half-open ranges in rising order.
#[derive(Clone, Debug, Default)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Whether it holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds `from..to`; gives how many bytes are new.
    pub fn insert(&mut self, from: u64, to: u64) -> u64 {
        if from >= to {
            return 0;
        }
        let first = self.0.partition_point(|&(_, end)| end < from);
        let last = self.0.partition_point(|&(start, _)| start <= to);
        if first == last {
            self.0.insert(first, (from, to));
            return to - from;
        }
        let held: u64 = self.0[first..last].iter().map(|&(a, b)| b.min(to).saturating_sub(a.max(from))).sum();
        let merged = (self.0[first].0.min(from), self.0[last - 1].1.max(to));
        self.0[first] = merged;
        self.0.drain(first + 1..last);
        to - from - held
    }

    /// Forgets everything below `point`.
    pub fn forget_below(&mut self, point: u64) {
        let gone = self.0.partition_point(|&(_, end)| end <= point);
        self.0.drain(..gone);
        if let Some(first) = self.0.first_mut() {
            first.0 = first.0.max(point);
        }
    }

    /// Removes the range that begins at or before `point` and reaches it; gives its end, or `point` if there is none.
    pub fn absorb(&mut self, point: u64) -> u64 {
        match self.0.first() {
            Some(&(start, end)) if start <= point => {
                self.0.remove(0);
                end.max(point)
            }
            _ => point,
        }
    }

    /// The range that holds `point`.
    pub fn around(&self, point: u64) -> Option<(u64, u64)> {
        let index = self.0.partition_point(|&(_, end)| end <= point);
        self.0.get(index).copied().filter(|&(start, _)| start <= point)
    }

    /// The first point at or after `point` that is not held.
    pub fn gap_from(&self, point: u64) -> u64 {
        self.around(point).map_or(point, |(_, end)| end)
    }

    /// The largest point held, 0 if none.
    pub fn end(&self) -> u64 {
        self.0.last().map_or(0, |&(_, end)| end)
    }

    /// Bytes held at or after `point`, and the number of separate ranges there.
    pub fn above(&self, point: u64) -> (u64, usize) {
        let first = self.0.partition_point(|&(_, end)| end <= point);
        (self.0[first..].iter().map(|&(start, end)| end - start.max(point)).sum(), self.0.len() - first)
    }

    /// All ranges, rising.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.0.capacity() * 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_are_the_set_of_their_points(steps in prop::collection::vec((0u64..200, 1u64..30), 0..60), probe in 0u64..230, below in 0u64..230) {
            let (mut ranges, mut points) = (Ranges::default(), std::collections::BTreeSet::new());
            for (from, length) in steps {
                let before = points.len();
                points.extend(from..from + length);
                prop_assert_eq!(ranges.insert(from, from + length), (points.len() - before) as u64);
            }
            prop_assert_eq!(ranges.around(probe).is_some(), points.contains(&probe));
            prop_assert_eq!(ranges.above(probe).0, points.range(probe..).count() as u64);
            prop_assert_eq!(ranges.gap_from(probe), (probe..).find(|p| !points.contains(p)).unwrap());
            prop_assert_eq!(ranges.end(), points.last().map_or(0, |p| p + 1));
            ranges.forget_below(below);
            prop_assert_eq!(ranges.above(0).0, points.range(below..).count() as u64);
            prop_assert!(ranges.iter().zip(ranges.iter().skip(1)).all(|(a, b)| a.1 < b.0));
        }
    }
}
