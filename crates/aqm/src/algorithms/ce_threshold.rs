//! Linux's `ce_threshold` (`codel_impl.h`): whatever `CoDel` decides, packets that waited longer than a threshold are marked, so that senders
//! that want it shallow (DCTCP, Prague) share a queue discipline with others. A selector restricts the marks, such as to ECT(1).

use crate::{DepartureVerdict, Ecn};
use sojourn_units::Duration;

/// A threshold, and the packets that it holds for.
#[derive(Clone, Copy, Debug)]
pub(super) struct CeThreshold {
    threshold: Duration,
    selector: u8,
    mask: u8,
}

impl CeThreshold {
    /// Marks all packets above `threshold`; zero is none.
    pub fn all(threshold: Duration) -> Self {
        CeThreshold::only(threshold, 0, 0)
    }

    /// Marks packets above `threshold` whose type-of-service byte is `selector` under `mask`; zero is no threshold.
    pub fn only(threshold: Duration, selector: u8, mask: u8) -> Self {
        let threshold = if threshold == Duration::ZERO { Duration::MAX } else { threshold };
        CeThreshold { threshold, selector, mask }
    }

    /// What becomes of a packet that waited so long, where `CoDel` says `verdict`. A packet has no DSCP here: its byte is its ECN field.
    #[inline]
    pub fn apply(&self, verdict: DepartureVerdict, sojourn: Duration, ecn: Ecn) -> DepartureVerdict {
        let marks = sojourn > self.threshold && verdict == DepartureVerdict::Pass && ecn.bits() & self.mask == self.selector;
        if marks { DepartureVerdict::Mark } else { verdict }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DepartureVerdict::{Mark, Pass, Signal};

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn packets_above_the_threshold_are_marked_and_signals_stay() {
        let all = CeThreshold::all(MS);
        assert_eq!([MS, MS * 2].map(|wait| all.apply(Pass, wait, Ecn::Ect0)), [Pass, Mark]);
        assert_eq!(all.apply(Signal, MS * 2, Ecn::Ect0), Signal);
        assert_eq!(CeThreshold::all(Duration::ZERO).apply(Pass, MS * 1_000_000, Ecn::Ect0), Pass);
    }

    #[test]
    fn a_selector_under_its_mask_chooses_the_packets() {
        let marked = |selector, mask| Ecn::ALL.map(|ecn| CeThreshold::only(MS, selector, mask).apply(Pass, MS * 2, ecn) == Mark);
        // The order is Not-ECT, ECT(0), ECT(1), CE.
        assert_eq!(marked(1, 3), [false, false, true, false]);
        assert_eq!(marked(1, 1), [false, false, true, true]);
        assert_eq!(marked(0, 0), [true; 4]);
        assert_eq!(marked(0x20, 0xfc), [false; 4], "no packet has a DSCP");
    }
}
