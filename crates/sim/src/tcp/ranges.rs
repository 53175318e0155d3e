//! Sets of byte ranges.
//! A receiver keeps what it holds out of order, and a sender what it knows to have arrived.
use sojourn_units::Memory;

/// The largest number of segments or ranges that are checked one by one after each call.
pub const CHECKED: usize = 64;

/// Disjoint half-open ranges in rising order.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    /// The removed ranges, then the ones that are held.
    /// Moving those after each removal would cost more than all else.
    ranges: Vec<(u64, u64)>,
    gone: usize,
    /// The number of bytes held.
    held: u64,
}

impl Ranges {
    /// Whether it holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Removes all bytes.
    pub fn clear(&mut self) {
        self.ranges.clear();
        (self.gone, self.held) = (0, 0);
    }

    /// The index of the first range that ends above `point`.
    /// Most points asked for lie in the last range or above it.
    #[inline]
    fn ending_above(&self, point: u64) -> usize {
        match self.ranges.last() {
            Some(&(start, end)) if start <= point => self.ranges.len() - usize::from(end > point),
            _ => self.gone + self.ranges[self.gone..].partition_point(|&(_, end)| end <= point),
        }
    }

    /// Checks that the ranges lie apart between `from` and `to`, in rising order.
    /// Also checks the count of their bytes.
    ///
    /// # Panics
    /// If something does not hold.
    pub fn check_invariants(&self, from: u64, to: u64) {
        let ranges = &self.ranges[self.gone..];
        let within = ranges.first().is_none_or(|first| from <= first.0) && ranges.last().is_none_or(|last| last.1 <= to);
        assert!(within, "from {from} to {to}: {:?} to {:?}", ranges.first(), ranges.last());
        if ranges.len() <= CHECKED {
            assert!(ranges.iter().all(|(start, end)| start < end), "{ranges:?}");
            assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "{ranges:?}");
            assert_eq!(self.held, ranges.iter().map(|(start, end)| end - start).sum::<u64>(), "{ranges:?}");
        }
    }

    /// Extends the last range by this many bytes.
    #[inline]
    pub fn extend(&mut self, bytes: u64) {
        if let Some((_, end)) = self.ranges.last_mut() {
            *end += bytes;
            self.held += bytes;
        }
    }

    /// Adds `from..to`; returns how many bytes are new.
    /// Most bytes that are added follow the last range.
    #[inline]
    pub fn insert(&mut self, from: u64, to: u64) -> u64 {
        match self.ranges.last_mut() {
            Some((start, end)) if *start <= from && from <= *end => {
                let new = to.saturating_sub(*end);
                *end += new;
                self.held += new;
                new
            }
            _ => self.insert_apart(from, to),
        }
    }

    /// Adds `from..to` where it does not follow the last range; returns how many bytes are new.
    #[inline(never)]
    fn insert_apart(&mut self, from: u64, to: u64) -> u64 {
        if from >= to {
            return 0;
        }
        // A range that ends where this one begins is merged with it.
        let first = self.ending_above(from.saturating_sub(1));
        let last = first + self.ranges[first..].iter().take_while(|&&(start, _)| start <= to).count();
        if first == last {
            self.ranges.insert(first, (from, to));
            self.held += to - from;
            return to - from;
        }
        let held: u64 = self.ranges[first..last].iter().map(|&(a, b)| b.min(to).saturating_sub(a.max(from))).sum();
        let merged = (self.ranges[first].0.min(from), self.ranges[last - 1].1.max(to));
        self.ranges[first] = merged;
        if last > first + 1 {
            self.ranges.drain(first + 1..last);
        }
        self.held += to - from - held;
        to - from - held
    }

    /// Marks the ranges before index `first` as removed.
    /// Moves the others to the front once they are no more than the removed ones.
    #[inline]
    fn begin_at(&mut self, first: usize) {
        self.gone = first;
        if 2 * first >= self.ranges.len() {
            self.ranges.drain(..first);
            self.gone = 0;
        }
    }

    /// Removes everything below `point`; returns the number of bytes removed.
    pub fn forget_below(&mut self, point: u64) -> u64 {
        if self.ranges.get(self.gone).is_none_or(|&(start, _)| point <= start) {
            return 0;
        }
        let before = self.held;
        let first = self.ending_above(point);
        self.held -= self.ranges[self.gone..first].iter().map(|(start, end)| end - start).sum::<u64>();
        self.begin_at(first);
        if let Some(first) = self.ranges.get_mut(self.gone) {
            self.held -= point.saturating_sub(first.0);
            first.0 = first.0.max(point);
        }
        before - self.held
    }

    /// Removes the ranges that begin at or before `point` and those that follow without a gap.
    /// Returns the end of the last, or `point` if that is larger.
    pub fn absorb(&mut self, mut point: u64) -> u64 {
        while let Some(&(start, end)) = self.ranges.get(self.gone).filter(|&&(start, _)| start <= point) {
            self.begin_at(self.gone + 1);
            self.held -= end - start;
            point = point.max(end);
        }
        point
    }

    /// The range that holds `point`.
    #[inline]
    pub fn around(&self, point: u64) -> Option<(u64, u64)> {
        self.ranges.get(self.ending_above(point)).copied().filter(|&(start, _)| start <= point)
    }

    /// The first point at or after `point` that is not held.
    #[inline]
    pub fn gap_from(&self, point: u64) -> u64 {
        self.around(point).map_or(point, |(_, end)| end)
    }

    /// The first point above `point` at which a range begins; `u64::MAX` if none does.
    #[inline]
    pub fn next_from(&self, point: u64) -> u64 {
        if self.ranges.last().is_none_or(|&(start, _)| start <= point) {
            return u64::MAX;
        }
        let mut starts = self.ranges[self.ending_above(point)..].iter().map(|&(start, _)| start);
        starts.find(|&start| start > point).unwrap_or(u64::MAX)
    }

    /// One past the last byte held; 0 if nothing is held.
    #[inline]
    pub fn end(&self) -> u64 {
        self.ranges.last().map_or(0, |&(_, end)| end)
    }

    /// The number of bytes held below `point`.
    /// Looks at the ranges on the side of the point that has fewer.
    pub fn below(&self, point: u64) -> u64 {
        let reached = self.ending_above(point);
        if reached - self.gone <= (self.ranges.len() - self.gone) / 2 {
            return self.between(0, point);
        }
        self.held - self.ranges[reached..].iter().map(|&(start, end)| end - start.max(point)).sum::<u64>()
    }

    /// The number of bytes held between `from` and `to`, exclusive.
    pub fn between(&self, from: u64, to: u64) -> u64 {
        let first = self.ending_above(from);
        let inside = self.ranges[first..].iter().take_while(|&&(start, _)| start < to);
        inside.map(|&(start, end)| end.min(to).saturating_sub(start.max(from))).sum()
    }

    /// All ranges, in rising order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.ranges[self.gone..].iter().copied()
    }
}

