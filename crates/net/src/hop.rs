//! The steps of routes, in one table.
//! A route is a run of hops that ends with [`HopTarget::End`].

/// One step of a route: its target, and whether a packet waits for an event before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hop(u32);

/// The target of a hop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum HopTarget {
    Link(usize),
    AccessLink(usize),
    /// An impairment of a link, as an index among those of all links.
    Impairment(usize),
    /// The end of the route.
    End,
    /// The end of the route for packets with bit errors: they are discarded.
    Discard,
    /// The start of one of several routes, as an index among the choices.
    Choice(usize),
    /// The end of a link, by its index, at which routers read its packets.
    Reading(usize),
}

impl HopTarget {
    /// Whether the route ends there.
    pub fn ends_route(self) -> bool {
        matches!(self, HopTarget::End | HopTarget::Choice(_))
    }
}

impl Hop {
    const DEFERRED: u32 = 1 << 31;
    const ACCESS: u32 = 1 << 30;
    /// Nothing is decided before it, so its event ranks as a delivery.
    const PASSING: u32 = 1 << 29;
    /// The end of the route follows, without an event.
    const LAST: u32 = 1 << 28;
    /// A packet that waits before it waits in order with others, without its own event.
    const ORDERED: u32 = 1 << 27;
    const END: u32 = Self::ORDERED - 1;
    const DISCARD: u32 = Self::END - 1;
    /// Numbers from here on are impairments.
    const IMPAIRMENTS: u32 = 1 << 26;
    /// Numbers from here on are choices.
    const CHOICES: u32 = Self::IMPAIRMENTS | 1 << 25;
    /// Numbers from here on are ends of links where routers read.
    const READINGS: u32 = Self::CHOICES | 1 << 24;

    /// A hop that needs no event.
    pub fn new(target: HopTarget) -> Self {
        match target {
            HopTarget::Link(link) => Hop(link as u32),
            HopTarget::AccessLink(link) => Hop(link as u32 | Self::ACCESS),
            HopTarget::Impairment(impairment) => Hop(Self::IMPAIRMENTS | impairment as u32),
            HopTarget::End => Hop(Self::END | Self::PASSING),
            HopTarget::Discard => Hop(Self::DISCARD | Self::PASSING),
            HopTarget::Choice(choice) => Hop(Self::CHOICES | choice as u32),
            HopTarget::Reading(link) => Hop(Self::READINGS | link as u32),
        }
    }

    /// The target.
    #[inline]
    pub fn target(self) -> HopTarget {
        if self.0 & Self::ACCESS != 0 {
            return HopTarget::AccessLink((self.0 & Self::END) as usize);
        }
        let number = self.0 & Self::END;
        if number < Self::IMPAIRMENTS {
            return HopTarget::Link(number as usize);
        }
        match number {
            Self::END => HopTarget::End,
            Self::DISCARD => HopTarget::Discard,
            Self::READINGS.. => HopTarget::Reading((number - Self::READINGS) as usize),
            Self::CHOICES.. => HopTarget::Choice((number - Self::CHOICES) as usize),
            _ => HopTarget::Impairment((number - Self::IMPAIRMENTS) as usize),
        }
    }

    /// The access link that is its target, if any.
    #[inline]
    pub fn access_link(self) -> Option<usize> {
        (self.0 & Self::ACCESS != 0).then_some((self.0 & Self::END) as usize)
    }

    /// The link that is its target, if any.
    #[inline]
    pub fn link(self) -> Option<usize> {
        let number = self.0 & (Self::END | Self::ACCESS);
        (number < Self::IMPAIRMENTS).then_some(number as usize)
    }

    /// The impairment that is its target, if any.
    #[inline]
    pub fn impairment(self) -> Option<usize> {
        let number = self.0 & (Self::END | Self::ACCESS);
        (Self::IMPAIRMENTS..Self::CHOICES).contains(&number).then_some((number & !Self::IMPAIRMENTS) as usize)
    }

    /// Whether a packet waits for an event before it.
    #[inline]
    pub fn needs_event(self) -> bool {
        self.0 & Self::DEFERRED != 0
    }

    /// Whether the end of the route follows immediately.
    #[inline]
    pub fn is_last(self) -> bool {
        self.0 & Self::LAST != 0
    }

    /// The same hop, marked as followed by the end of the route.
    #[must_use]
    pub fn last(self) -> Self {
        Hop(self.0 | Self::LAST)
    }

    /// The same hop, before which a packet waits for an event.
    #[must_use]
    pub fn deferred(self) -> Self {
        Hop(self.0 | Self::DEFERRED)
    }

    /// Whether packets before it wait in a [`Lookahead`](crate::network::Lookahead).
    #[inline]
    pub fn is_ordered(self) -> bool {
        self.0 & Self::ORDERED != 0
    }

    /// The same hop, before which packets wait in order.
    #[must_use]
    pub fn ordered(self) -> Self {
        Hop(self.0 | Self::ORDERED)
    }

    /// The same hop, before which packets wait each for its own event.
    #[must_use]
    pub fn unordered(self) -> Self {
        Hop(self.0 & !Self::ORDERED)
    }

    /// The same hop, at whose end the next hop of the route is to be read.
    #[must_use]
    pub fn not_last(self) -> Self {
        Hop(self.0 & !Self::LAST)
    }

    /// Whether nothing is decided before it, as at the end of a route.
    /// Its event then precedes the host's own events at that time, as the delivery would without an event and a delay at this hop.
    #[inline]
    pub fn is_passing(self) -> bool {
        self.0 & Self::PASSING != 0
    }

    /// Whether it is the end of a route.
    #[inline]
    pub fn is_end(self) -> bool {
        self.0 & Self::END >= Self::DISCARD
    }

    /// The same hop, marked as without a decision.
    #[must_use]
    pub fn passing(self) -> Self {
        Hop(self.0 | Self::PASSING)
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
        let ends = [HopTarget::End, HopTarget::Discard];
        let others = [HopTarget::Link, HopTarget::AccessLink, HopTarget::Impairment, HopTarget::Choice, HopTarget::Reading];
        for target in others.map(|target| target(7)).into_iter().chain(ends) {
            let hop = Hop::new(target);
            assert_eq!(hop.last().link().is_some(), target == HopTarget::Link(7));
            assert_eq!(hop.last().impairment().is_some(), target == HopTarget::Impairment(7));
            assert_eq!(hop.last().access_link().is_some(), target == HopTarget::AccessLink(7));
            assert_eq!(hop.impairment().is_some(), target == HopTarget::Impairment(7));
            assert_eq!((hop.target(), hop.needs_event()), (target, false));
            assert_eq!((hop.deferred().target(), hop.deferred().needs_event()), (target, true));
            assert_eq!(hop.deferred().immediate(), hop);
            assert_eq!((hop.passing().target(), hop.passing().needs_event()), (target, false));
            let ordered = hop.deferred().ordered();
            assert_eq!((ordered.target(), ordered.link(), ordered.is_ordered()), (target, hop.link(), true));
            assert_eq!((ordered.ordered(), hop.deferred().deferred(), hop.last().last()), (ordered, hop.deferred(), hop.last()));
            assert!(ordered.immediate().link() == hop.link() && !hop.deferred().is_ordered());
            assert_eq!(hop.deferred().is_end(), ends.contains(&target));
            assert_eq!((hop.last().target(), hop.last().is_last(), hop.is_last()), (target, true, false));
            assert_eq!(hop.last().deferred().immediate(), hop.last());
            assert!(hop.passing().is_passing() && hop.is_passing() == ends.contains(&target));
        }
    }
}
