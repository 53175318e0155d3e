//! How late packets are delivered: the time between a packet's planned and its real delivery.

use sojourn_units::Duration;

/// Bins of each power of two.
const FINE: u32 = 8;

/// A histogram of lateness with a resolution of 1/8 of the value.
#[derive(Clone, Debug)]
pub struct Lateness {
    bins: Vec<u64>,
    count: u64,
    most: Duration,
}

impl Default for Lateness {
    fn default() -> Self {
        Lateness { bins: vec![0; (64 * FINE) as usize], count: 0, most: Duration::ZERO }
    }
}

/// The bin of a number of nanoseconds.
fn bin(nanos: u64) -> usize {
    let nanos = nanos.max(u64::from(FINE));
    let exponent = nanos.ilog2();
    let fraction = (nanos >> (exponent - FINE.ilog2())) & u64::from(FINE - 1);
    (exponent * FINE) as usize + fraction as usize
}

/// The lowest number of nanoseconds above a bin.
fn above(bin: usize) -> u64 {
    let (exponent, fraction) = (bin as u32 / FINE, bin as u64 % u64::from(FINE));
    (u64::from(FINE) + fraction + 1) << (exponent - FINE.ilog2())
}

impl Lateness {
    /// Adds a delivery.
    pub fn add(&mut self, late: Duration) {
        self.bins[bin(late.as_nanos())] += 1;
        self.count += 1;
        self.most = self.most.max(late);
    }

    /// The number of deliveries.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The largest lateness.
    pub fn most(&self) -> Duration {
        self.most
    }

    /// The lateness that a share of the deliveries does not exceed, at most 1/8 too high.
    /// Zero without deliveries.
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = (self.count as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (at, &count) in self.bins.iter().enumerate() {
            seen += count;
            if count > 0 && seen >= wanted {
                return Duration::from_nanos(above(at)).min(self.most);
            }
        }
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_at_most_an_eighth_too_high() {
        let mut lateness = Lateness::default();
        (1..=1000).for_each(|micros| lateness.add(Duration::from_micros(micros)));
        for (share, exact) in [(0.5, 500.0), (0.9, 900.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = lateness.quantile(share).as_nanos() as f64 / 1e3;
            assert!((exact..=exact * 1.125).contains(&found), "{share}: {found}");
        }
        assert_eq!((lateness.count(), lateness.most()), (1000, Duration::from_millis(1)));
        assert_eq!(Lateness::default().quantile(0.5), Duration::ZERO);
    }
}