impl Memory for Ranges {
    fn memory(&self) -> usize {
        self.ranges.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_are_the_set_of_their_points(
            steps in prop::collection::vec((prop_oneof![0u64..200, Just(0)], 1u64..30, 0u32..8), 0..60),
            probe in 0u64..230,
            below in 0u64..230,
        ) {
            let (mut ranges, mut points) = (Ranges::default(), std::collections::BTreeSet::new());
            for (from, length, kind) in steps {
                let before = points.len();
                match kind {
                    0 => {
                        points = points.split_off(&(from / 4));
                        prop_assert_eq!(ranges.forget_below(from / 4), (before - points.len()) as u64);
                    }
                    1 if let Some(&first) = points.first() => {
                        let point = first + from / 4;
                        let end = ranges.absorb(point);
                        prop_assert_eq!(end, (point..).find(|p| !points.contains(p)).unwrap());
                        points = points.split_off(&end);
                    }
                    2 if from == 0 => {
                        points.clear();
                        ranges.clear();
                    }
                    _ => {
                        points.extend(from..from + length);
                        prop_assert_eq!(ranges.insert(from, from + length), (points.len() - before) as u64);
                    }
                }
                prop_assert_eq!(ranges.is_empty(), points.is_empty());
            }
            prop_assert_eq!(ranges.around(probe).is_some(), points.contains(&probe));
            prop_assert_eq!(ranges.below(probe), points.range(..probe).count() as u64);
            prop_assert_eq!(ranges.between(below, probe), points.iter().filter(|&&p| p >= below && p < probe).count() as u64);
            prop_assert_eq!(ranges.gap_from(probe), (probe..).find(|p| !points.contains(p)).unwrap());
            let begins = |p: &u64| points.contains(p) && !points.contains(&(p - 1));
            prop_assert_eq!(ranges.next_from(probe), (probe + 1..240).find(begins).unwrap_or(u64::MAX));
            prop_assert_eq!(ranges.end(), points.last().map_or(0, |p| p + 1));
            prop_assert_eq!(ranges.forget_below(below), points.range(..below).count() as u64);
            prop_assert_eq!(ranges.below(u64::MAX), points.range(below..).count() as u64);
            prop_assert_eq!(ranges.held, ranges.iter().map(|(start, end)| end - start).sum::<u64>());
            prop_assert!(ranges.iter().zip(ranges.iter().skip(1)).all(|(a, b)| a.1 < b.0));
        }
    }

    /// Every set of a few points, every range put into it, every point asked about.
    #[test]
    fn every_small_set_does_what_a_set_does() {
        const POINTS: u64 = 7;
        for set in 0u32..1 << POINTS {
            let mut ranges = Ranges::default();
            (0..POINTS).filter(|&point| set >> point & 1 == 1).for_each(|point| assert_eq!(ranges.insert(point, point + 1), 1));
            let count = |set: u32, from: u64, to: u64| (from..to).filter(|&point| set >> point & 1 == 1).count() as u64;
            for (from, to) in (0..=POINTS).flat_map(|from| (0..=POINTS).map(move |to| (from, to))) {
                assert_eq!(ranges.between(from, to), count(set, from, to));
                let (mut more, added) = (ranges.clone(), (from..to).fold(0, |mask, point| mask | 1 << point));
                assert_eq!(more.insert(from, to), to.saturating_sub(from) - count(set, from, to));
                assert_eq!((more.below(from), more.below(to)), (count(set | added, 0, from), count(set | added, 0, to)));
                assert_eq!(more.gap_from(from), (from..).find(|&point| (set | added) >> point & 1 == 0).unwrap());
                assert!(more.iter().zip(more.iter().skip(1)).all(|(a, b)| a.1 < b.0));
                assert_eq!(more.forget_below(to), count(set | added, 0, to));
                assert_eq!(more.held, count(set | added, to, POINTS));
            }
        }
    }

    #[test]
    fn the_last_bytes_of_a_stream_overflow_nothing() {
        let mut ranges = Ranges::default();
        assert_eq!(ranges.insert(u64::MAX - 10, u64::MAX) + ranges.insert(0, 10), 20);
        assert_eq!((ranges.below(u64::MAX), ranges.gap_from(u64::MAX - 5)), (20, u64::MAX));
        assert_eq!(ranges.forget_below(u64::MAX), 20);
    }
}
