//! The maximum in a sliding time window, with three samples of memory.
//! Source: Kathleen Nichols' algorithm, Linux `win_minmax.c`.

/// A value and its time, in the user's unit of time.
#[derive(Clone, Copy, Default, Debug)]
struct Sample {
    time: u64,
    value: f64,
}

/// The maximum in a sliding time window.
/// It is exact if values fall steadily. Otherwise an older one is sometimes forgotten early.
#[derive(Clone, Copy, Default, Debug)]
pub struct MaxFilter {
    /// The maximum, the maximum after it, and the maximum after both.
    best: [Sample; 3],
}

impl MaxFilter {
    /// The maximum.
    #[inline]
    pub fn max(&self) -> f64 {
        self.best[0].value
    }

    /// Adds a value at `time`. The window has the length `window`.
    #[inline]
    pub fn update(&mut self, window: u64, time: u64, value: f64) {
        let new = Sample { time, value };
        if value >= self.best[0].value || time.saturating_sub(self.best[2].time) > window {
            self.best = [new; 3];
            return;
        }
        if value >= self.best[1].value {
            (self.best[1], self.best[2]) = (new, new);
        } else if value >= self.best[2].value {
            self.best[2] = new;
        }
        let age = time.saturating_sub(self.best[0].time);
        if age > window {
            self.best = [self.best[1], self.best[2], new];
            if time.saturating_sub(self.best[0].time) > window {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if self.best[1].time == self.best[0].time && age > window / 4 {
            // A quarter of the window has passed without a second value: take one from the second quarter.
            (self.best[1], self.best[2]) = (new, new);
        } else if self.best[2].time == self.best[1].time && age > window / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    #[test]
    fn a_maximum_is_forgotten_when_its_window_is_over() {
        let mut filter = MaxFilter::default();
        let seen: Vec<f64> = (0..20u64)
            .map(|time| {
                filter.update(10, time, if time == 3 { 9.0 } else { 1.0 });
                filter.max()
            })
            .collect();
        assert_eq!(seen[2..14], [1.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0]);
        assert_eq!(seen[14], 1.0);
    }

    proptest! {
        #[test]
        fn it_lies_between_the_last_value_and_the_greatest_of_the_window(values in prop::collection::vec(0.0f64..100.0, 1..200)) {
            let mut filter = MaxFilter::default();
            for (time, &value) in values.iter().enumerate() {
                filter.update(10, time as u64, value);
                let window = &values[time.saturating_sub(10)..=time];
                prop_assert!(filter.max() >= value);
                prop_assert!(filter.max() <= window.iter().copied().fold(0.0, f64::max));
            }
        }
    }
}
