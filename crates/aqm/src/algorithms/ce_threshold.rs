//! Linux's `ce_threshold`: packets that waited longer than a threshold are marked.
//! It applies whatever `CoDel` decides, so that senders that need a low threshold (DCTCP, Prague) can share a queue discipline with others
//! (`codel_impl.h`). A selector restricts the marks to some packets, such as ECT(1).

use crate::{DepartureVerdict, Ecn};
use sojourn_units::Duration;

/// A threshold, and the packets to which it applies.
#[derive(Clone, Copy, Debug)]
pub(super) struct CeThreshold {
    threshold: Duration,
    selector: u8,
    mask: u8,
}

impl CeThreshold {
    /// Marks all packets above `threshold`; zero disables it.
    pub fn all(threshold: Duration) -> Self {
        CeThreshold::only(threshold, 0, 0)
    }

    /// Marks packets above `threshold` whose type-of-service byte matches `selector`.
    /// The byte is masked with `mask`; a threshold of zero disables it.
    pub fn only(threshold: Duration, selector: u8, mask: u8) -> Self {
        let threshold = if threshold == Duration::ZERO { Duration::MAX } else { threshold };
        CeThreshold { threshold, selector, mask }
    }

    /// The verdict on a packet after `sojourn`, given the `verdict` of `CoDel`.
    /// Packets have no DSCP here, so the type-of-service byte is the ECN field.
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
