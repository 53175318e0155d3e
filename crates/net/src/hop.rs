//! The steps of routes, in one table: a route is a run of hops that ends with [`HopTarget::End`].

/// One step of a route: where it leads, and whether a packet waits for an event before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hop(u32);

/// Where a hop leads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum HopTarget {
    Link(usize),
    AccessLink(usize),
    /// The end of the route.
    End,
}

impl Hop {
    const DEFERRED: u32 = 1 << 31;
    const ACCESS: u32 = 1 << 30;
    const END: u32 = Self::ACCESS - 1;

    /// A hop that needs no event.
    pub fn new(target: HopTarget) -> Self {
        match target {
            HopTarget::Link(link) => Hop(link as u32),
            HopTarget::AccessLink(link) => Hop(link as u32 | Self::ACCESS),
            HopTarget::End => Hop(Self::END),
        }
    }

    /// Where it leads.
    #[inline]
    pub fn target(self) -> HopTarget {
        if self.0 & Self::ACCESS != 0 {
            return HopTarget::AccessLink((self.0 & Self::END) as usize);
        }
        match self.0 & Self::END {
            Self::END => HopTarget::End,
            link => HopTarget::Link(link as usize),
        }
    }

    /// Whether a packet waits for an event before it.
    #[inline]
    pub fn needs_event(self) -> bool {
        self.0 & Self::DEFERRED != 0
    }

    /// The same hop, before which a packet waits for an event.
    #[must_use]
    pub fn deferred(self) -> Self {
        Hop(self.0 | Self::DEFERRED)
    }

    /// The same hop without an event.
    #[inline]
    #[must_use]
    pub fn immediate(self) -> Self {
        Hop(self.0 & !Self::DEFERRED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hop_remembers_its_target_and_its_event() {
        for target in [HopTarget::Link(7), HopTarget::AccessLink(7), HopTarget::End] {
            let hop = Hop::new(target);
            assert_eq!((hop.target(), hop.needs_event()), (target, false));
            assert_eq!((hop.deferred().target(), hop.deferred().needs_event()), (target, true));
            assert_eq!(hop.deferred().immediate(), hop);
        }
    }
}
