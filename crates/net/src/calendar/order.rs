//! The order of events: their keys.

use sojourn_units::Time;

/// The rank of a kind of event, which orders simultaneous events.
/// Arrivals at links come after everything that can send a packet. So packets that reach a link at the same time are in the order of their
/// flows, whatever sent them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Rank(u8);

impl Rank {
    /// A buffered link finishes sending a packet (entity: the link).
    pub const DEPARTURE: Rank = Rank(0);
    /// A packet reaches the end of its route, or passes a hop without a decision.
    /// Entity: its flow.
    pub const DELIVERY: Rank = Rank(1);
    /// A packet arrives at a link (entity: its flow).
    pub const ARRIVAL: Rank = Rank(7);
    /// Answers that wait in order before a link are due (entity: the link).
    pub const RELEASE: Rank = Rank(6);
    const FIRST_TIMER: u8 = 2;
    const TIMERS: u8 = 4;

    /// The timers of hosts of one class, 0 to 3 (entity: the host's choice).
    #[inline]
    pub fn timer(class: u8) -> Rank {
        Rank(Self::FIRST_TIMER + class.min(Self::TIMERS - 1))
    }

    /// The class of a timer.
    #[inline]
    pub fn timer_class(self) -> u8 {
        self.0 - Self::FIRST_TIMER
    }
}

/// The number of bits of an entity.
const ENTITY_BITS: u32 = 29;
const ENTITY_MASK: u32 = (1 << ENTITY_BITS) - 1;

/// The key of an event in the order of all events.
/// It consists of its time in ns; then rank, entity and count, from the highest bit down.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Key {
    pub time: u64,
    pub order: u64,
}

impl Key {
    #[inline]
    pub fn new(time: Time, rank: Rank, entity: u32, count: u32) -> Self {
        debug_assert!(entity <= ENTITY_MASK, "entity {entity} has more than {ENTITY_BITS} bits");
        let order = (u64::from(rank.0) << (32 + ENTITY_BITS)) | (u64::from(entity) << 32) | u64::from(count);
        Key { time: time.as_nanos(), order }
    }

    #[inline]
    pub fn rank(self) -> Rank {
        Rank((self.order >> (32 + ENTITY_BITS)) as u8)
    }

    #[inline]
    pub fn entity(self) -> u32 {
        (self.order >> 32) as u32 & ENTITY_MASK
    }
}
